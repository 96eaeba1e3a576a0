//! Tells the workers to stop, or to hand their sockets over to another process.

use tokio::sync::watch;

/// The state of all workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkerState {
    /// Serve.
    Serving,
    /// Stop: no process will listen.
    Stopping,
    /// Stop: another process listens on the same sockets.
    HandingOver,
}

/// Receives the workers' state. A dropped sender means `Stopping`.
#[derive(Clone)]
pub(crate) struct ShutdownReceiver(watch::Receiver<WorkerState>);

/// Makes both ends of the channel. The state is `Serving` until one other state is sent.
pub(crate) fn channel() -> (watch::Sender<WorkerState>, ShutdownReceiver) {
    let (sender, receiver) = watch::channel(WorkerState::Serving);
    (sender, ShutdownReceiver(receiver))
}

impl ShutdownReceiver {
    /// Whether the workers are to stop.
    // Each request calls this, so it takes no lock, which all workers would share. It works because no code marks a state as
    // seen.
    pub(crate) fn has_changed(&self) -> bool {
        self.0.has_changed().unwrap_or(true)
    }

    /// Whether the workers are in this state.
    pub(crate) fn is(&self, state: WorkerState) -> bool {
        *self.0.borrow() == state
    }

    /// Waits until the workers are to stop. Polled once, it wakes the task then.
    pub(crate) async fn changes(mut self) {
        // Without this, tokio would tell a task that has used up its budget to wait, and would not register it.
        let _ = tokio::task::unconstrained(self.0.wait_for(|state| *state != WorkerState::Serving)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::task::{Context, Poll, Wake, Waker};

    #[derive(Default)]
    struct Woken(AtomicBool);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_stop_wakes_who_asked_for_it_when_its_turn_was_over() {
        let (sender, receiver) = channel();
        let mut changes = pin!(receiver.changes());
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(woken.clone());
        let mut cx = Context::from_waker(&waker);
        poll_fn(|cx_of_test| {
            while tokio::task::coop::has_budget_remaining() {
                let _ = pin!(tokio::task::consume_budget()).poll(cx_of_test);
            }
            assert!(changes.as_mut().poll(&mut cx).is_pending());
            Poll::Ready(())
        })
        .await;
        // A task that was told to try again later has been woken by then.
        tokio::task::yield_now().await;
        woken.0.store(false, Ordering::Relaxed);
        sender.send(WorkerState::Stopping).unwrap();
        assert!(woken.0.load(Ordering::Relaxed));
        assert!(changes.as_mut().poll(&mut cx).is_ready());
    }
}
