//! Parses bytes from the client into a request or a refusal.

use crate::client::http1::idle::IdleTimer;
use crate::client::http1::socket::{ClientConnection, Read};
use crate::error::Fault;
use crate::request::message::{Request, check};
use crate::runtime::worker::{READ_BYTES, Worker};
use kasoku_wire::RequestHead;
use kasoku_wire::http1::{keeps_alive, parse_request_into, request_body_length};
use std::future::poll_fn;
use std::task::{Context, Poll, ready};

/// What came next on a connection.
pub(crate) enum Received {
    /// A request, and whether the client wants to go on with this connection after it.
    Request(Request, bool),
    /// Bytes that must be answered with an error, and the connection closed: it is unknown where the next request would begin.
    Refused(Fault),
    /// The client has closed, or was idle for too long.
    Nothing,
}

/// Waits for the next request's head.
///
/// A head nearly always comes in one piece. It is read into the worker's own buffer and parsed there, so that a connection
/// between two requests holds no buffer. Bytes behind the head, or of an incomplete head, go into the connection's buffer.
pub(crate) async fn receive(worker: &Worker, connection: &ClientConnection, idle: &mut IdleTimer) -> Received {
    if connection.read_ahead.borrow().is_empty() {
        idle.begin();
        connection.is_idle.set(true);
        let first = poll_fn(|cx| match poll_first(worker, connection, cx) {
            Poll::Pending => idle.poll_expired(cx).map(|()| Some(Received::Nothing)),
            first => first,
        });
        let first = first.await;
        connection.is_idle.set(false);
        if let Some(received) = first {
            return received;
        }
    }
    if let Some(received) = next_ahead(worker, connection) {
        return received;
    }
    // The timeout for the head runs from its first byte.
    let rest = tokio::time::timeout(connection.limits.head_timeout, rest_of_head(worker, connection));
    Box::pin(rest).await.unwrap_or(Received::Refused(Fault::HeadTimeout))
}

/// Reads the first bytes of a request; `None`: they are in the connection's buffer, and are not the whole head.
fn poll_first(worker: &Worker, connection: &ClientConnection, cx: &mut Context<'_>) -> Poll<Option<Received>> {
    let mut buf = worker.read_buffer.borrow_mut();
    buf.clear();
    if !matches!(ready!(connection.poll_read(cx, &mut buf, READ_BYTES)), Ok(1..)) {
        return Poll::Ready(Some(Received::Nothing));
    }
    let received = next_in(worker, connection, &buf);
    let used = received.as_ref().map_or(0, |(_, length)| *length);
    let ahead = buf.get(used..).unwrap_or_default();
    let has_room = ahead.is_empty() || connection.read_ahead.borrow_mut().append(ahead);
    Poll::Ready(match received {
        None if !has_room => Some(Received::Refused(Fault::HeadMemory)),
        // Bytes behind the request stay while it is answered. Without room for them, the connection ends then.
        Some((Received::Request(request, keeps_alive), _)) => Some(Received::Request(request, keeps_alive && has_room)),
        received => received.map(|(received, _)| received),
    })
}

async fn rest_of_head(worker: &Worker, connection: &ClientConnection) -> Received {
    loop {
        let Ok(Read { bytes: 1.., has_room }) = connection.read_more().await else { return Received::Nothing };
        if let Some(received) = next_ahead(worker, connection) {
            return received;
        }
        if !has_room {
            return Received::Refused(Fault::HeadMemory);
        }
    }
}

/// The request at the front of the connection's buffer; `None`: its head is not complete.
fn next_ahead(worker: &Worker, connection: &ClientConnection) -> Option<Received> {
    let mut ahead = connection.read_ahead.borrow_mut();
    let (received, length) = next_in(worker, connection, ahead.bytes())?;
    ahead.advance(length);
    Some(received)
}

/// The request at the front of `buf`, and the length of its head in bytes; `None`: the head is not complete.
fn next_in(worker: &Worker, connection: &ClientConnection, buf: &[u8]) -> Option<(Received, usize)> {
    let mut head = worker.heads.take();
    let parsed = {
        let known = worker.known_authority.borrow();
        parse_request_into(buf, &connection.limits.head, known.as_sent(), &mut head)
    };
    match parsed {
        Err(error) => Some((Received::Refused(Fault::Request(error)), 0)),
        Ok(Some(length)) => Some((checked(head, connection.limits.request_body_bytes_max), length)),
        Ok(None) => {
            worker.heads.give(head);
            None
        }
    }
}

fn checked(mut head: RequestHead, body_bytes_max: u64) -> Received {
    let body = request_body_length(&head).map_err(Fault::Request);
    match body.and_then(|body| check(&mut head, body, body_bytes_max)) {
        Err(fault) => Received::Refused(fault),
        Ok(body) => {
            let keeps_alive = keeps_alive(head.version, &head.fields);
            Received::Request(Request { head, body }, keeps_alive)
        }
    }
}
