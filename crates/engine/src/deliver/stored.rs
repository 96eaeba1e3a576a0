//! A stored response as the answer to a request: whole, coded or not, a part of it, or word that the client has it already.
//!
//! Parts are parts of the uncoded bytes (`represent` says why).
//!
//! This is the path of a hit, so nothing here allocates but the rare answer with several ranges.

use crate::deliver::multipart::Multipart;
use crate::deliver::outgoing::{HeldMemory, Outgoing};
use crate::deliver::represent::ChosenRepresentation;
use crate::deliver::synthetic::own;
use crate::door::{Follows, HeadWriter};
use crate::error::Fault;
use crate::exchange::Exchange;
use crate::exchange::delivered::Delivered;
use bytes::Bytes;
use http::{Method, StatusCode};
use kasoku_cache::{Body, Entry, Meta};
use kasoku_semantics::Validators;
use kasoku_semantics::cache_status::CacheStatus;
use kasoku_semantics::coding::{Coding, Representation};
use kasoku_semantics::downstream::confinement;
use kasoku_semantics::precondition::goes_into_not_modified;
use kasoku_semantics::range::{ByteRange, RangeOutcome};
use kasoku_semantics::reason::Reason;
use kasoku_wire::field::content_range::ContentRange;
use kasoku_wire::{Fields, ResponseHead};
use std::sync::Arc;

/// What follows the head.
enum Content<'e> {
    Nothing,
    Whole(&'e Body),
    Part(ByteRange),
    Parts(Vec<Bytes>),
}

/// Sends a stored response, or what the request's condition or range makes of it.
pub(crate) async fn stored(exchange: &Exchange, entry: &Arc<Entry>, status: CacheStatus) -> Delivered {
    // The look-up has seen to it that all that is asked for is here. If it is not, no part may go for the whole.
    let choice = ChosenRepresentation::of_stored(exchange, entry);
    let known = choice.known(exchange, &entry.meta);
    let covers = || exchange.worker.cache.covers(&exchange.request.head, entry);
    if entry.body.external_body().is_some() || known.is_none() && !covers() {
        return Box::pin(own(exchange, &Fault::Origin(Reason::PartialMiss), Some(status))).await;
    }
    // The client's condition is about what the client has, so it is evaluated here and not by the origin's status.
    //= RFC 9111 section 4.3.2
    //# If the response to the forwarded request is 304 (Not Modified) and has an ETag field value with an entity tag that
    //# is not in the client's list, the cache MUST generate a 200 (OK) response for the client by reusing its
    //# corresponding stored response, as updated by the 304 response metadata (Section 4.3.4).
    let (out, content) = match known {
        Some(representation) => {
            let shown = NotModifiedOf { representation, varies: choice.varies };
            let age = entry.meta.freshness.age_field(&status, exchange.now());
            (not_modified_meta(exchange, &entry.meta, shown, age, status), Content::Nothing)
        }
        None => in_full_or_part(exchange, entry, &choice, status),
    };
    let out = out.holding(HeldMemory::Entry(entry));
    match content {
        _ if exchange.request.head.method == Method::HEAD => out.all(std::iter::empty()).await,
        Content::Nothing => out.all(std::iter::empty()).await,
        Content::Whole(body) => out.all(body.chunks().map(Bytes::as_ref)).await,
        Content::Part(range) => out.all(entry.body.slices(range)).await,
        Content::Parts(pieces) => out.all(pieces.iter().map(Bytes::as_ref)).await,
    }
}

fn in_full_or_part<'e>(
    exchange: &'e Exchange,
    entry: &'e Arc<Entry>,
    choice: &ChosenRepresentation,
    status: CacheStatus,
) -> (Outgoing<'e>, Content<'e>) {
    let Entry { meta, body, .. } = entry.as_ref();
    let asked = match body.complete_length() {
        Some(length) => choice.asked_of(exchange, meta, length),
        None => RangeOutcome::Full,
    };
    let head = |code: StatusCode, without: &[&str]| {
        let is_its_own = code == meta.head.status;
        let head = exchange.head();
        let mut head = if is_its_own { head.with(code, &meta.head.reason) } else { head.of(code) };
        let settings = exchange.settings.hit_headers;
        head.fields_where(&meta.head.fields, settings, |name| is_prepared(meta, name) && !is_any(name, without));
        if choice.varies {
            head.vary_by_coding(&meta.head.fields);
        }
        head.via(meta.head.version);
        write_rest(exchange, meta, &status, &mut head);
        head
    };
    let partial = StatusCode::PARTIAL_CONTENT;
    match asked {
        RangeOutcome::Full => {
            choice.ask_for_wanted(exchange, entry);
            let (mut head, body) = match choice.coded(entry) {
                Some((coding, coded)) => {
                    ChosenRepresentation::count(exchange, body, coded);
                    (coded_head(exchange, entry, coding, coded), coded.as_ref())
                }
                None => (stored_head(exchange, entry, choice), body.as_ref()),
            };
            write_rest(exchange, meta, &status, &mut head);
            (Outgoing::begin(exchange, head, meta.head.status, Follows::InHead, status), Content::Whole(body))
        }
        //= RFC 9111 section 3.3
        //# A cache MUST NOT send a partial response to a client without explicitly marking it using the 206 (Partial
        //# Content) status code.
        RangeOutcome::Ranges(ranges) => match ranges.as_slice() {
            [only] => {
                let mut head = head(partial, &["content-length", "content-range"]);
                let complete = body.complete_length();
                head.written("Content-Range", ContentRange::Part { first: only.first, last: only.last, complete });
                let follows = Follows::Length(only.length());
                (Outgoing::begin(exchange, head, partial, follows, status), Content::Part(*only))
            }
            several => {
                let parts = Multipart::new(body, several, meta.head.fields.first("content-type"));
                let mut head = head(partial, &["content-length", "content-range", "content-type"]);
                head.field("Content-Type", &parts.content_type);
                let follows = Follows::Length(parts.pieces.iter().map(|piece| piece.len() as u64).sum());
                (Outgoing::begin(exchange, head, partial, follows, status), Content::Parts(parts.pieces))
            }
        },
        RangeOutcome::Unsatisfiable => {
            let code = StatusCode::RANGE_NOT_SATISFIABLE;
            let mut head = exchange.head().of(code);
            head.date_unless_in(&Fields::new(), exchange.now());
            head.written("Content-Range", ContentRange::Unsatisfied { complete: body.complete_length().unwrap_or(0) });
            let status = CacheStatus { detail: Some(Reason::RangeUnsatisfiable), ..status };
            (Outgoing::begin(exchange, head, code, Follows::Length(0), status), Content::Nothing)
        }
    }
}

/// The head of the whole as it is stored, as far as it is the same for all who get it.
fn stored_head(exchange: &Exchange, entry: &Entry, choice: &ChosenRepresentation) -> HeadWriter {
    let (settings, varies) = (exchange.settings.hit_headers, choice.varies);
    let write = |head: HeadWriter| {
        let Entry { meta, body, .. } = entry;
        let mut head = head.with(meta.head.status, &meta.head.reason);
        head.fields_where(&meta.head.fields, settings, |name| {
            is_prepared(meta, name) && !is_any(name, &["content-length"])
        });
        if varies {
            head.vary_by_coding(&meta.head.fields);
        }
        head.via(meta.head.version);
        if meta.head.status != StatusCode::NO_CONTENT {
            head.number("Content-Length", length(body));
        }
        head
    };
    let mark = settings.mark() << 1 | u8::from(varies);
    exchange.head().prepared(|make| entry.prepared_head(mark, make), write)
}

/// The same of the whole in a coding.
fn coded_head(exchange: &Exchange, entry: &Entry, coding: Coding, coded: &Body) -> HeadWriter {
    let settings = exchange.settings.hit_headers;
    let write = |head: HeadWriter| {
        let meta = &entry.meta;
        let mut head = head.with(meta.head.status, &meta.head.reason);
        head.fields_of_coded(&meta.head.fields, settings, coding, |name| is_prepared(meta, name));
        head.field("Content-Encoding", coding.name());
        head.vary_by_coding(&meta.head.fields);
        head.via(meta.head.version);
        head.number("Content-Length", length(coded));
        head
    };
    exchange.head().prepared(|make| entry.prepared_coded_head(coding, settings.mark(), make), write)
}

/// Whether a stored field is the same for all who get the response. Cache-Control is not where visitors with a session get it as well.
pub(crate) fn is_prepared(meta: &Meta, name: &[u8]) -> bool {
    meta.validators() == Validators::Any || !name.eq_ignore_ascii_case(CACHE_CONTROL)
}

fn is_any(name: &[u8], names: &[&str]) -> bool {
    names.iter().any(|one| name.eq_ignore_ascii_case(one.as_bytes()))
}

const CACHE_CONTROL: &[u8] = b"cache-control";

/// What a head says besides what is prepared: how long this client may keep it, and how old it is.
fn write_rest(exchange: &Exchange, meta: &Meta, status: &CacheStatus, head: &mut HeadWriter) {
    write_cache_control(exchange, meta, head);
    if let Some(age) = meta.freshness.age_field(status, exchange.now()) {
        head.number("Age", age);
    }
}

/// Cache-Control, where it is not prepared.
pub(crate) fn write_cache_control(exchange: &Exchange, meta: &Meta, head: &mut HeadWriter) {
    if is_prepared(meta, CACHE_CONTROL) {
        return;
    }
    let has_session = exchange.seen.get().standing.is_some();
    let confined = has_session.then(|| confinement(&exchange.request.head.target, &meta.head)).flatten();
    match confined {
        Some(value) => head.field("Cache-Control", value),
        None => meta.head.fields.all("cache-control").for_each(|value| head.field("Cache-Control", value)),
    }
}

fn length(body: &Body) -> u64 {
    body.chunks().map(|chunk| chunk.len() as u64).sum()
}

/// Of which representation it is said that the client has it.
#[derive(Clone, Copy, Default)]
pub(crate) struct NotModifiedOf {
    pub(crate) representation: Representation,
    /// Whether there may be others.
    pub(crate) varies: bool,
}

/// Word that the client has a stored response already, or one that is being filled.
pub(crate) fn not_modified_meta<'e>(
    exchange: &'e Exchange,
    meta: &Meta,
    shown: NotModifiedOf,
    age: Option<u64>,
    status: CacheStatus,
) -> Outgoing<'e> {
    let mut head = not_modified_head(exchange, &meta.head, shown, |name| is_prepared(meta, name));
    write_cache_control(exchange, meta, &mut head);
    if let Some(age) = age {
        head.number("Age", age);
    }
    Outgoing::begin(exchange, head, StatusCode::NOT_MODIFIED, Follows::Nothing, status)
}

/// The same of a response that was made for the client alone.
pub(crate) fn not_modified<'e>(exchange: &'e Exchange, of: &ResponseHead, status: CacheStatus) -> Outgoing<'e> {
    let head = not_modified_head(exchange, of, NotModifiedOf::default(), |_| true);
    Outgoing::begin(exchange, head, StatusCode::NOT_MODIFIED, Follows::Nothing, status)
}

fn not_modified_head(
    exchange: &Exchange,
    of: &ResponseHead,
    shown: NotModifiedOf,
    goes: impl Fn(&[u8]) -> bool,
) -> HeadWriter {
    let mut head = exchange.head().of(StatusCode::NOT_MODIFIED);
    let has_tag = of.fields.contains("etag");
    let settings = exchange.settings.hit_headers;
    let goes = |name: &[u8]| goes(name) && goes_into_not_modified(name, has_tag);
    match shown.representation {
        None => head.fields_where(&of.fields, settings, goes),
        Some(coding) => head.fields_of_coded(&of.fields, settings, coding, goes),
    }
    if shown.varies {
        head.vary_by_coding(&of.fields);
    }
    head.date_unless_in(&of.fields, exchange.now());
    head.via(of.version);
    head
}
