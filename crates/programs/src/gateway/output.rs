//! Reads the output of a FastCGI or SCGI program: first the head, then the body piece by piece.
//!
//! The deadlines are those of an origin that speaks HTTP: the wait for the head begins at the end of the request, and no pause
//! within the body may be too long. So is the check of the length: a body that ends before its Content-Length is an error, and
//! bytes beyond it are dropped. Without Content-Length, the protocol marks the end. SCGI can't tell the end from a cut, so an
//! SCGI program should send Content-Length.

use super::body::{GatewayBody, OutputSource};
use crate::Limits;
use crate::request::Request;
use crate::response::{LocalBody, Reply, Response};
use bytes::BytesMut;
use kasoku_origin::Error;
use kasoku_origin::http::{UploadTask, with_deadline};
use kasoku_wire::cgi::{CgiHead, parse_cgi_head};
use kasoku_wire::http1::{BodyLength, HeadLimits, response_body_length};

/// Waits for the head of a program's output, while the request's body may still be under way to it.
pub(crate) async fn reply(
    mut source: OutputSource,
    mut upload: UploadTask,
    request: &Request<'_>,
) -> Result<Reply, Error> {
    let mut ahead = BytesMut::new();
    match head_in_time(&mut source, &mut ahead, &mut upload, request.limits).await? {
        CgiHead::LocalRedirect(path) => Ok(Reply::LocalRedirect(path)),
        CgiHead::Response(head) => {
            let length = response_body_length(&head, &request.head.method).map_err(Error::MalformedHead)?;
            let left = if let BodyLength::Length(bytes) = length { bytes } else { u64::MAX };
            let pause_max = request.limits.between_bytes_timeout;
            let ahead = ahead.freeze();
            let may_be_incomplete = false;
            let body = GatewayBody { source: Some(source), ahead, length, left, pause_max, upload, may_be_incomplete };
            Ok(Reply::Response(Response { head, body: LocalBody::Gateway(Box::new(body)) }))
        }
    }
}

async fn head_in_time(
    source: &mut OutputSource,
    ahead: &mut BytesMut,
    upload: &mut UploadTask,
    limits: &Limits,
) -> Result<CgiHead, Error> {
    // The time for the first byte counts from the end of the request. While the body is being sent, the body's own limits hold.
    if upload.is_running() {
        tokio::select! {
            biased;
            head = read_head(source, ahead, &limits.head) => return head,
            sent = upload.ended() => match sent {
                Ok(()) => {}
                // The program may have answered and ended before it read the whole body: its answer counts.
                Err(Error::Io(_)) => {}
                Err(error) => return Err(error),
            },
        }
    }
    let head = read_head(source, ahead, &limits.head);
    with_deadline(limits.first_byte_timeout, Error::FirstByteTimeout, head).await
}

/// Reads until the head is complete; what follows it stays in `ahead`.
async fn read_head(source: &mut OutputSource, ahead: &mut BytesMut, limits: &HeadLimits) -> Result<CgiHead, Error> {
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
