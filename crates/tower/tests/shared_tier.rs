//! Layers of several processes with real memcached and Redis servers: what one has fetched, the others answer, and what one purges is gone at all.
//!
//! A server is asked only while its log of purges was read within the last second. On a machine with much to do it may not be usable just then. So a
//! test that wants a page to come from there tries further pages.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "../../shared/tests/support/certificates.rs"]
mod certificates;
#[allow(dead_code, reason = "not all of it is needed here")]
mod support;

use axum::body::Body;
use bytes::Bytes;
use certificates::Authority;
use http::header::{COOKIE, ETAG, IF_NONE_MATCH, SET_COOKIE};
use http::{Method, StatusCode};
use kasoku_shared::names::Namespace;
use kasoku_shared::sealed::Sealer;
use kasoku_testkit::Folder;
use kasoku_testkit::servers::{Memcached, Redis, Store};
use kasoku_tower::{
    BuildError, CacheBuilder, ClientFiles, DiskState, DiskTier, ExchangeError, MemcachedServer, Peers, SharedTier,
    TlsFiles, Visitor,
};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use support::stores::{memcached, redis, tier};
use support::{Asked, Got, Site, counter, eventually, page, request, timed_builder};
use tokio::sync::Semaphore;

const SECRET: &[u8] = b"0123456789abcdef";

/// The most pages that are tried until one comes from the servers.
const TRIES: usize = 200;

fn builder(store: &Store) -> CacheBuilder {
    timed_builder().shared(tier(store))
}

/// A process whose pages say which of its calls has made them.
fn process(name: &'static str, builder: CacheBuilder) -> Site {
    Site::named(builder, None, move |asked| page("max-age=600", &format!("{} by {name}", asked.uri))).unwrap()
}

/// The name of an item.
fn name_of(target: &str) -> String {
    Namespace::default().response(&format!("https://blog.example{target}")).as_str().to_owned()
}

/// Waits until what this process has stored is in a server, or will not be.
async fn is_written(site: &Site) {
    site.settled().await;
    let before = || {
        let statistics = site.handle.statistics();
        statistics.shared_stored + statistics.shared_refused
    };
    eventually("what was stored was written, or not", async || before() >= site.handle.statistics().stored).await;
}

/// Whether what this process has stored last is in the server, or will not be.
async fn is_shared(site: &Site, store: &Store, target: &str) -> bool {
    is_written(site).await;
    store.has(&name_of(target))
}

/// A page that the one process has fetched, and that is in the server.
async fn shared_page(site: &Site, store: &Store) -> String {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    for _ in 0..TRIES {
        let target = format!("/page-{}", NUMBER.fetch_add(1, Ordering::SeqCst));
        assert_eq!(site.get(&target).await.status, StatusCode::OK);
        if is_shared(site, store, &target).await {
            return target;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("no page came into the server");
}

/// What the other process answers from the server for a page that the one has fetched.
async fn answered_from_there(one: &Site, other: &Site, store: &Store) -> (String, Got) {
    for _ in 0..TRIES {
        let target = shared_page(one, store).await;
        let before = other.asked();
        let got = other.get(&target).await;
        if other.asked() == before {
            return (target, got);
        }
    }
    panic!("no page came from the server");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_process_has_fetched_the_other_answers_without_its_application() {
    for (store, detail) in [(memcached(), "memcached"), (redis(), "redis")] {
        let with_secret = || timed_builder().shared(tier(&store).secret(SECRET));
        let (a, b) = (process("a", with_secret()), process("b", with_secret()));
        let (target, got) = answered_from_there(&a, &b, &store).await;
        assert_eq!((got.status, got.body), (StatusCode::OK, format!("{target} by a")));
        let status = got.headers["cache-status"].to_str().unwrap();
        assert!(status.starts_with("kasoku; hit; ttl=") && status.ends_with(detail), "{status}");
        let again = b.get(&target).await;
        assert!(again.cache_status().ends_with("detail=hit"), "memory has it now: {}", again.cache_status());
        let (of_a, of_b) = (a.handle.statistics(), b.handle.statistics());
        assert!(of_a.shared_stored > 0);
        assert_eq!((of_b.shared_hits, of_b.hits, of_b.misses), (1, 1, b.asked() as u64));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_purge_at_one_process_holds_at_the_other() {
    for store in [memcached(), redis()] {
        let version = counter();
        let site = |name: &'static str| {
            let version = version.clone();
            let tagged = builder(&store).tags(|request| vec![format!("of{}", request.uri.path().replace('/', "-"))]);
            Site::named(tagged, None, move |_| {
                page("max-age=600", &format!("version {} by {name}", version.load(Ordering::SeqCst)))
            })
            .unwrap()
        };
        let (a, b) = (site("a"), site("b"));
        for way in ["uri", "prefix", "tag", "post", "all"] {
            let (target, old) = answered_from_there(&a, &b, &store).await;
            let is_old = format!("version {}", version.fetch_add(1, Ordering::SeqCst));
            assert!(old.body.starts_with(&is_old), "{}", old.body);
            let purged = match way {
                "uri" => Some(a.handle.purge(&target).await),
                "prefix" => Some(a.handle.purge_prefix(&target).await),
                "tag" => Some(a.handle.purge_tag(&format!("of{}", target.replace('/', "-"))).await),
                "all" => Some(a.handle.purge_all().await),
                _ => {
                    a.send(request(&target).method(Method::POST)).await;
                    None
                }
            };
            assert!(purged.is_none_or(|purged| purged.is_ok()), "{way}");
            assert!(!a.get(&target).await.body.starts_with(&is_old), "{way}: at the process that has purged it");
            eventually(way, async || !b.get(&target).await.body.starts_with(&is_old)).await;
        }
        eventually("all servers are told", async || a.handle.purge("/any").await.unwrap().reached_all).await;
    }
}

/// A process with this directory, which knows all that an earlier one has left there.
async fn process_with_disk(name: &'static str, store: &Store, folder: &Path) -> Site {
    let mut started = None;
    // The last tasks of the earlier one may still hold it.
    eventually("the directory is free", async || {
        let disk = DiskTier::new(folder).size_bytes(64 << 20);
        let answer = move |asked: &Asked| page("max-age=600", &format!("{} by {name}", asked.uri));
        started = Site::named(builder(store).disk(disk), None, answer).ok();
        started.is_some()
    })
    .await;
    let site = started.unwrap();
    let serving = DiskState::Serving { is_loading: false, paused: None };
    eventually("the index is read", async || site.handle.disk_status().unwrap().state == serving).await;
    site
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_was_purged_comes_back_from_neither_disk_nor_server() {
    for is_away in [false, true] {
        let (store, folder) = (memcached(), tempfile::tempdir().unwrap());
        let first = process_with_disk("first", &store, folder.path()).await;
        let second = process("second", builder(&store));
        let kept = shared_page(&first, &store).await;
        let (target, got) = answered_from_there(&first, &second, &store).await;
        let old = format!("{target} by first");
        assert_eq!((&*got.body, got.cache_status().ends_with("detail=memcached")), (&*old, true));
        if is_away {
            drop(first);
            second.handle.purge(&target).await.unwrap();
        } else {
            first.handle.purge(&target).await.unwrap();
            drop(first);
        }
        let again = process_with_disk("first again", &store, folder.path()).await;
        let got = again.get(&kept).await;
        assert!(
            got.cache_status().ends_with("detail=hit"),
            "the directory has what was not purged: {}",
            got.cache_status()
        );
        assert_eq!(got.body, format!("{kept} by first"));
        if is_away {
            eventually("it hears of the purge", async || again.get(&target).await.body != old).await;
        }
        assert_ne!(again.get(&target).await.body, old);
        eventually("the second hears of the purge", async || second.get(&target).await.body != old).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_purge_says_whether_all_servers_are_told() {
    let store = memcached();
    let site = process("a", builder(&store));
    eventually("the server is told", async || site.handle.purge("/").await.unwrap().reached_all).await;
    store.kill();
    eventually("it can't be told", async || !site.handle.purge("/").await.unwrap().reached_all).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cold_page_that_both_are_asked_for_at_once_costs_one_call() {
    let store = memcached();
    let gate = Arc::new(Semaphore::new(0));
    let site = |name: &'static str| {
        Site::named(builder(&store), Some(gate.clone()), move |_| page("max-age=600", &format!("by {name}"))).unwrap()
    };
    let (a, b) = (site("a"), site("b"));
    for number in 0..TRIES {
        let target = format!("/cold-{number}");
        let gets = || b.handle.shared_status().unwrap().servers[0].gets;
        let (calls, looked_up) = ((a.asked(), b.asked()), gets());
        let first = a.begin(request(&target));
        a.is_asked(calls.0 + 1).await;
        let second = b.begin(request(&target));
        // It looks once more after it was refused the lease. Without a lease, it calls its application.
        eventually("the second looks for the page", async || gets() > looked_up + 2 || b.asked() > calls.1).await;
        let is_one = b.asked() == calls.1;
        gate.add_permits(if is_one { 1 } else { 2 });
        let (first, second) = (first.await.unwrap(), second.await.unwrap());
        assert_eq!((first.status, second.status), (StatusCode::OK, StatusCode::OK));
        if is_one && b.asked() == calls.1 {
            assert_eq!(second.body, "by a");
            return;
        }
        // What was left over by a slow server is for no other page.
        while let Ok(permit) = gate.try_acquire() {
            permit.forget();
        }
    }
    panic!("the second process has never waited");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_hangs_costs_no_page() {
    for store in [memcached(), redis()] {
        let impatient = || timed_builder().shared(tier(&store).timeout(Duration::from_millis(50)));
        let (a, b) = (process("a", impatient()), process("b", impatient()));
        answered_from_there(&a, &b, &store).await;
        store.stop();
        for number in 0..20 {
            let target = format!("/hanging-{number}");
            for (site, name) in [(&a, "a"), (&b, "b")] {
                let got = site.get(&target).await;
                assert_eq!((got.status, got.body), (StatusCode::OK, format!("{target} by {name}")));
            }
        }
        store.go_on();
        answered_from_there(&a, &b, &store).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_for_one_visitor_is_in_no_server() {
    let store = memcached();
    let answer = |asked: &Asked| {
        let is_member = asked.headers.get(COOKIE).is_some();
        let text = if is_member { "of a member" } else { "of everybody" };
        let mut page = match asked.uri.path() {
            "/private" => page("private, max-age=600", "of one visitor"),
            "/unstored" => page("no-store", "of one visitor"),
            "/setting" => page("private, max-age=600", "of one visitor"),
            _ => page("public, max-age=600", text),
        };
        if asked.uri.path() == "/setting" {
            page.headers_mut().insert(SET_COOKIE, "sid=1".parse().unwrap());
        }
        page
    };
    let identified = builder(&store).identify(|request| match request.headers.contains_key(COOKIE) {
        true => Visitor::Member,
        false => Visitor::Anonymous,
    });
    let site = Site::named(identified, None, answer).unwrap();
    let unidentified = Site::named(builder(&store), None, answer).unwrap();
    for target in ["/private", "/unstored", "/setting"] {
        for site in [&site, &unidentified] {
            assert_eq!(site.get(target).await.body, "of one visitor");
        }
    }
    for number in 0..5 {
        for site in [&site, &unidentified] {
            let got = site.send(request(&format!("/{number}")).header(COOKIE, "sid=7")).await;
            assert_eq!(got.body, "of a member");
        }
    }
    shared_page(&site, &store).await;
    shared_page(&unidentified, &store).await;
    let items: Vec<_> = store.names().iter().filter_map(|name| store.get(name)).collect();
    let with =
        |text: &str| items.iter().filter(|item| item.windows(text.len()).any(|part| part == text.as_bytes())).count();
    assert!(with("of everybody") >= 2);
    assert_eq!((with("of a member"), with("of one visitor")), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_visitor_of_whom_cookies_are_kept_back_gets_the_page_of_all_from_there() {
    let store = memcached();
    let identified = || builder(&store).identify(|_| Visitor::Anonymous);
    let (a, b) = (process("a", identified()), process("b", identified()));
    for _ in 0..TRIES {
        let target = shared_page(&a, &store).await;
        let got = b.send(request(&target).header(COOKIE, "banner=seen")).await;
        if got.cache_status().ends_with("detail=memcached") {
            assert_eq!((got.body, b.handle.statistics().passes), (format!("{target} by a"), 0));
            return;
        }
    }
    panic!("no page came from the server");
}

/// What follows the first line of an item.
fn content(item: &[u8]) -> &[u8] {
    let end = item.windows(2).position(|two| two == b"\r\n").unwrap();
    &item[end + 2..]
}

/// An item with this content.
fn sealed(content: Vec<u8>, secret: Option<&[u8]>) -> Vec<u8> {
    let sealed = Sealer::new(secret).unwrap().seal(vec![Bytes::from(content)], 1 << 20, || 1).unwrap();
    sealed.first.concat()
}

fn replaced(content: &[u8], from: &str, to: &str) -> Vec<u8> {
    let text = String::from_utf8(content.to_vec()).unwrap();
    assert!(text.contains(from), "{text}");
    text.replacen(from, to, 1).into_bytes()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_item_of_somebody_else_is_not_used() {
    let forge = |content: &[u8]| replaced(content, "by a", "by x");
    let with_cookie =
        |content: &[u8]| replaced(content, "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nSet-Cookie: sid=1\r\n");
    for secret in [Some(SECRET), None] {
        let store = memcached();
        let shared = || {
            let tier = tier(&store);
            timed_builder().shared(if let Some(secret) = secret { tier.secret(secret) } else { tier })
        };
        let (a, b) = (process("a", shared()), process("b", shared()));
        for number in 0..4 {
            // It would use the genuine one.
            answered_from_there(&a, &b, &store).await;
            let target = shared_page(&a, &store).await;
            let name = name_of(&target);
            let item = store.get(&name).unwrap();
            let item = match (secret, number) {
                (Some(_), 0) => sealed(forge(content(&item)), None),
                (Some(_), 1) => sealed(forge(content(&item)), Some(b"another secret of the forger")),
                (None, 0) => sealed(with_cookie(content(&item)), None),
                (None, 1) => sealed(replaced(content(&item), "max-age=600", "private, max-age=600"), None),
                (_, 2) => forge(&item),
                _ => item[..item.len() - 1].to_vec(),
            };
            store.set(&name, &item);
            let got = b.get(&target).await;
            assert_eq!((got.body, got.headers.get(SET_COOKIE)), (format!("{target} by b"), None), "{number}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_was_confirmed_is_shared() {
    let store = memcached();
    let site = Site::built(builder(&store), None, |asked| {
        let is_known = asked.headers.contains_key(IF_NONE_MATCH);
        let mut page = page(if is_known { "max-age=600" } else { "max-age=0" }, if is_known { "" } else { "hello" });
        page.headers_mut().insert(ETAG, "\"1\"".parse().unwrap());
        if is_known {
            *page.status_mut() = StatusCode::NOT_MODIFIED;
        }
        page
    });
    for number in 0..TRIES {
        let target = format!("/{number}");
        site.get(&target).await;
        site.settled().await;
        assert!(!store.has(&name_of(&target)), "it is not fresh");
        let refused = site.handle.statistics().shared_refused;
        assert_eq!(site.get(&target).await.body, "hello");
        let name = name_of(&target);
        eventually("it is written, or not", async || {
            store.has(&name) || site.handle.statistics().shared_refused > refused
        })
        .await;
        if store.has(&name) {
            return;
        }
    }
    panic!("no confirmed page came into the server");
}

#[test]
fn each_runtime_has_connections_of_its_own() {
    let store = memcached();
    // Made outside of any runtime.
    let (a, b) = (process("a", builder(&store)), process("b", builder(&store)));
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(answered_from_there(&a, &b, &store));
        runtime
    };
    let first = run();
    // The first still exists, and nothing drives its tasks.
    drop(run());
    drop(first);
    run();
}

#[test]
fn without_a_timer_the_application_answers() {
    let store = memcached();
    let site = process("a", builder(&store));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    runtime.block_on(async {
        assert_eq!(site.get("/").await.body, "/ by a");
        assert_eq!(site.get("/").await.body, "/ by a");
    });
    assert_eq!((site.asked(), site.handle.statistics().shared_stored), (1, 0));
}

/// The same, wherever the page is.
async fn answered_by_the_tier(one: &Site, other: &Site) -> (String, Got) {
    for number in 0..TRIES {
        let target = format!("/somewhere-{number}");
        assert_eq!(one.get(&target).await.status, StatusCode::OK);
        is_written(one).await;
        let before = other.asked();
        let got = other.get(&target).await;
        if other.asked() == before {
            return (target, got);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("no page came from the servers");
}

/// Pages and a purge of two processes with this tier.
async fn is_shared_by(tier: SharedTier) {
    let tier = || timed_builder().shared(tier.clone().timeout(Duration::from_secs(2)).secret(SECRET));
    let (a, b) = (process("a", tier()), process("b", tier()));
    let (target, got) = answered_by_the_tier(&a, &b).await;
    assert_eq!((got.status, &got.body), (StatusCode::OK, &format!("{target} by a")));
    assert!(got.cache_status().ends_with("detail=redis"), "{}", got.cache_status());
    assert!(b.handle.purge(&target).await.unwrap().reached_all);
    let asked = a.asked();
    eventually("the other process has heard of the purge", async || {
        a.get(&target).await;
        a.asked() > asked || a.get(&target).await.body.ends_with("by b")
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_chunks_of_a_purged_page_are_not_read() {
    const CHUNKS: u64 = 128;
    let memcached = Memcached::start("1m");
    let address = memcached.address().unwrap();
    let of_small_items = || {
        let servers = [MemcachedServer::new(address.ip().to_string(), address.port())];
        let tier = SharedTier::memcached(servers).item_bytes_max(64 << 10).timeout(Duration::from_secs(2));
        let builder = timed_builder().memory_bytes(256 << 20).shared(tier);
        Site::named(builder, None, |_| page("max-age=600", &"x".repeat((CHUNKS as usize) * (64 << 10)))).unwrap()
    };
    let (a, b) = (of_small_items(), of_small_items());
    let read_by_b = async |target: &str| {
        let before = memcached.items_read();
        assert_eq!(b.get(target).await.status, StatusCode::OK);
        memcached.items_read() - before
    };
    let mut tries = (0..TRIES).map(|number| format!("/large-{number}"));
    let shared = loop {
        let target = tries.next().expect("a page came from the server");
        a.get(&target).await;
        is_written(&a).await;
        let asked = b.asked();
        let read = read_by_b(&target).await;
        if b.asked() == asked {
            assert!(read > CHUNKS, "{read} items for a page of {CHUNKS} chunks");
            break target;
        }
    };
    let carried_out = || b.handle.shared_status().unwrap().purges_carried_out;
    let before = carried_out();
    a.handle.purge(&shared).await.unwrap();
    eventually("the other process hears of the purge", async || carried_out() > before).await;
    // The logs of purges are read meanwhile, four times a second by each process.
    let read = read_by_b(&shared).await;
    assert!(read < CHUNKS / 2, "{read} items for a page that was purged");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_cluster_shares() {
    let nodes = Redis::cluster();
    is_shared_by(SharedTier::redis_cluster(nodes.iter().map(|node| format!("redis://{}", node.address())))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_shares_by_tls() {
    let folder = Folder::new();
    let authority = Authority::new(folder.path(), "authority");
    let client = authority.certifies("process", "DNS:blog");
    let options = authority.server_options(&authority.certifies("server", "IP:127.0.0.1"));
    let server = Redis::start(options.chunks(2).map(|option| option.join(" ")).collect());
    let files = TlsFiles {
        ca: Some(authority.certificate()),
        client: Some(ClientFiles { certificate: client.certificate, key: client.key }),
    };
    is_shared_by(SharedTier::redis([format!("rediss://{}", server.address())]).tls(files)).await;
    let stranger = SharedTier::redis([format!("rediss://{}", server.address())])
        .tls(TlsFiles { ca: Some(Authority::new(folder.path(), "stranger").certificate()), client: None });
    let alone = process("alone", timed_builder().shared(stranger));
    assert_eq!(alone.get("/").await.body, "/ by alone");
    is_written(&alone).await;
    assert_eq!(alone.handle.statistics().shared_stored, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_version_or_other_rules_do_not_use_what_is_stored() {
    let store = memcached();
    let a = process("a", builder(&store));
    let same = process("same", builder(&store));
    let others = [
        process("b", builder(&store).version("2")),
        process("b", builder(&store).grace(Duration::from_secs(60))),
        process("b", builder(&store).identify(|_| Visitor::Anonymous)),
    ];
    for other in &others {
        let (target, _) = answered_from_there(&a, &same, &store).await;
        assert_eq!(other.get(&target).await.body, format!("{target} by b"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn applications_of_two_processes_are_the_same_by_their_name_alone() {
    use tower::{Layer, service_fn};
    let store = memcached();
    let layers = [builder(&store).build().unwrap(), builder(&store).build().unwrap()];
    let calls = counter();
    let application = |name: &'static str| {
        let calls = calls.clone();
        service_fn(move |_: http::Request<Body>| {
            calls.fetch_add(1, Ordering::SeqCst);
            async move { Ok::<_, std::convert::Infallible>(page("max-age=600", name)) }
        })
    };
    let blog = layers[0].0.named_application("blog").layer(application("blog"));
    let others = [
        ("first", layers[0].0.layer(application("first"))),
        ("second", layers[0].0.layer(application("second"))),
        ("first elsewhere", layers[1].0.layer(application("first elsewhere"))),
        ("second elsewhere", layers[1].0.layer(application("second elsewhere"))),
        ("no name", layers[1].0.named_application("").layer(application("no name"))),
        ("shop", layers[1].0.named_application("shop").layer(application("shop"))),
    ];
    let same_blog = layers[1].0.named_application("blog").layer(application("blog elsewhere"));
    let get = async |service: kasoku_tower::CacheService<_>, target: &str| {
        support::ask(service, request(target).body(Body::empty()).unwrap()).await.body
    };
    let mut is_found = false;
    for number in 0..TRIES {
        let target = format!("/{number}");
        assert_eq!(get(blog.clone(), &target).await, "blog");
        eventually("the page is written, or not", async || {
            let statistics = layers[0].1.statistics();
            statistics.shared_stored + statistics.shared_refused >= statistics.stored
        })
        .await;
        let answer = get(same_blog.clone(), &target).await;
        is_found |= answer == "blog";
        for (body, other) in &others {
            assert_eq!(get(other.clone(), &target).await, *body);
        }
        if is_found {
            return;
        }
    }
    panic!("the application of that name has never found a page");
}

#[test]
fn what_can_not_be_is_an_error_of_the_builder() {
    let one = || [MemcachedServer::new("127.0.0.1", 11211)];
    for (tier, why) in [
        (SharedTier::memcached([]), "server"),
        (SharedTier::memcached((0..101).map(|port| MemcachedServer::new("a.example", port))), "100"),
        (SharedTier::memcached(one().map(|server| server.weight(0))), "weight"),
        (SharedTier::memcached(one().map(|server| server.weight(1001))), "weight"),
        (SharedTier::memcached(one()).namespace("a b"), "namespace"),
        (SharedTier::memcached(one()).secret(*b"short"), "secret"),
        (SharedTier::memcached(one()).timeout(Duration::ZERO), "timeout"),
        (SharedTier::memcached(one()).timeout(Duration::MAX), "timeout"),
        (SharedTier::memcached(one()).item_bytes_max(1), "item"),
        (SharedTier::memcached(one()).item_bytes_max(usize::MAX), "item"),
        (SharedTier::redis([""; 0]), "address"),
        (SharedTier::redis(["http://a.example"]), "address"),
        (SharedTier::redis(["redis://u:hunter2@a.example"]), "password"),
        (SharedTier::redis_cluster(["redis+unix:///run/redis.sock"]), "cluster"),
    ] {
        assert!(!format!("{tier:?}").contains("hunter2"));
        let error = timed_builder().shared(tier).build().unwrap_err();
        let text = error.to_string();
        assert!(
            matches!(error, BuildError::Exchange(ExchangeError::SharedTier(_))) && text.contains(why),
            "{why}: {text}"
        );
        assert!(!text.contains("hunter2"));
    }
    let peers = Peers::new(([127, 0, 0, 1], 0).into(), SECRET).peer("127.0.0.1", 1);
    let both = timed_builder().shared(SharedTier::memcached(one())).peers(peers).build();
    assert_eq!(both.unwrap_err(), BuildError::Exchange(ExchangeError::PeersBesideSharedTier));
}
