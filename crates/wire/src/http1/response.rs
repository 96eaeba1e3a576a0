//! Parses the head of a response, and names every reason to refuse a response.
//!
//! A malformed head is never repaired: the client gets a 502, and the connection to the origin is closed. The parser accepts one
//! deviation: a status line that ends after the code, which many origins send.

use super::grammar::is_text;
use super::head::{self, HeadError};
use super::limits::HeadLimits;
use crate::ResponseHead;
use http::{StatusCode, Version};

/// Why a response is refused. The fault lies with the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum ResponseError {
    /// The lines or fields of the head are malformed or too many.
    #[error(transparent)]
    Head(#[from] HeadError),
    /// The first line is not `HTTP-version SP 3DIGIT SP [reason-phrase]`.
    #[error("the status line is not an HTTP version, a code and a reason")]
    StatusLine,
    /// An HTTP version other than 1.x.
    #[error("the HTTP version is not 1.0 or 1.1")]
    Version,
    /// A status code outside 100 to 999.
    #[error("the status code is not between 100 and 999")]
    Status,
    /// Content-Length is not a decimal number that fits 64 bits.
    #[error("Content-Length is not a decimal number of 64 bits")]
    ContentLength,
    /// Content-Lengths that differ.
    #[error("several Content-Lengths differ")]
    ContentLengthConflict,
    /// Content-Length beside Transfer-Encoding.
    #[error("Content-Length is sent beside Transfer-Encoding")]
    ContentLengthWithTransferEncoding,
    /// Transfer-Encoding in HTTP/1.0.
    #[error("Transfer-Encoding is sent in an HTTP/1.0 response")]
    TransferEncodingInHttp10,
    /// Transfer-Encoding without a coding, or not a list of codings.
    #[error("Transfer-Encoding is not a list of transfer codings")]
    TransferEncoding,
    /// Chunked more than once.
    #[error("the chunked transfer coding is applied twice")]
    ChunkedRepeated,
    /// A transfer coding that Kasoku would have to decode: any before chunked, or a compression as the last one.
    #[error("a transfer coding other than chunked precedes chunked")]
    UnsupportedCoding,
}

impl ResponseError {
    /// The status to answer the client with: 502 (Bad Gateway), always.
    //= RFC 9112 section 6.3
    //# If it is in a response message received by a proxy, the proxy MUST close the connection to the server, discard
    //# the received response, and send a 502 (Bad Gateway) response to the client.
    pub fn status(&self) -> StatusCode {
        StatusCode::BAD_GATEWAY
    }

    /// A stable word for logs and metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Head(error) => error.name(),
            Self::StatusLine => "status-line",
            Self::Version => "version",
            Self::Status => "status",
            Self::ContentLength => "content-length",
            Self::ContentLengthConflict => "content-length-conflict",
            Self::ContentLengthWithTransferEncoding => "content-length-with-transfer-encoding",
            Self::TransferEncodingInHttp10 => "transfer-encoding-in-http10",
            Self::TransferEncoding => "transfer-encoding",
            Self::ChunkedRepeated => "chunked-repeated",
            Self::UnsupportedCoding => "unsupported-coding",
        }
    }
}

/// Parses the head of a response, interim or final, at the front of `buf`. Returns the head and its length in bytes. `None`: need
/// more.
///
/// `target_bytes_max` of the limits is not used.
///
/// # Errors
/// When the head cannot become valid or exceeds a limit, also while it is still incomplete. The framing of the body
/// is not checked here, see [`super::response_body_length`].
pub fn parse_response(buf: &[u8], limits: &HeadLimits) -> Result<Option<(ResponseHead, usize)>, ResponseError> {
    let Some(line) = head::next_line(buf, limits.head_bytes_max)? else { return Ok(None) };
    let (version, status, reason) = split_status_line(line.text)?;
    let fields_bytes_max = limits.head_bytes_max.saturating_sub(line.bytes());
    let section = head::field_section(line.rest, fields_bytes_max, limits.fields_max, true)?;
    let Some(section) = section else { return Ok(None) };
    let fields = head::parse_fields(&section)?;
    let head = ResponseHead { status, reason: reason.to_vec(), version, fields };
    Ok(Some((head, buf.len() - section.rest.len())))
}

fn split_status_line(line: &[u8]) -> Result<(Version, StatusCode, &[u8]), ResponseError> {
    let mut parts = line.splitn(3, |byte| *byte == b' ');
    let (Some(version), Some(code)) = (parts.next(), parts.next()) else { return Err(ResponseError::StatusLine) };
    let reason = parts.next().unwrap_or_default();
    let version = match version {
        b"HTTP/1.0" => Version::HTTP_10,
        [b'H', b'T', b'T', b'P', b'/', b'1', b'.', b'1'..=b'9'] => Version::HTTP_11,
        [b'H', b'T', b'T', b'P', b'/', ..] => return Err(ResponseError::Version),
        _ => return Err(ResponseError::StatusLine),
    };
    if code.len() != 3 || !code.iter().all(u8::is_ascii_digit) || !reason.iter().copied().all(is_text) {
        return Err(ResponseError::StatusLine);
    }
    let status = StatusCode::from_bytes(code).map_err(|_| ResponseError::Status)?;
    Ok((version, status, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(bytes: &[u8]) -> Result<Option<(ResponseHead, usize)>, ResponseError> {
        parse_response(bytes, &HeadLimits::default())
    }

    #[test]
    fn a_response_is_read_as_sent_and_its_body_is_left() {
        let bytes = b"HTTP/1.1 404 Not Here \xff\r\nServer: a\r\n\r\nbody";
        let (head, used) = parse(bytes).unwrap().unwrap();
        assert_eq!((head.status.as_u16(), &head.reason[..]), (404, &b"Not Here \xff"[..]));
        assert_eq!(head.fields.only("server"), Some(&b"a"[..]));
        assert_eq!(&bytes[used..], b"body");
    }

    #[test]
    fn the_reason_may_be_empty_or_absent() {
        for line in [&b"HTTP/1.1 200 \r\n\r\n"[..], b"HTTP/1.1 200\r\n\r\n"] {
            let (head, _) = parse(line).unwrap().unwrap();
            assert_eq!((head.status.as_u16(), head.reason.len()), (200, 0));
        }
    }

    #[test]
    fn interim_responses_and_unknown_codes_are_read() {
        let bytes = b"HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\nHTTP/1.0 999 Odd\r\n\r\n";
        let (first, used) = parse(bytes).unwrap().unwrap();
        let (second, _) = parse(&bytes[used..]).unwrap().unwrap();
        assert_eq!((first.status.as_u16(), first.version), (103, Version::HTTP_11));
        assert_eq!((second.status.as_u16(), second.version), (999, Version::HTTP_10));
    }

    //= RFC 9112 section 5.2
    //# A proxy or gateway that receives an obs-fold in a response message that is not within a "message/http"
    //# container MUST either discard the message and replace it with a 502 (Bad Gateway) response
    //= RFC 9112 section 5.1
    //# A proxy MUST remove any such whitespace from a response message before forwarding the message downstream.
    #[test]
    fn malformed_responses_are_502() {
        use ResponseError::*;
        let rows: &[(&[u8], ResponseError)] = &[
            (b"HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n", Head(HeadError::ObsFold)),
            (b"HTTP/1.1 200 OK\r\nA : b\r\n\r\n", Head(HeadError::SpaceBeforeColon)),
            (b"HTTP/1.1 200 OK\r\n A: b\r\n\r\n", Head(HeadError::SpaceBeforeFirstField)),
            (b"HTTP/1.1 200 OK\nA: b\n\n", Head(HeadError::BareLf)),
            (b"HTTP/1.1 200 O\rK\r\n\r\n", Head(HeadError::BareCr)),
            (b"HTTP/1.1 200 O\0K\r\n\r\n", StatusLine),
            (b"HTTP/1.1 2000 OK\r\n\r\n", StatusLine),
            (b"HTTP/1.1 20 OK\r\n\r\n", StatusLine),
            (b"HTTP/1.1 +20 OK\r\n\r\n", StatusLine),
            (b"HTTP/1.1  200 OK\r\n\r\n", StatusLine),
            (b"HTTP/1.1\r\n\r\n", StatusLine),
            (b"ICY 200 OK\r\n\r\n", StatusLine),
            (b"\r\nHTTP/1.1 200 OK\r\n\r\n", StatusLine),
            (b"HTTP/1.1 099 OK\r\n\r\n", Status),
            (b"HTTP/2 200 OK\r\n\r\n", Version),
        ];
        for (bytes, expected) in rows {
            let got = parse(bytes).expect_err(&String::from_utf8_lossy(bytes));
            assert_eq!((got, got.status().as_u16()), (*expected, 502), "{:?}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn an_endless_head_is_stopped() {
        let limits = HeadLimits { head_bytes_max: 32, ..HeadLimits::default() };
        let endless = [b"HTTP/1.1 200 ", &b"a".repeat(32)[..]].concat();
        assert_eq!(parse_response(&endless, &limits), Err(HeadError::TooLong.into()));
    }
}
