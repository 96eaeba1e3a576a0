//! An answer to bytes: conditions, ranges, framing, hit headers.
//!
//! What is stored, or being filled, is evaluated here against what this client asked: a condition may turn it into 304, a
//! range into 206 or 416. What the origin sent for this client alone goes through as it is.

use crate::connection::Connection;
use crate::error::Fault;
use crate::head::{Framing, Head};
use crate::multipart::Multipart;
use crate::options::HitHeaders;
use crate::outgoing::{Delivered, Outgoing, or_flush};
use crate::respond::forwarded;
use crate::serve::Exchange;
use bytes::Bytes;
use http::{Method, StatusCode};
use kasoku_cache::{Entry, FillReader, Meta, Next};
use kasoku_metrics::Counter;
use kasoku_origin::http::{Piece, Response};
use kasoku_semantics::cache_status::CacheStatus;
use kasoku_semantics::hop_by_hop::{forwardable_trailers, strip_hop_by_hop};
use kasoku_semantics::precondition::{Precondition, not_modified_fields, precondition};
use kasoku_semantics::range::{ByteRange, RangeOutcome, range};
use kasoku_semantics::reason::Reason;
use kasoku_semantics::time::Now;
use kasoku_wire::field::content_range;
use kasoku_wire::{Fields, ResponseHead};
use std::io::{self, IoSlice};
use std::sync::Arc;

/// Methods that are served, for Allow.
const ALLOWED: &str = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

/// What a request gets.
pub(crate) enum Answer {
    /// A stored response.
    Stored(Arc<Entry>, CacheStatus),
    /// A response that is being filled.
    Filling(Arc<Meta>, FillReader, CacheStatus),
    /// The origin's response, for this client alone.
    Origin(Response, Conditions, CacheStatus),
    /// The origin has switched protocols.
    Switched(Response),
    /// A failure, of whomever.
    Own(Fault, Option<CacheStatus>),
    /// OPTIONS that may not be forwarded any more.
    Options,
    /// Nothing: the client has left.
    ClientGone(CacheStatus),
}

/// Who evaluates the client's conditions (If-None-Match, If-Modified-Since).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conditions {
    /// The origin got them, and has.
    Origins,
    /// They were kept from the origin, so that its answer could be stored.
    Ours,
}

/// Sends the answer.
pub(crate) async fn deliver(exchange: &Exchange, answer: Answer) -> Delivered {
    match answer {
        Answer::Stored(entry, status) => stored(exchange, &entry, status).await,
        Answer::Filling(meta, reader, status) => filling(exchange, &meta, reader, status).await,
        Answer::Origin(response, conditions, status) => origin(exchange, response, conditions, status).await,
        Answer::Switched(response) => switched(exchange, response).await,
        Answer::Own(fault, status) => own(exchange, &fault, status).await,
        Answer::Options => options(exchange).await,
        Answer::ClientGone(status) => {
            let code = StatusCode::from_u16(499).unwrap_or(StatusCode::BAD_REQUEST);
            Delivered { cache: Some(status), ..Delivered::cut(code) }
        }
    }
}

async fn stored(exchange: &Exchange, entry: &Entry, status: CacheStatus) -> Delivered {
    let Entry { meta, body } = entry;
    // The client's condition is about what the client has, so it is evaluated here and not by the origin's status.
    //= RFC 9111 section 4.3.2
    //# If the response to the forwarded request is 304 (Not Modified) and has an ETag field value with an entity tag that
    //# is not in the client's list, the cache MUST generate a 200 (OK) response for the client by reusing its
    //# corresponding stored response, as updated by the 304 response metadata (Section 4.3.4).
    if is_not_modified(exchange, &meta.head, meta.freshness.response_time) {
        return not_modified(exchange, &meta.head, meta_age(exchange, meta, &status), status).await;
    }
    let asked = match body.complete_length() {
        Some(length) => range(&exchange.request.head, &meta.head, length),
        None => RangeOutcome::Full,
    };
    let head = |code: StatusCode, without: &[&str]| {
        let mut head = if code == meta.head.status { Head::new(code, &meta.head.reason) } else { Head::of(code) };
        head.fields_without(&meta.head.fields, without, exchange.worker.options.hit_headers);
        head.via(meta.head.version);
        if let Some(age) = meta_age(exchange, meta, &status) {
            head.number("Age", age);
        }
        head
    };
    match asked {
        // The look-up has seen to it that all that is asked for is here. If it is not, no part may go for the whole.
        _ if !exchange.worker.cache.covers(&exchange.request.head, entry) => {
            own(exchange, &Fault::Origin(Reason::PartialMiss), Some(status)).await
        }
        RangeOutcome::Full => {
            let head = head(meta.head.status, &["content-length"]);
            let pieces: Vec<Bytes> = body.chunks().cloned().collect();
            send(exchange, head, meta.head.status, pieces, status).await
        }
        //= RFC 9111 section 3.3
        //# A cache MUST NOT send a partial response to a client without explicitly marking it using the 206 (Partial
        //# Content) status code.
        RangeOutcome::Ranges(ranges) => match ranges.as_slice() {
            [only] => {
                let mut head = head(StatusCode::PARTIAL_CONTENT, &["content-length", "content-range"]);
                head.field("Content-Range", content_range::format(only.first, only.last, body.complete_length()));
                send(exchange, head, StatusCode::PARTIAL_CONTENT, body.slice(*only), status).await
            }
            several => {
                let parts = Multipart::new(body, several, meta.head.fields.first("content-type"));
                let without = ["content-length", "content-range", "content-type"];
                let mut head = head(StatusCode::PARTIAL_CONTENT, &without);
                head.field("Content-Type", &parts.content_type);
                send(exchange, head, StatusCode::PARTIAL_CONTENT, parts.pieces, status).await
            }
        },
        RangeOutcome::Unsatisfiable => {
            let mut head = Head::of(StatusCode::RANGE_NOT_SATISFIABLE);
            head.date_unless_in(&Fields::new(), exchange.worker.now());
            head.field("Content-Range", format!("bytes */{}", body.complete_length().unwrap_or(0)));
            let status = CacheStatus { detail: Some(Reason::RangeUnsatisfiable), ..status };
            send(exchange, head, StatusCode::RANGE_NOT_SATISFIABLE, Vec::new(), status).await
        }
    }
}

/// The Age of a response, unless it was made or confirmed for this very request and is not older than that.
//= RFC 9111 section 4
//# When a stored response is used to satisfy a request without validation, a cache MUST generate an Age header field
fn meta_age(exchange: &Exchange, meta: &Meta, status: &CacheStatus) -> Option<u64> {
    let age = meta.freshness.age(exchange.worker.now());
    let is_fetched_now = !status.hit && !status.collapsed;
    (!is_fetched_now || age > 0).then_some(age)
}

fn is_not_modified(exchange: &Exchange, head: &ResponseHead, response_time: Now) -> bool {
    precondition(&exchange.request.head, head, response_time, exchange.worker.now()) == Precondition::NotModified
}

async fn not_modified(exchange: &Exchange, of: &ResponseHead, age: Option<u64>, status: CacheStatus) -> Delivered {
    let mut head = Head::of(StatusCode::NOT_MODIFIED);
    head.fields_without(&not_modified_fields(&of.fields), &[], exchange.worker.options.hit_headers);
    head.date_unless_in(&of.fields, exchange.worker.now());
    head.via(of.version);
    if let Some(age) = age {
        head.number("Age", age);
    }
    let out = Outgoing::begin(exchange, head, StatusCode::NOT_MODIFIED, Framing::None, status);
    out.all(Vec::new()).await
}

/// Sends a head and a body that is all here.
async fn send(exchange: &Exchange, head: Head, code: StatusCode, pieces: Vec<Bytes>, status: CacheStatus) -> Delivered {
    let length = pieces.iter().map(|piece| piece.len() as u64).sum();
    let framing = if code == StatusCode::NO_CONTENT { Framing::None } else { Framing::Length(length) };
    let out = Outgoing::begin(exchange, head, code, framing, status);
    out.all(if exchange.request.head.method == Method::HEAD { Vec::new() } else { pieces }).await
}

/// What a second client of a running fill gets, and the first as well: the pieces as they come.
async fn filling(exchange: &Exchange, meta: &Arc<Meta>, mut reader: FillReader, status: CacheStatus) -> Delivered {
    if is_not_modified(exchange, &meta.head, meta.freshness.response_time) {
        return not_modified(exchange, &meta.head, None, status).await;
    }
    let length = content_length(&meta.head);
    // A part that is being filled goes out as it is.
    let is_whole = meta.head.status == StatusCode::OK;
    let wanted = match length.filter(|_| is_whole).map(|length| range(&exchange.request.head, &meta.head, length)) {
        Some(RangeOutcome::Ranges(ranges)) => ranges.first().copied().filter(|_| ranges.len() == 1),
        _ => None,
    };
    let code = if wanted.is_some() { StatusCode::PARTIAL_CONTENT } else { meta.head.status };
    let mut head = if wanted.is_some() { Head::of(code) } else { Head::new(code, &meta.head.reason) };
    head.fields_without(&meta.head.fields, &["content-length"], exchange.worker.options.hit_headers);
    head.date_unless_in(&meta.head.fields, meta.freshness.response_time);
    head.via(meta.head.version);
    if let Some(wanted) = wanted {
        head.field("Content-Range", content_range::format(wanted.first, wanted.last, length));
    }
    if let Some(age) = meta_age(exchange, meta, &CacheStatus { collapsed: false, ..status }) {
        head.number("Age", age);
    }
    let framing = match code {
        StatusCode::NO_CONTENT => Framing::None,
        _ => Framing::of(wanted.map(ByteRange::length).or(length), exchange.request.head.version),
    };
    let mut out = Outgoing::begin(exchange, head, code, framing, status);
    let mut skip = wanted.map_or(0, |wanted| wanted.first);
    let mut left = wanted.map_or(u64::MAX, ByteRange::length);
    while left > 0 {
        match or_flush!(out, reader.next()) {
            Next::Chunk(mut piece) => {
                let skipped = skip.min(piece.len() as u64);
                skip -= skipped;
                let _ = piece.split_to(skipped as usize);
                piece.truncate(usize::try_from(left).unwrap_or(usize::MAX));
                left -= piece.len() as u64;
                if out.piece(piece).await.is_err() {
                    return out.cut();
                }
            }
            Next::End(trailers) => return out.end(trailers).await,
            Next::Cut => return out.cut(),
        }
    }
    out.end(None).await
}

/// The length that a head promises.
fn content_length(head: &ResponseHead) -> Option<u64> {
    std::str::from_utf8(head.fields.only("content-length")?).ok()?.parse().ok()
}

async fn origin(exchange: &Exchange, mut response: Response, conditions: Conditions, status: CacheStatus) -> Delivered {
    let now = exchange.worker.now();
    let code = response.head.status;
    let is_head = exchange.request.head.method == Method::HEAD;
    if conditions == Conditions::Ours && code == StatusCode::OK && is_not_modified(exchange, &response.head, now) {
        return not_modified(exchange, &response.head, None, status).await;
    }
    let promised = content_length(&response.head).filter(|_| is_head && code != StatusCode::NO_CONTENT);
    let received = response.head.fields.clone();
    strip_hop_by_hop(&mut response.head.fields);
    let mut head = Head::new(code, &response.head.reason);
    head.fields_without(&response.head.fields, &["content-length"], exchange.worker.options.hit_headers);
    head.date_unless_in(&response.head.fields, now);
    head.via(response.head.version);
    let framing = match (promised, response.body.is_none()) {
        (Some(promised), _) => Framing::Length(promised),
        (None, true) => Framing::None,
        (None, false) => Framing::of(response.body.length(), exchange.request.head.version),
    };
    let mut out = Outgoing::begin(exchange, head, code, framing, status);
    loop {
        match or_flush!(out, response.body.next()) {
            Ok(Piece::Data(data)) => {
                if out.piece(data).await.is_err() {
                    return out.cut();
                }
            }
            Ok(Piece::End(trailers)) => {
                let trailers = trailers.and_then(|trailers| forwardable_trailers(trailers, &received));
                return out.end(trailers).await;
            }
            // The client must not take a part for the whole: its connection is cut, in whatever framing.
            Err(error) => {
                exchange.worker.cells.count(Counter::OriginErrors);
                tracing::debug!(%error, "origin");
                return out.cut();
            }
        }
    }
}

async fn switched(exchange: &Exchange, response: Response) -> Delivered {
    let code = StatusCode::SWITCHING_PROTOCOLS;
    let mut head = Head::new(code, &response.head.reason);
    let framing = ["connection", "content-length", "transfer-encoding"];
    head.fields_without(&response.head.fields, &framing, HitHeaders::default());
    head.field("Connection", "upgrade");
    head.via(response.head.version);
    let written = exchange.connection.write(&mut [IoSlice::new(&head.end())]).await;
    let tunnel = response.body.into_tunnel().filter(|_| written.is_ok());
    let cache = Some(forwarded(Reason::Upgrade));
    Delivered { tunnel, is_whole: written.is_ok(), cache, ..Delivered::cut(code) }
}

/// Sends an interim response on.
pub(crate) async fn interim(connection: &Connection, mut response: ResponseHead) -> io::Result<()> {
    strip_hop_by_hop(&mut response.fields);
    let mut head = Head::new(response.status, &response.reason);
    head.fields_without(&response.fields, &["content-length"], HitHeaders::default());
    head.via(response.version);
    connection.write(&mut [IoSlice::new(&head.end())]).await
}

async fn own(exchange: &Exchange, fault: &Fault, status: Option<CacheStatus>) -> Delivered {
    tracing::debug!(uri = exchange.uri, guilty = ?fault.guilty(), fault = fault.text(), "own answer");
    let (head, page) = page(fault, exchange.worker.now());
    let framing = Framing::Length(page.len() as u64);
    let mut out = Outgoing::framed(exchange, head, fault.status(), framing, status, fault.keeps_connection());
    out.delivered.cache = None;
    out.all(if exchange.request.head.method == Method::HEAD { Vec::new() } else { vec![Bytes::from(page)] }).await
}

/// Answers something that is not a request; the connection ends with it.
pub(crate) async fn refuse(connection: &Connection, now: Now, fault: &Fault) -> io::Result<()> {
    let (mut head, page) = page(fault, now);
    head.number("Content-Length", page.len() as u64);
    head.field("Connection", "close");
    connection.write(&mut [IoSlice::new(&head.end()), IoSlice::new(page.as_bytes())]).await
}

/// The short page of a failure.
fn page(fault: &Fault, now: Now) -> (Head, String) {
    let code = fault.status();
    let mut head = Head::of(code);
    head.date_unless_in(&Fields::new(), now);
    head.field("Content-Type", "text/plain; charset=utf-8");
    head.field("Cache-Control", "no-store");
    if code == StatusCode::METHOD_NOT_ALLOWED {
        head.field("Allow", ALLOWED);
    }
    if code == StatusCode::SERVICE_UNAVAILABLE {
        head.number("Retry-After", 1);
    }
    let reason = fault.reason().map(|reason| format!(" [{}]", reason.id())).unwrap_or_default();
    let title = code.canonical_reason().unwrap_or("Error");
    (head, format!("{} {title}\n\n{}{reason}\n", code.as_str(), fault.text()))
}

async fn options(exchange: &Exchange) -> Delivered {
    let mut head = Head::of(StatusCode::OK);
    head.date_unless_in(&Fields::new(), exchange.worker.now());
    head.field("Allow", ALLOWED);
    let status = CacheStatus { fwd: None, ..forwarded(Reason::Method) };
    Outgoing::begin(exchange, head, StatusCode::OK, Framing::Length(0), status).all(Vec::new()).await
}
