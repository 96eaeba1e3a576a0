//! Tests of fills without a socket: which requests wait, what each client gets, what is stored.

#![allow(clippy::unwrap_used, clippy::panic)]

use bytes::Bytes;
use http::{Method, StatusCode};
use kasoku_cache::verdict::OriginExchange;
use kasoku_cache::{
    BodyWriter, Cache, CacheLimits, CacheRoute, Entry, FillEvent, FillReader, FillWriter, Joined, Key, Lookup,
    SharedRequest, Verdict,
};
use kasoku_semantics::client_address::Peer;
use kasoku_semantics::policy::{Policy, Profile};
use kasoku_semantics::range::ByteRange;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::time::Now;
use kasoku_wire::{RequestHead, ResponseHead};
use std::sync::Arc;

const NOW: Now = Now { unix_ms: 1_700_000_000_000, mono_ms: 0 };
const URI: &str = "http://a.example/page";

/// A cache, and what all requests of a test have in common.
struct Site {
    cache: Cache,
    key: Key,
    policy: Arc<Policy>,
}

impl Site {
    fn new() -> Self {
        Self::with_object_bytes_max(16 << 20)
    }

    fn with_object_bytes_max(object_bytes_max: u64) -> Self {
        let cache = Cache::new(CacheLimits { memory_bytes_max: 256 << 20, object_bytes_max });
        let key = cache.key(URI);
        Self { cache, key, policy: Arc::new(Policy::new(Profile::Safe)) }
    }

    fn shared(&self, request: &RequestHead) -> SharedRequest {
        SharedRequest::new(request, &CacheRoute::new(&self.key, &self.policy), &Peer::UNKNOWN)
    }

    fn look_up(&self, request: &RequestHead, seconds_later: u64) -> Lookup {
        self.cache.look_up(&self.shared(request), NOW.after(seconds_later * 1000))
    }

    fn fill(&self, request: &RequestHead) -> FillWriter {
        match self.look_up(request, 0) {
            Lookup::Fill(writer, _) => writer,
            _ => panic!("not a fill"),
        }
    }

    fn join(&self, request: &RequestHead) -> FillReader {
        match self.look_up(request, 0) {
            Lookup::Join(reader, _) => reader,
            _ => panic!("not a join"),
        }
    }

    fn hit(&self, request: &RequestHead) -> Option<Arc<Entry>> {
        match self.look_up(request, 1) {
            Lookup::Hit(entry, ..) => Some(entry),
            _ => None,
        }
    }

    async fn store(&self, request: &RequestHead, response: &ResponseHead, body: &'static str) {
        let mut writer = write(self.fill(request), response);
        writer.push(Bytes::from(body)).await.unwrap();
        assert!(writer.finish(None), "not stored");
    }
}

fn get() -> RequestHead {
    RequestHead::new(Method::GET, "/page")
}

fn ok() -> ResponseHead {
    ResponseHead::new(StatusCode::OK).with("Cache-Control", "max-age=60")
}

fn verdict(writer: FillWriter, response: &ResponseHead) -> Verdict {
    let (request_time, response_time) = (NOW, NOW);
    writer.on_response(&OriginExchange { response, request_time, response_time, body_length: None, is_file: false })
}

fn write(writer: FillWriter, response: &ResponseHead) -> BodyWriter {
    match verdict(writer, response) {
        Verdict::Write(body) => body,
        Verdict::Private(reason) => panic!("private: {reason:?}"),
        _ => panic!("neither"),
    }
}

fn text(entry: &Entry) -> String {
    String::from_utf8(entry.body.chunks().flatten().copied().collect()).unwrap()
}

async fn read_all(reader: &mut FillReader) -> Result<String, String> {
    let mut read = String::new();
    loop {
        match reader.next().await {
            FillEvent::Chunk(piece) => read.push_str(std::str::from_utf8(&piece).unwrap()),
            FillEvent::End(_) => return Ok(read),
            FillEvent::Spooled(_) | FillEvent::Cut => return Err(read),
        }
    }
}

#[tokio::test]
async fn who_joins_late_gets_the_whole_from_the_start() {
    let site = Site::new();
    let writer = site.fill(&get());
    let mut early = site.join(&get());
    let mut body = write(writer, &ok());
    body.push(Bytes::from("first ")).await.unwrap();
    let mut late = site.join(&get());
    body.push(Bytes::from("second")).await.unwrap();
    assert!(body.finish(None));
    assert!(matches!(early.head().await, Joined::Streaming(_)));
    assert_eq!(read_all(&mut early).await.as_deref(), Ok("first second"));
    assert_eq!(read_all(&mut late).await.as_deref(), Ok("first second"));
    assert_eq!(site.hit(&get()).map(|entry| text(&entry)).as_deref(), Some("first second"));
    assert_eq!(site.cache.fills_running(), 0);
}

#[tokio::test]
async fn a_dropped_writer_wakes_everyone_who_waits() {
    let site = Site::new();
    let writer = site.fill(&get());
    let reader = site.join(&get());
    drop(writer);
    assert!(matches!(reader.head().await, Joined::Failed(Reason::OriginClosedEarly)));

    let writer = site.fill(&get());
    let mut reader = site.join(&get());
    let mut body = write(writer, &ok());
    body.push(Bytes::from("half")).await.unwrap();
    drop(body);
    assert_eq!(read_all(&mut reader).await, Err("half".to_owned()));
    assert!(site.hit(&get()).is_none(), "a cut body was stored");
    assert_eq!(site.cache.fills_running(), 0);
}

#[tokio::test]
async fn an_invalidation_during_a_fill_keeps_it_from_being_stored_and_from_being_joined() {
    let site = Site::new();
    let writer = site.fill(&get());
    let mut reader = site.join(&get());
    let mut body = write(writer, &ok());
    body.push(Bytes::from("old")).await.unwrap();
    let _ = site.cache.invalidate(&site.key);
    let fresh = site.fill(&get());
    assert!(!body.finish(None), "stored after the invalidation");
    assert_eq!(read_all(&mut reader).await.as_deref(), Ok("old"));
    assert!(site.hit(&get()).is_none());
    let mut body = write(fresh, &ok());
    body.push(Bytes::from("new")).await.unwrap();
    assert!(body.finish(None));
    assert_eq!(site.hit(&get()).map(|entry| text(&entry)).as_deref(), Some("new"));
}

#[tokio::test]
async fn a_private_answer_releases_who_waits_and_the_next_do_not_wait() {
    let site = Site::new();
    let writer = site.fill(&get());
    let reader = site.join(&get());
    let private = ok().with("Cache-Control", "private");
    assert!(matches!(verdict(writer, &private), Verdict::Private(Reason::Private)));
    assert!(matches!(reader.head().await, Joined::Released(Reason::Private)));
    let first = site.fill(&get());
    let second = site.fill(&get());
    drop((first, second));
}

#[tokio::test]
async fn a_visitor_with_a_cookie_does_not_make_a_key_known_as_private() {
    let site = Site::new();
    let visitor = get().with("Cookie", "session=1");
    let writer = site.fill(&visitor);
    assert!(matches!(verdict(writer, &ok()), Verdict::Private(Reason::Cookie)));
    let _writer = site.fill(&get());
    let _reader = site.join(&get());
}

#[tokio::test]
async fn a_request_that_is_about_to_fill_a_variant_that_has_just_been_stored_does_not_ask() {
    let site = Site::new();
    let request = |n: &str| get().with("X-A", n);
    let varied = ok().with("Vary", "X-A");
    let first = site.fill(&request("1"));
    let waiting = [site.join(&request("2")), site.join(&request("2")), site.join(&request("3"))];
    let _body = write(first, &varied);
    let [quick, slow, other] = &waiting;
    let look_up_variant = async |reader: &FillReader, request: &RequestHead| {
        let Joined::Streaming(meta) = reader.head().await else { panic!("no head") };
        site.cache.look_up_variant(&site.shared(request), &meta, NOW)
    };
    let Lookup::Fill(writer, _) = look_up_variant(quick, &request("2")).await else { panic!("not a fill") };
    let mut body = write(writer, &varied);
    body.push(Bytes::from("two")).await.unwrap();
    assert!(body.finish(None));
    let Lookup::Hit(entry, ..) = look_up_variant(slow, &request("2")).await else { panic!("asks again") };
    assert_eq!(text(&entry), "two");
    // What is stored for another variant does not answer this one.
    assert!(matches!(look_up_variant(other, &request("3")).await, Lookup::Fill(_, Reason::VaryMiss)));
}

#[tokio::test]
async fn a_304_refreshes_for_all_but_not_when_it_was_meant_for_one_visitor() {
    let site = Site::new();
    let tagged = ok().with("ETag", "\"1\"");
    site.store(&get(), &tagged, "body").await;
    let not_modified = ResponseHead::new(StatusCode::NOT_MODIFIED).with("ETag", "\"1\"").with("X-New", "1");

    for (request, is_refreshed) in [(get().with("Cookie", "a=b"), false), (get(), true)] {
        let Lookup::Fill(mut writer, Reason::Stale) = site.look_up(&request, 120) else { panic!("not stale") };
        let asked = writer.prepare();
        assert_eq!(asked.fields.only("if-none-match"), Some(&b"\"1\""[..]));
        let later = NOW.after(120_000);
        let exchange = OriginExchange {
            response: &not_modified,
            request_time: later,
            response_time: later,
            body_length: Some(0),
            is_file: false,
        };
        let Verdict::Settled(entry, _) = writer.on_response(&exchange) else { panic!("not settled") };
        assert_eq!(text(&entry), "body");
        assert_eq!(matches!(site.look_up(&get(), 121), Lookup::Hit(..)), is_refreshed);
    }
    let Lookup::Hit(entry, ..) = site.look_up(&get(), 121) else { panic!("no hit") };
    assert_eq!(entry.meta.head.fields.only("x-new"), Some(&b"1"[..]));
}

/// A site whose operator grants a minute.
fn granting() -> Site {
    let mut policy = Policy::new(Profile::Safe);
    policy.grant.ttl_seconds = 60;
    Site { policy: Arc::new(policy), ..Site::new() }
}

#[tokio::test]
async fn an_application_that_wants_to_be_asked_each_time_is_asked_after_a_304_as_well() {
    let site = granting();
    let own = ResponseHead::new(StatusCode::OK).with("Cache-Control", "no-cache").with("ETag", "\"1\"");
    site.store(&get(), &own, "body").await;
    for seconds in 1..4 {
        let Lookup::Fill(writer, Reason::StaleNoCache) = site.look_up(&get(), seconds) else {
            panic!("{seconds} s: it is not asked")
        };
        // The 304 does not repeat it, and need not.
        let not_modified = ResponseHead::new(StatusCode::NOT_MODIFIED).with("ETag", "\"1\"");
        assert!(matches!(verdict(writer, &not_modified), Verdict::Settled(_, Reason::Revalidated)));
    }
}

#[tokio::test]
async fn a_page_that_varies_by_cookies_which_no_origin_gets_is_confirmed_by_a_304_that_says_so_again() {
    let site = granting();
    let own = ResponseHead::new(StatusCode::OK).with("Vary", "Cookie").with("ETag", "\"1\"");
    site.store(&get(), &own, "body").await;
    let Lookup::Fill(writer, Reason::Stale) = site.look_up(&get(), 61) else { panic!("not stale") };
    let not_modified = ResponseHead::new(StatusCode::NOT_MODIFIED).with("Vary", "Cookie").with("ETag", "\"1\"");
    assert!(matches!(verdict(writer, &not_modified), Verdict::Settled(_, Reason::Revalidated)));
    assert!(matches!(site.look_up(&get(), 1), Lookup::Hit(..)), "it is still stored");
}

#[tokio::test]
async fn in_profile_rfc_too_visitors_do_not_wait_in_a_row_for_pages_of_their_own() {
    let private = ResponseHead::new(StatusCode::OK).with("Cache-Control", "private");
    for request in [get(), get().with("Cookie", "sid=1"), get().with("Authorization", "Basic x")] {
        let site = Site { policy: Arc::new(Policy::new(Profile::Rfc)), ..Site::new() };
        assert!(matches!(verdict(site.fill(&request), &private), Verdict::Private(Reason::Private)));
        let _first = site.fill(&request);
        assert!(matches!(site.look_up(&request, 0), Lookup::Fill(..)), "the second waits for the first");
    }
}

#[tokio::test]
async fn parts_with_the_same_strong_validator_become_a_whole() {
    let site = Site::new();
    let part = |first: u64, last: u64| {
        ResponseHead::new(StatusCode::PARTIAL_CONTENT)
            .with("Cache-Control", "max-age=60")
            .with("ETag", "\"1\"")
            .with("Content-Range", format!("bytes {first}-{last}/10"))
    };
    let head = get().with("Range", "bytes=0-4");
    let mut body = write(site.fill(&head), &part(0, 4));
    body.push(Bytes::from("01234")).await.unwrap();
    assert!(body.finish(None));
    assert!(site.hit(&get().with("Range", "bytes=1-3")).is_some());

    let Lookup::Fill(mut writer, Reason::PartialMiss) = site.look_up(&get(), 1) else { panic!("not a completion") };
    let asked = writer.prepare();
    assert_eq!(asked.fields.only("range"), Some(&b"bytes=5-"[..]));
    assert_eq!(asked.fields.only("if-range"), Some(&b"\"1\""[..]));

    let mut body = write(writer, &part(5, 9));
    let reader = body.reader();
    body.push(Bytes::from("56789")).await.unwrap();
    assert!(body.finish(None));
    let Joined::Settled(entry, _) = reader.head().await else { panic!("not settled") };
    assert_eq!(text(&entry), "0123456789");
    assert_eq!(site.hit(&get()).map(|entry| text(&entry)).as_deref(), Some("0123456789"));
}

#[tokio::test]
async fn a_part_of_another_version_is_asked_for_anew_as_a_whole() {
    let site = Site::new();
    let part = |etag: &str, range: &str| {
        ResponseHead::new(StatusCode::PARTIAL_CONTENT)
            .with("Cache-Control", "max-age=60")
            .with("ETag", etag)
            .with("Content-Range", range)
    };
    let head = get().with("Range", "bytes=0-4");
    let mut body = write(site.fill(&head), &part("\"1\"", "bytes 0-4/10"));
    body.push(Bytes::from("01234")).await.unwrap();
    assert!(body.finish(None));
    let Lookup::Fill(mut writer, _) = site.look_up(&get(), 1) else { panic!("no fill") };
    writer.prepare();
    let Verdict::AskAgain(mut writer) = verdict(writer, &part("\"2\"", "bytes 5-9/10")) else { panic!("combined") };
    let asked = writer.prepare();
    assert!(!asked.fields.contains("range") && !asked.fields.contains("if-range"));
}

#[tokio::test]
async fn a_part_that_is_shorter_than_it_says_is_not_stored() {
    let site = Site::new();
    let request = get().with("Range", "bytes=0-4");
    let part = ok().with("Content-Range", "bytes 0-4/10");
    let part = ResponseHead { status: StatusCode::PARTIAL_CONTENT, ..part };
    let mut body = write(site.fill(&request), &part);
    body.push(Bytes::from("0123")).await.unwrap();
    assert!(!body.finish(None));
    assert!(site.hit(&request).is_none());
}

#[tokio::test]
async fn what_grows_too_large_is_not_stored_and_goes_at_the_pace_of_its_reader() {
    const PIECES: usize = 64;
    let site = Site::with_object_bytes_max(256 << 10);
    let writer = site.fill(&get());
    let mut reader = site.join(&get());
    let mut laggard = site.join(&get());
    let mut body = write(writer, &ok());
    let piece = Bytes::from(vec![b'x'; 128 << 10]);
    let writing = async {
        for _ in 0..PIECES {
            body.push(piece.clone()).await.unwrap();
        }
        body.finish(None)
    };
    let (is_stored, read) = tokio::join!(writing, read_all(&mut reader));
    assert!(!is_stored);
    assert_eq!(read.map(|text| text.len()), Ok(PIECES * piece.len()));
    assert!(read_all(&mut laggard).await.is_err(), "a laggard got what was dropped");
    assert!(site.hit(&get()).is_none());
}

#[tokio::test]
async fn a_fill_that_can_not_be_stored_and_has_no_reader_is_abandoned() {
    let site = Site::with_object_bytes_max(16 << 10);
    let mut body = write(site.fill(&get()), &ok());
    assert!(body.push(Bytes::from(vec![0; 64 << 10])).await.is_err());
}

#[tokio::test]
async fn of_several_that_fit_the_most_recent_is_used() {
    //= RFC 9111 section 4
    //# When more than one suitable response is stored, a cache MUST use
    //# the most recent one (as determined by the Date header field).
    let site = Site::new();
    let varied = |by: &str| ok().with("Vary", by);
    let request = get().with("A", "1").with("B", "1");
    site.store(&request, &varied("A"), "by a").await;
    let other = get().with("A", "2").with("B", "1");
    site.store(&other, &varied("B"), "by b").await;
    // Both fit a request with A: 1 and B: 1.
    assert_eq!(site.hit(&request).map(|entry| text(&entry)).as_deref(), Some("by b"));
}

#[tokio::test]
async fn the_oldest_variant_goes_when_there_are_too_many() {
    let site = Site::new();
    let request = |n: usize| get().with("A", n.to_string());
    for n in 0..=kasoku_cache::resource::VARIANTS_MAX {
        site.store(&request(n), &ok().with("Vary", "A"), "v").await;
    }
    assert!(site.hit(&request(0)).is_none());
    assert!(site.hit(&request(1)).is_some());
    assert!(site.hit(&request(kasoku_cache::resource::VARIANTS_MAX)).is_some());
}

#[tokio::test]
async fn a_no_store_answer_leaves_nothing_behind() {
    //= RFC 9111 section 5.2.2.5
    //# "MUST NOT store" in this context means that the cache MUST NOT intentionally store the information in
    //# non-volatile storage and MUST make a best-effort attempt to remove the information from volatile
    //# storage as promptly as possible after forwarding it.
    let site = Site::new();
    let no_store = ResponseHead::new(StatusCode::OK).with("Cache-Control", "no-store, max-age=60");
    assert!(matches!(verdict(site.fill(&get()), &no_store), Verdict::Private(Reason::NoStore)));
    assert_eq!((site.cache.len(), site.cache.used_bytes(), site.cache.fills_running()), (0, 0, 0));
}

#[tokio::test]
async fn a_no_store_request_leaves_nothing_behind() {
    //= RFC 9111 section 5.2.1.5
    //# "MUST NOT store" in this context means that the cache MUST NOT intentionally store the information in
    //# non-volatile storage and MUST make a best-effort attempt to remove the information from volatile
    //# storage as promptly as possible after forwarding it.
    let site = Site::new();
    let request = get().with("Cache-Control", "no-store");
    assert!(matches!(site.look_up(&request, 0), Lookup::Pass(Reason::RequestNoStore)));
    assert_eq!((site.cache.len(), site.cache.fills_running()), (0, 0));
}

#[tokio::test]
async fn a_head_request_is_answered_from_what_get_has_stored_and_updates_it() {
    let site = Site::new();
    site.store(&get(), &ok().with("ETag", "\"1\""), "body").await;
    let head = RequestHead::new(Method::HEAD, "/page");
    assert!(matches!(site.look_up(&head, 1), Lookup::Hit(..)));
    assert!(matches!(site.look_up(&head, 120), Lookup::Pass(Reason::Stale)));
    let later = NOW.after(120_000);
    let own = site.cache.fill_alone(&site.shared(&head), later);
    site.cache.on_head(&ok().with("ETag", "\"1\""), later, later, &own);
    assert!(matches!(site.look_up(&get(), 121), Lookup::Hit(..)), "HEAD did not freshen");
    site.cache.on_head(&ok().with("ETag", "\"2\""), later, later, &own);
    assert!(!matches!(site.look_up(&get(), 121), Lookup::Hit(..)), "HEAD did not invalidate");
}

#[tokio::test]
async fn a_range_of_a_whole_is_a_slice() {
    let site = Site::new();
    site.store(&get(), &ok(), "0123456789").await;
    let entry = site.hit(&get().with("Range", "bytes=2-4")).unwrap();
    assert_eq!(entry.body.slice(ByteRange { first: 2, last: 4 }).concat(), b"234");
}

/// Limits with room for seven of the pages below.
const SMALL: CacheLimits = CacheLimits { memory_bytes_max: 1 << 20, object_bytes_max: 128 << 10 };
const PAGE_BYTES: usize = 100 << 10;

/// Fetches a page that is not stored yet. Returns whether it was stored: not where memory is full.
async fn fill_page(site: &Site, number: usize) -> bool {
    let key = site.cache.key(format!("http://a.example/{number}"));
    let Lookup::Fill(writer, _) = look_up(site, &key) else { panic!("page {number} is there already") };
    let Verdict::Write(mut body) = verdict(writer, &ok()) else { return false };
    body.push(vec![b'x'; PAGE_BYTES].into()).await.is_ok() && body.finish(None)
}

fn look_up(site: &Site, key: &Key) -> Lookup {
    let request = SharedRequest::new(&get(), &CacheRoute::new(key, &site.policy), &Peer::UNKNOWN);
    site.cache.look_up(&request, NOW)
}

#[tokio::test]
async fn a_body_that_is_evicted_while_a_client_reads_it_stays_charged_and_stops_admission() {
    let site = Site { cache: Cache::new(SMALL), ..Site::new() };
    let page = |number: usize| site.cache.key(format!("http://a.example/{number}"));
    let mut reading = Vec::new();
    let mut number = 0;
    // A slow reader holds each page, so evicted pages stay in memory.
    while fill_page(&site, number).await {
        let Lookup::Hit(entry, ..) = look_up(&site, &page(number)) else { panic!("page {number} is not stored") };
        reading.push(entry);
        number += 1;
        assert!(number < 100, "nothing stops admission");
    }
    let held: u64 = reading.iter().map(|entry| entry.memory_bytes()).sum();
    assert_eq!(site.cache.held_bytes(), held, "each is charged once, stored or not");
    assert!(site.cache.used_bytes() < held, "nothing was evicted while it was read");
    assert!(held <= SMALL.memory_bytes_max, "{held} bytes");
    // The readers finish, or are cut.
    drop(reading);
    assert_eq!(site.cache.held_bytes(), site.cache.used_bytes());
    assert!(fill_page(&site, number + 1).await, "there is room again");
}

fn with_length(bytes: usize) -> ResponseHead {
    ok().with("Content-Length", bytes.to_string())
}

#[tokio::test]
async fn a_fill_is_admitted_by_what_it_will_hold() {
    let site = Site { cache: Cache::new(SMALL), ..Site::new() };
    let begin = |number: usize| {
        let key = site.cache.key(format!("http://a.example/{number}"));
        let Lookup::Fill(writer, _) = look_up(&site, &key) else { panic!("not a fill") };
        let (request_time, response_time) = (NOW, NOW);
        let response = &with_length(PAGE_BYTES);
        let body_length = Some(PAGE_BYTES as u64);
        writer.on_response(&OriginExchange { response, request_time, response_time, body_length, is_file: false })
    };
    let mut admitted: Vec<BodyWriter> = Vec::new();
    let refused = (0..).find_map(|number| match begin(number) {
        Verdict::Write(body) => {
            admitted.push(body);
            None
        }
        Verdict::Private(reason) => Some(reason),
        _ => panic!("neither"),
    });
    assert_eq!((refused, admitted.len()), (Some(Reason::MemoryFull), 10));
    // A fill that was admitted is stored, whatever the other fills do.
    let mut body = admitted.remove(0);
    body.push(vec![b'x'; PAGE_BYTES].into()).await.unwrap();
    assert!(body.finish(None));
    admitted.clear();
    assert_eq!(site.cache.held_bytes(), site.cache.used_bytes());
}

#[tokio::test]
async fn while_memory_is_short_the_slower_reader_is_waited_for_and_not_cut() {
    let site = Site { cache: Cache::new(SMALL), ..Site::new() };
    let mut body = write(site.fill(&get()), &ok());
    let (mut fast, mut slow) = (body.reader(), body.reader());
    for _ in 0..4 {
        body.push(vec![b'a'; 16 << 10].into()).await.unwrap();
        assert!(matches!(fast.next().await, FillEvent::Chunk(_)));
    }
    // Another fill takes all memory that is left, so this one can't be stored any more.
    let key = site.cache.key("http://a.example/other");
    let Lookup::Fill(writer, _) = look_up(&site, &key) else { panic!("not a fill") };
    let mut other = write(writer, &ok());
    let _others_reader = other.reader();
    let push = other.push(vec![b'b'; 1 << 20].into());
    tokio::pin!(push);
    assert!(poll_once(&mut push).is_none(), "it waits for its reader");
    let writing = body.push(vec![b'c'; 16 << 10].into());
    tokio::pin!(writing);
    assert!(poll_once(&mut writing).is_none(), "it waits for the slow reader");
    // The slow reader has fallen behind by all that was written, and gets all of it.
    for piece in 0..5 {
        assert!(matches!(slow.next().await, FillEvent::Chunk(_)), "cut before piece {piece}");
    }
    assert_eq!(poll_once(&mut writing), Some(Ok(())));
}

#[tokio::test]
async fn who_waits_for_a_slow_reader_goes_on_when_others_free_memory() {
    let site = Site { cache: Cache::new(SMALL), ..Site::new() };
    let mut body = write(site.fill(&get()), &ok());
    let (mut fast, _slow) = (body.reader(), body.reader());
    for _ in 0..4 {
        body.push(vec![b'a'; 16 << 10].into()).await.unwrap();
        assert!(matches!(fast.next().await, FillEvent::Chunk(_)));
    }
    // Another fill takes all memory that is left, so this one can't be stored any more.
    let key = site.cache.key("http://a.example/other");
    let Lookup::Fill(writer, _) = look_up(&site, &key) else { panic!("not a fill") };
    let mut other = write(writer, &ok());
    let others_reader = other.reader();
    let mut push = Box::pin(other.push(vec![b'b'; 1 << 20].into()));
    assert!(poll_once(&mut push).is_none(), "it waits for its reader");
    let writing = body.push(vec![b'c'; 16 << 10].into());
    tokio::pin!(writing);
    assert!(poll_once(&mut writing).is_none(), "it waits for the slow reader");
    // The reader of the other fill leaves, and the memory of that fill is freed.
    assert!(matches!(fast.next().await, FillEvent::Chunk(_)));
    assert!(poll_once(&mut writing).is_none());
    drop(push);
    drop((other, others_reader));
    assert_eq!(poll_once(&mut writing), Some(Ok(())), "it waits for the slow reader still");
}

/// The result of one poll; `None` while the future is pending.
fn poll_once<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::Pin::new(future).poll(&mut cx) {
        std::task::Poll::Ready(value) => Some(value),
        std::task::Poll::Pending => None,
    }
}
