//! Fetches from the origin: for one client ([`mod@pass`]; [`fresh_link`] finds a link made for that client), or into a fill that others can
//! join ([`fill`], [`in_the_background`]).
//!
//! A fill runs in a task of its own (`fetch/fill_task.rs`), so that the client that began it can leave while others wait. That
//! client gets news from the task: interim responses, and whether the answer is for it alone, or to be read from the fill as by all
//! others.

mod fill_body;
mod fill_task;
mod fresh_link;
mod pass;
mod review;
mod to_client;

use crate::error::Fault;
use crate::exchange::Exchange;
use crate::exchange::answer::{Answer, ConditionEvaluator, IntendedUse};
use crate::observe::timing::OriginTime;
use crate::origin::fetch_context::FetchContext;
use crate::origin_client::Response;
use crate::request::forward::Audience;
use crate::request::route::Routed;
use crate::visitors::session;
use fill_task::FillTask;
pub(crate) use fill_task::is_of_a_long_file;
use http::StatusCode;
use kasoku_cache::course::settled;
use kasoku_cache::{FillWriter, Joined};
use kasoku_origin::Interim;
use kasoku_semantics::cache_status::CacheStatus;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::unkeyed::is_same;
use kasoku_semantics::{cookies, set_cookies};
use kasoku_visitors::leak_guard::ComparisonTicket;
use kasoku_visitors::pattern::is_guarded;
use kasoku_wire::{Fields, ResponseHead};
pub(crate) use pass::pass;
use std::rc::Rc;
use std::sync::Arc;
pub(crate) use to_client::failed;
use to_client::{FirstClientEvent, ToClient};
use tokio::sync::{mpsc, oneshot};

/// The most interim responses that wait for a client; more are dropped, since they are hints.
const INTERIM_QUEUE_MAX: usize = 16;

/// Asks the origin for all requests that join this fill. `miss`: why nothing that is stored answers.
pub(crate) async fn fill(exchange: &Exchange, routed: &Routed, writer: FillWriter, miss: Reason) -> Answer {
    let (events_sender, mut events) = oneshot::channel();
    let (interim_sender, mut interim) = mpsc::channel(INTERIM_QUEUE_MAX);
    let fetch_context = FetchContext::new(exchange, routed, Audience::Shared, exchange.begin_origin());
    let task = FillTask::new(exchange, routed, fetch_context, interim_sender);
    task.spawn(exchange, writer, events_sender);
    let mut to_client = ToClient(exchange);
    let event = loop {
        tokio::select! {
            biased;
            Some(head) = interim.recv() => to_client.interim(head).await,
            event = &mut events => break event,
            () = exchange.gone() => return Answer::ClientGone(CacheStatus::forwarded(miss), IntendedUse::Cacheable),
        }
    };
    let status = CacheStatus::forwarded(miss);
    match event {
        Ok(event) => answer(exchange, routed, event, status).await,
        Err(_) => Answer::Synthetic(Fault::Origin(Reason::OriginClosedEarly), Some(status)),
    }
}

/// What the client that began the fill gets.
async fn answer(exchange: &Exchange, routed: &Routed, event: FirstClientEvent, mut status: CacheStatus) -> Answer {
    match event {
        FirstClientEvent::Shared(reader, dropped, head) => match reader.head().await {
            Joined::Streaming(meta) => {
                exchange.extras().notes.kept(dropped);
                status.stored = true;
                let meta = Arc::new(meta.with_head(*head));
                Answer::Filling(meta, reader, status)
            }
            // Parts that were combined: the whole is stored by now.
            Joined::Settled(entry, _) => Answer::Stored(entry, CacheStatus { stored: true, ..status }),
            Joined::Failed(reason) | Joined::Released(reason) => {
                Answer::Synthetic(Fault::Origin(reason), Some(CacheStatus { detail: Some(reason), ..status }))
            }
        },
        FirstClientEvent::Stored(entry, reason) => {
            let status = settled(&entry, reason, status, exchange.worker.now());
            // A 304 that opens a session, while the visitor's own was set aside. That session is in the head, for this client alone.
            if !status.hit && session::opens_another(exchange, routed, &entry.meta.head.fields) {
                return Box::pin(pass(exchange, routed, None, Reason::PassSession)).await;
            }
            Answer::Stored(entry, status)
        }
        FirstClientEvent::PrivateWithStoredCopy(response, stored) => {
            Answer::Origin(response, ConditionEvaluator::Cache, CacheStatus { stored, ..status })
        }
        FirstClientEvent::Private(response, Reason::ObjectTooLarge) if is_whole_for_a_part(exchange, &response) => {
            drop(response);
            Box::pin(pass(exchange, routed, None, Reason::ObjectTooLarge)).await
        }
        // The answer to an anonymous request need not be the answer for this visitor.
        FirstClientEvent::Private(
            response,
            reason @ (Reason::PageTextMissing
            | Reason::PersonalPage
            | Reason::AddressInResponse
            | Reason::VaryUnseen
            | Reason::LeakGuard
            | Reason::LeakGuardToken
            | Reason::LeakGuardUnconfirmed
            | Reason::LeakGuardPending),
        ) => {
            drop(response);
            retry_as_visitor(exchange, routed, reason).await
        }
        // A stream of events: only the client's own request says where to go on (Last-Event-ID), and whose events are meant.
        FirstClientEvent::Private(response, Reason::EndlessStream) if routed.route.policy.grant.is_granting() => {
            drop(response);
            retry_as_visitor(exchange, routed, Reason::EndlessStream).await
        }
        // The answer to the anonymous request opens a session or sends its client away, but this visitor has a session, which was
        // set aside: the visitor must get the page for that session.
        FirstClientEvent::Private(response, _) if is_for_the_session(exchange, routed, &response.head) => {
            drop(response);
            retry_as_visitor(exchange, routed, Reason::PassSession).await
        }
        FirstClientEvent::Private(response, reason) if is_for_no_client(routed, &response, reason) => {
            drop(response);
            retry_as_visitor(exchange, routed, reason).await
        }
        FirstClientEvent::Private(mut response, reason) => {
            if reason == Reason::SetCookie {
                exchange.extras().notes.sets(&routed.route, &response.head.fields);
            }
            leave_withheld_cookies(exchange, routed, &mut response.head.fields);
            Answer::Origin(response, ConditionEvaluator::Cache, CacheStatus { detail: Some(reason), ..status })
        }
        FirstClientEvent::Unverified => retry_as_visitor(exchange, routed, Reason::LeakGuardPending).await,
        FirstClientEvent::Failed(error) => failed(&error, status),
    }
}

/// Asks once more, with all that the client has sent, since the answer to the anonymous request is not for this client.
pub(crate) async fn retry_as_visitor(exchange: &Exchange, routed: &Routed, reason: Reason) -> Answer {
    exchange.extras().notes.passes(reason, &exchange.request.head.fields, routed, false);
    Box::pin(pass(exchange, routed, None, reason)).await
}

/// Whether the answer to an anonymous request may be another one for the session that was set aside: it opens a session, sends its
/// visitor elsewhere (to a login form), or refuses.
fn is_for_the_session(exchange: &Exchange, routed: &Routed, response: &ResponseHead) -> bool {
    let status = response.status;
    let sends_away = status.is_redirection() || matches!(status.as_u16(), 401 | 403);
    session::is_set_aside(exchange) && sends_away || session::opens_another(exchange, routed, &response.fields)
}

/// Removes from the answer to an anonymous request what would replace a cookie of the client. The application has not seen that cookie, so
/// what it sets may be the default: a chosen language or version would be lost.
fn leave_withheld_cookies(exchange: &Exchange, routed: &Routed, response: &mut Fields) {
    let withheld = &routed.route.policy.grant.dropped_cookies;
    let request = &exchange.request.head.fields;
    if withheld.is_empty() || !request.contains("cookie") || !response.contains("set-cookie") {
        return;
    }
    let has = |name: &[u8]| cookies::pairs(request).any(|pair| cookies::name(pair) == name);
    let replaces = |name: &[u8]| cookies::is_any(withheld, name) && has(name);
    response.retain(|name, line| !is_same(name, b"set-cookie") || !replaces(set_cookies::pair(line).0));
}

/// Whether an answer that is not shared is for no client: the request was anonymous, so the answer may be in another language, or lead
/// elsewhere, than the client's own request would have. An error says the same to all, and a file is the same for all.
fn is_for_no_client(routed: &Routed, response: &Response, reason: Reason) -> bool {
    let is_the_same = is_error(response.head.status) || response.body.is_file();
    // The application that is out of order says so to everybody, and asking once more would take as long again.
    let is_of_nobody =
        matches!(reason, Reason::ObjectTooLarge | Reason::MemoryFull | Reason::PassRule | Reason::Outage);
    is_guarded(routed.route.visitor_rules()) && !is_the_same && !is_of_nobody
}

fn is_error(status: StatusCode) -> bool {
    status.is_client_error() || status.is_server_error()
}

/// Whether a client that wants a part got the whole of a file, which was requested to be stored, and can't be.
fn is_whole_for_a_part(exchange: &Exchange, response: &Response) -> bool {
    let is_whole_file = response.body.is_file_in_one() && response.head.status == StatusCode::OK;
    is_whole_file && exchange.request.head.fields.contains("range")
}

/// Begins a fill that compares the first page of a URL pattern, and passes: the client gets the answer to its own request.
pub(crate) async fn pass_beside(
    exchange: &Exchange,
    routed: &Routed,
    writer: FillWriter,
    ticket: ComparisonTicket,
) -> Answer {
    let (pending, begun_ms) = (ticket.pending(), exchange.worker.now().mono_ms);
    background_task(exchange, routed, writer, |task| task.comparing(ticket));
    let answer = retry_as_visitor(exchange, routed, Reason::LeakGuardPending).await;
    // The fill may still wait for a permit. Others do not wait longer than this client did.
    pending.iter().for_each(|pending| pending.took(exchange.worker.now().mono_ms.saturating_sub(begun_ms)));
    answer
}

/// Begins a fill in the background: it refreshes a stale response, or sends a probe for all requests that wait for it.
pub(crate) fn in_the_background(exchange: &Exchange, routed: &Routed, writer: FillWriter) {
    background_task(exchange, routed, writer, |task| task);
}

fn background_task(
    exchange: &Exchange,
    routed: &Routed,
    writer: FillWriter,
    change: impl FnOnce(FillTask) -> FillTask,
) {
    let (events, _) = oneshot::channel();
    let (interim, _) = mpsc::channel(1);
    let time = Rc::new(OriginTime::begin(exchange.worker.moment().mono_us));
    let fetch_context = FetchContext::new(exchange, routed, Audience::Background, time);
    let task = change(FillTask::new(exchange, routed, fetch_context, interim));
    task.spawn(exchange, writer, events);
}
