//! Answers one call: with a stored value, with the outcome of another caller's load, or with a load of its own.

use super::DataCache;
use super::answer::Answer;
use super::flight::{Flight, Joined, Loading, Outcome};
use super::loaded::Loaded;
use super::stats::{Answered, add};
use super::stored::{Age, StoredValue, tags_of};
use super::tier::FoundValue;
use kasoku_store::KeyHash;
use std::sync::Arc;
use std::time::Duration;

/// What a look-up found for an answer of the type `A`.
enum Look<A> {
    /// The answer.
    Answer(A, Answered),
    /// Nothing that may answer without a load. Where another caller loads already, this expired value answers.
    Load(Option<A>),
}

impl<V: Clone + Send + Sync + 'static> DataCache<V> {
    /// Finds the answer for a key, waits for it, or loads it.
    pub(super) async fn answer<A, F, Fut, E>(&self, key: &str, ttl: Duration, load: F) -> Result<A, Arc<E>>
    where
        A: Answer<V>,
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<Loaded<A>, E>>,
        E: Send + Sync + 'static,
    {
        let hash = self.hash(key);
        let counted = |answer: A, answered| {
            self.shared.counters.count(hash, answered);
            Ok(answer)
        };
        let mut has_waited = false;
        loop {
            let meanwhile = match self.look(hash, key) {
                Look::Answer(answer, answered) => return counted(answer, answered),
                Look::Load(meanwhile) => meanwhile,
            };
            match self.shared.flights.join_or_begin(hash, key, has_waited, &self.shared.generations) {
                Joined::Running(flight, has_purged_tags) => {
                    if let Some(stale) = meanwhile {
                        return counted(stale, Answered::Stale);
                    }
                    add(&self.shared.counters.waits);
                    match flight.outcome().await {
                        Outcome::Loaded(_, tags)
                            if has_purged_tags && flight.is_purged(tags.as_deref(), &self.shared.generations) =>
                        {
                            has_waited = true;
                        }
                        Outcome::Loaded(value, _) => {
                            if let Some(answer) = A::of(value) {
                                return counted(answer, Answered::Miss);
                            }
                        }
                        Outcome::Failed(error) => {
                            if let Ok(error) = error.downcast() {
                                return self.on_error(hash, key, error);
                            }
                        }
                        Outcome::Abandoned => {}
                    }
                }
                Joined::Begun(loading) => {
                    // Another load may have ended between the look and the beginning of this one.
                    if let Look::Answer(answer, answered) = self.look(hash, key) {
                        return counted(answer, answered);
                    }
                    return self.run(hash, key, ttl, loading, load).await;
                }
            }
        }
    }

    /// Loads a value, if the shared tier has none, and hands the outcome to the waiting callers.
    async fn run<A, F, Fut, E>(
        &self,
        hash: KeyHash,
        key: &str,
        ttl: Duration,
        loading: Loading<'_, V>,
        load: F,
    ) -> Result<A, Arc<E>>
    where
        A: Answer<V>,
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<Loaded<A>, E>>,
        E: Send + Sync + 'static,
    {
        let tier = self.tier_load(key, ttl);
        let mut lease = None;
        if let Some(tier) = &tier {
            // In a box, so that it makes no call longer that needs no shared tier.
            match Box::pin(tier.ask(&loading)).await {
                Ok(found) => return Ok(self.end_found(hash, key, loading, found)),
                Err(held) => lease = held,
            }
        }
        add(&self.shared.counters.loads);
        match load().await {
            Ok(loaded) => {
                let answer = loaded.value.clone();
                let loaded = loaded.map(A::into_stored);
                let (epoch, to_be_shared) = (loading.flight.epoch, tier.map(|tier| (tier, loaded.clone())));
                let to_be_shared = to_be_shared.filter(|_| !loading.flight.is_outdated());
                self.end(hash, key, loading, loaded, ttl);
                if let Some((tier, loaded)) = to_be_shared {
                    tier.share(&loaded, self.ttl_of(&loaded, ttl), epoch, lease);
                }
                Ok(answer)
            }
            Err(error) => {
                let error = Arc::new(error);
                add(&self.shared.counters.load_errors);
                // The back-off begins before the waiting callers get the error, so the next caller finds it.
                if let Some(stored) = self.stored(hash, key).filter(|stored| self.age(stored) != Age::Fresh) {
                    stored.back_off(self.shared.options.back_off_max_ms, self.shared.options.now_ms());
                }
                loading.end(Outcome::Failed(error.clone()));
                self.on_error(hash, key, error)
            }
        }
    }

    /// Ends a flight with what its loader has brought.
    fn end(&self, hash: KeyHash, key: &str, loading: Loading<'_, V>, loaded: Loaded<Option<V>>, ttl: Duration) {
        let flight = &loading.flight;
        let (value, tags) = (loaded.value.clone(), tags_of(&loaded.tags).map(Arc::new));
        let stored = self.storable(flight.key.clone(), loaded, ttl, flight.epoch);
        self.keep(hash, key, flight, stored, |present| present.epoch > flight.epoch);
        loading.end(Outcome::Loaded(value, tags));
        self.shared.counters.count(hash, Answered::Miss);
    }

    /// Ends a flight with what the shared tier had.
    fn end_found<A>(&self, hash: KeyHash, key: &str, loading: Loading<'_, V>, found: FoundValue<A, V>) -> A {
        let FoundValue { answer, loaded, born } = found;
        let flight = &loading.flight;
        let (value, tags) = (loaded.value.clone(), tags_of(&loaded.tags).map(Arc::new));
        let stored = self.storable(flight.key.clone(), loaded, Duration::ZERO, born);
        // Its load may have begun before that of the present value, which has expired here.
        self.keep(hash, key, flight, stored, |present| present.epoch > born && self.age(present) == Age::Fresh);
        loading.end(Outcome::Loaded(value, tags));
        add(&self.shared.counters.shared_hits);
        self.shared.counters.count(hash, Answered::Miss);
        answer
    }

    /// Answers a caller of a failed load: with the stored value, if that may answer, or else with the error.
    fn on_error<A: Answer<V>, E>(&self, hash: KeyHash, key: &str, error: Arc<E>) -> Result<A, Arc<E>> {
        let found = self.stored(hash, key).and_then(|stored| {
            let answered = match self.age(&stored) {
                Age::Fresh => stored.answers_fresh(),
                Age::Stale | Age::StaleIfError => Answered::Stale,
                Age::Expired => return None,
            };
            Some((A::of(stored.value.clone())?, answered))
        });
        self.shared.counters.count(hash, found.as_ref().map_or(Answered::Miss, |(_, answered)| *answered));
        found.map(|(answer, _)| answer).ok_or(error)
    }

    fn look<A: Answer<V>>(&self, hash: KeyHash, key: &str) -> Look<A> {
        let Some(stored) = self.stored(hash, key) else { return Look::Load(None) };
        let Some(answer) = A::of(stored.value.clone()) else { return Look::Load(None) };
        let now_ms = self.shared.options.now_ms();
        match stored.age(self.shared.options.stale_for, now_ms) {
            Age::Fresh => Look::Answer(answer, stored.answers_fresh()),
            Age::Stale | Age::StaleIfError if stored.is_backing_off(now_ms) => Look::Answer(answer, Answered::Stale),
            Age::Stale => Look::Load(Some(answer)),
            Age::StaleIfError | Age::Expired => Look::Load(None),
        }
    }

    /// Stores the value of a flight, unless a purge has come since it began, or a value that outdoes it.
    fn keep(
        &self,
        hash: KeyHash,
        key: &str,
        flight: &Flight<V>,
        value: Option<Arc<StoredValue<V>>>,
        outdoes: impl Fn(&StoredValue<V>) -> bool,
    ) {
        self.replace(hash, key, |present| {
            let is_outdone = present.as_deref().is_some_and(&outdoes);
            let tags = value.as_ref().and_then(|value| value.tags.as_ref());
            let is_current = !flight.is_outdated() && !flight.is_purged(tags, &self.shared.generations);
            if is_current && !is_outdone { value.clone() } else { present }
        });
    }
}
