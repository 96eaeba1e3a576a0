//! The tasks that serve connections, one after the other.
//!
//! To make a task for each connection, and to take it down again, is a seventh of the instructions that a connection with one request takes:
//! memory for it and for its state, an entry in the list of all tasks. So a task that has served one waits here for the next.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

/// Tasks that wait, at most: each holds some 3 KiB.
const WAITING_MAX: usize = 64;

/// Those of a worker that wait for a connection.
pub(crate) struct ConnectionTasks<T>(RefCell<Vec<Rc<ConnectionTask<T>>>>);

/// One of them.
pub(crate) struct ConnectionTask<T> {
    next: Cell<Option<T>>,
    waker: Cell<Option<Waker>>,
}

impl<T> ConnectionTasks<T> {
    pub(crate) fn new() -> Self {
        Self(RefCell::default())
    }

    /// Gives a connection to one that waits; where none does, the caller has to start the one that is returned.
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

    /// Has it wait for another connection; `false`: enough do, and it should end.
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
