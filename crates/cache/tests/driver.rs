//! A minimal host of the cache, on many threads and without the engine: it looks up, fills, joins, passes, and answers ranges and conditions.
//!
//! It shows how little a host has to do: it asks the origin when the cache says so, hands the origin's answer to the cache, and sends
//! what the cache selects. The cache and the crates below it decide what may be shared, what the origin sees, what is fresh and what a
//! client gets.

#![allow(clippy::unwrap_used)]

use bytes::Bytes;
use http::{Method, StatusCode};
use kasoku_cache::course::{Outcome, Step};
use kasoku_cache::represent::{HeadContext, Multipart, Representations, Selected};
use kasoku_cache::verdict::OriginExchange;
use kasoku_cache::{
    Cache, CacheLimits, CacheRoute, Entry, FillEvent, FillReader, FillWriter, Joined, Meta, SharedRequest, Verdict,
};
use kasoku_semantics::cache_status::CacheStatus;
use kasoku_semantics::client_address::Peer;
use kasoku_semantics::effective_uri::RequestedUri;
use kasoku_semantics::policy::{Policy, Profile};
use kasoku_semantics::reason::Reason;
use kasoku_semantics::time::Now;
use kasoku_wire::target::write_authority;
use kasoku_wire::{RequestHead, ResponseHead};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::{Semaphore, oneshot};

/// Makes the response of the origin to a request.
type Page = fn(&RequestHead) -> (ResponseHead, &'static str);

/// A host that embeds the cache.
struct Host {
    cache: Cache,
    policy: Arc<Policy>,
    page: Page,
    /// Each answer of the origin takes one permit.
    answers: Semaphore,
    now_ms: AtomicU64,
    asked: AtomicUsize,
    /// How many of the next requests the origin leaves without a response.
    failures: AtomicUsize,
    /// The last request that reached the origin, by target.
    seen: Mutex<HashMap<String, RequestHead>>,
}

const LIMITS: CacheLimits = CacheLimits { memory_bytes_max: 64 << 20, object_bytes_max: 8 << 20 };

impl Host {
    fn new(page: Page) -> Arc<Self> {
        Arc::new(Self {
            cache: Cache::new(LIMITS),
            policy: Arc::new(Policy::new(Profile::Safe)),
            page,
            answers: Semaphore::new(Semaphore::MAX_PERMITS),
            now_ms: AtomicU64::new(0),
            asked: AtomicUsize::new(0),
            failures: AtomicUsize::new(0),
            seen: Mutex::default(),
        })
    }

    fn now(&self) -> Now {
        Now { unix_ms: 1_700_000_000_000, mono_ms: 0 }.after(self.now_ms.load(Ordering::SeqCst))
    }

    /// Answers a request: the whole driver.
    async fn serve(self: &Arc<Self>, received: RequestHead) -> (ResponseHead, Bytes) {
        let asked = RequestedUri::of(&received).unwrap();
        let mut uri = "http://".to_owned();
        write_authority(asked.host.unwrap(), 80, &mut uri).unwrap();
        uri.push_str(&asked.target);
        let key = self.cache.key(uri);
        let route = CacheRoute::new(&key, &self.policy);
        if let Some((entry, _)) = self.cache.hit(&received, &route, self.now()) {
            return self.stored(&received, &entry);
        }
        let request = SharedRequest::new(&received, &route, &Peer::UNKNOWN);
        match self.course(&request).await {
            Outcome::Stored(entry, _) => self.stored(&received, &entry),
            Outcome::Filling(meta, reader, _) => self.streamed(&received, &meta, reader).await,
            Outcome::Fill(writer, _) | Outcome::Alone(writer, _) => self.first(&received, writer).await,
            Outcome::AloneIfRoom(..) => self.first(&received, self.cache.fill_alone(&request, self.now())).await,
            Outcome::Pass(_) | Outcome::PassAsVisitor(_) => self.passed(&received).await,
            Outcome::Failed(..) => failed(),
            Outcome::Unavailable(..) => (ResponseHead::new(StatusCode::GATEWAY_TIMEOUT), Bytes::new()),
        }
    }

    /// Does what the cache says until it is decided how the request is answered. This host bounds no wait.
    async fn course(self: &Arc<Self>, request: &SharedRequest) -> Outcome {
        let mut step = self.cache.first_step(request, None, self.now());
        loop {
            step = match step {
                Step::Recall(recalling) => {
                    recalling.wait().await;
                    recalling.go_on(self.now())
                }
                Step::Begin(writer, then) => {
                    drop(self.fill(writer));
                    *then
                }
                Step::Wait(waiting) => {
                    let came = waiting.head().await;
                    waiting.go_on(Some(came), self.now())
                }
                Step::Decided(outcome) => return outcome,
            };
        }
    }

    /// Asks the origin for a fill, and answers the request that began it.
    async fn first(self: &Arc<Self>, received: &RequestHead, writer: FillWriter) -> (ResponseHead, Bytes) {
        match self.fill(writer).await {
            Ok(Filled::Shared(reader)) => match reader.head().await {
                Joined::Streaming(meta) => self.streamed(received, &meta, reader).await,
                Joined::Settled(entry, _) => self.stored(received, &entry),
                Joined::Released(_) | Joined::Failed(_) => failed(),
            },
            Ok(Filled::Stored(entry)) => self.stored(received, &entry),
            Ok(Filled::Private(head, body)) => (head, body),
            Err(_) => failed(),
        }
    }

    async fn passed(&self, received: &RequestHead) -> (ResponseHead, Bytes) {
        match self.ask(received).await {
            Some((head, body)) => (head, Bytes::from(body)),
            None => failed(),
        }
    }

    /// Asks the origin in a task of its own, so that the fill goes on when its client leaves.
    fn fill(self: &Arc<Self>, mut writer: FillWriter) -> oneshot::Receiver<Filled> {
        let (filled, receiver) = oneshot::channel();
        let host = self.clone();
        tokio::spawn(async move {
            // The cache asks again where a part did not fit.
            for _ in 0..2 {
                let request_time = host.now();
                let request = writer.prepare();
                let Some((head, body)) = host.ask(&request).await else {
                    if let Ok((entry, _)) = writer.on_failure(Reason::OriginClosedEarly, host.now()) {
                        let _ = filled.send(Filled::Stored(entry));
                    }
                    return;
                };
                let verdict = writer.on_response(&OriginExchange {
                    response: &head,
                    request_time,
                    response_time: host.now(),
                    body_length: Some(body.len() as u64),
                    is_file: false,
                });
                let _ = match verdict {
                    Verdict::Write(mut writer) => {
                        let _ = filled.send(Filled::Shared(writer.reader()));
                        for piece in body.as_bytes().chunks(3) {
                            if writer.push(Bytes::copy_from_slice(piece)).await.is_err() {
                                return;
                            }
                            tokio::task::yield_now().await;
                        }
                        writer.finish(None);
                        return;
                    }
                    Verdict::Settled(entry, _) => filled.send(Filled::Stored(entry)),
                    Verdict::Private(_) | Verdict::External { .. } => filled.send(Filled::Private(head, body.into())),
                    Verdict::AskAgain(again) => {
                        writer = again;
                        continue;
                    }
                };
                return;
            }
        });
        receiver
    }

    async fn ask(&self, request: &RequestHead) -> Option<(ResponseHead, &'static str)> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.seen.lock().unwrap().insert(request.target.clone(), request.clone());
        self.answers.acquire().await.unwrap().forget();
        let fails = |failures: usize| failures.checked_sub(1);
        if self.failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fails).is_ok() {
            return None;
        }
        let (head, body) = (self.page)(request);
        Some(if head.status == StatusCode::NOT_MODIFIED { (head, "") } else { (head, body) })
    }

    /// What a request gets of a fill.
    async fn streamed(&self, received: &RequestHead, meta: &Meta, mut reader: FillReader) -> (ResponseHead, Bytes) {
        let mut body = Vec::new();
        loop {
            match reader.next().await {
                FillEvent::Chunk(piece) => body.extend_from_slice(&piece),
                FillEvent::End(_) => return (self.filling(received, meta), body.into()),
                // This host has no disk.
                FillEvent::Spooled(_) | FillEvent::Cut => return failed(),
            }
        }
    }

    /// What a request gets of a stored response.
    fn stored(&self, received: &RequestHead, entry: &Entry) -> (ResponseHead, Bytes) {
        let representations = Representations::of_stored(&received.fields, None, entry);
        let (context, status) = (self.context(received, &representations), CacheStatus::default());
        let (meta, mut head) = (&entry.meta, ResponseHead::new(StatusCode::OK));
        let body = match representations.select(received, entry, self.now()) {
            Selected::NotModified(representation) => {
                context.not_modified(meta, representation, None, &mut head);
                Vec::new()
            }
            Selected::Whole(_, body) => {
                context.whole(entry, &mut head);
                context.rest(meta, &CacheStatus { hit: true, ..status }, &mut head);
                body.chunks().flatten().copied().collect()
            }
            Selected::Part(range) => {
                context.part(meta, range, entry.body.complete_length().unwrap(), &status, &mut head);
                entry.body.slice(range).concat()
            }
            Selected::Parts(ranges) => {
                let parts =
                    Multipart::new(entry.body.complete_length(), &ranges, meta.head.fields.first("content-type"));
                context.parts(meta, &parts.content_type, &status, &mut head);
                parts.pieces(&entry.body).concat()
            }
            Selected::Unsatisfiable(length) => {
                context.unsatisfiable(length, &mut head);
                Vec::new()
            }
            // Only for a body outside of the cache, and this host has none.
            Selected::Incomplete => return failed(),
        };
        (head, body.into())
    }

    fn filling(&self, received: &RequestHead, meta: &Meta) -> ResponseHead {
        let representations = Representations::of_filling(&received.fields, None, meta, None);
        let mut head = ResponseHead::new(StatusCode::OK);
        self.context(received, &representations).filling(meta, (None, None), &CacheStatus::default(), &mut head);
        head
    }

    fn context<'a>(&self, request: &'a RequestHead, representations: &Representations) -> HeadContext<'a> {
        HeadContext { request, has_session: false, replaced: &[], varies: representations.varies, now: self.now() }
    }

    fn later(&self, seconds: u64) {
        self.now_ms.fetch_add(seconds * 1_000, Ordering::SeqCst);
    }

    fn times_asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

fn failed() -> (ResponseHead, Bytes) {
    (ResponseHead::new(StatusCode::BAD_GATEWAY), Bytes::new())
}

/// What the client that began a fill gets.
enum Filled {
    Shared(FillReader),
    Stored(Arc<Entry>),
    Private(ResponseHead, Bytes),
}

const TEXT: &str = "0123456789abcdef";

fn get(target: &str) -> RequestHead {
    RequestHead::new(Method::GET, target).with("Host", "A.example:80")
}

/// A page that is fresh for a minute, and that the origin confirms afterwards.
fn page(request: &RequestHead) -> (ResponseHead, &'static str) {
    let is_known = request.fields.only("if-none-match") == Some(b"\"1\"");
    let status = if is_known { StatusCode::NOT_MODIFIED } else { StatusCode::OK };
    (ResponseHead::new(status).with("Cache-Control", "max-age=60").with("ETag", "\"1\""), TEXT)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_clients_on_many_threads_cost_one_request() {
    let host = Host { answers: Semaphore::new(0), ..Arc::into_inner(Host::new(page)).unwrap() };
    let host = Arc::new(host);
    let clients: Vec<_> = (0..64)
        .map(|_| {
            let host = host.clone();
            tokio::spawn(async move { host.serve(get("/page")).await })
        })
        .collect();
    while host.times_asked() == 0 {
        tokio::task::yield_now().await;
    }
    host.answers.add_permits(1);
    for client in clients {
        let (head, body) = client.await.unwrap();
        assert_eq!((head.status, &*body), (StatusCode::OK, TEXT.as_bytes()));
    }
    assert_eq!(host.times_asked(), 1);
    host.serve(get("/page")).await;
    assert_eq!(host.times_asked(), 1, "the next one is a hit");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_leaves_does_not_end_the_fill() {
    let host = Arc::new(Host { answers: Semaphore::new(0), ..Arc::into_inner(Host::new(page)).unwrap() });
    let leaving = tokio::spawn({
        let host = host.clone();
        async move { host.serve(get("/page")).await }
    });
    while host.times_asked() == 0 {
        tokio::task::yield_now().await;
    }
    leaving.abort();
    assert!(leaving.await.unwrap_err().is_cancelled());
    host.answers.add_permits(1);
    let (_, body) = host.serve(get("/page")).await;
    assert_eq!(&*body, TEXT.as_bytes());
    assert_eq!(host.times_asked(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ranges_conditions_and_age_are_answered_without_the_origin() {
    let host = Host::new(page);
    host.serve(get("/page")).await;
    host.later(10);
    let (head, body) = host.serve(get("/page")).await;
    assert_eq!((head.status, &*body), (StatusCode::OK, TEXT.as_bytes()));
    assert_eq!(head.fields.only("age"), Some(&b"10"[..]));
    let (head, body) = host.serve(get("/page").with("Range", "bytes=2-4")).await;
    assert_eq!((head.status, &*body), (StatusCode::PARTIAL_CONTENT, &b"234"[..]));
    assert_eq!(head.fields.only("content-range"), Some(&b"bytes 2-4/16"[..]));
    let (head, body) = host.serve(get("/page").with("Range", "bytes=0-0,15-15")).await;
    assert_eq!(head.status, StatusCode::PARTIAL_CONTENT);
    assert!(String::from_utf8_lossy(&body).contains("Content-Range: bytes 15-15/16"));
    let (head, _) = host.serve(get("/page").with("Range", "bytes=99-")).await;
    assert_eq!(head.status, StatusCode::RANGE_NOT_SATISFIABLE);
    assert_eq!(head.fields.only("content-range"), Some(&b"bytes */16"[..]));
    let (head, body) = host.serve(get("/page").with("If-None-Match", "\"1\"")).await;
    assert_eq!((head.status, body.len()), (StatusCode::NOT_MODIFIED, 0));
    assert_eq!(host.times_asked(), 1);
    host.later(60);
    let (head, body) = host.serve(get("/page")).await;
    assert_eq!((head.status, &*body), (StatusCode::OK, TEXT.as_bytes()), "the origin has confirmed it");
    assert_eq!(host.times_asked(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_in_the_key_changes_nothing_that_others_get() {
    let host = Host::new(page);
    let hostile = get("/page")
        .with("X-Original-URL", "/admin")
        .with("X-Forwarded-Host", "evil.example")
        .with("X-HTTP-Method-Override", "DELETE")
        .with("Connection", "X-Theme")
        .with("X-Theme", "dark");
    host.serve(hostile).await;
    let seen = host.seen.lock().unwrap().remove("/page").unwrap();
    for name in ["x-original-url", "x-http-method-override", "x-theme", "connection"] {
        assert!(!seen.fields.contains(name), "{name}");
    }
    assert_eq!(seen.fields.only("host"), Some(&b"a.example"[..]));
    assert_eq!(seen.fields.only("x-forwarded-host"), Some(&b"a.example"[..]));
    let (_, body) = host.serve(get("/page")).await;
    assert_eq!(&*body, TEXT.as_bytes());
    assert_eq!(host.times_asked(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_visitors_page_is_for_the_visitor_alone() {
    let host = Host::new(|request| {
        let body = if request.fields.contains("cookie") { "for ann" } else { "for all" };
        (ResponseHead::new(StatusCode::OK).with("Cache-Control", "max-age=60"), body)
    });
    let (_, body) = host.serve(get("/page").with("Cookie", "sid=ann")).await;
    assert_eq!(&*body, b"for ann");
    let (_, body) = host.serve(get("/page")).await;
    assert_eq!(&*body, b"for all");
    assert_eq!(host.times_asked(), 2, "profile safe shares no answer to a request with cookies");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn variants_are_told_apart() {
    let host = Host::new(|request| {
        let body = if request.fields.only("accept-language") == Some(b"de") { "deutsch" } else { "english" };
        (ResponseHead::new(StatusCode::OK).with("Cache-Control", "max-age=60").with("Vary", "Accept-Language"), body)
    });
    for _ in 0..2 {
        let (_, body) = host.serve(get("/page").with("Accept-Language", "de")).await;
        assert_eq!(&*body, b"deutsch");
        let (_, body) = host.serve(get("/page").with("Accept-Language", "en")).await;
        assert_eq!(&*body, b"english");
    }
    assert_eq!(host.times_asked(), 2);
}

/// Answers so many requests for a page at the same time, and counts the answers by status.
async fn visitors(host: &Arc<Host>, count: usize) -> HashMap<StatusCode, usize> {
    let visits: Vec<_> = (0..count)
        .map(|_| {
            let host = host.clone();
            tokio::spawn(async move { host.serve(get("/page")).await })
        })
        .collect();
    let mut answers = HashMap::new();
    for visit in visits {
        let (head, body) = visit.await.unwrap();
        assert_eq!(body.is_empty(), head.status != StatusCode::OK);
        *answers.entry(head.status).or_default() += 1;
    }
    answers
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_response_for_one_client_sends_the_others_to_the_origin() {
    let host = Host::new(|_| (ResponseHead::new(StatusCode::OK).with("Cache-Control", "private"), TEXT));
    assert_eq!(visitors(&host, 8).await, HashMap::from([(StatusCode::OK, 8)]));
    assert_eq!(host.times_asked(), 8);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn after_a_failure_one_more_request_is_sent_for_all_others() {
    let host = Host::new(page);
    host.failures.store(1, Ordering::SeqCst);
    assert_eq!(visitors(&host, 8).await, HashMap::from([(StatusCode::BAD_GATEWAY, 1), (StatusCode::OK, 7)]));
    assert_eq!(host.times_asked(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_origin_that_fails_again_is_left_alone() {
    let host = Host::new(page);
    host.failures.store(usize::MAX, Ordering::SeqCst);
    let all_fail = HashMap::from([(StatusCode::BAD_GATEWAY, 8)]);
    assert_eq!(visitors(&host, 8).await, all_fail);
    let asked = host.times_asked();
    assert!((2..8).contains(&asked), "{asked}");
    assert_eq!(visitors(&host, 8).await, all_fail);
    assert_eq!(host.times_asked(), asked, "the failure of a moment ago answers");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_origin_is_not_asked_for_a_client_that_wants_a_stored_response_only() {
    let host = Host::new(page);
    let (head, _) = host.serve(get("/page").with("Cache-Control", "only-if-cached")).await;
    assert_eq!((head.status, host.times_asked()), (StatusCode::GATEWAY_TIMEOUT, 0));
    host.serve(RequestHead { method: Method::HEAD, ..get("/page") }).await;
    assert_eq!(host.times_asked(), 1, "a HEAD that misses passes");
}

#[tokio::test]
async fn the_form_in_which_the_host_keeps_a_head_is_charged() {
    let used_bytes = async |host_field_bytes| {
        let cache = Cache::for_host(LIMITS, host_field_bytes);
        let host = Arc::new(Host { cache, ..Arc::into_inner(Host::new(page)).unwrap() });
        host.serve(get("/page")).await;
        while host.cache.fills_running() > 0 {
            tokio::task::yield_now().await;
        }
        host.cache.used_bytes()
    };
    let fields = (used_bytes(1_000).await - used_bytes(0).await) / 1_000;
    assert!(fields >= 6, "Cache-Control, ETag, and four that the host adds: {fields}");
}
