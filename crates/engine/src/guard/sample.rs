//! Looks once more at pages that are shared, in the background: an application changes, and so does what its pages show.
//!
//! Of the requests that meet the cache, one in 256 is looked at on average, at most one a second in the process. A hit pays for it by
//! counting down.

use super::check::{ByWorker, Found, Subject, check, fetch};
use super::made_up::plain;
use super::{Pattern, Standing, block, is_guarded, is_to_be_compared};
use crate::exchange::Exchange;
use crate::forward::{Audience, forward};
use crate::held::Sought;
use crate::origins::Errand;
use crate::route::Routed;
use crate::timing::OriginTime;
use crate::visitor;
use http::Method;
use kasoku_metrics::Counter;
use kasoku_semantics::secrets::Secrets;
use std::cell::Cell;
use std::rc::Rc;

/// How many requests lie between two samples of a worker, at least, and the number of values that are added at random.
const GAP_MIN: u64 = 192;
const GAP_SPREAD: u64 = 129;

/// Requests of a worker until the next sample.
pub(crate) struct Countdown(Cell<u64>);

impl Countdown {
    pub(crate) fn new() -> Self {
        Self(Cell::new(GAP_MIN))
    }

    /// Counts one. `random`: any number.
    fn is_due(&self, random: impl FnOnce() -> u64) -> bool {
        let left = self.0.get();
        self.0.set(match left {
            0 => GAP_MIN + random() % GAP_SPREAD,
            _ => left - 1,
        });
        left == 0
    }
}

/// A request meets the cache: now and then its page is looked at.
pub(crate) fn sample(exchange: &Exchange, routed: &Routed) {
    let worker = &exchange.worker;
    if is_guarded(&routed.route) && worker.samples.is_due(|| worker.guard.next_visitor()) {
        begin(exchange, routed);
    }
}

#[cold]
fn begin(exchange: &Exchange, routed: &Routed) {
    let (worker, now) = (exchange.worker.clone(), exchange.worker.now());
    if exchange.request.head.method != Method::GET {
        return;
    }
    let Some(pattern) = Pattern::of(routed, &exchange.request.head.fields) else { return };
    if !matches!(worker.guard.standing(&pattern, now.mono_ms), Standing::Verified(_)) {
        return;
    }
    let Some(place) = worker.guard.may_sample(now.mono_ms) else { return };
    let peer = exchange.connection.peer();
    let mut request = plain(&forward(&exchange.request, routed, &peer, Audience::Nobody, None));
    visitor::keep_wishes_back(&mut request, &routed.route);
    let time = Rc::new(OriginTime::begin(worker.moment().mono_us));
    let errand = Errand::new(exchange, routed, Audience::Nobody, time);
    let route = routed.route.clone();
    tokio::task::spawn_local(async move {
        let _place = place;
        let Some(page) = fetch(&worker, &route, &errand, &request, None).await else { return };
        let secrets = Secrets::default();
        let found = Sought::of(&route, &request.target, &page.head, false, &secrets).judge(&page.body, None);
        if found.reason.is_some() || !is_to_be_compared(&route, &request, &page.head, false, worker.now()) {
            return;
        }
        worker.cells.count(Counter::GuardChecks);
        let fetcher = ByWorker { worker: &worker, route: &route, errand: &errand };
        let subject = Subject { fetcher: &fetcher, route: &route, uri: &errand.uri, request: &request };
        if let Found::Differs(report) = check(subject, page, false).await {
            block(&worker, &route.policy.tags.site, &pattern, report);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_than_one_in_a_hundred_is_looked_at() {
        let countdown = Countdown::new();
        let mut number = 0_u64;
        let mut random = || {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            number >> 33
        };
        let due = (0..100_000).filter(|_| countdown.is_due(&mut random)).count();
        assert!((350..450).contains(&due), "{due}");
    }
}
