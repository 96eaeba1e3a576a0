//! A stored response as the answer to a request: whole, a part of it, or word that the client has it already.
//!
//! This is the path of a hit, so nothing here allocates but the rare answer with several ranges.

use crate::deliver::own;
use crate::error::Fault;
use crate::head::{Framing, Head};
use crate::multipart::Multipart;
use crate::options::HitHeaders;
use crate::outgoing::{Delivered, Holds, Outgoing};
use crate::serve::Exchange;
use bytes::Bytes;
use http::{Method, StatusCode};
use kasoku_cache::{Entry, Meta};
use kasoku_semantics::cache_status::CacheStatus;
use kasoku_semantics::precondition::{Precondition, goes_into_not_modified, precondition};
use kasoku_semantics::range::{ByteRange, RangeOutcome, range};
use kasoku_semantics::reason::Reason;
use kasoku_semantics::time::Now;
use kasoku_wire::field::content_range::ContentRange;
use kasoku_wire::{Fields, ResponseHead};
use std::sync::Arc;

/// What follows the head.
enum Content {
    Nothing,
    Whole,
    Part(ByteRange),
    Parts(Vec<Bytes>),
}

/// Sends a stored response, or what the request's condition or range makes of it.
pub(crate) async fn stored(exchange: &Exchange, entry: &Arc<Entry>, status: CacheStatus) -> Delivered {
    // The look-up has seen to it that all that is asked for is here. If it is not, no part may go for the whole.
    let is_unmodified = is_not_modified(exchange, &entry.meta.head, entry.meta.freshness.response_time);
    if !is_unmodified && !exchange.worker.cache.covers(&exchange.request.head, entry) {
        return Box::pin(own(exchange, &Fault::Origin(Reason::PartialMiss), Some(status))).await;
    }
    // The client's condition is about what the client has, so it is evaluated here and not by the origin's status.
    //= RFC 9111 section 4.3.2
    //# If the response to the forwarded request is 304 (Not Modified) and has an ETag field value with an entity tag that
    //# is not in the client's list, the cache MUST generate a 200 (OK) response for the client by reusing its
    //# corresponding stored response, as updated by the 304 response metadata (Section 4.3.4).
    let (out, content) = if is_unmodified {
        let age = meta_age(exchange, &entry.meta, &status);
        (not_modified(exchange, &entry.meta.head, age, status), Content::Nothing)
    } else {
        in_full_or_part(exchange, entry, status)
    };
    let out = out.holding(Holds::Entry(entry));
    match content {
        _ if exchange.request.head.method == Method::HEAD => out.all(std::iter::empty()).await,
        Content::Nothing => out.all(std::iter::empty()).await,
        Content::Whole => out.all(entry.body.chunks().map(Bytes::as_ref)).await,
        Content::Part(range) => out.all(entry.body.slices(range)).await,
        Content::Parts(pieces) => out.all(pieces.iter().map(Bytes::as_ref)).await,
    }
}

fn in_full_or_part<'e>(exchange: &'e Exchange, entry: &Entry, status: CacheStatus) -> (Outgoing<'e>, Content) {
    let Entry { meta, body, .. } = entry;
    let asked = match body.complete_length() {
        Some(length) => range(&exchange.request.head, &meta.head, length),
        None => RangeOutcome::Full,
    };
    let head = |code: StatusCode, without: &[&str]| {
        let buffer = exchange.worker.buffers.take();
        let is_its_own = code == meta.head.status;
        let mut head = if is_its_own { Head::new(buffer, code, &meta.head.reason) } else { Head::of(buffer, code) };
        head.fields_without(&meta.head.fields, without, exchange.settings.hit_headers);
        head.via(meta.head.version);
        if let Some(age) = meta_age(exchange, meta, &status) {
            head.number("Age", age);
        }
        head
    };
    let partial = StatusCode::PARTIAL_CONTENT;
    match asked {
        RangeOutcome::Full => {
            let settings = exchange.settings.hit_headers;
            let buffer = exchange.worker.buffers.take();
            let mut head = match entry.prepared_head(settings.mark(), || whole_head(entry, settings)) {
                Some(prepared) => Head::prepared(buffer, prepared),
                // It was made before a reload.
                None => Head::prepared(buffer, &whole_head(entry, settings)),
            };
            if let Some(age) = meta_age(exchange, meta, &status) {
                head.number("Age", age);
            }
            (Outgoing::begin(exchange, head, meta.head.status, Framing::InHead, status), Content::Whole)
        }
        //= RFC 9111 section 3.3
        //# A cache MUST NOT send a partial response to a client without explicitly marking it using the 206 (Partial
        //# Content) status code.
        RangeOutcome::Ranges(ranges) => match ranges.as_slice() {
            [only] => {
                let mut head = head(partial, &["content-length", "content-range"]);
                let complete = body.complete_length();
                head.written("Content-Range", ContentRange::Part { first: only.first, last: only.last, complete });
                let framing = Framing::Length(only.length());
                (Outgoing::begin(exchange, head, partial, framing, status), Content::Part(*only))
            }
            several => {
                let parts = Multipart::new(body, several, meta.head.fields.first("content-type"));
                let mut head = head(partial, &["content-length", "content-range", "content-type"]);
                head.field("Content-Type", &parts.content_type);
                let framing = Framing::Length(parts.pieces.iter().map(|piece| piece.len() as u64).sum());
                (Outgoing::begin(exchange, head, partial, framing, status), Content::Parts(parts.pieces))
            }
        },
        RangeOutcome::Unsatisfiable => {
            let code = StatusCode::RANGE_NOT_SATISFIABLE;
            let mut head = Head::of(exchange.worker.buffers.take(), code);
            head.date_unless_in(&Fields::new(), exchange.now());
            head.written("Content-Range", ContentRange::Unsatisfied { complete: body.complete_length().unwrap_or(0) });
            let status = CacheStatus { detail: Some(Reason::RangeUnsatisfiable), ..status };
            (Outgoing::begin(exchange, head, code, Framing::Length(0), status), Content::Nothing)
        }
    }
}

/// What all heads of the whole have in common: status line, the response's own fields, framing, Via.
fn whole_head(entry: &Entry, settings: HitHeaders) -> Box<[u8]> {
    let meta = &entry.meta;
    let mut head = Head::new(Vec::with_capacity(512), meta.head.status, &meta.head.reason);
    head.fields_without(&meta.head.fields, &["content-length"], settings);
    head.via(meta.head.version);
    if meta.head.status != StatusCode::NO_CONTENT {
        head.number("Content-Length", entry.body.chunks().map(|chunk| chunk.len() as u64).sum());
    }
    head.bytes().into()
}

/// The Age of a response, unless it was made or confirmed for this very request and is not older than that.
//= RFC 9111 section 4
//# When a stored response is used to satisfy a request without validation, a cache MUST generate an Age header field
pub(crate) fn meta_age(exchange: &Exchange, meta: &Meta, status: &CacheStatus) -> Option<u64> {
    let age = meta.freshness.age(exchange.now());
    let is_fetched_now = !status.hit && !status.collapsed;
    (!is_fetched_now || age > 0).then_some(age)
}

pub(crate) fn is_not_modified(exchange: &Exchange, head: &ResponseHead, response_time: Now) -> bool {
    precondition(&exchange.request.head, head, response_time, exchange.now()) == Precondition::NotModified
}

/// Word that the client has the response already.
pub(crate) fn not_modified<'e>(
    exchange: &'e Exchange,
    of: &ResponseHead,
    age: Option<u64>,
    status: CacheStatus,
) -> Outgoing<'e> {
    let mut head = Head::of(exchange.worker.buffers.take(), StatusCode::NOT_MODIFIED);
    let has_tag = of.fields.contains("etag");
    let settings = exchange.settings.hit_headers;
    head.fields_where(&of.fields, settings, |name| goes_into_not_modified(name, has_tag));
    head.date_unless_in(&of.fields, exchange.now());
    head.via(of.version);
    if let Some(age) = age {
        head.number("Age", age);
    }
    Outgoing::begin(exchange, head, StatusCode::NOT_MODIFIED, Framing::None, status)
}
