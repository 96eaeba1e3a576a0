//! Every reason to refuse a request, with the status to answer.

use super::head::{HeadError, impl_display_from_row};
use http::StatusCode;

/// Why a request is refused. The fault lies with the client; the connection is closed after the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestError {
    /// The lines or fields of the head are malformed or too many.
    Head(HeadError),
    /// More empty lines before the request than the limit.
    EmptyLines,
    /// The first line is not `method SP target SP HTTP-version`.
    RequestLine,
    /// The method is not a token.
    Method,
    /// The method is longer than any that is registered.
    MethodTooLong,
    /// An HTTP version other than 1.x.
    Version,
    /// The target contains something that is not visible ASCII, or a fragment.
    Target,
    /// The target is longer than the limit.
    TargetTooLong,
    /// The target's form does not fit the method, or is none of the four forms.
    TargetForm,
    /// HTTP/1.1 without Host.
    HostMissing,
    /// More than one Host line.
    HostRepeated,
    /// The Host field, or the authority of the target, is not `uri-host [":" port]` with a non-empty host.
    Authority,
    /// Content-Length is not a single decimal number that fits 64 bits.
    ContentLength,
    /// More than one Content-Length line, or a list in one.
    ContentLengthRepeated,
    /// Content-Length beside Transfer-Encoding.
    ContentLengthWithTransferEncoding,
    /// Transfer-Encoding in HTTP/1.0.
    TransferEncodingInHttp10,
    /// Transfer-Encoding without a coding, or not a list of codings.
    TransferEncoding,
    /// The last transfer coding is not chunked.
    ChunkedNotLast,
    /// Chunked more than once.
    ChunkedRepeated,
    /// A transfer coding other than chunked, correctly followed by chunked.
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
            _ => self.row().0,
        }
    }

    fn row(&self) -> (&'static str, &'static str) {
        match self {
            Self::Head(_) => ("head", "the head is malformed"),
            Self::EmptyLines => ("empty-lines", "too many empty lines precede the request"),
            Self::RequestLine => ("request-line", "the request line is not a method, a target and an HTTP version"),
            Self::Method => ("method", "the method is not a token"),
            Self::MethodTooLong => ("method-too-long", "the method is longer than any that exists"),
            Self::Version => ("version", "the HTTP version is not 1.0 or 1.1"),
            Self::Target => ("target", "the target contains a fragment or something that is not visible ASCII"),
            Self::TargetTooLong => ("target-too-long", "the target is longer than the limit"),
            Self::TargetForm => ("target-form", "the target's form does not fit the method"),
            Self::HostMissing => ("host-missing", "an HTTP/1.1 request has no Host"),
            Self::HostRepeated => ("host-repeated", "Host is sent more than once"),
            Self::Authority => ("authority", "Host or the target's authority is not a host with an optional port"),
            Self::ContentLength => ("content-length", "Content-Length is not a decimal number of 64 bits"),
            Self::ContentLengthRepeated => ("content-length-repeated", "Content-Length is sent more than once"),
            Self::ContentLengthWithTransferEncoding => {
                ("content-length-with-transfer-encoding", "Content-Length is sent beside Transfer-Encoding")
            }
            Self::TransferEncodingInHttp10 => {
                ("transfer-encoding-in-http10", "Transfer-Encoding is sent in an HTTP/1.0 request")
            }
            Self::TransferEncoding => ("transfer-encoding", "Transfer-Encoding is not a list of transfer codings"),
            Self::ChunkedNotLast => ("chunked-not-last", "the last transfer coding is not chunked"),
            Self::ChunkedRepeated => ("chunked-repeated", "the chunked transfer coding is applied twice"),
            Self::TransferCodingUnknown => ("transfer-coding-unknown", "a transfer coding other than chunked is used"),
        }
    }
}

impl_display_from_row!(RequestError);
