//! The tasks that serve connections: each serves one connection after the other.
//!
//! To make a task for each connection, and to take it down again, is a seventh of the instructions of a connection with one
//! request: memory for the task and its state, an entry in the list of all tasks. So a task that has served a connection waits
//! here for the next.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

/// The most tasks that wait: each holds some 3 KiB.
const WAITING_MAX: usize = 64;

/// The tasks of a worker that wait for a connection.
pub(crate) struct ConnectionTasks<T>(RefCell<Vec<Rc<ConnectionTask<T>>>>);

/// One task, and the connection that it gets next.
pub(crate) struct ConnectionTask<T> {
    next: Cell<Option<T>>,
    waker: Cell<Option<Waker>>,
}

impl<T> ConnectionTasks<T> {
    pub(crate) fn new() -> Self {
        Self(RefCell::default())
    }

    /// Gives a connection to a waiting task. Where none waits, the caller has to start the returned task.
    pub(crate) fn give(&self, next: T) -> Option<Rc<ConnectionTask<T>>> {
        let waiting = self.0.borrow_mut().pop();
        let is_new = waiting.is_none();
        let server =
            waiting.unwrap_or_else(|| Rc::new(ConnectionTask { next: Cell::new(None), waker: Cell::new(None) }));
        server.next.set(Some(next));
        if let Some(waker) = server.waker.take() {
            waker.wake();
        }
        is_new.then_some(server)
    }

    /// Has the task wait for another connection; `false`: enough tasks wait, and this one should end.
    pub(crate) fn wait(&self, server: &Rc<ConnectionTask<T>>) -> bool {
        let mut waiting = self.0.borrow_mut();
        let has_room = waiting.len() < WAITING_MAX;
        if has_room {
            waiting.push(server.clone());
        }
        has_room
    }
}

impl<T> ConnectionTask<T> {
    pub(crate) async fn next(&self) -> T {
        poll_fn(|cx| match self.next.take() {
            Some(next) => Poll::Ready(next),
            None => {
                self.waker.set(Some(cx.waker().clone()));
                Poll::Pending
            }
        })
        .await
    }
}
