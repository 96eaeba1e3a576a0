//! The site of the models: one page, its origin, and clients.

use bytes::Bytes;
use http::{Method, StatusCode};
use kasoku_cache::verdict::OriginExchange;
use kasoku_cache::{
    BodyWriter, Cache, CacheLimits, CacheRoute, Entry, FillEvent, FillReader, FillWriter, Joined, Key, Lookup,
    SharedRequest, Verdict,
};
use kasoku_semantics::client_address::Peer;
use kasoku_semantics::policy::{Policy, Profile};
use kasoku_semantics::reason::Reason;
use kasoku_semantics::tags::TagTemplate;
use kasoku_semantics::time::Now;
use kasoku_wire::{RequestHead, ResponseHead};
use shuttle::future::block_on;
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::thread::{self, JoinHandle};
use std::sync::Arc;

/// The site's name, and the tag of its page.
pub(crate) const SITE: &str = "a.example";
pub(crate) const TAG: &str = "page";

pub(crate) const NOW: Now = Now { unix_ms: 1_700_000_000_000, mono_ms: 0 };

/// The pieces of the page's body. Each follows the version of the page.
const PIECES: [&str; 3] = [":first ", ":second ", ":third"];

pub(crate) struct Site {
    pub(crate) cache: Cache,
    pub(crate) key: Key,
    policy: Arc<Policy>,
    /// Requests that reached the origin.
    asked: AtomicUsize,
    /// The version of the page at the origin.
    version: AtomicUsize,
}

/// What a client got.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Got {
    /// A body to its end.
    Whole(String),
    /// A body that was cut.
    Cut(String),
    /// No response.
    Failed,
    /// No response: it was for another client only.
    Released,
}

impl Site {
    pub(crate) fn new() -> Arc<Self> {
        Self::with_limits(CacheLimits { memory_bytes_max: 64 << 20, object_bytes_max: 1 << 20 })
    }

    pub(crate) fn with_limits(limits: CacheLimits) -> Arc<Self> {
        let cache = Cache::new(limits);
        let key = cache.key("http://a.example/page");
        let mut policy = Policy::new(Profile::Safe);
        policy.tags.site = SITE.to_owned();
        policy.tags.templates = vec![TagTemplate::parse(TAG).unwrap()];
        Arc::new(Self {
            cache,
            key,
            policy: Arc::new(policy),
            asked: AtomicUsize::new(0),
            version: AtomicUsize::new(0),
        })
    }

    pub(crate) fn shared(&self, request: &RequestHead) -> SharedRequest {
        SharedRequest::new(request, &CacheRoute::new(&self.key, &self.policy), &Peer::UNKNOWN)
    }

    pub(crate) fn look_up(&self, request: &RequestHead, now: Now) -> Lookup {
        self.cache.look_up(&self.shared(request), now)
    }

    /// Asks the origin. Returns the version of the page at this moment.
    pub(crate) fn origin(&self) -> usize {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.version.load(Ordering::SeqCst)
    }

    /// Changes the page at the origin. Returns the new version.
    pub(crate) fn change(&self) -> usize {
        self.version.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub(crate) fn times_asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    /// A client that gets the page, and fetches it where the cache says so.
    pub(crate) fn visit(&self, now: Now) -> Got {
        match self.look_up(&get(), now) {
            Lookup::Hit(entry, ..) => Got::Whole(text(&entry)),
            Lookup::Join(reader, _) => read(reader),
            Lookup::Fill(writer, _) => self.fill(writer, now),
            _ => panic!("neither hit, join nor fill"),
        }
    }

    /// Fetches the page, with the validator of the stored response where the cache adds one.
    pub(crate) fn fill(&self, mut writer: FillWriter, now: Now) -> Got {
        let asked = writer.prepare();
        let version = self.origin();
        let etag = format!("\"{version}\"");
        let is_known = asked.fields.only("if-none-match") == Some(etag.as_bytes());
        let status = if is_known { StatusCode::NOT_MODIFIED } else { StatusCode::OK };
        let response = ResponseHead::new(status).with("Cache-Control", "max-age=60").with("ETag", etag);
        match answer(writer, &response, now) {
            Verdict::Write(mut body) => {
                push_page(&mut body, version);
                body.finish(None);
                Got::Whole(page(version))
            }
            Verdict::Settled(entry, _) => Got::Whole(text(&entry)),
            _ => panic!("neither a body nor settled"),
        }
    }

    /// Asserts that no fill runs, and that only stored responses hold memory.
    pub(crate) fn assert_idle(&self) {
        let found = (self.cache.fills_running(), self.cache.held_bytes());
        assert_eq!(found, (0, self.cache.used_bytes()), "fills left, or bytes without a reader");
    }
}

pub(crate) fn spawn<T: Send + 'static>(
    site: &Arc<Site>,
    run: impl FnOnce(&Site) -> T + Send + 'static,
) -> JoinHandle<T> {
    let site = site.clone();
    thread::spawn(move || run(&site))
}

pub(crate) fn get() -> RequestHead {
    RequestHead::new(Method::GET, "/page")
}

pub(crate) fn ok() -> ResponseHead {
    ResponseHead::new(StatusCode::OK).with("Cache-Control", "max-age=60")
}

pub(crate) fn answer(writer: FillWriter, response: &ResponseHead, now: Now) -> Verdict {
    let (request_time, response_time) = (now, now);
    writer.on_response(&OriginExchange { response, request_time, response_time, body_length: None, is_file: false })
}

pub(crate) fn begin(writer: FillWriter, response: &ResponseHead) -> BodyWriter {
    match answer(writer, response, NOW) {
        Verdict::Write(body) => body,
        _ => panic!("not a body"),
    }
}

/// The pieces of a version of the page.
pub(crate) fn pieces(version: usize) -> [String; 3] {
    PIECES.map(|piece| format!("{version}{piece}"))
}

pub(crate) fn page(version: usize) -> String {
    pieces(version).concat()
}

/// The version of a page. Asserts that the text is one version of the page.
pub(crate) fn version(text: &str) -> usize {
    let version = text.split(':').next().unwrap().parse().unwrap();
    assert_eq!(text, page(version), "not a page, or made of two");
    version
}

pub(crate) fn push_page(body: &mut BodyWriter, version: usize) {
    for piece in pieces(version) {
        push(body, Bytes::from(piece)).unwrap();
    }
}

pub(crate) fn push(body: &mut BodyWriter, piece: Bytes) -> Result<(), kasoku_cache::body_writer::Abandoned> {
    block_on(body.push(piece))
}

pub(crate) fn text(entry: &Entry) -> String {
    String::from_utf8(entry.body.chunks().flatten().copied().collect()).unwrap()
}

/// Reads a fill from its head to its end.
pub(crate) fn read(reader: FillReader) -> Got {
    match block_on(reader.head()) {
        Joined::Streaming(_) => read_body(reader),
        Joined::Settled(entry, _) => Got::Whole(text(&entry)),
        Joined::Released(_) => Got::Released,
        Joined::Failed(Reason::OriginClosedEarly) => Got::Failed,
        Joined::Failed(other) => panic!("failed: {other:?}"),
    }
}

fn read_body(mut reader: FillReader) -> Got {
    let mut read = String::new();
    loop {
        match block_on(reader.next()) {
            FillEvent::Chunk(piece) => read.push_str(std::str::from_utf8(&piece).unwrap()),
            FillEvent::End(_) => return Got::Whole(read),
            FillEvent::Spooled(_) | FillEvent::Cut => return Got::Cut(read),
        }
    }
}
