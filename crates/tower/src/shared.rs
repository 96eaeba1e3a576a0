//! What the services and the handle of one layer share: the cache, the rules, the clock and the counters.

use crate::counts::Counts;
use crate::rules::Rules;
use kasoku_cache::Cache;
use kasoku_cache::clock::Clock;
use kasoku_cache::disk::DISK_TIMEOUT;
use kasoku_cache::purge_exchange::PurgeFollower;
use kasoku_cache::shared::SharedAccesses;
use kasoku_cache::stable_hasher::StableHasher;
use kasoku_cache::timer::{NotInTime, in_time};
use kasoku_semantics::policy::Policy;
use kasoku_semantics::time::Now;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::Semaphore;

/// The most requests at a time that go to the application alone, after the fills of other requests have failed.
const UNCOLLAPSED_MAX: usize = 16;

pub(crate) struct Shared {
    /// The thread that exchanges purges with other processes, if there are any. It ends with the last of layer, services and handles. It stands
    /// before the cache, so that it ends before the disk does: the last purges of others are on disk by then.
    _follower: Option<PurgeFollower>,
    pub(crate) cache: Cache,
    pub(crate) rules: Rules,
    pub(crate) counts: Counts,
    pub(crate) uncollapsed: Semaphore,
    /// A permit for each fill that may begin.
    pub(crate) fills: Arc<Semaphore>,
    /// The shared tier, if there is one.
    pub(crate) accesses: Option<SharedAccesses>,
    clock: Clock,
    applications: AtomicU64,
    /// A number that no other process has.
    of_this_process: u64,
}

impl Shared {
    pub(crate) fn new(cache: Cache, rules: Rules, clock: Clock, follower: Option<PurgeFollower>) -> Self {
        let fills_max = rules.fills_max.min(Semaphore::MAX_PERMITS);
        Self {
            _follower: follower,
            accesses: cache.shared_tier().map(SharedAccesses::new),
            cache,
            rules,
            counts: Counts::default(),
            uncollapsed: Semaphore::new(UNCOLLAPSED_MAX),
            fills: Arc::new(Semaphore::new(fills_max)),
            clock,
            applications: AtomicU64::new(0),
            of_this_process: RandomState::new().build_hasher().finish(),
        }
    }

    pub(crate) fn now(&self) -> Now {
        (self.clock)()
    }

    /// What comes of a read of a chunk from the disk tier; `None`: it does not answer in time, or the wait can't be bounded.
    pub(crate) async fn within_disk_timeout<T>(&self, waits: impl Future<Output = T>) -> Option<T> {
        let waited = in_time(DISK_TIMEOUT, waits).await;
        if let Err(NotInTime::Late) = waited {
            self.cache.disk_timed_out();
        }
        waited.ok()
    }

    /// The policy of one more application. No response of one is used for another: the same URI may be another page there. Nor is one of
    /// another process or an earlier one: which application has the number there depends on the order of calls.
    pub(crate) fn policy_of_an_application(&self) -> Arc<Policy> {
        let number = self.applications.fetch_add(1, Ordering::Relaxed);
        self.policy_of(("number", self.of_this_process, number))
    }

    /// The policy of the application with this name.
    #[cfg(any(feature = "disk", feature = "shared"))]
    pub(crate) fn policy_of_the_application(&self, name: &str) -> Arc<Policy> {
        self.policy_of(("name", name))
    }

    fn policy_of(&self, application: impl Hash) -> Arc<Policy> {
        let mut hasher = StableHasher::default();
        (self.rules.fingerprint, application).hash(&mut hasher);
        Arc::new(Policy { rules: hasher.finish(), ..self.rules.policy.clone() })
    }
}
