//! Writes heads and chunks.
//!
//! A head is its first line, the block of its fields and an empty line, with nothing between them.
//!
//! The writers decide nothing: the caller has settled which fields go out and whether the body is chunked. They never fail, and
//! they do not validate: parsers and Kasoku's own code guarantee that no name, value, target or reason contains CR or LF. Debug
//! builds assert this.

use crate::{Fields, RequestHead};
use http::StatusCode;
use std::io::Write as _;

/// Appends the head of a request, its empty line included. The version is always HTTP/1.1, whichever version the client sent.
pub fn encode_request_head(head: &RequestHead, out: &mut Vec<u8>) {
    debug_assert!(!head.target.is_empty() && head.target.bytes().all(|byte| byte.is_ascii_graphic()));
    out.reserve(head.method.as_str().len() + head.target.len() + head.fields.block().len() + 16);
    out.extend_from_slice(head.method.as_str().as_bytes());
    out.push(b' ');
    out.extend_from_slice(head.target.as_bytes());
    //= RFC 9112 section 2.3
    //# MUST send their own HTTP-version in forwarded messages, unless it is purposefully downgraded as a workaround for
    //# an upstream issue.
    out.extend_from_slice(b" HTTP/1.1\r\n");
    //= RFC 9112 section 2.2
    //# A sender MUST NOT send whitespace between the start-line and the first header field.
    out.extend_from_slice(head.fields.block());
    out.extend_from_slice(b"\r\n");
}

/// Appends the status line of a response. The version is always HTTP/1.1, whichever version the origin sent.
pub fn encode_status_line(status: StatusCode, reason: &[u8], out: &mut Vec<u8>) {
    //= RFC 9112 section 2.2
    //# A sender MUST NOT generate a bare CR (a CR character not immediately followed by LF) within any protocol elements
    //# other than the content.
    debug_assert!(!reason.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)));
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(status.as_str().as_bytes());
    //= RFC 9112 section 4
    //# A server MUST send the space that separates the status-code from the reason-phrase even when the reason-phrase is
    //# absent
    out.push(b' ');
    out.extend_from_slice(reason);
    out.extend_from_slice(b"\r\n");
}

/// Appends the line that opens a chunk of `len` bytes. The caller adds the data and a CRLF.
///
/// `len` is more than 0: a chunk of 0 bytes would end the body.
pub fn encode_chunk_head(len: usize, out: &mut Vec<u8>) {
    debug_assert!(len > 0);
    // Writing to a vector cannot fail.
    let _ = write!(out, "{len:x}\r\n");
}

/// Appends the end of a chunked body: the last chunk, the trailers, the empty line.
pub fn encode_last_chunk(trailers: Option<&Fields>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"0\r\n");
    out.extend_from_slice(trailers.map(Fields::block).unwrap_or_default());
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{Method, Version};

    #[test]
    fn a_request_goes_out_in_our_version() {
        //= RFC 9112 section 2.3
        //# MUST send their own HTTP-version in forwarded messages, unless it is purposefully downgraded as a workaround
        //# for an upstream issue.
        let mut head = RequestHead::new(Method::GET, "/a?b").with("Host", "x").with("A", "1");
        head.version = Version::HTTP_10;
        let mut out = b"before".to_vec();
        encode_request_head(&head, &mut out);
        assert_eq!(out, b"beforeGET /a?b HTTP/1.1\r\nHost: x\r\nA: 1\r\n\r\n");
    }

    #[test]
    fn a_response_goes_out_in_our_version() {
        let mut out = b"before".to_vec();
        encode_status_line(StatusCode::NOT_FOUND, b"Not Found", &mut out);
        assert_eq!(out, b"beforeHTTP/1.1 404 Not Found\r\n");
    }

    #[test]
    fn the_space_before_an_absent_reason_is_sent() {
        //= RFC 9112 section 4
        //# A server MUST send the space that separates the status-code from the reason-phrase even when the
        //# reason-phrase is absent
        let mut out = Vec::new();
        encode_status_line(StatusCode::OK, b"", &mut out);
        assert_eq!(out, b"HTTP/1.1 200 \r\n");
    }

    #[test]
    fn chunks_and_their_end() {
        let mut out = Vec::new();
        encode_chunk_head(31, &mut out);
        encode_last_chunk(None, &mut out);
        encode_last_chunk(Some(&[("A", "b")].into_iter().collect()), &mut out);
        assert_eq!(out, b"1f\r\n0\r\n\r\n0\r\nA: b\r\n\r\n");
    }
}
