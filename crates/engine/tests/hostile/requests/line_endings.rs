//! Line endings, white space in odd places, and bytes before a request.
//!
//! RFC 9112 section 2.2 allows a recipient to take a single LF for the end of a line. Kasoku refuses it: a parser that also
//! accepts a lone CR, or neither, would find other lines.

use super::Outcome::{Gets, Refused, Silent};
use super::{Row, Table, rows};

const OK: super::Outcome = Gets("GET /", b"");

/// Each row is a whole request.
const REQUESTS: Table<'static> = &[
    ("9112 2.2", b"\r\nGET / HTTP/1.1\r\nHost: example.org\r\n\r\n", OK),
    ("9112 2.2", b"\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: example.org\r\n\r\n", OK),
    ("9112 2.2", b"\r\n\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: example.org\r\n\r\n", Refused(400)),
    ("9112 2.2", b"\nGET / HTTP/1.1\r\nHost: example.org\r\n\r\n", Refused(400)),
    ("9112 2.2", b"\rGET / HTTP/1.1\r\nHost: example.org\r\n\r\n", Refused(400)),
    ("9112 2.2", b"\r\r\nGET / HTTP/1.1\r\nHost: example.org\r\n\r\n", Refused(400)),
    ("9112 3", b" \r\nGET / HTTP/1.1\r\nHost: example.org\r\n\r\n", Refused(400)),
    ("9112 3", b"\x00GET / HTTP/1.1\r\nHost: example.org\r\n\r\n", Refused(400)),
    ("9112 3", b"\xef\xbb\xbfGET / HTTP/1.1\r\nHost: example.org\r\n\r\n", Refused(400)),
    // A lone LF.
    ("9112 2.2", b"GET / HTTP/1.1\nHost: example.org\n\n", Refused(400)),
    ("9112 2.2", b"GET / HTTP/1.1\nHost: example.org\r\n\r\n", Refused(400)),
    ("9112 2.2", b"GET / HTTP/1.1\r\nHost: example.org\n\r\n", Refused(400)),
    ("9112 2.2", b"GET / HTTP/1.1\r\nHost: example.org\r\n\n", Refused(400)),
    ("9112 2.2", b"GET / HTTP/1.1\r\nHost: example.org\n\n", Refused(400)),
    ("9112 2.2", b"GET / HTTP/1.1\r\nX: a\nHost: example.org\r\n\r\n", Refused(400)),
    ("9112 2.2", b"GET / HTTP/1.1\r\nHost: example.org\r\nX: \n\r\n", Refused(400)),
    ("9112 2.2", b"GET /\n HTTP/1.1\r\nHost: example.org\r\n\r\n", Refused(400)),
    // A lone CR, and more than one.
    ("9112 2.2", b"GET / HTTP/1.1\rHost: example.org\r\r", Refused(400)),
    ("9112 2.2", b"GET / HTTP/1.1\r\nHost: example.org\r\r\n\r\n", Refused(400)),
    ("9112 2.2", b"GET / HTTP/1.1\r\r\nHost: example.org\r\n\r\n", Refused(400)),
    ("9112 2.2", b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\r\n", Refused(400)),
    ("9112 2.2", b"GET / HTTP/1.1\r\nHost: example.org\r\n\rX", Refused(400)),
    ("9112 2.2", b"GET / HTTP/1.1\r\nHost: example.org\r\n\r", Refused(400)),
    ("9112 2.2", b"GET / HTTP/1.1\r\nHost: exam\rple.org\r\n\r\n", Refused(400)),
    ("9112 2.2", b"GET / HTTP/1.1\r\nHost: example.org\r\nX: a\rY: b\r\n\r\n", Refused(400)),
    ("9112 2.2", b"GET / HTTP/1.1\r\nHost: example.org\r\nX\r: a\r\n\r\n", Refused(400)),
    ("9112 2.2", b"GET / HTTP/1.1\n\rHost: example.org\n\r\n\r", Refused(400)),
    // Line ends elsewhere: vertical tab, form feed, NEL.
    ("9110 5.5", b"GET / HTTP/1.1\r\nHost: example.org\r\nX: a\x0bY: b\r\n\r\n", Refused(400)),
    ("9110 5.5", b"GET / HTTP/1.1\r\nHost: example.org\r\nX: a\x0cY: b\r\n\r\n", Refused(400)),
    ("9110 5.5", b"GET / HTTP/1.1\r\nHost: example.org\r\nX: a\xc2\x85Y: b\r\n\r\n", OK),
    ("9110 5.5", b"GET / HTTP/1.1\r\nHost: example.org\r\nX: a\xe2\x80\xa8Y: b\r\n\r\n", OK),
    // White space at the beginning of a field line.
    ("9112 2.2", b"GET / HTTP/1.1\r\n Host: example.org\r\n\r\n", Refused(400)),
    ("9112 2.2", b"GET / HTTP/1.1\r\n X: y\r\nHost: example.org\r\n\r\n", Refused(400)),
    ("9112 2.2", b"GET / HTTP/1.1\r\n\tHost: example.org\r\n\r\n", Refused(400)),
    ("9112 2.2", b"GET / HTTP/1.1\r\n \r\nHost: example.org\r\n\r\n", Refused(400)),
    ("9112 5.2", b"GET / HTTP/1.1\r\nHost: example.org\r\nX: a\r\n b\r\n\r\n", Refused(400)),
    ("9112 5.2", b"GET / HTTP/1.1\r\nHost: example.org\r\nX: a\r\n\tb\r\n\r\n", Refused(400)),
    ("9112 5.2", b"GET / HTTP/1.1\r\nHost: example.org\r\nX:\r\n \r\n\r\n", Refused(400)),
    ("9112 5.2", b"GET / HTTP/1.1\r\nHost:\r\n example.org\r\n\r\n", Refused(400)),
    ("9112 5.2", b"GET / HTTP/1.1\r\nHost: example.org\r\n \r\n", Refused(400)),
];

/// Sends the beginning of a request and ends the connection, with no request behind it.
#[test]
fn what_does_not_come_to_its_end_is_never_a_request() {
    let beginnings: [&[u8]; 9] = [
        b"",
        b"\r\n",
        b"G",
        b"GET / HTTP/1.1",
        b"GET / HTTP/1.1\r\n",
        b"GET / HTTP/1.1\r\nHost: example.org",
        b"GET / HTTP/1.1\r\nHost: example.org\r\n",
        b"GET / HTTP/1.1\r\nHost: example.org\r\n\r",
        b"POST / HTTP/1.1\r\nHost: example.org\r\nContent-Length: 5\r\n",
    ];
    let row = |bytes: &&[u8]| Row { section: "9112 8", bytes: bytes.to_vec(), outcome: Silent };
    super::play::play_alone("beginnings", beginnings.iter().map(row).collect());
}

pub(crate) fn topic() -> Vec<Row> {
    rows(REQUESTS, <[u8]>::to_vec).collect()
}
