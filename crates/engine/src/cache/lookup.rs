//! Looks the request up in the cache, waits where the cache says so, and carries out the decision: a hit, a new fill, the fill of another
//! request, or a pass. The course of a look-up, with its decisions, is in `kasoku_cache::course`.
//!
//! A stored response that names a file is a hit while that is the same file (`sendfile/stored`); if not, the look-up begins anew
//! without it. One whose body is on disk is a hit if the bytes are there (`deliver/on_disk`).

use crate::cache::fetch;
use crate::deliver::on_disk;
use crate::deliver::stored::codings_of;
use crate::error::Fault;
use crate::exchange::Exchange;
use crate::exchange::answer::Answer;
use crate::origin::sendfile::{self, SendfileOutcome};
use crate::request::passes::part_passes;
use crate::request::route::Routed;
use crate::visitors::leak_guard::{self, FillStep, Waited};
use crate::visitors::miss_limit;
use kasoku_cache::course::{LostBodies, Outcome, Recalling, Step, Waiting};
use kasoku_cache::disk::DISK_TIMEOUT;
use kasoku_cache::shared::SharedHit;
use kasoku_cache::{FillWriter, Joined, SharedRequest};
use kasoku_semantics::cache_status::CacheStatus;
use kasoku_semantics::deleted_cookies::brought;
use kasoku_semantics::reason::Reason;
use kasoku_visitors::leak_guard::PatternVerdict;
use std::pin::pin;
use tokio::time::timeout;

/// A hit in memory that is found by the request as it was received, without making the request that would go to the origin.
#[inline]
pub(crate) fn hit_at_once(exchange: &Exchange, routed: &Routed) -> Option<Answer> {
    let (request, now) = (&exchange.request.head, exchange.now());
    let (entry, reason) = exchange.worker.cache.hit(request, &routed.cache_route(&[]), now)?;
    Some(Answer::hit(entry, reason, now))
}

/// Finds the answer to a request that does not pass at once. A request with a cookie that the stored page deletes passes then: only the
/// application's own answer deletes it.
pub(crate) async fn look_up(exchange: &Exchange, routed: &Routed) -> Answer {
    let answer = found(exchange, routed).await;
    let nominated = match &answer {
        Answer::Stored(entry, _) => &entry.meta.nominated,
        Answer::OnDisk(open, _) => &open.entry().meta.nominated,
        Answer::Filling(meta, ..) => &meta.nominated,
        _ => return answer,
    };
    match brought(nominated, &exchange.request.head.fields) {
        Some(cookie) => {
            let deleted = cookie.to_vec();
            drop(answer);
            exchange.extras().notes.brings_deleted(&deleted);
            Box::pin(fetch::pass(exchange, routed, None, Reason::PassCookie)).await
        }
        None => answer,
    }
}

async fn found(exchange: &Exchange, routed: &Routed) -> Answer {
    let (received, now) = (&exchange.request.head.fields, exchange.worker.now());
    if let Some(reason) = part_passes(received, routed, &exchange.worker.cache, now) {
        return fetch::pass(exchange, routed, None, reason).await;
    }
    let of_guard = pattern_verdict(exchange, routed);
    if matches!(&of_guard, Some(PatternVerdict::Blocked(blocked)) if !blocked.is_shared) {
        return fetch::retry_as_visitor(exchange, routed, Reason::LeakGuard).await;
    }
    let route = routed.cache_route(&[]);
    if let Some((entry, reason)) =
        exchange.worker.cache.hit_on_disk(&exchange.request.head, &route, codings_of(&routed.route), now)
    {
        return Answer::hit(entry, reason, now);
    }
    // While the pattern is compared, the fill that compares it asks the shared tier.
    let is_pending = matches!(of_guard, Some(PatternVerdict::Pending(_)));
    if !is_pending && let Some(answer) = hit_in_the_shared_tier(exchange, routed).await {
        return answer;
    }
    let request = routed.shared(&exchange.request.head, &exchange.peer);
    let (mut has_changed, mut lost) = (false, LostBodies::default());
    let missed = loop {
        let (entry, status) = match find(exchange, routed, &request, has_changed, false).await {
            Answer::Stored(entry, status) => (entry, status),
            answer => return answer,
        };
        if entry.body.stored_body().is_some() {
            let why = match on_disk::open(exchange, &routed.key, &entry).await {
                Ok(open) => return Answer::OnDisk(Box::new(open), status),
                Err(why) => why,
            };
            if lost.is_looked_up_again_after(why) {
                continue;
            }
            break Reason::UriMiss;
        }
        let Some(file) = entry.body.external_body() else { return Answer::Stored(entry, status) };
        match sendfile::open(exchange, routed, &entry, file, status).await {
            SendfileOutcome::Answer(answer) => return answer,
            SendfileOutcome::Failed(error) => {
                return fetch::failed(
                    &error,
                    CacheStatus { fwd: None, ..CacheStatus::forwarded(Reason::SendfileFailed) },
                );
            }
            SendfileOutcome::Changed => exchange.worker.cache.drop_changed(&routed.key, &entry),
        }
        has_changed = true;
        if !lost.is_looked_up_again() {
            break Reason::SendfileChanged;
        }
    };
    alone(exchange, routed, &request, missed).await
}

/// A hit in the shared tier, without a fill; see [`kasoku_cache::Cache::hit_in_the_shared_tier`].
async fn hit_in_the_shared_tier(exchange: &Exchange, routed: &Routed) -> Option<Answer> {
    let worker = &exchange.worker;
    let items = worker.shared_access.as_ref()?.items();
    let (request, route) = (&exchange.request.head, routed.cache_route(routed.tags(&exchange.request.head)));
    match worker.cache.hit_in_the_shared_tier(request, &route, items, || worker.now()).await {
        SharedHit::Response(entry, reason) => Some(Answer::hit(entry, reason, worker.now())),
        SharedHit::Undecided => None,
        SharedHit::Failed => {
            exchange.extras().has_shared_tier_failed = true;
            None
        }
    }
}

/// The leak guard's verdict on the request's URL pattern, if it has one.
fn pattern_verdict(exchange: &Exchange, routed: &Routed) -> Option<PatternVerdict> {
    let pattern = routed.pattern(&exchange.request.head.fields)?;
    Some(exchange.worker.guard.verdict(pattern, exchange.worker.now().mono_ms))
}

/// Finds the answer by what is stored and what is being filled. `has_changed`: a stored response was dropped, since its file has changed.
/// `has_waited`: the request has waited for the leak guard.
async fn find(
    exchange: &Exchange,
    routed: &Routed,
    request: &SharedRequest,
    has_changed: bool,
    has_waited: bool,
) -> Answer {
    let worker = &exchange.worker;
    let mut step = worker.cache.first_step(request, has_changed.then_some(Reason::SendfileChanged), worker.now());
    loop {
        step = match step {
            Step::Recall(recalling) => recall(exchange, *recalling).await,
            Step::Begin(writer, then) => {
                fetch::in_the_background(exchange, routed, writer);
                *then
            }
            Step::Wait(waiting) => match leak_guard::compared(worker, routed, &exchange.request.head) {
                Some(pending) => {
                    if let Waited::Passes(_permit) = leak_guard::wait_for_verdict(worker, &pending).await {
                        return fetch::retry_as_visitor(exchange, routed, Reason::LeakGuardPending).await;
                    }
                    wait(exchange, *waiting).await
                }
                None => wait(exchange, *waiting).await,
            },
            Step::Decided(Outcome::Fill(writer, miss) | Outcome::Alone(writer, miss)) => {
                return fill(exchange, routed, request, (writer, miss), has_waited).await;
            }
            Step::Decided(outcome) => return carry_out(exchange, routed, request, outcome).await,
        };
    }
}

/// Begins a fill, as the leak guard lets it: it may compare the first page of a URL pattern, or the comparison may go on for another.
async fn fill(
    exchange: &Exchange,
    routed: &Routed,
    request: &SharedRequest,
    (writer, miss): (FillWriter, Reason),
    has_waited: bool,
) -> Answer {
    let worker = &exchange.worker;
    if !has_waited && !miss_limit::admits(exchange, routed) {
        return declined(exchange, writer, miss);
    }
    match leak_guard::before_fill(worker, routed, &exchange.request.head) {
        FillStep::Fill => fetch::fill(exchange, routed, writer, miss).await,
        FillStep::Beside(ticket) => fetch::pass_beside(exchange, routed, writer, ticket).await,
        FillStep::Pass => {
            writer.release(Reason::LeakGuardPending);
            fetch::retry_as_visitor(exchange, routed, Reason::LeakGuardPending).await
        }
        FillStep::Wait(pending) => {
            writer.release(Reason::LeakGuardPending);
            let waited = leak_guard::wait_for_verdict(worker, &pending).await;
            if matches!(waited, Waited::Decided) && !has_waited {
                return Box::pin(find(exchange, routed, request, false, true)).await;
            }
            fetch::retry_as_visitor(exchange, routed, Reason::LeakGuardPending).await
        }
    }
}

/// Waits for the disk where the response may be there. A disk that does not answer is a miss.
async fn recall(exchange: &Exchange, recalling: Recalling) -> Step {
    {
        let read = pin!(recalling.wait());
        if timeout(DISK_TIMEOUT, read).await.is_err() {
            recalling.give_up();
        }
    }
    recalling.go_on(exchange.worker.now())
}

/// Waits for the head that a joined fill brings.
async fn wait(exchange: &Exchange, waiting: Waiting) -> Step {
    let time = exchange.begin_origin();
    let came = timeout(exchange.settings.limits.fill_wait_max, waiting.head()).await.ok();
    if matches!(came, Some(Joined::Streaming(_) | Joined::Settled(..))) {
        time.has_head(exchange.worker.moment().mono_us);
    }
    waiting.go_on(came, exchange.worker.now())
}

async fn carry_out(exchange: &Exchange, routed: &Routed, request: &SharedRequest, outcome: Outcome) -> Answer {
    match outcome {
        Outcome::Stored(entry, status) => Answer::Stored(entry, status),
        Outcome::Filling(meta, reader, status) => Answer::Filling(meta, reader, status),
        Outcome::Fill(writer, miss) | Outcome::Alone(writer, miss) => fetch::fill(exchange, routed, writer, miss).await,
        Outcome::AloneIfRoom(why, status) => match exchange.worker.enter_uncollapsed() {
            Some(_place) => alone(exchange, routed, request, Reason::HitForMiss).await,
            None => Answer::Synthetic(Fault::Origin(why), Some(status)),
        },
        Outcome::PassAsVisitor(reason) => fetch::retry_as_visitor(exchange, routed, reason).await,
        Outcome::Pass(reason) => fetch::pass(exchange, routed, None, reason).await,
        Outcome::Failed(why, status) => Answer::Synthetic(Fault::Origin(why), Some(status)),
        Outcome::Unavailable(reason, status) => Answer::Synthetic(Fault::OnlyIfCached(reason), Some(status)),
    }
}

/// Asks the origin by a fill that no other request joins, and without waiting for another fill.
async fn alone(exchange: &Exchange, routed: &Routed, request: &SharedRequest, miss: Reason) -> Answer {
    let writer = exchange.worker.cache.fill_alone(request, exchange.worker.now());
    match miss_limit::admits(exchange, routed) {
        true => fetch::fill(exchange, routed, writer, miss).await,
        false => declined(exchange, writer, miss),
    }
}

/// The answer for a client that may begin no fetch now: what is stored, if it may be served stale.
fn declined(exchange: &Exchange, writer: FillWriter, miss: Reason) -> Answer {
    let (why, now) = (Reason::ClientMisses, exchange.worker.now());
    match writer.decline(why, now) {
        Some(entry) => {
            let status = CacheStatus::of_hit(why, entry.meta.freshness.remaining(now));
            Answer::Stored(entry, status)
        }
        None => {
            let status = CacheStatus { fwd: None, detail: Some(why), ..CacheStatus::forwarded(miss) };
            Answer::Synthetic(Fault::ClientMisses, Some(status))
        }
    }
}
