//! A program's standard output: a head (RFC 3875 section 6), then a body.
//!
//! The body is as long as Content-Length says, or ends with the output. One that is shorter than its Content-Length is broken;
//! what is printed beyond is dropped, as no client would take it for a part. To HEAD, and with 204 and 304, there is no body, whatever
//! is printed. The output of a program whose name begins with `nph-` (non-parsed header) is an HTTP response and read as one;
//! how it goes to the client is our affair nevertheless, so that it can be kept like any other.

use super::program::Running;
use crate::document_root::Script;
use crate::error::Error;
use crate::interim::Interim;
use crate::limits::{INTERIM_RESPONSES_MAX, Limits};
use crate::request::Request;
use crate::response::{self, CgiBody, Piece, Reply, Response};
use bytes::BytesMut;
use http::StatusCode;
use kasoku_sys::process::Ending;
use kasoku_wire::ResponseHead;
use kasoku_wire::cgi::{CgiHead, parse_cgi_head};
use kasoku_wire::http1::{BodyDecoder, BodyLength, Decoded, parse_response, response_body_length};
use std::time::Duration;
use tokio::time::Instant;

/// What a program says to a request.
pub(super) async fn answer(
    running: Running,
    script: &Script,
    request: &Request<'_>,
    interim: &mut impl Interim,
) -> Result<Reply, Error> {
    let mut output = Output { running, read_ahead: BytesMut::new() };
    let head = match output.final_head(script, request, interim).await {
        Ok(CgiHead::Response(head)) => head,
        Ok(CgiHead::LocalRedirect(target)) => {
            output.running.leave();
            return Ok(Reply::Elsewhere(target));
        }
        Err(error) => {
            output.running.log(&error);
            return Err(error);
        }
    };
    let length = response_body_length(&head, &request.head.method).map_err(Error::MalformedHead)?;
    let body = if matches!(length, BodyLength::None) {
        output.running.leave();
        response::Body::Whole(None)
    } else {
        let decoder = BodyDecoder::new(length, &request.limits.body);
        let pause_max = request.limits.between_bytes_timeout;
        let body = Body { output: Some(output), decoder, length, pause_max, is_doubtful: false };
        response::Body::Cgi(Box::new(CgiBody(body)))
    };
    Ok(Reply::Response(Response { head, body }))
}

struct Output {
    running: Running,
    read_ahead: BytesMut,
}

impl Output {
    async fn final_head(
        &mut self,
        script: &Script,
        request: &Request<'_>,
        interim: &mut impl Interim,
    ) -> Result<CgiHead, Error> {
        let limits = request.limits;
        let is_http = script.file.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"nph-"));
        if is_http {
            return self.http_head(limits, interim).await.map(CgiHead::Response);
        }
        self.head(limits, |bytes| parse_cgi_head(bytes, &limits.head).map_err(Error::MalformedCgi)).await
    }

    /// The final head of a program that speaks HTTP.
    async fn http_head(&mut self, limits: &Limits, interim: &mut impl Interim) -> Result<ResponseHead, Error> {
        for _ in 0..INTERIM_RESPONSES_MAX {
            let head = self.head(limits, |bytes| parse_response(bytes, &limits.head).map_err(Error::MalformedHead));
            match head.await? {
                head if head.status == StatusCode::SWITCHING_PROTOCOLS => break,
                head if head.status.is_informational() => interim.interim(head).await,
                head => return Ok(head),
            }
        }
        Err(Error::UnexpectedInterim)
    }

    /// What `parse` makes of the beginning of the output.
    async fn head<T>(
        &mut self,
        limits: &Limits,
        parse: impl Fn(&[u8]) -> Result<Option<(T, usize)>, Error>,
    ) -> Result<T, Error> {
        let mut deadline = after(limits);
        loop {
            if let Some((head, length)) = parse(&self.read_ahead)? {
                let _ = self.read_ahead.split_to(length.min(self.read_ahead.len()));
                return Ok(head);
            }
            let Self { running, read_ahead } = self;
            // The clock for the first byte runs from the end of the request; while its body is under way, its own limits hold.
            let read = if running.is_sending() {
                running.read_while_sending(read_ahead).await?
            } else {
                Some(running.read(read_ahead, deadline, Error::FirstByteTimeout).await?)
            };
            match read {
                Some(0) => return Err(self.broken().await),
                Some(_) => {}
                None => deadline = after(limits),
            }
        }
    }

    /// Why the output has ended too early.
    async fn broken(&self) -> Error {
        match self.running.ending().await {
            _ if self.running.is_over() => Error::Overtime,
            Some(ending) => Error::ProgramEnded(ending),
            None => Error::ClosedEarly,
        }
    }
}

fn after(limits: &Limits) -> Instant {
    Instant::now() + limits.first_byte_timeout
}

/// The body on its way.
pub(crate) struct Body {
    output: Option<Output>,
    decoder: BodyDecoder,
    length: BodyLength,
    pause_max: Duration,
    is_doubtful: bool,
}

impl Body {
    /// The body's length in bytes, where the head tells.
    pub(crate) fn length(&self) -> Option<u64> {
        if let BodyLength::Length(length) = self.length { Some(length) } else { None }
    }

    /// After its end: whether it may be incomplete, since its program has ended with an error and nothing tells how long it
    /// should be.
    pub(crate) fn is_doubtful(&self) -> bool {
        self.is_doubtful
    }

    /// The next piece. After the end, or an error, there is nothing more.
    pub(crate) async fn next(&mut self) -> Result<Piece, Error> {
        let piece = self.read().await;
        match (&piece, self.output.take()) {
            (Ok(Piece::Data(_)), output) => self.output = output,
            (Ok(Piece::End(_)), Some(output)) => output.running.leave(),
            (Err(error), Some(output)) => output.running.log(error),
            (_, None) => {}
        }
        piece
    }

    /// Nobody wants it: what the program still prints is dropped, and it may work on until its time is over.
    pub(crate) fn discard(mut self) {
        if let Some(output) = self.output.take() {
            output.running.leave();
        }
    }

    async fn read(&mut self) -> Result<Piece, Error> {
        let Some(output) = &mut self.output else { return Err(Error::ClosedEarly) };
        loop {
            match self.decoder.decode(&mut output.read_ahead).map_err(Error::MalformedBody)? {
                Decoded::Data(data) if data.is_empty() => {}
                Decoded::Data(data) => return Ok(Piece::Data(data)),
                Decoded::End(trailers) => return Ok(Piece::End(trailers)),
                Decoded::NeedMore => {
                    let deadline = Instant::now() + self.pause_max;
                    let Output { running, read_ahead } = output;
                    if running.read(read_ahead, deadline, Error::BetweenBytesTimeout).await? == 0 {
                        if self.decoder.finish_on_close().is_err() {
                            return Err(output.broken().await);
                        }
                        self.is_doubtful = is_doubtful(output).await?;
                        return Ok(Piece::End(None));
                    }
                }
            }
        }
    }
}

/// Whether a body that ended with the output may lack its end; an error when it does.
async fn is_doubtful(output: &Output) -> Result<bool, Error> {
    match output.running.ending().await {
        None | Some(Ending::Exit(0)) => Ok(false),
        Some(ending) if !matches!(ending, Ending::Signal(_)) => {
            output.running.log_doubt(ending);
            Ok(true)
        }
        Some(_) => Err(output.broken().await),
    }
}
