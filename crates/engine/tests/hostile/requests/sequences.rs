//! Pipelined requests: Kasoku reads each one where the previous one ended, and reads nothing behind a refused one.

use super::Outcome::{GetsAll, Refused};
use super::{Outcome, Row};

/// Each row is a request, and what the origin gets of it: the request line and the body.
const PARTS: [(&str, (&str, &[u8])); 7] = [
    ("GET /1 HTTP/1.1\r\nHost: example.org\r\n\r\n", ("GET /1", b"")),
    ("HEAD /2 HTTP/1.1\r\nHost: example.org\r\n\r\n", ("HEAD /2", b"")),
    ("POST /3 HTTP/1.1\r\nHost: example.org\r\nContent-Length: 5\r\n\r\nhello", ("POST /3", b"hello")),
    (
        "POST /4 HTTP/1.1\r\nHost: example.org\r\nTransfer-Encoding: chunked\r\n\r\n2;x\r\nhe\r\n3\r\nllo\r\n0\r\nX: y\r\n\r\n",
        ("POST /4", b"hello"),
    ),
    ("\r\nPUT /5 HTTP/1.1\r\nHost: example.org\r\nContent-Length: 0\r\n\r\n", ("PUT /5", b"")),
    (
        "GET /6 HTTP/1.0\r\nHost: example.org\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n\r\n",
        ("GET /6", b"\r\n"),
    ),
    (
        "POST http://example.org/7 HTTP/1.1\r\nHost: x\r\nContent-Length: 43\r\n\r\nGET /evil HTTP/1.1\r\nHost: example.org\r\n\r\n\r\n",
        ("POST /7", b"GET /evil HTTP/1.1\r\nHost: example.org\r\n\r\n\r\n"),
    ),
];

/// Requests that Kasoku refuses with this status; it ends the connection.
const REFUSED: [(&str, u16); 6] = [
    ("POST / HTTP/1.1\r\nHost: example.org\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: example.org\r\nContent-Length: 5, 6\r\n\r\nhello", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
    ("GET / HTTP/9.9\r\nHost: example.org\r\n\r\n", 505),
    ("TRACE / HTTP/1.1\r\nHost: example.org\r\n\r\n", 405),
    ("POST / HTTP/1.1\r\nHost: example.org\r\nTransfer-Encoding: x, chunked\r\n\r\n0\r\n\r\n", 501),
];

pub(crate) fn topic() -> Vec<Row> {
    let asked = |parts: &[usize]| -> Outcome {
        GetsAll(parts.iter().map(|part| PARTS[*part].1).map(|(line, body)| (line.to_owned(), body.to_vec())).collect())
    };
    let text = |parts: &[usize]| -> String { parts.iter().map(|part| PARTS[*part].0).collect() };
    let pairs = (0..PARTS.len()).flat_map(|first| (0..PARTS.len()).map(move |second| vec![first, second]));
    let all = [(0..PARTS.len()).collect::<Vec<_>>(), (0..PARTS.len()).rev().collect()];
    let served = pairs.chain(all).map(|parts| Row {
        section: "9112 9.3.2",
        bytes: text(&parts).into_bytes(),
        outcome: asked(&parts),
    });
    let refused = REFUSED.iter().map(|(request, status)| Row {
        section: "9112 9.6",
        bytes: [request, PARTS[0].0, PARTS[2].0].concat().into_bytes(),
        outcome: Refused(*status),
    });
    served.chain(refused).collect()
}
