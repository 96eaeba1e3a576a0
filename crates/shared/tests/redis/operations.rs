//! What each operation does with a real server.

use crate::server::{LOG, Redis, client, found, options};
use bytes::Bytes;
use kasoku_shared::redis::RedisOptions;
use kasoku_shared::{Backend, Expiry, Failure};
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::task::JoinSet;

const NEVER: Expiry = Expiry::Never;

fn socket(server: &Redis) -> RedisOptions {
    options([format!("redis+unix://{}", server.socket().display())])
}

#[tokio::test]
async fn values_are_stored_read_and_removed() {
    let server = Redis::new();
    for options in [options([server.url()]), socket(&server), options([format!("{}/3", server.url())])] {
        let client = client(&options).await;
        assert_eq!(client.get(0, b"a").await.unwrap(), None);
        client.set(0, b"a", vec![Bytes::from("one\r\n"), Bytes::new(), Bytes::from("$-1\r\n")], NEVER).await.unwrap();
        assert_eq!(client.get(0, b"a").await.unwrap().unwrap(), "one\r\n$-1\r\n");
        assert!(!client.add(0, b"a", "two".into(), NEVER).await.unwrap(), "there is one");
        assert!(client.delete(0, b"a").await.unwrap());
        assert!(!client.delete(0, b"a").await.unwrap());
        assert!(client.add(0, b"a", "two".into(), NEVER).await.unwrap());
        client.set(0, b"a", vec![], NEVER).await.unwrap();
        assert_eq!(client.get(0, b"a").await.unwrap().unwrap(), "");
        client.delete(0, b"a").await.unwrap();
        let counters = &client.servers().all()[0].counters;
        assert_eq!((counters.gets.value(), counters.hits.value(), counters.sets.value()), (3, 2, 4));
        assert_eq!((counters.errors.value(), counters.timeouts.value(), counters.busy.value()), (0, 0, 0));
        assert!(counters.bytes_in.value() > 0 && counters.bytes_out.value() > 0);
        assert!(counters.latency.sum_us.value() >= counters.latency.max_us());
    }
}

#[tokio::test]
async fn numbers_are_counted_where_there_is_one() {
    let server = Redis::new();
    let client = client(&options([server.url()])).await;
    assert_eq!(client.peek(0, b"n", None).await.unwrap(), None);
    assert_eq!(client.increment(0, b"n").await.unwrap(), None);
    assert_eq!(client.get(0, b"n").await.unwrap(), None, "it is not made");
    client.set(0, b"n", vec!["1795000000000000".into()], NEVER).await.unwrap();
    assert_eq!(client.increment(0, b"n").await.unwrap(), Some(1_795_000_000_000_001));
    assert_eq!(client.peek(0, b"n", None).await.unwrap().unwrap(), "1795000000000001");
    for value in ["abc", "9223372036854775807"] {
        client.set(0, b"n", vec![value.into()], NEVER).await.unwrap();
        let failure = client.increment(0, b"n").await.unwrap_err();
        assert!(matches!(failure, Failure::NotANumber | Failure::Refused(_)), "{failure}");
    }
    assert!(client.servers().all()[0].health.is_usable(0), "the server has done nothing wrong");
}

#[tokio::test]
async fn items_expire_when_they_should() {
    let server = Redis::new();
    let client = client(&options([server.url()])).await;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let day = 86_400;
    let ttl = |name: &str| server.ask(&format!("TTL {name}")).trim_start_matches(':').parse::<i64>().unwrap();
    for (name, expiry, expected) in [
        ("a", NEVER, -1),
        ("b", Expiry::After(31 * day), 31 * 86_400),
        ("c", Expiry::At(now + 60 * day), 60 * 86_400),
        ("d", Expiry::After(u64::MAX), 100 * 366 * 86_400),
        ("e", Expiry::At(u64::MAX), 100 * 366 * 86_400),
        // There is none.
        ("f", Expiry::After(0), -2),
        ("g", Expiry::At(now - 1), -2),
    ] {
        client.set(0, name.as_bytes(), vec!["x".into()], expiry).await.unwrap();
        assert!(
            (expected - 60..=expected + 1).contains(&ttl(name)) || expected == ttl(name),
            "{expiry:?}: {}",
            ttl(name)
        );
    }
    assert!(!client.add(0, b"g", "x".into(), Expiry::At(now - 1)).await.unwrap());
    assert!(client.add(0, b"g", "x".into(), Expiry::After(500)).await.unwrap());
    assert!((440..=500).contains(&ttl("g")));
    // A touch gives it another one.
    for (touched, range) in
        [(None, 440..=500), (Some(Expiry::After(900)), 840..=900), (Some(Expiry::At(now + 5000)), 4900..=5001)]
    {
        assert_eq!(client.peek(0, b"g", touched).await.unwrap().unwrap(), "x");
        assert!(range.contains(&ttl("g")), "{touched:?}");
    }
    assert_eq!(client.peek(0, b"g", Some(NEVER)).await.unwrap().unwrap(), "x");
    assert_eq!(ttl("g"), -1);
    assert_eq!(client.peek(0, b"none", Some(Expiry::After(9))).await.unwrap(), None);
    assert_eq!(client.servers().all()[0].counters.gets.value(), 0);
}

#[tokio::test]
async fn many_operations_share_one_connection() {
    let server = Redis::new();
    for options in [options([server.url()]), socket(&server)] {
        let client = client(&options).await;
        let mut operations = JoinSet::new();
        for number in 0..900 {
            let client = client.clone();
            operations.spawn(async move {
                let name = format!("many-{number}");
                let value = Bytes::from(format!("{number} ").repeat(1 + number * 7 % 3000));
                client.set(0, name.as_bytes(), vec!["<".into(), value.clone(), ">".into()], NEVER).await.unwrap();
                let found = client.get(0, name.as_bytes()).await.unwrap().unwrap();
                assert_eq!(found, [b"<", &value[..], b">"].concat());
            });
        }
        while let Some(ended) = operations.join_next().await {
            ended.unwrap();
        }
        assert!(server.ask("INFO clients").contains("connected_clients:2"), "{}", server.ask("INFO clients"));
    }
}

#[tokio::test]
async fn what_is_no_value_or_too_long_is_refused_and_the_server_stays_usable() {
    let server = Redis::new();
    let small = RedisOptions { item_bytes_max: 20_000, ..options([server.url()]) };
    let client = client(&small).await;
    server.ask("LPUSH list x");
    for failure in [client.get(0, b"list").await.unwrap_err(), client.increment(0, b"list").await.unwrap_err()] {
        assert!(matches!(&failure, Failure::Refused(said) if said.starts_with("WRONGTYPE")), "{failure}");
    }
    server.ask("CONFIG SET maxmemory 1");
    let failure = client.set(0, b"a", vec!["x".into()], NEVER).await.unwrap_err();
    assert!(matches!(&failure, Failure::Refused(said) if said.starts_with("OOM")), "{failure}");
    server.ask("CONFIG SET maxmemory 0");
    let long = client.set(0, b"a", vec![vec![b'x'; 20_000].into(), "x".into()], NEVER).await.unwrap_err();
    assert!(matches!(long, Failure::TooLong { bytes: 20_001 }));
    for name in [&b""[..], b"a b", b"a\r\nFLUSHALL", &[b'a'; 251]] {
        assert!(matches!(client.get(0, name).await, Err(Failure::Name)));
    }
    assert!(matches!(client.get(1, b"a").await, Err(Failure::NoSuchServer(1))));
    let known = &client.servers().all()[0];
    assert_eq!((known.counters.errors.value(), known.health.outages()), (3, 0));
    // A value that another program has stored is not read.
    server.ask("SETRANGE long 20000 x");
    let failure = client.get(0, b"long").await.unwrap_err();
    assert_eq!(failure.to_string(), "the value of 20001 bytes is longer than an item may be");
    assert_eq!(known.health.outages(), 1);
    client.history(0, LOG).await.unwrap();
    assert_eq!(client.get(0, b"a").await.unwrap(), None, "on a new connection");
}

#[tokio::test]
async fn a_user_and_a_password_are_asked_for() {
    let server = Redis::with(&["--user", "kasoku", "on", ">secret", "~*", "+@all", "--requirepass", "default secret"]);
    let of = |username: Option<&str>, password: Option<&str>| RedisOptions {
        username: username.map(str::to_owned),
        password: password.map(str::to_owned),
        ..options([server.url()])
    };
    for (username, password) in [(None, Some("default secret")), (Some("kasoku"), Some("secret"))] {
        let client = client(&of(username, password)).await;
        assert!(client.add(0, username.unwrap_or("a").as_bytes(), "x".into(), NEVER).await.unwrap());
    }
    for (username, password) in
        [(None, None), (None, Some("wrong")), (Some("kasoku"), Some("wrong")), (Some("nobody"), Some("secret"))]
    {
        let client = found(&of(username, password)).await;
        let failure = client.history(0, LOG).await.unwrap_err();
        assert!(matches!(failure, Failure::Unusable(_)), "{username:?}: {failure:?}");
        assert!(matches!(client.get(0, b"a").await, Err(Failure::NoPrimary)));
        assert!(!client.servers().all()[0].health.is_usable(0));
        assert!(client.servers().all()[0].counters.errors.value() > 0);
    }
}

#[tokio::test]
async fn nothing_is_connected_before_the_primary_is_asked_for() {
    let server = Redis::new();
    let client = Backend::redis(&options([server.url()])).unwrap().client();
    assert!(matches!(client.get(0, b"a").await, Err(Failure::NoPrimary)));
    assert!(server.ask("INFO clients").contains("connected_clients:1"));
    assert_eq!(client.servers().all()[0].address, server.url());
}
