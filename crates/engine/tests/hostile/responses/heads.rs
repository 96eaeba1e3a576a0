//! Heads of responses: framing fields in disguise, field lines that are no fields, heads without end, interim responses.

use super::Outcome::{BadGateway, Kept, Left};
use super::{End, Row, Table, rows};

const OK: super::Outcome = Kept(200, b"abc");

/// Each row is the lines between the status line and a body in chunks, behind which the origin waits.
const CHUNKED: Table<'static> = &[
    ("9112 7.1", b"Transfer-Encoding: chunked", OK),
    ("9112 7", b"tRANSFER-eNCODING:\tCHUNKED ", OK),
    ("9110 5.6.1.2", b"Transfer-Encoding: , chunked,", OK),
    ("9110 7.6.1", b"Connection: transfer-encoding\r\nTransfer-Encoding: chunked", OK),
    ("9112 9.6", b"Transfer-Encoding: chunked\r\nConnection: close", Left(200, b"abc")),
    ("9112 6.1", b"Transfer-Encoding: chunked\r\nContent-Length: 13", BadGateway),
    ("9112 6.1", b"Content-Length: 3\r\nTransfer-Encoding: chunked", BadGateway),
    ("9112 6.1", b"Transfer-Encoding: identity\r\nContent-Length: 13", BadGateway),
    ("9112 6.1", b"Transfer-Encoding: chunked, chunked", BadGateway),
    ("9112 6.1", b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", BadGateway),
    ("9112 7", b"Transfer-Encoding: gzip, chunked", BadGateway),
    ("9112 7", b"Transfer-Encoding: identity, chunked", BadGateway),
    ("9112 7", b"Transfer-Encoding: cow\r\nTransfer-Encoding: chunked", BadGateway),
    ("9112 7", b"Transfer-Encoding: gzip", BadGateway),
    ("9112 7", b"Transfer-Encoding: chunked, gzip", BadGateway),
    ("9112 7.1", b"Transfer-Encoding: chunked;q=1", BadGateway),
    ("9112 6.1", b"Transfer-Encoding:", BadGateway),
    ("9112 6.1", b"Transfer-Encoding: ,", BadGateway),
    ("9112 6.1", b"Transfer-Encoding: \"chunked\"", BadGateway),
    ("9112 6.1", b"Transfer-Encoding: chunked x", BadGateway),
    ("9112 6.1", b"Transfer-Encoding: \xffchunked", BadGateway),
    ("9110 5.5", b"Transfer-Encoding: \x0bchunked", BadGateway),
    ("9110 5.5", b"Transfer-Encoding: chunked\x00", BadGateway),
    ("9112 2.2", b"Transfer-Encoding: chunked\r", BadGateway),
    ("9112 2.2", b"X: y\nTransfer-Encoding: chunked", BadGateway),
    ("9112 2.2", b"X: y\rTransfer-Encoding: chunked", BadGateway),
    ("9112 5.1", b"Transfer-Encoding : chunked", BadGateway),
    ("9112 5.2", b"Transfer-Encoding:\r\n chunked", BadGateway),
    ("9112 5.2", b"X: y\r\n Transfer-Encoding: chunked", BadGateway),
    ("9112 2.2", b" Transfer-Encoding: chunked", BadGateway),
    ("9110 5.1", b"Transfer-Encoding\x00: chunked", BadGateway),
    ("9110 5.1", b"Transfer Encoding: chunked", BadGateway),
];

/// Each row is the lines before a body of `hello`, behind which the origin waits.
const HELLO: Table<'static> = &[
    ("9110 5.1", b"cONTENT-lENGTH:5", Kept(200, b"hello")),
    ("9112 6.3", b"Content-Length: 005", Kept(200, b"hello")),
    ("9112 6.3", b"Content-Length: 5, 5", Kept(200, b"hello")),
    ("9112 6.3", b"Content-Length: 5\r\nContent-Length: 05", Kept(200, b"hello")),
    ("9110 7.6.1", b"Content-Length: 5\r\nConnection: content-length", Kept(200, b"hello")),
    ("9112 6.3", b"Content-Length: 5\r\nContent-Length: 6", BadGateway),
    ("9112 6.3", b"Content-Length: 5, 6", BadGateway),
    ("9112 6.3", b"Content-Length: 5,", BadGateway),
    ("9112 6.3", b"Content-Length: ,5", BadGateway),
    ("9112 6.3", b"Content-Length:", BadGateway),
    ("9112 6.3", b"Content-Length: 5\r\nContent-Length:", BadGateway),
    ("9110 8.6", b"Content-Length: +5", BadGateway),
    ("9110 8.6", b"Content-Length: -5", BadGateway),
    ("9110 8.6", b"Content-Length: 0x5", BadGateway),
    ("9110 8.6", b"Content-Length: 5;", BadGateway),
    ("9110 8.6", b"Content-Length: 5.0", BadGateway),
    ("9110 8.6", b"Content-Length: 5 5", BadGateway),
    ("9110 8.6", b"Content-Length: five", BadGateway),
    ("9110 8.6", b"Content-Length: \xef\xbc\x95", BadGateway),
    ("9110 8.6", b"Content-Length: 18446744073709551621", BadGateway),
    ("9110 5.5", b"Content-Length: 5\x0b", BadGateway),
    ("9110 5.5", b"Content-Length: 5\x00", BadGateway),
    ("9112 2.2", b"Content-Length: 5\r", BadGateway),
    ("9112 5.1", b"Content-Length : 5", BadGateway),
    ("9112 5.2", b"Content-Length: 5\r\n 0", BadGateway),
    // Other field lines.
    ("9110 5.1", b"Content-Length: 5\r\nno field", BadGateway),
    ("9110 5.1", b"Content-Length: 5\r\n: x", BadGateway),
    ("9110 5.1", b"Content-Length: 5\r\nX\x00: y", BadGateway),
    ("9110 5.1", b"Content-Length: 5\r\nX Y: z", BadGateway),
    ("9110 5.1", b"Content-Length: 5\r\nX\xff: y", BadGateway),
    ("9110 5.5", b"Content-Length: 5\r\nX: a\x00b", BadGateway),
    ("9110 5.5", b"Content-Length: 5\r\nX: \x1b[31m", BadGateway),
    ("9112 2.2", b"Content-Length: 5\r\nX: a\nSet-Cookie: EVIL", BadGateway),
    ("9112 2.2", b"Content-Length: 5\r\nX: a\rSet-Cookie: EVIL", BadGateway),
    ("9112 5.2", b"Content-Length: 5\r\nX: a\r\n\tb", BadGateway),
];

/// Each row is all that the origin sends before it waits.
const OTHERS: Table<'static> = &[
    ("9112 2.2", b"HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", BadGateway),
    ("9112 2.2", b"HTTP/1.1 200 OK\r\nContent-Length: 5\n\r\nhello", BadGateway),
    ("9112 2.2", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\nhello", BadGateway),
    ("9112 2.2", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\r\nhello", BadGateway),
    ("9112 2.2", b"HTTP/1.1 200 OK\rContent-Length: 5\r\rhello", BadGateway),
    ("9112 6.1", b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", BadGateway),
    ("9112 9.3", b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello", Left(200, b"hello")),
    // Interim responses.
    ("9110 15.2", b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", Kept(200, b"hello")),
    ("9110 15.2", b"HTTP/1.1 103 \r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", Kept(200, b"hello")),
    ("9110 15.2", b"HTTP/1.1 199 \r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", Kept(200, b"hello")),
    (
        "9112 6.3",
        b"HTTP/1.1 103 \r\nContent-Length: 4\r\n\r\nEVILHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        BadGateway,
    ),
    (
        "9112 6.3",
        b"HTTP/1.1 100 \r\nTransfer-Encoding: chunked\r\n\r\n4\r\nEVIL\r\n0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        BadGateway,
    ),
    ("9110 15.2.2", b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\nEVIL", BadGateway),
    ("9110 15.2.2", b"HTTP/1.1 101 Switching Protocols\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nEVIL", BadGateway),
];

pub(super) fn topic() -> Vec<Row> {
    let head = |lines: &[u8], body: &[u8]| [b"HTTP/1.1 200 OK\r\n", lines, b"\r\n\r\n", body].concat();
    let chunked = rows(CHUNKED, End::Waits, move |lines| head(lines, b"3\r\nabc\r\n0\r\n\r\n"));
    let hello = rows(HELLO, End::Waits, move |lines| head(lines, b"hello"));
    let others = rows(OTHERS, End::Waits, <[u8]>::to_vec);
    chunked.chain(hello).chain(others).chain(over_long()).collect()
}

/// Heads without end, at the default limits, and floods of interim responses.
fn over_long() -> Vec<Row> {
    let row = |text: String, outcome| Row {
        section: "9110 5.4",
        method: "GET",
        bytes: text.into_bytes(),
        end: End::Waits,
        outcome,
    };
    let ok = |lines: &str| format!("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n{lines}\r\nhello");
    let last = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    vec![
        row(format!("HTTP/1.1 200 {}", "a".repeat(70_000)), BadGateway),
        row("a".repeat(1_000_000), BadGateway),
        row("\r\n".repeat(100_000), BadGateway),
        row(ok(&format!("X: {}\r\n", "a".repeat(60_000))), Kept(200, b"hello")),
        row(ok(&format!("X: {}\r\n", "a".repeat(70_000))), BadGateway),
        row(ok(&format!("X: {}\r\n", "a".repeat(1_000_000))), BadGateway),
        row(ok(&"X: y\r\n".repeat(199)), Kept(200, b"hello")),
        row(ok(&"X: y\r\n".repeat(200)), BadGateway),
        row(ok(&"X:\r\n".repeat(100_000)), BadGateway),
        row("HTTP/1.1 103 \r\n\r\n".repeat(15) + last, Kept(200, b"hello")),
        row("HTTP/1.1 103 \r\n\r\n".repeat(16) + last, BadGateway),
        row("HTTP/1.1 100 \r\n\r\n".repeat(10_000) + last, BadGateway),
        row("HTTP/1.1 102 \r\n\r\n".repeat(100_000), BadGateway),
    ]
}
