//! Connection, Upgrade, Expect, TE and Trailer: fields about the connection, by which a client may try to change the framing that
//! Kasoku or the origin reads.

use super::Outcome::{Answered, GetsLast, GetsWith, Refused};
use super::{Row, Table, rows};

const fn hello(fields: &'static [&'static str]) -> super::Outcome {
    GetsWith("POST /c", b"hello", fields)
}

/// Field lines of a POST with a body of five bytes.
const LINES: Table<'static> = &[
    ("9110 7.6.1", b"Connection: Content-Length", hello(&["Content-Length: 5", "!Connection"])),
    (
        "9110 7.6.1",
        b"Connection: content-length, host, transfer-encoding",
        hello(&["Content-Length: 5", "Host: example.org"]),
    ),
    ("9110 7.6.1", b"Connection: Host", hello(&["Host: example.org"])),
    (
        "9110 7.6.1",
        b"Connection: Via, Forwarded, X-Forwarded-For",
        hello(&["Via: 1.1 kasoku", "X-Forwarded-For: 127.0.0.1"]),
    ),
    ("9110 7.6.1", b"Connection: X\r\nX: y", hello(&["!X", "!Connection"])),
    ("9110 7.6.1", b"Connection: x ,, \t,X\r\nX: y\r\nx: z", hello(&["!X", "!x", "!Connection"])),
    ("9110 7.6.1", b"Connection: \"X\"\r\nX: y", hello(&["X: y", "!Connection"])),
    ("9110 7.6.1", b"Connection: keep-alive\r\nKeep-Alive: timeout=999", hello(&["!Connection", "!Keep-Alive"])),
    ("9112 C.2.2", b"Proxy-Connection: close", hello(&["!Proxy-Connection", "!Connection"])),
    ("9110 7.6.1", b"Connection: closed", hello(&["!Connection"])),
    ("9112 9.6", b"Connection: Close", GetsLast("POST /c", b"hello")),
    ("9112 9.6", b"Connection: keep-alive, close", GetsLast("POST /c", b"hello")),
    ("9112 9.6", b"Connection: keep-alive\r\nConnection: X,cLoSe", GetsLast("POST /c", b"hello")),
    // Protocols that Kasoku does not switch to.
    (
        "9110 7.8",
        b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__",
        hello(&["!Upgrade", "!HTTP2-Settings", "!Connection"]),
    ),
    ("9110 7.8", b"Connection: Upgrade\r\nUpgrade: h2c, websocket", hello(&["!Upgrade", "!Connection"])),
    ("9110 7.8", b"Upgrade: websocket", hello(&["!Upgrade"])),
    ("9110 7.8", b"Connection: Upgrade\r\nUpgrade: TLS/1.3", hello(&["!Upgrade"])),
    // TE and Trailer.
    ("9110 10.1.4", b"TE: trailers, chunked", hello(&["!TE"])),
    ("9110 10.1.4", b"Connection: TE\r\nTE: gzip", hello(&["!TE"])),
    ("9110 6.6.2", b"Trailer: Content-Length", hello(&["Content-Length: 5"])),
    // Expectations: Kasoku supports 100-continue. It refuses others, since origins disagree on whether a body follows.
    ("9110 10.1.1", b"Expect: 100-continue", hello(&["Expect: 100-continue"])),
    ("9110 10.1.1", b"Expect: 100-Continue", hello(&["Expect: 100-Continue"])),
    ("9110 10.1.1", b"eXPECT:100-continue ", hello(&["eXPECT: 100-continue"])),
    ("9110 10.1.1", b"Expect: y 100-continue", Refused(417)),
    ("9110 10.1.1", b"Expect: 100-continue;q=1", Refused(417)),
    ("9110 10.1.1", b"Expect: 100-continue, x", Refused(417)),
    ("9110 10.1.1", b"Expect: x, 100-continue", Refused(417)),
    ("9110 10.1.1", b"Expect: 100-continue\r\nExpect: x", Refused(417)),
    ("9110 10.1.1", b"Expect: 100-continue\r\nExpect: 100-continue", Refused(417)),
    ("9110 10.1.1", b"Expect: 100", Refused(417)),
    ("9110 10.1.1", b"Expect: 200-ok", Refused(417)),
    ("9110 10.1.1", b"Expect: \"100-continue\"", Refused(417)),
    ("9110 10.1.1", b"Expect:", Refused(417)),
    ("9110 10.1.1", b"Expect: \xff", Refused(417)),
    ("9112 5.1", b"Expect : 100-continue", Refused(400)),
    ("9112 5.2", b"Expect:\r\n 100-continue", Refused(400)),
];

/// Each row is a whole request.
const OTHERS: Table<'static> = &[
    // No body follows, so the origin gets no Expect.
    (
        "9110 10.1.1",
        b"GET /e HTTP/1.1\r\nHost: example.org\r\nExpect: 100-continue\r\n\r\n",
        GetsWith("GET /e", b"", &["!Expect", "!Content-Length"]),
    ),
    (
        "9110 10.1.1",
        b"POST /e HTTP/1.1\r\nHost: example.org\r\nContent-Length: 0\r\nExpect: 100-continue\r\n\r\n",
        GetsWith("POST /e", b"", &["!Expect", "Content-Length: 0"]),
    ),
    (
        "9110 10.1.1",
        b"GET /e HTTP/1.1\r\nHost: example.org\r\nContent-Length: 0\r\nExpect: 100-continue\r\n\r\n",
        GetsWith("GET /e", b"", &["!Expect"]),
    ),
    ("9110 10.1.1", b"GET /e HTTP/1.1\r\nHost: example.org\r\nExpect: x\r\n\r\n", Refused(417)),
    (
        "9110 10.1.1",
        b"POST /e HTTP/1.0\r\nHost: example.org\r\nConnection: keep-alive\r\nContent-Length: 5\r\nExpect: x\r\n\r\nhello",
        GetsWith("POST /e", b"hello", &["!Expect"]),
    ),
    (
        "9110 10.1.1",
        b"POST /e HTTP/1.1\r\nHost: example.org\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        GetsWith("POST /e", b"hello", &["Expect: 100-continue"]),
    ),
    (
        "9110 10.1.4",
        b"POST /t HTTP/1.1\r\nHost: example.org\r\nConnection: Trailer-X\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nTrailer-X: y\r\n\r\n",
        GetsWith("POST /t", b"hello", &["!Trailer-X"]),
    ),
    // Answers of Kasoku's own, and the request that follows.
    ("9110 7.6.2", b"OPTIONS /o HTTP/1.1\r\nHost: example.org\r\nMax-Forwards: 0\r\n\r\n", Answered(200)),
    (
        "9110 7.6.2",
        b"OPTIONS /o HTTP/1.1\r\nHost: example.org\r\nMax-Forwards: 0\r\nContent-Length: 5\r\n\r\nhello",
        Refused(200), // Kasoku has not read the body
    ),
];

pub(crate) fn topic() -> Vec<Row> {
    let lines = rows(LINES, |lines| {
        [b"POST /c HTTP/1.1\r\nHost: example.org\r\nContent-Length: 5\r\n", lines, b"\r\n\r\nhello"].concat()
    });
    lines.chain(rows(OTHERS, <[u8]>::to_vec)).collect()
}
