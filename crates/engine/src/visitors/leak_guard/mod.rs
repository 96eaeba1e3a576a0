//! Checks whether a page that would be shared depends on its visitor, and whether it has a token: before it is shared, and on samples
//! afterwards.
//!
//! Where the operator grants a lifetime, pages are requested anonymously, and the application has not said that they may be
//! shared. That is right only if a page does not depend on its visitor and has nothing that a later request sends back. So the first page
//! of each URL pattern is looked at as two visitors (`check`, [`kasoku_visitors::leak_guard`]), and each page is read for tokens before it
//! is stored. Sampled requests repeat the comparison in the background (`sample`).
//!
//! Nobody waits for a check. The first client of a pattern gets the answer to its own request, and the looks run beside it, in a fill.
//! Whoever comes meanwhile waits as long as the page took at most (`wait`).

mod check;
mod fetch;
mod sample;
mod wait;

pub(crate) use check::{CheckedFill, PageCheck, Reviewed};
pub(crate) use sample::sample;
pub(crate) use wait::{Waited, wait_for_verdict};

use crate::request::route::Routed;
use crate::runtime::worker::Worker;
use crate::sites::ActiveRoute;
use kasoku_cache::{Purge, PurgeScope};
use kasoku_metrics::Counter;
use kasoku_semantics::names_file;
use kasoku_semantics::time::Now;
use kasoku_visitors::leak_guard::{ComparisonTicket, DifferenceReport, GuardStep, PatternVerdict, Pending};
use kasoku_visitors::pattern::Pattern;
use kasoku_wire::RequestHead;
use std::sync::Arc;

/// What happens to a request that would begin a fill.
pub(crate) enum FillStep {
    /// It begins the fill, and waits for the answer.
    Fill,
    /// It is the first of its pattern, or for the second page: it passes, and the fill runs beside it.
    Beside(ComparisonTicket),
    /// A page of its pattern is being compared: it waits for the verdict.
    Wait(Arc<Pending>),
    /// It passes.
    Pass,
}

/// Decides by what is known of a request's pattern.
pub(crate) fn before_fill(worker: &Worker, routed: &Routed, request: &RequestHead) -> FillStep {
    let Some(pattern) = routed.pattern(&request.fields).filter(|_| !names_file(&request.target)) else {
        return FillStep::Fill;
    };
    let now_ms = worker.now().mono_ms;
    let step = match worker.guard.verdict(pattern, now_ms) {
        PatternVerdict::Blocked(blocked) if !blocked.is_shared => None,
        PatternVerdict::Unneeded => None,
        PatternVerdict::Verified(_) | PatternVerdict::Blocked(_) => {
            worker.guard.begin_second(pattern, routed.key.uri(), now_ms)
        }
        PatternVerdict::Unknown => Some(worker.guard.begin(pattern, now_ms)),
        known @ (PatternVerdict::Pending(_) | PatternVerdict::Postponed) => Some(GuardStep::Known(known)),
    };
    match step {
        None => FillStep::Fill,
        Some(GuardStep::Check(ticket)) => FillStep::Beside(ticket),
        Some(GuardStep::Known(PatternVerdict::Pending(pending))) => FillStep::Wait(pending),
        // Too many patterns are being compared, or the last comparison had no result.
        Some(GuardStep::Known(_)) => FillStep::Pass,
    }
}

/// What a request waits for whose page is being filled, and compared meanwhile.
pub(crate) fn compared(worker: &Worker, routed: &Routed, request: &RequestHead) -> Option<Arc<Pending>> {
    let pattern = routed.pattern(&request.fields)?;
    match worker.guard.verdict(pattern, worker.now().mono_ms) {
        PatternVerdict::Pending(pending) => Some(pending),
        PatternVerdict::Verified(_) | PatternVerdict::Blocked(_) => {
            worker.guard.pending_second(pattern, routed.key.uri())
        }
        _ => None,
    }
}

/// Blocks a pattern whose pages depend on who asks, and drops those that are stored. With `guard = "warn"` it only says so.
pub(crate) fn block(worker: &Worker, route: &ActiveRoute, pattern: &Pattern, report: DifferenceReport) {
    let (now, is_shared) = (worker.now(), route.guard.only_warns);
    tell(worker, &pattern.shown, &report, is_shared);
    let tag = worker.guard.blocks(pattern, report, is_shared, now.mono_ms);
    if !is_shared {
        drop_all(worker, &route.policy.tags.site, tag, now);
    }
}

fn tell(worker: &Worker, pattern: &str, report: &DifferenceReport, is_shared: bool) {
    worker.cells.count(Counter::GuardBlocked);
    let place = report.differences.first().map_or("", |first| first.place.word());
    let what = if is_shared { "are shared, since guard is \"warn\"" } else { "are not shared" };
    tracing::warn!(pattern, place, "pages differ by visitor and {what}: kasoku doctor shows the lines");
}

fn drop_all(worker: &Worker, site: &str, tag: &str, now: Now) {
    match worker.cache.purge_all_of(PurgeScope::Tag(site, tag), Purge::Hard, now) {
        // No client waits for it.
        Ok(invalidated) => drop(invalidated),
        Err(error) => tracing::error!(%error, "pages that differ by visitor could not be purged"),
    }
}
