//! The request's body on its way to an origin.
//!
//! A program has to be told how long it is (RFC 3875 section 4.1.2; php-fpm takes a request without CONTENT_LENGTH for one
//! without a body). So who asks a program brings a body whose length is known; what a client sends in chunks has been taken in
//! before. Of others, CGI programs get what comes, to its end, and application servers nothing: 411.

use crate::error::UploadError;
use crate::interim::Interim;
use bytes::Bytes;
use http::StatusCode;
use kasoku_wire::http1::BodyLength;
use kasoku_wire::{Fields, RequestHead, ResponseHead};

/// A request's body, wherever it comes from.
pub trait Upload {
    /// How it is framed: [`BodyLength::Length`] or [`BodyLength::Chunked`].
    fn length(&self) -> BodyLength;

    /// The next piece.
    fn next(&mut self) -> impl Future<Output = Result<UploadPiece, UploadError>>;
}

/// A piece of a request's body.
pub enum UploadPiece {
    /// Bytes.
    Data(Bytes),
    /// The end, with trailer fields if there are some.
    End(Option<Fields>),
}

/// No body.
pub struct NoUpload;

impl Upload for NoUpload {
    fn length(&self) -> BodyLength {
        BodyLength::None
    }

    async fn next(&mut self) -> Result<UploadPiece, UploadError> {
        Ok(UploadPiece::End(None))
    }
}

/// Whether a request may be sent once more: it does nothing twice, and has no body that would be gone.
//= RFC 9110 section 9.2.2
//# A client SHOULD NOT automatically retry a request with a non-idempotent method unless it has some means to know that
//# the request semantics are actually idempotent, regardless of the method, or some means to detect that the original
//# request was never applied.
pub fn is_repeatable<U: Upload>(head: &RequestHead, upload: &Option<U>) -> bool {
    let has_upload = upload.as_ref().is_some_and(|upload| !matches!(upload.length(), BodyLength::None));
    head.method.is_idempotent() && !has_upload
}

/// How a body is framed, if there is one.
pub(crate) fn length_of<U: Upload>(upload: &Option<U>) -> BodyLength {
    upload.as_ref().map_or(BodyLength::None, Upload::length)
}

/// CONTENT_LENGTH of such a body, where there is one and its length is known.
pub(crate) fn content_length(length: BodyLength) -> Option<u64> {
    if let BodyLength::Length(bytes) = length { Some(bytes) } else { None }
}

/// Tells a client that waits for it to send its body, on behalf of a program, which has no way to say that it wants it.
//= RFC 9110 section 10.1.1
//# A proxy MUST, upon receiving an HTTP/1.1 (or later) request that has a valid method, target URI, and complete header section that contains a 100-continue expectation and indicates a request message body will follow, either
//# send an immediate final status code
//# or
pub async fn invite(head: &RequestHead, interim: &mut impl Interim) {
    if expects_continue(head) {
        interim.interim(ResponseHead::new(StatusCode::CONTINUE)).await;
    }
}

/// Whether the client waits for `100 (Continue)`.
pub fn expects_continue(head: &RequestHead) -> bool {
    head.fields.first("expect").is_some_and(|value| value.eq_ignore_ascii_case(b"100-continue"))
}
