//! Data caches of several processes with real memcached and Redis servers, which a layer of the same application uses as well.
//!
//! The tests of the data cache alone are in kasoku-cache; these need servers, and a layer.
//!
//! A server is asked only while its log of purges was read within the last second. On a machine with much to do it may not be usable just then. So a
//! test that wants a value to come from there tries further keys.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

#[allow(dead_code, reason = "not all of it is needed here")]
mod support;

use bytes::Bytes;
use kasoku_cache::data::{Builder, DataCache, Loaded, SeveralProcesses};
use kasoku_shared::names::Namespace;
use kasoku_shared::sealed::Sealer;
use kasoku_testkit::servers::Store;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use support::stores::{memcached, redis, tier};
use support::{Site, counter, eventually, page, timed_builder};
use tokio::sync::Semaphore;

const TTL: Duration = Duration::from_secs(3600);

fn builder() -> Builder<usize> {
    DataCache::builder(1 << 20, |_| 0)
}

fn numbers(store: &Store) -> DataCache<usize> {
    builder().name("numbers").shared(tier(store)).open().unwrap()
}

async fn load(cache: &DataCache<usize>, key: &str, number: usize) -> usize {
    let load = || async { Ok::<_, Infallible>(Loaded::new(number).tags([format!("of {key}")])) };
    cache.load(key, TTL, load).await.unwrap()
}

type Way = fn(&DataCache<usize>, &str);

/// All ways to drop a value.
const WAYS: [Way; 5] = [
    |cache, key| {
        cache.remove(key);
    },
    |cache, key| drop(cache.purge_tag(&format!("of {key}"))),
    |cache, key| drop(cache.purge_prefix(key.trim_end_matches('1'))),
    |cache, _| drop(cache.purge_all()),
    |cache, key| cache.insert(key, TTL, 7),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_purge_in_one_process_holds_in_the_other() {
    for store in [memcached(), redis()] {
        let (a, b) = (numbers(&store), numbers(&store));
        for (number, way) in WAYS.into_iter().enumerate() {
            let key = format!("{number}/1");
            assert_eq!((load(&a, &key, 1).await, load(&b, &key, 1).await), (1, 1));
            way(&a, &key);
            eventually("the other drops it", async || b.get(&key).is_none()).await;
        }
        eventually("all are told", async || a.purge_key("any").await.reached_all).await;
        store.kill();
        eventually("not all are told", async || !a.purge_key("any").await.reached_all).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_load_that_began_before_the_purge_of_another_process_is_not_kept() {
    for store in [memcached(), redis()] {
        let (a, b) = (numbers(&store), numbers(&store));
        for (number, way) in WAYS.into_iter().enumerate() {
            let key = format!("{number}/1");
            let (gate, asked) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
            let call = {
                let (b, key, gate, asked) = (b.clone(), key.clone(), gate.clone(), asked.clone());
                tokio::spawn(async move {
                    let load = || async {
                        asked.fetch_add(1, Ordering::SeqCst);
                        gate.acquire().await.unwrap().forget();
                        Ok::<_, Infallible>(Loaded::new(1).tags([format!("of {key}")]))
                    };
                    b.load(&key, TTL, load).await.unwrap()
                })
            };
            eventually("it loads", async || asked.load(Ordering::SeqCst) == 1).await;
            let carried_out = || b.shared_status().unwrap().purges_carried_out;
            let purges = carried_out();
            way(&a, &key);
            eventually("it hears of the purge", async || carried_out() > purges).await;
            gate.add_permits(1);
            assert_eq!(call.await.unwrap(), 1);
            assert_eq!(b.get(&key), None, "way {number}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_was_away_has_the_purges_when_it_is_back() {
    for store in [memcached(), redis()] {
        let (a, b) = (numbers(&store), numbers(&store));
        eventually("the server is told", async || a.purge_key("any").await.reached_all).await;
        assert_eq!((load(&b, "k/1", 1).await, load(&b, "l/1", 1).await), (1, 1));
        store.kill();
        eventually("it can't be told", async || !a.purge_key("k/1").await.reached_all).await;
        assert_eq!(b.get("k/1"), Some(1), "nobody can know");
        store.restart_empty();
        eventually("it hears of the purge", async || b.get("k/1").is_none()).await;
        // With Redis, what another history has lost is not known.
        if matches!(store, Store::Memcached(_)) {
            assert_eq!(b.get("l/1"), Some(1), "by that purge, and not since everything was dropped");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn responses_and_values_of_other_names_are_not_disturbed() {
    let store = memcached();
    let calls = counter();
    let site = {
        let calls = calls.clone();
        Site::named(timed_builder().shared(tier(&store)).tags(|_| vec!["of k/1".to_owned()]), None, move |_| {
            calls.fetch_add(1, Ordering::SeqCst);
            page("max-age=600", "a page")
        })
        .unwrap()
    };
    let a = numbers(&store);
    let other = builder().name("numbers2").shared(tier(&store)).open().unwrap();
    let same = numbers(&store);
    let carried_out = |cache: &DataCache<usize>| cache.shared_status().unwrap().purges_carried_out;
    site.get("/").await;
    site.settled().await;
    for way in WAYS {
        load(&other, "k/1", 1).await;
        let of_site = || site.handle.shared_status().unwrap().purges_carried_out;
        let before = (of_site(), carried_out(&other), carried_out(&same));
        way(&a, "k/1");
        eventually("all hear of it", async || {
            of_site() > before.0 && carried_out(&other) > before.1 && carried_out(&same) > before.2
        })
        .await;
        assert_eq!(other.get("k/1"), Some(1));
        assert_eq!(site.get("/").await.cache_status().rsplit_once("detail=").unwrap().1, "hit");
    }
    for way in ["uri", "prefix", "tag"] {
        for cache in [&other, &same] {
            load(cache, "k/1", 1).await;
        }
        let before = (carried_out(&other), carried_out(&same));
        let purged = match way {
            "uri" => site.handle.purge("/").await,
            "prefix" => site.handle.purge_prefix("/").await,
            _ => site.handle.purge_tag("of k/1").await,
        };
        assert!(purged.is_ok());
        eventually("both hear of it", async || carried_out(&other) > before.0 && carried_out(&same) > before.1).await;
        assert_eq!((other.get("k/1"), same.get("k/1")), (Some(1), Some(1)), "{way}");
    }
    site.handle.purge_all().await.unwrap();
    eventually("everything is everything", async || other.get("k/1").is_none() && same.get("k/1").is_none()).await;
}

const SECRET: &[u8] = b"0123456789abcdef";

/// The most keys that are tried until a value comes from the servers.
const TRIES: usize = 200;

/// Numbers that are in the servers as decimal text.
fn sharing(store: &Store) -> Builder<usize, SeveralProcesses> {
    builder()
        .name("numbers")
        .shared(tier(store))
        .share_values(|number| Some(number.to_string().into()), |bytes| std::str::from_utf8(&bytes).ok()?.parse().ok())
}

fn name_of(key: &str) -> String {
    Namespace::default().response(&format!("data://cache/numbers/{key}")).as_str().to_owned()
}

/// Whether what this process has loaded last is in the server, or will not be.
async fn is_shared(cache: &DataCache<usize>, store: &Store, key: &str) -> bool {
    let written = || {
        let stats = cache.stats();
        stats.shared_stored + stats.shared_refused
    };
    eventually("what was loaded was written, or not", async || written() >= cache.stats().loads).await;
    store.has(&name_of(key))
}

/// The key of a value that the one process has loaded, and that is in the server.
async fn shared_key(cache: &DataCache<usize>, store: &Store, number: usize) -> String {
    static KEYS: AtomicUsize = AtomicUsize::new(0);
    for _ in 0..TRIES {
        let key = format!("{}/1", KEYS.fetch_add(1, Ordering::SeqCst));
        assert_eq!(load(cache, &key, number).await, number);
        if is_shared(cache, store, &key).await {
            return key;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("no value came into the server");
}

/// The key of a value that the one process has loaded, and the other has from the server.
async fn answered_from_there(one: &DataCache<usize>, other: &DataCache<usize>, store: &Store) -> String {
    for number in 1..TRIES {
        let key = shared_key(one, store, number).await;
        let before = other.stats();
        let got = load(other, &key, 0).await;
        let after = other.stats();
        if after.loads == before.loads {
            assert_eq!((got, after.shared_hits), (number, before.shared_hits + 1));
            return key;
        }
        assert_eq!(got, 0);
    }
    panic!("no value came from the server");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_process_has_loaded_the_other_takes_from_the_server() {
    for store in [memcached(), redis()] {
        let open = || sharing(&store).shared(tier(&store).secret(SECRET)).open().unwrap();
        let (a, b) = (open(), open());
        let key = answered_from_there(&a, &b, &store).await;
        assert!(b.get(&key).is_some(), "memory has it now");
        let stats = b.stats();
        assert_eq!(stats.misses, stats.loads + stats.shared_hits);
        drop(b.purge_tag(&format!("of {key}")));
        assert_eq!(b.get(&key), None, "with its tags");
        assert_eq!(load(&b, &key, 77).await, 77, "what the server has is older than the purge");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn that_there_is_nothing_is_shared_as_well() {
    let store = memcached();
    let (a, b) = (sharing(&store).open().unwrap(), sharing(&store).open().unwrap());
    for number in 0..TRIES {
        let key = format!("nothing-{number}");
        let nothing = || async { Ok::<_, Infallible>(None) };
        assert_eq!(a.load_optional(&key, TTL, nothing).await.unwrap(), None);
        is_shared(&a, &store, &key).await;
        let before = b.stats();
        assert_eq!(b.load_optional(&key, TTL, nothing).await.unwrap(), None);
        if b.stats().loads == before.loads {
            assert_eq!(b.load_optional(&key, TTL, nothing).await.unwrap(), None);
            assert_eq!(b.stats().negative_hits, before.negative_hits + 1);
            assert_eq!(load(&b, &key, 7).await, 7, "it is no value");
            return;
        }
    }
    panic!("nothing came from the server");
}

#[derive(Debug, PartialEq)]
struct Down;

/// A load in a task of its own, whose loader takes a permit.
fn begin(
    cache: &DataCache<usize>,
    (key, number): (&str, usize),
    gate: &Arc<Semaphore>,
) -> tokio::task::JoinHandle<Result<usize, Arc<Down>>> {
    let (cache, key, gate) = (cache.clone(), key.to_owned(), gate.clone());
    tokio::spawn(async move {
        let load = || async {
            gate.acquire().await.unwrap().forget();
            if number > 0 { Ok(number) } else { Err(Down) }
        };
        cache.load(&key, TTL, load).await
    })
}

/// What becomes of the first of two loads while the second waits for it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum First {
    Succeeds,
    Fails,
    IsDropped,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_cold_callers_in_both_processes_one_loads() {
    for (store, first) in [
        (memcached(), First::Succeeds),
        (redis(), First::Succeeds),
        (memcached(), First::Fails),
        (memcached(), First::IsDropped),
    ] {
        let (a, b) = (sharing(&store).open().unwrap(), sharing(&store).open().unwrap());
        let mut has_waited = false;
        for number in 0..TRIES {
            let key = format!("cold-{number}");
            let (gate_a, gate_b) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(TRIES)));
            let gets = || b.shared_status().unwrap().servers[0].gets;
            let (loads, looked_up) = ((a.stats().loads, b.stats().loads), gets());
            let of_a = if first == First::Fails { 0 } else { 1 };
            let calls_a: Vec<_> = (0..3).map(|_| begin(&a, (&key, of_a), &gate_a)).collect();
            eventually("the first loads", async || a.stats().loads > loads.0).await;
            let calls_b: Vec<_> = (0..3).map(|_| begin(&b, (&key, 2), &gate_b)).collect();
            // It looks once more after it was refused the lease. Without a lease, it loads.
            eventually("the second looks", async || gets() > looked_up + 2 || b.stats().loads > loads.1).await;
            let waits = b.stats().loads == loads.1;
            match first {
                First::IsDropped => calls_a.iter().for_each(|call| call.abort()),
                First::Succeeds | First::Fails => gate_a.add_permits(calls_a.len()),
            }
            for call in calls_a {
                match first {
                    First::Succeeds => assert_eq!(call.await.unwrap(), Ok(1)),
                    First::Fails => assert_eq!(call.await.unwrap(), Err(Arc::new(Down))),
                    First::IsDropped => assert!(call.await.unwrap_err().is_cancelled()),
                }
            }
            let mut of_b = Vec::new();
            for call in calls_b {
                of_b.push(call.await.unwrap().unwrap());
            }
            let loads = (a.stats().loads - loads.0, b.stats().loads - loads.1);
            if !waits {
                continue;
            }
            has_waited = match first {
                First::Succeeds => loads == (1, 0) && of_b == [1, 1, 1],
                First::Fails | First::IsDropped => {
                    assert_eq!((loads.1, &*of_b), (1, &[2, 2, 2][..]));
                    true
                }
            };
            if has_waited {
                break;
            }
        }
        assert!(has_waited, "{first:?}: the second has never waited");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_purged_comes_from_no_server() {
    for store in [memcached(), redis()] {
        let (a, b) = (sharing(&store).open().unwrap(), sharing(&store).open().unwrap());
        for (number, way) in WAYS.into_iter().enumerate() {
            let key = answered_from_there(&a, &b, &store).await;
            way(&a, &key);
            let new = 1000 + number;
            assert_eq!(load(&a, &key, new).await, if number == 4 { 7 } else { new }, "way {number}");
            eventually("the other loads anew", async || load(&b, &key, new).await == new).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_load_that_began_before_a_purge_is_not_taken_from_the_server() {
    let store = memcached();
    let (a, b) = (sharing(&store).open().unwrap(), sharing(&store).open().unwrap());
    let carried_out = || a.shared_status().unwrap().purges_carried_out;
    // Whether it ends before its process hears of the purge, or after that.
    for (number, is_heard) in (0..20).map(|number| (number, number % 2 == 1)) {
        let key = format!("early-{number}");
        let gate = Arc::new(Semaphore::new(0));
        let (loads, purges) = (a.stats().loads, carried_out());
        let early = {
            let (a, key, gate) = (a.clone(), key.clone(), gate.clone());
            tokio::spawn(async move {
                let load = || async {
                    gate.acquire().await.unwrap().forget();
                    Ok::<_, Infallible>(Loaded::new(1).tags([format!("of {key}")]))
                };
                a.load(&key, TTL, load).await.unwrap()
            })
        };
        eventually("it loads", async || a.stats().loads > loads).await;
        let told = b.purge_tag(&format!("of {key}"));
        if is_heard {
            eventually("it hears of the purge", async || carried_out() > purges).await;
        }
        gate.add_permits(1);
        assert_eq!(early.await.unwrap(), 1);
        is_shared(&a, &store, &key).await;
        assert_eq!(load(&b, &key, 2).await, 2, "heard: {is_heard}");
        told.await;
        eventually("it hears of the purge", async || load(&a, &key, 2).await == 2).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_hangs_or_is_gone_costs_no_load() {
    for store in [memcached(), redis()] {
        let open = || sharing(&store).shared(tier(&store).timeout(Duration::from_millis(50))).open().unwrap();
        let (a, b) = (open(), open());
        answered_from_there(&a, &b, &store).await;
        store.stop();
        for number in 1..20 {
            for cache in [&a, &b] {
                assert_eq!(load(cache, &format!("hanging-{number}"), number).await, number);
            }
        }
        store.go_on();
        answered_from_there(&a, &b, &store).await;
        store.kill();
        for number in 1..20 {
            for cache in [&a, &b] {
                assert_eq!(load(cache, &format!("gone-{number}"), number).await, number);
            }
        }
        store.restart_empty();
        answered_from_there(&a, &b, &store).await;
    }
}

/// What follows the first line of an item.
fn content(item: &[u8]) -> String {
    let end = item.windows(2).position(|two| two == b"\r\n").unwrap();
    String::from_utf8(item[end + 2..].to_vec()).unwrap()
}

fn sealed(content: String) -> Vec<u8> {
    let sealer = Sealer::new(None).unwrap();
    sealer.seal(vec![content.into()], 1 << 20, || 1).unwrap().first.concat()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_item_that_is_not_what_was_asked_for_is_a_miss() {
    let store = memcached();
    let (a, b) = (sharing(&store).open().unwrap(), sharing(&store).open().unwrap());
    type Change = fn(&str) -> String;
    let changes: [(&str, Change); 9] = [
        ("as it is", str::to_owned),
        ("another key", |item| item.replacen("/1\r\n", "/2\r\n", 1)),
        ("another cache", |item| item.replacen("cache/numbers/", "cache/numbers2/", 1)),
        ("another version", |item| item.replacen("Until: ", "Version: 2\r\nUntil: ", 1)),
        ("expired", |item| item.replacen("Until: ", "Until: 1\r\nWas: ", 1)),
        ("cut", |item| item[..item.len() - 1].to_owned()),
        ("longer", |item| format!("{item}1")),
        ("no number", |item| format!("{}x", &item[..item.len() - 1])),
        ("another log", |item| item.replacen("Generation: ", &format!("Generation: {:032x} 7\r\nWas: ", 7), 1)),
    ];
    for (what, change) in changes {
        let is_as_it_is = what == "as it is";
        let mut is_found = false;
        for _ in 0..20 {
            // Ten digits, so that a number is as long as its item says.
            let key = shared_key(&a, &store, 1_234_567_890).await;
            let item = store.get(&name_of(&key)).unwrap();
            let changed = change(&content(&item));
            assert!(is_as_it_is || changed != content(&item), "{what}");
            store.set(&name_of(&key), &sealed(changed));
            let got = load(&b, &key, 2).await;
            is_found |= got == 1_234_567_890;
            assert!(is_as_it_is || got == 2, "{what}: {got}");
        }
        assert_eq!(is_found, is_as_it_is, "{what}");
    }
    let key = shared_key(&a, &store, 3).await;
    let mut damaged = store.get(&name_of(&key)).unwrap();
    *damaged.last_mut().unwrap() = b'4';
    store.set(&name_of(&key), &damaged);
    assert_eq!(load(&b, &key, 2).await, 2, "a wrong checksum");
    let with_secret = sharing(&store).shared(tier(&store).secret(SECRET)).open().unwrap();
    let key = shared_key(&a, &store, 3).await;
    assert_eq!(load(&with_secret, &key, 2).await, 2, "a checksum where an HMAC has to be");
}

/// The process that has written the item has a clock that is ahead.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_value_from_there_is_fresh_for_no_longer_than_the_call_says() {
    let store = memcached();
    let (a, b) = (sharing(&store).open().unwrap(), sharing(&store).open().unwrap());
    let tries = async || {
        for _ in 0..TRIES {
            let key = shared_key(&a, &store, 1).await;
            let item = content(&store.get(&name_of(&key)).unwrap());
            store.set(&name_of(&key), &sealed(item.replacen("Until: 1", "Until: 9", 1)));
            let loaded = || async { Ok::<_, Infallible>(2) };
            if b.load(&key, Duration::from_secs(2), loaded).await.unwrap() == 1 {
                return key;
            }
        }
        panic!("no value came from the server");
    };
    let key = tries().await;
    eventually("it expires", async || b.get(&key).is_none()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn releases_with_other_versions_do_not_share_values_and_hear_of_purges() {
    let store = memcached();
    let versions = ["", "1", "2 \r\n%"].map(|version| sharing(&store).version(version).open().unwrap());
    let again = sharing(&store).version("1").open().unwrap();
    for (number, cache) in (1..).zip(&versions) {
        assert_eq!(load(cache, "k/1", number).await, number);
    }
    let mut is_found = false;
    for number in 0..TRIES {
        let key = format!("versions-{number}");
        assert_eq!(load(&versions[1], &key, 1).await, 1);
        let stats = || versions[1].stats();
        eventually("it is written, or not", async || stats().shared_stored + stats().shared_refused >= stats().loads)
            .await;
        is_found = load(&again, &key, 2).await == 1;
        if is_found {
            break;
        }
    }
    assert!(is_found, "they have the same version");
    drop(again.purge_prefix("k/"));
    eventually("all hear of it", async || versions.iter().all(|cache| cache.get("k/1").is_none())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_value_that_is_larger_than_an_item_comes_back_whole() {
    for store in [memcached(), redis()] {
        let open = || {
            let texts = DataCache::builder(64 << 20, Bytes::len).value_bytes_max(16 << 20).name("texts");
            texts.shared(tier(&store)).share_bytes().open().unwrap()
        };
        let (a, b) = (open(), open());
        let text: Bytes = (0..3 << 20).map(|at: u32| (at / 7 % 251) as u8).collect::<Vec<u8>>().into();
        let mut is_found = false;
        for number in 0..TRIES {
            let key = format!("text-{number}");
            let load = async |cache: &DataCache<Bytes>, text: Bytes| {
                cache.load(&key, TTL, || async { Ok::<_, Infallible>(text) }).await.unwrap()
            };
            assert_eq!(load(&a, text.clone()).await, text);
            let stats = || a.stats();
            eventually("it is written, or not", async || {
                stats().shared_stored + stats().shared_refused >= stats().loads
            })
            .await;
            let got = load(&b, Bytes::new()).await;
            is_found = !got.is_empty();
            if is_found {
                assert_eq!(got, text);
                assert!(b.stats().weight_bytes >= 3 << 20);
                break;
            }
        }
        assert!(is_found, "no value came from the server");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_dropped_at_any_time_leaves_no_lease() {
    let store = redis();
    let a = sharing(&store).open().unwrap();
    let gate = Arc::new(Semaphore::new(0));
    eventually("the server is told", async || a.purge_all().await.reached_all).await;
    for number in 0..200 {
        let call = begin(&a, (&format!("dropped-{number}"), 1), &gate);
        tokio::time::sleep(Duration::from_micros(number * 10)).await;
        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());
    }
    let leases = || store.names().into_iter().filter(|name| name.ends_with(":lease")).collect::<Vec<_>>();
    eventually("no lease is left", async || {
        let left = leases();
        // None ends by itself meanwhile.
        left.iter().for_each(|lease| store.redis().persist(lease));
        left.is_empty()
    })
    .await;
}

/// The callers of the other process give up before the wait is over, and others come.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_loader_that_hangs_in_one_process_hangs_in_no_other() {
    let store = memcached();
    let (a, b) = (sharing(&store).open().unwrap(), sharing(&store).open().unwrap());
    let gate = Arc::new(Semaphore::new(0));
    let hangs = begin(&a, ("k", 1), &gate);
    eventually("it loads", async || a.stats().loads == 1).await;
    eventually("the other loads as well", async || {
        let call = tokio::time::timeout(Duration::from_secs(1), load(&b, "k", 2));
        call.await == Ok(2)
    })
    .await;
    hangs.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_after_a_purge_does_not_wait_for_the_load_from_before_it() {
    let store = memcached();
    let a = sharing(&store).open().unwrap();
    for number in 0..5 {
        let key = format!("purged-{number}");
        let gate = Arc::new(Semaphore::new(0));
        let loads = a.stats().loads;
        let before = begin(&a, (&key, 1), &gate);
        eventually("it loads", async || a.stats().loads > loads).await;
        drop(a.purge_key(&key));
        let gets = || a.shared_status().unwrap().servers[0].gets;
        let looked_up = gets();
        assert_eq!(load(&a, &key, 2).await, 2);
        assert!(gets() - looked_up < 20, "it has waited for the lease");
        gate.add_permits(1);
        assert_eq!(before.await.unwrap(), Ok(1));
        assert_eq!(a.get(&key), Some(2));
    }
}
