//! Waits until what was dropped can't come back, and until other processes can know of it.

use kasoku_cache::Invalidated;
use kasoku_cache::disk::DISK_TIMEOUT;
use kasoku_cache::timer::{NotInTime, in_time};

/// What has come of a removal.
pub(crate) struct Removed {
    /// Whether it is certain here. `Err`: the next start may undo it, for this reason.
    pub(crate) certain: Result<(), String>,
    /// Whether each server of the shared tier, or each peer, that can be reached has heard of it. True where there are none.
    pub(crate) is_told: bool,
}

/// Waits for a removal, for a bounded time. The others are told also if the disk can't note it.
pub(crate) async fn removed(mut dropped: Invalidated) -> Removed {
    let told = dropped.take_told();
    let certain = is_certain(dropped).await;
    Removed { certain, is_told: told.in_time().await }
}

async fn is_certain(dropped: Invalidated) -> Result<(), String> {
    // In memory alone, it is gone at once.
    if dropped.is_certain() {
        return Ok(());
    }
    match in_time(DISK_TIMEOUT, dropped.wait()).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(NotInTime::Late) => Err("the disk does not answer".to_owned()),
        Err(NotInTime::NoTimer) => Err("without a runtime that has a timer, the disk is not waited for".to_owned()),
    }
}
