//! Content-Length in disguise: CL.CL, CL.0 and 0.CL, and numbers that two languages read differently.

use super::Outcome::{Broken, Gets, GetsAll, GetsWith, Refused};
use super::{Row, Table, rows};

const HELLO: super::Outcome = Gets("POST /cl", b"hello");

/// Each row is the only field lines about the body, which is `hello`.
const HELLOS: Table<'static> = &[
    ("9112 6.3", b"Content-Length: 5", HELLO),
    ("9110 5.1", b"cONTENT-lENGTH:5", HELLO),
    ("9110 5.5", b"Content-Length:\t 5 \t", HELLO),
    ("9110 8.6", b"Content-Length: 005", HELLO),
    ("9110 8.6", b"Content-Length: 00000000000000000000000000000005", HELLO),
    // Not 1*DIGIT.
    ("9110 8.6", b"Content-Length:", Refused(400)),
    ("9110 8.6", b"Content-Length: +5", Refused(400)),
    ("9110 8.6", b"Content-Length: -5", Refused(400)),
    ("9110 8.6", b"Content-Length: -0", Refused(400)),
    ("9110 8.6", b"Content-Length: +0", Refused(400)),
    ("9110 8.6", b"Content-Length: 0x5", Refused(400)),
    ("9110 8.6", b"Content-Length: 0X05", Refused(400)),
    ("9110 8.6", b"Content-Length: 0b101", Refused(400)),
    ("9110 8.6", b"Content-Length: 0o5", Refused(400)),
    ("9110 8.6", b"Content-Length: 5h", Refused(400)),
    ("9110 8.6", b"Content-Length: 5.0", Refused(400)),
    ("9110 8.6", b"Content-Length: 5e0", Refused(400)),
    ("9110 8.6", b"Content-Length: 0_5", Refused(400)),
    ("9110 8.6", b"Content-Length: 5 5", Refused(400)),
    ("9110 8.6", b"Content-Length: 5\t0", Refused(400)),
    ("9110 8.6", b"Content-Length: 5;", Refused(400)),
    ("9110 8.6", b"Content-Length: 5 abc", Refused(400)),
    ("9110 8.6", b"Content-Length: \"5\"", Refused(400)),
    ("9110 8.6", b"Content-Length: (5)", Refused(400)),
    ("9110 8.6", b"Content-Length: %35", Refused(400)),
    ("9110 8.6", b"Content-Length: five", Refused(400)),
    ("9110 8.6", b"Content-Length: NaN", Refused(400)),
    ("9110 8.6", b"Content-Length:: 5", Refused(400)),
    ("9110 8.6", b"Content-Length: =5", Refused(400)),
    ("9110 8.6", b"Content-Length: \xd9\xa5", Refused(400)), // an Arabic five
    ("9110 8.6", b"Content-Length: \xef\xbc\x95", Refused(400)), // a full-width five
    ("9110 8.6", b"Content-Length: \xb2", Refused(400)),     // a superscript two, a digit in some languages
    ("9110 8.6", b"Content-Length: 5\xa0", Refused(400)),
    // Numbers that overflow to 5, or to less than 0.
    ("9110 8.6", b"Content-Length: 18446744073709551621", Refused(400)),
    ("9110 8.6", b"Content-Length: 18446744073709551616", Refused(400)),
    ("9110 8.6", b"Content-Length: 340282366920938463463374607431768211461", Refused(400)),
    ("9110 15.5.14", b"Content-Length: 18446744073709551615", Refused(413)),
    ("9110 15.5.14", b"Content-Length: 9223372036854775813", Refused(413)),
    ("9110 15.5.14", b"Content-Length: 4294967301", Refused(413)),
    // More than one value. RFC 9112 section 6.3 would allow a recipient to merge equal ones.
    ("9112 6.3", b"Content-Length: 5\r\nContent-Length: 5", Refused(400)),
    ("9112 6.3", b"Content-Length: 5\r\nContent-Length: 6", Refused(400)),
    ("9112 6.3", b"Content-Length: 0\r\nContent-Length: 5", Refused(400)),
    ("9112 6.3", b"Content-Length: 5\r\ncontent-length: 0", Refused(400)),
    ("9112 6.3", b"Content-Length: 5\r\nContent-Length:", Refused(400)),
    ("9112 6.3", b"Content-Length:\r\nContent-Length: 5", Refused(400)),
    ("9112 6.3", b"Content-Length: 5\r\nX: y\r\nContent-Length: -5", Refused(400)),
    ("9112 6.3", b"Content-Length: 5, 5", Refused(400)),
    ("9112 6.3", b"Content-Length: 5,6", Refused(400)),
    ("9112 6.3", b"Content-Length: 5,", Refused(400)),
    ("9112 6.3", b"Content-Length: ,5", Refused(400)),
    ("9112 6.3", b"Content-Length: 5\r\nContent-Length : 0", Refused(400)),
    // Control characters, line endings, names.
    ("9110 5.5", b"Content-Length: \x0b5", Refused(400)),
    ("9110 5.5", b"Content-Length: 5\x0c", Refused(400)),
    ("9110 5.5", b"Content-Length: 5\x00", Refused(400)),
    ("9110 5.5", b"Content-Length: 5\x001", Refused(400)),
    ("9110 5.5", b"Content-Length: \x7f5", Refused(400)),
    ("9112 2.2", b"Content-Length: 5\r", Refused(400)),
    ("9112 2.2", b"Content-Length: \r5", Refused(400)),
    ("9112 2.2", b"X: y\nContent-Length: 5", Refused(400)),
    ("9112 2.2", b"X: y\rContent-Length: 5", Refused(400)),
    ("9112 5.2", b"Content-Length:\r\n 5", Refused(400)),
    ("9112 5.2", b"Content-Length: 5\r\n 0", Refused(400)),
    ("9112 5.2", b" Content-Length: 5", Refused(400)),
    ("9112 5.1", b"Content-Length : 5", Refused(400)),
    ("9112 5.1", b"Content-Length\t: 5", Refused(400)),
    ("9110 5.1", b"Content-Length\x0b: 5", Refused(400)),
    ("9110 5.1", b"Content-Length\x00: 5", Refused(400)),
    ("9110 5.1", b"\x0cContent-Length: 5", Refused(400)),
    ("9110 5.1", b"Content Length: 5", Refused(400)),
    ("9110 5.1", b"Content-Length=5", Refused(400)),
    ("9110 5.1", b"Content-Length 5", Refused(400)),
];

const EMPTY: super::Outcome = GetsWith("POST /0", b"", &["Content-Length: 0"]);

/// Lines that state no body: the bytes that follow are the next request (0.CL).
const NOTHING: Table<'static> = &[
    ("9112 6.3", b"X: y", EMPTY),
    ("9112 6.3", b"Content-Length: 0", EMPTY),
    ("9112 6.3", b"Content-Length: 000", EMPTY),
    ("9110 5.1", b"Content-Lengt: 35", EMPTY),
    ("9110 5.1", b"ContentLength: 35", EMPTY),
    ("9110 5.1", b"Content.Length: 35", EMPTY),
    ("9110 5.1", b"X-Content-Length: 35", EMPTY),
    ("9110 5.1", b"X: Content-Length: 35", EMPTY),
    ("9110 5.1", b"Content_Length: 35", GetsWith("POST /0", b"", &["Content-Length: 0", "!Content_Length"])),
    ("9110 5.1", b"content_length: 35", GetsWith("POST /0", b"", &["Content-Length: 0", "!content_length"])),
    // The request behind it would be the beginning of the body.
    ("9112 6.3", b"Content-Length: 999", Broken(400)),
];

/// A whole request as the body of another one, with methods for which some servers read no body (CL.0).
const HIDDEN: &[u8] = b"GET /hidden HTTP/1.1\r\nHost: example.org\r\n\r\n";
const METHODS: [&str; 8] = ["GET", "HEAD", "DELETE", "OPTIONS", "PUT", "PATCH", "POST", "PROPFIND"];

pub(crate) fn topic() -> Vec<Row> {
    let hellos =
        rows(HELLOS, |lines| [b"POST /cl HTTP/1.1\r\nHost: example.org\r\n", lines, b"\r\n\r\nhello"].concat());
    let nothing = rows(NOTHING, |lines| [b"POST /0 HTTP/1.1\r\nHost: example.org\r\n", lines, b"\r\n\r\n"].concat());
    let hidden = METHODS.iter().map(|method| {
        let head = format!("{method} /cl.0 HTTP/1.1\r\nHost: example.org\r\nContent-Length: {}\r\n\r\n", HIDDEN.len());
        let outcome = GetsAll(vec![(format!("{method} /cl.0"), HIDDEN.to_vec())]);
        Row { section: "9110 9.3.1", bytes: [head.as_bytes(), HIDDEN].concat(), outcome }
    });
    hellos.chain(nothing).chain(hidden).collect()
}
