//! Servers that stop, are killed, load what they had, or are replicas.

use crate::server::{LOG, PATIENCE, Redis, client, found, options};
use bytes::Bytes;
use kasoku_shared::redis::RedisOptions;
use kasoku_shared::{Client, Expiry, Failure, IN_FLIGHT_MAX};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// A timeout for servers that do not answer.
const SHORT: Duration = Duration::from_millis(100);

fn short(server: &Redis) -> RedisOptions {
    RedisOptions { operation_timeout: SHORT, ..options([server.url()]) }
}

/// Waits until the primary has been found, as the background reading does.
async fn is_back(client: &Client) {
    let begun = Instant::now();
    while client.history(0, LOG).await.is_err() {
        assert!(begun.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn is_usable(client: &Client) -> bool {
    client.servers().all()[0].health.is_usable(client.servers().now_ms())
}

#[tokio::test]
async fn a_server_that_stops_costs_one_timeout_and_is_then_left_alone() {
    let server = Redis::new();
    let client = client(&short(&server)).await;
    for name in [b"a", b"b"] {
        client.set(0, name, vec![Bytes::copy_from_slice(name)], Expiry::Never).await.unwrap();
    }
    for _ in 0..3 {
        server.stop();
        assert!(matches!(client.get(0, b"a").await, Err(Failure::Timeout)));
        assert!(!is_usable(&client));
        // The next ones are not sent.
        for _ in 0..5 {
            assert!(matches!(client.get(0, b"a").await, Err(Failure::NoPrimary)));
        }
        assert!(client.history(0, LOG).await.is_err());
        server.go_on();
        is_back(&client).await;
        // Late answers are never taken for this one's.
        assert_eq!(client.get(0, b"b").await.unwrap().unwrap(), "b");
    }
    let known = &client.servers().all()[0];
    assert!(known.counters.timeouts.value() >= 3);
}

#[tokio::test]
async fn one_timeout_fails_all_commands_on_the_connection_and_more_are_busy() {
    let server = Redis::new();
    let client = client(&short(&server)).await;
    client.get(0, b"a").await.unwrap();
    server.stop();
    let mut waiting = JoinSet::new();
    for _ in 0..IN_FLIGHT_MAX + 76 {
        let client = client.clone();
        waiting.spawn(async move { client.get(0, b"a").await });
    }
    let (mut busy, mut failed) = (0, 0);
    while let Some(result) = waiting.join_next().await {
        match result.unwrap().unwrap_err() {
            Failure::Busy => busy += 1,
            Failure::Timeout | Failure::Closed | Failure::NoPrimary => failed += 1,
            other => panic!("{other}"),
        }
    }
    assert_eq!((failed, busy), (IN_FLIGHT_MAX, 76));
    let known = &client.servers().all()[0];
    assert_eq!((known.counters.busy.value(), known.health.outages()), (76, 1));
    server.go_on();
    is_back(&client).await;
    assert_eq!(client.get(0, b"a").await.unwrap(), None);
}

#[tokio::test]
async fn a_server_that_is_killed_fails_at_once_and_is_used_when_it_is_back() {
    let mut server = Redis::new();
    let client = client(&options([server.url()])).await;
    client.set(0, b"a", vec!["x".into()], Expiry::Never).await.unwrap();
    let before = client.history(0, LOG).await.unwrap();
    server.stop();
    let mut waiting = JoinSet::new();
    for _ in 0..200 {
        let client = client.clone();
        waiting.spawn(async move { client.get(0, b"a").await });
    }
    tokio::time::sleep(Duration::from_millis(20)).await;
    server.kill();
    while let Some(result) = waiting.join_next().await {
        assert!(matches!(result.unwrap(), Err(Failure::Closed | Failure::Broken(_) | Failure::NoPrimary)));
        assert!(!is_usable(&client));
    }
    assert_eq!(client.servers().all()[0].health.outages(), 1);
    assert!(matches!(client.history(0, LOG).await, Err(Failure::Connect(_))));
    server.start_again();
    is_back(&client).await;
    assert_ne!(client.history(0, LOG).await.unwrap(), before, "what it had is gone");
    assert_eq!(client.get(0, b"a").await.unwrap(), None);
}

#[tokio::test]
async fn a_connection_that_is_closed_while_idle_is_no_failure() {
    let server = Redis::new();
    let client = client(&options([server.url()])).await;
    client.get(0, b"a").await.unwrap();
    assert!(server.ask("CLIENT KILL TYPE normal SKIPME yes").starts_with(':'));
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(client.get(0, b"a").await.unwrap(), None);
    assert_eq!(client.servers().all()[0].health.outages(), 0);
}

/// Polls until the command is sent, and drops.
async fn drop_when_sent(operation: impl Future) {
    let mut operation = pin!(operation);
    for _ in 0..3 {
        assert!(operation.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn an_operation_that_is_dropped_harms_no_other_and_keeps_its_place() {
    let server = Redis::new();
    let client = client(&short(&server)).await;
    for name in [b"a", b"b"] {
        client.set(0, name, vec![Bytes::copy_from_slice(name)], Expiry::Never).await.unwrap();
    }
    for _ in 0..50 {
        let mut sent = pin!(client.get(0, b"a"));
        tokio::select! { biased; _ = sent.as_mut() => {} () = tokio::task::yield_now() => {} }
        assert_eq!(client.get(0, b"b").await.unwrap().unwrap(), "b");
    }
    assert!(is_usable(&client));
    // Nobody waits, and the server that does not answer is noticed all the same.
    server.stop();
    drop_when_sent(client.get(0, b"a")).await;
    let begun = Instant::now();
    while is_usable(&client) {
        assert!(begun.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    server.go_on();
    is_back(&client).await;
    assert_eq!(client.get(0, b"b").await.unwrap().unwrap(), "b");
}

#[tokio::test]
async fn a_replica_and_a_server_that_loads_are_not_used() {
    let primary = Redis::new();
    let replica = Redis::replica_of(&primary);
    let alone = found(&options([replica.url()])).await;
    assert!(matches!(alone.history(0, LOG).await, Err(Failure::NoPrimary)));
    // A primary that becomes a replica refuses writes, before anybody has asked for its role.
    let client = client(&options([primary.url()])).await;
    client.set(0, b"a", vec!["x".into()], Expiry::Never).await.unwrap();
    replica.is_promoted();
    assert_eq!(primary.ask(&format!("REPLICAOF 127.0.0.1 {}", replica.port())), "+OK");
    let failure = client.set(0, b"a", vec!["x".into()], Expiry::Never).await.unwrap_err();
    assert!(matches!(&failure, Failure::Unusable(said) if said.starts_with("READONLY")), "{failure}");
    assert!(!is_usable(&client));
    assert!(matches!(client.get(0, b"a").await, Err(Failure::NoPrimary)));
}

#[tokio::test]
async fn an_address_that_is_not_there_is_a_failure() {
    for url in ["redis+unix:///nowhere/redis.sock", "redis://no-such-host.invalid"] {
        let client = found(&options([url.to_owned()])).await;
        let failure = client.history(0, LOG).await.unwrap_err();
        assert!(matches!(failure, Failure::Connect(_) | Failure::Timeout), "{failure}");
        assert!(!is_usable(&client));
    }
}
