//! Bytes to a request, or to a refusal.

use crate::connection::Connection;
use crate::error::Fault;
use bytes::Buf;
use http::{Method, Version};
use kasoku_wire::RequestHead;
use kasoku_wire::http1::{BodyLength, keeps_alive, parse_request, request_body_length};

/// A request whose head is complete and sound.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) head: RequestHead,
    pub(crate) body: BodyLength,
    /// Whether the client wants to go on with this connection.
    pub(crate) keeps_alive: bool,
}

/// What came next on a connection.
pub(crate) enum Received {
    Request(Request),
    /// It must be answered with an error, and the connection closed: nobody knows where the next request would begin.
    Refused(Fault),
    /// The client has closed, or was idle for too long.
    Nothing,
}

/// Waits for the next request's head.
pub(crate) async fn receive(connection: &Connection) -> Received {
    if connection.read_ahead.borrow().is_empty() {
        let first = tokio::time::timeout(connection.limits.idle_timeout, connection.read_more()).await;
        if !matches!(first, Ok(Ok(1..))) {
            return Received::Nothing;
        }
    }
    // The clock for the head runs from its first byte.
    tokio::time::timeout(connection.limits.head_timeout, rest_of_head(connection))
        .await
        .unwrap_or(Received::Refused(Fault::HeadTimeout))
}

async fn rest_of_head(connection: &Connection) -> Received {
    loop {
        let parsed = parse_request(&connection.read_ahead.borrow(), &connection.limits.head);
        match parsed {
            Err(error) => return Received::Refused(Fault::Request(error)),
            Ok(Some((head, length))) => {
                let mut buf = connection.read_ahead.borrow_mut();
                let length = length.min(buf.len());
                buf.advance(length);
                return checked(head, connection.limits.request_body_bytes_max);
            }
            Ok(None) => match connection.read_more().await {
                Ok(1..) => {}
                _ => return Received::Nothing,
            },
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
    //= RFC 9110 section 10.1.1
    //# A server that receives a 100-continue expectation in an HTTP/1.0 request MUST ignore that expectation.
    if head.version == Version::HTTP_10 {
        head.fields.remove("expect");
    }
    let keeps_alive = keeps_alive(head.version, &head.fields);
    Received::Request(Request { head, body, keeps_alive })
}
