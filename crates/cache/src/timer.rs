//! Bounds a wait.

use std::future::poll_fn;
use std::panic::catch_unwind;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::{Sleep, sleep};

/// Why a wait has ended without what was waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotInTime {
    /// It took too long.
    Late,
    /// The runtime has no timer, or there is no runtime. So the wait had no bound, and ended at once.
    NoTimer,
}

/// What `event` brings within this time.
pub async fn in_time<T>(wait: Duration, event: impl Future<Output = T>) -> Result<T, NotInTime> {
    let mut event = pin!(event);
    // What is there already needs no timer.
    if let Poll::Ready(came) = poll_fn(|cx| Poll::Ready(event.as_mut().poll(cx))).await {
        return Ok(came);
    }
    let mut over = pin!(timer(wait).ok_or(NotInTime::NoTimer)?);
    poll_fn(|cx| match event.as_mut().poll(cx) {
        Poll::Ready(came) => Poll::Ready(Ok(came)),
        Poll::Pending => over.as_mut().poll(cx).map(|()| Err(NotInTime::Late)),
    })
    .await
}

/// A timer; `None`: there is no runtime, or it has no timer. Of the latter, tokio tells by a panic alone.
fn timer(wait: Duration) -> Option<Sleep> {
    let _runtime = Handle::try_current().ok()?;
    catch_unwind(|| sleep(wait)).ok()
}
