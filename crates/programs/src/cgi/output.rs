//! Reads a CGI program's standard output: a head (RFC 3875 section 6), then a body.
//!
//! The body is as long as Content-Length says, or ends with the output. A body that is shorter than its Content-Length is broken;
//! output beyond it is dropped, since no client would take it for a part of the body. A response to HEAD, a 204 and a 304 have no
//! body, whatever the program prints. If the name of a program begins with `nph-` (non-parsed header), its output is read as an HTTP
//! response; Kasoku still decides how the response goes to the client, so that it can be stored like any other.

use super::body::{CgiBody, Output};
use super::program::RunningProgram;
use crate::Limits;
use crate::document_root::Script;
use crate::request::Request;
use crate::response::{LocalBody, Reply, Response};
use bytes::BytesMut;
use http::StatusCode;
use kasoku_origin::limits::INTERIM_RESPONSES_MAX;
use kasoku_origin::{Error, Interim};
use kasoku_wire::ResponseHead;
use kasoku_wire::cgi::{CgiHead, parse_cgi_head};
use kasoku_wire::http1::{BodyDecoder, BodyLength, parse_response, response_body_length};
use tokio::time::Instant;

/// Reads a program's answer to a request.
pub(super) async fn answer(
    running: RunningProgram,
    script: &Script,
    request: &Request<'_>,
    interim: &mut impl Interim,
) -> Result<Reply, Error> {
    let mut output = Output { running, read_ahead: BytesMut::new() };
    let head = match output.final_head(script, request, interim).await {
        Ok(CgiHead::Response(head)) => head,
        Ok(CgiHead::LocalRedirect(target)) => {
            output.running.end_answer();
            return Ok(Reply::LocalRedirect(target));
        }
        Err(error) => {
            output.running.log(&error);
            return Err(error);
        }
    };
    let length = response_body_length(&head, &request.head.method).map_err(Error::MalformedHead)?;
    let body = if matches!(length, BodyLength::None) {
        output.running.end_answer();
        LocalBody::Whole(None)
    } else {
        let decoder = BodyDecoder::new(length, &request.limits.body);
        let pause_max = request.limits.between_bytes_timeout;
        let body = CgiBody { output: Some(output), decoder, length, pause_max, may_be_incomplete: false };
        LocalBody::Cgi(Box::new(body))
    };
    Ok(Reply::Response(Response { head, body }))
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

    /// Reads the beginning of the output until `parse` finds a head.
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
            // The time for the first byte counts from the end of the request. While its body is being sent, the body's own limits hold.
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
}

fn after(limits: &Limits) -> Instant {
    Instant::now() + limits.first_byte_timeout
}
