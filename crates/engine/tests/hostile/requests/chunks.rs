//! The chunked coding: sizes, extensions, line ends, ends of data, trailers.
//!
//! If a short body is broken, the origin never hears of it; of a long one the origin gets the beginning and never the end. The
//! client gets 400 in both cases. Kasoku never forwards chunks as they came: the origin gets chunks of Kasoku's own, without
//! extensions, and only harmless trailers.

use super::Outcome::{Broken, Cut, Gets, GetsWith};
use super::{Row, Table, rows};

const ABC: super::Outcome = Gets("POST /chunks", b"abc");
const NO: super::Outcome = Broken(400);

/// Each row is a body.
const BODIES: Table<'static> = &[
    ("9112 7.1", b"3\r\nabc\r\n0\r\n\r\n", ABC),
    ("9112 7.1", b"1\r\na\r\n2\r\nbc\r\n0\r\n\r\n", ABC),
    ("9112 7.1", b"003\r\nabc\r\n0\r\n\r\n", ABC),
    ("9112 7.1", b"0000000000000003\r\nabc\r\n0\r\n\r\n", ABC),
    ("9112 7.1", b"3\r\nabc\r\n00000\r\n\r\n", ABC),
    ("9112 7.1", b"0\r\n\r\n", Gets("POST /chunks", b"")),
    ("9112 7.1", b"0a\r\n0123456789\r\n0\r\n\r\n", Gets("POST /chunks", b"0123456789")),
    ("9112 7.1", b"A\r\n0\r\n\r\nGET /\r\n0\r\n\r\n", Gets("POST /chunks", b"0\r\n\r\nGET /")),
    // Sizes that are not a 1*HEXDIG of 64 bits.
    ("9112 7.1", b"\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1", b"0x3\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1", b"0X3\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1", b"+3\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1", b"-3\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1", b"3h\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1", b"g\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1", b"0_3\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1", b"3.0\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1", b"3,3\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1", b"\"3\"\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1", b"\xef\xbc\x93\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1", b"3\xa0\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1", b" 3\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1", b"\t3\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1", b"3 \r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1", b"3\t\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1", b"3\x00\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1", b"3\x0b\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1", b"3 abc\r\n0\r\n\r\n", NO),
    ("9112 7.1", b"0 \r\n\r\n", NO),
    ("9112 7.1", b"-0\r\n\r\n", NO),
    ("9112 7.1", b"0x0\r\n\r\n", NO),
    // 2^64 + 3, 2^32 + 3, 2^64 - 1, 2^63: a parser that wraps would read 3 or less than 0.
    ("9112 7.1", b"10000000000000003\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1", b"00000000000000003\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1", b"100000003\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1", b"ffffffffffffffff\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1", b"8000000000000000\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1", b"fffffffffffffffffffffffffffffffd\r\nabc\r\n0\r\n\r\n", NO),
    // Extensions that follow the grammar.
    ("9112 7.1.1", b"3;a\r\nabc\r\n0\r\n\r\n", ABC),
    ("9112 7.1.1", b"3;a=b\r\nabc\r\n0;c=d\r\n\r\n", ABC),
    ("9112 7.1.1", b"3;a;b=c;d\r\nabc\r\n0\r\n\r\n", ABC),
    ("9112 7.1.1", b"3 ; a = b\r\nabc\r\n0\r\n\r\n", ABC),
    ("9112 7.1.1", b"3\t;\ta\r\nabc\r\n0\r\n\r\n", ABC),
    ("9112 7.1.1", b"3;a=\"b;c=\\\"d\\\"\"\r\nabc\r\n0\r\n\r\n", ABC),
    ("9112 7.1.1", b"3;a=\"\"\r\nabc\r\n0\r\n\r\n", ABC),
    ("9112 7.1.1", b"3;a=\"\xff\"\r\nabc\r\n0\r\n\r\n", ABC),
    ("9112 7.1.1", b"3;a=0\r\nabc\r\n0\r\n\r\n", ABC),
    // Extensions that don't follow it.
    ("9112 7.1.1", b"3;\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1.1", b"3;;a\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1.1", b"3;a;\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1.1", b"3;=b\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1.1", b"3;a=\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1.1", b"3;a b\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1.1", b"3;a=b,c\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1.1", b"3;a=\"b\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1.1", b"3;a=\"b\\\"\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1.1", b"3;a=\"b\"c\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1.1", b"3;a=\"\r\n\"\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1.1", b"3;a\x00\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1.1", b"3;a=\"\x00\"\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1.1", b"3;\xff\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1.1", b"0;\r\n\r\n", NO),
    // A line end inside an extension: TERM.EXT and EXT.TERM.
    ("9112 7.1.1", b"3;\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1.1", b"3;a\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1.1", b"3;a=\"\n\"\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1.1", b"3;a\rb\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1.1", b"3;a=\"\r\"\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1.1", b"2;\nxx\r\n4c\r\n0\r\n\r\nGET /evil HTTP/1.1\r\nHost: a\r\nX: \r\n\r\n0\r\n\r\n", NO),
    ("9112 7.1.1", b"3\r;a\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1.1", b"0;\n\r\n\r\n", NO),
    // Line ends.
    ("9112 7.1", b"3\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1", b"3\rabc\r\n0\r\n\r\n", NO),
    ("9112 7.1", b"3\r\r\nabc\r\n0\r\n\r\n", NO),
    ("9112 7.1", b"3\n\rabc\r\n0\r\n\r\n", NO),
    ("9112 7.1", b"0\n\r\n", NO),
    ("9112 7.1", b"0\n\n", NO),
    ("9112 7.1", b"0\r\n\n", NO),
    ("9112 7.1", b"0\r\r\n\r\n", NO),
    ("9112 7.1", b"0\r\n\r\r\n", NO),
    ("9112 7.1", b"0\r\n\rX", NO),
    ("9112 7.1", b"0\r\n", NO), // the request behind it would be read as trailers
    ("9112 7.1", b"0", NO),
    // The end of the data: SPILL, and chunks that are longer or shorter than their size.
    ("9112 7.1", b"3\r\nabc\n0\r\n\r\n", NO),
    ("9112 7.1", b"3\r\nabc\r0\r\n\r\n", NO),
    ("9112 7.1", b"3\r\nabc0\r\n\r\n", NO),
    ("9112 7.1", b"3\r\nabcXX0\r\n\r\n", NO),
    ("9112 7.1", b"3\r\nabcX\r\n0\r\n\r\n", NO),
    ("9112 7.1", b"3\r\nabc\r\n\r\n0\r\n\r\n", NO),
    ("9112 7.1", b"3\r\nab\r\n0\r\n\r\n", NO),
    ("9112 7.1", b"3\r\nabc\n\n0\r\n\r\n", NO),
    ("9112 7.1", b"3\r\nabc\r\r\n0\r\n\r\n", NO),
    ("9112 7.1", b"3\r\nabc \r\n0\r\n\r\n", NO),
    ("9112 7.1", b"3\r\nabc\r\n", NO),
    ("9112 7.1", b"3\r\nabc\r\nGET", NO),
    // Trailers.
    ("9112 7.1.2", b"3\r\nabc\r\n0\r\nX: y\r\n\r\n", GetsWith("POST /chunks", b"abc", &["X: y"])),
    (
        "9110 6.5.1",
        b"3\r\nabc\r\n0\r\nContent-Length: 99\r\n\r\n",
        GetsWith("POST /chunks", b"abc", &["!Content-Length"]),
    ),
    (
        "9110 6.5.1",
        b"3\r\nabc\r\n0\r\nTransfer-Encoding: identity\r\nX: y\r\n\r\n",
        GetsWith("POST /chunks", b"abc", &["Transfer-Encoding: chunked", "X: y"]),
    ),
    ("9110 6.5.1", b"3\r\nabc\r\n0\r\nHost: evil\r\n\r\n", GetsWith("POST /chunks", b"abc", &["Host: example.org"])),
    (
        "9110 6.5.1",
        b"3\r\nabc\r\n0\r\nConnection: close\r\nAuthorization: x\r\nCookie: y\r\n\r\n",
        GetsWith("POST /chunks", b"abc", &["!Connection", "!Authorization", "!Cookie"]),
    ),
    (
        "9110 6.5.1",
        b"3\r\nabc\r\n0\r\nContent_Length: 99\r\nTransfer_Encoding: chunked\r\n\r\n",
        GetsWith("POST /chunks", b"abc", &["!Content_Length", "!Transfer_Encoding"]),
    ),
    ("9112 5.1", b"3\r\nabc\r\n0\r\nX : y\r\n\r\n", NO),
    ("9112 5.2", b"3\r\nabc\r\n0\r\nX: y\r\n z\r\n\r\n", NO),
    ("9112 5.2", b"3\r\nabc\r\n0\r\n X: y\r\n\r\n", NO),
    ("9112 2.2", b"3\r\nabc\r\n0\r\nX: y\nZ: w\r\n\r\n", NO),
    ("9112 2.2", b"3\r\nabc\r\n0\r\nX: y\r\n\n", NO),
    ("9112 2.2", b"3\r\nabc\r\n0\r\nX: y\rZ: w\r\n\r\n", NO),
    ("9110 5.5", b"3\r\nabc\r\n0\r\nX: \x00\r\n\r\n", NO),
    ("9110 5.1", b"3\r\nabc\r\n0\r\nno field\r\n\r\n", NO),
    ("9110 5.1", b"3\r\nabc\r\n0\r\n: y\r\n\r\n", NO),
];

const HEAD: &[u8] = b"POST /chunks HTTP/1.1\r\nHost: example.org\r\nTransfer-Encoding: chunked\r\n\r\n";

pub(crate) fn topic() -> Vec<Row> {
    rows(BODIES, |body| [HEAD, body].concat()).collect()
}

/// The broken bodies, behind so many bytes that the origin has been asked already.
pub(crate) fn broken_later() -> Vec<Row> {
    let beginning = format!("4e20\r\n{}\r\n", "a".repeat(0x4e20));
    let all = rows(BODIES, |body| [HEAD, beginning.as_bytes(), body].concat());
    all.filter(|row| matches!(row.outcome, Broken(_))).map(|row| Row { outcome: Cut(400), ..row }).collect()
}
