//! The request's body, read from the client's connection while it is sent to the origin.
//!
//! Its beginning is read before an origin is asked ([`ClientBody::read_ahead`]): a small body entirely, so that a client that
//! sends slowly takes nobody's place at the origin, and that an origin never hears of a small body that breaks. Of the rest
//! nothing is read before the origin's connection takes it, so a slow origin slows the client: back-pressure.

use crate::connection::{Connection, READ_BYTES};
use bytes::BytesMut;
use kasoku_origin::error::UploadError;
use kasoku_origin::{Upload, UploadPiece};
use kasoku_semantics::hop_by_hop::forwardable_trailers;
use kasoku_wire::Fields;
use kasoku_wire::http1::{BodyDecoder, BodyLength, Decoded};
use std::cell::Cell;
use std::rc::Rc;

/// How much of a body is read before an origin is asked, in bytes: what one read of a client's socket gives at most. Most
/// forms are shorter.
const BODY_AHEAD_BYTES: usize = READ_BYTES;

/// How far a request's body has been read; nothing for a request without one.
#[derive(Clone, Debug)]
pub(crate) struct BodyState(Option<Rc<Cell<Progress>>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Unread,
    Complete,
}

impl BodyState {
    /// Of a request without a body when `length` is none, else of one that nobody has read.
    pub(crate) fn new(length: BodyLength) -> Self {
        let has_body = !matches!(length, BodyLength::None);
        Self(has_body.then(|| Rc::new(Cell::new(Progress::Unread))))
    }

    /// Whether the next request begins where reading stands.
    pub(crate) fn is_complete(&self) -> bool {
        self.0.as_ref().is_none_or(|progress| progress.get() == Progress::Complete)
    }

    fn complete(&self) {
        if let Some(progress) = &self.0 {
            progress.set(Progress::Complete);
        }
    }
}

/// The body as something to send.
pub(crate) struct ClientBody {
    connection: Rc<Connection>,
    decoder: BodyDecoder,
    length: BodyLength,
    left: u64,
    state: BodyState,
    /// The request's own fields, which say what its trailers may not be.
    head: Fields,
    /// What has been read already: its bytes, in one piece however they came, and its end.
    ahead: BytesMut,
    end: Option<UploadPiece>,
}

impl ClientBody {
    pub(crate) fn new(connection: Rc<Connection>, length: BodyLength, state: BodyState, head: Fields) -> Self {
        let decoder = BodyDecoder::new(length, &connection.limits.body);
        let left = connection.limits.request_body_bytes_max;
        Self { connection, decoder, length, left, state, head, ahead: BytesMut::new(), end: None }
    }

    /// Reads until the body is complete or [`BODY_AHEAD_BYTES`] of it are there.
    pub(crate) async fn read_ahead(&mut self) -> Result<(), UploadError> {
        while self.ahead.len() < BODY_AHEAD_BYTES && self.end.is_none() {
            match self.read().await? {
                UploadPiece::Data(data) => self.ahead.extend_from_slice(&data),
                end @ UploadPiece::End(_) => self.end = Some(end),
            }
        }
        Ok(())
    }

    /// The next piece from the connection.
    async fn read(&mut self) -> Result<UploadPiece, UploadError> {
        loop {
            let decoded = self.decoder.decode(&mut self.connection.read_ahead.borrow_mut());
            match decoded.map_err(|_| UploadError::Malformed)? {
                Decoded::Data(data) => {
                    self.left = self.left.checked_sub(data.len() as u64).ok_or(UploadError::TooLarge)?;
                    return Ok(UploadPiece::Data(data));
                }
                Decoded::End(trailers) => {
                    self.state.complete();
                    return Ok(UploadPiece::End(
                        trailers.and_then(|trailers| forwardable_trailers(trailers, &self.head)),
                    ));
                }
                Decoded::NeedMore => {
                    let pause_max = self.connection.limits.body_timeout;
                    match tokio::time::timeout(pause_max, self.connection.read_more()).await {
                        Err(_) => return Err(UploadError::Timeout),
                        Ok(Ok(1..)) => {}
                        Ok(_) => return Err(UploadError::Closed),
                    }
                }
            }
        }
    }
}

impl Upload for ClientBody {
    fn length(&self) -> BodyLength {
        self.length
    }

    async fn next(&mut self) -> Result<UploadPiece, UploadError> {
        if !self.ahead.is_empty() {
            return Ok(UploadPiece::Data(self.ahead.split().freeze()));
        }
        match self.end.take() {
            Some(end) => Ok(end),
            None => self.read().await,
        }
    }
}
