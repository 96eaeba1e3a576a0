//! Tests of [`super`]: what CGI programs print, and how the parser reads it.

use super::*;
use proptest::prelude::*;

fn parse(output: &[u8]) -> Result<Option<(CgiHead, usize)>, CgiError> {
    parse_cgi_head(output, &HeadLimits::default())
}

fn response(output: &str) -> ResponseHead {
    match parse(output.as_bytes()) {
        Ok(Some((CgiHead::Response(head), _))) => head,
        other => panic!("{output:?} is {other:?}"),
    }
}

fn status_line(output: &str) -> (u16, String) {
    let head = response(output);
    (head.status.as_u16(), String::from_utf8(head.reason).unwrap())
}

#[test]
fn a_document_is_200_and_its_body_is_left() {
    let output = b"Content-Type: text/html\nX-A: \xe4 b\t\n\n<p>\n\n";
    let Ok(Some((CgiHead::Response(head), used))) = parse(output) else { panic!("a document") };
    assert_eq!((head.status.as_u16(), head.fields.block()), (200, &b"Content-Type: text/html\r\nX-A: \xe4 b\r\n"[..]));
    assert_eq!(&output[used..], b"<p>\n\n");
}

#[test]
fn lines_end_in_lf_or_crlf_each_as_it_likes() {
    for output in ["A: b\nContent-Type: c\n\n.", "A: b\r\nContent-Type: c\r\n\r\n.", "A: b\r\nContent-Type: c\n\r\n."] {
        let Ok(Some((CgiHead::Response(head), used))) = parse(output.as_bytes()) else { panic!("{output:?}") };
        assert_eq!((head.fields.block(), &output[used..]), (&b"A: b\r\nContent-Type: c\r\n"[..], "."));
    }
}

#[test]
fn status_gives_the_code_and_the_reason_and_goes_no_further() {
    assert_eq!(status_line("Status: 404 Not Here\n\n"), (404, "Not Here".to_owned()));
    assert_eq!(status_line("STATUS:404\n\n"), (404, "Not Found".to_owned()));
    assert_eq!(status_line("Status: 404 \n\n"), (404, "Not Found".to_owned()));
    assert_eq!(status_line("Status: 999 Odd\n\n"), (999, "Odd".to_owned()));
    assert!(!response("Status: 404 Not Here\nA: b\n\n").fields.contains("status"));
}

#[test]
fn a_status_that_is_none_or_not_final_is_refused() {
    for status in ["", "20", "2000", "200OK", "+20", "abc", "099", "100 Continue", "101", "103", "OK 200"] {
        let output = format!("Status: {status}\nContent-Type: a/b\n\n");
        assert_eq!(parse(output.as_bytes()), Err(CgiError::Status), "{status:?}");
    }
}

#[test]
fn a_local_path_alone_is_for_the_server() {
    for output in ["Location: /a?b\n\n", "location:/a?b\r\n\r\n", "Content-Type: text/html\nLocation: /a?b\n\nignored"]
    {
        let Ok(Some((head, _))) = parse(output.as_bytes()) else { panic!("{output:?}") };
        assert_eq!(head, CgiHead::LocalRedirect("/a?b".to_owned()));
    }
}

#[test]
fn every_other_location_is_for_the_client() {
    let lines = [
        "Location: https://example.org/a",
        "Location: //example.org/a",
        "Location: /\\example.org",
        "Location: /a#b",
        "Location: /a b",
        "Location: /\u{e4}",
        "Location: a.html",
        "Location: /a\nSet-Cookie: id=1",
        "Location: /a\nContent-Length: 3",
    ];
    for lines in lines {
        let head = response(&format!("{lines}\n\n"));
        assert_eq!((head.status.as_u16(), head.fields.count("location")), (302, 1), "{lines:?}");
    }
    let limits = HeadLimits { target_bytes_max: 3, ..HeadLimits::default() };
    let too_long = parse_cgi_head(b"Location: /abc\n\n", &limits);
    assert!(matches!(too_long, Ok(Some((CgiHead::Response(_), _)))));
}

#[test]
fn with_a_status_a_location_is_only_a_field() {
    let head = response("Status: 301 Moved\nLocation: /a\n\n");
    assert_eq!((head.status.as_u16(), head.fields.only("location")), (301, Some(&b"/a"[..])));
    assert_eq!(response("Status: 201 Created\nLocation: /a\n\n").status.as_u16(), 201);
}

#[test]
fn what_concerns_the_connection_or_the_server_is_removed() {
    let head = response(
        "Content-Type: a/b\nConnection: X-Mine, keep-alive, Content-Type\nKeep-Alive: timeout=5\nX-Mine: 1\nUpgrade: h2c\n\
         Trailer: X\nTE: trailers\nX-CGI-Whatever: 1\nContent-Length: 3\nX-CGI: stays\n\n",
    );
    assert_eq!(head.fields.block(), b"Content-Type: a/b\r\nContent-Length: 3\r\nX-CGI: stays\r\n");
}

#[test]
fn output_that_is_no_cgi_is_refused() {
    use CgiError::{CgiFieldRepeated, Head, Location, NoCgiField, TransferEncoding};
    let rows: &[(&[u8], CgiError)] = &[
        (b"\nContent-Type: a/b\n\n", NoCgiField),
        (b"Set-Cookie: a=b\n\n", NoCgiField),
        (b"X-Sendfile-Type: X-Sendfile\n\n", NoCgiField),
        (b"HTTP/1.1 200 OK\nContent-Type: a/b\n\n", Head(HeadError::FieldName)),
        (b"#!/usr/bin/perl\nprint 1;\n", Head(HeadError::FieldName)),
        (b"<html>\n", Head(HeadError::FieldName)),
        (b"Can't locate CGI.pm in @INC: no\n", Head(HeadError::FieldName)),
        (b": a\n\n", Head(HeadError::FieldName)),
        (b"Content-Type : a/b\n\n", Head(HeadError::SpaceBeforeColon)),
        (b" Content-Type: a/b\n\n", Head(HeadError::SpaceBeforeFirstField)),
        (b"Content-Type: a/b\n c\n\n", Head(HeadError::ObsFold)),
        (b"Content-Type: a\rX-B: c\n\n", Head(HeadError::BareCr)),
        (b"Content-Type: a/b\r\r\n\n", Head(HeadError::BareCr)),
        (b"Content-Type: a\0b\n\n", Head(HeadError::FieldValue)),
        (b"Content-Type: a\x1b[2Jb\n\n", Head(HeadError::FieldValue)),
        (b"Content-Type: a/b\nContent-Type: c/d\n\n", CgiFieldRepeated),
        (b"Status: 200\nstatus: 404\n\n", CgiFieldRepeated),
        (b"Location: /a\nLocation: /b\n\n", CgiFieldRepeated),
        (b"Location:\n\n", Location),
        (b"Content-Type: a/b\nTransfer-Encoding: chunked\n\n", TransferEncoding),
        (b"Content-Type: a/b\nTransfer-Encoding: identity\n\n", TransferEncoding),
    ];
    for (output, error) in rows {
        assert_eq!(parse(output), Err(*error), "{:?}", String::from_utf8_lossy(output));
    }
}

#[test]
fn an_endless_head_is_stopped() {
    let limits = HeadLimits { head_bytes_max: 18, fields_max: 2, ..HeadLimits::default() };
    let parse = |output: &[u8]| parse_cgi_head(output, &limits);
    assert!(matches!(parse(b"Status: 200\nA: bb\n"), Err(CgiError::Head(HeadError::TooLong))));
    assert!(matches!(parse(b"Status: 200\nA: b\n\n"), Ok(Some((_, 18)))));
    assert_eq!(parse(&[b'a'; 17]), Ok(None));
    assert_eq!(parse(&[b'a'; 18]), Err(HeadError::TooLong.into()));
    assert_eq!(parse(b"A:\nB:\nC:\n"), Err(HeadError::TooManyFields.into()));
}

/// Fragments that often form a valid head, and random bytes.
fn cgi_like() -> impl Strategy<Value = Vec<u8>> {
    let fragment = prop_oneof![
        prop::sample::select(vec![
            "Status: ",
            "200 OK",
            "404",
            "100",
            "Content-Type: a/b",
            "Location: ",
            "/a?b",
            "//c",
            "http://d",
            "Connection: ",
            "X-A",
            "Transfer-Encoding: chunked",
            "X-CGI-B: c",
            ": ",
            ":",
            "\n",
            "\r\n",
            "\n\n",
            "\r",
            " ",
            "\t",
            "\0",
            "d",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(fragment, 0..14).prop_map(|fragments| fragments.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn output_is_judged_the_same_however_it_arrives(bytes in cgi_like()) {
        let small = HeadLimits { head_bytes_max: 40, target_bytes_max: 4, fields_max: 3 };
        for limits in [HeadLimits::default(), small] {
            let whole = parse_cgi_head(&bytes, &limits);
            let mut is_decided = false;
            for end in 0..=bytes.len() {
                let prefix = parse_cgi_head(&bytes[..end], &limits);
                let needs_more = prefix == Ok(None);
                prop_assert!(needs_more && !is_decided || prefix == whole, "{}: {:?} is not {:?}", end, prefix, whole);
                is_decided = !needs_more;
            }
        }
    }
}

#[test]
fn a_field_that_names_a_file_is_an_answer_by_itself() {
    for output in ["X-Sendfile: /a\n\n", "x-accel-redirect: /a\n\n", "X-LIGHTTPD-send-file: /a\n\n"] {
        assert_eq!(response(output).status.as_u16(), 200, "{output:?}");
    }
}
