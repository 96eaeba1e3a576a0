//! Answers a request that is no hit: takes the steps that the cache names until the outcome is decided, and makes the response.

use crate::body::{BoxError, CacheBody};
use crate::counts::Count;
use crate::fetch::{Fetch, FirstClientEvent};
use crate::pass::pass;
use crate::respond::Responder;
use crate::route::Missed;
use crate::shared::Shared;
use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body::Body;
use kasoku_cache::course::{Outcome, Step, settled};
use kasoku_cache::{FillWriter, Joined, SharedRequest};
use kasoku_semantics::cache_status::CacheStatus;
use kasoku_semantics::policy::Policy;
use kasoku_semantics::reason::Reason;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::panic::catch_unwind;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::{Sleep, sleep};
use tower_service::Service;

/// A request that is no hit.
pub(crate) struct Visit<S, B> {
    pub(crate) shared: Arc<Shared>,
    pub(crate) service: S,
    pub(crate) policy: Arc<Policy>,
    /// The visitor's own request, unchanged, for the case that it passes after all.
    pub(crate) original: Request<B>,
    pub(crate) missed: Missed,
}

type Answered<R, E> = Result<Response<CacheBody<R>>, E>;

impl<S, B, R> Visit<S, B>
where
    S: Service<Request<B>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
    B: Default + Send + 'static,
    R: Body<Data = Bytes> + Send + 'static,
    R::Error: Into<BoxError>,
{
    // No reference to the visit is held across a wait, except a mutable one: so neither the service nor the body has to be Sync.
    pub(crate) async fn run(mut self) -> Answered<R, S::Error> {
        let shared = self.shared.clone();
        let Shared { cache, counts, .. } = &*shared;
        if let Some(reason) = self.part_passes() {
            return self.pass(reason).await;
        }
        // Without a runtime, no fill can run.
        if Handle::try_current().is_err() {
            return self.pass(Reason::PassRule).await;
        }
        let request = self.missed.shared_request(&self.policy);
        let is_set_aside = self.missed.is_set_aside;
        // The types of `http` must be able to hold the target.
        if Uri::try_from(request.head().target.as_str()).is_err() {
            return self.pass(Reason::PassUrl).await;
        }
        match self.course(&request).await {
            Outcome::Stored(entry, status) => {
                counts.add(if status.collapsed { Count::Collapsed } else { Count::Hits });
                Ok(self.responder().stored(&entry, status))
            }
            Outcome::Filling(meta, reader, status) => {
                counts.add(Count::Collapsed);
                Ok(self.responder().filling(&meta, reader, &status))
            }
            Outcome::Fill(writer, miss) => self.first(writer, miss).await,
            // The response may not be shared, or there is none: so the visitor's own request goes to the application.
            Outcome::Alone(writer, miss) if is_set_aside => {
                writer.release(miss);
                self.pass(miss).await
            }
            Outcome::Alone(writer, miss) => self.first(writer, miss).await,
            // The visitor's own request may succeed where shared requests have failed.
            Outcome::AloneIfRoom(why, _) | Outcome::Failed(why, _) if is_set_aside => self.pass(why).await,
            Outcome::AloneIfRoom(_, status) => match shared.uncollapsed.try_acquire() {
                Ok(_room) => self.first(cache.fill_alone(&request, shared.now()), Reason::HitForMiss).await,
                Err(_) => Ok(self.responder().failed(status)),
            },
            Outcome::Pass(reason) | Outcome::PassAsVisitor(reason) => self.pass(reason).await,
            Outcome::Failed(_, status) => Ok(self.responder().failed(status)),
            Outcome::Unavailable(_, status) => Ok(self.responder().unavailable(&status)),
        }
    }

    /// Takes the steps that the cache names until the outcome is decided.
    async fn course(&mut self, request: &SharedRequest) -> Outcome {
        let mut step = self.shared.cache.first_step(request, None, self.shared.now());
        loop {
            step = match step {
                // The layer has no disk tier.
                Step::Recall(recalling) => {
                    recalling.give_up();
                    recalling.go_on(self.shared.now())
                }
                Step::Begin(writer, then) => {
                    if self.fetch().spawn(writer).is_some() {
                        self.shared.counts.add(Count::Refreshes);
                    }
                    *then
                }
                Step::Wait(waiting) => {
                    let Some(over) = timer(self.shared.rules.fill_wait_max) else {
                        return Outcome::Pass(Reason::PassRule);
                    };
                    let came = before(over, waiting.head()).await;
                    waiting.go_on(came, self.shared.now())
                }
                Step::Decided(outcome) => return outcome,
            };
        }
    }

    /// Calls the application for a fill, and answers the request that began it. `miss`: why.
    async fn first(self, writer: FillWriter, miss: Reason) -> Answered<R, S::Error> {
        let Some(event) = self.fetch().spawn(writer) else { return self.pass(Reason::PassRule).await };
        self.shared.counts.add(Count::Misses);
        let (event, status) = (event.await, CacheStatus::forwarded(miss));
        let failed = |reason| CacheStatus { detail: Some(reason), ..status };
        match event {
            Ok(FirstClientEvent::Shared(reader, head)) => match reader.head().await {
                Joined::Streaming(meta) => {
                    let status = CacheStatus { stored: true, ..status };
                    Ok(self.responder().filling(&meta.with_head(*head), reader, &status))
                }
                // Parts that were combined: the whole is stored by now.
                Joined::Settled(entry, _) => {
                    Ok(self.responder().stored(&entry, CacheStatus { stored: true, ..status }))
                }
                Joined::Failed(reason) | Joined::Released(reason) => Ok(self.responder().failed(failed(reason))),
            },
            // The 304 may open a session for one visitor, and this visitor's own session may have been kept back.
            Ok(FirstClientEvent::Stored(_, reason)) if self.missed.is_set_aside && !is_for_all(reason) => {
                self.pass(reason).await
            }
            Ok(FirstClientEvent::Stored(entry, reason)) => {
                let status = settled(&entry, reason, status, self.shared.now());
                Ok(self.responder().stored(&entry, status))
            }
            // The answer to the request without credentials and extensions need not be the answer for this visitor.
            Ok(FirstClientEvent::Private(response, reason)) if self.missed.is_set_aside => {
                drop(response);
                self.pass(reason).await
            }
            Ok(FirstClientEvent::Private(response, reason)) => {
                Ok(self.responder().private(*response, &CacheStatus { detail: Some(reason), ..status }))
            }
            Ok(FirstClientEvent::Failed(error)) if !self.missed.is_set_aside => Err(error),
            Ok(FirstClientEvent::Failed(_)) => self.pass(Reason::OriginClosedEarly).await,
            // The handler has panicked, perhaps because the shared request lacks a field or an extension of the visitor.
            Err(_) if self.missed.is_set_aside => self.pass(Reason::OriginClosedEarly).await,
            Err(_) => Ok(self.responder().failed(failed(Reason::OriginClosedEarly))),
        }
    }

    async fn pass(self, reason: Reason) -> Answered<R, S::Error> {
        let Self { shared, service, original, .. } = self;
        pass(&shared, service, original, None, reason).await
    }

    /// Why a request for a part passes, if it does: where a lifetime is granted, the application would be asked for the whole for each part,
    /// and the whole is known to be too large to be stored.
    fn part_passes(&self) -> Option<Reason> {
        let is_part = self.policy.grant.is_granting() && self.missed.asked.received.fields.contains("range");
        let is_too_large = || self.shared.cache.is_known_too_large(&self.missed.asked.key, self.shared.now());
        (is_part && is_too_large()).then_some(Reason::ObjectTooLarge)
    }

    fn fetch(&self) -> Fetch<S, B> {
        Fetch {
            shared: self.shared.clone(),
            service: self.service.clone(),
            kept: self.missed.kept.clone(),
            is_set_aside: self.missed.is_set_aside,
            body: PhantomData,
        }
    }

    fn responder(&self) -> Responder<'_> {
        Responder { shared: &self.shared, asked: &self.missed.asked, now: self.shared.now() }
    }
}

/// Whether a stored response that settled a fill for this reason is the same for all visitors.
fn is_for_all(reason: Reason) -> bool {
    matches!(reason, Reason::Revalidated | Reason::HitStaleError | Reason::HitStaleDisconnected)
}

/// A timer; `None`: the runtime has none. Tokio panics in that case, and has no other way to tell.
fn timer(wait: Duration) -> Option<Sleep> {
    catch_unwind(|| sleep(wait)).ok()
}

/// The value of `event`; `None`: the timer was first.
async fn before<T>(over: Sleep, event: impl Future<Output = T>) -> Option<T> {
    let (mut over, mut event) = (pin!(over), pin!(event));
    poll_fn(|cx| match event.as_mut().poll(cx) {
        Poll::Ready(came) => Poll::Ready(Some(came)),
        Poll::Pending => over.as_mut().poll(cx).map(|()| None),
    })
    .await
}
