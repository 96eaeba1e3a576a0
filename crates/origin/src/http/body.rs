//! Reads the body of an origin's response, piece by piece. A body that ends early is an error here, never an end. `pump` in
//! `engine/src/cache/fetch/fill_body.rs` and `engine/src/deliver/mod.rs` decide what follows (the client is cut).

use super::connection::{OriginConnection, with_deadline};
use super::pool::ConnectionPool;
use super::upload_task::UploadTask;
use crate::error::Error;
use crate::limits::READ_BYTES;
use crate::piece::BodyPiece;
use crate::{Endpoint, Limits};
use bytes::BytesMut;
use kasoku_sys::Stream;
use kasoku_wire::http1::{BodyDecoder, BodyLength, DecodedBody};
use std::rc::Rc;
use std::time::Duration;

/// The most that is read of an unwanted body to keep its connection, in bytes, and the longest time for that.
const DISCARD_BYTES_MAX: u64 = 64 << 10;
const DISCARD_TIME_MAX: Duration = Duration::from_secs(1);

/// The body of a response that is being read. Dropping it before its end closes the connection.
pub struct ResponseBody {
    pub(super) pool: Rc<ConnectionPool>,
    pub(super) endpoint: Endpoint,
    pub(super) limits: Limits,
    pub(super) connection: Option<OriginConnection>,
    pub(super) decoder: BodyDecoder,
    pub(super) length: BodyLength,
    pub(super) upload: UploadTask,
    pub(super) is_kept_alive: bool,
}

/// A connection after a 101. It holds no permit any more, since it may last for hours.
pub struct Tunnel {
    /// The connection to the origin.
    pub stream: Rc<Stream>,
    /// Bytes that the origin has already sent behind its head.
    pub read_ahead: BytesMut,
}

impl ResponseBody {
    /// The length of the body in bytes, where the framing tells it before the end.
    pub fn length(&self) -> Option<u64> {
        match self.length {
            BodyLength::None => Some(0),
            BodyLength::Length(length) => Some(length),
            BodyLength::Chunked | BodyLength::UntilClose => None,
        }
    }

    /// Whether the response has no body, whatever its fields say.
    pub fn is_none(&self) -> bool {
        matches!(self.length, BodyLength::None)
    }

    /// The next piece. After the end or an error there are no more.
    pub async fn next(&mut self) -> Result<BodyPiece, Error> {
        let piece = self.read().await;
        match &piece {
            Ok(BodyPiece::Data(_)) => {}
            Ok(BodyPiece::End(_)) => self.give_back(),
            Err(_) => self.connection = None,
        }
        piece
    }

    /// The body is not wanted: if the rest is short, it is read in the background, and the connection is kept.
    pub fn discard(mut self) {
        if self.connection.is_none() || self.length().is_some_and(|length| length > DISCARD_BYTES_MAX) {
            return;
        }
        let read = async move {
            let mut left = DISCARD_BYTES_MAX;
            while let Ok(BodyPiece::Data(data)) = self.next().await {
                left = left.saturating_sub(data.len() as u64);
                if left == 0 {
                    break;
                }
            }
        };
        tokio::task::spawn_local(async { tokio::time::timeout(DISCARD_TIME_MAX, read).await });
    }

    async fn read(&mut self) -> Result<BodyPiece, Error> {
        let Some(connection) = &mut self.connection else { return Err(Error::ClosedEarly) };
        loop {
            match self.decoder.decode(&mut connection.read_ahead).map_err(Error::MalformedBody)? {
                DecodedBody::Data(data) if data.is_empty() => {}
                DecodedBody::Data(data) => return Ok(BodyPiece::Data(data)),
                DecodedBody::End(trailers) => return Ok(BodyPiece::End(trailers)),
                DecodedBody::NeedMore => {
                    let read = connection.stream.read(&mut connection.read_ahead, READ_BYTES);
                    let read = async { read.await.map_err(|_| Error::ClosedEarly) };
                    let pause_max = self.limits.between_bytes_timeout;
                    if with_deadline(pause_max, Error::BetweenBytesTimeout, read).await? == 0 {
                        self.decoder.finish_on_close().map_err(|_| Error::ClosedEarly)?;
                        return Ok(BodyPiece::End(None));
                    }
                }
            }
        }
    }

    /// The connection after a 101.
    pub fn into_tunnel(mut self) -> Option<Tunnel> {
        let connection = self.connection.take()?;
        Some(Tunnel { stream: connection.stream, read_ahead: connection.read_ahead })
    }

    /// The response has ended: keeps the connection for another exchange, if the head allows that and the request's body has been sent.
    //= RFC 9112 section 9.3
    //# Likewise, a client MUST read the entire response message body if it intends to reuse the same connection for a
    //# subsequent request.
    fn give_back(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        // Bytes behind the end answer no request.
        //= RFC 9112 section 6.3
        //# A client MUST NOT process, cache, or forward such extra data as a separate response, since such behavior would
        //# be vulnerable to cache poisoning.
        if self.is_kept_alive && self.upload.is_complete() && connection.read_ahead.is_empty() {
            self.pool.keep(&self.endpoint, &self.limits, connection);
        }
    }
}
