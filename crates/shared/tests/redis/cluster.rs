//! A Redis Cluster of three primaries, in most tests each with a replica.

use crate::front_end::FrontEnd;
use crate::server::{LOG, PATIENCE, Redis};
use kasoku_shared::redis::RedisClusterOptions;
use kasoku_shared::{Backend, Expiry, Failure};
use std::process::Command;
use std::time::{Duration, Instant};

const PRIMARIES: usize = 3;

const NODES: usize = 2 * PRIMARIES;

/// The nodes of a cluster, which are all in step.
fn cluster() -> Vec<Redis> {
    cluster_with(1, &[], &[])
}

/// Three primaries with so many replicas each, these options of the servers, and these of redis-cli.
pub(crate) fn cluster_with(replicas: usize, options: &[String], cli: &[String]) -> Vec<Redis> {
    let common = ["--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--repl-diskless-sync-delay", "0"];
    let options = [&common.map(str::to_owned)[..], options].concat();
    let nodes: Vec<Redis> = (0..PRIMARIES * (1 + replicas)).map(|_| Redis::with(&options)).collect();
    let mut create = Command::new("redis-cli");
    create.args(cli).args(["--cluster", "create"]);
    create.args(nodes.iter().map(|node| format!("127.0.0.1:{}", node.port())));
    create.args(["--cluster-replicas", &replicas.to_string(), "--cluster-yes"]);
    let created = create.output().expect("redis-cli is installed");
    assert!(created.status.success(), "{}", String::from_utf8_lossy(&created.stdout));
    for node in &nodes {
        let begun = Instant::now();
        while !is_in_step(node, nodes.len(), replicas) {
            assert!(begun.elapsed() < PATIENCE, "{}", node.ask("CLUSTER INFO"));
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    nodes
}

fn is_in_step(node: &Redis, nodes: usize, replicas: usize) -> bool {
    let (cluster, replication) = (node.ask("CLUSTER INFO"), node.ask("INFO replication"));
    let has_link = replication.contains(&format!("role:master\r\nconnected_slaves:{replicas}"))
        || replication.contains("master_link_status:up");
    has_link && cluster.contains("cluster_state:ok") && cluster.contains(&format!("cluster_known_nodes:{nodes}\r\n"))
}

pub(crate) fn options(seeds: &[Redis]) -> RedisClusterOptions {
    RedisClusterOptions {
        seeds: seeds.iter().map(Redis::url).collect(),
        username: None,
        password: None,
        tls: None,
        operation_timeout: Duration::from_millis(500),
        item_bytes_max: 100_000,
    }
}

/// The node that has the log of purges as its primary.
fn node_of_the_log<'n>(nodes: impl Iterator<Item = (usize, &'n Redis)>) -> usize {
    let has_it = |node: &Redis| {
        node.ask("INFO replication").contains("role:master") && node.ask("EXISTS {kasoku}:purges") == ":1"
    };
    nodes.into_iter().find(|(_, node)| has_it(node)).unwrap().0
}

/// Waits until each of many items can be written and read.
async fn all_shards_are_used(one: &FrontEnd, other: &FrontEnd, what: &str) {
    let begun = Instant::now();
    for number in 0..40 {
        let uri = format!("http://a.example/{what}/{number}");
        while !one.put(&uri, what).await || other.get(&uri).await.as_deref() != Some(what) {
            assert!(begun.elapsed() < PATIENCE, "{what}: {number}");
            one.follow().await;
            other.follow().await;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

#[tokio::test]
async fn items_are_on_all_shards_and_purges_are_heard_of_across_a_failover() {
    let mut nodes = cluster();
    let front_end = |seeds: &[Redis]| FrontEnd::new(Backend::redis_cluster(&options(seeds)).unwrap());
    let (one, other) = (front_end(&nodes[..2]), front_end(&nodes));
    one.is_usable().await;
    other.is_usable().await;
    for number in 0..60 {
        // Some are in chunks, which may be on other shards than their manifest.
        let (uri, content) = (format!("http://a.example/{number}"), "x".repeat(number * 5000));
        // A machine that does other work may need longer than one operation may take.
        let begun = Instant::now();
        while !one.put(&uri, &content).await || other.get(&uri).await.as_ref() != Some(&content) {
            assert!(begun.elapsed() < PATIENCE, "{number}");
            one.follow().await;
            other.follow().await;
        }
    }
    for node in nodes.iter().filter(|node| node.ask("INFO replication").contains("role:master")) {
        assert!(node.ask("DBSIZE").trim_start_matches(':').parse::<usize>().unwrap() > 10);
    }
    one.purge("before").await;
    other.hears_of("before").await;
    // The node with the log, and then one of the others.
    let client = Backend::redis_cluster(&options(&nodes)).unwrap().client();
    let before = client.history(0, LOG).await.unwrap().unwrap();
    client.set(0, b"{kasoku}:n", vec!["1".into()], Expiry::Never).await.unwrap();
    assert_eq!(client.increment(0, b"{kasoku}:n").await.unwrap(), Some(2));
    let killed = node_of_the_log(nodes.iter().enumerate());
    nodes[killed].kill();
    one.purges_here("during");
    one.follow_until("the new primary", async |_| true).await;
    other.hears_of("during").await;
    other.purge("after").await;
    one.hears_of("after").await;
    one.is_usable().await;
    other.is_usable().await;
    all_shards_are_used(&one, &other, "killed").await;
    // A node that is silent keeps its connections. Another one takes its place all the same.
    let primaries = |nodes: &[Redis]| {
        let is_primary =
            |number: &usize| *number != killed && nodes[*number].ask("INFO replication").contains("role:master");
        (0..NODES).filter(is_primary).collect::<Vec<_>>()
    };
    let log = node_of_the_log(nodes.iter().enumerate().filter(|(number, _)| *number != killed));
    let stopped = primaries(&nodes).into_iter().find(|number| *number != log).unwrap();
    nodes[stopped].stop();
    all_shards_are_used(&one, &other, "stopped").await;
    for front_end in [&one, &other] {
        let purges = front_end.purges();
        assert!(!purges.iter().any(|purge| purge == "everything"), "{purges:?}");
    }
    let after = loop {
        if let Ok(Some(after)) = client.history(0, LOG).await {
            break after;
        }
    };
    assert_ne!(before, after);
}

#[tokio::test]
async fn what_is_no_cluster_is_a_failure() {
    let alone = Redis::new();
    let client = Backend::redis_cluster(&options(std::slice::from_ref(&alone))).unwrap().client();
    assert!(client.history(0, LOG).await.is_err());
    assert!(matches!(client.get(0, b"a").await, Err(Failure::NoPrimary)));
    let gone = RedisClusterOptions { seeds: vec!["redis://127.0.0.1:1".to_owned()], ..options(&[]) };
    let client = Backend::redis_cluster(&gone).unwrap().client();
    let failure = client.history(0, LOG).await.unwrap_err().to_string();
    assert!(failure.contains("Connection refused"), "{failure}");
    assert!(client.servers().all()[0].counters.errors.value() > 0);
    for seeds in [vec![], vec!["redis+unix:///run/redis.sock".to_owned()], vec!["redis://a/3".to_owned()]] {
        assert!(Backend::redis_cluster(&RedisClusterOptions { seeds, ..options(&[]) }).is_err());
    }
}
