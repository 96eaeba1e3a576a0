//! Tests of [`super`]: recorded answers of real application servers, and answers that must be refused.

use super::*;
use crate::fastcgi::VERSION;

/// The type of a record that Kasoku never asks for (section 8).
const GET_VALUES_RESULT: u8 = 10;

/// Standard output, standard error, and the end: `None` if the answer is cut off.
type Outcome = (Vec<u8>, Vec<u8>, Result<Option<EndRequest>, FastCgiError>);

fn decode<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Outcome, BytesMut) {
    let (mut decoder, mut buf) = (Decoder::new(1), BytesMut::new());
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    for piece in pieces {
        buf.extend_from_slice(piece);
        loop {
            match decoder.decode(&mut buf) {
                Ok(DecodedRecord::Stdout(data)) => stdout.extend_from_slice(&data),
                Ok(DecodedRecord::Stderr(data)) => stderr.extend_from_slice(&data),
                Ok(DecodedRecord::StdoutEnd) => {}
                Ok(DecodedRecord::NeedMore) => break,
                Ok(DecodedRecord::End(end)) => {
                    assert_eq!(decoder.decode(&mut buf), Ok(DecodedRecord::End(end)), "an end is an end");
                    // The decoder leaves later bytes in the buffer, so the remaining pieces are not fed.
                    return ((stdout, stderr, Ok(Some(end))), buf);
                }
                Err(error) => {
                    assert_eq!(decoder.decode(&mut buf), Err(error), "a fault is final");
                    return ((stdout, stderr, Err(error)), buf);
                }
            }
        }
    }
    ((stdout, stderr, Ok(None)), buf)
}

const COMPLETE: EndRequest = EndRequest { app_status: 0, protocol_status: ProtocolStatus::RequestComplete };

fn record(kind: u8, request_id: u16, content: &[u8], padding_bytes: u8) -> Vec<u8> {
    let header = Header { kind, request_id, content_bytes: content.len() as u16, padding_bytes };
    [&header.to_bytes()[..], content, &vec![0xaa; usize::from(padding_bytes)]].concat()
}

/// The seeds of the fuzz target are recordings of php-fpm 8.2 and of FCGI.pm 0.82, as packaged in Debian 12.
macro_rules! recorded {
    ($name:literal) => {
        &include_bytes!(concat!("../../../../fuzz/seeds/fastcgi_records/", $name))[..]
    };
}

#[test]
fn what_php_fpm_and_fcgi_pm_send_is_read_wherever_it_is_split() {
    let php = "X-Powered-By: PHP/8.2.36\r\n";
    let html = "Content-type: text/html; charset=UTF-8\r\n\r\n";
    let rows: [(&[u8], String, &str); 5] = [
        (recorded!("php_hello"), format!("{php}X-A: b\r\n{html}hello 1"), ""),
        (
            recorded!("php_missing"),
            format!("Status: 404 Not Found\r\n{php}{html}File not found.\n"),
            "Primary script unknown",
        ),
        // The reserved bytes of this END_REQUEST hold remains of another answer.
        (recorded!("php_redirect"), format!("Status: 302 Found\r\n{php}Location: /elsewhere\r\n{html}"), ""),
        (recorded!("perl_echo"), "Content-Type: text/plain\r\n\r\nquery a=b\nabcde".to_owned(), ""),
        (recorded!("perl_stderr"), "Content-Type: text/plain\r\n\r\nquery err\n".to_owned(), "a word to the log\n"),
    ];
    for (bytes, stdout, stderr) in rows {
        for size in 1..=bytes.len() {
            let (outcome, rest) = decode(bytes.chunks(size));
            let expected = (stdout.clone().into_bytes(), stderr.as_bytes().to_vec(), Ok(Some(COMPLETE)));
            assert_eq!(outcome, expected, "in pieces of {size}");
            assert!(rest.is_empty());
        }
    }
}

#[test]
fn standard_error_comes_between_pieces_of_output_as_it_was_written() {
    let (mut decoder, mut buf) = (Decoder::new(1), BytesMut::from(recorded!("php_flush")));
    let mut order = Vec::new();
    loop {
        match decoder.decode(&mut buf).unwrap() {
            DecodedRecord::Stdout(data) => order.push(format!("out {}", data.len())),
            DecodedRecord::Stderr(data) => order.push(format!("err {}", String::from_utf8_lossy(&data))),
            DecodedRecord::End(end) => break assert_eq!(end, COMPLETE),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(order, ["out 214", "out 146", "out 146", "err PHP message: to the log", "out 197"]);
}

#[test]
fn an_answer_that_is_cut_off_has_no_end() {
    let whole = recorded!("php_hello");
    for end in 0..whole.len() {
        let ((_, _, ended), _) = decode(std::iter::once(&whole[..end]));
        assert_eq!(ended, Ok(None), "{end} bytes");
    }
}

#[test]
fn what_follows_the_end_stays_in_the_buffer() {
    let bytes = [record(kind::END_REQUEST, 1, &[0; 8], 3), b"HTTP".to_vec()].concat();
    let ((_, _, ended), rest) = decode(std::iter::once(&bytes[..]));
    assert_eq!((ended, &rest[..]), (Ok(Some(COMPLETE)), &b"HTTP"[..]));
}

#[test]
fn each_way_to_end_a_request_is_told() {
    let statuses = [
        ProtocolStatus::RequestComplete,
        ProtocolStatus::CannotMultiplex,
        ProtocolStatus::Overloaded,
        ProtocolStatus::UnknownRole,
    ];
    for (byte, protocol_status) in (0..).zip(statuses) {
        let bytes = record(kind::END_REQUEST, 1, &[0, 0, 1, 2, byte, 9, 9, 9], 0);
        let ((_, _, ended), _) = decode(std::iter::once(&bytes[..]));
        assert_eq!(ended, Ok(Some(EndRequest { app_status: 258, protocol_status })));
    }
}

#[test]
fn the_end_of_a_stream_comes_once_and_ends_it() {
    let twice = [record(kind::STDOUT, 1, b"", 1), record(kind::STDOUT, 1, b"", 0)].concat();
    let (mut decoder, mut buf) = (Decoder::new(1), BytesMut::from(&twice[..]));
    assert_eq!(decoder.decode(&mut buf), Ok(DecodedRecord::StdoutEnd));
    assert_eq!(decoder.decode(&mut buf), Ok(DecodedRecord::NeedMore));
    buf.extend_from_slice(&record(kind::STDERR, 1, b"late", 0));
    assert_eq!(decoder.decode(&mut buf), Ok(DecodedRecord::Stderr(Bytes::from_static(b"late"))));
    buf.extend_from_slice(&record(kind::STDOUT, 1, b"more", 0));
    assert_eq!(decoder.decode(&mut buf), Err(FastCgiError::StreamEnded));
}

#[test]
fn what_no_application_server_may_send_is_refused() {
    let rows: Vec<(Vec<u8>, FastCgiError)> = vec![
        (b"HTTP/1.1 400 Bad Request\r\n".to_vec(), FastCgiError::Version),
        (vec![VERSION + 1], FastCgiError::Version),
        (record(kind::STDOUT, 2, b"of another", 0), FastCgiError::RequestId),
        (record(kind::STDOUT, 0, b"of nobody", 0), FastCgiError::RequestId),
        (record(kind::END_REQUEST, 2, &[0; 8], 0), FastCgiError::RequestId),
        (record(GET_VALUES_RESULT, 0, b"", 0), FastCgiError::RequestId),
        (record(GET_VALUES_RESULT, 1, b"", 0), FastCgiError::RecordType),
        (record(kind::BEGIN_REQUEST, 1, &[0; 8], 0), FastCgiError::RecordType),
        (record(kind::STDIN, 1, b"echo", 0), FastCgiError::RecordType),
        (record(99, 1, b"", 0), FastCgiError::RecordType),
        (record(kind::END_REQUEST, 1, &[0; 7], 0), FastCgiError::RecordLength),
        (record(kind::END_REQUEST, 1, &[0; 16], 0), FastCgiError::RecordLength),
        (record(kind::END_REQUEST, 1, &[0, 0, 0, 0, 4, 0, 0, 0], 0), FastCgiError::ProtocolStatus),
    ];
    for (bytes, error) in rows {
        let ((stdout, stderr, ended), _) = decode(std::iter::once(&bytes[..]));
        assert_eq!((stdout.len() + stderr.len(), ended), (0, Err(error)), "{bytes:?}");
    }
}
