//! Encodes SCGI requests. An SCGI server answers with the output of a CGI program ([`cgi`](crate::cgi)), then closes the
//! connection.
//!
//! A request is one netstring of headers (`name NUL value NUL`), CONTENT_LENGTH first and SCGI second, then the body without any
//! framing. So the caller must know the body's length, and neither names nor values may contain a NUL.
//!
//! Source: "SCGI: A Simple Common Gateway Interface alternative", Neil Schemenauer, 2008.

use std::io::Write as _;

/// Appends a request's headers; the caller sends the body, `content_length` bytes, behind them. `params` must contain neither
/// CONTENT_LENGTH nor a name twice. A NUL in a parameter would add further headers, so such a parameter is left out; no field that
/// Kasoku's parser accepts has one.
pub fn encode_scgi_request<'p>(
    content_length: u64,
    params: impl IntoIterator<Item = (&'p [u8], &'p [u8])>,
    out: &mut Vec<u8>,
) {
    let mut headers = Vec::with_capacity(2048);
    // Writing to a vector cannot fail.
    let _ = write!(headers, "CONTENT_LENGTH\0{content_length}\0SCGI\x001\0");
    for (name, value) in params {
        debug_assert!(!name.is_empty() && !name.eq_ignore_ascii_case(b"CONTENT_LENGTH"));
        if !name.contains(&0) && !value.contains(&0) {
            for part in [name, b"\0", value, b"\0"] {
                headers.extend_from_slice(part);
            }
        }
    }
    let _ = write!(out, "{}:", headers.len());
    out.extend_from_slice(&headers);
    out.push(b',');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_the_example_of_the_specification() {
        let params: [(&[u8], &[u8]); 2] = [(b"REQUEST_METHOD", b"POST"), (b"REQUEST_URI", b"/deepthought")];
        let mut out = Vec::new();
        encode_scgi_request(27, params, &mut out);
        let expected = "70:CONTENT_LENGTH\x0027\0SCGI\x001\0REQUEST_METHOD\0POST\0REQUEST_URI\0/deepthought\0,";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn no_value_adds_a_header_of_its_own() {
        let params: [(&[u8], &[u8]); 2] = [(b"HTTP_A", b"b\0REMOTE_USER\0root"), (b"HTTP_C", b"")];
        let mut out = Vec::new();
        encode_scgi_request(0, params, &mut out);
        assert_eq!(out, b"32:CONTENT_LENGTH\x000\0SCGI\x001\0HTTP_C\0\0,");
    }
}
