//! Decides where a message's body ends (RFC 9112 section 6.3). No other code decides it.
//!
//! If a proxy and the next recipient disagree about the end of a message, a client can smuggle a request past the proxy. So this
//! code is stricter than section 6.3: it refuses Content-Length beside Transfer-Encoding, and a repeated Content-Length in a
//! request, even where the RFC says which one wins. Requests and responses share the parser of Transfer-Encoding; the verdicts
//! differ.

use super::grammar::{decimal, is_token, list_members, trim_ows};
use super::{RequestError, ResponseError};
use crate::{Fields, RequestHead, ResponseHead};
use http::{Method, StatusCode, Version};

/// How the end of a body is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyLength {
    /// There is no body.
    None,
    /// That many bytes, possibly 0.
    Length(u64),
    /// The last chunk ends it (RFC 9112 section 7.1).
    Chunked,
    /// The close of the connection ends it. Responses only.
    UntilClose,
}

/// How the end of a request's body is found.
///
/// # Errors
/// When the body's end is in doubt. The caller must close the connection after the answer.
pub fn request_body_length(head: &RequestHead) -> Result<BodyLength, RequestError> {
    let Some(codings) = TransferCodings::of(&head.fields) else { return request_content_length(&head.fields) };
    //= RFC 9112 section 6.1
    //# A server or client that receives an HTTP/1.0 message containing a Transfer-Encoding header field MUST treat the
    //# message as if the framing is faulty, even if a Content-Length is present, and close the connection after
    //# processing the message.
    if head.version == Version::HTTP_10 {
        return Err(RequestError::TransferEncodingInHttp10);
    }
    //= RFC 9112 section 6.1
    //# A server MAY reject a request that contains both Content-Length and Transfer-Encoding or process such a request
    //# in accordance with the Transfer-Encoding alone. Regardless, the server MUST close the connection after
    //# responding to such a request to avoid the potential attacks.
    if head.fields.contains("content-length") {
        return Err(RequestError::ContentLengthWithTransferEncoding);
    }
    match codings {
        //= RFC 9112 section 6.1
        //# A recipient MUST be able to parse the chunked transfer coding
        TransferCodings::Chunked => Ok(BodyLength::Chunked),
        //= RFC 9112 section 6.3
        //# If a Transfer-Encoding header field is present in a request and the chunked transfer coding is not the final
        //# encoding, the message body length cannot be determined reliably; the server MUST respond with the 400 (Bad
        //# Request) status code and then close the connection.
        TransferCodings::ChunkedNotLast | TransferCodings::CompressedLast => Err(RequestError::ChunkedNotLast),
        //= RFC 9112 section 6.1
        //# A server that receives a request message with a transfer coding it does not understand SHOULD respond with
        //# 501 (Not Implemented).
        TransferCodings::ChunkedAfterOthers => Err(RequestError::TransferCodingUnknown),
        TransferCodings::ChunkedRepeated => Err(RequestError::ChunkedRepeated),
        TransferCodings::Malformed => Err(RequestError::TransferEncoding),
    }
}

/// How the end of a response's body is found, which depends on the request's method too.
///
/// The framing fields of 1xx, 204 and 304, and of a response to HEAD, are ignored; a caller that forwards such a head must remove
/// the fields that must not be in it. A 2xx response to CONNECT is not supported.
///
/// # Errors
/// When the body's end is in doubt. The caller must close the connection to the origin and discard the response.
pub fn response_body_length(head: &ResponseHead, request_method: &Method) -> Result<BodyLength, ResponseError> {
    //= RFC 9112 section 6.3
    //# is always terminated by the first empty line after the header fields, regardless of the header fields present in
    //# the message, and thus cannot contain a message body or trailer section.
    let is_bodiless = head.status.is_informational()
        || matches!(head.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
        || *request_method == Method::HEAD;
    if is_bodiless {
        return Ok(BodyLength::None);
    }
    let Some(codings) = TransferCodings::of(&head.fields) else { return response_content_length(&head.fields) };
    //= RFC 9112 section 6.1
    //# A server or client that receives an HTTP/1.0 message containing a Transfer-Encoding header field MUST treat the
    //# message as if the framing is faulty, even if a Content-Length is present, and close the connection after
    //# processing the message.
    if head.version == Version::HTTP_10 {
        return Err(ResponseError::TransferEncodingInHttp10);
    }
    //= RFC 9112 section 6.3
    //# Such a message might indicate an attempt to perform request smuggling (Section 11.2) or response splitting
    //# (Section 11.1) and ought to be handled as an error.
    if head.fields.contains("content-length") {
        return Err(ResponseError::ContentLengthWithTransferEncoding);
    }
    match codings {
        //= RFC 9112 section 6.3
        //# the message body length is determined by reading and decoding the chunked data until the transfer coding
        //# indicates the data is complete.
        TransferCodings::Chunked => Ok(BodyLength::Chunked),
        //= RFC 9112 section 6.3
        //# If a Transfer-Encoding header field is present in a response and the chunked transfer coding is not the
        //# final encoding, the message body length is determined by reading the connection until it is closed by the
        //# server.
        TransferCodings::ChunkedNotLast => Ok(BodyLength::UntilClose),
        // The end would be known: it is the close of the connection. But Kasoku neither decodes the compression nor forwards
        // Transfer-Encoding, so the client would not know that the body is compressed.
        TransferCodings::CompressedLast => Err(ResponseError::UnsupportedCoding),
        TransferCodings::ChunkedAfterOthers => Err(ResponseError::UnsupportedCoding),
        TransferCodings::ChunkedRepeated => Err(ResponseError::ChunkedRepeated),
        TransferCodings::Malformed => Err(ResponseError::TransferEncoding),
    }
}

/// The registered compression codings (RFC 9112 section 7.2).
const COMPRESSIONS: [&[u8]; 5] = [b"gzip", b"x-gzip", b"deflate", b"compress", b"x-compress"];

/// The content of Transfer-Encoding, as far as framing needs it.
enum TransferCodings {
    /// Chunked and nothing else.
    Chunked,
    /// Other codings, then chunked.
    ChunkedAfterOthers,
    /// The last coding is neither chunked nor a registered compression.
    ChunkedNotLast,
    /// The last coding is one of the registered compressions.
    CompressedLast,
    /// Chunked is there more than once.
    ChunkedRepeated,
    /// No coding at all, one that is not a token, or parameters on chunked.
    Malformed,
}

impl TransferCodings {
    /// `None`: no such field.
    fn of(fields: &Fields) -> Option<Self> {
        if !fields.contains("transfer-encoding") {
            return None;
        }
        let (mut others, mut chunked, mut is_chunked_last, mut is_compressed_last) = (0usize, 0usize, false, false);
        for coding in list_members(fields, "transfer-encoding") {
            let (name, has_parameters) = match coding.iter().position(|byte| *byte == b';') {
                Some(end) => (trim_ows(coding.get(..end).unwrap_or_default()), true),
                None => (coding, false),
            };
            is_chunked_last = name.eq_ignore_ascii_case(b"chunked");
            is_compressed_last = COMPRESSIONS.iter().any(|one| name.eq_ignore_ascii_case(one));
            //= RFC 9112 section 7.1
            //# The chunked coding does not define any parameters. Their presence SHOULD be treated as an error.
            if !is_token(name) || (is_chunked_last && has_parameters) {
                return Some(Self::Malformed);
            }
            if is_chunked_last { chunked += 1 } else { others += 1 }
        }
        Some(match (others, chunked) {
            (0, 0) => Self::Malformed,
            //= RFC 9112 section 6.1
            //# A sender MUST NOT apply the chunked transfer coding more than once to a message body
            (_, 2..) => Self::ChunkedRepeated,
            _ if is_compressed_last => Self::CompressedLast,
            _ if !is_chunked_last => Self::ChunkedNotLast,
            (0, _) => Self::Chunked,
            _ => Self::ChunkedAfterOthers,
        })
    }
}

//= RFC 9112 section 6.3
//# If the unrecoverable error is in a request message, the server MUST respond with a 400 (Bad Request) status code and
//# then close the connection.
fn request_content_length(fields: &Fields) -> Result<BodyLength, RequestError> {
    let mut values = fields.all("content-length");
    let Some(value) = values.next() else {
        //= RFC 9112 section 6.3
        //# If this is a request message and none of the above are true, then the message body length is zero (no
        //# message body is present).
        return Ok(BodyLength::None);
    };
    if values.next().is_some() || value.contains(&b',') {
        return Err(RequestError::ContentLengthRepeated);
    }
    decimal(trim_ows(value)).map(BodyLength::Length).ok_or(RequestError::ContentLength)
}

//= RFC 9112 section 6.3
//# If a message is received without Transfer-Encoding and with an invalid Content-Length header field, then the message
//# framing is invalid and the recipient MUST treat it as an unrecoverable error, unless the field value can be
//# successfully parsed as a comma-separated list
fn response_content_length(fields: &Fields) -> Result<BodyLength, ResponseError> {
    if !fields.contains("content-length") {
        //= RFC 9112 section 6.3
        //# Otherwise, this is a response message without a declared message body length, so the message body length is
        //# determined by the number of octets received prior to the server closing the connection.
        return Ok(BodyLength::UntilClose);
    }
    let mut length = None;
    for value in fields.all("content-length").flat_map(|value| value.split(|byte| *byte == b',')) {
        let this = decimal(trim_ows(value)).ok_or(ResponseError::ContentLength)?;
        if *length.get_or_insert(this) != this {
            return Err(ResponseError::ContentLengthConflict);
        }
    }
    length.map(BodyLength::Length).ok_or(ResponseError::ContentLength)
}

#[cfg(test)]
#[path = "framing_tests.rs"]
mod tests;
