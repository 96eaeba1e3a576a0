//! Over-long targets, heads, chunks and trailers, at the default limits (`wire/src/http1/limits.rs`), and those that just fit.

use super::Outcome::{Broken, GetsAll, Refused};
use super::Row;
use kasoku_wire::http1::{BodyLimits, HeadLimits};

pub(crate) fn topic() -> Vec<Row> {
    let HeadLimits { head_bytes_max, target_bytes_max, fields_max } = HeadLimits::default();
    let BodyLimits { chunk_line_bytes_max, trailer_bytes_max, trailer_fields_max } = BodyLimits::default();
    let gets = |line: &str, body: &str| GetsAll(vec![(line.to_owned(), body.as_bytes().to_vec())]);
    let row = |section, text: String, outcome| Row { section, bytes: text.into_bytes(), outcome };
    let get = |target: &str| format!("GET {target} HTTP/1.1\r\nHost: example.org\r\n\r\n");
    let with = |lines: &str| format!("GET / HTTP/1.1\r\nHost: example.org\r\n{lines}\r\n");
    let chunked =
        |body: &str| format!("POST / HTTP/1.1\r\nHost: example.org\r\nTransfer-Encoding: chunked\r\n\r\n{body}");
    let a = |count: usize| "a".repeat(count);
    let path = |length: usize| format!("/{}", a(length - 1));
    // A request with a field that makes its head so many bytes long.
    let filled = |length: usize| with(&format!("X: {}\r\n", a(length - with("X: \r\n").len())));
    let trailers = |lines: &str| chunked(&format!("3\r\nabc\r\n0\r\n{lines}\r\n"));

    let mut rows = vec![
        row("9112 3", get(&path(target_bytes_max)), gets(&format!("GET {}", path(target_bytes_max)), "")),
        row("9112 3", get(&path(target_bytes_max + 1)), Refused(414)),
        row("9112 3", get(&path(target_bytes_max * 10)), Refused(414)),
        row("9112 3", a(target_bytes_max * 2), Refused(414)), // no line end at all
        row("9112 3", format!("{} / HTTP/1.1\r\nHost: example.org\r\n\r\n", a(1000)), Refused(501)),
        row("9112 3", format!("GET / HTTP/1.{}\r\nHost: example.org\r\n\r\n", "1".repeat(1000)), Refused(505)),
        row("9110 5.4", filled(head_bytes_max), gets("GET /", "")),
        row("9110 5.4", filled(head_bytes_max + 1), Refused(431)),
        row("9110 5.4", filled(head_bytes_max * 4), Refused(431)),
        row("9110 5.4", with(&format!("{}: x\r\n", a(head_bytes_max))), Refused(431)),
        row("9110 5.4", with(&"X: y\r\n".repeat(fields_max - 1)), gets("GET /", "")),
        row("9110 5.4", with(&"X: y\r\n".repeat(fields_max)), Refused(431)),
        row("9110 5.4", with(&"X: y\r\n".repeat(10_000)), Refused(431)),
        row("9110 5.4", with(&"X:\r\n".repeat(100_000)), Refused(431)),
        row("9112 3.2", format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", a(255)), Refused(400)),
        row("9112 3.2", format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", a(60_000)), Refused(400)),
        row("9112 3.2", format!("GET http://{}/ HTTP/1.1\r\nHost: example.org\r\n\r\n", a(255)), Refused(400)),
        row(
            "9110 8.6",
            with(&format!("Content-Length: {}5\r\n", "0".repeat(60_000))) + "hello",
            gets("GET /", "hello"),
        ),
        row("9110 8.6", with(&format!("Content-Length: 1{}\r\n", "0".repeat(60_000))) + "hello", Refused(400)),
        row(
            "9112 6.1",
            with(&format!("Transfer-Encoding: {}chunked\r\n", "x, ".repeat(10_000))) + "0\r\n\r\n",
            Refused(501),
        ),
        row(
            "9112 6.1",
            with(&format!("Transfer-Encoding: {}chunked\r\n", ",".repeat(60_000))) + "0\r\n\r\n",
            gets("GET /", ""),
        ),
        row("9110 7.6.1", with(&format!("Connection: {}\r\n", "x,".repeat(30_000))), gets("GET /", "")),
        row("9112 7.1", chunked(&format!("{}\r\nabc\r\n0\r\n\r\n", "3".repeat(17))), Broken(400)),
        row("9112 7.1", chunked(&format!("{}3\r\nabc\r\n0\r\n\r\n", "0".repeat(100_000))), Broken(400)),
        row(
            "9112 7.1.1",
            chunked(&format!("3;{}\r\nabc\r\n0\r\n\r\n", a(chunk_line_bytes_max - 4))),
            gets("POST /", "abc"),
        ),
        row("9112 7.1.1", chunked(&format!("3;{}\r\nabc\r\n0\r\n\r\n", a(chunk_line_bytes_max - 3))), Broken(400)),
        row("9112 7.1.1", chunked(&format!("3;{}", a(1_000_000))), Broken(400)),
        // Chunks of one byte, each with almost as much extension as a line may have.
        row("9112 7.1.1", chunked(&format!("1;{}\r\na\r\n", a(4000)).repeat(100)) + "0\r\n\r\n", Broken(400)),
        row("9112 7.1.2", trailers(&"X: y\r\n".repeat(trailer_fields_max)), gets("POST /", "abc")),
        row("9112 7.1.2", trailers(&"X: y\r\n".repeat(trailer_fields_max + 1)), Broken(400)),
        row("9112 7.1.2", trailers(&format!("X: {}\r\n", a(trailer_bytes_max))), Broken(400)),
        row("9112 7.1.2", trailers(&format!("X: {}\r\n", a(1_000_000))), Broken(400)),
    ];
    rows.push(row("9112 2.2", "\r\n".repeat(100_000), Refused(400)));
    rows
}
