//! Every reason to refuse a request, with the status to answer.

use super::head::HeadError;
use http::StatusCode;

/// Why a request is refused. The fault lies with the client; the connection is closed after the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum RequestError {
    /// The lines or fields of the head are malformed or too many.
    #[error(transparent)]
    Head(#[from] HeadError),
    /// More empty lines before the request than the limit.
    #[error("too many empty lines precede the request")]
    EmptyLines,
    /// The first line is not `method SP target SP HTTP-version`.
    #[error("the request line is not a method, a target and an HTTP version")]
    RequestLine,
    /// The method is not a token.
    #[error("the method is not a token")]
    Method,
    /// The method is longer than any that is registered.
    #[error("the method is longer than any that exists")]
    MethodTooLong,
    /// An HTTP version other than 1.x.
    #[error("the HTTP version is not 1.0 or 1.1")]
    Version,
    /// The target contains something that is not visible ASCII, or a fragment.
    #[error("the target contains a fragment or something that is not visible ASCII")]
    Target,
    /// The target is longer than the limit.
    #[error("the target is longer than the limit")]
    TargetTooLong,
    /// The target's form does not fit the method, or is none of the four forms.
    #[error("the target's form does not fit the method")]
    TargetForm,
    /// HTTP/1.1 without Host.
    #[error("an HTTP/1.1 request has no Host")]
    HostMissing,
    /// More than one Host line.
    #[error("Host is sent more than once")]
    HostRepeated,
    /// The Host field, or the authority of the target, is not `uri-host [":" port]` with a non-empty host.
    #[error("Host or the target's authority is not a host with an optional port")]
    Authority,
    /// Content-Length is not a single decimal number that fits 64 bits.
    #[error("Content-Length is not a decimal number of 64 bits")]
    ContentLength,
    /// More than one Content-Length line, or a list in one.
    #[error("Content-Length is sent more than once")]
    ContentLengthRepeated,
    /// Content-Length beside Transfer-Encoding.
    #[error("Content-Length is sent beside Transfer-Encoding")]
    ContentLengthWithTransferEncoding,
    /// Transfer-Encoding in HTTP/1.0.
    #[error("Transfer-Encoding is sent in an HTTP/1.0 request")]
    TransferEncodingInHttp10,
    /// Transfer-Encoding without a coding, or not a list of codings.
    #[error("Transfer-Encoding is not a list of transfer codings")]
    TransferEncoding,
    /// The last transfer coding is not chunked.
    #[error("the last transfer coding is not chunked")]
    ChunkedNotLast,
    /// Chunked more than once.
    #[error("the chunked transfer coding is applied twice")]
    ChunkedRepeated,
    /// A transfer coding other than chunked, correctly followed by chunked.
    #[error("a transfer coding other than chunked is used")]
    TransferCodingUnknown,
}

impl RequestError {
    /// The status to answer with.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Head(error) => error.status(),
            //= RFC 9112 section 3
            //# A server that receives a method longer than any that it implements SHOULD respond with a
            //# 501 (Not Implemented) status code.
            //= RFC 9112 section 6.1
            //# A server that receives a request message with a transfer coding it does not understand SHOULD respond
            //# with 501 (Not Implemented).
            Self::MethodTooLong | Self::TransferCodingUnknown => StatusCode::NOT_IMPLEMENTED,
            Self::Version => StatusCode::HTTP_VERSION_NOT_SUPPORTED,
            //= RFC 9112 section 3
            //# A server that receives a request-target longer than any URI it wishes to parse MUST respond with a
            //# 414 (URI Too Long) status code
            Self::TargetTooLong => StatusCode::URI_TOO_LONG,
            _ => StatusCode::BAD_REQUEST,
        }
    }

    /// A stable word for logs and metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Head(error) => error.name(),
            Self::EmptyLines => "empty-lines",
            Self::RequestLine => "request-line",
            Self::Method => "method",
            Self::MethodTooLong => "method-too-long",
            Self::Version => "version",
            Self::Target => "target",
            Self::TargetTooLong => "target-too-long",
            Self::TargetForm => "target-form",
            Self::HostMissing => "host-missing",
            Self::HostRepeated => "host-repeated",
            Self::Authority => "authority",
            Self::ContentLength => "content-length",
            Self::ContentLengthRepeated => "content-length-repeated",
            Self::ContentLengthWithTransferEncoding => "content-length-with-transfer-encoding",
            Self::TransferEncodingInHttp10 => "transfer-encoding-in-http10",
            Self::TransferEncoding => "transfer-encoding",
            Self::ChunkedNotLast => "chunked-not-last",
            Self::ChunkedRepeated => "chunked-repeated",
            Self::TransferCodingUnknown => "transfer-coding-unknown",
        }
    }
}
