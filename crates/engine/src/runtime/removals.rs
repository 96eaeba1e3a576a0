//! Waits until what was removed from the cache can't come back, and until other front ends can know of it.

use kasoku_cache::disk::DISK_TIMEOUT;
use kasoku_cache::{Cache, Invalidated, Reach, TOLD_TIMEOUT, Uncertain};
use tokio::time::timeout;

/// What was removed may come back.
#[derive(Debug)]
pub(crate) enum NotCertain {
    /// For this reason.
    Uncertain(Uncertain),
    /// The disk has not answered in time.
    DiskTimeout,
}

/// Waits until a removal is certain here, and the other front ends can know of it. If they can't, they hear of it when the servers or they are back.
/// Returns which servers or peers have been told by then; none where there are none.
pub(crate) async fn certain(cache: &Cache, mut removed: Invalidated) -> Result<Option<Reach>, NotCertain> {
    let told = removed.take_told();
    let reaching = told.reaching();
    let certain = if removed.is_certain() { Ok(Ok(removed.keys)) } else { timeout(DISK_TIMEOUT, removed.wait()).await };
    let is_told = timeout(TOLD_TIMEOUT, told.wait()).await == Ok(true);
    let reach = cache.purge_exchange().map(|exchange| reaching.of(exchange));
    if !is_told {
        let missing = reach.iter().flat_map(|reach| &reach.missing).map(String::as_str).collect::<Vec<_>>().join(", ");
        tracing::warn!(
            missing,
            "these servers of the shared tier or peers have not answered: they hear of a purge later"
        );
    }
    match certain {
        Ok(Ok(_)) => Ok(reach),
        Ok(Err(error)) => Err(NotCertain::Uncertain(error)),
        Err(_) => Err(NotCertain::DiskTimeout),
    }
}
