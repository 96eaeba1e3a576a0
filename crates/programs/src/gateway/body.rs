//! The body of an application server's answer (FastCGI, SCGI), and the connection that it is read from.

use crate::fastcgi::Records;
use crate::scgi::Connected;
use bytes::Bytes;
use kasoku_origin::http::{UploadTask, with_deadline};
use kasoku_origin::{BodyPiece, Error};
use kasoku_wire::http1::BodyLength;
use std::time::Duration;

/// The connection that a program's output is read from. Dropping it before the output's end ends the exchange.
pub(crate) enum OutputSource {
    /// FastCGI: the answer comes in records.
    FastCgi(Box<Records>),
    /// SCGI: the connection ends with the answer.
    Scgi(Box<Connected>),
}

impl OutputSource {
    /// The next piece, never empty; `None` at the proper end. Cancel safe: dropping the future loses no bytes.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        match self {
            Self::FastCgi(records) => records.next().await,
            Self::Scgi(connected) => connected.next().await,
        }
    }

    /// After the end: whether the program has reported a failure.
    fn has_failed(&self) -> bool {
        match self {
            Self::FastCgi(records) => records.has_failed(),
            Self::Scgi(_) => false,
        }
    }

    /// Stops reading, and keeps a connection that can carry another exchange.
    fn finish(self, is_upload_complete: bool) {
        match self {
            Self::FastCgi(records) => records.finish(is_upload_complete),
            Self::Scgi(_) => {}
        }
    }
}

/// The body of a program's answer while it is read. Dropping it before the end closes the connection, so that the program can
/// notice; if Kasoku started the program, the rest is read first.
pub struct GatewayBody {
    /// `None` after the end or an error.
    pub(super) source: Option<OutputSource>,
    /// Bytes of the body that were read with the head.
    pub(super) ahead: Bytes,
    pub(super) length: BodyLength,
    /// How many bytes are still to come; `u64::MAX` where the length is unknown.
    pub(super) left: u64,
    pub(super) pause_max: Duration,
    pub(super) upload: UploadTask,
    pub(super) may_be_incomplete: bool,
}

impl GatewayBody {
    /// The body's length in bytes, if the head tells it.
    pub(crate) fn length(&self) -> Option<u64> {
        match self.length {
            BodyLength::None => Some(0),
            BodyLength::Length(bytes) => Some(bytes),
            BodyLength::Chunked | BodyLength::UntilClose => None,
        }
    }

    /// Whether the response has no body, whatever its fields say. Then the program's further output is not read.
    pub(crate) fn is_none(&self) -> bool {
        matches!(self.length, BodyLength::None)
    }

    /// After the end: whether the body may be incomplete, since the program has failed and the head has no Content-Length.
    pub(crate) fn may_be_incomplete(&self) -> bool {
        self.may_be_incomplete
    }

    /// The next piece. No data follows the end or an error.
    pub(crate) async fn next(&mut self) -> Result<BodyPiece, Error> {
        let piece = self.read().await;
        match &piece {
            Ok(BodyPiece::Data(_)) => {}
            Ok(BodyPiece::End(_)) => {
                if let Some(source) = self.source.take() {
                    source.finish(self.upload.is_complete());
                }
            }
            Err(_) => self.source = None,
        }
        piece
    }

    /// Gives up the rest of the body.
    pub(crate) fn discard(mut self) {
        if let Some(source) = self.source.take() {
            source.finish(self.upload.is_complete());
        }
    }

    async fn read(&mut self) -> Result<BodyPiece, Error> {
        let Some(source) = &mut self.source else { return Err(Error::ClosedEarly) };
        if self.left == 0 || matches!(self.length, BodyLength::None) {
            return Ok(BodyPiece::End(None));
        }
        let mut piece = std::mem::take(&mut self.ahead);
        if piece.is_empty() {
            match with_deadline(self.pause_max, Error::BetweenBytesTimeout, source.next()).await? {
                Some(next) => piece = next,
                None if matches!(self.length, BodyLength::Length(_)) => return Err(Error::ClosedEarly),
                None => {
                    self.may_be_incomplete = source.has_failed();
                    return Ok(BodyPiece::End(None));
                }
            }
        }
        piece.truncate(usize::try_from(self.left).unwrap_or(usize::MAX));
        if matches!(self.length, BodyLength::Length(_)) {
            self.left -= piece.len() as u64;
        }
        Ok(BodyPiece::Data(piece))
    }
}
