//! Sends answers of our own: failures, OPTIONS, the results of PURGE.

use crate::deliver::outgoing::Outgoing;
use crate::door::{Follows, HeadWriter};
use crate::error::Fault;
use crate::exchange::Exchange;
use crate::exchange::delivered::Delivered;
use http::{Method, StatusCode};
use kasoku_cache::represent::HeadSink;
use kasoku_semantics::cache_status::CacheStatus;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::time::Now;
use kasoku_wire::Fields;
use std::iter;

/// Methods that are served, for Allow.
const ALLOWED: &str = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

pub(crate) async fn own(exchange: &Exchange, fault: &Fault, status: Option<CacheStatus>) -> Delivered {
    tracing::debug!(uri = exchange.uri, guilty = ?fault.guilty(), fault = fault.text(), "own answer");
    let (head, page) = page(exchange.head(), fault, exchange.worker.now());
    let follows = Follows::Length(page.len() as u64);
    let mut out = Outgoing::framed(exchange, head, fault.status(), follows, status, fault.keeps_connection());
    out.delivered.error = Some(fault.reason());
    let is_head = exchange.request.head.method == Method::HEAD;
    out.all(std::iter::once(page.as_bytes()).filter(|_| !is_head)).await
}

/// The short page of a failure.
pub(crate) fn page(head: HeadWriter, fault: &Fault, now: Now) -> (HeadWriter, String) {
    let code = fault.status();
    let mut head = head.of(code);
    head.date_unless_in(&Fields::new(), now);
    head.field("Content-Type", "text/plain; charset=utf-8");
    head.field("Cache-Control", "no-store");
    if code == StatusCode::METHOD_NOT_ALLOWED {
        head.field("Allow", ALLOWED);
    }
    // A client that has begun too many fetches may begin the next one within a second.
    if matches!(code, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS) {
        head.number("Retry-After", 1);
    }
    let title = code.canonical_reason().unwrap_or("Error");
    (head, format!("{} {title}\n\n{} [{}]\n", code.as_str(), fault.text(), fault.reason().id()))
}

pub(crate) async fn purged(exchange: &Exchange, code: StatusCode, text: &str) -> Delivered {
    let mut head = exchange.head().of(code);
    head.date_unless_in(&Fields::new(), exchange.worker.now());
    head.field("Content-Type", "text/plain; charset=utf-8");
    head.field("Cache-Control", "no-store");
    let lines = [text.as_bytes(), b"\n"];
    let follows = Follows::Length(lines.iter().map(|line| line.len() as u64).sum());
    let mut out = Outgoing::framed(exchange, head, code, follows, None, true);
    out.delivered.error = (!code.is_success()).then_some(Reason::PurgeRefused);
    out.all(lines.into_iter()).await
}

pub(crate) async fn options(exchange: &Exchange) -> Delivered {
    let mut head = exchange.head().of(StatusCode::OK);
    head.date_unless_in(&Fields::new(), exchange.worker.now());
    head.field("Allow", ALLOWED);
    let status = CacheStatus { fwd: None, ..CacheStatus::forwarded(Reason::Method) };
    Outgoing::begin(exchange, head, StatusCode::OK, Follows::Length(0), status).all(iter::empty()).await
}
