//! Delivers an answer to the client's door: conditions, ranges, framing, hit headers.
//!
//! A response that is stored (`stored`) or being filled is evaluated against this client's request: a condition may turn it into a
//! 304, a range into a 206 or 416 (`kasoku_cache::represent`). A response that the origin sent for this client alone goes through
//! as it is, unless the origin did not get the client's condition and that makes it a 304.

pub(crate) mod on_disk;
pub(crate) mod outgoing;
pub(crate) mod stored;
pub(crate) mod synthetic;

use crate::deliver::outgoing::{HeldMemory, Interrupted, Outgoing, or_flush, send_head};
use crate::deliver::stored::{codings, head_context, not_modified, stored};
use crate::deliver::synthetic::{options, own, purged};
use crate::door::{Follows, content_length};
use crate::error::{Fault, reason};
use crate::exchange::Exchange;
use crate::exchange::answer::{Answer, ConditionEvaluator, IntendedUse};
use crate::exchange::delivered::Delivered;
use crate::origin_client::{Body, Response};
use http::{Method, StatusCode};
use kasoku_cache::represent::{Representations, SelectedFilling};
use kasoku_cache::{FillEvent, FillReader, Meta};
use kasoku_metrics::Counter;
use kasoku_options::HitHeaders;
use kasoku_origin::{BodyPiece, Error};
use kasoku_programs::LocalBody;
use kasoku_semantics::Validators;
use kasoku_semantics::cache_status::CacheStatus;
use kasoku_semantics::downstream::confine;
use kasoku_semantics::hop_by_hop::{forwardable_trailers, strip_hop_by_hop};
use kasoku_semantics::precondition::{Precondition, precondition};
use kasoku_semantics::range::ByteRange;
use kasoku_semantics::reason::Reason;
use kasoku_visitors::passing;
use kasoku_wire::ResponseHead;
use std::io;
use std::iter;
use std::sync::Arc;

/// Sends the answer.
pub(crate) async fn deliver(exchange: &Exchange, answer: Answer) -> Delivered {
    match answer {
        Answer::Stored(entry, status) if entry.body.is_in_memory() => stored(exchange, &entry, status).await,
        // Boxed: an idle connection holds no room for the other kinds of answers.
        other => Box::pin(deliver_other(exchange, other)).await,
    }
}

async fn deliver_other(exchange: &Exchange, answer: Answer) -> Delivered {
    match answer {
        // A response that was settled upon without a look-up.
        Answer::Stored(entry, status) => {
            match on_disk::open(exchange, &exchange.worker.cache.key(&*exchange.uri), &entry).await {
                Ok(open) => on_disk::send(exchange, open, status).await,
                Err(_) => own(exchange, &Fault::Origin(Reason::PartialMiss), Some(status)).await,
            }
        }
        Answer::OnDisk(open, status) => on_disk::send(exchange, *open, status).await,
        Answer::Filling(meta, reader, status) => filling(exchange, &meta, reader, status).await,
        Answer::Origin(response, conditions, status) => origin(exchange, *response, conditions, status).await,
        Answer::Switched(response) => switched(exchange, *response).await,
        Answer::Synthetic(fault, status) => own(exchange, &fault, status).await,
        Answer::Options => options(exchange).await,
        Answer::Purged(code, text) => purged(exchange, code, &text).await,
        Answer::ClientGone(status, meant) => {
            let code = StatusCode::from_u16(499).unwrap_or(StatusCode::BAD_REQUEST);
            Delivered {
                cache: Some(status),
                was_meant_for_cache: meant == IntendedUse::Cacheable,
                ..Delivered::cut(code)
            }
        }
    }
}

/// Delivers a response that is being filled, to the client that began the fill and to those that joined it.
async fn filling(exchange: &Exchange, meta: &Arc<Meta>, mut reader: FillReader, status: CacheStatus) -> Delivered {
    let (request, length) = (&exchange.request.head, content_length(&meta.head));
    // Of a part that is stored, no codings are made, and by that the look-up has found what the client lacks.
    let codings = codings(exchange).filter(|_| !reader.is_completing());
    let representations = Representations::of_filling(&request.fields, codings, meta, length);
    let context = head_context(exchange, &representations);
    let mut head = exchange.head();
    let wanted = match representations.select_filling(request, meta, length, exchange.now()) {
        SelectedFilling::NotModified(representation) => {
            context.not_modified(meta, representation, None, &mut head);
            let out = Outgoing::begin(exchange, head, StatusCode::NOT_MODIFIED, Follows::Nothing, status);
            return out.all(iter::empty()).await;
        }
        SelectedFilling::Part(range) => Some(range),
        SelectedFilling::Whole => None,
    };
    let code = if wanted.is_some() { StatusCode::PARTIAL_CONTENT } else { meta.head.status };
    context.filling(meta, (wanted, length), &status, &mut head);
    let follows = match code {
        StatusCode::NO_CONTENT => Follows::Nothing,
        _ => Follows::of(wanted.map(ByteRange::length).or(length)),
    };
    let mut out = Outgoing::begin(exchange, head, code, follows, status).holding(HeldMemory::Fill);
    reader.skip(wanted.map_or(0, |wanted| wanted.first));
    let mut left = wanted.map_or(u64::MAX, ByteRange::length);
    while left > 0 {
        // Until the first byte of the range comes, the head waits: so the client can still get an error if that byte won't come.
        let next = if is_part_waiting(&out, wanted) { reader.next().await } else { or_flush!(out, reader.next()) };
        let next = match next {
            FillEvent::Spooled(piece) => {
                on_disk::spooled(exchange, piece).await.map_or(FillEvent::Cut, FillEvent::Chunk)
            }
            next => next,
        };
        match next {
            FillEvent::Chunk(mut piece) => {
                piece.truncate(usize::try_from(left).unwrap_or(usize::MAX));
                left -= piece.len() as u64;
                if out.piece(piece).await.is_err() {
                    return out.cut();
                }
            }
            FillEvent::End(trailers) => {
                exchange.origin_has_ended();
                return out.end(trailers).await;
            }
            FillEvent::Cut if out.is_head_waiting() => {
                exchange.origin_has_ended();
                let why = Reason::OriginClosedEarly;
                let status = CacheStatus { stored: false, detail: Some(why), ..status };
                return own(exchange, &Fault::Origin(why), Some(status)).await;
            }
            FillEvent::Cut | FillEvent::Spooled(_) => return out.cut(),
        }
    }
    out.end(None).await
}

/// Whether nothing has been sent of a part.
fn is_part_waiting(out: &Outgoing<'_>, wanted: Option<ByteRange>) -> bool {
    wanted.is_some_and(|wanted| wanted.first > 0) && out.is_head_waiting()
}

async fn origin(
    exchange: &Exchange,
    mut response: Response,
    conditions: ConditionEvaluator,
    status: CacheStatus,
) -> Delivered {
    let now = exchange.worker.now();
    let code = response.head.status;
    let is_head = exchange.request.head.method == Method::HEAD;
    // A 206 as well: the client's range counts after these conditions (RFC 9110 section 13.2.2).
    let has_content = matches!(code, StatusCode::OK | StatusCode::PARTIAL_CONTENT);
    confine_to_visitor(exchange, &mut response);
    let promised = content_length(&response.head).filter(|_| is_head && code != StatusCode::NO_CONTENT);
    let received = response.head.fields.clone();
    strip_hop_by_hop(&mut response.head.fields);
    let is_ours = conditions == ConditionEvaluator::Cache && may_be_confirmed(exchange, &response);
    if is_ours && has_content && has_it(exchange, &response.head) {
        return not_modified(exchange, &response.head, status).all(iter::empty()).await;
    }
    let mut head = exchange.head().with(code, &response.head.reason);
    head.fields_without(&response.head.fields, &["content-length"], exchange.settings.hit_headers);
    head.date_unless_in(&response.head.fields, now);
    head.via(response.head.version);
    let follows = match (promised, response.body.is_none()) {
        (Some(promised), _) => Follows::Length(promised),
        (None, true) => Follows::Nothing,
        (None, false) => Follows::of(response.body.length()),
    };
    let mut out = Outgoing::begin(exchange, head, code, follows, status);
    let file = match &mut response.body {
        Body::Local(LocalBody::File(file)) => Some(out.file(file).await),
        Body::Local(LocalBody::FileParts(parts)) => Some(out.file_parts(parts).await),
        _ => None,
    };
    if let Some(sent) = file {
        return match sent {
            Ok(()) => {
                exchange.origin_has_ended();
                out.end(None).await
            }
            Err(Interrupted::Client | Interrupted::Disk) => out.cut(),
            Err(Interrupted::File(error)) => broken(exchange, out, &error, status).await,
        };
    }
    loop {
        match or_flush!(out, response.body.next()) {
            Ok(BodyPiece::Data(data)) => {
                if out.piece(data).await.is_err() {
                    return out.cut();
                }
            }
            Ok(BodyPiece::End(trailers)) => {
                exchange.origin_has_ended();
                let trailers = trailers.and_then(|trailers| forwardable_trailers(trailers, &received));
                return out.end(trailers).await;
            }
            Err(error) => return broken(exchange, out, &error, status).await,
        }
    }
}

/// Whether the client has this response already, by its own conditions.
fn has_it(exchange: &Exchange, response: &ResponseHead) -> bool {
    let (response_time, now) = (exchange.worker.now(), exchange.now());
    precondition(&exchange.request.head, response, Validators::Any, response_time, now) == Precondition::NotModified
}

/// Forbids browsers to keep a response that is for a visitor whom the application knows.
fn confine_to_visitor(exchange: &Exchange, response: &mut Response) {
    let Some(route) = exchange.route.as_ref().filter(|_| !response.body.is_file()) else { return };
    let request = &exchange.request.head;
    if passing::is_of_a_visitor(&request.fields, &response.head.fields, route.visitor_rules()) {
        confine(&request.target, &mut response.head);
    }
}

/// Whether the validators of an answer to an anonymous request may confirm what the client has. Where a lifetime is granted, only
/// those of a file may: the client may have a page with the same validators that was made for a visitor.
fn may_be_confirmed(exchange: &Exchange, response: &Response) -> bool {
    let policy = exchange.route.as_ref().map(|route| &route.policy);
    policy.is_none_or(|policy| Validators::of(policy, response.body.is_file()) == Validators::Any)
}

/// Ends an answer whose body has broken off.
async fn broken(exchange: &Exchange, out: Outgoing<'_>, error: &Error, status: CacheStatus) -> Delivered {
    exchange.origin_has_ended();
    exchange.worker.cells.count(Counter::OriginErrors);
    tracing::debug!(%error, "origin");
    if out.is_head_waiting() {
        // Nothing has been sent, so the client can get an error.
        let status = CacheStatus { detail: Some(reason(error)), ..status };
        return own(exchange, &Fault::from_origin(error), Some(status)).await;
    }
    // The client must not take a part for the whole: its connection is cut, whatever the framing.
    out.cut()
}

async fn switched(exchange: &Exchange, response: Response) -> Delivered {
    let code = StatusCode::SWITCHING_PROTOCOLS;
    let mut head = exchange.head().with(code, &response.head.reason);
    let framing = ["connection", "content-length", "transfer-encoding"];
    let settings = HitHeaders { request_id: exchange.settings.hit_headers.request_id, ..HitHeaders::default() };
    head.fields_without(&response.head.fields, &framing, settings);
    if settings.request_id {
        head.request_id(exchange.id());
    }
    head.via(response.head.version);
    exchange.door.complete(&mut head, Follows::Protocol, false);
    let written = send_head(exchange, head).await;
    let tunnel = response.body.into_tunnel().filter(|_| written.is_ok());
    let cache = Some(CacheStatus::forwarded(Reason::Upgrade));
    Delivered { tunnel, is_whole: written.is_ok(), cache, ..Delivered::cut(code) }
}

/// Forwards an interim response to the client.
pub(crate) async fn interim(exchange: &Exchange, mut response: ResponseHead) -> io::Result<()> {
    strip_hop_by_hop(&mut response.fields);
    let mut head = exchange.head().with(response.status, &response.reason);
    head.fields_without(&response.fields, &["content-length"], HitHeaders::default());
    head.via(response.version);
    exchange.door.complete(&mut head, Follows::Head, true);
    send_head(exchange, head).await
}
