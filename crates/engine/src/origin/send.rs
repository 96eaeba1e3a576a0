//! Asks the origins of a route: which one first, and which next when it fails.
//!
//! The route's group chooses ([`kasoku_origin::group`]); this module decides what a failure means. Another origin is asked within
//! the same request, each at most once, and only while nothing of an answer has gone to the client:
//!
//! | failure | another origin is asked |
//! |---|---|
//! | no connection | for every method: nothing was sent, and the body has not been begun |
//! | connection lost before an answer | for idempotent methods (RFC 9110 section 9.2.2) without a body; for all, if no head was sent |
//! | no answer in time | never: what may be slow everywhere must not load each origin, and the client has waited long enough |
//! | a malformed answer, or a status of 5xx | never: it is an answer, and another origin's would hardly differ |
//! | no permit for a connection | never: the other origins had none either, or one of them would have been chosen |
//!
//! No other origin is asked either once the first ones have taken as long as an answer may take (`first_byte_timeout`).
//!
//! Each answer and each failure goes into the origin's health, which the whole process shares. When all origins are down, they are
//! tried in turn all the same, by one request at a time; the other requests wait a moment for its result. A request fails with
//! [`Error::Down`] only where that was in vain, or where the origins' checks say that they are down.

use crate::origin::fetch_context::FetchContext;
use crate::origin::origin_answer::OriginAnswer;
use crate::origin::outages;
use crate::origin::sendfile;
use crate::origin_client::{Reply, refused};
use crate::request::route::{refusing, route_redirect};
use crate::runtime::clock::WorkerTime;
use crate::runtime::worker::Worker;
use crate::sites::ActiveRoute;
use http::{Method, StatusCode};
use kasoku_metrics::{Counter, Timer};
use kasoku_origin::group::{Attempts, ChosenOrigin, NextOrigin};
use kasoku_origin::health::Blame;
use kasoku_origin::upload::is_repeatable;
use kasoku_origin::{Error, Interim, NoUpload, Upload};
use kasoku_programs::Request;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::stored_fields::date_cookies;
use kasoku_visitors::anonymous_cookies;
use kasoku_visitors::passing;
use kasoku_wire::{RequestHead, ResponseHead};

/// The most local redirects that one request follows; Apache's LimitInternalRecursion is the same.
const LOCAL_REDIRECTS_MAX: usize = 10;

/// Asks the origins of a route, and measures how long that takes.
pub(crate) async fn send<U: Upload + 'static>(
    worker: &Worker,
    route: &ActiveRoute,
    fetch_context: &FetchContext,
    request: &RequestHead,
    upload: &mut Option<U>,
    interim: &mut impl Interim,
) -> OriginAnswer {
    let begun_us = worker.moment().mono_us;
    let mut sent = match (OriginCall { worker, route, fetch_context, request }).until_answered(upload, interim).await {
        Ok(Reply::Response(response)) => sendfile::instead(worker, route, fetch_context, response).await,
        Ok(Reply::LocalRedirect(target)) => {
            Box::pin(follow_local_redirects(worker, route, fetch_context, request, target, interim)).await
        }
        Err(error) => error.into(),
    };
    if let Ok(response) = &mut sent.response {
        date_cookies(&mut response.head, worker.now());
        worker.cookie_setters.has_answered(request, &response.head, &route.policy);
    }
    let WorkerTime { now, mono_us } = worker.moment();
    match &sent.response {
        // The time until the application's own answer is noted already: the file in its place may have taken longer.
        Ok(_) if fetch_context.time.whole().is_some() => {}
        Ok(_) => fetch_context.time.has_head(mono_us),
        // No origin was asked, or the client is to blame.
        Err(Error::Down | Error::Upload(_)) => return sent,
        Err(_) => {}
    }
    let took_us = mono_us.saturating_sub(begun_us);
    worker.cells.observe(Timer::Origin, took_us);
    worker.top.slow(now.mono_ms, &fetch_context.uri, took_us);
    sent
}

/// Follows local redirects (RFC 3875 section 6.2.2), each to the route that its path has here.
///
/// The result is the answer to the first request, and is stored as that, by the first request's rules. It is for one client if
/// requests for the redirect's target pass, or if this request would pass there for the visitor that it tells of: what a rule keeps
/// from being shared must not be shared under another name.
async fn follow_local_redirects(
    worker: &Worker,
    first: &ActiveRoute,
    fetch_context: &FetchContext,
    request: &RequestHead,
    mut target: String,
    interim: &mut impl Interim,
) -> OriginAnswer {
    let mut request = as_get(request);
    let mut passes_somewhere = false;
    for _ in 0..LOCAL_REDIRECTS_MAX {
        let Some(site) = fetch_context.settings.sites.get(fetch_context.site) else { break };
        if refusing(site, &target, &mut worker.paths.borrow_mut()).is_some() {
            return refused(StatusCode::FORBIDDEN, &request.method).into();
        }
        let (route, passes) = route_redirect(site, &mut worker.paths.borrow_mut(), &target);
        // The request counts as it is sent, but without the cookies that made it anonymous.
        passes_somewhere |= passes
            || passing::passes(
                &anonymous_cookies::without(&request.fields, first.visitor_rules()),
                route.visitor_rules(),
                false,
            )
            .is_some();
        request.target = std::mem::take(&mut target);
        let sending = OriginCall { worker, route: &route, fetch_context, request: &request };
        match sending.until_answered(&mut Some(NoUpload), interim).await {
            Ok(Reply::Response(response)) => {
                let mut answer = sendfile::instead(worker, &route, fetch_context, response).await;
                // This route's rules have found the file. A stored decision would look for it by the rules of the first route.
                answer.said = None;
                if let Ok(response) = &mut answer.response
                    && passes_somewhere
                {
                    answer.one_client = Some(Reason::PassRule);
                    // For the caches between us and the client.
                    response.head.fields.push("Cache-Control", "private");
                }
                return answer;
            }
            Ok(Reply::LocalRedirect(next)) => target = next,
            Err(error) => return error.into(),
        }
    }
    Error::RedirectsForEver.into()
}

/// Whether a 304 answers a request that has no condition.
fn confirms_nothing(request: &RequestHead, reply: &Reply) -> bool {
    let is_304 = matches!(reply, Reply::Response(response) if response.head.status == StatusCode::NOT_MODIFIED);
    is_304 && !["if-none-match", "if-modified-since"].iter().any(|name| request.fields.contains(name))
}

/// The same request as a GET, whatever its method was; a HEAD stays a HEAD.
fn as_get(request: &RequestHead) -> RequestHead {
    let mut get = request.clone();
    if get.method != Method::HEAD {
        get.method = Method::GET;
    }
    for name in ["content-length", "transfer-encoding", "content-type", "content-encoding", "expect"] {
        get.fields.remove(name);
    }
    get
}

/// The next origin to ask; `None`: there is no other, or all are down.
async fn next(worker: &Worker, route: &ActiveRoute, attempts: &mut Attempts) -> Option<ChosenOrigin> {
    loop {
        match route.group.choose(attempts, &route.health, worker.now().mono_ms) {
            NextOrigin::Ask(choice) => return Some(choice),
            NextOrigin::Wait(waiting) => waiting.wait(attempts).await,
            NextOrigin::NoneLeft => return None,
        }
    }
}

/// Whether an origin can be connected to, which is tried where all are believed down: before a client is told to send a body.
pub(crate) async fn can_be_reached(worker: &Worker, route: &ActiveRoute) -> bool {
    if !route.group.is_down(worker.now().mono_ms) {
        return true;
    }
    let mut attempts = Attempts::new(0, true);
    let mut is_asked = false;
    while let Some(choice) = next(worker, route, &mut attempts).await {
        is_asked = true;
        let sent = choice.origin.health.mark();
        match worker.client.reach(&choice, &route.origin).await {
            Ok(()) => return true,
            Err(error) => outages::failed(worker, route, &choice.origin, sent, &error),
        }
    }
    if !is_asked {
        route.group.was_not_asked();
    }
    false
}

/// What stays the same, whichever origin is asked.
struct OriginCall<'a> {
    worker: &'a Worker,
    route: &'a ActiveRoute,
    fetch_context: &'a FetchContext,
    request: &'a RequestHead,
}

impl OriginCall<'_> {
    /// Asks until an origin has answered or there is no other to ask.
    async fn until_answered<U: Upload + 'static>(
        &self,
        upload: &mut Option<U>,
        interim: &mut impl Interim,
    ) -> Result<Reply, Error> {
        let Self { worker, route, fetch_context, request } = *self;
        let mut attempts = Attempts::new(fetch_context.key_hash, is_repeatable(request, upload));
        attempts.share = fetch_context.share;
        let mut interim = Watched { interim, has_come: false, has_sent_continue: false };
        let give_up = worker.now().mono_ms.saturating_add(route.origin.first_byte_timeout.as_millis() as u64);
        let mut failure = Error::Down;
        while let Some(choice) = next(worker, route, &mut attempts).await {
            if !matches!(failure, Error::Down) {
                worker.cells.count(Counter::OriginFailovers);
            }
            fetch_context.time.asked(choice.origin.clone());
            match self.ask(&choice, upload, &mut interim).await {
                Ok(reply) if confirms_nothing(request, &reply) => failure = Error::NothingToConfirm,
                Ok(reply) => return Ok(reply),
                Err(error) => failure = error,
            }
            // A body that is still there has not been begun, and nothing was sent that an origin could act on.
            let is_unsent = attempts.is_repeatable || upload.is_some();
            let may_go_on = match failure.blame() {
                Blame::Connection => is_unsent,
                Blame::Answer => is_unsent && failure.is_connection_lost(),
                Blame::NoOrigin => false,
            };
            if !may_go_on || interim.has_come || worker.now().mono_ms >= give_up {
                break;
            }
        }
        if matches!(failure, Error::Down) {
            route.group.was_not_asked();
        }
        Err(failure)
    }

    /// Asks one origin, and notes the result in its health, the counters and the trace.
    async fn ask<U: Upload + 'static>(
        &self,
        choice: &ChosenOrigin,
        upload: &mut Option<U>,
        interim: &mut impl Interim,
    ) -> Result<Reply, Error> {
        let Self { worker, route, fetch_context, request } = *self;
        let connection = &fetch_context.connection;
        let (gateway, limits, open_files) = (&route.gateway, &route.origin, &worker.open_files);
        let trace = fetch_context.trace.as_ref().map(|trace| trace.asks(worker, request));
        let head = trace.as_ref().map_or(request, |trace| &trace.head);
        let request = Request { head, connection, gateway, limits, open_files };
        let origin = &choice.origin;
        origin.count_request();
        let sent = origin.health.mark();
        let asked = worker.client.send(choice, &request, upload, interim).await;
        worker.count_origin();
        if let Some(trace) = trace {
            trace.ends(worker, origin, &asked);
        }
        match &asked {
            Ok(_) => {
                if let Some(recovery) = origin.health.answered(worker.now().mono_ms) {
                    outages::tell_end(&origin.address, "answers again", recovery);
                }
            }
            Err(Error::Upload(_)) => {}
            Err(error) => {
                worker.cells.count(Counter::OriginErrors);
                if error.blame() != Blame::NoOrigin {
                    origin.count_failure();
                }
                outages::failed(worker, route, origin, sent, error);
            }
        }
        asked
    }
}

/// Notices interim responses on their way to the client: from then on the answer has begun.
struct Watched<'a, I> {
    interim: &'a mut I,
    has_come: bool,
    has_sent_continue: bool,
}

impl<I: Interim> Interim for Watched<'_, I> {
    async fn interim(&mut self, mut head: ResponseHead) {
        if head.status == StatusCode::CONTINUE {
            // A 100 says nothing of the answer, so another origin may still be asked. The client needs it once.
            if std::mem::replace(&mut self.has_sent_continue, true) {
                return;
            }
        } else {
            self.has_come = true;
        }
        sendfile::strip(&mut head.fields);
        self.interim.interim(head).await;
    }
}
