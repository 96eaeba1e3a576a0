//! The body of a request on its way to an origin.

use crate::error::UploadError;
use bytes::Bytes;
use kasoku_wire::http1::BodyLength;
use kasoku_wire::{Fields, RequestHead};

/// A source of a request's body.
pub trait Upload {
    /// The framing of the body: [`BodyLength::Length`] or [`BodyLength::Chunked`].
    fn length(&self) -> BodyLength;

    /// The next piece.
    fn next(&mut self) -> impl Future<Output = Result<UploadPiece, UploadError>>;
}

/// A piece of a request's body.
pub enum UploadPiece {
    /// Bytes.
    Data(Bytes),
    /// The end of the body. Holds trailer fields, if there are any.
    End(Option<Fields>),
}

/// A request without a body.
pub struct NoUpload;

impl Upload for NoUpload {
    fn length(&self) -> BodyLength {
        BodyLength::None
    }

    async fn next(&mut self) -> Result<UploadPiece, UploadError> {
        Ok(UploadPiece::End(None))
    }
}

/// Whether a request may be sent again: its method is idempotent, and it has no body that would have been consumed.
//= RFC 9110 section 9.2.2
//# A client SHOULD NOT automatically retry a request with a non-idempotent method unless it has some means to know that
//# the request semantics are actually idempotent, regardless of the method, or some means to detect that the original
//# request was never applied.
pub fn is_repeatable<U: Upload>(head: &RequestHead, upload: &Option<U>) -> bool {
    let has_upload = upload.as_ref().is_some_and(|upload| !matches!(upload.length(), BodyLength::None));
    head.method.is_idempotent() && !has_upload
}

/// Whether the client waits for `100 (Continue)`.
pub fn expects_continue(head: &RequestHead) -> bool {
    head.fields.first("expect").is_some_and(|value| value.eq_ignore_ascii_case(b"100-continue"))
}
