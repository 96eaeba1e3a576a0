//! Reads the body of a CGI program's answer.

use super::program::RunningProgram;
use bytes::BytesMut;
use kasoku_origin::{BodyPiece, Error};
use kasoku_sys::process::Ending;
use kasoku_wire::http1::{BodyDecoder, BodyLength, DecodedBody};
use std::time::Duration;
use tokio::time::Instant;

/// A program, and the part of its output that was read ahead.
pub(super) struct Output {
    pub(super) running: RunningProgram,
    pub(super) read_ahead: BytesMut,
}

impl Output {
    /// Why the output has ended too early.
    pub(super) async fn broken(&self) -> Error {
        match self.running.ending().await {
            _ if self.running.is_over() => Error::ProgramTimeout,
            Some(ending) => Error::ProgramEnded(ending),
            None => Error::ClosedEarly,
        }
    }
}

/// The body of a CGI program's answer while it is read.
pub struct CgiBody {
    pub(super) output: Option<Output>,
    pub(super) decoder: BodyDecoder,
    pub(super) length: BodyLength,
    pub(super) pause_max: Duration,
    pub(super) may_be_incomplete: bool,
}

impl CgiBody {
    /// The body's length in bytes, if the head tells it.
    pub(crate) fn length(&self) -> Option<u64> {
        if let BodyLength::Length(length) = self.length { Some(length) } else { None }
    }

    /// After the end: whether the body may be incomplete, since the program has exited with an error and the head has no Content-Length.
    pub(crate) fn may_be_incomplete(&self) -> bool {
        self.may_be_incomplete
    }

    /// The next piece. No data follows the end or an error.
    pub(crate) async fn next(&mut self) -> Result<BodyPiece, Error> {
        let piece = self.read().await;
        match (&piece, self.output.take()) {
            (Ok(BodyPiece::Data(_)), output) => self.output = output,
            (Ok(BodyPiece::End(_)), Some(output)) => output.running.end_answer(),
            (Err(error), Some(output)) => output.running.log(error),
            (_, None) => {}
        }
        piece
    }

    /// Gives up the rest of the body: what the program still prints is dropped, and it may work on until its time is over.
    pub(crate) fn discard(mut self) {
        if let Some(output) = self.output.take() {
            output.running.end_answer();
        }
    }

    async fn read(&mut self) -> Result<BodyPiece, Error> {
        let Some(output) = &mut self.output else { return Err(Error::ClosedEarly) };
        loop {
            match self.decoder.decode(&mut output.read_ahead).map_err(Error::MalformedBody)? {
                DecodedBody::Data(data) if data.is_empty() => {}
                DecodedBody::Data(data) => return Ok(BodyPiece::Data(data)),
                DecodedBody::End(trailers) => return Ok(BodyPiece::End(trailers)),
                DecodedBody::NeedMore => {
                    let deadline = Instant::now() + self.pause_max;
                    let Output { running, read_ahead } = output;
                    if running.read(read_ahead, deadline, Error::BetweenBytesTimeout).await? == 0 {
                        if self.decoder.finish_on_close().is_err() {
                            return Err(output.broken().await);
                        }
                        self.may_be_incomplete = may_be_incomplete(output).await?;
                        return Ok(BodyPiece::End(None));
                    }
                }
            }
        }
    }
}

/// Whether a body that ended with the output may be incomplete; an error if it certainly is.
async fn may_be_incomplete(output: &Output) -> Result<bool, Error> {
    match output.running.ending().await {
        None | Some(Ending::Exit(0)) => Ok(false),
        Some(ending) if !matches!(ending, Ending::Signal(_)) => {
            output.running.log_not_stored(ending);
            Ok(true)
        }
        Some(_) => Err(output.broken().await),
    }
}
