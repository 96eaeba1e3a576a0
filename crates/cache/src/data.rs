//! A cache for an application's own values: rows, rendered fragments, answers of other services.
//!
//! [`DataCache::load`] returns the stored value of a key or loads it, once for all callers that ask meanwhile. It shares its parts with the
//! HTTP cache: the index of the memory tier with its eviction, and the purges by tag and prefix that never scan.
//!
//! A cache in one process starts no task and no thread, and runs on any runtime. A cache for [several processes](#several-processes) starts one
//! thread. If it also shares values, it needs a runtime of tokio with a timer and I/O, and writes values in tasks on that runtime.
//!
//! ```
//! use kasoku_cache::data::{DataCache, Loaded};
//! use std::sync::Arc;
//! use std::time::Duration;
//! # struct Post { title: String }
//! # async fn query(id: u64) -> Result<Post, std::io::Error> { Ok(Post { title: format!("Post {id}") }) }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Arc<std::io::Error>> {
//!
//! // 64 MiB, weighed by what a post holds in memory.
//! let posts = DataCache::builder(64 << 20, |post: &Arc<Post>| size_of::<Post>() + post.title.len())
//!     .stale_while_revalidate(Duration::from_secs(5))
//!     .stale_if_error(Duration::from_secs(3600))
//!     .build();
//!
//! // One query, however many ask at once. The tag drops the post when it is edited.
//! let load = || async { Ok(Loaded::new(Arc::new(query(7).await?)).tags(["post-7"])) };
//! let post = posts.load("post/7", Duration::from_secs(60), load).await?;
//! assert_eq!(post.title, "Post 7");
//!
//! posts.purge_tag("post-7");
//! assert!(posts.get("post/7").is_none());
//! # Ok(())
//! # }
//! ```
//!
//! # Lifetimes
//!
//! A value is fresh for its lifetime, which begins when its load ends. Afterwards:
//!
//! - Within [`stale_while_revalidate`](Builder::stale_while_revalidate), the first caller loads the value anew and waits for it. Callers that
//!   ask meanwhile get the expired value at once.
//! - Within [`stale_if_error`](Builder::stale_if_error), callers wait for a load, and get the expired value if that fails.
//! - After a failed load, an expired value that may still answer does so at once, and no load is tried until a
//!   [back-off](Builder::back_off_max) is over. So a database that is down is not asked by each request.
//!
//! Where no expired value may answer, each caller of the failed load gets its error, and the next call loads again. "Not found" is stored
//! as well, with a lifetime of its own: see [`DataCache::load_optional`]. A purged value never answers.
//!
//! # Purges
//!
//! A value can be dropped by its key ([`remove`](DataCache::remove)), by a tag ([`purge_tag`](DataCache::purge_tag)), by the beginning of
//! its key ([`purge_prefix`](DataCache::purge_prefix)), or together with all other values ([`purge_all`](DataCache::purge_all)). A purge
//! also covers the loads that run: the callers that wait for them get their values, but these are not stored, and calls that come after the
//! purge load again. So purge after the change is committed.
//!
//! A load can't know the tags of its value before it ends. So after a purge of any tag, a call starts a load of its own, and does not join one
//! that began earlier. If four loads of the key run already, the call waits for the newest of them. It takes that value unless the value has a
//! purged tag; then it loads. A running load stores its value if the value has none of the purged tags.
//!
//! A purge by tag, by prefix or of all values only leaves a mark. At most 65,536 tags and 1,024 prefixes have marks. At a bound, the older half
//! of these marks is merged: those of tags into one for all values with tags, those of prefixes into one for all values. A merged mark covers
//! only values whose loads began before these purges. So a purge can drop more values than it names, never fewer. The memory of purged values is
//! freed when calls ask for them or when they are evicted.
//!
//! # Several processes
//!
//! Without more, each process of an application has a cache of its own, and a purge holds in the process in which it was called. With
//! [`Builder::peers`] or [`Builder::shared`], caches of the same [name](Builder::name) tell each other their purges: directly, or by memcached
//! servers or Redis. With such servers and a codec ([`Builder::share_values`]) they also share what they have loaded.
//!
//! - **A purge holds within a second in all processes** that can reach the servers or each other. It covers their running loads too. In the
//!   process that calls it, it holds at once. [`insert`](DataCache::insert) and [`remove`](DataCache::remove) drop the key in the other processes
//!   in the same way. The other purges return a future, [`Purging`]: it says whether all servers or peers have the purge.
//! - **A process that could not be reached gets the purges when it is back.** If it may have missed one, it drops all its values.
//! - **A thread of its own** exchanges the purges, on a runtime of its own. [`Builder::open`] starts it. It ends with the last clone of the
//!   cache; dropping that clone blocks its thread until the last purges are written, for two seconds at most.
//! - **Other caches may use the same servers**: layers, Kasoku servers, and data caches of other names. Their purges drop no value here, except a
//!   purge of everything in the namespace. Purges of this cache drop nothing of theirs, with one exception: if no server can be reached while
//!   more than 65,536 purges wait, everything in the namespace is purged later.
//! - **Use one secret on these servers, or none.** A cache that can't read a purge of another one drops all its values, at each such purge.
//! - **Give each kind of values a name**, the same in all processes. Caches of different names share nothing, and no error says so. Two caches of
//!   one name read each other's values: they need the same type.
//! - **Shared values**: a load looks in the servers before it runs its loader, and the loaded value is written there in the background. Of several
//!   processes that load a key at once, one runs its loader and the others wait for it, for 5 seconds at most. An item is a miss unless it
//!   passes its checksum or HMAC, and is the fresh value of this key, of the same [version](Builder::version), and not purged. A server that
//!   fails costs a load one bounded wait, and the loader runs. A value from the servers weighs what the function of the builder says.
//!
//! # Bounds
//!
//! The values together weigh at most the memory of the builder; the least useful ones are evicted. Only the weights that the application
//! states are known, so it should count what its values hold. Values that callers still use after eviction, and values that are being
//! loaded, are not counted. Nor are the purges that a cache of several processes remembers: 65,536 at most, some 10 MB with keys of usual length.
//!
//! A value of more than 64 MiB or 1,024 tags is not written to the servers, nor is one while 16 MiB of others wait to be written.
//!
//! A loader may load other keys from the same cache. If those loads need the first key in turn, all of them wait for ever. If a call is dropped,
//! its load ends, and one of the waiting callers starts a load of its own. If the deadline of every caller is shorter than the query, no load ever
//! ends. In that case, spawn the call in a task of its own.
//!
//! No wait for a load in this process has a deadline. A call may be dropped at any time, for example by a timeout of your runtime around it. Put
//! the deadline of a query into the loader: then the query that takes too long is an error, for which an expired value can answer.
//!
//! ```
//! # use kasoku_cache::data::DataCache;
//! # use std::{sync::Arc, time::Duration};
//! # async fn query() -> u64 { 42 }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Arc<tokio::time::error::Elapsed>> {
//! let numbers = DataCache::builder(1 << 20, |_: &u64| 0).stale_if_error(Duration::from_secs(3600)).build();
//! let within_a_second = || tokio::time::timeout(Duration::from_secs(1), query());
//! assert_eq!(numbers.load("answer", Duration::from_secs(60), within_a_second).await?, 42);
//! # Ok(())
//! # }
//! ```

mod answer;
mod builder;
mod codec;
mod flight;
mod item;
mod load;
mod loaded;
mod name;
mod others;
mod stats;
mod stored;
mod tier;

pub use crate::invalidated::Purged;
pub use crate::purge_exchange::settings::{
    ClientFiles, ExchangeError, MemcachedServer, Peers, Ring, ServerDown, SharedTier, TlsFiles,
};
pub use crate::purge_exchange::{PeerStatus, PeersStatus};
pub use crate::shared::{ServerStatus, TierStatus};
pub use builder::{BuildError, Builder, OneProcess, SeveralProcesses};
#[doc(hidden)]
pub use item::is_read_as_written;
pub use loaded::Loaded;
pub use others::Purging;
pub use stats::Stats;

use crate::generations::{Epoch, Generations, Purge, PurgeScope, Validity};
use crate::purge_exchange::PurgeFollower;
use crate::sync::Mutex;
use answer::Present;
use builder::Options;
use flight::Flights;
use kasoku_semantics::time::Now;
use kasoku_shared::purge_log::Delivery;
use kasoku_store::{KeyHash, Memory};
use name::CacheName;
use others::Others;
use stats::{Answered, Counters};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use stored::{Age, DataKey, StoredValue, drop_all_of, ms, one_tag};
use tier::ValueTier;

/// A cache of values of one type, under keys that are strings. Cheap to clone; clones share the values. See the [module](self).
///
/// Each hit clones the value, so a large one is best an `Arc<T>` or `Bytes`.
pub struct DataCache<V> {
    /// The thread that exchanges purges with other processes, if there are any. It ends with the last clone. Before the values, which are then
    /// dropped by the thread that drops that clone.
    follower: Option<Arc<PurgeFollower>>,
    shared: Arc<Shared<V>>,
}

struct Shared<V> {
    memory: Memory<Arc<StoredValue<V>>>,
    flights: Flights<V>,
    generations: Generations,
    counters: Counters,
    options: Options<V>,
    others: Option<Others>,
    /// What purges of others have taken out of memory, to be dropped where no lock is held.
    taken_out: Mutex<Vec<Arc<StoredValue<V>>>>,
    /// What the other processes have loaded, if they share that as well.
    values: Option<ValueTier<V>>,
}

impl<V: Clone + Send + Sync + 'static> DataCache<V> {
    /// The options of a cache whose values weigh at most `memory_bytes_max` bytes together. `weigh` returns the bytes of memory that a
    /// value holds; what the cache itself needs for a value is added.
    pub fn builder(memory_bytes_max: u64, weigh: impl Fn(&V) -> usize + Send + Sync + 'static) -> Builder<V> {
        Builder::new(memory_bytes_max, Box::new(weigh))
    }

    fn with(options: Options<V>, others: Option<Others>, values: Option<ValueTier<V>>) -> Self {
        let value_bytes_max = options.value_bytes_max.min(options.memory_bytes_max);
        let shared = Arc::new(Shared {
            memory: Memory::new(options.memory_bytes_max, value_bytes_max),
            flights: Flights::new(),
            generations: Generations::new(),
            counters: Counters::default(),
            options,
            others,
            taken_out: Mutex::default(),
            values,
        });
        Self { follower: None, shared }
    }

    /// The value of `key`: the stored one, or the one that `load` returns, which is then fresh for `ttl`.
    ///
    /// Of callers that ask at once, one loads and the others wait for its outcome. If that caller is dropped, or its loader panics, another
    /// one loads, with its own `load`. The load goes on only while its caller is polled; to finish it whatever becomes of the caller, spawn
    /// the call.
    ///
    /// A loader may return a [`Loaded`], with tags and a lifetime of its own. It must not load the same key again: it would wait for itself.
    /// A stored "not found" of [`DataCache::load_optional`] is no value here, so it is loaded.
    ///
    /// ```
    /// # use kasoku_cache::data::DataCache;
    /// # use std::{sync::Arc, time::Duration};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Arc<std::num::ParseIntError>> {
    /// let numbers = DataCache::builder(1 << 20, |_: &u64| 0).build();
    /// let number = numbers.load("answer", Duration::from_secs(60), || async { "42".parse::<u64>() }).await?;
    /// assert_eq!(number, 42);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The error of the loader, where no expired value may answer. All callers that waited for the load share the error. If a caller's error
    /// type differs from that of the load, the caller starts over: it runs its own loader, unless a stored value or another running load
    /// answers first.
    pub async fn load<F, Fut, L, E>(&self, key: &str, ttl: Duration, load: F) -> Result<V, Arc<E>>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<L, E>>,
        L: Into<Loaded<V>>,
        E: Send + Sync + 'static,
    {
        let load = || async { Ok(load().await?.into().map(Present)) };
        let Present(value) = self.answer(key, ttl, load).await?;
        Ok(value)
    }

    /// As [`DataCache::load`], for values that may not exist: `None` is stored as well, so that the next caller does not ask again.
    ///
    /// `None` is remembered for the [`negative_ttl`](Builder::negative_ttl), unless the loader says otherwise. Give it a tag, and
    /// purge that tag when the value is created.
    ///
    /// ```
    /// # use kasoku_cache::data::{DataCache, Loaded};
    /// # use std::{convert::Infallible, sync::Arc, time::Duration};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Arc<Infallible>> {
    /// let users = DataCache::builder(1 << 20, |name: &Arc<str>| name.len()).build();
    /// let nobody = || async {
    ///     Ok::<_, Infallible>(Loaded::new(None).ttl(Duration::from_secs(5)).tags(["user-9"]))
    /// };
    /// assert_eq!(users.load_optional("user/9", Duration::from_secs(60), nobody).await?, None);
    /// assert_eq!(users.load_optional("user/9", Duration::from_secs(60), nobody).await?, None);
    /// assert_eq!((users.stats().loads, users.stats().negative_hits), (1, 1));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As of [`DataCache::load`].
    pub async fn load_optional<F, Fut, L, E>(&self, key: &str, ttl: Duration, load: F) -> Result<Option<V>, Arc<E>>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<L, E>>,
        L: Into<Loaded<Option<V>>>,
        E: Send + Sync + 'static,
    {
        self.answer(key, ttl, || async { Ok(load().await?.into()) }).await
    }

    /// The value of `key`, if it is fresh. Neither loads nor waits.
    pub fn get(&self, key: &str) -> Option<V> {
        let hash = self.hash(key);
        let fresh = self.stored(hash, key).filter(|stored| self.age(stored) == Age::Fresh);
        self.shared.counters.count(hash, fresh.as_ref().map_or(Answered::Miss, |stored| stored.answers_fresh()));
        fresh?.value.clone()
    }

    /// Stores a value, which is then fresh for `ttl`, in this process only: it is not written to the servers of [`Builder::shared`]. Running loads of
    /// this key do not replace it. Other processes drop their value of the key. To store what was only read, use [`DataCache::load`].
    pub fn insert(&self, key: &str, ttl: Duration, value: impl Into<Loaded<V>>) {
        let told = self.tell_of_key(key);
        // The epoch is read before the value is stored, so that a purge in between drops the value.
        let epoch = self.shared.generations.epoch();
        let (hash, data_key) = (self.hash(key), DataKey::new(key));
        let value = self.storable(data_key.clone(), value.into().map(Some), ttl, epoch);
        self.shared.flights.outdate(hash, key);
        self.replace(hash, key, |_| value.clone());
        // A purge of this key by another process that came in between has found nothing to drop. Its mark was there before.
        let may_be_purged = told.is_some() && self.shared.generations.epoch() != epoch;
        if may_be_purged && self.shared.generations.shared_validity(data_key.uri(), None, epoch) != Validity::Valid {
            let is_ours =
                |present: &Arc<StoredValue<V>>| value.as_ref().is_some_and(|value| Arc::ptr_eq(present, value));
            self.replace(hash, key, |present| present.filter(|present| !is_ours(present)));
        }
    }

    /// Drops the value of `key`. The values of running loads of this key are not stored. Returns the value if it was fresh. Other processes drop
    /// theirs; to wait for that, use [`DataCache::purge_key`].
    pub fn remove(&self, key: &str) -> Option<V> {
        self.drop_key(key).0
    }

    /// Drops the value of `key`, as [`DataCache::remove`] does.
    pub fn purge_key(&self, key: &str) -> Purging {
        let (_, told) = self.drop_key(key);
        self.telling(told)
    }

    /// Drops all values with this tag.
    pub fn purge_tag(&self, tag: &str) -> Purging {
        self.purged(
            |generations, now| generations.change(&one_tag(tag), Purge::Change, now),
            |name| name.purge_of_tag(tag),
        )
    }

    /// Drops all values whose keys begin with `prefix`.
    pub fn purge_prefix(&self, prefix: &str) -> Purging {
        let key = DataKey::new(prefix);
        let drop = |generations: &Generations, now| drop_all_of(generations, PurgeScope::Prefix(key.uri()), now);
        self.purged(drop, |name| name.purge_of_prefix(prefix))
    }

    /// Drops all values.
    pub fn purge_all(&self) -> Purging {
        let drop = |generations: &Generations, now| drop_all_of(generations, PurgeScope::All, now);
        self.purged(drop, CacheName::purge_of_all)
    }

    /// What the cache has done so far, and what it holds.
    pub fn stats(&self) -> Stats {
        let Shared { memory, flights, counters, .. } = &*self.shared;
        counters.read(flights.running(), memory.evicted(), memory.len(), memory.used_bytes())
    }

    fn drop_key(&self, key: &str) -> (Option<V>, Option<Delivery>) {
        let told = self.tell_of_key(key);
        (self.remove_here(key), told)
    }

    /// The same where no other process has to be told.
    fn remove_here(&self, key: &str) -> Option<V> {
        let removed = self.take_out(key)?;
        let is_fresh = removed.holds(&self.shared.generations) && self.age(&removed) == Age::Fresh;
        removed.value.clone().filter(|_| is_fresh)
    }

    /// Takes the value of a key out of memory, and keeps running loads from storing theirs. Nothing of the application runs.
    fn take_out(&self, key: &str) -> Option<Arc<StoredValue<V>>> {
        let hash = self.hash(key);
        // The order matters: the value of a load that ends in between is not stored, or is removed again.
        self.shared.flights.outdate(hash, key);
        self.replace(hash, key, |_| None)
    }

    /// The stored value of a key, unless a purge has dropped it.
    fn stored(&self, hash: KeyHash, key: &str) -> Option<Arc<StoredValue<V>>> {
        let stored = self.shared.memory.value(hash, key.as_bytes())?;
        if stored.holds(&self.shared.generations) {
            return Some(stored);
        }
        // Frees its memory, unless another value has taken its place.
        self.replace(hash, key, |present| present.filter(|present| !Arc::ptr_eq(present, &stored)));
        None
    }

    /// A value as it is stored; `None` where it could not answer at any time.
    fn storable(
        &self,
        key: DataKey,
        loaded: Loaded<Option<V>>,
        ttl: Duration,
        epoch: Epoch,
    ) -> Option<Arc<StoredValue<V>>> {
        let ttl = self.ttl_of(&loaded, ttl);
        let Loaded { value, tags, weight_bytes, ttl: _ } = loaded;
        let Options { stale_for, weigh, .. } = &self.shared.options;
        let weight_bytes = weight_bytes.unwrap_or_else(|| value.as_ref().map_or(0, weigh));
        let now_ms = self.shared.options.now_ms();
        let stored = StoredValue::new(key, value, weight_bytes, &tags, epoch, now_ms.saturating_add(ms(ttl)));
        (stored.age(*stale_for, now_ms) != Age::Expired).then(|| Arc::new(stored))
    }

    /// How long a value is fresh that was loaded with this lifetime.
    fn ttl_of(&self, loaded: &Loaded<Option<V>>, ttl: Duration) -> Duration {
        let negative_ttl = self.shared.options.negative_ttl.filter(|_| loaded.value.is_none());
        loaded.ttl.or(negative_ttl).unwrap_or(ttl)
    }

    /// Changes the stored value of a key, and returns the previous one.
    fn replace(
        &self,
        hash: KeyHash,
        key: &str,
        change: impl FnOnce(Option<Arc<StoredValue<V>>>) -> Option<Arc<StoredValue<V>>>,
    ) -> Option<Arc<StoredValue<V>>> {
        let mut before = None;
        // A replaced or evicted value is dropped after the lock of the key is released: the value's `Drop` is the application's.
        self.shared.memory.update(hash, key.as_bytes(), |present| {
            before.clone_from(&present);
            change(present)
        });
        before
    }

    fn age(&self, stored: &StoredValue<V>) -> Age {
        stored.age(self.shared.options.stale_for, self.shared.options.now_ms())
    }

    fn hash(&self, key: &str) -> KeyHash {
        self.shared.memory.hash(key.as_bytes())
    }

    fn now(&self) -> Now {
        Now { unix_ms: 0, mono_ms: self.shared.options.now_ms() }
    }
}

impl<V> Clone for DataCache<V> {
    fn clone(&self) -> Self {
        Self { follower: self.follower.clone(), shared: self.shared.clone() }
    }
}

impl<V> fmt::Debug for DataCache<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DataCache").finish_non_exhaustive()
    }
}
