//! Asks the shared tier for the response of a fill, and writes there what fills bring.

use crate::runtime::worker::Worker;
use kasoku_cache::shared::{Asked, HeldLease};
use kasoku_cache::{Entry, FillWriter, SharedRequest};
use kasoku_metrics::Counter;
use std::rc::Rc;
use std::sync::Arc;

/// Asks the shared tier, if there is one, for the response of a fill.
pub(crate) async fn ask(worker: &Rc<Worker>, writer: FillWriter) -> Asked {
    let Some(access) = &worker.shared_access else { return Asked::Nothing(writer, None) };
    let fill_wait_max = worker.settings().limits.fill_wait_max;
    writer.ask_shared(access.items(), fill_wait_max, || worker.now()).await
}

/// Writes a stored response to the shared tier, if there is one, in the background.
pub(crate) fn share(worker: &Rc<Worker>, request: SharedRequest, entry: Arc<Entry>, lease: Option<HeldLease>) {
    let Some(access) = &worker.shared_access else { return };
    let Some(sharing) = access.begin(&worker.cache, request, entry, lease) else {
        worker.cells.count(Counter::SharedRefused);
        return;
    };
    let worker = worker.clone();
    tokio::task::spawn_local(async move {
        let is_written = sharing.run(|| worker.now()).await;
        worker.cells.count(if is_written { Counter::SharedStored } else { Counter::SharedRefused });
    });
}
