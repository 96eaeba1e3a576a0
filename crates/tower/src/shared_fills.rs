//! Fills and the shared tier: asks it before the application is called, and writes there what the application has answered.

use crate::counts::Count;
use crate::shared::Shared;
use kasoku_cache::shared::{Asked, HeldLease, SharedAccesses};
use kasoku_cache::{Entry, FillWriter, SharedRequest};
use std::sync::Arc;

/// Asks the shared tier, if there is one, for the response of a fill.
pub(crate) async fn ask(shared: &Shared, writer: FillWriter) -> Asked {
    let access = shared.accesses.as_ref().and_then(SharedAccesses::here);
    let Some(access) = access else { return Asked::Nothing(writer, None) };
    writer.ask_shared(access.items(), shared.rules.fill_wait_max, || shared.now()).await
}

/// Writes a stored response to the shared tier, if there is one, in the background.
pub(crate) fn share(shared: &Arc<Shared>, request: SharedRequest, entry: Arc<Entry>, lease: Option<HeldLease>) {
    let Some(accesses) = &shared.accesses else { return };
    let Some(sharing) = accesses.here().and_then(|access| access.begin(&shared.cache, request, entry, lease)) else {
        shared.counts.add(Count::SharedRefused);
        return;
    };
    let shared = shared.clone();
    tokio::spawn(async move {
        let is_written = sharing.run(|| shared.now()).await;
        shared.counts.add(if is_written { Count::SharedStored } else { Count::SharedRefused });
    });
}
