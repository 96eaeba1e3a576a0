//! Looks once more at pages that are shared, in the background: an application changes, and so does what its pages show.
//!
//! Of the requests that meet the cache, one in 256 is looked at on average, at most one a second in the process. A hit pays for it by
//! counting down.

use super::check::{ByWorker, Found, Subject, check, fetch};
use super::made_up::plain;
use super::{Standing, block, is_guarded, is_to_be_compared};
use crate::errand::Errand;
use crate::exchange::Exchange;
use crate::held::Sought;
use crate::request::forward::{Audience, forward};
use crate::request::route::Routed;
use crate::request::visitor;
use crate::timing::OriginTime;
use http::Method;
use kasoku_metrics::Counter;
use kasoku_semantics::secrets::Secrets;
use std::rc::Rc;

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
    let Some(pattern) = routed.pattern(&exchange.request.head.fields).cloned() else { return };
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
