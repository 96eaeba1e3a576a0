//! Answers a request that is no hit: takes the steps that the cache names until the outcome is decided, and makes the response.

use crate::body::{BoxError, CacheBody};
use crate::counts::Count;
use crate::fetch::{Fetch, FirstClientEvent};
use crate::pass::pass;
use crate::respond::Responder;
use crate::route::{Asked, Missed};
use crate::shared::Shared;
use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body::Body;
use kasoku_cache::course::{LostBodies, Outcome, Recalling, Step, settled};
use kasoku_cache::disk::{DISK_TIMEOUT, Unreadable};
use kasoku_cache::timer::{NotInTime, in_time};
use kasoku_cache::{Entry, FillWriter, Joined, Meta, SharedRequest};
use kasoku_semantics::cache_status::CacheStatus;
use kasoku_semantics::deleted_cookies::brought;
use kasoku_semantics::policy::Policy;
use kasoku_semantics::reason::Reason;
use std::marker::PhantomData;
use std::pin::pin;
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::sync::SemaphorePermit;
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

/// How a request is answered.
enum Answer<R, E> {
    /// By a stored response. If its body is on disk, the bytes may be lost.
    Stored(Arc<Entry>, CacheStatus, Option<Count>),
    Response(Response<CacheBody<R>>),
    /// By the application, which gets the request unchanged.
    Pass(Reason),
    /// Not: the application has failed.
    Failed(E),
}

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
        if let Some(reason) = self.part_passes() {
            return self.pass(reason).await;
        }
        // Without a runtime, no fill can run.
        if Handle::try_current().is_err() {
            return self.pass(Reason::PassRule).await;
        }
        let request = self.missed.shared_request(&self.policy);
        // The types of `http` must be able to hold the target.
        if Uri::try_from(request.head().target.as_str()).is_err() {
            return self.pass(Reason::PassUrl).await;
        }
        let (mut lost, mut room) = (LostBodies::default(), None);
        let answer = loop {
            let answer = self.find(&shared, &request, &mut room).await;
            let Answer::Stored(entry, status, count) = answer else { break answer };
            match stored(&shared, &self.missed.asked, &entry, status).await {
                Ok(response) => {
                    count.into_iter().for_each(|count| shared.counts.add(count));
                    return Ok(response);
                }
                Err(why) if lost.is_looked_up_again_after(why) => {}
                Err(_) => {
                    let alone = shared.cache.fill_alone(&request, shared.now());
                    break self.first(alone, Reason::UriMiss).await;
                }
            }
        };
        match answer {
            Answer::Stored(entry, status, _) => match stored(&shared, &self.missed.asked, &entry, status).await {
                Ok(response) => Ok(response),
                Err(_) => Ok(self.responder().failed(CacheStatus { detail: Some(Reason::PartialMiss), ..status })),
            },
            Answer::Response(response) => Ok(response),
            Answer::Pass(reason) => self.pass(reason).await,
            Answer::Failed(error) => Err(error),
        }
    }

    /// Finds the answer by what is stored and what is being filled. `room`: takes the place of a request that no other shares, until that
    /// request is answered.
    async fn find<'s>(
        &mut self,
        shared: &'s Shared,
        request: &SharedRequest,
        room: &mut Option<SemaphorePermit<'s>>,
    ) -> Answer<R, S::Error> {
        let is_set_aside = self.missed.is_set_aside;
        match self.course(request).await {
            // Only the application's own answer deletes a cookie.
            Outcome::Stored(entry, _) if self.brings_deleted(&entry.meta) => Answer::Pass(Reason::PassCookie),
            Outcome::Filling(meta, ..) if self.brings_deleted(&meta) => Answer::Pass(Reason::PassCookie),
            Outcome::Stored(entry, status) => {
                let count = if status.collapsed { Count::Collapsed } else { Count::Hits };
                Answer::Stored(entry, status, Some(count))
            }
            Outcome::Filling(meta, reader, status) => {
                shared.counts.add(Count::Collapsed);
                Answer::Response(self.responder().filling(&meta, reader, &status))
            }
            Outcome::Fill(writer, miss) => self.first(writer, miss).await,
            // The response may not be shared, or there is none: so the visitor's own request goes to the application.
            Outcome::Alone(writer, miss) if is_set_aside => {
                writer.release(miss);
                Answer::Pass(miss)
            }
            Outcome::Alone(writer, miss) => self.first(writer, miss).await,
            // The visitor's own request may succeed where shared requests have failed.
            Outcome::AloneIfRoom(why, _) | Outcome::Failed(why, _) if is_set_aside => Answer::Pass(why),
            Outcome::AloneIfRoom(_, status) => match shared.uncollapsed.try_acquire() {
                Ok(place) => {
                    *room = Some(place);
                    self.first(shared.cache.fill_alone(request, shared.now()), Reason::HitForMiss).await
                }
                Err(_) => Answer::Response(self.responder().failed(status)),
            },
            Outcome::Pass(reason) | Outcome::PassAsVisitor(reason) => Answer::Pass(reason),
            Outcome::Failed(_, status) => Answer::Response(self.responder().failed(status)),
            Outcome::Unavailable(_, status) => Answer::Response(self.responder().unavailable(&status)),
        }
    }

    /// Whether the request, as it was received, has a cookie that the shared response deletes.
    fn brings_deleted(&self, meta: &Meta) -> bool {
        brought(&meta.nominated, &self.missed.asked.received.fields).is_some()
    }

    /// Takes the steps that the cache names until the outcome is decided.
    async fn course(&mut self, request: &SharedRequest) -> Outcome {
        let mut step = self.shared.cache.first_step(request, None, self.shared.now());
        loop {
            step = match step {
                Step::Recall(recalling) => match recall(*recalling, self.shared.clone()).await {
                    Some(step) => step,
                    None => return Outcome::Pass(Reason::PassRule),
                },
                Step::Begin(writer, then) => {
                    let _ = self.fetch().spawn(writer, Count::Refreshes);
                    *then
                }
                Step::Wait(waiting) => {
                    let came = match in_time(self.shared.rules.fill_wait_max, waiting.head()).await {
                        Ok(came) => Some(came),
                        Err(NotInTime::Late) => None,
                        Err(NotInTime::NoTimer) => return Outcome::Pass(Reason::PassRule),
                    };
                    waiting.go_on(came, self.shared.now())
                }
                Step::Decided(outcome) => return outcome,
            };
        }
    }

    /// Calls the application for a fill, and answers the request that began it. `miss`: why.
    async fn first(&mut self, writer: FillWriter, miss: Reason) -> Answer<R, S::Error> {
        let Some(event) = self.fetch().spawn(writer, Count::Misses) else { return Answer::Pass(Reason::PassRule) };
        let (event, status) = (event.await, CacheStatus::forwarded(miss));
        let failed = |reason| CacheStatus { detail: Some(reason), ..status };
        match event {
            Ok(FirstClientEvent::Shared(reader, head)) => match reader.head().await {
                Joined::Streaming(meta) => {
                    let status = CacheStatus { stored: true, ..status };
                    Answer::Response(self.responder().filling(&meta.with_head(*head), reader, &status))
                }
                // Parts that were combined: the whole is stored by now.
                Joined::Settled(entry, _) => Answer::Stored(entry, CacheStatus { stored: true, ..status }, None),
                Joined::Failed(reason) | Joined::Released(reason) => {
                    Answer::Response(self.responder().failed(failed(reason)))
                }
            },
            // The 304 may open a session for one visitor, and this visitor's own session may have been kept back.
            Ok(FirstClientEvent::Stored(_, reason)) if self.missed.is_set_aside && !is_for_all(reason) => {
                Answer::Pass(reason)
            }
            Ok(FirstClientEvent::Stored(entry, reason)) => {
                let status = settled(&entry, reason, status, self.shared.now());
                Answer::Stored(entry, status, None)
            }
            // The answer to the request without credentials and extensions need not be the answer for this visitor.
            Ok(FirstClientEvent::Private(response, reason)) if self.missed.is_set_aside => {
                drop(response);
                Answer::Pass(reason)
            }
            Ok(FirstClientEvent::Private(response, reason)) => {
                let status = CacheStatus { detail: Some(reason), ..status };
                Answer::Response(self.responder().private(*response, &status))
            }
            Ok(FirstClientEvent::Failed(error)) if !self.missed.is_set_aside => Answer::Failed(error),
            Ok(FirstClientEvent::Failed(_)) => Answer::Pass(Reason::OriginClosedEarly),
            // The handler has panicked, perhaps because the shared request lacks a field or an extension of the visitor.
            Err(_) if self.missed.is_set_aside => Answer::Pass(Reason::OriginClosedEarly),
            Err(_) => Answer::Response(self.responder().failed(failed(Reason::OriginClosedEarly))),
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
        || reason.is_of_the_shared_tier()
}

/// Waits for the disk where the response may be there. A disk that does not answer is a miss. `None`: the wait can't be bounded.
async fn recall(recalling: Recalling, shared: Arc<Shared>) -> Option<Step> {
    {
        let mut read = pin!(recalling.wait());
        match in_time(DISK_TIMEOUT, read.as_mut()).await {
            Ok(()) => {}
            Err(NotInTime::Late) => recalling.give_up(),
            Err(NotInTime::NoTimer) => return None,
        }
    }
    Some(recalling.go_on(shared.now()))
}

/// The answer by a stored response.
async fn stored<R>(
    shared: &Arc<Shared>,
    asked: &Asked,
    entry: &Arc<Entry>,
    status: CacheStatus,
) -> Result<Response<CacheBody<R>>, Unreadable> {
    let responder = Responder { shared, asked, now: shared.now() };
    if entry.body.is_in_memory() {
        return Ok(responder.stored(entry, status));
    }
    let mut open = shared.cache.open_on_disk(&asked.key, entry)?;
    if let Some(offset) = responder.first_byte(entry) {
        shared.within_disk_timeout(open.begin(offset)).await.unwrap_or(Err(Unreadable::Silent))?;
    }
    Ok(responder.on_disk(open, status))
}
