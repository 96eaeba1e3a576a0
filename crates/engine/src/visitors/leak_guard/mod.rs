//! Checks whether a page that would be shared depends on its visitor: before it is shared, and on samples afterwards.
//!
//! Where the operator grants a lifetime, pages are requested anonymously, and the application has not said that they may be
//! shared. That is right only if a page does not depend on its visitor. So the first page of each URL pattern is fetched once
//! more as a test visitor (`fetch`), and both are compared ([`kasoku_visitors::leak_guard`]). A page that differs by more than
//! listed noise blocks its pattern: requests for the pattern pass, and its stored pages are dropped. Sampled requests repeat the
//! comparison in the background (`sample`).
//!
//! The fill of the first page waits for the comparison. Requests for other pages of that pattern pass meanwhile, so they do not
//! wait one after the other.

mod fetch;
mod sample;

pub(crate) use fetch::ByWorker;
pub(crate) use sample::sample;

use crate::runtime::worker::Worker;
use kasoku_cache::{Purge, PurgeScope};
use kasoku_metrics::Counter;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::time::Now;
use kasoku_visitors::leak_guard::{ComparisonResult, ComparisonTicket, DifferenceReport, GuardStep, PatternVerdict};
use kasoku_visitors::pattern::Pattern;

/// What a fill does with a response that may have to be compared.
pub(crate) enum GuardDecision {
    /// The response is shared as it is.
    Share,
    /// The response is not shared, for this reason.
    Refuse(Reason),
    /// The response is compared first.
    Compare(ComparisonTicket),
}

/// Decides by what is known of the pattern, or by a comparison of this page.
pub(crate) fn decide(worker: &Worker, pattern: &Pattern) -> GuardDecision {
    match worker.guard.begin(pattern, worker.now().mono_ms) {
        GuardStep::Check(ticket) => GuardDecision::Compare(ticket),
        GuardStep::Known(PatternVerdict::Verified(_)) => GuardDecision::Share,
        GuardStep::Known(PatternVerdict::Blocked(_)) => GuardDecision::Refuse(Reason::LeakGuard),
        GuardStep::Known(PatternVerdict::Pending | PatternVerdict::Unknown) => {
            GuardDecision::Refuse(Reason::LeakGuardPending)
        }
    }
}

/// Notes the result of a comparison. Returns why the page may not be shared, if it may not.
pub(crate) fn conclude(
    worker: &Worker,
    site: &str,
    ticket: ComparisonTicket,
    found: ComparisonResult,
) -> Option<Reason> {
    let now = worker.now();
    match found {
        ComparisonResult::Same { account_is_logged_out } => {
            if account_is_logged_out {
                tracing::warn!(pattern = ticket.shown(), "the account of guard-cookie is not logged in any more");
            }
            ticket.verified(account_is_logged_out, now.mono_ms);
            None
        }
        ComparisonResult::Unknown => Some(Reason::LeakGuardPending),
        ComparisonResult::Differs(report) => {
            tell(worker, ticket.shown(), &report);
            let tag = ticket.blocked(report, now.mono_ms);
            drop_all(worker, site, &tag, now);
            Some(Reason::LeakGuard)
        }
    }
}

/// Blocks a pattern whose pages have begun to differ.
pub(crate) fn block(worker: &Worker, site: &str, pattern: &Pattern, report: DifferenceReport) {
    let now = worker.now();
    tell(worker, &pattern.shown, &report);
    let tag = worker.guard.blocks(pattern, report, now.mono_ms);
    drop_all(worker, site, tag, now);
}

fn tell(worker: &Worker, pattern: &str, report: &DifferenceReport) {
    worker.cells.count(Counter::GuardBlocked);
    let place = report.differences.first().map_or("", |first| first.place.word());
    tracing::warn!(pattern, place, "pages differ by visitor and are not shared: kasoku doctor shows the lines");
}

fn drop_all(worker: &Worker, site: &str, tag: &str, now: Now) {
    match worker.cache.purge_all_of(PurgeScope::Tag(site, tag), Purge::Hard, now) {
        // No client waits for it.
        Ok(invalidated) => drop(invalidated),
        Err(error) => tracing::error!(%error, "pages that differ by visitor could not be purged"),
    }
}
