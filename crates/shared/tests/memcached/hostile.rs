//! Servers that send something else than memcached does. None of it may become a value, and the next connection works.

use crate::fake_server::{FakeServer, Turn};
use crate::support::{client, client_with_timeout};
use kasoku_shared::{Expiry, Failure};
use std::time::Duration;
use tokio::join;

const GOOD: Turn = Turn::Sends(b"VA 4 {O}\r\ngood\r\n");

#[tokio::test]
async fn what_is_no_reply_closes_the_connection() {
    let long = Vec::leak([&b"SERVER_ERROR "[..], &[b'x'; 3000], b"\r\n"].concat());
    let rows: [(&[u8], &str); 12] = [
        (b"VA 4 {O+1}\r\nevil\r\n", "the reply does not belong to the request"),
        (b"EN {O+1}\r\n", "the reply does not belong to the request"),
        (b"HD {O}\r\n", "the reply does not belong to the request"),
        (b"MN\r\n", "the reply \"MN\" is unknown"),
        (b"CLIENT_ERROR bad data chunk\r\n", "the reply does not belong to the request"),
        (b"VA 4\r\nevil\r\n", "the reply \"VA 4\" is unknown"),
        (b"VA 3 {O}\r\nevil\r\n", "the value has another length than its line says"),
        (b"VA 8388609 {O}\r\n", "the value of 8388609 bytes is longer than an item may be"),
        (b"VA 99999999999999999999 {O}\r\n", "is unknown"),
        (b"ERROR\r\n", "the server does not know meta commands: it is no memcached, or one before 1.6"),
        (b"\x16\x03\x01\x00\xff\n", "is unknown"),
        (long, "a line of the reply is longer than 2048 bytes"),
    ];
    for (bytes, message) in rows {
        let server = FakeServer::new(vec![vec![GOOD, Turn::Sends(bytes), GOOD], vec![GOOD]]);
        let client = client(server.endpoint());
        assert_eq!(client.get(0, b"a").await.unwrap().unwrap(), "good");
        let failure = client.get(0, b"a").await.unwrap_err();
        assert!(matches!(failure, Failure::Protocol(_)), "{failure}");
        assert!(failure.to_string().ends_with(message), "{failure}");
        assert!(!client.servers().all()[0].health.is_usable(client.servers().now_ms()));
        assert_eq!(client.servers().all()[0].counters.errors.value(), 1);
        assert_eq!(client.get(0, b"a").await.unwrap().unwrap(), "good", "on a new connection");
    }
}

#[tokio::test]
async fn replies_may_come_in_slices() {
    let slices =
        vec![Turn::SendsSlices(b"VA 12 {O}\r\nEN O1\r\n\xff\r\n\r\n\r\n"), Turn::SendsSlices(b"EN {O}\r\n"), GOOD];
    let server = FakeServer::new(vec![slices]);
    let client = client(server.endpoint());
    assert_eq!(client.get(0, b"a").await.unwrap().unwrap(), &b"EN O1\r\n\xff\r\n\r\n"[..]);
    assert_eq!(client.get(0, b"a").await.unwrap(), None);
    assert_eq!(client.get(0, b"a").await.unwrap().unwrap(), "good");
}

#[tokio::test]
async fn a_cut_reply_is_no_value() {
    for cut in [&b"VA 4 {O}\r\ngoo"[..], b"VA 4 {O}\r\ngood\r", b"VA 4 {O}\r\n", b"VA 4 ", b""] {
        let server = FakeServer::new(vec![vec![Turn::SendsAndCloses(cut)], vec![GOOD]]);
        let client = client(server.endpoint());
        assert!(matches!(client.get(0, b"a").await, Err(Failure::Closed | Failure::Broken(_))));
        assert_eq!(client.get(0, b"a").await.unwrap().unwrap(), "good");
    }
}

#[tokio::test]
async fn a_reply_that_stalls_is_a_timeout() {
    for stalled in [&b"VA 4 {O}\r\ngoo"[..], b"VA 4 {O}\r\ngood", b"VA", b""] {
        let server = FakeServer::new(vec![vec![Turn::Sends(stalled), GOOD], vec![GOOD]]);
        let client = client_with_timeout(server.endpoint(), Duration::from_millis(50));
        assert!(matches!(client.get(0, b"a").await, Err(Failure::Timeout)));
        // A slow machine may need longer than the timeout.
        if let Ok(found) = client.get(0, b"a").await {
            assert_eq!(found.unwrap(), "good");
        }
    }
}

#[tokio::test]
async fn a_reply_that_nobody_asked_for_closes_the_connection() {
    // The second reply has the number of the next request.
    let twice = Turn::Sends(b"VA 4 {O}\r\ngood\r\nVA 4 {O+1}\r\nevil\r\n");
    let server = FakeServer::new(vec![vec![twice], vec![GOOD, GOOD], vec![GOOD]]);
    let client = client(server.endpoint());
    assert_eq!(client.get(0, b"a").await.unwrap().unwrap(), "good");
    while let Err(failure) = client.get(0, b"b").await {
        assert!(matches!(failure, Failure::Protocol(_)), "{failure}");
    }
    assert_eq!(client.servers().all()[0].health.outages(), 1);
    assert_eq!(client.get(0, b"b").await.unwrap().unwrap(), "good");
}

#[tokio::test]
async fn swapped_replies_fail_both_requests() {
    let nothing = Turn::Sends(b"");
    let server = FakeServer::new(vec![vec![Turn::Sends(b"VA 4 {O+1}\r\nevil\r\nVA 4 {O}\r\nevil\r\n"), nothing]]);
    let client = client(server.endpoint());
    let (first, second) = join!(client.get(0, b"a"), client.get(0, b"b"));
    assert!(matches!(first, Err(Failure::Protocol(_))));
    assert!(matches!(second, Err(Failure::Protocol(_))));
    assert_eq!(client.servers().all()[0].health.outages(), 1, "it is one failure of the server");
}

#[tokio::test]
async fn a_request_that_was_not_sent_has_no_reply() {
    // The server refuses the value early, which it may, and reads no more of it. So it can't know of the request behind it.
    let early = Turn::Sends(b"SERVER_ERROR no\r\nVA 4 {O+1}\r\nevil\r\n");
    let server = FakeServer::new(vec![vec![early], vec![GOOD]]);
    let client = client(server.endpoint());
    let long = vec![vec![b'x'; 8 << 20].into()];
    let (set, get) = join!(client.set(0, b"a", long, Expiry::Never), client.get(0, b"b"));
    assert!(matches!(set, Err(Failure::Refused(_))));
    assert!(matches!(get, Err(Failure::Protocol(_))));
    assert_eq!(client.get(0, b"b").await.unwrap().unwrap(), "good");
}
