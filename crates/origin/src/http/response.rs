//! The origin's response: its head, then its body piece by piece. A body that ends early is an error here, never an end;
//! what becomes of it is decided in `engine/src/fetch/fill_task.rs` (`pump`) and `engine/src/deliver.rs` (the client is cut).

use super::connection::{Connection, with_deadline};
use super::pool::Pool;
use crate::error::Error;
use crate::limits::READ_BYTES;
use crate::response::{Body, HttpBody, Piece, Response};
use crate::{Endpoint, Limits};
use bytes::BytesMut;
use http::{Method, StatusCode, Version};
use kasoku_sys::Stream;
use kasoku_wire::http1::{BodyDecoder, BodyLength, Decoded, keeps_alive, response_body_length};
use kasoku_wire::{RequestHead, ResponseHead};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// The most that is read of a body that nobody wants, in bytes, to keep its connection; and for how long.
const DISCARD_BYTES_MAX: u64 = 64 << 10;
const DISCARD_TIME_MAX: Duration = Duration::from_secs(1);

/// A response's body on its way. Dropping it before the end closes the connection.
pub(crate) struct ResponseBody {
    pool: Rc<Pool>,
    endpoint: Endpoint,
    limits: Limits,
    connection: Option<Connection>,
    decoder: BodyDecoder,
    length: BodyLength,
    upload: UploadTask,
    is_kept_alive: bool,
}

/// What is left of a connection after 101. It has given its place among the connections in use back: it may last for hours.
pub struct Tunnel {
    /// The origin's side.
    pub stream: Rc<Stream>,
    /// What the origin has sent behind its head already.
    pub read_ahead: BytesMut,
}

/// The response of that head, whose body is still to be read.
pub(super) fn response(
    pool: Rc<Pool>,
    connection: Connection,
    endpoint: Endpoint,
    request: &RequestHead,
    head: ResponseHead,
    upload: UploadTask,
    limits: Limits,
) -> Result<Response, Error> {
    let length = response_body_length(&head, &request.method).map_err(Error::MalformedHead)?;
    let is_kept_alive = keeps_alive(head.version, &head.fields)
        && head.version == Version::HTTP_11
        && !matches!(length, BodyLength::UntilClose)
        && !announces_impossible_body(&head)
        && !may_leave_its_body(request);
    let decoder = BodyDecoder::new(length, &limits.body);
    let connection = Some(connection);
    let body = ResponseBody { pool, endpoint, limits, connection, decoder, length, upload, is_kept_alive };
    Ok(Response { head, body: Body::Http(Box::new(HttpBody(body))) })
}

/// Whether a 204 says that content follows. It has none; an origin that sends some nevertheless would send it when the
/// connection has been given to another request already. (A 304 may tell the length of what it stands for.)
//= RFC 9110 section 8.6
//# A server MUST NOT send a Content-Length header field in any response with a status code of 1xx (Informational) or 204
//# (No Content).
fn announces_impossible_body(head: &ResponseHead) -> bool {
    let fields = &head.fields;
    head.status == StatusCode::NO_CONTENT
        && (fields.contains("transfer-encoding") || fields.all("content-length").any(|length| length != b"0"))
}

/// Whether a request has a body that its origin may take for the next request: many servers ignore content where its method defines no
/// meaning for it (RFC 9110 section 9.3.1). Another client's request on that connection would get the answer to those bytes.
fn may_leave_its_body(request: &RequestHead) -> bool {
    let fields = &request.fields;
    let has_body = fields.contains("transfer-encoding") || fields.all("content-length").any(|length| length != b"0");
    let has_no_meaning = [Method::GET, Method::HEAD, Method::OPTIONS, Method::DELETE, Method::TRACE];
    has_body && has_no_meaning.contains(&request.method)
}

impl ResponseBody {
    /// The body's length in bytes, where the framing tells before its end.
    pub(crate) fn length(&self) -> Option<u64> {
        match self.length {
            BodyLength::None => Some(0),
            BodyLength::Length(length) => Some(length),
            BodyLength::Chunked | BodyLength::UntilClose => None,
        }
    }

    /// Whether the response has no body, whatever its fields say.
    pub(crate) fn is_none(&self) -> bool {
        matches!(self.length, BodyLength::None)
    }

    /// The next piece. After the end, or an error, there is nothing more.
    pub(crate) async fn next(&mut self) -> Result<Piece, Error> {
        let piece = self.read().await;
        match &piece {
            Ok(Piece::Data(_)) => {}
            Ok(Piece::End(_)) => self.give_back(),
            Err(_) => self.connection = None,
        }
        piece
    }

    /// Nobody wants it: where the rest is short, it is read in the background, and the connection kept.
    pub(crate) fn discard(mut self) {
        if self.connection.is_none() || self.length().is_some_and(|length| length > DISCARD_BYTES_MAX) {
            return;
        }
        let read = async move {
            let mut left = DISCARD_BYTES_MAX;
            while let Ok(Piece::Data(data)) = self.next().await {
                left = left.saturating_sub(data.len() as u64);
                if left == 0 {
                    break;
                }
            }
        };
        tokio::task::spawn_local(async { tokio::time::timeout(DISCARD_TIME_MAX, read).await });
    }

    async fn read(&mut self) -> Result<Piece, Error> {
        let Some(connection) = &mut self.connection else { return Err(Error::ClosedEarly) };
        loop {
            match self.decoder.decode(&mut connection.read_ahead).map_err(Error::MalformedBody)? {
                Decoded::Data(data) if data.is_empty() => {}
                Decoded::Data(data) => return Ok(Piece::Data(data)),
                Decoded::End(trailers) => return Ok(Piece::End(trailers)),
                Decoded::NeedMore => {
                    let read = connection.stream.read(&mut connection.read_ahead, READ_BYTES);
                    let read = async { read.await.map_err(|_| Error::ClosedEarly) };
                    let pause_max = self.limits.between_bytes_timeout;
                    if with_deadline(pause_max, Error::BetweenBytesTimeout, read).await? == 0 {
                        self.decoder.finish_on_close().map_err(|_| Error::ClosedEarly)?;
                        return Ok(Piece::End(None));
                    }
                }
            }
        }
    }

    /// What is left after 101.
    pub(crate) fn into_tunnel(mut self) -> Option<Tunnel> {
        let connection = self.connection.take()?;
        Some(Tunnel { stream: connection.stream, read_ahead: connection.read_ahead })
    }

    /// Both directions have ended: the connection can carry another exchange, unless somebody said otherwise.
    //= RFC 9112 section 9.3
    //# Likewise, a client MUST read the entire response message body if it intends to reuse the same connection for a
    //# subsequent request.
    fn give_back(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        // Bytes behind the end belong to no response that anybody asked for.
        //= RFC 9112 section 6.3
        //# A client MUST NOT process, cache, or forward such extra data as a separate response, since such behavior would
        //# be vulnerable to cache poisoning.
        if self.is_kept_alive && self.upload.is_complete() && connection.read_ahead.is_empty() {
            self.pool.keep(&self.endpoint, &self.limits, connection);
        }
    }
}

/// The task that sends a request's body; ends with the response.
pub(crate) struct UploadTask {
    task: Option<JoinHandle<Result<(), Error>>>,
    is_complete: Rc<Cell<bool>>,
}

impl UploadTask {
    /// There is no body to send.
    pub(crate) fn none() -> Self {
        Self { task: None, is_complete: Rc::new(Cell::new(true)) }
    }

    /// There is a body, and it will not be sent.
    pub(crate) fn unsent() -> Self {
        Self { task: None, is_complete: Rc::new(Cell::new(false)) }
    }

    pub(crate) fn spawn(sending: impl Future<Output = Result<(), Error>> + 'static) -> Self {
        let is_complete = Rc::new(Cell::new(false));
        let mark = is_complete.clone();
        let task = tokio::task::spawn_local(async move {
            let sent = sending.await;
            mark.set(sent.is_ok());
            sent
        });
        Self { task: Some(task), is_complete }
    }

    pub(crate) fn is_running(&self) -> bool {
        self.task.is_some()
    }

    /// Waits for the end of the body.
    pub(crate) async fn ended(&mut self) -> Result<(), Error> {
        let Some(task) = &mut self.task else { return Ok(()) };
        let sent = task.await.unwrap_or(Err(Error::ClosedEarly));
        self.task = None;
        sent
    }

    /// Whether all of the body has been sent.
    pub(crate) fn is_complete(&self) -> bool {
        self.is_complete.get()
    }
}

impl Drop for UploadTask {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}
