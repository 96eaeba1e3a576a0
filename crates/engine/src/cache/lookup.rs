//! Looks the request up in the cache and carries out the decision: a hit, a new fill, or joining the fill of another request (`join`).
//!
//! A stored response that names a file is a hit while that is the same file (`sendfile/stored`); if not, the look-up begins anew
//! without it. One whose body is on disk is a hit if the bytes are there (`deliver/on_disk`).

use crate::cache::fetch;
use crate::deliver::on_disk;
use crate::deliver::stored::codings_of;
use crate::error::Fault;
use crate::exchange::Exchange;
use crate::exchange::answer::Answer;
use crate::exchange::open_entry::Unreadable;
use crate::origin::sendfile::{self, SendfileOutcome};
use crate::request::passes::part_passes;
use crate::request::respond::forwarded;
use crate::request::route::Routed;
use crate::runtime::worker::{DISK_TIMEOUT, Worker};
use kasoku_cache::{FillReader, Joined, Lookup, Meta, SharedRequest};
use kasoku_semantics::cache_status::CacheStatus;
use kasoku_semantics::reason::Reason;
use kasoku_visitors::leak_guard::PatternVerdict;
use std::pin::pin;
use std::sync::Arc;
use tokio::time::timeout;

/// The most fills that one request joins: the first, after its failure the second try, and after either the fill of its own variant.
const JOINS_MAX: usize = 3;

/// How many stored responses whose file has changed, or whose body is gone from the disk, one request may find: the second is one that was
/// validated or moved meanwhile.
const LOST_BODIES_MAX: usize = 2;

/// A hit in memory that is found by the request as it was received, without making the request that would go to the origin.
#[inline]
pub(crate) fn hit_at_once(exchange: &Exchange, routed: &Routed) -> Option<Answer> {
    let (request, now) = (&exchange.request.head, exchange.now());
    let (entry, reason) = exchange.worker.cache.hit(request, &routed.cache_route(&[]), now)?;
    Some(Answer::hit(entry, reason, now))
}

/// Finds the answer to a request that does not pass at once.
pub(crate) async fn look_up(exchange: &Exchange, routed: &Routed) -> Answer {
    let (received, now) = (&exchange.request.head.fields, exchange.worker.now());
    if let Some(reason) = part_passes(received, routed, &exchange.worker.cache, now) {
        return fetch::pass(exchange, routed, None, reason).await;
    }
    if is_blocked(exchange, routed) {
        return fetch::retry_as_visitor(exchange, routed, Reason::LeakGuard).await;
    }
    let route = routed.cache_route(&[]);
    if let Some((entry, reason)) =
        exchange.worker.cache.hit_on_disk(&exchange.request.head, &route, codings_of(&routed.route), now)
    {
        return Answer::hit(entry, reason, now);
    }
    if let Some(answer) = hit_in_the_shared_tier(exchange, routed).await {
        return answer;
    }
    let request = routed.shared(&exchange.request.head, &exchange.peer);
    let (mut has_changed, mut missed) = (false, Reason::UriMiss);
    for _ in 0..LOST_BODIES_MAX {
        let (entry, status) = match find(exchange, routed, &request, has_changed).await {
            Answer::Stored(entry, status) => (entry, status),
            answer => return answer,
        };
        if entry.body.stored_body().is_some() {
            match on_disk::open(exchange, &entry).await {
                Ok(open) => return Answer::OnDisk(Box::new(open), status),
                // The next look-up finds out.
                Err(Unreadable::Evicted) => {}
                Err(Unreadable::Damaged) => exchange.worker.cache.drop_changed(&routed.key, &entry),
                Err(Unreadable::Silent) => break,
            }
            missed = Reason::UriMiss;
            continue;
        }
        let Some(file) = entry.body.external_body() else { return Answer::Stored(entry, status) };
        match sendfile::open(exchange, routed, &entry, file, status).await {
            SendfileOutcome::Answer(answer) => return answer,
            SendfileOutcome::Failed(error) => {
                return fetch::failed(&error, CacheStatus { fwd: None, ..forwarded(Reason::SendfileFailed) });
            }
            SendfileOutcome::Changed => exchange.worker.cache.drop_changed(&routed.key, &entry),
        }
        (has_changed, missed) = (true, Reason::SendfileChanged);
    }
    alone(exchange, routed, &request, missed).await
}

/// A hit in the shared tier, without a fill; see [`kasoku_cache::Cache::hit_in_the_shared_tier`].
async fn hit_in_the_shared_tier(exchange: &Exchange, routed: &Routed) -> Option<Answer> {
    let worker = &exchange.worker;
    let items = worker.shared_items.as_ref()?;
    // See `carry_out`.
    if matches!(pattern_verdict(exchange, routed), Some(PatternVerdict::Pending)) {
        return None;
    }
    let (request, route) = (&exchange.request.head, routed.cache_route(routed.tags(&exchange.request.head)));
    let (entry, reason) = worker.cache.hit_in_the_shared_tier(request, &route, items, || worker.now()).await?;
    Some(Answer::hit(entry, reason, worker.now()))
}

/// Whether the leak guard has found that pages of the request's URL pattern differ by visitor.
fn is_blocked(exchange: &Exchange, routed: &Routed) -> bool {
    matches!(pattern_verdict(exchange, routed), Some(PatternVerdict::Blocked(_)))
}

/// The leak guard's verdict on the request's URL pattern, if it has one.
fn pattern_verdict(exchange: &Exchange, routed: &Routed) -> Option<PatternVerdict> {
    let pattern = routed.pattern(&exchange.request.head.fields)?;
    Some(exchange.worker.guard.verdict(pattern, exchange.worker.now().mono_ms))
}

/// Finds the answer by what is stored and what is being filled. `has_changed`: a stored response was dropped, since its file has changed.
async fn find(exchange: &Exchange, routed: &Routed, request: &SharedRequest, has_changed: bool) -> Answer {
    let Worker { cache, .. } = &*exchange.worker;
    let mut found = look_up_in_all_tiers(exchange, request).await;
    if has_changed {
        found = found.missed_for(Reason::SendfileChanged);
    }
    let mut has_failed = false;
    for _ in 0..JOINS_MAX {
        let (reader, reason) = match found {
            Lookup::Join(reader, reason) => (reader, reason),
            Lookup::Probe(writer, reader, reason) => {
                fetch::in_the_background(exchange, routed, writer);
                (reader, reason)
            }
            found => return carry_out(exchange, routed, request, found).await,
        };
        let is_probe = reader.is_probe();
        found = match join(exchange, request, reader, reason).await {
            FillResult::Answer(answer) => return *answer,
            FillResult::NotForThisClient => return alone(exchange, routed, request, Reason::HitForMiss).await,
            FillResult::PassInstead(reason) => return fetch::retry_as_visitor(exchange, routed, reason).await,
            FillResult::OtherVariant(meta) => cache.look_up_variant(request, &meta, exchange.worker.now()),
            // The failed request was anonymous, so it did not fail because of what a client sent.
            FillResult::Failure(why) if is_probe => return failed(why, reason),
            FillResult::Failure(why) if has_failed => {
                return match exchange.worker.enter_uncollapsed() {
                    Some(_place) => alone(exchange, routed, request, Reason::HitForMiss).await,
                    None => failed(why, reason),
                };
            }
            FillResult::Failure(_) => {
                has_failed = true;
                look_up_in_all_tiers(exchange, request).await
            }
        };
    }
    match found {
        Lookup::Join(..) => alone(exchange, routed, request, Reason::HitForMiss).await,
        found => carry_out(exchange, routed, request, found).await,
    }
}

/// Looks the request up, and waits for the disk where the response may be there. A disk that does not answer is a miss.
async fn look_up_in_all_tiers(exchange: &Exchange, request: &SharedRequest) -> Lookup {
    let Worker { cache, .. } = &*exchange.worker;
    match cache.look_up(request, exchange.worker.now()) {
        Lookup::Recall(recall) => {
            let read = pin!(recall.wait());
            if timeout(DISK_TIMEOUT, read).await.is_err() {
                recall.give_up();
            }
            cache.look_up_recalled(request, &recall, exchange.worker.now())
        }
        found => found,
    }
}

/// Asks the origin by a fill that no other request joins, and without waiting for another fill.
async fn alone(exchange: &Exchange, routed: &Routed, request: &SharedRequest, miss: Reason) -> Answer {
    let writer = exchange.worker.cache.fill_alone(request, exchange.worker.now());
    fetch::fill(exchange, routed, writer, miss).await
}

/// The failure of the fill that this request joined. `reason`: why the request was a miss.
fn failed(why: Reason, reason: Reason) -> Answer {
    Answer::Synthetic(Fault::Origin(why), Some(CacheStatus { detail: Some(why), ..collapsed(reason) }))
}

/// The status of a request that joined a fill. `reason`: why the request was a miss.
fn collapsed(reason: Reason) -> CacheStatus {
    CacheStatus { collapsed: true, detail: Some(Reason::Collapsed), ..forwarded(reason) }
}

async fn carry_out(exchange: &Exchange, routed: &Routed, request: &SharedRequest, found: Lookup) -> Answer {
    match found {
        Lookup::Hit(entry, reason, refresh) => {
            if let Some(writer) = refresh {
                fetch::in_the_background(exchange, routed, writer);
            }
            Answer::hit(entry, reason, exchange.worker.now())
        }
        // The leak guard compares another page of this URL pattern: only requests for that page wait for the result.
        Lookup::Fill(writer, _) if matches!(pattern_verdict(exchange, routed), Some(PatternVerdict::Pending)) => {
            writer.release(Reason::LeakGuardPending);
            fetch::retry_as_visitor(exchange, routed, Reason::LeakGuardPending).await
        }
        Lookup::Fill(writer, reason) => fetch::fill(exchange, routed, writer, reason).await,
        Lookup::Probe(writer, ..) => {
            fetch::in_the_background(exchange, routed, writer);
            alone(exchange, routed, request, Reason::HitForMiss).await
        }
        Lookup::Failed(why, reason) => {
            let status = CacheStatus { fwd: None, detail: Some(why), ..forwarded(reason) };
            Answer::Synthetic(Fault::Origin(why), Some(status))
        }
        Lookup::Pass(reason @ (Reason::PageTextMissing | Reason::PersonalPage | Reason::EndlessStream)) => {
            fetch::retry_as_visitor(exchange, routed, reason).await
        }
        Lookup::Pass(reason) => fetch::pass(exchange, routed, None, reason).await,
        Lookup::Unavailable(reason) => {
            Answer::Synthetic(Fault::OnlyIfCached(reason), Some(CacheStatus { fwd: None, ..forwarded(reason) }))
        }
        Lookup::Join(..) | Lookup::Recall(_) => alone(exchange, routed, request, Reason::HitForMiss).await,
    }
}

/// What a fill brings to a request that joined it.
enum FillResult {
    /// An answer.
    Answer(Box<Answer>),
    /// Another variant than the client's: the fill of its own variant can be found now.
    OtherVariant(Arc<Meta>),
    /// The fill failed, perhaps because of the request that was sent: this client's own may fare better.
    Failure(Reason),
    /// The response is not for this client.
    NotForThisClient,
    /// The answer to an anonymous request is for no client, for this reason: this client's own request has to be sent.
    PassInstead(Reason),
}

/// Joins a fill: waits for the head, checks whether the response is for this client as well, and streams it.
async fn join(exchange: &Exchange, request: &SharedRequest, reader: FillReader, reason: Reason) -> FillResult {
    let time = exchange.begin_origin();
    let waited = tokio::time::timeout(exchange.settings.limits.fill_wait_max, reader.head()).await;
    if matches!(waited, Ok(Joined::Streaming(_) | Joined::Settled(..))) {
        time.has_head(exchange.worker.moment().mono_us);
    }
    let (cache, now) = (&exchange.worker.cache, exchange.worker.now());
    let is_selected = |meta: &Meta| meta.is_selected_by(&request.head().fields, request.policy());
    let status = collapsed(reason);
    let answer = match waited {
        Ok(Joined::Streaming(meta)) if cache.may_share(request, &meta, now) => Answer::Filling(meta, reader, status),
        Ok(Joined::Streaming(meta)) if !is_selected(&meta) => {
            return FillResult::OtherVariant(meta);
        }
        Ok(Joined::Settled(entry, reason @ (Reason::HitStaleError | Reason::HitStaleDisconnected))) => {
            Answer::hit(entry, reason, exchange.worker.now())
        }
        Ok(Joined::Settled(entry, reason))
            if reason.is_of_the_shared_tier() && cache.may_share(request, &entry.meta, now) =>
        {
            Answer::hit(entry, reason, now)
        }
        Ok(Joined::Settled(entry, reason))
            if cache.may_share(request, &entry.meta, now) && cache.covers(request.head(), &entry, now) =>
        {
            Answer::Stored(entry, CacheStatus { detail: Some(reason), ..status })
        }
        Ok(Joined::Settled(entry, _)) if !is_selected(&entry.meta) => {
            return FillResult::OtherVariant(entry.meta.clone());
        }
        // That an origin does not listen, or takes too long, hardly depends on the request.
        Ok(Joined::Failed(
            why @ (Reason::OriginUnreachable
            | Reason::OriginTimeoutConnect
            | Reason::OriginTimeoutFirstByte
            | Reason::OriginDown
            | Reason::OriginQueueFull
            | Reason::OriginBusy
            | Reason::OriginOverloaded),
        )) => failed(why, reason),
        Ok(Joined::Failed(why)) => return FillResult::Failure(why),
        // The request that began the fill may be one that takes for ever.
        Err(_) if cache.on_slow(request, &reader, now) => return FillResult::Failure(Reason::OriginTimeoutFirstByte),
        Ok(Joined::Released(
            why @ (Reason::PageTextMissing
            | Reason::PersonalPage
            | Reason::EndlessStream
            | Reason::LeakGuard
            | Reason::LeakGuardPending),
        )) => {
            return FillResult::PassInstead(why);
        }
        Ok(Joined::Streaming(_) | Joined::Settled(..) | Joined::Released(_)) | Err(_) => {
            return FillResult::NotForThisClient;
        }
    };
    FillResult::Answer(Box::new(answer))
}
