//! Bytes to a request, or to a refusal.

use crate::connection::{Connection, IdleTimer, Read};
use crate::error::Fault;
use crate::read_ahead::READ_BYTES;
use crate::request::message::Request;
use crate::worker::Worker;
use http::{Method, Version};
use kasoku_wire::RequestHead;
use kasoku_wire::http1::{BodyLength, keeps_alive, parse_request_into, request_body_length};
use std::future::poll_fn;
use std::task::{Context, Poll, ready};

/// What came next on a connection.
pub(crate) enum Received {
    Request(Request),
    /// It must be answered with an error, and the connection closed: nobody knows where the next request would begin.
    Refused(Fault),
    /// The client has closed, or was idle for too long.
    Nothing,
}

/// Waits for the next request's head.
///
/// A head nearly always comes in one piece. It is read into the worker's own buffer and parsed there, so that a connection
/// between two requests holds no buffer; what has come beyond it, or of a head that is not complete, goes into the connection's.
pub(crate) async fn receive(worker: &Worker, connection: &Connection, idle: &mut IdleTimer) -> Received {
    if connection.read_ahead.borrow().is_empty() {
        idle.begin();
        let first = poll_fn(|cx| match poll_first(worker, connection, cx) {
            Poll::Pending => idle.poll_expired(cx).map(|()| Some(Received::Nothing)),
            first => first,
        });
        if let Some(received) = first.await {
            return received;
        }
    }
    if let Some(received) = next_ahead(worker, connection) {
        return received;
    }
    // The clock for the head runs from its first byte.
    let rest = tokio::time::timeout(connection.limits.head_timeout, rest_of_head(worker, connection));
    Box::pin(rest).await.unwrap_or(Received::Refused(Fault::HeadTimeout))
}

/// The first bytes of a request; `None`: they are in the connection's buffer, and are not all of its head.
fn poll_first(worker: &Worker, connection: &Connection, cx: &mut Context<'_>) -> Poll<Option<Received>> {
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
        Some((Received::Request(mut request), _)) => {
            // What came behind it stays as long as it is answered; then the client has to come again.
            request.keeps_alive &= has_room;
            Some(Received::Request(request))
        }
        received => received.map(|(received, _)| received),
    })
}

async fn rest_of_head(worker: &Worker, connection: &Connection) -> Received {
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

/// The request at the front of what the connection has read ahead; `None`: its head is not complete.
fn next_ahead(worker: &Worker, connection: &Connection) -> Option<Received> {
    let mut ahead = connection.read_ahead.borrow_mut();
    let (received, length) = next_in(worker, connection, ahead.bytes())?;
    ahead.advance(length);
    Some(received)
}

/// The request at the front of `buf`, and how many bytes its head took; `None`: it is not complete.
fn next_in(worker: &Worker, connection: &Connection, buf: &[u8]) -> Option<(Received, usize)> {
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
    let body = match request_body_length(&head) {
        Err(error) => return Received::Refused(Fault::Request(error)),
        Ok(BodyLength::Length(length)) if length > body_bytes_max => return Received::Refused(Fault::BodyTooLarge),
        // An empty body is no body: `Content-Length: 0` on a GET changes nothing.
        Ok(BodyLength::Length(0)) => BodyLength::None,
        Ok(length) => length,
    };
    if matches!(head.method, Method::CONNECT | Method::TRACE) {
        return Received::Refused(Fault::MethodRefused);
    }
    if head.fields.contains("expect") {
        //= RFC 9110 section 10.1.1
        //# A server that receives a 100-continue expectation in an HTTP/1.0 request MUST ignore that expectation.
        if head.version == Version::HTTP_10 {
            head.fields.remove("expect");
        } else if !is_continue_expected(&head) {
            return Received::Refused(Fault::Expectation);
        } else if matches!(body, BodyLength::None) {
            // There is nothing to continue with.
            head.fields.remove("expect");
        }
    }
    let keeps_alive = keeps_alive(head.version, &head.fields);
    Received::Request(Request { head, body, keeps_alive })
}

/// Whether the one expectation is 100-continue. Origins disagree on what others mean, and so on whether a body follows
/// (`Expect: y 100-continue`): those are not passed on.
//= RFC 9110 section 10.1.1
//# A server that receives an Expect field value containing a member other than 100-continue MAY respond with a 417
//# (Expectation Failed) status code
fn is_continue_expected(head: &RequestHead) -> bool {
    head.fields.only("expect").is_some_and(|value| value.eq_ignore_ascii_case(b"100-continue"))
}
