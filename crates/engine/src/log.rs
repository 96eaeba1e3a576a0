//! Counts each request once, and tells about it. What is stored and what is revalidated is counted where it happens, in
//! `fetch`, since that may be later than the answer, or without one.

use crate::outgoing::Delivered;
use crate::serve::Exchange;
use crate::worker::Worker;
use kasoku_metrics::Counter;
use kasoku_semantics::cache_status::CacheStatus;
use kasoku_semantics::reason::Reason;

/// After a request has been answered.
pub(crate) fn log(worker: &Worker, exchange: &Exchange, delivered: &Delivered) {
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
pub(crate) fn log_refused(worker: &Worker, sent: Option<u64>) {
    let (body_bytes, is_whole) = (sent.unwrap_or(0), sent.is_some());
    worker.cells.count(Counter::Requests);
    worker.cells.count(Counter::Errors);
    worker.cells.add(Counter::BodyBytesSent, body_bytes);
    if !is_whole {
        worker.cells.count(Counter::Aborted);
    }
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
