//! Bodies of responses: wrong lengths, broken chunks, early closes, and bytes behind the end, which must never become an answer.

use super::Outcome::{BadGateway, Kept, Left, NeverWhole};
use super::{End, Row, Table, rows};

const ABC: super::Outcome = Kept(200, b"abc");

/// Each row is a body in chunks. The origin closes behind it, so a parser that ends it too early does not wait.
const BROKEN: Table<'static> = &[
    ("9112 7.1", b"", NeverWhole),
    ("9112 7.1", b"3", NeverWhole),
    ("9112 7.1", b"3\r\n", NeverWhole),
    ("9112 7.1", b"3\r\nab", NeverWhole),
    ("9112 7.1", b"3\r\nabc", NeverWhole),
    ("9112 7.1", b"3\r\nabc\r\n", NeverWhole),
    ("9112 7.1", b"3\r\nabc\r\n0", NeverWhole),
    ("9112 7.1", b"3\r\nabc\r\n0\r\n", NeverWhole),
    ("9112 7.1", b"3\r\nabc\r\n0\r\n\r", NeverWhole),
    ("9112 7.1", b"3\r\nabc\r\n0\r\nX: y\r\n", NeverWhole),
    ("9112 7.1", b"\r\nabc\r\n0\r\n\r\n", NeverWhole),
    ("9112 7.1", b"x\r\nabc\r\n0\r\n\r\n", NeverWhole),
    ("9112 7.1", b"0x3\r\nabc\r\n0\r\n\r\n", NeverWhole),
    ("9112 7.1", b"-3\r\nabc\r\n0\r\n\r\n", NeverWhole),
    ("9112 7.1", b"3 \r\nabc\r\n0\r\n\r\n", NeverWhole),
    ("9112 7.1", b" 3\r\nabc\r\n0\r\n\r\n", NeverWhole),
    ("9112 7.1", b"10000000000000003\r\nabc\r\n0\r\n\r\n", NeverWhole),
    ("9112 7.1", b"ffffffffffffffff\r\nabc\r\n0\r\n\r\n", NeverWhole),
    ("9112 7.1", b"3\nabc\n0\n\n", NeverWhole),
    ("9112 7.1", b"3\r\nabc\n0\r\n\r\n", NeverWhole),
    ("9112 7.1", b"3\r\nabc0\r\n\r\n", NeverWhole),
    ("9112 7.1", b"3\r\nabcd\r\n0\r\n\r\n", NeverWhole),
    ("9112 7.1", b"3\r\nab\r\n0\r\n\r\n", NeverWhole),
    ("9112 7.1", b"3\r\nabc\r\n0\r\n\n", NeverWhole),
    ("9112 7.1.1", b"3;\nabc\r\n0\r\n\r\n", NeverWhole),
    ("9112 7.1.1", b"3;a=\"\r\nabc\r\n0\r\n\r\n", NeverWhole),
    ("9112 7.1.1", b"3;a\rb\r\nabc\r\n0\r\n\r\n", NeverWhole),
    ("9112 7.1.1", b"3;;\r\nabc\r\n0\r\n\r\n", NeverWhole),
    ("9112 7.1.2", b"3\r\nabc\r\n0\r\nX : EVIL\r\n\r\n", NeverWhole),
    ("9112 7.1.2", b"3\r\nabc\r\n0\r\nX: y\r\n EVIL\r\n\r\n", NeverWhole),
    ("9112 7.1.2", b"3\r\nabc\r\n0\r\nX: y\nZ: EVIL\r\n\r\n", NeverWhole),
    ("9112 7.1.2", b"3\r\nabc\r\n0\r\nHTTP/1.1 200 OK\r\n\r\nEVIL", NeverWhole),
];

/// Each row is a body in chunks, behind which the origin waits.
const CHUNKS: Table<'static> = &[
    ("9112 7.1", b"1\r\na\r\n02\r\nbc\r\n000\r\n\r\n", ABC),
    ("9112 7.1.1", b"3;a=\"b\\\"\" ; c\r\nabc\r\n0;d\r\n\r\n", ABC),
    ("9110 6.5.1", b"3\r\nabc\r\n0\r\nContent-Length: 9\r\nSet-Cookie: EVIL\r\nLocation: EVIL\r\n\r\n", ABC),
    ("9110 6.5.1", b"3\r\nabc\r\n0\r\nTransfer-Encoding: EVIL\r\nContent_Length: EVIL\r\nAge: EVIL\r\n\r\n", ABC),
    ("9112 6.3", b"3\r\nabc\r\n0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nEVIL", Left(200, b"abc")),
    ("9112 6.3", b"3\r\nabc\r\n0\r\n\r\n4\r\nEVIL\r\n0\r\n\r\n", Left(200, b"abc")),
    ("9112 6.3", b"3\r\nabc\r\n0\r\n\r\n\r\n", Left(200, b"abc")),
];

/// Each row is all that the origin sends before it waits: bytes behind the end of the response.
const BEHIND: Table<'static> = &[
    ("9112 6.3", b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcEVIL", Left(200, b"abc")),
    ("9112 6.3", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nEVIL", Left(200, b"")),
    (
        "9112 6.3",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nEVIL",
        Left(200, b"abc"),
    ),
    ("9112 6.3", b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1 100 Continue\r\n\r\n", Left(200, b"abc")),
    ("9112 6.3", b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc\r\n", Left(200, b"abc")),
    ("9112 6.3", b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc\x00", Left(200, b"abc")),
    ("9110 15.3.5", b"HTTP/1.1 204 No Content\r\n\r\nEVIL", Left(204, b"")),
    ("9110 15.3.5", b"HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\nEVIL", Left(204, b"")),
    (
        "9110 15.3.5",
        b"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nEVIL\r\n0\r\n\r\n",
        Left(204, b""),
    ),
    // A body is announced and has not come yet: it could come as the answer to another client's request.
    ("9110 8.6", b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", Left(204, b"")),
    ("9112 6.1", b"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", Left(204, b"")),
    ("9110 8.6", b"HTTP/1.1 204 No Content\r\nContent-Length: x\r\n\r\n", Left(204, b"")),
    ("9110 8.6", b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", Kept(204, b"")),
    ("9110 15.3.5", b"HTTP/1.1 204 No Content\r\n\r\n", Kept(204, b"")),
    ("9110 15.3.6", b"HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n", Kept(205, b"")),
    // A 304 to a request without a condition is the origin's fault, whatever follows it.
    ("9110 15.4.5", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\nEVIL", BadGateway),
    ("9110 15.4.5", b"HTTP/1.1 304 Not Modified\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nEVIL", BadGateway),
];

/// Each row is all that the origin sends before it closes.
const CLOSED: Table<'static> = &[
    ("9112 6.3", b"HTTP/1.1 200 OK\r\n\r\nabc", Left(200, b"abc")),
    ("9112 6.3", b"HTTP/1.1 200 OK\r\n\r\n", Left(200, b"")),
    ("9112 6.3", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\nabc", Left(200, b"abc")),
    ("9112 6.3", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\n3\r\nabc\r\n", Left(200, b"3\r\nabc\r\n")),
    ("9112 6.3", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, x\r\n\r\n0\r\n\r\n", Left(200, b"0\r\n\r\n")),
    ("9112 6.3", b"HTTP/1.1 200 OK\r\nContent_Length: 9\r\n\r\nabc", Left(200, b"abc")),
    ("9112 8", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", NeverWhole),
    ("9112 8", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", NeverWhole),
    ("9112 8", b"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\nabc", NeverWhole),
    ("9112 8", b"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 5\r\n\r\nabc", NeverWhole),
    ("9112 8", b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nabc", NeverWhole),
];

/// Each row is an answer to HEAD, behind which the origin waits.
const TO_HEAD: Table<'static> = &[
    ("9112 6.3", b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n", Kept(200, b"")),
    ("9112 6.3", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", Kept(200, b"")),
    ("9112 6.3", b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nEVIL", Left(200, b"")),
    ("9112 6.3", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nEVIL\r\n0\r\n\r\n", Left(200, b"")),
    ("9112 6.3", b"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nEVIL", Left(200, b"")),
];

pub(super) fn topic() -> Vec<Row> {
    let chunked = |body: &[u8]| [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", body].concat();
    let broken = rows(BROKEN, End::Closes, chunked).chain(rows(CHUNKS, End::Waits, chunked));
    let behind = rows(BEHIND, End::Waits, <[u8]>::to_vec).chain(rows(CLOSED, End::Closes, <[u8]>::to_vec));
    let to_head = rows(TO_HEAD, End::Waits, <[u8]>::to_vec).map(|row| Row { method: "HEAD", ..row });
    broken.chain(behind).chain(to_head).collect()
}
