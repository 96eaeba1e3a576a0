//! The disk tier below the memory tier, driven by a host without an origin of its own: each miss is answered with a page of zeros.

#![allow(clippy::unwrap_used, clippy::panic)]

use bytes::Bytes;
use http::{Method, StatusCode};
use kasoku_cache::disk::{Admission, DiskCounts, DiskOptions, DiskState};
use kasoku_cache::represent::CodingContext;
use kasoku_cache::verdict::OriginExchange;
use kasoku_cache::{Cache, CacheLimits, CacheRoute, Lookup, SharedRequest, Verdict};
use kasoku_semantics::client_address::Peer;
use kasoku_semantics::coding_rules::CodingRules;
use kasoku_semantics::policy::{Policy, Profile};
use kasoku_semantics::time::Now;
use kasoku_wire::{RequestHead, ResponseHead};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const NOW: Now = Now { unix_ms: 1_700_000_000_000, mono_ms: 0 };
const MIB: u64 = 1 << 20;

/// Where a page came from.
#[derive(Debug, PartialEq, Eq)]
enum From {
    Memory,
    Disk,
    Origin,
}

struct Host {
    cache: Cache,
    policy: Arc<Policy>,
}

impl Host {
    /// With 8 MiB of memory and 64 MiB of disk.
    fn start(path: &Path, admission: Admission) -> Self {
        let limits = CacheLimits { memory_bytes_max: 8 * MIB, object_bytes_max: MIB };
        let options = DiskOptions { path: path.to_owned(), size_bytes: 64 * MIB, admission };
        let host = Self {
            cache: Cache::with_disk(limits, options, Arc::new(|| NOW)).unwrap(),
            policy: Arc::new(Policy::new(Profile::Safe)),
        };
        until(|| host.cache.disk_status().unwrap().state == DiskState::Serving { is_loading: false, paused: None });
        host
    }

    async fn get(&self, target: &str, bytes: usize) -> From {
        let received = RequestHead::new(Method::GET, target).with("Host", "a.example");
        let key = self.cache.key(format!("http://a.example{target}"));
        let route = CacheRoute::new(&key, &self.policy);
        if self.cache.hit(&received, &route, NOW).is_some() {
            return From::Memory;
        }
        let request = SharedRequest::new(&received, &route, &Peer::UNKNOWN);
        let found = match self.cache.look_up(&request, NOW) {
            Lookup::Recall(recall) => {
                recall.wait().await;
                self.cache.look_up_recalled(&request, &recall, NOW)
            }
            found => found,
        };
        match found {
            Lookup::Hit(..) => From::Disk,
            Lookup::Fill(mut writer, _) => {
                let head = ResponseHead::new(StatusCode::OK)
                    .with("Cache-Control", "public, max-age=3600")
                    .with("Content-Type", "text/html");
                writer.prepare();
                let verdict = writer.on_response(&OriginExchange {
                    response: &head,
                    request_time: NOW,
                    response_time: NOW,
                    body_length: Some(bytes as u64),
                    is_file: false,
                });
                let Verdict::Write(mut writer) = verdict else { panic!("it may be stored") };
                writer.push(Bytes::from(vec![0; bytes])).await.unwrap();
                writer.finish(None);
                From::Origin
            }
            _ => panic!("one request at a time"),
        }
    }

    /// With more pages than memory holds. Returns the numbers of those that it has no more as well.
    async fn start_full(path: &Path) -> (Self, Vec<u32>) {
        let host = Self::start(path, Admission::Always);
        for number in 0..300 {
            host.get_new(&format!("/{number}"), 60_000).await;
        }
        let evicted: Vec<u32> = (0..300).filter(|number| !host.is_hit(&page(*number), NOW)).collect();
        assert!(evicted.len() >= 100, "{evicted:?}");
        (host, evicted)
    }

    /// Whether memory answers the request as it was received.
    fn is_hit(&self, received: &RequestHead, now: Now) -> bool {
        let key = self.cache.key(format!("http://a.example{}", received.target));
        self.cache.hit(received, &CacheRoute::new(&key, &self.policy), now).is_some()
    }

    /// Whether the disk does; codings are made by the default rules.
    fn is_hit_on_disk(&self, received: &RequestHead, now: Now) -> bool {
        let key = self.cache.key(format!("http://a.example{}", received.target));
        let codings = CodingContext { rules: &CodingRules::default(), policy: &self.policy, mark: 1 };
        self.cache.hit_on_disk(received, &CacheRoute::new(&key, &self.policy), Some(codings), now).is_some()
    }

    /// Gets a page that is not stored, and waits until it is written or refused.
    async fn get_new(&self, target: &str, bytes: usize) {
        let before = self.written();
        assert_eq!(self.get(target, bytes).await, From::Origin, "{target}");
        until(|| self.written() > before);
    }

    fn written(&self) -> u64 {
        let DiskCounts { stored_objects, refused_objects, unproven_objects, .. } =
            self.cache.disk_status().unwrap().counts;
        stored_objects + refused_objects + unproven_objects
    }
}

fn page(number: u32) -> RequestHead {
    RequestHead::new(Method::GET, format!("/{number}")).with("Host", "a.example")
}

fn until(is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(20), "it never happened");
        std::thread::sleep(Duration::from_micros(100));
    }
}

#[tokio::test]
async fn what_is_hot_in_memory_survives_a_restart_however_much_is_stored_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let host = Host::start(folder.path(), Admission::Always);
    // More than memory holds.
    for number in 0..300 {
        host.get_new(&format!("/before/{number}"), 60_000).await;
    }
    host.get_new("/hot", 4000).await;
    for number in 0..2000 {
        host.get_new(&format!("/once/{number}"), 60_000).await;
        assert_eq!(host.get("/hot", 4000).await, From::Memory, "after {number} others");
    }
    drop(host);
    let host = Host::start(folder.path(), Admission::Always);
    assert_eq!(host.get("/once/500", 60_000).await, From::Origin, "more was stored than there is room for");
    assert_eq!(host.get("/hot", 4000).await, From::Disk);
}

#[tokio::test]
async fn what_memory_evicts_and_the_disk_does_not_have_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let host = Host::start(folder.path(), Admission::SecondRequest);
    for target in ["/hot", "/invalidated", "/once"] {
        host.get_new(target, 4000).await;
    }
    for _ in 0..3 {
        assert_eq!(host.get("/hot", 4000).await, From::Memory);
        assert_eq!(host.get("/invalidated", 4000).await, From::Memory);
    }
    assert_eq!(host.cache.disk_status().unwrap().objects, 0);
    let _ = host.cache.invalidate(&host.cache.key("http://a.example/invalidated"));
    for number in 0..800 {
        host.get_new(&format!("/{number}"), 60_000).await;
        assert_eq!(host.get(&format!("/{number}"), 60_000).await, From::Memory);
    }
    drop(host);
    let host = Host::start(folder.path(), Admission::SecondRequest);
    assert_eq!(host.get("/hot", 4000).await, From::Disk);
    assert_eq!(host.get("/invalidated", 4000).await, From::Origin);
}

#[tokio::test]
async fn where_that_is_wanted_only_what_memory_evicts_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let host = Host::start(folder.path(), Admission::OnEviction);
    for target in ["/evicted", "/purged"] {
        assert_eq!(host.get(target, 4000).await, From::Origin);
    }
    assert_eq!(host.get("/evicted", 4000).await, From::Memory);
    let _ = host.cache.invalidate(&host.cache.key("http://a.example/purged"));
    for number in 0..800 {
        let target = format!("/{number}");
        assert_eq!(host.get(&target, 60_000).await, From::Origin);
        assert_eq!(host.get(&target, 60_000).await, From::Memory);
        // What waits to be written counts as memory.
        until(|| !host.cache.is_short());
    }
    let evicted = host.cache.evicted().values;
    drop(host);
    let host = Host::start(folder.path(), Admission::OnEviction);
    // An evicted response may count as changed where another key shares its counter.
    let objects = host.cache.disk_status().unwrap().objects;
    assert!((evicted * 9 / 10..=evicted).contains(&objects), "{objects} of {evicted}");
    assert_eq!(host.get("/evicted", 4000).await, From::Disk);
    assert_eq!(host.get("/purged", 4000).await, From::Origin);
    assert_eq!(host.get("/799", 60_000).await, From::Origin, "memory had it at the end");
}

#[tokio::test]
async fn what_is_on_disk_answers_the_request_as_it_was_received_if_it_needs_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let host = Host::start(folder.path(), Admission::Always);
    for target in ["/a", "/b", "/invalidated"] {
        host.get_new(target, 4000).await;
    }
    let _ = host.cache.invalidate(&host.cache.key("http://a.example/invalidated"));
    // Each in a process that has nothing in memory.
    let answers = |received: RequestHead, now: Now| {
        let host = Host::start(folder.path(), Admission::Always);
        let is_hit = host.is_hit_on_disk(&received, now);
        assert_eq!(host.cache.disk_status().unwrap().counts.hit_objects, u64::from(is_hit));
        // Memory has room, so it is there now.
        assert_eq!((host.is_hit(&received, now), host.is_hit_on_disk(&received, now)), (is_hit, false));
        is_hit
    };
    let get = |target: &str| RequestHead::new(Method::GET, target).with("Host", "a.example");
    drop(host);
    assert!(answers(get("/a"), NOW));
    assert!(!answers(get("/none"), NOW));
    assert!(!answers(get("/invalidated"), NOW));
    // It has to be validated.
    assert!(!answers(get("/a"), NOW.after(3_700_000)));
    // The origin would get other fields than these, or the request may get nothing that is stored.
    assert!(answers(get("/b"), NOW));
    assert!(!answers(get("/b").with("Connection", "x-any").with("X-Any", "1"), NOW));
    assert!(!answers(RequestHead::new(Method::POST, "/b").with("Host", "a.example"), NOW));
}

#[tokio::test]
async fn what_is_on_disk_comes_into_a_full_memory_when_it_is_requested_again() {
    let folder = tempfile::tempdir().unwrap();
    let (host, evicted) = Host::start_full(folder.path()).await;
    let is_in_memory = |number: u32| host.is_hit(&page(number), NOW);
    let [first, second, purged, ..] = *evicted else { panic!("{evicted:?}") };
    for number in [first, second, purged] {
        assert!(host.is_hit_on_disk(&page(number), NOW) && !is_in_memory(number), "{number}");
    }
    let _ = host.cache.invalidate(&host.cache.key(format!("http://a.example/{purged}")));
    assert!(!host.is_hit_on_disk(&page(purged), NOW));
    // Memory has only what was stored first. It may let something new stay only if that comes in for the second time.
    for number in [first, second] {
        let uses = (0..2).filter(|_| !is_in_memory(number) && host.is_hit_on_disk(&page(number), NOW)).count();
        assert!(is_in_memory(number) && uses > 0, "{number}: {uses}");
    }
}

#[tokio::test]
async fn what_is_to_be_compressed_comes_into_a_full_memory_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (host, evicted) = Host::start_full(folder.path()).await;
    let changes = || host.cache.evicted().values;
    for number in &evicted[..5] {
        let before = changes();
        assert!(host.is_hit_on_disk(&page(*number), NOW));
        assert_eq!(changes(), before, "it stays on disk");
    }
    for number in &evicted[5..10] {
        let before = changes();
        assert!(host.is_hit_on_disk(&page(*number).with("Accept-Encoding", "gzip"), NOW));
        assert!(changes() > before || host.is_hit(&page(*number), NOW), "it was kept");
    }
}
