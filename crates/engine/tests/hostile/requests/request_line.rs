//! The request line: methods, targets, versions; HTTP/0.9, HTTP/2, and other protocols.

use super::Outcome::{Gets, GetsLast, GetsWith, Refused};
use super::{Row, Table, rows};

/// Each row is a request line without its CRLF. Host follows.
const LINES: Table<'static> = &[
    ("9112 3", b"GET / HTTP/1.1", Gets("GET /", b"")),
    // Lines that are not three words with two spaces.
    ("9112 3", b"GET  / HTTP/1.1", Refused(400)),
    ("9112 3", b"GET /  HTTP/1.1", Refused(400)),
    ("9112 3", b"GET / HTTP/1.1 ", Refused(400)),
    ("9112 3", b" GET / HTTP/1.1", Refused(400)),
    ("9112 3", b"\tGET / HTTP/1.1", Refused(400)),
    ("9112 3", b"GET\t/\tHTTP/1.1", Refused(400)),
    ("9112 3", b"GET /\tHTTP/1.1", Refused(400)),
    ("9112 3", b"GET\x0b/ HTTP/1.1", Refused(400)),
    ("9112 3", b"GET /\x0cHTTP/1.1", Refused(400)),
    ("9112 3", b"GET /\xa0HTTP/1.1", Refused(400)),
    ("9112 3", b"GET /a b HTTP/1.1", Refused(400)),
    ("9112 3", b"GET / HTTP/1.1 HTTP/1.1", Refused(400)),
    ("9112 3", b"GET / HTTP/1.1\tX", Refused(505)),
    ("9112 3", b"GET /", Refused(400)),
    ("9112 3", b"GET", Refused(400)),
    ("9112 3", b"GET / ", Refused(400)),
    ("9112 3", b"/ HTTP/1.1", Refused(400)),
    ("9112 3", b"HTTP/1.1 200 OK", Refused(400)),
    ("9112 3", b"Host: example.org", Refused(400)),
    // Methods.
    ("9110 9.1", b"G\x00T / HTTP/1.1", Refused(400)),
    ("9110 9.1", b"GET\x00 / HTTP/1.1", Refused(400)),
    ("9110 9.1", b"G(T / HTTP/1.1", Refused(400)),
    ("9110 9.1", b"GET: / HTTP/1.1", Refused(400)),
    ("9110 9.1", b"\"GET\" / HTTP/1.1", Refused(400)),
    ("9110 9.1", b"G\xc3\x84T / HTTP/1.1", Refused(400)),
    ("9110 9.1", b"GET, / HTTP/1.1", Refused(400)),
    ("9110 9.1", b"GET@ / HTTP/1.1", Refused(400)),
    ("9110 9.1", b"get / HTTP/1.1", Gets("get /", b"")), // a method other than GET
    ("9110 9.1", b"GET. / HTTP/1.1", Gets("GET. /", b"")),
    ("9110 9.1", b"!#$%&'*+-.^_`|~ / HTTP/1.1", Gets("!#$%&'*+-.^_`|~ /", b"")),
    ("9112 3", b"AVERYLONGMETHODTHATNOBODYEVERDEFINED / HTTP/1.1", Refused(501)),
    ("9110 9.3.8", b"TRACE / HTTP/1.1", Refused(405)),
    ("9110 9.3.6", b"CONNECT example.org:80 HTTP/1.1", Refused(405)),
    ("9110 9.3.6", b"CONNECT / HTTP/1.1", Refused(405)),
    // Targets.
    ("9112 3.2", b"GET * HTTP/1.1", Refused(400)),
    ("9112 3.2.4", b"OPTIONS * HTTP/1.1", Gets("OPTIONS *", b"")),
    ("9112 3.2", b"OPTIONS ** HTTP/1.1", Refused(400)),
    ("9112 3.2", b"GET a HTTP/1.1", Refused(400)),
    ("9112 3.2", b"GET ?a HTTP/1.1", Refused(400)),
    ("9112 3.2", b"GET ../a HTTP/1.1", Refused(400)),
    ("9112 3.2", b"GET \\a HTTP/1.1", Refused(400)),
    ("9112 3.2", b"GET example.org:80 HTTP/1.1", Refused(400)),
    ("9112 3.2", b"GET /a#b HTTP/1.1", Refused(400)),
    ("9112 3.2", b"GET /# HTTP/1.1", Refused(400)),
    ("9112 3.2", b"GET /\x00 HTTP/1.1", Refused(400)),
    ("9112 3.2", b"GET /\x01 HTTP/1.1", Refused(400)),
    ("9112 3.2", b"GET /\x7f HTTP/1.1", Refused(400)),
    ("9112 3.2", b"GET /\xc3\xa4 HTTP/1.1", Refused(400)),
    ("9112 3.2", b"GET /\xff HTTP/1.1", Refused(400)),
    // Odd targets that Kasoku forwards unchanged.
    ("9112 3.2.1", b"GET //example.com/a HTTP/1.1", Gets("GET //example.com/a", b"")),
    ("9112 3.2.1", b"GET /http://a/ HTTP/1.1", Gets("GET /http://a/", b"")),
    ("9112 3.2.1", b"GET /../../etc/passwd HTTP/1.1", Gets("GET /../../etc/passwd", b"")),
    ("9112 3.2.1", b"GET /%0d%0aX:%20y HTTP/1.1", Gets("GET /%0d%0aX:%20y", b"")),
    ("9112 3.2.1", b"GET /%20HTTP/1.1%0d%0a HTTP/1.1", Gets("GET /%20HTTP/1.1%0d%0a", b"")),
    ("9112 3.2.1", b"GET /%00 HTTP/1.1", Gets("GET /%00", b"")),
    ("9112 3.2.1", b"GET /%zz% HTTP/1.1", Gets("GET /%zz%", b"")),
    ("9112 3.2.1", b"GET /a;b?c=d??&e HTTP/1.1", Gets("GET /a;b?c=d??&e", b"")),
    ("9112 3.2.1", b"GET /\"<>\\^`{|} HTTP/1.1", Gets("GET /\"<>\\^`{|}", b"")),
    // Versions.
    ("9112 2.3", b"GET / HTTP/1.0", GetsLast("GET /", b"")),
    ("9112 2.3", b"GET / HTTP/1.2", Gets("GET /", b"")),
    ("9112 2.3", b"GET / HTTP/1.9", Gets("GET /", b"")),
    ("9112 2.3", b"GET / HTTP/1.10", Refused(505)),
    ("9112 2.3", b"GET / HTTP/1.", Refused(505)),
    ("9112 2.3", b"GET / HTTP/1", Refused(505)),
    ("9112 2.3", b"GET / HTTP/", Refused(505)),
    ("9112 2.3", b"GET / HTTP/11", Refused(505)),
    ("9112 2.3", b"GET / HTTP/01.1", Refused(505)),
    ("9112 2.3", b"GET / HTTP/1.01", Refused(505)),
    ("9112 2.3", b"GET / HTTP/1,1", Refused(505)),
    ("9112 2.3", b"GET / HTTP/1.1\x00", Refused(505)),
    ("9112 2.3", b"GET / HTTP/1.1x", Refused(505)),
    ("9112 2.3", b"GET / HTTP/0.9", Refused(505)),
    ("9112 2.3", b"GET / HTTP/2", Refused(505)),
    ("9112 2.3", b"GET / HTTP/2.0", Refused(505)),
    ("9112 2.3", b"GET / HTTP/3.0", Refused(505)),
    ("9112 2.3", b"GET / HTTP/9.9", Refused(505)),
    ("9112 2.3", b"GET / HTTP/-1.1", Refused(505)),
    ("9112 2.3", b"GET / HTTP\\1.1", Refused(400)),
    ("9112 2.3", b"GET / http/1.1", Refused(400)),
    ("9112 2.3", b"GET / Http/1.1", Refused(400)),
    ("9112 2.3", b"GET / HTP/1.1", Refused(400)),
    ("9112 2.3", b"GET / HTTPS/1.1", Refused(400)),
    ("9112 2.3", b"GET / 1.1", Refused(400)),
    ("9112 2.3", b"GET / ICY/1.1", Refused(400)),
];

/// Each row is all that the client sends.
const OTHERS: Table<'static> = &[
    ("9112 2.3", b"GET /\r\n", Refused(400)), // HTTP/0.9
    ("9112 2.3", b"GET /\r\n\r\n", Refused(400)),
    ("9113 3.4", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00", Refused(505)),
    ("9112 3", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 / HTTP/1.1\r\n\r\n", Refused(400)), // TLS
    ("9112 3", b"SSH-2.0-OpenSSH_9.2\r\n", Refused(400)),
    ("9112 3", b"PROXY TCP4 1.2.3.4 5.6.7.8 1 80\r\nGET / HTTP/1.1\r\nHost: example.org\r\n\r\n", Refused(400)),
    ("9112 3", b"\r\n\r\n\x00\r\nQUIT\n", Refused(400)),
    ("9112 3", b"*1\r\n$4\r\nPING\r\n", Refused(400)),
    ("9112 3.2", b"GET / HTTP/1.1\r\n\r\n", Refused(400)),
    ("9112 3.2", b"GET / HTTP/1.0\r\n\r\n", GetsLast("GET /", b"")),
    (
        "9112 9.3",
        b"GET / HTTP/1.0\r\nHost: example.org\r\nConnection: keep-alive\r\n\r\n",
        GetsWith("GET /", b"", &["Via: 1.1 kasoku", "!Connection"]),
    ),
    ("9112 9.6", b"GET / HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\n\r\n", GetsLast("GET /", b"")),
];

pub(crate) fn topic() -> Vec<Row> {
    let lines = rows(LINES, |line| [line, b"\r\nHost: example.org\r\n\r\n"].concat());
    lines.chain(rows(OTHERS, <[u8]>::to_vec)).collect()
}
