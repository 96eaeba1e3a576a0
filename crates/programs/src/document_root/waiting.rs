//! Threads that wait for disks, so that workers need not.

use std::io;
use tokio::sync::Semaphore;

/// Threads of the whole program that wait for disks at a time. A disk that hangs holds these, and what else the runtime's
/// pools are for (names of hosts) goes on; requests for files wait behind them, for as long as an origin may take.
const WAITING_MAX: usize = 64;

static WAITING: Semaphore = Semaphore::const_new(WAITING_MAX);

/// Does `job` on a thread that may wait.
///
/// # Errors
/// Those of `job`.
pub(crate) async fn may_wait<T: Send + 'static>(job: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    let place = WAITING.acquire().await.map_err(io::Error::other)?;
    let done = tokio::task::spawn_blocking(move || {
        // The place is held until the thread is free, also when nobody waits for it any more.
        let _place = place;
        job()
    });
    done.await.map_err(io::Error::other)?
}

/// Holds up all who would wait for a disk, for as long as the result lives.
#[cfg(test)]
pub(crate) async fn all_who_may_wait() -> tokio::sync::SemaphorePermit<'static> {
    WAITING.acquire_many(WAITING_MAX as u32).await.unwrap()
}
