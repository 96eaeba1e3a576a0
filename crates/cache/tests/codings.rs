//! Tests that coded forms of a stored body are charged, weighed, and dropped with the body.

#![allow(clippy::unwrap_used, clippy::panic)]

use bytes::Bytes;
use http::{Method, StatusCode};
use kasoku_cache::coding::Added;
use kasoku_cache::verdict::OriginExchange;
use kasoku_cache::{Cache, CacheLimits, CacheRoute, Entry, Key, Lookup, SharedRequest, Verdict};
use kasoku_semantics::client_address::Peer;
use kasoku_semantics::coding::Coding;
use kasoku_semantics::policy::{Policy, Profile};
use kasoku_semantics::time::Now;
use kasoku_wire::{RequestHead, ResponseHead};
use std::sync::Arc;

const NOW: Now = Now { unix_ms: 1_700_000_000_000, mono_ms: 0 };
const URI: &str = "http://a.example/page";

struct Site {
    cache: Cache,
    key: Key,
    policy: Arc<Policy>,
}

impl Site {
    fn new(memory_bytes_max: u64) -> Self {
        let cache = Cache::new(CacheLimits { memory_bytes_max, object_bytes_max: memory_bytes_max / 8 });
        let key = cache.key(URI);
        Self { cache, key, policy: Arc::new(Policy::new(Profile::Safe)) }
    }

    /// The result of a look-up, this many seconds after the page was stored.
    fn look_up(&self, seconds_later: u64) -> Lookup {
        let route = CacheRoute::new(&self.key, &self.policy);
        self.cache.look_up(&SharedRequest::new(&request(), &route, &Peer::UNKNOWN), NOW.after(seconds_later * 1000))
    }

    /// Stores a page of this length, in bytes, that is fresh for a minute.
    fn store(&self, length: usize) -> Arc<Entry> {
        let Lookup::Fill(writer, _) = self.look_up(0) else { panic!("not a fill") };
        let Verdict::Write(mut body) = writer.on_response(&exchange(&response(), NOW)) else { panic!("not stored") };
        let piece = Bytes::from(vec![b'x'; length]);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(body.push(piece)).unwrap();
        assert!(body.finish(None));
        self.hit()
    }

    fn store_instead(&self, length: usize) -> Arc<Entry> {
        let _ = self.cache.invalidate(&self.key);
        self.store(length)
    }

    fn hit(&self) -> Arc<Entry> {
        match self.look_up(1) {
            Lookup::Hit(entry, ..) => entry,
            _ => panic!("not a hit"),
        }
    }

    fn add(&self, entry: &Arc<Entry>, coding: Coding, length: usize) -> Added {
        self.cache
            .add_coding(URI, entry, coding, |_, bytes_max| (length as u64 <= bytes_max).then(|| vec![b'z'; length]))
    }
}

fn request() -> RequestHead {
    RequestHead::new(Method::GET, "/page").with("Host", "a.example")
}

fn response() -> ResponseHead {
    ResponseHead::new(StatusCode::OK).with("Cache-Control", "max-age=60").with("ETag", "\"1\"")
}

fn exchange(response: &ResponseHead, now: Now) -> OriginExchange<'_> {
    OriginExchange { response, request_time: now, response_time: now, body_length: None, is_file: false }
}

#[test]
fn a_coded_form_is_charged_and_weighs_for_as_long_as_it_is_stored() {
    let site = Site::new(8 << 20);
    let entry = site.store(100_000);
    let (held, used) = (site.cache.held_bytes(), site.cache.used_bytes());
    assert_eq!(site.add(&entry, Coding::Gzip, 20_000), Added::Made);
    assert_eq!(site.hit().body.coded(Coding::Gzip).unwrap().complete_length(), Some(20_000));
    assert_eq!(site.hit().body.codings().collect::<Vec<_>>(), [Coding::Gzip]);
    let (more_held, more_used) = (site.cache.held_bytes() - held, site.cache.used_bytes() - used);
    assert!((20_000..22_000).contains(&more_held), "{more_held}");
    assert_eq!(more_held, more_used);
    let _ = site.cache.invalidate(&site.key);
    assert_eq!(site.cache.used_bytes(), 0);
    drop(entry);
    assert_eq!(site.cache.held_bytes(), 0);
}

#[test]
fn what_saves_less_than_a_tenth_is_not_kept() {
    let site = Site::new(8 << 20);
    let entry = site.store(10_000);
    assert_eq!(site.add(&entry, Coding::Br, 9_001), Added::Useless);
    assert!(site.hit().body.coded(Coding::Br).is_none());
    assert_eq!(site.add(&entry, Coding::Br, 9_000), Added::Made);
}

#[test]
fn a_304_keeps_what_was_made_and_a_new_body_does_not() {
    let site = Site::new(8 << 20);
    let entry = site.store(10_000);
    assert_eq!(site.add(&entry, Coding::Zstd, 1_000), Added::Made);
    let used = site.cache.used_bytes();
    let Lookup::Fill(mut writer, _) = site.look_up(61) else { panic!("not stale") };
    let conditional = writer.prepare();
    assert_eq!(conditional.fields.only("if-none-match"), Some(&b"\"1\""[..]));
    let not_modified = ResponseHead::new(StatusCode::NOT_MODIFIED).with("Cache-Control", "max-age=600");
    let Verdict::Settled(..) = writer.on_response(&exchange(&not_modified, NOW.after(61_000))) else {
        panic!("not refreshed")
    };
    let Lookup::Hit(refreshed, ..) = site.look_up(62) else { panic!("not fresh") };
    assert!(!Arc::ptr_eq(&refreshed, &entry));
    assert!(refreshed.body.coded(Coding::Zstd).is_some());
    assert!(site.cache.used_bytes().abs_diff(used) < 200, "it weighs what it weighed");
    // The stored entry has the same body under a newer head, so the coding can be kept.
    assert_eq!(site.add(&entry, Coding::Gzip, 1_000), Added::Made);
    let _ = site.cache.invalidate(&site.key);
    let other = site.store(10_000);
    assert_eq!(other.body.codings().count(), 0);
    assert_eq!(site.add(&entry, Coding::Br, 1_000), Added::Gone, "no request would find it");
}

#[test]
fn without_memory_nothing_is_made() {
    let site = Site::new(1 << 20);
    // All pages but the last are replaced while their readers hold them.
    let held: Vec<_> = (0..11).map(|_| site.store_instead(90_000)).collect();
    let entry = site.hit();
    assert!(!site.cache.has_room_to_code(&entry.body), "{}", site.cache.held_bytes());
    assert_eq!(site.add(&entry, Coding::Gzip, 100), Added::NoRoom);
    drop(held);
    assert_eq!(site.add(&entry, Coding::Gzip, 100), Added::Made);
}

#[test]
fn a_response_never_gets_larger_than_any_may_be() {
    let site = Site::new(8 << 20);
    let entry = site.store(700_000);
    assert_eq!(site.add(&entry, Coding::Gzip, 200_000), Added::Made);
    assert_eq!(site.add(&entry, Coding::Br, 200_000), Added::Useless);
    assert_eq!(site.hit().body.codings().collect::<Vec<_>>(), [Coding::Gzip]);
}

#[test]
fn one_takes_it_over_and_may_give_it_up() {
    let site = Site::new(8 << 20);
    let body = &site.store(10_000).body;
    assert!(body.begin_coding(Coding::Gzip));
    assert!(!body.begin_coding(Coding::Gzip));
    assert!(body.begin_coding(Coding::Br));
    body.give_up_coding(Coding::Gzip);
    assert!(body.begin_coding(Coding::Gzip));
    assert!(!body.begin_coding(Coding::Br));
}

#[test]
fn a_finding_holds_until_the_rules_change() {
    let entry = Site::new(8 << 20).store(10_000);
    assert!(entry.may_be_coded(1, || true));
    assert!(entry.may_be_coded(1, || panic!("asked again")));
    assert!(!entry.may_be_coded(2, || false));
    assert!(!entry.may_be_coded(2, || panic!("asked again")));
    assert!(entry.may_be_coded(1, || true));
}
