//! Back-off after failed fetches: while it runs, most requests for the same response do not reach the origin.
//!
//! A fetch fails if it gets no response, one that was cut, or an error for which a stale response stands in (stale-if-error). The failure
//! is remembered for what one fill can bring (a *thing*): a key, a variant of it, a range ([`Selection`]). Afterwards:
//!
//! - A request that may have a stale response gets it at once, and the origin is not asked until the back-off is over. The back-off takes
//!   one second first and doubles with each further failure, up to `back_off_max_seconds`. Any other answer of the origin ends it.
//! - The next request after the back-off, or the first one where no stale response may be served, is sent anonymously (a *probe*): with
//!   the fields that the cache writes and those that make the variant, and no other fields of a client. One visitor's odd request may
//!   have crashed the process that served it; a second request of that kind must not decide what other visitors get.
//! - Only the failure of a probe, which can't be due to one client's request, is reported to other clients for which no stale response
//!   stands in: for a second, without asking the origin (docs/decisions/0013).
//!
//! A request that was never sent tells nothing about what was asked. It counts only where a stale response stands in: for one second
//! where no connection could be made, and not at all where the origin was known to be down and so was not asked.
//!
//! Only fills that other requests may join are remembered. The memory is a hint, bounded in number: for a failure that it has forgotten,
//! the origin is asked. It covers single responses only; `kasoku_origin::health` tracks whether an origin as a whole is down
//! (docs/decisions/0012).

use crate::fill::{Fill, FillPhase, FillReader};
use crate::query::CacheQuery;
use crate::selection::Selection;
use crate::sync::{AtomicUsize, Ordering};
use crate::{Cache, Entry, SharedRequest};
use kasoku_semantics::policy::Policy;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::request::RequestDirectives;
use kasoku_semantics::reuse::{OriginFailure, stale_on_failure};
use kasoku_semantics::time::Now;
use kasoku_store::KeyHash;

/// The most things that are remembered; the least useful ones go first.
const FETCHES_MAX: usize = 64 << 10;

/// The first back-off, and how long a probe's failure is reported to other clients without asking, in milliseconds.
const FIRST_MS: u64 = 1_000;

/// How long after its back-off a failure is still known, in milliseconds: a failure within that time doubles the back-off.
const KNOWN_MS: u64 = 60_000;

/// Things whose last fetch failed.
pub(crate) struct Failing {
    fetches: quick_cache::sync::Cache<KeyHash, Failed>,
    /// Failures so far. While it is 0, no look-up searches the table.
    failures: AtomicUsize,
}

/// The last failure of a thing.
#[derive(Clone, Copy)]
struct Failed {
    failure: OriginFailure,
    reason: Reason,
    /// Whether the failure can't be due to what one client sent.
    is_of_probe: bool,
    at_ms: u64,
    /// The length of the back-off, in milliseconds.
    period_ms: u64,
}

/// What the last failure means for a fetch that a request needs.
pub(crate) enum RetryDecision {
    /// Nothing: ask the origin.
    Ask,
    /// Ask anonymously.
    Probe,
    /// Do not ask: the last probe has just failed for this reason.
    Refuse(Reason),
}

impl Failing {
    pub(crate) fn new() -> Self {
        Self { fetches: quick_cache::sync::Cache::new(FETCHES_MAX), failures: AtomicUsize::new(0) }
    }

    fn last(&self, thing: KeyHash, now: Now) -> Option<Failed> {
        self.fetches.get(&thing).filter(|failed| now.mono_ms < failed.over_ms().saturating_add(KNOWN_MS))
    }

    fn remember(&self, thing: KeyHash, new: Failed, max_ms: u64) {
        let last = self.last(thing, Now { unix_ms: 0, mono_ms: new.at_ms });
        let (period_ms, was_of_probe) = match last {
            // Another failure within the same back-off: of the probe, or of a fetch that was on its way.
            Some(last) if new.at_ms < last.over_ms() => (last.period_ms, last.is_of_probe),
            Some(last) => (last.period_ms.saturating_mul(2), false),
            None => (FIRST_MS, false),
        };
        let is_of_probe = new.is_of_probe || was_of_probe;
        self.fetches.insert(thing, Failed { period_ms: period_ms.min(max_ms), is_of_probe, ..new });
        self.failures.fetch_add(1, Ordering::Release);
    }

    fn is_used(&self) -> bool {
        self.failures.load(Ordering::Acquire) > 0
    }
}

impl Failed {
    fn over_ms(&self) -> u64 {
        self.at_ms.saturating_add(self.period_ms)
    }

    fn is_backing_off(&self, now: Now) -> bool {
        now.mono_ms < self.over_ms()
    }

    /// Why a request gets an error without a fetch; `None` where it does not.
    fn refusal(&self, now: Now) -> Option<Reason> {
        let is_recent = now.mono_ms < self.at_ms.saturating_add(FIRST_MS.min(self.period_ms));
        (is_recent && self.is_of_probe && self.failure == OriginFailure::Disconnected).then_some(self.reason)
    }
}

impl Cache {
    /// Why a stale response answers at once, if it does: the origin failed a moment ago, and its back-off runs.
    pub(crate) fn stale_meanwhile(
        &self,
        query: &CacheQuery<'_>,
        directives: &RequestDirectives,
        entry: &Entry,
        selection: &Selection,
    ) -> Option<Reason> {
        let failed = self.last_failure(query, selection).filter(|failed| failed.is_backing_off(query.now))?;
        let may_answer = entry.body.is_complete();
        may_answer.then(|| {
            stale_on_failure(&entry.meta.freshness, directives, failed.failure, query.policy, query.now).ok()
        })?
    }

    /// Whether the back-off of a thing runs. A background refresh can wait for its end.
    pub(crate) fn is_backing_off(&self, query: &CacheQuery<'_>, selection: &Selection) -> bool {
        self.last_failure(query, selection).is_some_and(|failed| failed.is_backing_off(query.now))
    }

    /// Whether the last fetch of a thing failed.
    pub(crate) fn is_failing(&self, query: &CacheQuery<'_>, selection: &Selection) -> bool {
        self.last_failure(query, selection).is_some()
    }

    /// What to do about a fill of this selection that is to validate or replace `stored`.
    pub(crate) fn advice(
        &self,
        query: &CacheQuery<'_>,
        directives: &RequestDirectives,
        selection: &Selection,
        stored: Option<&Entry>,
    ) -> RetryDecision {
        let Some(failed) = self.last_failure(query, selection) else { return RetryDecision::Ask };
        if let Some(reason) = failed.refusal(query.now) {
            return RetryDecision::Refuse(reason);
        }
        // An error status is an answer: where no stored response stands in for it, each client gets its own.
        let stands_in = |entry: &Entry| {
            stale_on_failure(&entry.meta.freshness, directives, failed.failure, query.policy, query.now).is_ok()
        };
        if failed.failure == OriginFailure::Disconnected || stored.is_some_and(stands_in) {
            RetryDecision::Probe
        } else {
            RetryDecision::Ask
        }
    }

    /// A client has waited for this fill for as long as it may. No further request joins the fill, and other requests are served as if it
    /// had failed; its response is stored all the same if it comes. Returns `false` where the policy has no back-off, so that no failure
    /// is remembered.
    pub fn on_slow(&self, request: &SharedRequest, reader: &FillReader, now: Now) -> bool {
        let (fill, policy) = (reader.fill(), request.policy());
        if matches!(fill.state().phase, FillPhase::Waiting) {
            // Remembered first: a request that can't join the fill must find the reason.
            self.on_failed_fill(fill, OriginFailure::Disconnected, Reason::OriginTimeoutFirstByte, policy, now);
            fill.change(|state| state.is_late = true);
        }
        policy.back_off_max_seconds > 0
    }

    /// Remembers that the fetch of this fill has failed.
    pub(crate) fn on_failed_fill(
        &self,
        fill: &Fill,
        failure: OriginFailure,
        reason: Reason,
        policy: &Policy,
        now: Now,
    ) {
        let max_ms = policy.back_off_max_seconds.saturating_mul(1_000);
        // Where all origins are down, none was asked. Their own back-off decides when one is asked again.
        if max_ms == 0 || !fill.is_joinable || reason == Reason::OriginDown {
            return;
        }
        // A refused connection tells nothing about what was asked, and costs little to find out again.
        let max_ms = if reason == Reason::OriginUnreachable { max_ms.min(FIRST_MS) } else { max_ms };
        let is_of_probe = fill.is_probe();
        let failed = Failed { failure, reason, is_of_probe, at_ms: now.mono_ms, period_ms: 0 };
        self.0.failing.remember(self.fetch_hash(&fill.key, &fill.selection, fill.rules), failed, max_ms);
    }

    /// Forgets the last failure: the origin has answered what this fill asked for.
    pub(crate) fn on_answered_fill(&self, fill: &Fill) {
        if self.0.failing.is_used() {
            self.0.failing.fetches.remove(&self.fetch_hash(&fill.key, &fill.selection, fill.rules));
        }
    }

    fn last_failure(&self, query: &CacheQuery<'_>, selection: &Selection) -> Option<Failed> {
        let failing = &self.0.failing;
        if !failing.is_used() || query.policy.back_off_max_seconds == 0 {
            return None;
        }
        failing.last(self.fetch_hash(query.key.bytes(), selection, query.policy.rules), query.now)
    }

    fn fetch_hash(&self, key: &[u8], selection: &Selection, rules: u64) -> KeyHash {
        // A URI holds no NUL.
        let mut thing = [key, b"\0"].concat();
        thing.extend(self.application(rules).to_be_bytes());
        selection.write(&mut thing);
        self.0.memory.hash(&thing)
    }
}

/// Whether a request that failed for this reason was never sent.
pub(crate) fn was_never_sent(reason: Reason) -> bool {
    use Reason::{OriginBusy, OriginDown, OriginQueueFull, OriginTimeoutConnect, OriginUnreachable};
    matches!(reason, OriginBusy | OriginDown | OriginQueueFull | OriginTimeoutConnect | OriginUnreachable)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: u64 = 5_000_000;

    fn thing() -> KeyHash {
        kasoku_store::Memory::<std::sync::Arc<crate::Resource>>::new(1 << 20, 1 << 16).hash(b"a")
    }

    fn at(ms: u64) -> Now {
        Now { unix_ms: 0, mono_ms: AT + ms }
    }

    fn failed(ms: u64, is_of_probe: bool) -> Failed {
        let reason = Reason::OriginClosedEarly;
        Failed { failure: OriginFailure::Disconnected, reason, is_of_probe, at_ms: AT + ms, period_ms: 0 }
    }

    #[test]
    fn a_back_off_doubles_up_to_its_bound() {
        let (failing, thing) = (Failing::new(), thing());
        let mut now = 0;
        for period in [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000] {
            failing.remember(thing, failed(now, false), 30_000);
            let last = failing.last(thing, at(now)).unwrap();
            assert!(last.is_backing_off(at(now + period - 1)) && !last.is_backing_off(at(now + period)), "{period}");
            now += period;
        }
    }

    #[test]
    fn failures_of_one_back_off_count_once() {
        let (failing, thing) = (Failing::new(), thing());
        for ms in [0, 10, 20] {
            failing.remember(thing, failed(ms, ms == 10), 30_000);
        }
        let last = failing.last(thing, at(20)).unwrap();
        assert!(last.is_of_probe && last.is_backing_off(at(1_019)) && !last.is_backing_off(at(1_020)));
    }

    #[test]
    fn only_a_disconnect_of_a_probe_is_refused_and_only_for_a_second() {
        assert!(failed(0, false).refusal(at(0)).is_none());
        let known = Failed { period_ms: 30_000, ..failed(0, true) };
        assert_eq!(known.refusal(at(999)), Some(Reason::OriginClosedEarly));
        assert_eq!(known.refusal(at(1_000)), None);
        let error = OriginFailure::ServerError(http::StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(Failed { failure: error, ..known }.refusal(at(0)), None, "an error is an answer");
    }

    #[test]
    fn what_is_long_past_begins_anew() {
        let (failing, thing) = (Failing::new(), thing());
        failing.remember(thing, failed(0, false), 30_000);
        failing.remember(thing, failed(FIRST_MS, false), 30_000);
        let later = 3 * FIRST_MS + KNOWN_MS;
        assert!(failing.last(thing, at(later - 1)).is_some() && failing.last(thing, at(later)).is_none());
        failing.remember(thing, failed(later, false), 30_000);
        assert_eq!(failing.last(thing, at(later)).unwrap().period_ms, FIRST_MS);
    }
}
