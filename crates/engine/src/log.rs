//! Counts each request once, and tells about it. What is stored and what is revalidated is counted where it happens, in
//! `fetch`, since that may be later than the answer, or without one.

use crate::access_log::{Asked, Record, client};
use crate::connection::Connection;
use crate::outgoing::Delivered;
use crate::serve::Exchange;
use crate::worker::Worker;
use http::StatusCode;
use kasoku_metrics::Counter;
use kasoku_semantics::cache_status::CacheStatus;
use kasoku_semantics::reason::Reason;
use kasoku_wire::Fields;

/// After a request has been answered.
pub(crate) fn log(worker: &Worker, exchange: &Exchange, delivered: &Delivered) {
    // Before it is counted, so that who sees the number finds the line.
    tell(worker, exchange, delivered);
    let cells = &worker.cells;
    cells.count(Counter::Requests);
    cells.add(Counter::BodyBytesSent, delivered.body_bytes);
    if !delivered.is_whole {
        cells.count(Counter::Aborted);
    }
    match &delivered.cache {
        None => cells.count(Counter::Errors),
        Some(status) => count(worker, status),
    }
    tracing::debug!(
        uri = exchange.uri.as_str(),
        status = delivered.status.as_u16(),
        bytes = delivered.body_bytes,
        reason = delivered.cache.as_ref().and_then(|cache| cache.detail).map(Reason::id),
        "request"
    );
}

/// After something that is no request has been answered; `sent`: the bytes of the page, `None` when the client took it not.
pub(crate) fn log_refused(worker: &Worker, connection: &Connection, status: StatusCode, sent: Option<u64>) {
    let (body_bytes, is_whole) = (sent.unwrap_or(0), sent.is_some());
    if let Some(log) = &*worker.access_log.borrow() {
        let client = client(&connection.peer, &Fields::new());
        let record = Record { client, asked: None, status, body_bytes, is_whole, cache: None, reason: None };
        log.line(worker.now(), &record);
    }
    worker.cells.count(Counter::Requests);
    worker.cells.count(Counter::Errors);
    worker.cells.add(Counter::BodyBytesSent, body_bytes);
    if !is_whole {
        worker.cells.count(Counter::Aborted);
    }
}

/// The line of the access log.
fn tell(worker: &Worker, exchange: &Exchange, delivered: &Delivered) {
    let log = worker.access_log.borrow();
    let Some(log) = &*log else { return };
    let head = &exchange.request.head;
    let asked = Asked {
        method: head.method.as_str(),
        target: &head.target,
        version: head.version,
        uri: &exchange.uri,
        host: head.fields.first("host"),
        referer: head.fields.first("referer"),
        user_agent: head.fields.first("user-agent"),
    };
    let record = Record {
        client: client(&exchange.connection.peer, &head.fields),
        asked: Some(asked),
        status: delivered.status,
        body_bytes: delivered.body_bytes,
        is_whole: delivered.is_whole,
        cache: delivered.cache.as_ref(),
        reason: delivered.cache.as_ref().and_then(|cache| cache.detail),
    };
    log.line(exchange.now(), &record);
}

fn count(worker: &Worker, status: &CacheStatus) {
    let cells = &worker.cells;
    match (status.hit, status.stored || status.collapsed) {
        (true, _) => cells.count(Counter::Hits),
        (false, true) => cells.count(Counter::Misses),
        (false, false) => cells.count(Counter::Passes),
    }
    if status.collapsed {
        cells.count(Counter::Collapsed);
    }
    let stale =
        [Reason::HitStaleError, Reason::HitStaleDisconnected, Reason::HitStaleWhileRevalidate, Reason::HitMaxStale];
    if status.hit && status.detail.is_some_and(|detail| stale.contains(&detail)) {
        cells.count(Counter::StaleServed);
    }
}
