//! Tests of the reader over real sockets: what is cut must look cut, and what is no HTTP must look broken.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use kasoku_oracle::wire::{Length, Reader, Trouble};
use std::io::Write;
use std::net::{TcpListener, TcpStream};

/// A socket on which these bytes arrive, and then the end.
fn sent(bytes: &str) -> TcpStream {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    listener.accept().unwrap().0.write_all(bytes.as_bytes()).unwrap();
    client
}

fn body(bytes: &str, length: Length) -> (Vec<u8>, Result<(), Trouble>) {
    let socket = sent(bytes);
    let mut body = Vec::new();
    let read = Reader::new(&socket).body(length, &mut body, &mut |_| true);
    (body, read)
}

#[test]
fn a_body_that_ends_too_early_is_cut() {
    assert!(matches!(body("abc", Length::Bytes(3)), (body, Ok(())) if body == b"abc"));
    assert!(matches!(body("ab", Length::Bytes(3)), (body, Err(Trouble::Cut)) if body == b"ab"));
    assert!(matches!(body("2\r\nab\r\n0\r\n\r\n", Length::Chunked), (body, Ok(())) if body == b"ab"));
    assert!(matches!(body("2\r\nab\r\n", Length::Chunked), (_, Err(Trouble::Cut))));
    assert!(matches!(body("2\r\nab\r\n0\r\n", Length::Chunked), (_, Err(Trouble::Cut))));
    assert!(matches!(body("ab", Length::Close), (body, Ok(())) if body == b"ab"));
}

#[test]
fn chunks_that_are_none_are_broken() {
    assert!(matches!(body("x\r\n", Length::Chunked), (_, Err(Trouble::Broken(_)))));
    assert!(matches!(body("1\r\nab\r\n", Length::Chunked), (_, Err(Trouble::Broken(_)))));
}

#[test]
fn two_framings_at_once_are_broken() {
    let socket = sent("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n");
    let head = Reader::new(&socket).response().unwrap().unwrap();
    assert!(matches!(head.fields.framing(), Err(Trouble::Broken(_))));
}

#[test]
fn an_end_before_a_head_is_no_head_and_an_end_within_is_a_cut() {
    assert!(matches!(Reader::new(&sent("")).response(), Ok(None)));
    assert!(matches!(Reader::new(&sent("HTTP/1.1 2")).response(), Err(Trouble::Cut)));
    assert!(matches!(Reader::new(&sent("nonsense\r\n\r\n")).response(), Err(Trouble::Broken(_))));
}
