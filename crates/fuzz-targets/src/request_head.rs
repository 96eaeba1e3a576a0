//! Fuzz target for the head of a request and the framing of its body. Input: the bytes that a client sends.

use crate::arrival::prefixes_agree;
use crate::section::{SMALL, accepted, forwarded};
use http::{Method, Version};
use kasoku_wire::RequestHead;
use kasoku_wire::http1::{
    BodyLength, HeadLimits, encode_request_head, parse_request, parse_request_into, request_body_length,
};

pub(crate) fn run(data: &[u8]) {
    for limits in [HeadLimits::default(), SMALL] {
        prefixes_agree(data, &Ok(None), |bytes| parse_request(bytes, &limits));
        match parse_request(data, &limits) {
            Ok(Some((head, length))) => {
                assert!(length <= data.len());
                let raw = without_empty_lines(&data[..length]);
                accepted(raw, &head.fields, &limits);
                request_line(raw, &head, &limits);
                recycled(data, &limits, &head, length);
                sent_on(&head);
                framed(&head);
                forwarded(head.version, &head.fields);
                read_by_another(raw, &head);
            }
            Ok(None) => {}
            Err(error) => {
                assert!(error.status().is_client_error() || error.status().is_server_error());
                assert!(!error.name().is_empty() && !error.to_string().is_empty());
            }
        }
    }
}

/// The parser skips empty lines before a request, and no limit counts them.
fn without_empty_lines(mut bytes: &[u8]) -> &[u8] {
    while let Some(rest) = bytes.strip_prefix(b"\r\n") {
        bytes = rest;
    }
    bytes
}

fn request_line(raw: &[u8], head: &RequestHead, limits: &HeadLimits) {
    assert!(!head.target.is_empty() && head.target.len() <= limits.target_bytes_max);
    assert!(head.target.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#'));
    let start = format!("{} {} HTTP/1.", head.method, head.target);
    assert!(raw.starts_with(start.as_bytes()), "the first line is not what was read from it");
    assert!(head.version == Version::HTTP_11 || raw[start.len()] == b'0');
    let hosts = head.fields.count("host");
    assert!(hosts == 1 || (hosts == 0 && head.version == Version::HTTP_10));
}

/// Neither used memory nor a Host that was checked before changes the result.
fn recycled(data: &[u8], limits: &HeadLimits, head: &RequestHead, length: usize) {
    let mut used = RequestHead::new(Method::PUT, "/before").with("Host", "before").with("Transfer-Encoding", "chunked");
    used.version = Version::HTTP_10;
    let host = head.fields.first("host").unwrap_or_default();
    assert_eq!(parse_request_into(data, limits, host, &mut used), Ok(Some(length)));
    assert_eq!(&used, head);
}

/// The parser reads the encoded head back unchanged, and leaves the bytes behind it alone.
fn sent_on(head: &RequestHead) {
    let mut ours = RequestHead { version: Version::HTTP_11, ..head.clone() };
    if !ours.fields.contains("host") {
        ours.fields.push("Host", "a");
    }
    let mut sent = Vec::new();
    encode_request_head(&ours, &mut sent);
    let length = sent.len();
    sent.extend_from_slice(b"GET /next HTTP/1.1\r\n");
    assert_eq!(parse_request(&sent, &UNLIMITED), Ok(Some((ours, length))));
}

/// Each accepted framing is stated once, by one kind of field.
fn framed(head: &RequestHead) {
    let (lengths, codings) = (head.fields.count("content-length"), head.fields.count("transfer-encoding"));
    match request_body_length(head) {
        Ok(BodyLength::None) => assert_eq!((lengths, codings), (0, 0)),
        Ok(BodyLength::Length(bytes)) => {
            assert_eq!((lengths, codings), (1, 0));
            let digits = String::from_utf8_lossy(head.fields.only("content-length").unwrap()).into_owned();
            assert_eq!(digits.trim_start_matches('0'), if bytes == 0 { String::new() } else { bytes.to_string() });
        }
        Ok(BodyLength::Chunked) => {
            assert!(lengths == 0 && codings > 0 && head.version == Version::HTTP_11);
            let value = head.fields.combined("transfer-encoding").unwrap().to_ascii_lowercase();
            let value: Vec<u8> = value.into_iter().filter(|byte| !b", \t".contains(byte)).collect();
            assert_eq!(value, b"chunked");
        }
        Ok(BodyLength::UntilClose) => panic!("a request does not end with its connection"),
        Err(error) => assert!(matches!(error.status().as_u16(), 400 | 501)),
    }
}

/// httparse reads the same bytes alike, if it accepts the head.
fn read_by_another(raw: &[u8], head: &RequestHead) {
    let mut table = vec![httparse::EMPTY_HEADER; head.fields.len() + 1];
    let mut other = httparse::Request::new(&mut table);
    if let Ok(httparse::Status::Complete(length)) = other.parse(raw) {
        assert_eq!(length, raw.len());
        assert_eq!((other.method, other.path), (Some(head.method.as_str()), Some(head.target.as_str())));
        assert_eq!(other.headers.len(), head.fields.len());
    }
}

/// No limits: the head that was parsed bounds the head that is encoded from it.
const UNLIMITED: HeadLimits =
    HeadLimits { head_bytes_max: usize::MAX, target_bytes_max: usize::MAX / 2, fields_max: usize::MAX };
