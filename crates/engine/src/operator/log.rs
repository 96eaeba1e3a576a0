//! Counts each request once and writes its access log line. `fetch` counts stored and revalidated responses, since these may happen after
//! the answer or without one.
//!
//! Each request has one [`Outcome`], so that hits, misses, passes and errors add up to the requests, and one line.

use crate::error::Fault;
use crate::exchange::Exchange;
use crate::exchange::delivered::Delivered;
use crate::exchange::trace;
use crate::observe::access_log::{LoggedRequest, Record};
use crate::observe::top::{NotHit, NotHitKind};
use crate::operator::doctor::missed::missed;
use crate::request::request_id::RequestId;
use crate::runtime::worker::Worker;
use http::StatusCode;
use kasoku_metrics::{Counter, Outcome, StatusClass, Timer};
use kasoku_semantics::client_address::Peer;
use kasoku_semantics::client_address::client;
use kasoku_semantics::reason::Reason;
use kasoku_wire::Fields;

/// The outcome of a request.
fn outcome_of(delivered: &Delivered) -> Outcome {
    match (&delivered.error, &delivered.cache) {
        (Some(_), _) => Outcome::Error,
        (None, Some(status)) if status.hit => Outcome::Hit,
        (None, Some(status)) if status.stored || status.collapsed || delivered.was_meant_for_cache => Outcome::Miss,
        // An answer without Cache-Status, as that of a purge, counts as a pass as well.
        (None, _) => Outcome::Pass,
    }
}

fn counters(outcome: Outcome) -> (Counter, Timer) {
    match outcome {
        Outcome::Hit => (Counter::Hits, Timer::Hit),
        Outcome::Miss => (Counter::Misses, Timer::Miss),
        Outcome::Pass => (Counter::Passes, Timer::Pass),
        Outcome::Error => (Counter::Errors, Timer::Error),
    }
}

/// The class of the status that the client got. The log writes 499 where the client got nothing.
fn class_of(delivered: &Delivered) -> StatusClass {
    match delivered.status.as_u16() {
        499 if !delivered.is_whole => StatusClass::None,
        status => StatusClass::of(status),
    }
}

/// Counts and logs a request after it has been answered.
pub(crate) fn log(worker: &Worker, exchange: &Exchange, delivered: &Delivered) {
    exchange.has_been_logged();
    let duration_us = exchange.duration_us();
    let outcome = outcome_of(delivered);
    let (counter, timer) = counters(outcome);
    // The line is written before the request is counted, so that a reader of the counters finds the line.
    tell(worker, exchange, delivered, duration_us, timer.result());
    let cells = &worker.cells;
    cells.count(Counter::Requests);
    cells.add(Counter::BodyBytesSent, delivered.body_bytes);
    if !delivered.is_whole {
        cells.count(Counter::Aborted);
    }
    cells.count(counter);
    cells.observe(timer, duration_us);
    exchange.site_cells().count(outcome, class_of(delivered));
    if outcome != Outcome::Hit {
        cells.count_reason(outcome, reason(delivered));
    }
    trace::answered(exchange, delivered, outcome, reason(delivered));
    count_more(worker, delivered);
    // A purge, and an OPTIONS that goes no further, are no misses.
    let has_missed = matches!(outcome, Outcome::Miss | Outcome::Pass)
        && delivered.cache.as_ref().is_some_and(|status| status.fwd.is_some());
    if has_missed {
        missed(exchange, delivered);
    }
    let kind = match outcome {
        Outcome::Error if !exchange.uri.is_empty() => Some(NotHitKind::Error),
        Outcome::Miss if has_missed && reason(delivered) == Some(Reason::Revalidated) => Some(NotHitKind::Revalidated),
        Outcome::Miss if has_missed => Some(NotHitKind::Miss),
        Outcome::Pass if has_missed => Some(NotHitKind::Pass),
        Outcome::Hit | Outcome::Miss | Outcome::Pass | Outcome::Error => None,
    };
    if let Some(kind) = kind {
        let seen = NotHit { kind, reason: reason(delivered), body_bytes: delivered.body_bytes };
        worker.top.seen(exchange.now().mono_ms, &exchange.uri, &seen);
    }
    tracing::debug!(
        uri = exchange.uri.as_str(),
        status = delivered.status.as_u16(),
        bytes = delivered.body_bytes,
        reason = reason(delivered).map(Reason::id),
        "request"
    );
}

/// Counts and logs a request that the end of the program cuts off.
#[cold]
pub(crate) fn log_cut(exchange: &Exchange) {
    let (status, body_bytes) = exchange.progress().unwrap_or((StatusCode::SERVICE_UNAVAILABLE, 0));
    let error = Some(Reason::Shutdown);
    log(&exchange.worker, exchange, &Delivered { body_bytes, error, ..Delivered::cut(status) });
}

/// Counts and logs an error page for bytes that were no valid request. `sent`: the bytes of the page; `None` when the client did
/// not take it.
pub(crate) fn log_refused(worker: &Worker, peer: &Peer, fault: &Fault, id: RequestId<'_>, sent: Option<u64>) {
    let (body_bytes, is_whole) = (sent.unwrap_or(0), sent.is_some());
    if let Some(log) = &*worker.access_log.borrow() {
        let record = Record {
            id,
            client: client(peer, &Fields::new()),
            asked: None,
            status: fault.status(),
            body_bytes,
            is_whole,
            result: Timer::Error.result(),
            cache: None,
            reason: Some(fault.reason()),
            duration_us: None,
            origin: None,
        };
        log.line(worker.now(), &record);
    }
    worker.cells.count(Counter::Requests);
    worker.cells.count(Counter::Errors);
    worker.cells.count_reason(Outcome::Error, Some(fault.reason()));
    worker.of_no_site.count(Outcome::Error, StatusClass::of(fault.status().as_u16()));
    worker.cells.add(Counter::BodyBytesSent, body_bytes);
    if !is_whole {
        worker.cells.count(Counter::Aborted);
    }
}

/// Writes the line of the access log.
fn tell(worker: &Worker, exchange: &Exchange, delivered: &Delivered, duration_us: u64, result: &'static str) {
    let log = worker.access_log.borrow();
    let Some(log) = &*log else { return };
    let head = &exchange.request.head;
    let asked = LoggedRequest {
        method: head.method.as_str(),
        target: &head.target,
        version: head.version,
        // A request that was cut before it had an answer has no effective URI yet.
        uri: if exchange.uri.is_empty() { &head.target } else { &exchange.uri },
        host: head.fields.first("host"),
        referer: head.fields.first("referer"),
        user_agent: head.fields.first("user-agent"),
    };
    let record = Record {
        id: exchange.id(),
        client: client(&exchange.peer, &head.fields),
        asked: Some(asked),
        status: delivered.status,
        body_bytes: delivered.body_bytes,
        is_whole: delivered.is_whole,
        result,
        cache: delivered.cache.as_ref(),
        reason: reason(delivered),
        duration_us: Some(duration_us),
        origin: exchange.origin(),
    };
    log.line(exchange.now(), &record);
}

/// Why the answer is what it is.
fn reason(delivered: &Delivered) -> Option<Reason> {
    delivered.error.or(delivered.cache.as_ref().and_then(|cache| cache.detail))
}

fn count_more(worker: &Worker, delivered: &Delivered) {
    let Some(status) = delivered.cache.as_ref().filter(|_| delivered.error.is_none()) else { return };
    if status.collapsed {
        worker.cells.count(Counter::Collapsed);
    }
    if status.hit && status.detail.is_some_and(Reason::is_of_the_shared_tier) {
        worker.cells.count(Counter::SharedHits);
    }
    let stale =
        [Reason::HitStaleError, Reason::HitStaleDisconnected, Reason::HitStaleWhileRevalidate, Reason::HitMaxStale];
    if status.hit && status.detail.is_some_and(|detail| stale.contains(&detail)) {
        worker.cells.count(Counter::StaleServed);
    }
}
