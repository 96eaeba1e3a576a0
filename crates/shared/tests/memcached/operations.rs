//! What each operation does with a real server.

use crate::support::{Memcached, client, options, servers};
use bytes::Bytes;
use kasoku_shared::memcached::MemcachedOptions;
use kasoku_shared::{Client, Expiry, Failure};
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::task::JoinSet;

const NEVER: Expiry = Expiry::Never;

#[tokio::test]
async fn values_are_stored_read_and_removed() {
    for server in [Memcached::tcp(), Memcached::unix()] {
        let client = client(server.endpoint());
        assert_eq!(client.get(0, b"a").await.unwrap(), None);
        client.set(0, b"a", vec![Bytes::from("one\r\n"), Bytes::new(), Bytes::from("EN O1\r\n")], NEVER).await.unwrap();
        assert_eq!(client.get(0, b"a").await.unwrap().unwrap(), "one\r\nEN O1\r\n");
        assert!(!client.add(0, b"a", "two".into(), NEVER).await.unwrap(), "there is one");
        assert!(client.delete(0, b"a").await.unwrap());
        assert!(!client.delete(0, b"a").await.unwrap());
        assert!(client.add(0, b"a", "two".into(), NEVER).await.unwrap());
        client.set(0, b"a", vec![], NEVER).await.unwrap();
        assert_eq!(client.get(0, b"a").await.unwrap().unwrap(), "");
    }
}

#[tokio::test]
async fn numbers_are_counted() {
    let server = Memcached::unix();
    let client = client(server.endpoint());
    assert_eq!(client.peek(0, b"n", None).await.unwrap(), None);
    assert_eq!(client.increment(0, b"n").await.unwrap(), None);
    client.set(0, b"n", vec!["18446744073709551614".into()], NEVER).await.unwrap();
    assert_eq!(client.increment(0, b"n").await.unwrap(), Some(u64::MAX));
    assert_eq!(client.peek(0, b"n", None).await.unwrap().unwrap().trim_ascii_end(), u64::MAX.to_string().as_bytes());
    client.set(0, b"n", vec!["abc".into()], NEVER).await.unwrap();
    assert!(matches!(client.increment(0, b"n").await, Err(Failure::NotANumber)));
    assert_eq!(client.servers().all()[0].counters.gets.value(), 0, "numbers are no values");
    assert!(client.servers().all()[0].health.is_usable(0), "the server has done nothing wrong");
    assert_eq!(client.get(0, b"n").await.unwrap().unwrap(), "abc", "on the same connection");
}

#[tokio::test]
async fn items_expire_when_they_should() {
    let server = Memcached::unix();
    let client = client(server.endpoint());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let day = 86_400;
    // If memcached took a long lifetime as a Unix time, the item would be over.
    for (name, expiry, is_kept) in [
        (b"a", NEVER, true),
        (b"b", Expiry::After(30 * day), true),
        (b"c", Expiry::After(31 * day), true),
        (b"d", Expiry::At(now + 60 * day), true),
        (b"e", Expiry::After(u64::MAX), true),
        // If a lifetime of 0 were written, the item would never be over.
        (b"f", Expiry::After(0), false),
        (b"g", Expiry::At(now - 1), false),
        (b"h", Expiry::At(60), false),
    ] {
        client.set(0, name, vec!["x".into()], expiry).await.unwrap();
        assert_eq!(client.get(0, name).await.unwrap().is_some(), is_kept, "{expiry:?}");
    }
    assert!(!client.add(0, b"g", "x".into(), Expiry::At(now - 1)).await.unwrap());
}

/// Stores and reads this many values at once; each must be its own.
async fn many_at_once(client: &Client, count: usize) {
    let mut operations = JoinSet::new();
    for number in 0..count {
        let client = client.clone();
        operations.spawn(async move {
            let name = format!("many-{number}");
            // Lengths around those that are copied, and some that take several reads.
            let value = Bytes::from(format!("{number} ").repeat(1 + number * 7 % 3000));
            client.set(0, name.as_bytes(), vec!["<".into(), value.clone(), ">".into()], NEVER).await.unwrap();
            let found = client.get(0, name.as_bytes()).await.unwrap().unwrap();
            assert_eq!(found, [b"<", &value[..], b">"].concat());
        });
    }
    while let Some(ended) = operations.join_next().await {
        ended.unwrap();
    }
}

#[tokio::test]
async fn many_operations_share_one_connection() {
    for server in [Memcached::tcp(), Memcached::unix()] {
        let client = client(server.endpoint());
        many_at_once(&client, 900).await;
        let counters = &client.servers().all()[0].counters;
        assert_eq!((counters.gets.value(), counters.hits.value(), counters.sets.value()), (900, 900, 900));
        assert_eq!((counters.errors.value(), counters.timeouts.value(), counters.busy.value()), (0, 0, 0));
        assert_eq!(counters.latency.count.value(), 1800);
        assert!(counters.latency.sum_us.value() >= counters.latency.max_us());
        let bytes: usize = (0..900).map(|number| (number.to_string().len() + 1) * (1 + number * 7 % 3000)).sum();
        assert!(counters.bytes_in.value() > bytes as u64);
        assert!(counters.bytes_out.value() > bytes as u64);
    }
}

#[tokio::test]
async fn a_worker_may_have_several_connections() {
    let server = Memcached::unix();
    let client = servers(MemcachedOptions { connections_max: 3, ..options([server.endpoint()]) }).client();
    many_at_once(&client, 900).await;
}

#[tokio::test]
async fn an_item_that_is_too_large_is_refused_and_the_connection_stays() {
    let server = Memcached::unix();
    let client = client(server.endpoint());
    client.set(0, b"small", vec!["x".into()], NEVER).await.unwrap();
    let received = client.servers().all()[0].counters.bytes_in.value();
    let large = Bytes::from(vec![b'x'; 2 << 20]);
    let refused = client.set(0, b"large", vec![large.clone()], NEVER).await.unwrap_err();
    assert_eq!(refused.to_string(), "the server refused: object too large for cache");
    assert_eq!(client.get(0, b"large").await.unwrap(), None);
    assert_eq!(client.get(0, b"small").await.unwrap().unwrap(), "x");
    let health = &client.servers().all()[0].health;
    assert_eq!(health.outages(), 0);
    assert!(client.servers().all()[0].counters.bytes_in.value() > received);

    let five = vec![large.clone(), large.clone(), large.clone(), large.clone(), "x".into()];
    let error = client.set(0, b"large", five, NEVER).await.unwrap_err();
    assert_eq!(error.to_string(), "the value of 8388609 bytes is longer than an item may be");
}

#[tokio::test]
async fn a_value_that_is_longer_than_ours_may_be_is_an_error() {
    let server = Memcached::unix();
    client(server.endpoint()).set(0, b"a", vec![vec![b'x'; 101].into()], NEVER).await.unwrap();
    client(server.endpoint()).set(0, b"b", vec![vec![b'y'; 100].into()], NEVER).await.unwrap();
    let short = servers(MemcachedOptions { item_bytes_max: 100, ..options([server.endpoint()]) }).client();
    let error = short.get(0, b"a").await.unwrap_err();
    assert_eq!(error.to_string(), "the value of 101 bytes is longer than an item may be");
    assert_eq!(short.get(0, b"b").await.unwrap().unwrap(), vec![b'y'; 100], "on a new connection");
}

#[tokio::test]
async fn what_can_not_be_asked_is_not_sent() {
    let server = Memcached::unix();
    let client = client(server.endpoint());
    for name in [&b""[..], b"a b", b"a\r\nflush_all", &[b'a'; 251]] {
        assert!(matches!(client.get(0, name).await, Err(Failure::Name)));
    }
    assert!(matches!(client.get(1, b"a").await, Err(Failure::NoSuchServer(1))));
    client.set(0, &[b'a'; 250], vec!["x".into()], NEVER).await.unwrap();
    assert_eq!(client.get(0, &[b'a'; 250]).await.unwrap().unwrap(), "x");
}
