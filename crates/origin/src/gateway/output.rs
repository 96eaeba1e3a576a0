//! What a program prints: first the head, then the body piece by piece.
//!
//! The times are those of an origin that speaks HTTP: the head is waited for from the end of the request on, and no pause within
//! the body may be too long. So is the length: a body that ends before the Content-Length that its head tells is an
//! error, and what comes beyond it belongs to no answer and is dropped. Without one, the protocol tells the end; where that can't
//! be told from a cut (SCGI), a program should send Content-Length.

use crate::Limits;
use crate::error::Error;
use crate::fastcgi::Records;
use crate::http::{UploadTask, with_deadline};
use crate::request::Request;
use crate::response::{self, Body, Piece, Reply, Response};
use crate::scgi::Connected;
use bytes::{Bytes, BytesMut};
use kasoku_wire::cgi::{CgiHead, parse_cgi_head};
use kasoku_wire::http1::{BodyLength, HeadLimits, response_body_length};
use std::time::Duration;

/// Where a program's output comes from. Dropping it before its end ends the exchange.
pub(crate) enum Source {
    /// An answer in records.
    FastCgi(Box<Records>),
    /// A connection that ends with the answer.
    Scgi(Box<Connected>),
}

impl Source {
    /// The next piece, never empty; `None` when it has ended as it should. Nothing is lost when this is dropped.
    async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        match self {
            Self::FastCgi(records) => records.next().await,
            Self::Scgi(connected) => connected.next().await,
        }
    }

    /// After its end: whether the program has said that it failed.
    fn has_failed(&self) -> bool {
        match self {
            Self::FastCgi(records) => records.has_failed(),
            Self::Scgi(_) => false,
        }
    }

    /// Nothing more is wanted of it: a connection that can carry another exchange is kept.
    fn finish(self, is_upload_complete: bool) {
        match self {
            Self::FastCgi(records) => records.finish(is_upload_complete),
            Self::Scgi(_) => {}
        }
    }
}

/// Waits for the head of a program's output, while the request's body may still be on its way to it.
pub(crate) async fn reply(mut source: Source, mut upload: UploadTask, request: &Request<'_>) -> Result<Reply, Error> {
    let mut ahead = BytesMut::new();
    match head_in_time(&mut source, &mut ahead, &mut upload, request.limits).await? {
        CgiHead::LocalRedirect(path) => Ok(Reply::Elsewhere(path)),
        CgiHead::Response(head) => {
            let length = response_body_length(&head, &request.head.method).map_err(Error::MalformedHead)?;
            let left = if let BodyLength::Length(bytes) = length { bytes } else { u64::MAX };
            let pause_max = request.limits.between_bytes_timeout;
            let ahead = ahead.freeze();
            let is_doubtful = false;
            let body = ProgramBody { source: Some(source), ahead, length, left, pause_max, upload, is_doubtful };
            Ok(Reply::Response(Response { head, body: Body::Program(Box::new(response::ProgramBody(body))) }))
        }
    }
}

async fn head_in_time(
    source: &mut Source,
    ahead: &mut BytesMut,
    upload: &mut UploadTask,
    limits: &Limits,
) -> Result<CgiHead, Error> {
    // The clock for the first byte runs from the end of the request; while the body is under way, its own limits hold.
    if upload.is_running() {
        tokio::select! {
            biased;
            head = read_head(source, ahead, &limits.head) => return head,
            sent = upload.ended() => match sent {
                Ok(()) => {}
                // The program may have answered and ended before it took everything: its answer counts.
                Err(Error::Io(_)) => {}
                Err(error) => return Err(error),
            },
        }
    }
    let head = read_head(source, ahead, &limits.head);
    with_deadline(limits.first_byte_timeout, Error::FirstByteTimeout, head).await
}

/// Reads until the head is complete; what follows it stays in `ahead`.
async fn read_head(source: &mut Source, ahead: &mut BytesMut, limits: &HeadLimits) -> Result<CgiHead, Error> {
    loop {
        if let Some((head, length)) = parse_cgi_head(ahead, limits).map_err(Error::MalformedCgi)? {
            let _ = ahead.split_to(length.min(ahead.len()));
            return Ok(head);
        }
        match source.next().await? {
            Some(piece) => ahead.extend_from_slice(&piece),
            None => return Err(Error::EndedBeforeHead),
        }
    }
}

/// The body of a program's answer on its way. Dropping it before the end closes the connection, so that the program may know.
pub(crate) struct ProgramBody {
    /// None after the end, or an error.
    source: Option<Source>,
    /// What was read with the head.
    ahead: Bytes,
    length: BodyLength,
    /// How many bytes are to come, where that is known.
    left: u64,
    pause_max: Duration,
    upload: UploadTask,
    is_doubtful: bool,
}

impl ProgramBody {
    /// The body's length in bytes, where the head tells.
    pub(crate) fn length(&self) -> Option<u64> {
        match self.length {
            BodyLength::None => Some(0),
            BodyLength::Length(bytes) => Some(bytes),
            BodyLength::Chunked | BodyLength::UntilClose => None,
        }
    }

    /// Whether the response has no body, whatever its fields say. What the program prints then is not read.
    pub(crate) fn is_none(&self) -> bool {
        matches!(self.length, BodyLength::None)
    }

    /// After its end: whether it may be incomplete, since its program has failed and nothing tells how long it should be.
    pub(crate) fn is_doubtful(&self) -> bool {
        self.is_doubtful
    }

    /// The next piece. After the end, or an error, there is nothing more.
    pub(crate) async fn next(&mut self) -> Result<Piece, Error> {
        let piece = self.read().await;
        match &piece {
            Ok(Piece::Data(_)) => {}
            Ok(Piece::End(_)) => {
                if let Some(source) = self.source.take() {
                    source.finish(self.upload.is_complete());
                }
            }
            Err(_) => self.source = None,
        }
        piece
    }

    /// Nobody wants it.
    pub(crate) fn discard(mut self) {
        if let Some(source) = self.source.take() {
            source.finish(self.upload.is_complete());
        }
    }

    async fn read(&mut self) -> Result<Piece, Error> {
        let Some(source) = &mut self.source else { return Err(Error::ClosedEarly) };
        if self.left == 0 || matches!(self.length, BodyLength::None) {
            return Ok(Piece::End(None));
        }
        let mut piece = std::mem::take(&mut self.ahead);
        if piece.is_empty() {
            match with_deadline(self.pause_max, Error::BetweenBytesTimeout, source.next()).await? {
                Some(next) => piece = next,
                None if matches!(self.length, BodyLength::Length(_)) => return Err(Error::ClosedEarly),
                None => {
                    self.is_doubtful = source.has_failed();
                    return Ok(Piece::End(None));
                }
            }
        }
        piece.truncate(usize::try_from(self.left).unwrap_or(usize::MAX));
        if matches!(self.length, BodyLength::Length(_)) {
            self.left -= piece.len() as u64;
        }
        Ok(Piece::Data(piece))
    }
}
