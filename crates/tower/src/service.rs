//! The layer, and the service that it makes: decides in the caller's task whether a stored response answers at once.

use crate::body::{BoxError, CacheBody};
use crate::counts::Count;
use crate::future::ResponseFuture;
use crate::pass::pass;
use crate::respond::Responder;
use crate::route::Routed;
use crate::shared::Shared;
use crate::visit::Visit;
use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use kasoku_cache::CacheRoute;
use kasoku_semantics::cache_status::CacheStatus;
use kasoku_semantics::policy::Policy;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};
use tower_layer::Layer;
use tower_service::Service;

/// Puts a cache in front of a service: see the [crate]. Each call of [`Layer::layer`] makes a service of another application, whose
/// responses are never used for the service of another call. So the layer has no clones: programs that clone layers, such as axum's
/// `Router::layer`, call `layer` for each connection, and would share nothing between connections.
///
/// ```compile_fail,E0277
/// use axum::{Router, routing::get};
///
/// fn blog(cache: kasoku_tower::CacheLayer) -> Router {
///     Router::new().route("/", get(async || "the front page")).layer(cache)
/// }
/// ```
///
/// For those programs, [`CacheLayer::application`] makes a layer with clones.
///
/// ```
/// # use axum::{Router, routing::get};
/// fn blog(cache: kasoku_tower::CacheLayer) -> Router {
///     Router::new().route("/", get(async || "the front page")).layer(cache.application())
/// }
/// ```
pub struct CacheLayer {
    shared: Arc<Shared>,
}

/// A [`CacheLayer`] of one application: all services that it and its clones make use the same responses.
///
/// So the same URI has to be the same page in all of them. Two routers that axum nests see paths without the prefixes under which they are
/// nested: each of them needs an application of its own, even if one is a clone of the other.
#[derive(Clone)]
pub struct ApplicationLayer {
    shared: Arc<Shared>,
    policy: Arc<Policy>,
}

impl CacheLayer {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// A layer for the services of one more application. It shares memory and handle with those of other calls, and no responses.
    pub fn application(&self) -> ApplicationLayer {
        ApplicationLayer { shared: self.shared.clone(), policy: self.shared.policy_of_an_application() }
    }
}

/// Names for applications, where responses outlive the process.
#[cfg(any(feature = "disk", feature = "shared"))]
impl CacheLayer {
    /// A layer for the services of the application with this name: two calls with one name make layers of one application. An application uses the
    /// responses that the one with its name has stored in another process, or before a restart. The responses of an application without a name are
    /// for its own process only: elsewhere, nothing tells which application they are of.
    pub fn named_application(&self, name: &str) -> ApplicationLayer {
        ApplicationLayer { shared: self.shared.clone(), policy: self.shared.policy_of_the_application(name) }
    }
}

impl<S> Layer<S> for CacheLayer {
    type Service = CacheService<S>;

    fn layer(&self, inner: S) -> CacheService<S> {
        self.application().layer(inner)
    }
}

impl<S> Layer<S> for ApplicationLayer {
    type Service = CacheService<S>;

    fn layer(&self, inner: S) -> CacheService<S> {
        CacheService { inner, shared: self.shared.clone(), policy: self.policy.clone() }
    }
}

impl fmt::Debug for ApplicationLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApplicationLayer").finish_non_exhaustive()
    }
}

impl fmt::Debug for CacheLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CacheLayer").finish_non_exhaustive()
    }
}

/// A service with a cache in front of it. Clones are the same service.
///
/// It is always ready, also while the inner service is not: hits do not wait for it. A request that needs the inner service waits for it in
/// its future.
///
/// Requests have a body of a type with a default, which is the empty body of the requests that the cache makes itself (for hyper: map
/// `Incoming` into `axum::body::Body` or another such type first). The error is that of the inner service, for requests that pass or begin
/// a fill. If that fill fails, a request that joined it asks again: in a second fill, alone, or by passing. It gets a 500 only where the cache
/// knows that the inner service fails just then.
#[derive(Clone)]
pub struct CacheService<S> {
    inner: S,
    shared: Arc<Shared>,
    policy: Arc<Policy>,
}

impl<S, B, R> Service<Request<B>> for CacheService<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
    B: Body + Default + Send + 'static,
    R: Body<Data = Bytes> + Send + 'static,
    R::Error: Into<BoxError>,
{
    type Response = Response<CacheBody<R>>;
    type Error = S::Error;
    type Future = ResponseFuture<R, S::Error>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (parts, body) = request.into_parts();
        let Shared { cache, rules, counts, .. } = &*self.shared;
        let (shared, service) = (&self.shared, &self.inner);
        let asked = match rules.route(cache, &parts, !body.is_end_stream()) {
            Routed::LookUp(asked) => asked,
            Routed::Pass(key, reason) => {
                let (shared, service, request) = (shared.clone(), service.clone(), Request::from_parts(parts, body));
                return ResponseFuture::of(Box::pin(async move { pass(&shared, service, request, key, reason).await }));
            }
        };
        let (now, route) = (shared.now(), CacheRoute::new(&asked.key, &self.policy));
        let hit = cache.hit(&asked.received, &route, now);
        if let Some((entry, reason)) = hit.or_else(|| cache.hit_on_disk(&asked.received, &route, None, now)) {
            counts.add(Count::Hits);
            let status = CacheStatus::of_hit(reason, entry.meta.freshness.remaining(now));
            let answer = Responder { shared, asked: &asked, now }.stored(&entry, status);
            asked.recycle();
            return ResponseFuture::ready(answer);
        }
        let missed = rules.missed(&parts, asked);
        let visit = Visit {
            shared: shared.clone(),
            service: service.clone(),
            policy: self.policy.clone(),
            original: Request::from_parts(parts, body),
            missed,
        };
        ResponseFuture::of(Box::pin(visit.run()))
    }
}

impl<S: fmt::Debug> fmt::Debug for CacheService<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CacheService").field("inner", &self.inner).finish_non_exhaustive()
    }
}
