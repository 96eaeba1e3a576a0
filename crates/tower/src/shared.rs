//! What the services and the handle of one layer share: the cache, the rules, the clock and the counters.

use crate::clock::Clock;
use crate::counts::Counts;
use crate::rules::Rules;
use kasoku_cache::Cache;
use kasoku_semantics::policy::Policy;
use kasoku_semantics::time::Now;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::Semaphore;

/// The most requests at a time that go to the application alone, after the fills of other requests have failed.
const UNCOLLAPSED_MAX: usize = 16;

pub(crate) struct Shared {
    pub(crate) cache: Cache,
    pub(crate) rules: Rules,
    pub(crate) counts: Counts,
    pub(crate) uncollapsed: Semaphore,
    /// A permit for each fill that may begin.
    pub(crate) fills: Arc<Semaphore>,
    clock: Clock,
    applications: AtomicU64,
}

impl Shared {
    pub(crate) fn new(cache: Cache, rules: Rules, clock: Clock) -> Self {
        let (counts, uncollapsed) = (Counts::default(), Semaphore::new(UNCOLLAPSED_MAX));
        let fills = Arc::new(Semaphore::new(rules.fills_max.min(Semaphore::MAX_PERMITS)));
        Self { cache, rules, counts, uncollapsed, fills, clock, applications: AtomicU64::new(0) }
    }

    pub(crate) fn now(&self) -> Now {
        (self.clock)()
    }

    /// The policy of one more application. No response of one is used for another: the same URI may be another page there.
    pub(crate) fn policy_of_an_application(&self) -> Arc<Policy> {
        let rules = self.applications.fetch_add(1, Ordering::Relaxed);
        Arc::new(Policy { rules, ..self.rules.policy.clone() })
    }
}
