//! A replica takes the place of the primary, or a primary comes back with less than it had. No purge is missed.

use crate::front_end::FrontEnd;
use crate::server::{LOG, Redis, options};
use kasoku_shared::redis::RedisOptions;
use kasoku_shared::{Backend, Failure};
use std::time::Duration;

fn of(servers: &[&Redis]) -> RedisOptions {
    let options = options(servers.iter().map(|server| server.url()));
    RedisOptions { operation_timeout: Duration::from_secs(2), item_bytes_max: 100_000, ..options }
}

fn front_end(servers: &[&Redis]) -> FrontEnd {
    FrontEnd::new(Backend::redis(&of(servers)).unwrap())
}

#[tokio::test]
async fn what_one_has_written_another_reads_and_purges_are_told() {
    let server = Redis::new();
    let (one, other) = (front_end(&[&server]), front_end(&[&server]));
    assert!(one.follow().await && other.follow().await);
    for length in [0, 3500, 99_000, 1_000_000] {
        let (uri, content) = (format!("http://a.example/{length}"), "x".repeat(length));
        assert_eq!(other.get(&uri).await, None);
        assert!(one.put(&uri, &content).await);
        assert!(other.get(&uri).await == Some(content), "{length}");
    }
    one.purge("Purge: hard\r\nKey: http://a.example/\r\n").await;
    assert!(other.follow().await);
    assert_eq!(other.purges(), ["Purge: hard\r\nKey: http://a.example/\r\n"]);
    assert!(one.follow().await);
    assert_eq!(one.purges().len(), 1);
}

#[tokio::test]
async fn purges_before_during_and_after_a_failover_are_heard_of_by_all() {
    let mut primary = Redis::new();
    let replica = Redis::replica_of(&primary);
    let all = [&primary, &replica];
    let (one, other) = (front_end(&all), front_end(&all));
    assert!(one.follow().await && other.follow().await);
    one.purge("before").await;
    replica.catches_up_with(&primary);
    assert!(other.follow().await);
    primary.kill();
    one.purges_here("during");
    assert!(!one.follow().await && !other.follow().await, "a replica is asked for nothing");
    assert_eq!(one.get("http://a.example/").await, None);
    replica.is_promoted();
    one.follow_until("the new primary", async |_| true).await;
    other.hears_of("during").await;
    other.purge("after").await;
    one.hears_of("after").await;
    one.is_usable().await;
    other.is_usable().await;
    assert!(one.put("http://a.example/", "page").await);
    assert_eq!(other.get("http://a.example/").await.as_deref(), Some("page"));
    assert_eq!(one.purges(), ["before", "during", "after"], "nothing was dropped");
    assert_eq!(other.purges(), ["before", "during", "after"]);
}

#[tokio::test]
async fn a_record_that_the_new_primary_lacks_is_not_missed_and_neither_is_the_one_under_its_number() {
    let mut primary = Redis::new();
    let replica = Redis::replica_of(&primary);
    let all = [&primary, &replica];
    let (one, other, third) = (front_end(&all), front_end(&all), front_end(&all));
    for front_end in [&one, &other, &third] {
        assert!(front_end.follow().await);
    }
    one.purge("replicated").await;
    replica.catches_up_with(&primary);
    assert!(other.follow().await && third.follow().await);
    // The replica hears of nothing any more.
    replica.ask("REPLICAOF 127.0.0.1 1");
    one.purge("lost").await;
    other.hears_of("lost").await;
    let counter = primary.ask("GET kasoku:purges");
    primary.kill();
    replica.is_promoted();
    third.purge("under the same number").await;
    assert_eq!(replica.ask("GET kasoku:purges"), counter);
    other.hears_of("under the same number").await;
    one.hears_of("under the same number").await;
    third.hears_of("lost").await;
    for front_end in [&one, &other, &third] {
        assert!(!front_end.purges().iter().any(|purge| purge == "everything"), "nothing was lost for ever");
    }
}

#[tokio::test]
async fn a_primary_that_restarts_with_an_earlier_snapshot_makes_nobody_miss_a_purge() {
    let mut server = Redis::with(&["--dbfilename", "dump.rdb"]);
    let (one, other) = (front_end(&[&server]), front_end(&[&server]));
    assert!(one.follow().await && other.follow().await);
    one.purge("saved").await;
    assert!(other.follow().await);
    assert_eq!(server.ask("SAVE"), "+OK");
    one.purge("not saved").await;
    other.hears_of("not saved").await;
    assert!(other.put("http://a.example/", "page").await);
    server.kill();
    server.start_again();
    let late = front_end(&[&server]);
    late.purge("after the restart").await;
    other.hears_of("after the restart").await;
    one.hears_of("after the restart").await;
    late.hears_of("not saved").await;
    assert_eq!(one.purges(), ["saved", "not saved", "after the restart"]);
}

#[tokio::test]
async fn a_number_of_another_history_is_not_counted() {
    let primary = Redis::new();
    let replica = Redis::replica_of(&primary);
    let client = Backend::redis(&of(&[&primary])).unwrap().client();
    client.history(0, LOG).await.unwrap();
    client.set(0, b"n", vec!["1".into()], kasoku_shared::Expiry::Never).await.unwrap();
    assert_eq!(client.increment(0, b"n").await.unwrap(), Some(2));
    // The primary becomes a replica, and the primary again: with another history, on the same connection.
    replica.catches_up_with(&primary);
    replica.is_promoted();
    primary.ask(&format!("REPLICAOF 127.0.0.1 {}", replica.port()));
    primary.awaits_info("master_link_status:up");
    primary.is_promoted();
    let failure = client.increment(0, b"n").await.unwrap_err();
    assert!(matches!(failure, Failure::Unusable(_) | Failure::Closed | Failure::Broken(_)), "{failure}");
    assert_eq!(primary.ask("GET n"), "2");
    client.history(0, LOG).await.unwrap();
    assert_eq!(client.increment(0, b"n").await.unwrap(), Some(3));
}

#[tokio::test]
async fn of_two_primaries_none_is_used() {
    let mut primary = Redis::new();
    let replica = Redis::replica_of(&primary);
    let all = [&primary, &replica];
    let (one, other) = (front_end(&all), front_end(&all));
    assert!(one.follow().await && other.follow().await);
    assert!(one.put("http://a.example/", "page").await);
    replica.catches_up_with(&primary);
    replica.is_promoted();
    assert!(!one.follow().await);
    assert_eq!(one.get("http://a.example/").await, None);
    assert!(!one.put("http://a.example/", "page").await);
    let client = Backend::redis(&of(&all)).unwrap().client();
    assert!(matches!(client.history(0, LOG).await, Err(Failure::SeveralPrimaries)));
    assert!(matches!(client.get(0, b"a").await, Err(Failure::NoPrimary)));
    // The old one becomes a replica of the new one.
    primary.ask(&format!("REPLICAOF 127.0.0.1 {}", replica.port()));
    primary.awaits_info("master_link_status:up");
    one.is_usable().await;
    assert_eq!(one.get("http://a.example/").await.as_deref(), Some("page"));
    // It is gone, and nobody needs it.
    primary.kill();
    one.follow_until("the primary alone", async |_| true).await;
    assert_eq!(one.get("http://a.example/").await.as_deref(), Some("page"));
}

#[tokio::test]
async fn what_is_on_disk_counts_for_its_history_only() {
    let mut server = Redis::new();
    let before = front_end(&[&server]);
    assert!(before.follow().await);
    let positions = before.items.tier().positions();
    assert_eq!(positions.len(), 1);
    for is_other in [false, true] {
        if is_other {
            server.kill();
            server.start_again();
        }
        let after = front_end(&[&server]);
        after.items.tier().resume(&positions);
        assert_eq!(after.items.tier().positions(), positions, "as long as nothing else is known");
        after.follow_until("read", async |_| true).await;
        assert_eq!(after.purges().contains(&"everything".to_owned()), is_other);
        assert_eq!(after.items.tier().positions() == positions, !is_other);
    }
}

#[tokio::test]
async fn a_primary_without_the_replicas_that_it_needs_is_not_used() {
    let server = Redis::new();
    let front_end = front_end(&[&server]);
    assert!(front_end.follow().await);
    // The network has parted: it may be a primary for nobody but us. Each reading writes, so that it says so.
    server.ask("CONFIG SET min-replicas-to-write 1");
    assert!(!front_end.follow().await);
    server.ask("CONFIG SET min-replicas-to-write 0");
    assert!(front_end.follow().await);
}

#[tokio::test]
async fn a_server_without_memory_for_its_log_loses_no_purge_and_that_is_noticed() {
    for lost in ["DEL kasoku:purges", "DEL kasoku:log", "all of it"] {
        let server = Redis::new();
        let (one, other) = (front_end(&[&server]), front_end(&[&server]));
        assert!(one.follow().await && other.follow().await);
        one.purge("before").await;
        assert!(other.follow().await);
        if lost == "all of it" {
            // It evicts whatever it has.
            server.ask("CONFIG SET maxmemory-policy allkeys-lru");
            server.ask("CONFIG SET maxmemory 1");
            server.ask("CONFIG SET maxmemory 0");
            assert_eq!(server.ask("EXISTS kasoku:purges"), ":0");
        } else {
            assert_eq!(server.ask(lost), ":1");
        }
        one.purge("after").await;
        let heard = async |front_end: &FrontEnd| {
            front_end.purges().iter().skip(1).any(|purge| purge == "after" || purge == "everything")
        };
        other.follow_until(lost, heard).await;
        let losses = one.items.tier().log().counts().lost.value();
        assert_eq!(losses, u64::from(lost != "DEL kasoku:log"), "{lost}");
        one.is_usable().await;
        other.is_usable().await;
    }
}
