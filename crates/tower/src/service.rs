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

/// Puts a cache in front of a service: see the [crate]. A clone is the same cache.
#[derive(Clone)]
pub struct CacheLayer {
    shared: Arc<Shared>,
}

impl CacheLayer {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }
}

impl<S> Layer<S> for CacheLayer {
    type Service = CacheService<S>;

    fn layer(&self, inner: S) -> CacheService<S> {
        CacheService { inner, shared: self.shared.clone(), policy: self.shared.policy_of_a_service() }
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
/// a fill. Other requests that wait for a fill get a 500 if the inner service fails.
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
        let now = shared.now();
        if let Some((entry, reason)) = cache.hit(&asked.received, &CacheRoute::new(&asked.key, &self.policy), now) {
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
