//! Field lines: names with odd bytes, values with odd bytes, lines that are no fields.

use super::Outcome::{GetsWith, Refused};
use super::{Row, Table, rows};

const fn keeps(fields: &'static [&'static str]) -> super::Outcome {
    GetsWith("GET /", b"", fields)
}

/// Lines between Host and the empty line.
const LINES: Table<'static> = &[
    ("9110 5.6.2", b"!#$%&'*+-.^_`|~09azAZ: x", keeps(&["!#$%&'*+-.^_`|~09azAZ: x"])),
    ("9110 5.6.2", b"0: x", keeps(&["0: x"])),
    ("9110 5.6.2", b"-: x", keeps(&["-: x"])),
    ("9110 5.1", b"X_Y: 1\r\nX-Y: 2", keeps(&["X_Y: 1", "X-Y: 2"])),
    ("9110 5.5", b"X:", keeps(&["X: "])),
    ("9110 5.5", b"X: \t ", keeps(&["X: "])),
    ("9110 5.5", b"X: a\t b", keeps(&["X: a\t b"])),
    ("9110 5.5", b"X: :::", keeps(&["X: :::"])),
    ("9110 5.5", b"X: \"a", keeps(&["X: \"a"])),
    ("9110 5.5", b"X: a%0d%0aY: b", keeps(&["X: a%0d%0aY: b"])),
    ("9110 5.5", b"X: \xc3\xa4", keeps(&["X: \u{e4}"])),
    ("9110 5.5", b"X: () { :;}; echo", keeps(&["X: () { :;}; echo"])),
    // Names.
    ("9110 5.1", b": x", Refused(400)),
    ("9110 5.1", b"x", Refused(400)),
    ("9110 5.1", b"GET / HTTP/1.1", Refused(400)),
    ("9112 5.1", b"X : y", Refused(400)),
    ("9112 5.1", b"X\t: y", Refused(400)),
    ("9110 5.1", b"X Y: z", Refused(400)),
    ("9110 5.1", b"X\x00: y", Refused(400)),
    ("9110 5.1", b"X\x00Y: z", Refused(400)),
    ("9110 5.1", b"\x01X: y", Refused(400)),
    ("9110 5.1", b"X\x0b: y", Refused(400)),
    ("9110 5.1", b"X\x1f: y", Refused(400)),
    ("9110 5.1", b"X\x7f: y", Refused(400)),
    ("9110 5.1", b"X\x80: y", Refused(400)),
    ("9110 5.1", b"X\xff: y", Refused(400)),
    ("9110 5.1", b"X\xc2\xad: y", Refused(400)), // a soft hyphen
    ("9110 5.1", b"\xef\xbb\xbfX: y", Refused(400)),
    ("9110 5.1", b"X(: y", Refused(400)),
    ("9110 5.1", b"X/Y: z", Refused(400)),
    ("9110 5.1", b"X=Y: z", Refused(400)),
    ("9110 5.1", b"X,Y: z", Refused(400)),
    ("9110 5.1", b"X;Y: z", Refused(400)),
    ("9110 5.1", b"X@Y: z", Refused(400)),
    ("9110 5.1", b"X[Y]: z", Refused(400)),
    ("9110 5.1", b"X{Y}: z", Refused(400)),
    ("9110 5.1", b"X\\Y: z", Refused(400)),
    ("9110 5.1", b"X?Y: z", Refused(400)),
    ("9110 5.1", b"X<Y>: z", Refused(400)),
    ("9110 5.1", b"\"X\": y", Refused(400)),
    // Values.
    ("9110 5.5", b"X: a\x00b", Refused(400)),
    ("9110 5.5", b"X: \x00", Refused(400)),
    ("9110 5.5", b"X: a\x01b", Refused(400)),
    ("9110 5.5", b"X: \x07", Refused(400)),
    ("9110 5.5", b"X: \x08", Refused(400)),
    ("9110 5.5", b"X: \x0b", Refused(400)),
    ("9110 5.5", b"X: \x0c", Refused(400)),
    ("9110 5.5", b"X: \x1b[31m", Refused(400)),
    ("9110 5.5", b"X: \x7f", Refused(400)),
];

pub(crate) fn topic() -> Vec<Row> {
    rows(LINES, |lines| [b"GET / HTTP/1.1\r\nHost: example.org\r\n", lines, b"\r\n\r\n"].concat()).collect()
}
