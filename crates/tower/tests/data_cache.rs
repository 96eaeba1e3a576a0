//! Data caches of several processes with real memcached and Redis servers, which a layer of the same application uses as well.
//!
//! The tests of the data cache alone are in kasoku-cache; these need servers, and a layer.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

#[allow(dead_code, reason = "not all of it is needed here")]
mod support;

use kasoku_cache::data::{Builder, DataCache, Loaded};
use kasoku_testkit::servers::{Memcached, Redis, Store};
use kasoku_tower::{MemcachedServer, SharedTier};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use support::{Site, counter, eventually, page, timed_builder};
use tokio::sync::Semaphore;

const TTL: Duration = Duration::from_secs(3600);

fn memcached() -> Store {
    Store::Memcached(Memcached::start("1m"))
}

fn redis() -> Store {
    Store::Redis(Redis::start(Vec::new()))
}

/// The tier in this server, with a timeout that the server needs only if it hangs.
fn tier(store: &Store) -> SharedTier {
    let address = store.address().unwrap();
    let tier = match store {
        Store::Memcached(_) => SharedTier::memcached([MemcachedServer::new(address.ip().to_string(), address.port())]),
        Store::Redis(_) => SharedTier::redis([format!("redis://{address}")]),
    };
    tier.timeout(Duration::from_secs(2))
}

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
        let (of_site, of_other) = (site.handle.shared_status().unwrap().purges_carried_out, carried_out(&other));
        way(&a, "k/1");
        eventually("both hear of it", async || {
            site.handle.shared_status().unwrap().purges_carried_out > of_site && carried_out(&other) > of_other
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
