//! A scripted application behind the layer, its visitors, and a clock that tests move.

pub(crate) mod stores;

use axum::body::Body;
use axum::response::IntoResponse;
use http::header::{CACHE_CONTROL, HeaderName};
use http::{Extensions, HeaderMap, Request, Response, StatusCode, Uri};
use kasoku_semantics::time::Now;
use kasoku_tower::{
    ApplicationLayer, BuildError, CacheBody, CacheBuilder, CacheHandle, CacheLayer, CacheService, Scheme,
};
use std::convert::Infallible;
use std::fmt::Debug;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tower::util::BoxCloneSyncService;
use tower::{Layer, Service, ServiceExt, service_fn};

/// How long a test waits for something that has to happen.
const PATIENCE: Duration = Duration::from_secs(30);

type Application = BoxCloneSyncService<Request<Body>, Response<Body>, Infallible>;

thread_local! {
    /// The clock of the caches that this thread's test makes.
    pub(crate) static CLOCK: Arc<AtomicU64> = Arc::default();
}

/// What a call of the application has seen.
pub(crate) struct Asked {
    /// 1 for the first call.
    pub(crate) number: usize,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) extensions: Extensions,
}

/// An application with a cache.
pub(crate) struct Site {
    pub(crate) service: CacheService<Application>,
    pub(crate) handle: CacheHandle,
    calls: Arc<AtomicUsize>,
    clock: Arc<AtomicU64>,
}

impl Site {
    pub(crate) fn new(
        rules: impl FnOnce(CacheBuilder) -> CacheBuilder,
        answer: impl Fn(&Asked) -> Response<Body> + Clone + Send + Sync + 'static,
    ) -> Self {
        Self::built(rules(builder()), None, answer)
    }

    /// An application of which each answer takes a permit.
    pub(crate) fn gated(
        gate: Arc<Semaphore>,
        answer: impl Fn(&Asked) -> Response<Body> + Clone + Send + Sync + 'static,
    ) -> Self {
        Self::built(builder(), Some(gate), answer)
    }

    pub(crate) fn built(
        builder: CacheBuilder,
        gate: Option<Arc<Semaphore>>,
        answer: impl Fn(&Asked) -> Response<Body> + Clone + Send + Sync + 'static,
    ) -> Self {
        Self::layered(builder, CacheLayer::application, gate, answer).unwrap()
    }

    /// An application with a name, which uses what other processes have stored.
    pub(crate) fn named(
        builder: CacheBuilder,
        gate: Option<Arc<Semaphore>>,
        answer: impl Fn(&Asked) -> Response<Body> + Clone + Send + Sync + 'static,
    ) -> Result<Self, BuildError> {
        Self::layered(builder, |cache| cache.named_application("site"), gate, answer)
    }

    /// An application that the layer knows by that call.
    fn layered(
        builder: CacheBuilder,
        layer: impl FnOnce(&CacheLayer) -> ApplicationLayer,
        gate: Option<Arc<Semaphore>>,
        answer: impl Fn(&Asked) -> Response<Body> + Clone + Send + Sync + 'static,
    ) -> Result<Self, BuildError> {
        let calls = counter();
        let counted = calls.clone();
        let application = service_fn(move |request: Request<Body>| {
            let (parts, _) = request.into_parts();
            let number = counted.fetch_add(1, Ordering::SeqCst) + 1;
            let asked = Asked { number, uri: parts.uri, headers: parts.headers, extensions: parts.extensions };
            let (gate, answer) = (gate.clone(), answer.clone());
            async move {
                if let Some(gate) = gate {
                    gate.acquire().await.unwrap().forget();
                }
                Ok(answer(&asked))
            }
        });
        let (cache, handle) = builder.build()?;
        let service = layer(&cache).layer(BoxCloneSyncService::new(application));
        Ok(Self { service, handle, calls, clock: CLOCK.with(Clone::clone) })
    }

    pub(crate) async fn get(&self, target: &str) -> Got {
        self.send(request(target)).await
    }

    pub(crate) async fn send(&self, request: http::request::Builder) -> Got {
        ask(self.service.clone(), request.body(Body::empty()).unwrap()).await
    }

    pub(crate) fn begin(&self, request: http::request::Builder) -> JoinHandle<Got> {
        tokio::spawn(ask(self.service.clone(), request.body(Body::empty()).unwrap()))
    }

    /// How often the application has been called.
    pub(crate) fn asked(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    pub(crate) async fn is_asked(&self, times: usize) {
        while self.asked() < times {
            tokio::task::yield_now().await;
        }
    }

    pub(crate) async fn settled(&self) {
        settled(&self.handle).await;
    }

    pub(crate) fn later(&self, seconds: u64) {
        later(&self.clock, seconds);
    }
}

/// A cache for `https://blog.example`, with the clock of this test.
pub(crate) fn builder() -> CacheBuilder {
    let clock = CLOCK.with(Clone::clone);
    let start = Now { unix_ms: 1_700_000_000_000, mono_ms: 0 };
    let now = move || start.after(clock.load(Ordering::SeqCst));
    CacheLayer::builder().authority(Scheme::Https, "blog.example").clock(now)
}

pub(crate) fn later(clock: &AtomicU64, seconds: u64) {
    clock.fetch_add(seconds * 1_000, Ordering::SeqCst);
}

/// Waits until no fill is running: what was fetched is stored.
pub(crate) async fn settled(handle: &CacheHandle) {
    while handle.statistics().fills > 0 {
        tokio::task::yield_now().await;
    }
}

/// A cache for `https://blog.example`, with the clocks of the system: servers that several caches share need them.
pub(crate) fn timed_builder() -> CacheBuilder {
    CacheLayer::builder().authority(Scheme::Https, "blog.example")
}

/// Waits until something is so.
pub(crate) async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !is_so().await {
        assert!(begun.elapsed() < PATIENCE, "{what}: not so after {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub(crate) fn request(target: &str) -> http::request::Builder {
    Request::builder().uri(target)
}

/// A page with this Cache-Control.
pub(crate) fn page(cache_control: &'static str, text: &str) -> Response<Body> {
    ([(CACHE_CONTROL, cache_control)], text.to_owned()).into_response()
}

/// A page that says nothing of its lifetime.
pub(crate) fn plain(text: &str) -> Response<Body> {
    text.to_owned().into_response()
}

/// What a visitor got.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Got {
    pub(crate) fn field(&self, name: impl TryInto<HeaderName, Error: Debug>) -> Option<&str> {
        self.headers.get(name.try_into().unwrap()).map(|value| value.to_str().unwrap())
    }

    pub(crate) fn cache_status(&self) -> &str {
        self.field("cache-status").unwrap_or_default()
    }
}

/// What the cache says of an answer.
pub(crate) fn cached<B>(response: &Response<CacheBody<B>>) -> &str {
    response.headers().get("cache-status").map_or("", |value| value.to_str().unwrap())
}

/// Sends a request, and reads the whole answer.
pub(crate) async fn ask<S, B>(service: S, request: Request<Body>) -> Got
where
    S: Service<Request<Body>, Response = Response<B>, Error = Infallible>,
    B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
    B::Error: Into<kasoku_tower::BoxError>,
{
    let (parts, body) = service.oneshot(request).await.unwrap().into_parts();
    let body = axum::body::to_bytes(Body::new(body), usize::MAX).await.unwrap();
    Got { status: parts.status, headers: parts.headers, body: String::from_utf8(body.to_vec()).unwrap() }
}

pub(crate) fn counter() -> Arc<AtomicUsize> {
    Arc::default()
}

pub(crate) fn count(counter: &AtomicUsize) -> usize {
    counter.load(Ordering::SeqCst)
}

/// The number of this call: 1 for the first.
pub(crate) fn next(counter: &AtomicUsize) -> String {
    (counter.fetch_add(1, Ordering::SeqCst) + 1).to_string()
}

/// The items of an iterator as a stream.
pub(crate) fn stream<I: Iterator + Unpin>(items: I) -> Items<I> {
    Items(items)
}

pub(crate) struct Items<I>(I);

impl<I: Iterator + Unpin> futures_core::Stream for Items<I> {
    type Item = I::Item;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut std::task::Context<'_>) -> std::task::Poll<Option<I::Item>> {
        std::task::Poll::Ready(self.0.next())
    }
}
