//! What a program prints: first the head, then the body piece by piece.
//!
//! The times are those of an origin that speaks HTTP: the head is waited for from the end of the request on, and no pause within
//! the body may be too long. So is the length: a body that ends before the Content-Length that its head tells is an
//! error, and what comes beyond it belongs to no answer and is dropped. Without one, the protocol tells the end; where that can't
//! be told from a cut (SCGI), a program should send Content-Length.

use super::body::{GatewayBody, OutputSource};
use crate::Limits;
use crate::request::Request;
use crate::response::{OriginBody, Reply, Response};
use bytes::BytesMut;
use kasoku_origin::Error;
use kasoku_origin::http::{UploadTask, with_deadline};
use kasoku_wire::cgi::{CgiHead, parse_cgi_head};
use kasoku_wire::http1::{BodyLength, HeadLimits, response_body_length};

/// Waits for the head of a program's output, while the request's body may still be on its way to it.
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
            let is_doubtful = false;
            let body = GatewayBody { source: Some(source), ahead, length, left, pause_max, upload, is_doubtful };
            Ok(Reply::Response(Response { head, body: OriginBody::Program(Box::new(body)) }))
        }
    }
}

async fn head_in_time(
    source: &mut OutputSource,
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
