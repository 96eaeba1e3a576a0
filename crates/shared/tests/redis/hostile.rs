//! Servers that send something else than Redis does.

use crate::server::{LOG, options};
use kasoku_shared::{Backend, Client, Failure};
use std::io::{Read, Write};
use std::net::TcpListener;

const INFO: &str = "role:master\r\nmaster_replid:8371b4fb1155b71f4a04d3e1bc3e18c4a990aeeb\r\n";

/// A client of a server that answers twice as a primary does, and then with these bytes to each command.
async fn played(bytes: &'static [u8]) -> Client {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            std::thread::spawn(move || {
                let mut buffer = [0; 4096];
                for number in 0.. {
                    if stream.read(&mut buffer).unwrap_or(0) == 0 {
                        return;
                    }
                    let info = format!("${}\r\n{INFO}\r\n", INFO.len());
                    let _ = if number < 2 { stream.write_all(info.as_bytes()) } else { stream.write_all(bytes) };
                }
            });
        }
    });
    let client = Backend::redis(&options([format!("redis://127.0.0.1:{port}")])).unwrap().client();
    let servers = client.servers();
    servers.all()[0].health.synced(servers.now_ms());
    client.history(0, LOG).await.unwrap().unwrap();
    client
}

#[tokio::test]
async fn what_is_no_reply_closes_the_connection() {
    for (bytes, why) in [
        (&b"$8388609\r\n"[..], "the value of 8388609 bytes is longer than an item may be"),
        (b"$99999999999999999999\r\n", "a length in the reply is no number"),
        (b"*1000000000\r\n", "the reply is of a kind that no command has"),
        (b"%-1\r\n", "the reply is of a kind that no command has"),
        (b"|1000000000\r\n", "the reply is of a kind that no command has"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "the reply is of a kind that no command has"),
        (b"\x16\x03\x01\n", "a line of the reply has no end"),
        (b"+OK\r\n", "the reply does not belong to the command"),
        (b":1\r\n", "the reply does not belong to the command"),
    ] {
        let client = played(bytes).await;
        let failure = client.get(0, b"a").await.unwrap_err();
        assert!(matches!(failure, Failure::Protocol(_)), "{failure:?}");
        assert_eq!(failure.to_string(), why);
        let known = &client.servers().all()[0];
        assert!(!known.health.is_usable(client.servers().now_ms()));
        assert_eq!((known.counters.errors.value(), known.health.outages()), (1, 1));
    }
}

#[tokio::test]
async fn a_reply_too_many_is_never_the_next_ones() {
    let client = played(b"$4\r\ngood\r\n$4\r\nevil\r\n").await;
    let first = client.get(0, b"a").await;
    assert!(first.as_ref().map_or(true, |value| value.as_ref().is_some_and(|value| value == "good")), "{first:?}");
    assert!(client.get(0, b"b").await.is_err());
}
