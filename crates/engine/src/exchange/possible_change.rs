//! A change that a request may have made: the answer does not tell whether it did.

use crate::runtime::worker::Worker;
use kasoku_cache::{DeferredMark, PossibleMark};
use kasoku_semantics::tags::Tagged;
use std::rc::Rc;
use std::time::Duration;

/// The tags of what a request may have changed.
pub(crate) struct PossibleChange {
    pub(crate) site: String,
    pub(crate) tagged: Tagged,
}

impl PossibleChange {
    /// Makes what has these tags stale, at once, or later where that was done a moment ago.
    pub(crate) fn expire_tags(&self, worker: &Rc<Worker>) -> PossibleMark {
        let mut marked = worker.cache.expire_possibly_changed_tags(&self.site, &self.tagged, worker.now());
        marked.later.drain(..).for_each(|later| mark_later(worker, later));
        marked
    }
}

/// Carries out a deferred mark when its time has come.
pub(crate) fn mark_later(worker: &Rc<Worker>, later: DeferredMark) {
    let worker = worker.clone();
    tokio::task::spawn_local(async move {
        let wait_ms = later.at_ms.saturating_sub(worker.now().mono_ms);
        tokio::time::sleep(Duration::from_millis(wait_ms)).await;
        let _ = worker.cache.mark_later(&later, worker.now());
    });
}
