//! Runs jobs that may wait for disks on threads of their own, so that workers don't wait.

use std::io;
use tokio::sync::Semaphore;

/// How many threads of the whole process wait for disks at a time. A disk that hangs holds these, while other jobs of the runtime's
/// pool (look-ups of host names) go on. Requests for files wait for such a thread, for as long as an origin may take.
const WAITING_MAX: usize = 64;

static WAITING: Semaphore = Semaphore::const_new(WAITING_MAX);

/// Runs `job` on a thread that may wait.
///
/// # Errors
/// Those of `job`.
pub(crate) async fn may_wait<T: Send + 'static>(job: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    let place = WAITING.acquire().await.map_err(io::Error::other)?;
    let done = tokio::task::spawn_blocking(move || {
        // The permit is held until the thread is free, even if the caller has stopped waiting.
        let _place = place;
        job()
    });
    done.await.map_err(io::Error::other)?
}

/// Blocks all jobs that would wait for a disk, for as long as the result lives.
#[cfg(test)]
pub(crate) async fn all_who_may_wait() -> tokio::sync::SemaphorePermit<'static> {
    WAITING.acquire_many(WAITING_MAX as u32).await.unwrap()
}
