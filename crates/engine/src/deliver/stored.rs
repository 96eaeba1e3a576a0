//! Sends a stored response: the whole, coded or not, a part of it, or a 304. `kasoku_cache::represent` decides which.
//!
//! This is the path of a hit, so nothing here allocates, except for the rare answer with several ranges.

use crate::deliver::outgoing::{HeldMemory, Outgoing};
use crate::deliver::synthetic::own;
use crate::door::{Follows, HeadWriter};
use crate::error::Fault;
use crate::exchange::Exchange;
use crate::exchange::delivered::Delivered;
use crate::sites::ActiveRoute;
use bytes::Bytes;
use http::{Method, StatusCode};
use kasoku_cache::represent::{CodingContext, HeadContext, Multipart, Representations, Selected};
use kasoku_cache::{Body, Entry};
use kasoku_metrics::Counter;
use kasoku_semantics::cache_status::CacheStatus;
use kasoku_semantics::coding::Representation;
use kasoku_semantics::range::ByteRange;
use kasoku_semantics::reason::Reason;
use std::iter;
use std::sync::Arc;

/// What follows the head.
pub(super) enum Content<'e> {
    Nothing,
    Whole(&'e Body),
    Part(ByteRange),
    Parts(Multipart),
}

/// Sends a stored response, or what the request's condition or range makes of it.
pub(crate) async fn stored(exchange: &Exchange, entry: &Arc<Entry>, status: CacheStatus) -> Delivered {
    let representations = Representations::of_stored(&exchange.request.head.fields, codings(exchange), entry);
    let selected = representations.select(&exchange.request.head, entry, exchange.now());
    // The look-up has made sure that all requested bytes are here. If one is missing after all, a part must not go out as the whole.
    if matches!(selected, Selected::Incomplete) {
        return Box::pin(own(exchange, &Fault::Origin(Reason::PartialMiss), Some(status))).await;
    }
    let (out, content) = begin(exchange, entry, &representations, selected, status);
    let out = out.holding(HeldMemory::Entry(entry));
    match content {
        _ if exchange.request.head.method == Method::HEAD => out.all(iter::empty()).await,
        Content::Nothing => out.all(iter::empty()).await,
        Content::Whole(body) => out.all(body.chunks().map(Bytes::as_ref)).await,
        Content::Part(range) => out.all(entry.body.slices(range)).await,
        Content::Parts(parts) => out.all(parts.pieces(&entry.body).iter().map(Bytes::as_ref)).await,
    }
}

/// Begins the answer with the head of what was selected; returns it with the content that follows.
pub(super) fn begin<'e>(
    exchange: &'e Exchange,
    entry: &'e Arc<Entry>,
    representations: &Representations,
    selected: Selected<'e>,
    mut status: CacheStatus,
) -> (Outgoing<'e>, Content<'e>) {
    let context = head_context(exchange, representations);
    let (meta, code) = (&entry.meta, selected.status(entry.meta.head.status));
    let mut head = exchange.head();
    let (follows, content) = match selected {
        Selected::NotModified(representation) => {
            let age = meta.freshness.age_field(&status, exchange.now());
            context.not_modified(meta, representation, age, &mut head);
            (Follows::Nothing, Content::Nothing)
        }
        Selected::Whole(representation, body) => {
            ask_for_wanted(exchange, representations, entry);
            head = whole_head(exchange, &context, entry, (representation, body), head);
            context.rest(meta, &status, &mut head);
            (Follows::InHead, Content::Whole(body))
        }
        Selected::Part(range) => {
            let complete = entry.body.complete_length().unwrap_or_default();
            context.part(meta, range, complete, &status, &mut head);
            (Follows::Length(range.length()), Content::Part(range))
        }
        Selected::Parts(ranges) => {
            let complete = entry.body.complete_length();
            let parts = Multipart::new(complete, &ranges, meta.head.fields.first("content-type"));
            context.parts(meta, &parts.content_type, &status, &mut head);
            (Follows::Length(parts.length()), Content::Parts(parts))
        }
        Selected::Unsatisfiable(complete) => {
            context.unsatisfiable(complete, &mut head);
            status.detail = Some(Reason::RangeUnsatisfiable);
            (Follows::Length(0), Content::Nothing)
        }
        // `stored` has answered this before.
        Selected::Incomplete => (Follows::Length(0), Content::Nothing),
    };
    (Outgoing::begin(exchange, head, code, follows, status), content)
}

/// Writes the part of a whole response's head that is the same for all clients: made once, and copied.
fn whole_head(
    exchange: &Exchange,
    context: &HeadContext<'_>,
    entry: &Entry,
    (representation, body): (Representation, &Body),
    head: HeadWriter,
) -> HeadWriter {
    let mark = exchange.settings.hit_headers.mark();
    match representation {
        None => {
            let mark = mark << 1 | u8::from(context.varies);
            head.prepared(|make| entry.prepared_head(mark, make), |head| context.whole(entry, head))
        }
        Some(coding) => {
            count_coded(exchange, &entry.body, body);
            let write = |head: &mut HeadWriter| context.coded(&entry.meta, coding, body, head);
            head.prepared(|make| entry.prepared_coded_head(coding, mark, make), write)
        }
    }
}

/// What the head of a response depends on besides the response.
pub(crate) fn head_context<'a>(exchange: &'a Exchange, representations: &Representations) -> HeadContext<'a> {
    HeadContext {
        request: &exchange.request.head,
        has_session: exchange.identity.get().session.is_some(),
        replaced: &exchange.settings.replaced_fields,
        varies: representations.varies,
        now: exchange.now(),
    }
}

/// The rules by which codings are made for a request; `None` where none are made.
pub(crate) fn codings(exchange: &Exchange) -> Option<CodingContext<'_>> {
    codings_of(exchange.route.as_deref()?)
}

/// The same for requests of a route.
pub(crate) fn codings_of(route: &ActiveRoute) -> Option<CodingContext<'_>> {
    let is_enabled = route.compression.is_enabled;
    is_enabled.then(|| CodingContext { rules: &route.compression, policy: &route.policy, mark: route.compression_mark })
}

/// Has the coding made that the client would prefer, for later requests.
fn ask_for_wanted(exchange: &Exchange, representations: &Representations, entry: &Arc<Entry>) {
    let (Some(wanted), Some(codings)) = (representations.wanted(), codings(exchange)) else { return };
    let worker = &exchange.worker;
    if !worker.compress.ask(&worker.cache, &exchange.uri, entry, wanted, codings.rules.levels) {
        worker.cells.count(Counter::CompressionsDeferred);
    }
}

/// Counts a coded body that goes out.
fn count_coded(exchange: &Exchange, stored: &Body, coded: &Body) {
    let cells = &exchange.worker.cells;
    cells.count(Counter::CompressedResponses);
    if let (Some(length), Some(coded), &Method::GET) =
        (stored.complete_length(), coded.complete_length(), &exchange.request.head.method)
    {
        cells.add(Counter::CompressionBytesSaved, length.saturating_sub(coded));
    }
}

/// A 304: the client already has the response that the origin has made for it alone.
pub(crate) fn not_modified<'e>(
    exchange: &'e Exchange,
    of: &kasoku_wire::ResponseHead,
    status: CacheStatus,
) -> Outgoing<'e> {
    let mut head = exchange.head();
    head_context(exchange, &Representations::default()).not_modified_origin(of, &mut head);
    Outgoing::begin(exchange, head, StatusCode::NOT_MODIFIED, Follows::Nothing, status)
}
