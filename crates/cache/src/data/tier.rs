//! Values in the shared tier: a load asks there before it runs its loader, holds the lease meanwhile, and writes there what it has brought.
//!
//! What was read is hostile input. It is a miss unless its checksum or HMAC fits, and its key, the name of its cache, its version, its lifetime
//! and the purges allow it, and the application's codec makes a value of it.

use super::DataCache;
use super::answer::Answer;
use super::codec::Codec;
use super::flight::{Flight, Loading};
use super::item::{VALUE_BYTES_MAX, ValueHead};
use super::loaded::Loaded;
use super::name::encoded;
use super::stats::add;
use super::stored::{DataKey, ms, tags_of};
use crate::generations::{Epoch, Validity};
use crate::purge_exchange::Link;
use crate::shared::{HeldLease, Items, SharedAccess, SharedAccesses, Sought, ask, missing};
use crate::sync::{AtomicU64, Ordering};
use bytes::{Bytes, BytesMut};
use kasoku_semantics::ground::{Because, Ground};
use kasoku_semantics::reason::Reason;
use kasoku_semantics::time::Now;
use kasoku_shared::names::Name;
use kasoku_shared::{Expiry, Item, Tier};
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;

/// How long a load waits for the same load of another process, and how long that one keeps its lease. Callers of both wait meanwhile. Longer than most
/// queries take, and shorter than callers wait: if the loader hangs there, it has to run here. A process that has ended holds its lease for three
/// seconds at most.
const LEASE_WAIT_MAX: Duration = Duration::from_secs(5);

/// The most bytes of values that wait to be written, besides the first one.
const WAITING_BYTES_MAX: u64 = 16 << 20;

const UNREADABLE: Because = Because::Ground(Ground::SharedUnreadable);

/// The shared tier of values.
pub(super) struct ValueTier<V> {
    accesses: SharedAccesses,
    codec: Codec<V>,
    /// Percent-encoded.
    version: String,
    /// The bytes of values that wait to be written.
    waiting_bytes: Arc<AtomicU64>,
}

/// The bytes of a value that waits to be written.
struct Waiting {
    all: Arc<AtomicU64>,
    bytes: u64,
}

impl Waiting {
    /// `None`: too much waits already.
    fn begin(all: &Arc<AtomicU64>, bytes: u64) -> Option<Self> {
        let before = all.fetch_add(bytes, Ordering::Relaxed);
        let waiting = Self { all: all.clone(), bytes };
        (before == 0 || before.saturating_add(bytes) <= WAITING_BYTES_MAX).then_some(waiting)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.all.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// A load that looks in the shared tier, on the present runtime.
pub(super) struct TierLoad<'c, V> {
    cache: &'c DataCache<V>,
    link: &'c Link,
    tier: &'c ValueTier<V>,
    access: SharedAccess,
    key: &'c str,
    uri: String,
    /// That of the call.
    ttl: Duration,
}

/// A value of the shared tier that may be used.
pub(super) struct FoundValue<A, V> {
    pub(super) answer: A,
    pub(super) loaded: Loaded<Option<V>>,
    /// An epoch of this cache in which, or after which, its load began.
    pub(super) born: Epoch,
}

impl<V> ValueTier<V> {
    pub(super) fn new(tier: &Arc<Tier>, codec: Codec<V>, version: &str) -> Self {
        let waiting_bytes = Arc::default();
        Self { accesses: SharedAccesses::new(tier), codec, version: encoded(version), waiting_bytes }
    }
}

impl<V: Clone + Send + Sync + 'static> DataCache<V> {
    /// A load of this key that looks in the shared tier; `None`: there is none, or no runtime of tokio with a timer.
    pub(super) fn tier_load<'c>(&'c self, key: &'c str, ttl: Duration) -> Option<TierLoad<'c, V>> {
        let (tier, others) = (self.shared.values.as_ref()?, self.shared.others.as_ref()?);
        let access = tier.accesses.here()?;
        Some(TierLoad { cache: self, link: &others.link, tier, access, key, uri: others.name.uri(key), ttl })
    }
}

impl<V: Clone + Send + Sync + 'static> TierLoad<'_, V> {
    /// Looks for the value. If another process loads it just then, waits for that one. One bounded wait is all that servers that fail cost.
    ///
    /// # Errors
    /// The loader has to run. With the lease, the other processes wait meanwhile.
    pub(super) async fn ask<A: Answer<V>>(
        &self,
        loading: &Loading<'_, V>,
    ) -> Result<FoundValue<A, V>, Option<HeldLease>> {
        let sought = SoughtValue { load: self, flight: &loading.flight, answer: PhantomData };
        // Another load of this process may have the lease, and bring what was purged since. It is not waited for.
        let wait_max = if loading.is_alone { LEASE_WAIT_MAX } else { Duration::ZERO };
        let asked = ask(sought, self.access.items(), wait_max, || self.link.now()).await;
        asked.map_err(|(_, lease)| lease)
    }

    /// Writes what a loader has brought, in the background, if it can be written. The other processes need not wait for what can't be.
    pub(super) fn share(&self, loaded: &Loaded<Option<V>>, ttl: Duration, born: Epoch, lease: Option<HeldLease>) {
        let counters = &self.cache.shared.counters;
        let bytes = match &loaded.value {
            Some(value) => (self.tier.codec.encode)(value).map(Some),
            None => Some(None),
        };
        let length = |bytes: &Option<Bytes>| bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
        let bytes = bytes.filter(|bytes| length(bytes) <= self.bytes_max() && !ttl.is_zero());
        let waiting = bytes.and_then(|bytes| Some((Waiting::begin(&self.tier.waiting_bytes, length(&bytes))?, bytes)));
        let Some((waiting, bytes)) = waiting else {
            HeldLease::pass(lease);
            add(&counters.shared_refused);
            return;
        };
        // A future may be polled elsewhere than where it began.
        let (Some(turn), Ok(runtime)) = (self.access.admit(lease), Handle::try_current()) else {
            add(&counters.shared_refused);
            return;
        };
        let until = self.link.now().unix_ms.saturating_add_unsigned(ms(ttl));
        let name = self.name();
        let (uri, version, tags) = (self.uri.clone(), self.tier.version.clone(), loaded.tags.clone());
        let length = bytes.as_ref().map(|bytes| bytes.len() as u64);
        let until_unix_ms = u64::try_from(until).unwrap_or_default();
        let write = move |items: Items| async move {
            let content = |server| {
                let generation = items.generation(server, born)?;
                let head = ValueHead { uri, generation, version, until_unix_ms, tags, length };
                Some([Some(head.write()?.into()), bytes].into_iter().flatten().collect())
            };
            // Whole seconds, rounded up: the lifetime that stands in the item counts.
            items.put(&name, Expiry::After(ttl.as_secs().saturating_add(1)), content).await
        };
        let cache = self.cache.shared.clone();
        runtime.spawn(async move {
            let is_written = turn.run(write).await;
            drop(waiting);
            add(if is_written { &cache.counters.shared_stored } else { &cache.counters.shared_refused });
        });
    }

    /// The name of the item. Releases with other versions have other items, and do not wait for each other.
    fn name(&self) -> Name {
        let namespace = self.access.items().tier().namespace();
        match self.tier.version.as_bytes() {
            [] => namespace.response(&self.uri),
            version => namespace.variant(&self.uri, version),
        }
    }

    /// The longest value that is read or written, in bytes.
    fn bytes_max(&self) -> u64 {
        VALUE_BYTES_MAX.min(self.cache.shared.options.memory_bytes_max)
    }

    async fn find(&self, items: &Items, name: &Name) -> Result<FoundItem, Because> {
        let item = items.get(name).await.map_err(missing)?;
        let (head, begins) = ValueHead::read(item.content()).map_err(|_| UNREADABLE)?;
        let length = head.length.unwrap_or_default();
        let is_ours = head.uri == self.uri && head.version == self.tier.version;
        let is_as_long_as_it_says = item.length().checked_sub(begins as u64) == Some(length);
        if is_ours && is_as_long_as_it_says && length <= self.bytes_max() {
            return Ok(FoundItem { item, head, begins });
        }
        Err(UNREADABLE)
    }

    /// The time that is left of an item's lifetime, and an epoch in which, or after which, its load began; `None`: it may not be used now.
    fn usable(&self, head: &ValueHead, server: usize, items: &Items, now: Now) -> Option<(Duration, Epoch)> {
        let left_ms = head.until_unix_ms.checked_sub(u64::try_from(now.unix_ms).ok()?).filter(|ms| *ms > 0)?;
        let born = items.born(server, head.generation, self.cache)?;
        let (generations, tags) = (&self.cache.shared.generations, tags_of(&head.tags));
        let validity = generations.shared_validity(DataKey::new(self.key).uri(), tags.as_ref(), born);
        (validity == Validity::Valid).then_some((Duration::from_millis(left_ms), born))
    }

    /// The value, if it may be used now.
    fn judge<A: Answer<V>>(&self, found: WholeValue, items: &Items, now: Now) -> Option<FoundValue<A, V>> {
        let WholeValue { server, head, bytes } = found;
        let (left, born) = self.usable(&head, server, items, now)?;
        let value = match head.length {
            Some(_) => Some((self.tier.codec.decode)(bytes)?),
            None => None,
        };
        let answer = A::of(value.clone())?;
        let loaded = Loaded { value, ttl: None, tags: head.tags, weight_bytes: None };
        // The clock of the process that has written it may be ahead of this one's.
        let ttl = Some(left.min(self.cache.ttl_of(&loaded, self.ttl)));
        Some(FoundValue { answer, loaded: Loaded { ttl, ..loaded }, born })
    }
}

/// An item up to its first chunk, and what it says.
pub(super) struct FoundItem {
    item: Item,
    head: ValueHead,
    begins: usize,
}

pub(super) struct WholeValue {
    server: usize,
    head: ValueHead,
    bytes: Bytes,
}

/// The value of a flight, as the loop of look-up, lease and wait knows it.
struct SoughtValue<'c, V, A> {
    load: &'c TierLoad<'c, V>,
    flight: &'c Flight<V>,
    answer: PhantomData<fn() -> A>,
}

impl<V: Clone + Send + Sync + 'static, A: Answer<V>> Sought for SoughtValue<'_, V, A> {
    type Found = FoundItem;
    type Whole = WholeValue;
    type Answer = FoundValue<A, V>;

    const RENEWED_FOR: Duration = LEASE_WAIT_MAX;

    async fn find(&mut self, items: &Items, now: Now) -> (Result<FoundItem, Because>, Name) {
        let name = self.load.name();
        let found = self.load.find(items, &name).await;
        // The chunks of an item that may not be used are not read.
        let is_usable = |found: &FoundItem| self.load.usable(&found.head, found.item.server, items, now).is_some();
        (found.and_then(|found| if is_usable(&found) { Ok(found) } else { Err(Because::Reason(Reason::Purged)) }), name)
    }

    async fn complete(found: FoundItem, items: &Items, name: &Name) -> Option<WholeValue> {
        let FoundItem { item, head, begins } = found;
        let mut pieces = items.whole(&item, name, begins).await?;
        let bytes = match pieces.as_mut_slice() {
            [one] => std::mem::take(one),
            many => many
                .iter()
                .fold(BytesMut::new(), |mut whole, piece| {
                    whole.extend_from_slice(piece);
                    whole
                })
                .freeze(),
        };
        let is_whole = bytes.len() as u64 == head.length.unwrap_or_default();
        is_whole.then_some(WholeValue { server: item.server, head, bytes })
    }

    fn settle(self, whole: WholeValue, items: &Items, now: Now) -> Result<FoundValue<A, V>, Self> {
        self.load.judge(whole, items, now).ok_or(self)
    }

    fn is_outdated(&self) -> bool {
        self.flight.is_outdated()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_to_be_written_is_bounded_in_bytes() {
        let all = Arc::default();
        let large = Waiting::begin(&all, 4 * WAITING_BYTES_MAX).expect("one value may always wait");
        assert!(Waiting::begin(&all, 1).is_none());
        drop(large);
        let half = || Waiting::begin(&all, WAITING_BYTES_MAX / 2);
        let halves = (half(), half());
        assert!(halves.0.is_some() && halves.1.is_some() && half().is_none());
        drop(halves);
        assert_eq!(all.load(Ordering::Relaxed), 0, "a refused one does not count");
    }
}
