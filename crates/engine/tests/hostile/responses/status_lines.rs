//! Status lines, and other first lines of responses.

use super::Outcome::{BadGateway, Kept, Left};
use super::{End, Row, Table, rows};

const OK: super::Outcome = Kept(200, b"hello");

/// Each row is a first line without its CRLF. `Content-Length: 5` and the five bytes follow.
const LINES: Table<'static> = &[
    ("9112 4", b"HTTP/1.1 200 OK", OK),
    ("9112 4", b"HTTP/1.1 200 ", OK),
    ("9112 4", b"HTTP/1.1 200", OK), // the grammar does not allow it, and it is common
    ("9112 4", b"HTTP/1.1 200 \xc3\xa4\t!", OK),
    ("9112 2.3", b"HTTP/1.2 200 OK", OK),
    ("9112 9.3", b"HTTP/1.0 200 OK", Left(200, b"hello")),
    ("9110 15", b"HTTP/1.1 299 Odd", Kept(299, b"hello")),
    ("9110 15", b"HTTP/1.1 599 Odd", Kept(599, b"hello")),
    ("9110 15", b"HTTP/1.1 600 Odd", Kept(600, b"hello")),
    ("9110 15", b"HTTP/1.1 999 Odd", Kept(999, b"hello")),
    ("9110 15", b"HTTP/1.1 099 Odd", BadGateway),
    ("9110 15", b"HTTP/1.1 000 Odd", BadGateway),
    ("9112 4", b"HTTP/1.1 20 OK", BadGateway),
    ("9112 4", b"HTTP/1.1 2000 OK", BadGateway),
    ("9112 4", b"HTTP/1.1 +20 OK", BadGateway),
    ("9112 4", b"HTTP/1.1 -20 OK", BadGateway),
    ("9112 4", b"HTTP/1.1 2OO OK", BadGateway),
    ("9112 4", b"HTTP/1.1 0x8 OK", BadGateway),
    ("9112 4", b"HTTP/1.1 \xb2\xb2\xb2 OK", BadGateway),
    ("9112 4", b"HTTP/1.1 OK", BadGateway),
    ("9112 4", b"HTTP/1.1 ", BadGateway),
    ("9112 4", b"HTTP/1.1", BadGateway),
    ("9112 4", b"HTTP/1.1  200 OK", BadGateway),
    ("9112 4", b"HTTP/1.1\t200\tOK", BadGateway),
    ("9112 4", b"HTTP/1.1 200\tOK", BadGateway),
    ("9112 4", b" HTTP/1.1 200 OK", BadGateway),
    ("9112 4", b"200 OK", BadGateway),
    ("9112 4", b"HTTP/1.1 200 O\x00K", BadGateway),
    ("9112 4", b"HTTP/1.1 200 O\x0bK", BadGateway),
    ("9112 2.2", b"HTTP/1.1 200 O\rK", BadGateway),
    ("9112 2.2", b"HTTP/1.1 200 OK\r", BadGateway),
    ("9112 2.2", b"HTTP/1.1 200 OK\nX: y", BadGateway),
    ("9112 2.2", b"\r\nHTTP/1.1 200 OK", BadGateway),
    ("9112 2.2", b"\nHTTP/1.1 200 OK", BadGateway),
    ("9112 2.3", b"HTTP/2 200 OK", BadGateway),
    ("9112 2.3", b"HTTP/2.0 200 OK", BadGateway),
    ("9112 2.3", b"HTTP/0.9 200 OK", BadGateway),
    ("9112 2.3", b"HTTP/1.10 200 OK", BadGateway),
    ("9112 2.3", b"HTTP/1 200 OK", BadGateway),
    ("9112 2.3", b"HTTP/1.x 200 OK", BadGateway),
    ("9112 2.3", b"HTTP/11 200 OK", BadGateway),
    ("9112 2.3", b"http/1.1 200 OK", BadGateway),
    ("9112 2.3", b"HTTPS/1.1 200 OK", BadGateway),
    ("9112 2.3", b"ICY 200 OK", BadGateway),
    ("9112 4", b"GET / HTTP/1.1", BadGateway),
    ("9112 4", b"Status: 200 OK", BadGateway), // the output of a CGI program
];

/// Each row is all that the origin sends before it closes.
const OTHERS: Table<'static> = &[
    ("9112 8", b"", BadGateway),
    ("9112 8", b"H", BadGateway),
    ("9112 8", b"HTTP/1.1 200 OK", BadGateway),
    ("9112 8", b"HTTP/1.1 200 OK\r\n", BadGateway),
    ("9112 8", b"HTTP/1.1 200 OK\r\nContent-Length: 5", BadGateway),
    ("9112 8", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r", BadGateway),
    ("9112 4", b"<html>EVIL</html>", BadGateway), // HTTP/0.9
    ("9112 4", b"<html>\r\n\r\nEVIL</html>", BadGateway),
    ("9112 4", b"\x15\x03\x01\x00\x02\x02\x16", BadGateway), // a TLS alert
    ("9113 3.4", b"\x00\x00\x12\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x64", BadGateway), // HTTP/2
    ("9112 4", b"SSH-2.0-OpenSSH_9.2\r\n", BadGateway),
    ("9112 4", b"220 mail ESMTP\r\n", BadGateway),
    ("9112 4", b"-ERR unknown command\r\n", BadGateway),
];

pub(super) fn topic() -> Vec<Row> {
    let lines = rows(LINES, End::Waits, |line| [line, b"\r\nContent-Length: 5\r\n\r\nhello"].concat());
    lines.chain(rows(OTHERS, End::Closes, <[u8]>::to_vec)).collect()
}
