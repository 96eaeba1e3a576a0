//! Implements the memory tier: a concurrent map with a bound in bytes and S3-FIFO-class eviction (quick_cache).
//!
//! The index uses a 128-bit hash keyed by a random seed, so that no client can make keys collide. A look-up asks the value whether
//! it belongs to the key, so a collision is a miss and never answers with another page. Reads take one shard's lock for a moment.
//! Changes to one key go through [`Memory::update`], one at a time for that key: otherwise a writer that adds to a value it read
//! before an invalidation would bring the invalidated value back.

use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering, PoisonError};
use foldhash::quality::RandomState;
use quick_cache::sync::Cache;
use quick_cache::{Lifecycle, OptionsBuilder, Weighter};
use smallvec::SmallVec;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

/// A value that the tier can store.
pub trait Weigh {
    /// Bytes of memory that the value holds, overhead included.
    fn weight_bytes(&self) -> u64;

    /// Whether this is the value of that key: guards against hash collisions.
    fn belongs_to(&self, key: &[u8]) -> bool;
}

impl<V: Weigh> Weigh for Arc<V> {
    fn weight_bytes(&self) -> u64 {
        self.as_ref().weight_bytes()
    }

    fn belongs_to(&self, key: &[u8]) -> bool {
        self.as_ref().belongs_to(key)
    }
}

/// A keyed 128-bit hash of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyHash(u128);

impl KeyHash {
    /// A number below `count`, for tables that are divided into that many parts.
    pub fn spread(self, count: usize) -> usize {
        (self.0 % count.max(1) as u128) as usize
    }

    /// A part of the hash that tells keys apart which have the same place in a small table; never 0.
    pub fn fingerprint(self) -> u64 {
        (self.0 >> 64) as u64 | 1
    }
}

/// Bytes that the index needs for one value; each value's weight includes them.
pub const INDEX_BYTES_PER_ENTRY: u64 = 96;

/// The least size of a shard, in bytes and as a multiple of the largest value. An insertion makes room within its shard, so a value
/// that takes a large part of the shard evicts new values before they can be requested again. Measured on a Zipf trace (alpha 0.7)
/// of sizes up to 1 MiB in 25 MB: one shard is level with S3-FIFO, four of 6 MB are 1.8 percentage points below, sixteen of 1.5 MB
/// 4.3 below.
const SHARD_BYTES_MIN: u64 = 16 << 20;
const SHARD_VALUES_MIN: u64 = 4;

/// The most shards: with this many, workers do not get into each other's way.
const SHARDS_MAX: u64 = 64;

/// The share of the tier for values that were requested again; the rest is for new ones. S3-FIFO uses 0.9, quick_cache 0.97 by
/// default: with either, some traces lose up to 0.4 percentage points.
const HOT_SHARE: f64 = 0.95;

/// Bytes of the tier for each ghost: the key of an evicted value, which is remembered so that the value enters the hot part when it
/// comes back. This makes about one ghost for each value of a usual size. With half as many, traces of 4 KiB objects lose a
/// percentage point; with twice as many, those of mixed sizes lose 0.7.
const BYTES_PER_GHOST: u64 = 16 << 10;

/// The number of locks for [`Memory::update`].
const UPDATE_LOCKS: usize = 64;

/// The number of counters of changes. Changes to keys that share one look like changes to each of them.
const CHANGE_COUNTERS: usize = 512;

/// The most evicted values of one insertion that are given to the caller.
const EVICTED_GIVEN_MAX: usize = 64;

/// See the [module](self).
pub struct Memory<V> {
    cache: Cache<KeyHash, V, ByWeight, foldhash::fast::RandomState, Evicting>,
    evicted: Arc<EvictedCells>,
    changes: Arc<Changes>,
    bytes_max: u64,
    seeds: [RandomState; 2],
    updates: Box<[Mutex<()>]>,
    value_bytes_max: u64,
}

#[derive(Clone)]
struct ByWeight;

impl<V: Weigh> Weighter<KeyHash, V> for ByWeight {
    fn weight(&self, _: &KeyHash, value: &V) -> u64 {
        value.weight_bytes()
    }
}

/// The values that were evicted for want of room, since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evicted {
    /// The number of values.
    pub values: u64,
    /// The sum of their weights, in bytes.
    pub bytes: u64,
}

/// The counters of [`Evicted`]. Only insertions write them, under a shard's lock; reads of values do not touch them.
#[derive(Debug, Default)]
struct EvictedCells {
    values: AtomicU64,
    bytes: AtomicU64,
}

/// Counts the changes to the values of keys. Evictions are not changes.
#[derive(Debug)]
struct Changes(Box<[AtomicU64]>);

impl Changes {
    fn new() -> Self {
        Self((0..CHANGE_COUNTERS).map(|_| AtomicU64::new(0)).collect())
    }

    fn of(&self, hash: KeyHash) -> u64 {
        self.0.get(hash.spread(CHANGE_COUNTERS)).map_or(0, |counter| counter.load(Ordering::Relaxed))
    }

    fn add(&self, hash: KeyHash) {
        if let Some(counter) = self.0.get(hash.spread(CHANGE_COUNTERS)) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A value that was evicted for want of room: see [`Memory::unless_changed`].
#[derive(Debug)]
pub struct EvictedValue<V> {
    hash: KeyHash,
    value: V,
    /// Whether the value was requested again while it was stored, or entered while there was room for all.
    pub was_hot: bool,
    /// The count of changes to the key when the value was evicted.
    changes: u64,
}

/// The values that an insertion has driven out.
pub type EvictedValues<V> = SmallVec<[EvictedValue<V>; 2]>;

/// What an insertion drives out. It is dropped after the lock of the shard is released.
struct Driven<V> {
    evicted: EvictedValues<V>,
    replaced: Option<V>,
    /// The count of changes to the key of the value that is being evicted. `None`: a value is being replaced.
    evicting: Option<u64>,
}

/// Counts and collects evicted values.
#[derive(Clone)]
struct Evicting {
    evicted: Arc<EvictedCells>,
    changes: Arc<Changes>,
}

impl Evicting {
    fn drive_out<V>(driven: &mut Driven<V>, hash: KeyHash, value: V, was_hot: bool) {
        match driven.evicting.take() {
            Some(changes) if driven.evicted.len() < EVICTED_GIVEN_MAX => {
                driven.evicted.push(EvictedValue { hash, value, was_hot, changes });
            }
            Some(_) => {}
            None => driven.replaced = Some(value),
        }
    }
}

impl<V: Weigh> Lifecycle<KeyHash, V> for Evicting {
    type RequestState = Driven<V>;

    fn begin_request(&self) -> Driven<V> {
        Driven { evicted: SmallVec::new(), replaced: None, evicting: None }
    }

    /// quick_cache does not call this for values that are replaced or removed.
    fn before_evict(&self, driven: &mut Driven<V>, hash: &KeyHash, value: &mut V) {
        self.evicted.values.fetch_add(1, Ordering::Relaxed);
        self.evicted.bytes.fetch_add(value.weight_bytes(), Ordering::Relaxed);
        driven.evicting = Some(self.changes.of(*hash));
    }

    fn on_evict_hot(&self, driven: &mut Driven<V>, hash: KeyHash, value: V) {
        Self::drive_out(driven, hash, value, true);
    }

    fn on_evict_cold(&self, driven: &mut Driven<V>, hash: KeyHash, value: V) {
        Self::drive_out(driven, hash, value, false);
    }
}

impl<V: Weigh + Clone> Memory<V> {
    /// A tier of at most `bytes_max` bytes that takes values of up to `value_bytes_max`.
    pub fn new(bytes_max: u64, value_bytes_max: u64) -> Self {
        let ghosts = (bytes_max / BYTES_PER_GHOST).clamp(128, 1 << 20) as usize;
        let options = OptionsBuilder::new()
            .shards(shards(bytes_max, value_bytes_max))
            .hot_allocation(HOT_SHARE)
            .estimated_items_capacity(ghosts)
            .ghost_allocation(1.0)
            .weight_capacity(bytes_max)
            .build();
        let evicted = Arc::<EvictedCells>::default();
        let changes = Arc::new(Changes::new());
        let evicting = Evicting { evicted: evicted.clone(), changes: changes.clone() };
        let cache = match options {
            Ok(options) => Cache::with_options(options, ByWeight, Default::default(), evicting),
            Err(_) => Cache::with(ghosts, bytes_max, ByWeight, Default::default(), evicting),
        };
        Self {
            cache,
            evicted,
            changes,
            bytes_max,
            seeds: [RandomState::default(), RandomState::default()],
            updates: (0..UPDATE_LOCKS).map(|_| Mutex::new(())).collect(),
            value_bytes_max,
        }
    }

    /// The hash under which `key` is stored, in this process.
    pub fn hash(&self, key: &[u8]) -> KeyHash {
        let half = |seed: &RandomState| {
            let mut hasher = seed.build_hasher();
            hasher.write(key);
            u128::from(hasher.finish())
        };
        let [low, high] = &self.seeds;
        KeyHash(half(low) | half(high) << 64)
    }

    /// The value of `key`, whose hash is `hash`.
    pub fn value(&self, hash: KeyHash, key: &[u8]) -> Option<V> {
        self.cache.get(&hash).filter(|value| value.belongs_to(key))
    }

    /// Replaces the value of `key` with what `change` makes of the present one; `None` removes it. Changes to a key run one at a
    /// time. A value that is too large for the tier is not stored, and the old value is removed. Returns the values of other keys that
    /// were evicted.
    pub fn update(&self, hash: KeyHash, key: &[u8], change: impl FnOnce(Option<V>) -> Option<V>) -> EvictedValues<V> {
        let _one_at_a_time = self.update_lock(hash);
        let evicted = match change(self.value(hash, key)) {
            Some(value) if value.weight_bytes() <= self.value_bytes_max => {
                self.cache.insert_with_lifecycle(hash, value).evicted
            }
            _ => {
                self.cache.remove(&hash);
                EvictedValues::new()
            }
        };
        // After the change. So a value that is evicted in the middle of an invalidation counts as changed as well.
        self.changes.add(hash);
        evicted
    }

    /// Calls `then` with an evicted value, unless the value of its key was changed since the eviction began. No change to the key runs
    /// meanwhile. Not to be called by a change.
    pub fn unless_changed(&self, evicted: &EvictedValue<V>, then: impl FnOnce(&V)) {
        let _one_at_a_time = self.update_lock(evicted.hash);
        if self.changes.of(evicted.hash) == evicted.changes {
            then(&evicted.value);
        }
    }

    /// Calls `each` with every value. No lock is held meanwhile, so values that come or go during the call may be left out.
    pub fn for_each(&self, mut each: impl FnMut(&V)) {
        self.cache.iter().for_each(|(_, value)| each(&value));
    }

    /// Bytes in use: the sum of the values' weights.
    pub fn used_bytes(&self) -> u64 {
        self.cache.weight()
    }

    /// The bound of the tier, in bytes.
    pub fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    /// The values that were evicted so far.
    pub fn evicted(&self) -> Evicted {
        let read = |cell: &AtomicU64| cell.load(Ordering::Relaxed);
        Evicted { values: read(&self.evicted.values), bytes: read(&self.evicted.bytes) }
    }

    /// The number of values in the tier.
    pub fn len(&self) -> usize {
        self.cache.len()
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.cache.is_empty()
    }

    fn update_lock(&self, hash: KeyHash) -> Option<MutexGuard<'_, ()>> {
        let lock = self.updates.get(hash.spread(UPDATE_LOCKS))?;
        // The lock guards no data of its own, so a panic elsewhere leaves nothing half done behind it.
        Some(lock.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The number of shards: a power of two, since quick_cache would round up to one and make the shards smaller. A shard refuses a
/// value larger than itself, so each must be larger than the largest value.
fn shards(bytes_max: u64, value_bytes_max: u64) -> usize {
    let shard_bytes_min = value_bytes_max.saturating_mul(SHARD_VALUES_MIN).max(SHARD_BYTES_MIN);
    let shards = (bytes_max / shard_bytes_min).clamp(1, SHARDS_MAX);
    1 << shards.ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq)]
    struct Value(&'static [u8], u64);

    impl Weigh for Value {
        fn weight_bytes(&self) -> u64 {
            self.1
        }
        fn belongs_to(&self, key: &[u8]) -> bool {
            self.0 == key
        }
    }

    #[test]
    fn a_value_under_another_key_s_hash_is_a_miss() {
        let memory = Memory::<Value>::new(1 << 20, 1 << 10);
        let hash = memory.hash(b"a");
        memory.update(hash, b"a", |_| Some(Value(b"a", 10)));
        assert_eq!(memory.value(hash, b"a"), Some(Value(b"a", 10)));
        assert_eq!(memory.value(hash, b"b"), None);
    }

    #[test]
    fn the_tier_stays_within_its_bound() {
        let memory = Memory::<Value>::new(1 << 20, 64 << 10);
        for i in 0..4096_u32 {
            let key: &'static [u8] = Box::leak(i.to_le_bytes().to_vec().into_boxed_slice());
            memory.update(memory.hash(key), key, |_| Some(Value(key, 4096)));
        }
        assert!(memory.used_bytes() <= 1 << 20, "{}", memory.used_bytes());
        assert!(memory.len() > 128, "{}", memory.len());
    }

    #[test]
    fn what_is_driven_out_is_counted_and_what_is_replaced_or_removed_is_not() {
        let memory = Memory::<Value>::new(1 << 20, 64 << 10);
        let update = |key: &'static [u8], value| memory.update(memory.hash(key), key, |_| value);
        update(b"a", Some(Value(b"a", 10)));
        update(b"a", Some(Value(b"a", 20)));
        update(b"a", None);
        assert_eq!(memory.evicted(), Evicted::default());
        for i in 0..4096_u32 {
            let key: &'static [u8] = Box::leak(i.to_le_bytes().to_vec().into_boxed_slice());
            update(key, Some(Value(key, 4096)));
        }
        let evicted = memory.evicted();
        assert_eq!(evicted.values, 4096 - memory.len() as u64);
        assert_eq!(evicted.bytes, (4096 * 4096) - memory.used_bytes());
    }

    #[test]
    fn what_was_driven_out_is_given_back_unless_it_was_changed_since() {
        let memory = Memory::<Value>::new(1 << 20, 64 << 10);
        let mut evicted = Vec::new();
        for i in 0..4096_u32 {
            let key: &'static [u8] = Box::leak(i.to_le_bytes().to_vec().into_boxed_slice());
            evicted.extend(memory.update(memory.hash(key), key, |_| Some(Value(key, 4096))));
        }
        assert_eq!(evicted.len() as u64, memory.evicted().values);
        assert!(evicted.iter().any(|value| !value.was_hot), "nothing was requested again");
        let given = |evicted: &EvictedValue<Value>| {
            let mut given = None;
            memory.unless_changed(evicted, |value| given = Some(value.0));
            given
        };
        let last = evicted.last().unwrap();
        let key = last.value.0;
        assert_eq!(given(last), Some(key));
        // An invalidation that finds nothing to remove.
        let _ = memory.update(memory.hash(key), key, |_| None);
        assert_eq!(given(last), None);
    }

    #[test]
    fn what_is_evicted_while_its_key_is_changed_counts_as_changed() {
        let memory = Memory::<Value>::new(1 << 20, 64 << 10);
        let (key, mut evicted) = (b"invalidated", Vec::new());
        let _ = memory.update(memory.hash(key), key, |_| Some(Value(key, 4096)));
        let _ = memory.update(memory.hash(key), key, |_| {
            // Straight into the map: a real insertion runs on another thread.
            for i in 0..4096_u32 {
                let key: &'static [u8] = Box::leak(i.to_le_bytes().to_vec().into_boxed_slice());
                // Twice, so that they drive out what was hot.
                for _ in 0..2 {
                    evicted.extend(memory.cache.insert_with_lifecycle(memory.hash(key), Value(key, 4096)).evicted);
                }
            }
            None
        });
        let evicted = evicted.iter().find(|evicted| evicted.value.0 == key).unwrap();
        memory.unless_changed(evicted, |_| panic!("it was invalidated"));
    }

    #[test]
    fn the_largest_value_fits_and_a_larger_one_removes_the_old() {
        let memory = Memory::<Value>::new(4 << 20, 1 << 20);
        let hash = memory.hash(b"big");
        memory.update(hash, b"big", |_| Some(Value(b"big", 1 << 20)));
        assert!(memory.value(hash, b"big").is_some());
        memory.update(hash, b"big", |_| Some(Value(b"big", (1 << 20) + 1)));
        assert!(memory.value(hash, b"big").is_none());
    }

    #[test]
    fn shards_are_as_many_as_leave_room_for_the_largest_value() {
        const MIB: u64 = 1 << 20;
        assert_eq!(shards(MIB, 4096), 1);
        assert_eq!(shards(256 * MIB, MIB), 16);
        assert_eq!(shards(1024 * MIB, 64 * MIB), 4);
        assert_eq!(shards(1000 * MIB, 64 * MIB), 2);
        assert_eq!(shards(1 << 40, MIB), 64);
        assert_eq!(shards(MIB, u64::MAX), 1);
    }

    #[test]
    fn changes_of_one_key_do_not_lose_each_other() {
        let memory = Arc::new(Memory::<Value>::new(1 << 20, 1 << 10));
        let hash = memory.hash(b"n");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        memory.update(hash, b"n", |old| Some(Value(b"n", old.map_or(0, |v| v.1) + 1)));
                    }
                });
            }
        });
        assert_eq!(memory.value(hash, b"n"), Some(Value(b"n", 400)));
    }
}
