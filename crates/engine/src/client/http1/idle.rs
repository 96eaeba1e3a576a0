//! Ends a connection that waits for too long for its next request.

use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::time::{Instant, Sleep};

/// Ends the wait for a next request. One timer serves all waits of a connection, and is not reset by requests: it rings several
/// times within the timeout, and the connection has been idle for too long when nothing came between that many rings. So a
/// request sets no timer and reads no clock for it, and an idle connection is closed at most one step late. The timer is made
/// when the first wait begins: a client that is answered at once, and leaves, has none.
pub(crate) struct IdleTimer {
    sleep: Option<Pin<Box<Sleep>>>,
    /// The task that it wakes when it rings next.
    wakes: Option<Waker>,
    step: Duration,
    /// Rings since the current wait began.
    rings: u32,
}

impl IdleTimer {
    const STEPS: u32 = 8;

    pub(crate) fn new(timeout: Duration) -> Self {
        Self { sleep: None, wakes: None, step: timeout / Self::STEPS, rings: 0 }
    }

    /// Begins a wait for the next request.
    pub(crate) fn begin(&mut self) {
        self.rings = 0;
    }

    /// Ready when the current wait has taken as long as a connection may be idle.
    pub(crate) fn poll_expired(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(self.step)));
        // To poll the timer would register the waker anew each time, under tokio's locks.
        if !sleep.is_elapsed() && self.wakes.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            return Poll::Pending;
        }
        loop {
            // Without this, tokio would tell a task that has used up its budget to wait, and would not register it.
            if pin!(tokio::task::unconstrained(sleep.as_mut())).poll(cx).is_pending() {
                self.wakes = Some(cx.waker().clone());
                return Poll::Pending;
            }
            // The first ring of a wait comes somewhere within its first step.
            if self.rings >= Self::STEPS {
                return Poll::Ready(());
            }
            self.rings += 1;
            sleep.as_mut().reset(Instant::now() + self.step);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;

    #[tokio::test(flavor = "current_thread")]
    async fn a_wait_expires_however_often_it_is_polled_and_in_whatever_task() {
        let timeout = Duration::from_millis(80);
        let mut idle = IdleTimer::new(timeout);
        // Another task begins to wait, whose waker does not wake the task of this test.
        assert!(idle.poll_expired(&mut Context::from_waker(Waker::noop())).is_pending());
        idle.begin();
        let began = Instant::now();
        let mut ticks = tokio::time::interval(timeout / 20);
        let mut polls = 0;
        poll_fn(|cx| {
            polls += 1;
            let is_woken_for_something_else = polls < 40 && ticks.poll_tick(cx).is_ready();
            if is_woken_for_something_else {
                cx.waker().wake_by_ref();
            }
            idle.poll_expired(cx)
        })
        .await;
        assert!(began.elapsed() >= timeout, "{:?}", began.elapsed());
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_task_whose_turn_is_over_waits_as_well() {
        let mut idle = IdleTimer::new(Duration::from_millis(8));
        poll_fn(|cx| {
            while tokio::task::coop::has_budget_remaining() {
                let _ = pin!(tokio::task::consume_budget()).poll(cx);
            }
            idle.poll_expired(cx)
        })
        .await;
    }
}
