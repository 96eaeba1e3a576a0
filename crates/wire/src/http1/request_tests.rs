//! Tests of [`super`]: accepted requests, and the error and status of each refused one.

use super::*;
use http::StatusCode;

fn parse(bytes: &[u8]) -> Result<Option<(RequestHead, usize)>, RequestError> {
    parse_request(bytes, &HeadLimits::default())
}

fn head(bytes: &[u8]) -> RequestHead {
    parse(bytes).unwrap().unwrap().0
}

fn error(bytes: &[u8]) -> RequestError {
    parse(bytes).expect_err(&String::from_utf8_lossy(bytes))
}

#[test]
fn a_request_is_read_as_sent_and_what_follows_is_left() {
    let bytes = b"GET /a?b=c HTTP/1.1\r\nHost: example.org\r\nX-A:  1\r\n\r\nGET /next";
    let (head, used) = parse(bytes).unwrap().unwrap();
    let expected = RequestHead::new(Method::GET, "/a?b=c").with("Host", "example.org").with("X-A", "1");
    assert_eq!((head, &bytes[used..]), (expected, &b"GET /next"[..]));
}

#[test]
fn methods_are_case_sensitive_and_may_be_unknown() {
    assert_eq!(head(b"get / HTTP/1.1\r\nHost: a\r\n\r\n").method.as_str(), "get");
    assert_eq!(head(b"PURGE / HTTP/1.1\r\nHost: a\r\n\r\n").method.as_str(), "PURGE");
}

#[test]
fn later_minor_versions_speak_1_1() {
    assert_eq!(head(b"GET / HTTP/1.0\r\n\r\n").version, Version::HTTP_10);
    assert_eq!(head(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").version, Version::HTTP_11);
    assert_eq!(head(b"GET / HTTP/1.7\r\nHost: a\r\n\r\n").version, Version::HTTP_11);
}

#[test]
fn a_few_empty_lines_before_a_request_are_skipped() {
    //= RFC 9112 section 2.2
    //# In the interest of robustness, a server that is expecting to receive and parse a request-line SHOULD ignore
    //# at least one empty line (CRLF) received prior to the request-line.
    let request = b"GET / HTTP/1.0\r\n\r\n";
    for count in 0..=EMPTY_LINES_MAX {
        let bytes = [&b"\r\n".repeat(count)[..], request].concat();
        assert_eq!(parse(&bytes).unwrap().unwrap().1, bytes.len());
    }
    assert_eq!(error(&b"\r\n".repeat(EMPTY_LINES_MAX + 1)), RequestError::EmptyLines);
    assert_eq!(error(b"\n\nGET / HTTP/1.0\r\n\r\n"), HeadError::BareLf.into());
}

#[test]
fn malformed_request_lines_are_refused_with_their_status() {
    use RequestError::*;
    let rows: &[(&[u8], RequestError, u16)] = &[
        (b"GET /\r\n", RequestLine, 400),             // HTTP/0.9
        (b"GET  / HTTP/1.1\r\n", RequestLine, 400),   // two spaces
        (b"GET / HTTP/1.1 \r\n", RequestLine, 400),   // trailing space
        (b" GET / HTTP/1.1\r\n", RequestLine, 400),   // leading space
        (b"GET /a b HTTP/1.1\r\n", RequestLine, 400), // space in the target
        (b"GET\t/\tHTTP/1.1\r\n", RequestLine, 400),  // tabs are no separators
        (b"GET / http/1.1\r\n", RequestLine, 400),    // the version is case-sensitive
        (b"GET /  HTTP/1.1\r\n", RequestLine, 400),
        (b"GET / FTP/1.1\r\n", RequestLine, 400),
        (b"G\xc3\x84T / HTTP/1.1\r\n", Method, 400),
        (b"GET: / HTTP/1.1\r\n", Method, 400),
        (b"\x16\x03\x01 / HTTP/1.1\r\n", Method, 400), // TLS on the plain port
        (b"GET /\t HTTP/1.1\r\n", Target, 400),
        (b"GET /\0 HTTP/1.1\r\n", Target, 400),
        (b"GET /\x7f HTTP/1.1\r\n", Target, 400),
        (b"GET /\xc3\xa4 HTTP/1.1\r\n", Target, 400),
        (b"GET /a#b HTTP/1.1\r\n", Target, 400), // a fragment is never sent
        (b"GET / HTTP/2.0\r\n", Version, 505),
        (b"GET / HTTP/0.9\r\n", Version, 505),
        (b"GET / HTTP/1.10\r\n", Version, 505),
        (b"GET / HTTP/1.\r\n", Version, 505),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Version, 505), // the preface of HTTP/2
        (b"GET / HTTP/1.1\n", Head(HeadError::BareLf), 400),
        (b"GET /\r HTTP/1.1\r\n", Head(HeadError::BareCr), 400),
    ];
    for (bytes, expected, status) in rows {
        let got = error(bytes);
        assert_eq!((got, got.status().as_u16()), (*expected, *status), "{:?}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn an_overlong_method_is_501() {
    //= RFC 9112 section 3
    //# A server that receives a method longer than any that it implements SHOULD respond with a
    //# 501 (Not Implemented) status code.
    let request = |length| [&b"M".repeat(length)[..], b" / HTTP/1.0\r\n\r\n"].concat();
    assert!(parse(&request(METHOD_BYTES_MAX)).is_ok());
    assert_eq!(error(&request(METHOD_BYTES_MAX + 1)).status(), 501);
}

#[test]
fn an_overlong_target_is_414_also_before_its_end_arrives() {
    //= RFC 9112 section 3
    //# A server that receives a request-target longer than any URI it wishes to parse MUST respond with a
    //# 414 (URI Too Long) status code
    let limits = HeadLimits { target_bytes_max: 100, ..HeadLimits::default() };
    let request = |length: usize| [b"GET /", &b"a".repeat(length - 1)[..], b" HTTP/1.0\r\n\r\n"].concat();
    assert!(parse_request(&request(100), &limits).unwrap().is_some());
    assert_eq!(parse_request(&request(101), &limits).unwrap_err().status(), 414);
    assert_eq!(parse_request(&request(1000), &limits).unwrap_err().status(), 414);
    assert_eq!(parse_request(&b"a".repeat(1000), &limits).unwrap_err().status(), 414);
}

#[test]
fn the_default_limits_take_a_request_line_of_8000_octets() {
    //= RFC 9112 section 3
    //# It is RECOMMENDED that all HTTP senders and recipients support, at a minimum, request-line lengths of 8000
    //# octets.
    assert!(parse(&[b"GET /", &b"a".repeat(8000)[..], b" HTTP/1.0\r\n\r\n"].concat()).unwrap().is_some());
}

#[test]
fn an_overlong_head_is_431_also_before_its_end_arrives() {
    let limits = HeadLimits { head_bytes_max: 64, fields_max: 2, ..HeadLimits::default() };
    let status = |bytes: &[u8]| parse_request(bytes, &limits).unwrap_err().status().as_u16();
    let line = b"GET / HTTP/1.0\r\n";
    assert_eq!(status(&[&line[..], b"A: ", &b"b".repeat(64)[..]].concat()), 431);
    assert_eq!(status(&[&line[..], b"A: ", &b"b".repeat(64)[..], b"\r\n\r\n"].concat()), 431);
    assert_eq!(status(&[&line[..], b"A: 1\r\nB: 2\r\nC: 3\r\n"].concat()), 431);
    assert!(parse_request(&[&line[..], b"A: 1\r\nB: 2\r\n\r\n"].concat(), &limits).unwrap().is_some());
}

//= RFC 9112 section 3.2
//# A server MUST respond with a 400 (Bad Request) status code to any HTTP/1.1 request message that lacks a Host
//# header field and to any request message that contains more than one Host header field line or a Host header
//# field with an invalid field value.
#[test]
fn host_is_there_once_and_valid() {
    use RequestError::*;
    let rows: &[(&[u8], RequestError)] = &[
        (b"GET / HTTP/1.1\r\n\r\n", HostMissing),
        (b"GET http://a/ HTTP/1.1\r\n\r\n", HostMissing),
        (b"GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n", HostRepeated),
        (b"GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", HostRepeated),
        (b"GET / HTTP/1.1\r\nHost:\r\n\r\n", Authority),
        (b"GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", Authority),
        (b"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", Authority),
        (b"GET / HTTP/1.1\r\nHost: user@a\r\n\r\n", Authority),
        (b"GET / HTTP/1.1\r\nHost: a:b\r\n\r\n", Authority),
    ];
    for (bytes, expected) in rows {
        let got = error(bytes);
        assert_eq!((got, got.status()), (*expected, StatusCode::BAD_REQUEST), "{bytes:?}");
    }
    assert!(parse(b"GET / HTTP/1.0\r\n\r\n").unwrap().is_some());
}

#[test]
fn malformed_fields_are_400() {
    let got = error(b"GET / HTTP/1.1\r\nHost : a\r\n\r\n");
    assert_eq!((got.name(), got.status()), ("space-before-colon", StatusCode::BAD_REQUEST));
    assert_eq!(got.to_string(), "white space stands before a field's colon");
}
