//! The tasks that serve connections, one after the other.
//!
//! To make a task for each connection, and to take it down again, is a seventh of the instructions that a connection with one request takes:
//! memory for it and for its state, an entry in the list of all tasks. So a task that has served one waits here for the next.

use crate::accept::{self, Fresh};
use crate::worker::{Place, Worker};
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

/// Tasks that wait, at most: each holds some 3 KiB.
const WAITING_MAX: usize = 64;

/// Those of a worker that wait for a connection.
#[derive(Default)]
pub(crate) struct Servers(RefCell<Vec<Rc<Server>>>);

/// One of them.
#[derive(Default)]
struct Server {
    next: Cell<Option<(Fresh, Place)>>,
    waker: Cell<Option<Waker>>,
}

/// Serves a connection in a task.
pub(crate) fn serve(worker: &Rc<Worker>, fresh: Fresh, place: Place) {
    let waiting = worker.servers.0.borrow_mut().pop();
    let is_new = waiting.is_none();
    let server = waiting.unwrap_or_default();
    server.next.set(Some((fresh, place)));
    if is_new {
        // In memory of its own: a task is moved some times until it runs.
        tokio::task::spawn_local(Box::pin(serve_each(worker.clone(), server)));
    } else if let Some(waker) = server.waker.take() {
        waker.wake();
    }
}

async fn serve_each(worker: Rc<Worker>, server: Rc<Server>) {
    loop {
        let (fresh, place) = server.next().await;
        accept::serve(worker.clone(), fresh, place).await;
        let mut waiting = worker.servers.0.borrow_mut();
        if waiting.len() == WAITING_MAX {
            return;
        }
        waiting.push(server.clone());
    }
}

impl Server {
    async fn next(&self) -> (Fresh, Place) {
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
