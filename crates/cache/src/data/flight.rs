//! Single flight: the running loads of a data cache, and the callers that wait for them.
//!
//! The caller that begins a load runs its own loader; the others wait for the outcome. Nothing is spawned, so a load goes on only while
//! its caller polls it. A caller that goes away, or whose loader panics, drops its [`Loading`]: that wakes the waiting callers, and one of
//! them begins a load of its own.
//!
//! A flight stays in the registry until it ends, even if no further caller may join it. So a purge of its key finds the flight, and the
//! loaded value is not stored. A flight leaves the registry before its callers get the outcome, so no caller joins a flight that has ended.

use super::stored::{DataKey, any_tags};
use crate::generations::{Epoch, Generations, Validity};
use crate::sync::{AtomicBool, Mutex, MutexGuard, Ordering, PoisonError};
use crate::tags::Tags;
use kasoku_store::KeyHash;
use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::Notify;

/// The most loads of one key that run because tags were purged, of which any may be the key's.
const LOADS_MAX: usize = 4;

/// Parts of the registry, each under a lock of its own.
const SHARDS: usize = 16;

/// The outcome of a flight.
#[derive(Clone)]
pub(super) enum Outcome<V> {
    /// A value, or the news that there is none, with its tags.
    Loaded(Option<V>, Option<Arc<Tags>>),
    /// The error of the loader.
    Failed(Arc<dyn Any + Send + Sync>),
    /// The caller that ran the load went away, or found a value after all. The others decide anew.
    Abandoned,
}

/// A running load.
pub(super) struct Flight<V> {
    hash: KeyHash,
    pub(super) key: DataKey,
    /// The purge epoch in which it began.
    pub(super) epoch: Epoch,
    /// Its key was purged, or got another value, since it began.
    is_outdated: AtomicBool,
    outcome: Mutex<Option<Outcome<V>>>,
    ended: Notify,
}

impl<V: Clone> Flight<V> {
    /// Waits for the end of the load.
    pub(super) async fn outcome(&self) -> Outcome<V> {
        loop {
            let ended = self.ended.notified();
            tokio::pin!(ended);
            // Registered before the look, so that an end between look and wait is not missed.
            ended.as_mut().enable();
            if let Some(outcome) = &*locked(&self.outcome) {
                return outcome.clone();
            }
            ended.await;
        }
    }
}

impl<V> Flight<V> {
    /// Whether its key was purged, or got another value, since it began. Purges of many keys do not count here.
    pub(super) fn is_outdated(&self) -> bool {
        self.is_outdated.load(Ordering::SeqCst)
    }

    /// Whether a purge of many keys since it began covers a value with these tags.
    pub(super) fn is_purged(&self, tags: Option<&Tags>, generations: &Generations) -> bool {
        generations.validity(self.key.uri().as_bytes(), tags, self.epoch) != Validity::Valid
    }
}

type Shard<V> = HashMap<KeyHash, Vec<Arc<Flight<V>>>>;

/// The registry of running loads.
pub(super) struct Flights<V> {
    shards: [Mutex<Shard<V>>; SHARDS],
    /// The tags of a load that has not ended: its value may have any.
    not_known: Tags,
}

/// The result of [`Flights::join_or_begin`].
pub(super) enum Joined<'c, V> {
    /// Another caller loads. The flag says whether tags were purged since: then the value is for this caller only if they are not its tags.
    Running(Arc<Flight<V>>, bool),
    /// The caller must load.
    Begun(Loading<'c, V>),
}

impl<V> Flights<V> {
    pub(super) fn new() -> Self {
        Self { shards: std::array::from_fn(|_| Mutex::default()), not_known: any_tags() }
    }

    /// Joins the running load of a key, or begins one. A load that began before a purge of its key is not joined. Nor is one that began
    /// before a purge of tags, which may turn out to be its tags, until [`LOADS_MAX`] of the key run: then the newest is, unless `has_waited`: the
    /// caller has waited for such a load already, and the purge did cover it.
    pub(super) fn join_or_begin(
        &self,
        hash: KeyHash,
        key: &str,
        has_waited: bool,
        generations: &Generations,
    ) -> Joined<'_, V> {
        let mut shard = self.shard(hash);
        let of_key = shard.entry(hash).or_default();
        let may_join = |flight: &&Arc<Flight<V>>| {
            flight.key.is(key.as_bytes()) && !flight.is_outdated() && !flight.is_purged(None, generations)
        };
        let has_purged_tags = |flight: &Flight<V>| flight.is_purged(Some(&self.not_known), generations);
        if let Some(newest) = of_key.iter().rfind(may_join) {
            let is_doubtful = has_purged_tags(newest);
            if !is_doubtful || !has_waited && of_key.iter().filter(may_join).count() >= LOADS_MAX {
                return Joined::Running(newest.clone(), is_doubtful);
            }
        }
        let is_alone = !of_key.iter().any(|flight| flight.key.is(key.as_bytes()));
        let flight = Arc::new(Flight {
            hash,
            key: DataKey::new(key),
            epoch: generations.epoch(),
            is_outdated: AtomicBool::new(false),
            outcome: Mutex::new(None),
            ended: Notify::new(),
        });
        of_key.push(flight.clone());
        Joined::Begun(Loading { flights: self, flight, is_alone, outcome: Outcome::Abandoned })
    }

    /// Marks the running loads of a key as outdated: their values are not stored, and no later caller joins them.
    pub(super) fn outdate(&self, hash: KeyHash, key: &str) {
        let shard = self.shard(hash);
        for flight in shard.get(&hash).into_iter().flatten().filter(|flight| flight.key.is(key.as_bytes())) {
            flight.is_outdated.store(true, Ordering::SeqCst);
        }
    }

    /// The number of running loads.
    pub(super) fn running(&self) -> usize {
        self.shards.iter().map(|shard| locked(shard).values().map(Vec::len).sum::<usize>()).sum()
    }

    fn end(&self, flight: &Arc<Flight<V>>) {
        let mut shard = self.shard(flight.hash);
        if let Some(of_key) = shard.get_mut(&flight.hash) {
            of_key.retain(|other| !Arc::ptr_eq(other, flight));
            if of_key.is_empty() {
                shard.remove(&flight.hash);
            }
        }
    }

    fn shard(&self, hash: KeyHash) -> MutexGuard<'_, Shard<V>> {
        let [first, ..] = &self.shards;
        locked(self.shards.get(hash.spread(SHARDS)).unwrap_or(first))
    }
}

/// The duty to load. Dropping it ends the flight.
pub(super) struct Loading<'c, V> {
    flights: &'c Flights<V>,
    pub(super) flight: Arc<Flight<V>>,
    /// Whether no other load of the key ran when this one began.
    pub(super) is_alone: bool,
    outcome: Outcome<V>,
}

impl<V> Loading<'_, V> {
    /// Ends the flight with an outcome for the waiting callers.
    pub(super) fn end(mut self, outcome: Outcome<V>) {
        self.outcome = outcome;
    }
}

impl<V> Drop for Loading<'_, V> {
    fn drop(&mut self) {
        self.flights.end(&self.flight);
        let outcome = std::mem::replace(&mut self.outcome, Outcome::Abandoned);
        *locked(&self.flight.outcome) = Some(outcome);
        self.flight.ended.notify_waiters();
    }
}

pub(super) fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each change under the lock is complete in itself, so a panic elsewhere leaves a state that can be read.
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
