//! Waits until what was removed from the cache can't come back, and until other front ends can know of it.

use kasoku_cache::disk::DISK_TIMEOUT;
use kasoku_cache::{Invalidated, Uncertain};
use std::time::Duration;
use tokio::time::timeout;

/// How long the servers of the shared tier are waited for, or the peers. All are asked at once, and each answers within its timeout or not at
/// all.
const TOLD_TIMEOUT: Duration = Duration::from_secs(1);

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
    if timeout(TOLD_TIMEOUT, told.wait()).await.is_err() {
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
