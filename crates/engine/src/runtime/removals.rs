//! Waits until what was removed from the cache can't come back, and until other front ends can know of it.

use kasoku_cache::disk::DISK_TIMEOUT;
use kasoku_cache::{Invalidated, TOLD_TIMEOUT, Uncertain};
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
pub(crate) async fn certain(mut removed: Invalidated) -> Result<(), NotCertain> {
    let told = removed.take_told();
    let certain = if removed.is_certain() { Ok(Ok(removed.keys)) } else { timeout(DISK_TIMEOUT, removed.wait()).await };
    if timeout(TOLD_TIMEOUT, told.wait()).await != Ok(true) {
        tracing::warn!(
            "not all servers of the shared tier or peers have answered: other front ends hear of a purge later"
        );
    }
    match certain {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(NotCertain::Uncertain(error)),
        Err(_) => Err(NotCertain::DiskTimeout),
    }
}
