//! A change that a request may have made: the answer does not tell whether it did.

use crate::runtime::worker::Worker;
use kasoku_cache::{DeferredDrop, Invalidated};
use kasoku_semantics::tags::Tagged;
use std::rc::Rc;
use std::time::Duration;

/// The tags of what a request may have changed.
pub(crate) struct PossibleChange {
    pub(crate) site: String,
    pub(crate) tagged: Tagged,
}

impl PossibleChange {
    /// Drops what has these tags, each tag at most once a second: a tag that was dropped less than a second ago is dropped again later.
    /// Returns also whether there is such a tag.
    pub(crate) fn drop_tags(&self, worker: &Rc<Worker>) -> (Invalidated, bool) {
        let dropped = worker.cache.drop_possibly_changed_tags(&self.site, &self.tagged, worker.now());
        drop_later(worker, dropped.later);
        (dropped.invalidated, dropped.is_deferred)
    }
}

/// Drops the tags of a deferred drop when its time has come.
pub(crate) fn drop_later(worker: &Rc<Worker>, later: Option<DeferredDrop>) {
    let Some(later) = later else { return };
    let worker = worker.clone();
    tokio::task::spawn_local(async move {
        let wait_ms = later.at_ms.saturating_sub(worker.now().mono_ms);
        tokio::time::sleep(Duration::from_millis(wait_ms)).await;
        let _ = worker.cache.drop_later(&later, worker.now());
    });
}
