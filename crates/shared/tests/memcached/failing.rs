//! Servers that are gone, come back, or stop.

use crate::support::{Memcached, PATIENCE, client, client_with_timeout};
use bytes::Bytes;
use kasoku_shared::{Client, Endpoint, Expiry, Failure, IN_FLIGHT_MAX};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;
use tokio::task::JoinSet;

/// A timeout for servers that do not answer.
const SHORT: Duration = Duration::from_millis(100);

async fn set(client: &Client, name: &str, value: &str) {
    client.set(0, name.as_bytes(), vec![Bytes::copy_from_slice(value.as_bytes())], Expiry::Never).await.unwrap();
}

/// Starts that many gets of `a`. Their results are in any order.
fn gets(client: &Client, count: usize) -> JoinSet<Result<Option<Bytes>, Failure>> {
    let mut gets = JoinSet::new();
    for _ in 0..count {
        let client = client.clone();
        gets.spawn(async move { client.get(0, b"a").await });
    }
    gets
}

/// Lets the event loop look at the sockets.
async fn look_at_sockets() {
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_server_that_is_killed_fails_all_that_wait_and_is_asked_again_later() {
    let mut server = Memcached::tcp();
    let client = client(server.endpoint());
    let health = &client.servers().all()[0].health;
    set(&client, "a", "x").await;
    server.stop();
    let mut waiting = gets(&client, 200);
    look_at_sockets().await;
    server.kill();
    while let Some(result) = waiting.join_next().await {
        assert!(matches!(result.unwrap(), Err(Failure::Closed | Failure::Broken(_))));
        assert!(!health.is_usable(client.servers().now_ms()));
    }
    assert_eq!(health.outages(), 1);
    assert!(matches!(client.get(0, b"a").await, Err(Failure::Connect(_))));
    assert_eq!(client.servers().all()[0].counters.errors.value(), 201);

    server.start_again();
    assert_eq!(client.get(0, b"a").await.unwrap(), None);
    set(&client, "a", "y").await;
    assert_eq!(client.get(0, b"a").await.unwrap().unwrap(), "y");
}

#[tokio::test]
async fn a_connection_that_is_closed_while_idle_is_no_failure() {
    for mut server in [Memcached::tcp(), Memcached::unix()] {
        let client = client(server.endpoint());
        set(&client, "a", "x").await;
        server.kill();
        server.start_again();
        look_at_sockets().await;
        assert_eq!(client.get(0, b"a").await.unwrap(), None);
        assert_eq!(client.servers().all()[0].health.outages(), 0);
        assert_eq!(client.servers().all()[0].counters.errors.value(), 0);
    }
}

#[tokio::test]
async fn a_server_that_stops_never_gives_a_foreign_value_afterwards() {
    let server = Memcached::tcp();
    let client = client_with_timeout(server.endpoint(), SHORT);
    for name in ["a", "b"] {
        while client.set(0, name.as_bytes(), vec![name.into()], Expiry::Never).await.is_err() {}
    }
    for _ in 0..3 {
        server.stop();
        let timed_out = client.get(0, b"a").await.unwrap_err();
        assert!(matches!(timed_out, Failure::Timeout), "{timed_out}");
        assert!(!client.servers().all()[0].health.is_usable(client.servers().now_ms()));
        // This one is sent on a connection of its own, which waits in the kernel.
        assert!(client.get(0, b"a").await.is_err());
        server.go_on();
        // The answers to the first requests are under way by now.
        let found = loop {
            if let Ok(found) = client.get(0, b"b").await {
                break found;
            }
        };
        assert_eq!(found.unwrap(), "b");
    }
    assert!(client.servers().all()[0].counters.timeouts.value() >= 6);
}

#[tokio::test]
async fn one_timeout_fails_all_requests_on_the_connection() {
    let server = Memcached::unix();
    let client = client_with_timeout(server.endpoint(), SHORT);
    while client.get(0, b"a").await.is_err() {}
    server.stop();
    let mut waiting = gets(&client, IN_FLIGHT_MAX + 76);
    let (mut busy, mut timeouts) = (0, 0);
    while let Some(result) = waiting.join_next().await {
        match result.unwrap().unwrap_err() {
            Failure::Busy => busy += 1,
            Failure::Timeout => timeouts += 1,
            other => panic!("{other}"),
        }
    }
    assert_eq!((timeouts, busy), (IN_FLIGHT_MAX, 76));
    let counters = &client.servers().all()[0].counters;
    assert_eq!(counters.busy.value(), 76);
    assert!(counters.timeouts.value() >= IN_FLIGHT_MAX as u64);
    server.go_on();
    while client.get(0, b"a").await.is_err() {}
}

#[tokio::test]
async fn busy_says_nothing_about_the_server() {
    let server = Memcached::unix();
    let client = client(server.endpoint());
    let mut waiting = gets(&client, IN_FLIGHT_MAX + 1);
    let mut busy = 0;
    while let Some(result) = waiting.join_next().await {
        busy += usize::from(matches!(result.unwrap(), Err(Failure::Busy)));
    }
    assert_eq!(busy, 1);
    let health = &client.servers().all()[0].health;
    assert_eq!(health.outages(), 0);
    assert_eq!(client.get(0, b"a").await.unwrap(), None, "there is room again");
}

/// Polls once, and drops.
fn drop_after_one_poll(operation: impl Future) {
    let mut context = Context::from_waker(Waker::noop());
    assert!(pin!(operation).poll(&mut context).is_pending());
}

#[tokio::test]
async fn an_operation_that_is_dropped_harms_no_other() {
    let server = Memcached::unix();
    let client = client(server.endpoint());
    set(&client, "a", "x").await;
    set(&client, "b", "y").await;
    for _ in 0..50 {
        // This one is dropped before its request is sent, and the next one after.
        drop_after_one_poll(client.get(0, b"a"));
        let mut sent = pin!(client.get(0, b"a"));
        tokio::select! { biased; _ = sent.as_mut() => {} () = tokio::task::yield_now() => {} }
        assert_eq!(client.get(0, b"b").await.unwrap().unwrap(), "y");
    }
    assert_eq!(client.servers().all()[0].counters.errors.value(), 0);
}

/// The timer of the last request was over, and the dropped one started no other.
#[tokio::test]
async fn an_operation_that_is_dropped_is_no_timeout() {
    let server = Memcached::unix();
    let client = client(server.endpoint());
    set(&client, "a", "x").await;
    tokio::time::pause();
    tokio::time::advance(PATIENCE * 2).await;
    drop_after_one_poll(client.get(0, b"a"));
    look_at_sockets().await;
    tokio::time::resume();
    assert_eq!(client.get(0, b"a").await.unwrap().unwrap(), "x");
    assert_eq!(client.servers().all()[0].health.outages(), 0);
}

#[tokio::test]
async fn an_answer_that_a_busy_worker_reads_late_is_no_timeout() {
    let server = Memcached::unix();
    let client = client(server.endpoint());
    set(&client, "a", "x").await;
    // Which of several events comes first is random, so one time proves nothing.
    for _ in 0..30 {
        server.stop();
        let mut waiting = gets(&client, 1);
        look_at_sockets().await;
        server.go_on();
        // The server has one thread for all connections, so it answers the get before this.
        assert!(server.is_answering());
        tokio::time::pause();
        tokio::time::advance(PATIENCE * 2).await;
        tokio::time::resume();
        assert_eq!(waiting.join_next().await.unwrap().unwrap().unwrap().unwrap(), "x");
    }
    assert_eq!(client.servers().all()[0].health.outages(), 0);
}

#[tokio::test]
async fn a_request_that_a_busy_worker_sends_too_late_says_nothing_about_the_server() {
    let server = Memcached::unix();
    let client = client(server.endpoint());
    for _ in 0..2 {
        let mut get = pin!(client.get(0, b"a"));
        assert!(get.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        tokio::time::pause();
        tokio::time::advance(PATIENCE * 2).await;
        tokio::time::resume();
        assert!(matches!(get.await, Err(Failure::Timeout)));
        assert_eq!(client.servers().all()[0].health.outages(), 0);
        // The first time there was no connection yet.
        assert_eq!(client.get(0, b"a").await.unwrap(), None);
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_failure() {
    let gone = tempfile::TempDir::new().unwrap().path().join("gone.sock");
    let unnamed = Endpoint::Tcp { host: "no-such-host.invalid".into(), port: 11211 };
    for endpoint in [Endpoint::Unix(gone), unnamed] {
        let client = client(endpoint);
        let failure = client.get(0, b"a").await.unwrap_err();
        // A resolver that is not reached may take longer than we wait.
        assert!(matches!(failure, Failure::Connect(_) | Failure::Timeout), "{failure}");
        assert!(!client.servers().all()[0].health.is_usable(client.servers().now_ms()));
        assert_eq!(client.servers().all()[0].health.outages(), 1);
    }
}
