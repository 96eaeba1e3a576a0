//! Fuzz target for the head of a response and the framing of its body. Input: the bytes that an origin sends.

use crate::arrival::prefixes_agree;
use crate::section::{SMALL, accepted, forwarded};
use http::{Method, StatusCode, Version};
use kasoku_wire::ResponseHead;
use kasoku_wire::http1::{BodyLength, HeadLimits, encode_status_line, parse_response, response_body_length};

pub(crate) fn run(data: &[u8]) {
    for limits in [HeadLimits::default(), SMALL] {
        prefixes_agree(data, &Ok(None), |bytes| parse_response(bytes, &limits));
        match parse_response(data, &limits) {
            Ok(Some((head, length))) => {
                assert!(length <= data.len());
                let raw = &data[..length];
                accepted(raw, &head.fields, &limits);
                status_line(raw, &head);
                sent_on(&head);
                framed(&head);
                forwarded(head.version, &head.fields);
                read_by_another(raw, &head);
            }
            Ok(None) => {}
            Err(error) => {
                assert_eq!(error.status(), StatusCode::BAD_GATEWAY);
                assert!(!error.name().is_empty() && !error.to_string().is_empty());
            }
        }
    }
}

fn status_line(raw: &[u8], head: &ResponseHead) {
    let end = raw.iter().position(|byte| *byte == b'\r').expect("the end of the first line");
    let rest = raw[..end].strip_prefix(b"HTTP/1.").expect("a version");
    let (minor, rest) = rest.split_first().expect("its second number");
    assert_eq!(*minor == b'0', head.version == Version::HTTP_10);
    let written = [b" ", head.status.as_str().as_bytes(), b" ", &head.reason].concat();
    assert!(rest == written || (head.reason.is_empty() && rest == written.trim_ascii_end()));
}

fn sent_on(head: &ResponseHead) {
    let mut sent = Vec::new();
    encode_status_line(head.status, &head.reason, &mut sent);
    sent.extend_from_slice(head.fields.block());
    sent.extend_from_slice(b"\r\n");
    let length = sent.len();
    sent.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
    let limits = HeadLimits { head_bytes_max: usize::MAX, fields_max: usize::MAX, ..HeadLimits::default() };
    let ours = ResponseHead { version: Version::HTTP_11, ..head.clone() };
    assert_eq!(parse_response(&sent, &limits), Ok(Some((ours, length))));
}

/// Each accepted framing is stated by one kind of field, or by none.
fn framed(head: &ResponseHead) {
    assert_eq!(response_body_length(head, &Method::HEAD), Ok(BodyLength::None));
    let (lengths, codings) = (head.fields.count("content-length"), head.fields.count("transfer-encoding"));
    let is_bodiless = head.status.is_informational() || matches!(head.status.as_u16(), 204 | 304);
    match response_body_length(head, &Method::GET) {
        Ok(length) if is_bodiless => assert_eq!(length, BodyLength::None),
        Ok(BodyLength::None) => panic!("a response of that status has a body"),
        Ok(BodyLength::Length(bytes)) => {
            assert!(lengths > 0 && codings == 0);
            let value = head.fields.combined("content-length").unwrap();
            for member in String::from_utf8_lossy(&value).split(',') {
                assert_eq!(member.trim().parse(), Ok(bytes), "another length in the same head");
            }
        }
        Ok(BodyLength::Chunked) => assert!(lengths == 0 && codings > 0 && head.version == Version::HTTP_11),
        Ok(BodyLength::UntilClose) => assert_eq!(lengths, 0),
        Err(_) => assert!(!is_bodiless && lengths + codings > 0),
    }
}

/// httparse reads the same bytes alike, if it accepts the head.
fn read_by_another(raw: &[u8], head: &ResponseHead) {
    let mut table = vec![httparse::EMPTY_HEADER; head.fields.len() + 1];
    let mut other = httparse::Response::new(&mut table);
    if let Ok(httparse::Status::Complete(length)) = other.parse(raw) {
        assert_eq!((length, other.code), (raw.len(), Some(head.status.as_u16())));
        assert_eq!(other.headers.len(), head.fields.len());
    }
}
