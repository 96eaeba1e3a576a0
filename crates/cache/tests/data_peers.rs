//! Data caches of several processes without a server between them: a purge in one of them holds in the others.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use kasoku_cache::data::{BuildError, Builder, DataCache, ExchangeError, Loaded, Peers, SharedTier};
use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener as StdTcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;

const TOKEN: &[u8] = b"0123456789abcdef";

const TTL: Duration = Duration::from_secs(3600);

/// How long a test waits for something that has to happen.
const PATIENCE: Duration = Duration::from_secs(30);

type Numbers = DataCache<usize>;

fn builder() -> Builder<usize> {
    DataCache::builder(1 << 20, |_| 0)
}

fn open(name: &str, listen: SocketAddr, other: SocketAddr) -> Result<Numbers, BuildError> {
    let peers = Peers::new(listen, TOKEN).peer(other.ip().to_string(), other.port());
    builder().name(name).peers(peers).open()
}

/// Addresses that nobody uses just now.
fn free<const N: usize>() -> [SocketAddr; N] {
    let sockets = [(); N].map(|()| StdTcpListener::bind("127.0.0.1:0").unwrap());
    sockets.map(|socket| socket.local_addr().unwrap())
}

/// Two processes that are each other's peers. Another program may take a port before they do.
fn processes(names: [&str; 2]) -> [Numbers; 2] {
    for _ in 0..20 {
        let [a, b] = free();
        if let (Ok(a), Ok(b)) = (open(names[0], a, b), open(names[1], b, a)) {
            return [a, b];
        }
    }
    panic!("no ports");
}

async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !is_so().await {
        assert!(begun.elapsed() < PATIENCE, "{what}: not so after {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn load(cache: &Numbers, key: &str, number: usize) -> usize {
    let load = || async { Ok::<_, Infallible>(Loaded::new(number).tags([format!("of {key}")])) };
    cache.load(key, TTL, load).await.unwrap()
}

/// A load whose loader waits for the gate.
fn begin(cache: &Numbers, key: &'static str, gate: &Arc<Semaphore>, asked: &Arc<AtomicUsize>) -> JoinHandle<usize> {
    let (cache, gate, asked) = (cache.clone(), gate.clone(), asked.clone());
    let load = move || async move {
        asked.fetch_add(1, Ordering::SeqCst);
        gate.acquire().await.unwrap().forget();
        Ok::<_, Infallible>(Loaded::new(1).tags([format!("of {key}")]))
    };
    tokio::spawn(async move { cache.load(key, TTL, load).await.unwrap() })
}

fn carried_out(cache: &Numbers) -> u64 {
    cache.peers_status().unwrap().purges_carried_out
}

/// All ways to drop a value.
const WAYS: [fn(&Numbers, &str); 6] = [
    |cache, key| {
        cache.remove(key);
    },
    |cache, key| drop(cache.purge_key(key)),
    |cache, key| drop(cache.purge_tag(&format!("of {key}"))),
    |cache, key| drop(cache.purge_prefix(key.trim_end_matches('1'))),
    |cache, _| drop(cache.purge_all()),
    |cache, key| cache.insert(key, TTL, 7),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_purge_in_one_process_holds_in_the_other() {
    let [a, b] = processes(["numbers"; 2]);
    for (number, way) in WAYS.into_iter().enumerate() {
        for (side, (one, other)) in [(&a, &b), (&b, &a)].into_iter().enumerate() {
            let (purged, kept) = (format!("{number}-{side}/1"), format!("{number}-{side}-kept"));
            for key in [&purged, &kept] {
                assert_eq!((load(one, key, number).await, load(other, key, number).await), (number, number));
            }
            way(one, &purged);
            eventually("the other drops it", async || other.get(&purged).is_none()).await;
            let is_of_all = number == 4;
            assert_eq!(other.get(&kept), (!is_of_all).then_some(number), "way {number}");
            assert_eq!(one.get(&purged), (number == 5).then_some(7));
        }
    }
    eventually("all are told", async || a.purge_key("any").await.reached_all).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_load_that_began_before_the_purge_of_another_process_is_not_kept() {
    let [a, b] = processes(["numbers"; 2]);
    for (number, way) in WAYS.into_iter().enumerate() {
        let (gate, asked) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
        let (before, other) = (begin(&b, "a/1", &gate, &asked), begin(&b, "c/1", &gate, &asked));
        eventually("both load", async || asked.load(Ordering::SeqCst) == 2).await;
        let purges = carried_out(&b);
        way(&a, "a/1");
        eventually("it hears of the purge", async || carried_out(&b) > purges).await;
        gate.add_permits(2);
        assert_eq!((before.await.unwrap(), other.await.unwrap()), (1, 1));
        assert_eq!(b.get("a/1"), None, "way {number}");
        assert_eq!(b.get("c/1"), (number != 4).then_some(1), "way {number}");
        b.remove("c/1");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_and_tags_of_any_characters_are_told() {
    let [a, b] = processes(["numbers"; 2]);
    let keys = ["", "line\r\nAll: yes\r\n", "100 %41", "\u{85}\u{1f980}", &"long".repeat(50_000)];
    for key in keys {
        assert_eq!((load(&b, "kept", 1).await, load(&b, key, 2).await), (1, 2));
        drop(a.purge_key(key));
        eventually(key, async || b.get(key).is_none()).await;
        load(&b, key, 3).await;
        drop(a.purge_tag(&format!("of {key}")));
        eventually(key, async || b.get(key).is_none()).await;
        // A tag that can't be told is all tags.
        if !key.contains(char::is_control) && key.len() < 1000 {
            assert_eq!(b.get("kept"), Some(1), "{key:?}");
        }
    }
    assert_eq!(b.peers_status().unwrap().dropped_everything, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn caches_with_different_names_do_not_disturb_each_other() {
    let [a, b] = processes(["numbers", "numbers2"]);
    for way in WAYS {
        load(&b, "a/1", 1).await;
        let purges = carried_out(&b);
        way(&a, "a/1");
        eventually("it hears of the purge", async || carried_out(&b) > purges).await;
        assert_eq!(b.get("a/1"), Some(1));
    }
}

/// The way to a process, which can be cut.
struct Way {
    at: SocketAddr,
    is_open: watch::Sender<bool>,
}

impl Way {
    fn to(process: SocketAddr) -> Self {
        let socket = StdTcpListener::bind("127.0.0.1:0").unwrap();
        socket.set_nonblocking(true).unwrap();
        let at = socket.local_addr().unwrap();
        let (is_open, opened) = watch::channel(true);
        tokio::spawn(async move {
            let socket = TcpListener::from_std(socket).unwrap();
            loop {
                let (mut from, _) = socket.accept().await.unwrap();
                let mut opened = opened.clone();
                tokio::spawn(async move {
                    if !*opened.borrow() {
                        return;
                    }
                    let Ok(mut to) = TcpStream::connect(process).await else { return };
                    tokio::select! {
                        _ = copy_bidirectional(&mut from, &mut to) => {}
                        _ = opened.wait_for(|is_open| !is_open) => {}
                    }
                });
            }
        });
        Self { at, is_open }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_was_away_hears_of_the_purges_when_it_is_back() {
    let mut made = None;
    for _ in 0..20 {
        let [at_a, at_b] = free();
        let (to_a, to_b) = (Way::to(at_a), Way::to(at_b));
        if let (Ok(a), Ok(b)) = (open("numbers", at_a, to_b.at), open("numbers", at_b, to_a.at)) {
            made = Some((a, b, to_a, to_b));
            break;
        }
    }
    let (a, b, to_a, to_b) = made.unwrap();
    eventually("all are told", async || a.purge_key("any").await.reached_all).await;
    for key in ["a/1", "b/1"] {
        load(&b, key, 1).await;
    }
    for way in [&to_a, &to_b] {
        way.is_open.send_replace(false);
    }
    eventually("not all are told", async || !a.purge_key("a/1").await.reached_all).await;
    assert_eq!((b.get("a/1"), b.get("b/1")), (Some(1), Some(1)), "nobody can know");
    for way in [&to_a, &to_b] {
        way.is_open.send_replace(true);
    }
    eventually("it hears of the purge", async || b.get("a/1").is_none()).await;
    eventually("all are told", async || a.purge_key("any").await.reached_all).await;
}

/// As a program does that imports: it purges much, and ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_purged_just_before_the_end_is_told() {
    const KEYS: usize = 600;
    let [a, b] = processes(["numbers"; 2]);
    for key in 0..KEYS {
        load(&b, &format!("{key}"), 1).await;
    }
    for key in 0..KEYS {
        a.remove(&format!("{key}"));
    }
    drop(a);
    let left = || (0..KEYS).filter(|key| b.get(&format!("{key}")).is_some()).count();
    eventually("all are dropped", async || left() == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_thread_ends_with_the_last_clone() {
    let [a, b] = processes(["numbers"; 2]);
    let at: SocketAddr = a.peers_status().unwrap().peers[0].address.parse().unwrap();
    eventually("all are told", async || a.purge_all().await.reached_all).await;
    let clone = b.clone();
    drop(b);
    assert!(std::net::TcpStream::connect(at).is_ok(), "a clone is there");
    drop(clone);
    assert!(std::net::TcpStream::connect(at).is_err());
    eventually("not all are told", async || !a.purge_all().await.reached_all).await;
    let [elsewhere] = free();
    let back = open("numbers", at, elsewhere).unwrap();
    load(&back, "a/1", 1).await;
    eventually("it is back", async || a.purge_tag("of a/1").await.reached_all).await;
    eventually("and hears of purges", async || back.get("a/1").is_none()).await;
}

#[test]
fn what_can_not_be_is_an_error_of_the_builder() {
    let peers = || Peers::new(([127, 0, 0, 1], 0).into(), TOKEN).peer("127.0.0.1", 1);
    assert_eq!(builder().peers(peers()).open().unwrap_err(), BuildError::NoName);
    for name in ["", "a/b", "line\n"] {
        let error = builder().name(name).peers(peers()).open().unwrap_err();
        assert_eq!(error, BuildError::InvalidName(name.to_owned()));
    }
    let alone = builder().name("a").peers(Peers::new(([127, 0, 0, 1], 0).into(), TOKEN)).open().unwrap_err();
    assert!(matches!(alone, BuildError::Exchange(ExchangeError::Peers(_))), "{alone}");
    let none = builder().name("a").shared(SharedTier::memcached([])).open().unwrap_err();
    assert!(matches!(none, BuildError::Exchange(ExchangeError::SharedTier(_))), "{none}");
    let both = builder().name("a").peers(peers()).shared(SharedTier::redis(["redis://127.0.0.1"])).open();
    assert_eq!(both.unwrap_err(), BuildError::Exchange(ExchangeError::PeersBesideSharedTier));
}

#[tokio::test]
async fn in_memory_alone_a_purge_is_done_at_once() {
    let cache = builder().build();
    load(&cache, "a/1", 1).await;
    let purging = cache.purge_key("a/1");
    assert_eq!(cache.get("a/1"), None);
    assert!(purging.await.reached_all);
}
