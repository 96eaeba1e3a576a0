//! Layers of several processes without a server between them: a purge at one reaches the others.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

#[allow(dead_code, reason = "not all of it is needed here")]
mod support;

use http::Method;
use kasoku_tower::{BuildError, ExchangeError, Peers};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::{Site, counter, eventually, page, request, timed_builder};

const TOKEN: &[u8] = b"0123456789abcdef";

/// Processes that are each other's peers. Their pages say which version they are.
fn processes(version: &Arc<AtomicUsize>) -> [Site; 2] {
    // Another program may take a port before the peers do.
    for _ in 0..20 {
        let free = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [a, b] = free.each_ref().map(|socket| socket.local_addr().unwrap());
        drop(free);
        let site = |listen, other: std::net::SocketAddr| {
            let peers = Peers::new(listen, TOKEN).peer("127.0.0.1", other.port());
            let builder = timed_builder().peers(peers).tags(|_| vec!["all".to_owned()]);
            let version = version.clone();
            Site::named(builder, None, move |_| {
                page("max-age=600", &format!("version {}", version.load(Ordering::SeqCst)))
            })
        };
        if let (Ok(a), Ok(b)) = (site(a, b), site(b, a)) {
            return [a, b];
        }
    }
    panic!("no ports");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_purge_at_one_process_reaches_the_other() {
    let version = counter();
    let [a, b] = processes(&version);
    for way in ["uri", "tag", "post", "back"] {
        for site in [&a, &b] {
            assert_eq!(site.get("/").await.body, format!("version {}", version.load(Ordering::SeqCst)), "{way}");
            site.settled().await;
        }
        let new = format!("version {}", version.fetch_add(1, Ordering::SeqCst) + 1);
        for site in [&a, &b] {
            assert_ne!(site.get("/").await.body, new, "it is in memory");
        }
        let (purging, other) = if way == "back" { (&b, &a) } else { (&a, &b) };
        match way {
            "tag" => assert!(purging.handle.purge_tag("all").await.is_ok()),
            "post" => assert_eq!(purging.send(request("/").method(Method::POST)).await.status, 200),
            _ => assert!(purging.handle.purge("/").await.is_ok()),
        }
        assert_eq!(purging.get("/").await.body, new);
        eventually(way, async || other.get("/").await.body == new).await;
    }
    assert!(b.handle.peers_status().unwrap().purges_carried_out >= 3);
    eventually("all are told", async || a.handle.purge("/any").await.unwrap().reached_all).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_listener_ends_with_the_last_of_layer_services_and_handles() {
    let [a, b] = processes(&counter());
    let address: std::net::SocketAddr = a.handle.peers_status().unwrap().peers[0].address.parse().unwrap();
    eventually("all are told", async || a.handle.purge("/").await.unwrap().reached_all).await;
    let Site { service, handle, .. } = b;
    drop(service);
    assert!(std::net::TcpStream::connect(address).is_ok(), "the handle is there");
    drop(handle);
    assert!(std::net::TcpStream::connect(address).is_err());
    eventually("not all are told", async || !a.handle.purge("/").await.unwrap().reached_all).await;
}

#[test]
fn what_can_not_be_is_an_error_of_the_builder() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap();
    let free = || Peers::new(([127, 0, 0, 1], 0).into(), TOKEN);
    let many = (1..=65).fold(free(), |peers, port| peers.peer("a.example", port));
    for (peers, why) in [
        (free(), "1 to 64"),
        (many, "1 to 64"),
        (free().peer("a.example", 1).peer("a.example", 1), "twice"),
        (Peers::new(([127, 0, 0, 1], 7).into(), TOKEN).peer("127.0.0.1", 7), "itself"),
        (Peers::new(([127, 0, 0, 1], 0).into(), *b"short").peer("a.example", 1), "secret"),
        (Peers::new(taken, TOKEN).peer("a.example", 1), "in use"),
    ] {
        assert!(!format!("{peers:?}").contains("0123456789"));
        let error = timed_builder().peers(peers).build().unwrap_err();
        assert!(
            matches!(error, BuildError::Exchange(ExchangeError::Peers(_))) && error.to_string().contains(why),
            "{why}: {error}"
        );
    }
}
