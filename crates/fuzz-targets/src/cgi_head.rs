//! Fuzz target for the head that a CGI program prints. Input: the program's output.

use crate::arrival::prefixes_agree;
use crate::section::SMALL;
use http::Method;
use kasoku_wire::ResponseHead;
use kasoku_wire::cgi::{CgiHead, parse_cgi_head};
use kasoku_wire::field::list;
use kasoku_wire::http1::{BodyLength, HeadLimits, encode_status_line, parse_response, response_body_length};

pub(crate) fn run(data: &[u8]) {
    for limits in [HeadLimits::default(), SMALL] {
        prefixes_agree(data, &Ok(None), |bytes| parse_cgi_head(bytes, &limits));
        match parse_cgi_head(data, &limits) {
            Ok(Some((head, length))) => {
                let raw = &data[..length];
                assert!(length <= limits.head_bytes_max);
                assert!(raw.ends_with(b"\n\n") || raw.ends_with(b"\n\r\n"));
                assert!(!raw.contains(&0), "a NUL was accepted");
                for (at, _) in raw.iter().enumerate().filter(|(_, byte)| **byte == b'\r') {
                    assert_eq!(raw.get(at + 1), Some(&b'\n'), "a bare CR was accepted");
                }
                match head {
                    CgiHead::Response(head) => {
                        printed(raw, &head, &limits);
                        sent_on(&head);
                    }
                    CgiHead::LocalRedirect(path) => {
                        assert!(
                            path.starts_with('/') && !path.starts_with("//") && path.len() <= limits.target_bytes_max
                        );
                        assert!(path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#'));
                        assert!(String::from_utf8_lossy(raw).contains(&path));
                    }
                }
            }
            Ok(None) => assert!(data.len() < limits.head_bytes_max),
            Err(error) => assert!(!error.name().is_empty() && !error.to_string().is_empty()),
        }
    }
}

/// The head contains only fields that the program printed, in their order, and none that is for the server alone.
fn printed(raw: &[u8], head: &ResponseHead, limits: &HeadLimits) {
    assert!(!head.status.is_informational() && head.fields.len() <= limits.fields_max);
    let lines: Vec<&[u8]> = raw.split(|byte| *byte == b'\n').collect();
    let mut rest = lines.iter();
    for (name, value) in head.fields.iter() {
        assert!(list::is_token(name) && list::trim(value) == value);
        let is_this = |line: &&&[u8]| {
            let after = line.strip_prefix(name).and_then(|after| after.strip_prefix(b":"));
            after.is_some_and(|after| list::trim(after.strip_suffix(b"\r").unwrap_or(after)) == value)
        };
        assert!(rest.find(is_this).is_some(), "a field that was not printed");
    }
    let only_for_the_server = ["status", "connection", "transfer-encoding", "keep-alive", "te", "upgrade", "trailer"];
    assert!(!only_for_the_server.iter().any(|name| head.fields.contains(name)));
    assert!(head.fields.count("content-type") <= 1 && head.fields.count("location") <= 1);
}

/// The response parser reads the encoded head back unchanged, and the body is never chunked.
fn sent_on(head: &ResponseHead) {
    let mut sent = Vec::new();
    encode_status_line(head.status, &head.reason, &mut sent);
    sent.extend_from_slice(head.fields.block());
    sent.extend_from_slice(b"\r\n");
    let limits = HeadLimits { head_bytes_max: usize::MAX, fields_max: usize::MAX, ..HeadLimits::default() };
    assert_eq!(parse_response(&sent, &limits), Ok(Some((head.clone(), sent.len()))));
    assert!(!matches!(response_body_length(head, &Method::GET), Ok(BodyLength::Chunked)));
}
