//! Asks the shared tier for an explanation, where the request would: on connections of its own, without storing what it has.
//!
//! The calling thread waits, so it must not be one that serves clients.

use crate::runtime::handle::EngineHandle;
use kasoku_cache::inspect::{Inspection, LookupOutcome};
use kasoku_cache::shared::SharedPlace;
use kasoku_cache::{Entry, SharedRequest};
use kasoku_semantics::ground::{Because, Ground};
use kasoku_semantics::reason::Reason;
use kasoku_semantics::time::Now;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::time::timeout;

/// How long the look-up may take, besides the timeouts of the servers. A live question that follows has a patience of its own.
const PATIENCE: Duration = Duration::from_secs(1);

/// What the shared tier has for a request.
#[derive(Clone, Debug)]
pub struct SharedLookup {
    /// The name and the server of the item.
    pub place: SharedPlace,
    /// Why what is there can't answer, if it can't. `None` also if it was not asked, since the request would not ask it.
    pub refusal: Option<Because>,
}

/// Adds what the shared tier has to an inspection that needs it. `None`: there is no shared tier, or nothing of the kind is shared.
pub(super) fn look(
    handle: &EngineHandle,
    request: &SharedRequest,
    inspection: Inspection,
    now: Now,
) -> (Inspection, Option<SharedLookup>) {
    let cache = handle.cache();
    if matches!(inspection.outcome, LookupOutcome::Pass(_) | LookupOutcome::Refused(_)) {
        return (inspection, None);
    }
    let stored = inspection.entry.clone();
    let Some(place) = cache.shared_place(request, stored.as_deref()) else { return (inspection, None) };
    if !inspection.asks_shared_tier {
        return (inspection, Some(SharedLookup { place, refusal: None }));
    }
    match ask(handle, request, now) {
        None => {
            let refusal = Some(Because::Ground(Ground::SharedFailed));
            (inspection, Some(SharedLookup { place, refusal }))
        }
        Some((Ok((entry, reason)), place)) => {
            (inspection.found_shared(entry, reason), Some(SharedLookup { place, refusal: None }))
        }
        Some((Err(why), place)) => (inspection, Some(SharedLookup { place, refusal: Some(why) })),
    }
}

/// The response with the reason for which it answers, or why none does.
type Answered = Result<(Arc<Entry>, Reason), Because>;

/// `None`: it did not answer in time.
fn ask(handle: &EngineHandle, request: &SharedRequest, now: Now) -> Option<(Answered, SharedPlace)> {
    let cache = handle.cache();
    let tier = cache.shared_tier()?;
    let runtime = Builder::new_current_thread().enable_all().build().ok()?;
    let asked = runtime.block_on(async {
        let items = tier.items();
        timeout(PATIENCE, cache.inspect_shared(&items, request, now)).await
    });
    // No thread waits for the resolution of a server's name.
    runtime.shutdown_background();
    asked.ok()
}
