//! Asks the shared tier for the response of a fill, and writes there what fills bring.

use crate::runtime::worker::Worker;
use kasoku_cache::shared::{Asked, HeldLease};
use kasoku_cache::{Entry, FillWriter, SharedRequest};
use kasoku_metrics::Counter;
use std::rc::Rc;
use std::sync::Arc;

/// Asks the shared tier, if there is one, for the response of a fill.
pub(crate) async fn ask(worker: &Rc<Worker>, writer: FillWriter) -> Asked {
    let Some(items) = &worker.shared_items else { return Asked::Nothing(writer, None) };
    // Requests that have joined the fill wait as well, and must get something from the origin before they give up.
    let wait_max = worker.settings().limits.fill_wait_max / 2;
    writer.ask_shared(items, wait_max, || worker.now()).await
}

/// Writes a stored response to the shared tier, in the background.
pub(crate) fn share(worker: &Rc<Worker>, request: SharedRequest, entry: Arc<Entry>, lease: Option<HeldLease>) {
    if worker.shared_items.is_none() {
        return HeldLease::pass(lease);
    }
    if !worker.background.has_room() {
        worker.cells.count(Counter::SharedRefused);
        return HeldLease::pass(lease);
    }
    let of = worker.clone();
    worker.background.spawn(async move {
        let Some(items) = &of.shared_items else { return };
        let is_written = of.cache.share(items, &request, &entry, of.now()).await;
        of.cells.count(if is_written { Counter::SharedStored } else { Counter::SharedRefused });
        if !is_written {
            HeldLease::pass(lease);
        }
    });
}
