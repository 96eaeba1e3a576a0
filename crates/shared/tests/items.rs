//! Items, leases and the log of purges, over real memcached servers.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may panic"
)]

#[allow(dead_code, reason = "not each test needs all of it")]
mod support;

use bytes::Bytes;
use kasoku_shared::lease::Leased;
use kasoku_shared::memcached::{MemcachedOptions, ServerAddress};
use kasoku_shared::names::Namespace;
use kasoku_shared::placement::Distribution;
use kasoku_shared::purge_log::{Clock, Epoch, Purger};
use kasoku_shared::sealed::Sealer;
use kasoku_shared::{Backend, Endpoint, Expiry, Items, Tier, WhenDown};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use support::Memcached;

const MINUTE: Expiry = Expiry::After(60);

/// A cache that notes what is purged.
#[derive(Default)]
struct Noted {
    epoch: AtomicU64,
    purges: Mutex<Vec<String>>,
}

impl Noted {
    fn purge(&self, purge: &[u8]) -> Epoch {
        self.purges.lock().unwrap().push(String::from_utf8_lossy(purge).into_owned());
        self.epoch.fetch_add(1, Ordering::SeqCst) + 1
    }

    fn purges(&self) -> Vec<String> {
        self.purges.lock().unwrap().clone()
    }
}

impl Purger for Noted {
    fn carry_out(&self, purge: &[u8]) -> Option<Epoch> {
        Some(self.purge(purge))
    }

    async fn make_certain(&self) -> bool {
        true
    }

    fn drop_everything(&self) {
        self.purge(b"everything");
    }

    fn epoch(&self) -> Epoch {
        self.epoch.load(Ordering::SeqCst)
    }
}

/// A front end: its items, and its cache.
struct FrontEnd {
    items: Items,
    cache: Noted,
    started: Instant,
}

impl FrontEnd {
    /// With servers whose logs have been read, where they can be.
    async fn new(endpoints: &[Endpoint], when_down: WhenDown, secret: Option<&[u8]>) -> Self {
        Self::with_timeout(Duration::from_secs(2), endpoints, when_down, secret).await
    }

    async fn with_timeout(
        operation_timeout: Duration,
        endpoints: &[Endpoint],
        when_down: WhenDown,
        secret: Option<&[u8]>,
    ) -> Self {
        let servers =
            endpoints.iter().map(|endpoint| ServerAddress { endpoint: endpoint.clone(), weight: 1 }).collect();
        let backend = Backend::memcached(MemcachedOptions {
            servers,
            distribution: Distribution::KetamaWeighted,
            operation_timeout,
            item_bytes_max: 100_000,
            connections_max: 1,
        });
        let tier = Tier::new(backend.unwrap(), when_down, Namespace::default(), Sealer::new(secret).unwrap());
        let front_end = Self { items: Arc::new(tier).items(), cache: Noted::default(), started: Instant::now() };
        front_end.follow().await;
        front_end
    }

    /// Reads the logs of all servers. Returns how many could be read.
    async fn follow(&self) -> usize {
        let now = || Clock {
            unix_ms: 1_790_000_000_000 + self.started.elapsed().as_millis() as i64,
            mono_ms: self.started.elapsed().as_millis() as u64,
        };
        let mut read = 0;
        for server in 0..self.items.tier().servers().all().len() {
            read += usize::from(self.items.follow(server, &self.cache, now).await.unwrap_or(false));
        }
        read
    }

    async fn put(&self, uri: &str, content: &[u8]) -> bool {
        let name = self.items.tier().namespace().response(uri);
        self.items.put(&name, MINUTE, |_| Some(vec![Bytes::copy_from_slice(content)])).await
    }

    /// The content of an item, with all its chunks.
    async fn get(&self, uri: &str) -> Option<Vec<u8>> {
        let name = self.items.tier().namespace().response(uri);
        let item = self.items.get(&name).await.ok()?;
        let mut content = item.content().to_vec();
        for number in 1..=item.chunks_left() {
            content.extend_from_slice(&self.items.chunk(&item, &name, number).await?);
        }
        assert_eq!(content.len() as u64, item.length());
        Some(content)
    }

    async fn lease(&self, uri: &str) -> Leased {
        self.items.lease(&self.items.tier().namespace().response(uri)).await
    }

    async fn lease_again(&self, uri: &str) -> Leased {
        self.items.lease_again(&self.items.tier().namespace().response(uri)).await
    }
}

#[tokio::test]
async fn what_one_has_written_another_reads_in_one_piece_or_in_chunks() {
    let servers = [Memcached::unix(), Memcached::unix()];
    let endpoints: Vec<Endpoint> = servers.iter().map(Memcached::endpoint).collect();
    let one = FrontEnd::new(&endpoints, WhenDown::NextServer, None).await;
    let other = FrontEnd::new(&endpoints, WhenDown::NextServer, None).await;
    let stranger = FrontEnd::new(&endpoints, WhenDown::NextServer, Some(b"a secret of its own")).await;
    for (number, length) in [0, 1, 3500, 99_000, 100_000, 1_000_000].into_iter().enumerate() {
        let content: Vec<u8> = (0..length).map(|byte| (byte % 251) as u8).collect();
        let uri = format!("http://a.example/{number}");
        assert_eq!(other.get(&uri).await, None);
        assert!(one.put(&uri, &content).await);
        assert!(other.get(&uri).await == Some(content), "{length}");
        assert_eq!(stranger.get(&uri).await, None);
    }
    assert_eq!((other.items.tier().damaged(), stranger.items.tier().damaged()), (0, 6));
}

#[tokio::test]
async fn the_items_of_a_server_that_is_away_are_elsewhere_or_nowhere() {
    let (mut gone, stays) = (Memcached::unix(), Memcached::unix());
    let endpoints = [gone.endpoint(), stays.endpoint()];
    let next = FrontEnd::new(&endpoints, WhenDown::NextServer, None).await;
    let miss = FrontEnd::new(&endpoints, WhenDown::Miss, None).await;
    gone.kill();
    assert_eq!((next.follow().await, miss.follow().await), (1, 1));
    let (mut written, mut missed) = (0, 0);
    for number in 0..40 {
        let uri = format!("http://a.example/{number}");
        assert!(next.put(&uri, b"page").await, "the other server takes it");
        assert!(next.get(&uri).await.is_some());
        missed += usize::from(!miss.put(&uri, b"page").await);
        written += 1;
    }
    assert!(missed > 0 && missed < written, "{missed} of {written} belong to the server that is away");
}

#[tokio::test]
async fn a_value_is_of_no_use_once_the_log_of_its_server_is_not_known_any_more() {
    let server = Memcached::unix();
    let one = FrontEnd::new(&[server.endpoint()], WhenDown::NextServer, None).await;
    let generation = one.items.generation(0, 0).expect("its log is known");
    assert_eq!(one.items.born(0, generation, &one.cache), Some(0));
    let servers = one.items.tier().servers();
    servers.all()[0].health.failed(servers.now_ms());
    assert_eq!(one.items.born(0, generation, &one.cache), None);
}

#[tokio::test]
async fn one_fetches_and_the_others_wait() {
    let server = Memcached::unix();
    let one = FrontEnd::new(&[server.endpoint()], WhenDown::NextServer, None).await;
    let other = FrontEnd::new(&[server.endpoint()], WhenDown::NextServer, None).await;
    let Leased::Granted(lease) = one.lease("http://a.example/").await else { panic!("it is free") };
    assert!(matches!(other.lease("http://a.example/").await, Leased::Held));
    assert!(matches!(one.lease("http://a.example/").await, Leased::Held), "nor a second request");
    assert!(matches!(other.lease_again("http://a.example/").await, Leased::Held));
    assert!(matches!(other.lease("http://a.example/other").await, Leased::Granted(_)));
    lease.release().await;
    let Leased::Granted(lease) = other.lease_again("http://a.example/").await else { panic!("it was released") };
    lease.pass().await;
    assert!(matches!(one.lease("http://a.example/").await, Leased::Pass));
    assert!(matches!(one.lease_again("http://a.example/").await, Leased::Pass));
}

#[tokio::test]
async fn a_lease_lives_while_it_is_renewed_and_ends_with_its_holder() {
    let server = Memcached::unix();
    let one = FrontEnd::new(&[server.endpoint()], WhenDown::NextServer, None).await;
    let Leased::Granted(lease) = one.lease("http://a.example/").await else { panic!("it is free") };
    // Longer than it lives without that.
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_millis(200)).await;
        lease.renew().await;
        one.follow().await;
        assert!(matches!(one.lease("http://a.example/").await, Leased::Held));
    }
    let mut is_granted = false;
    for _ in 0..100 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        one.follow().await;
        match one.lease("http://a.example/").await {
            Leased::Granted(next) => {
                // The first holder is late, and does not end what is no longer its own.
                lease.release().await;
                assert!(matches!(one.lease("http://a.example/").await, Leased::Held));
                next.release().await;
                is_granted = true;
                break;
            }
            held => assert!(matches!(held, Leased::Held), "{held:?}"),
        }
    }
    assert!(is_granted, "its holder has not renewed it for ten seconds");
}

#[tokio::test]
async fn a_lease_of_a_server_that_failed_is_released_when_it_is_back() {
    let server = Memcached::unix();
    let endpoints = [server.endpoint()];
    let one = FrontEnd::with_timeout(Duration::from_millis(200), &endpoints, WhenDown::NextServer, None).await;
    let other = FrontEnd::new(&endpoints, WhenDown::NextServer, None).await;
    let Leased::Granted(granted) = one.lease("http://a.example/granted").await else { panic!("it is free") };
    server.stop();
    let Leased::Lost(lost) = one.lease("http://a.example/lost").await else { panic!("nothing answers") };
    let leases = Arc::new([granted, lost]);
    let released = tokio::spawn({
        let leases = leases.clone();
        async move { tokio::join!(leases[0].release(), leases[1].release()) }
    });
    // Both have found that the server does not answer.
    tokio::time::sleep(Duration::from_millis(400)).await;
    server.go_on();
    while !released.is_finished() {
        one.follow().await;
        // So they do not end by themselves.
        for lease in &*leases {
            lease.renew().await;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    released.await.unwrap();
    other.follow().await;
    for uri in ["http://a.example/granted", "http://a.example/lost"] {
        assert!(matches!(other.lease(uri).await, Leased::Granted(_)), "{uri}");
    }
}

#[tokio::test]
async fn a_purge_is_told_to_all_and_one_that_is_too_long_drops_everything() {
    let servers = [Memcached::unix(), Memcached::unix()];
    let endpoints: Vec<Endpoint> = servers.iter().map(Memcached::endpoint).collect();
    let one = FrontEnd::new(&endpoints, WhenDown::NextServer, Some(b"the secret of both")).await;
    let other = FrontEnd::new(&endpoints, WhenDown::NextServer, Some(b"the secret of both")).await;
    let generation = other.items.generation(0, 0).expect("its log is known");
    let long = format!("Purge: hard\r\nKey: http://a.example/{}\r\n", "x".repeat(100_000));
    for purge in ["Purge: hard\r\nKey: http://a.example/\r\n", &long] {
        let carry_out = || Ok::<_, ()>((one.cache.purge(purge.as_bytes()), purge.as_bytes().to_vec()));
        let delivery = one.items.tier().log().publish(0, carry_out).unwrap();
        assert_eq!(one.follow().await, 2);
        delivery.wait().await;
    }
    assert_eq!(other.follow().await, 2);
    let told = ["Purge: hard\r\nKey: http://a.example/\r\n", "Purge: hard\r\nAll: yes\r\n"];
    assert_eq!(other.cache.purges(), told, "each of them once, although it stands in both servers");
    assert_eq!(one.cache.purges().len(), 2, "its own purges are not carried out again");
    // What was written before is older than both, and what is written now is not.
    assert_eq!(other.items.born(0, generation, &other.cache), Some(0));
    let now = other.items.generation(0, other.cache.epoch()).unwrap();
    assert_eq!(other.items.born(0, now, &other.cache), Some(2));
    let stranger = FrontEnd::new(&endpoints, WhenDown::NextServer, Some(b"another secret, of nobody")).await;
    assert_eq!(stranger.cache.purges(), [] as [&str; 0], "it can't read them, and has nothing that they could cover");
    assert_eq!(stranger.get("http://a.example/").await, None, "so it asks these servers for nothing");
}
