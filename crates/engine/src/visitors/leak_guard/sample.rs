//! Compares shared pages again in the background, on a sample of requests, since applications change.
//!
//! On average, one in 256 requests that reach the cache is sampled, at most one a second in the process, and with a slow application so
//! few that samples take a hundredth of the time. A hit pays for it by counting down.

use crate::exchange::Exchange;
use crate::observe::timing::OriginTime;
use crate::origin::fetch_context::FetchContext;
use crate::request::forward::Audience;
use crate::request::route::Routed;
use crate::runtime::worker::Worker;
use crate::sites::ActiveRoute;
use crate::visitors::leak_guard::fetch::ByWorker;
use crate::visitors::leak_guard::{block, drop_all};
use crate::visitors::scan_body::ScanTargets;
use http::Method;
use kasoku_cache::SharedRequest;
use kasoku_metrics::Counter;
use kasoku_semantics::secrets::Secrets;
use kasoku_visitors::leak_guard::{
    Comparison, ComparisonResult, FetchedPage, Fetcher, Finding, PageReview, PatternVerdict, check, is_to_be_compared,
    plain,
};
use kasoku_visitors::pattern::{Pattern, is_guarded};
use kasoku_wire::RequestHead;
use std::rc::Rc;

/// Called for each request that reaches the cache: its page is compared now and then.
pub(crate) fn sample(exchange: &Exchange, routed: &Routed) {
    let worker = &exchange.worker;
    if is_guarded(routed.route.visitor_rules()) && worker.samples.is_due(|| worker.guard.next_visitor()) {
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
    if !matches!(worker.guard.verdict(&pattern, now.mono_ms), PatternVerdict::Verified(_)) {
        return;
    }
    let Some(place) = worker.guard.may_sample(now.mono_ms) else { return };
    let shared = SharedRequest::background(&exchange.request.head, &routed.cache_route(&[]), &exchange.peer);
    let request = plain(shared.head());
    let time = Rc::new(OriginTime::begin(worker.moment().mono_us));
    let fetch_context = FetchContext::new(exchange, routed, Audience::Background, time);
    let route = routed.route.clone();
    tokio::task::spawn_local(async move {
        resample(&worker, &route, &fetch_context, &pattern, &request).await;
        place.ended(worker.now().mono_ms);
    });
}

async fn resample(
    worker: &Worker,
    route: &ActiveRoute,
    fetch_context: &FetchContext,
    pattern: &Pattern,
    request: &RequestHead,
) {
    let fetcher = ByWorker::new(worker, route, fetch_context);
    let Some(page) = fetcher.fetch(request, None).await else { return };
    let secrets = Secrets::default();
    let found =
        ScanTargets::of(route.visitor_rules(), &request.target, &page.head, false, &secrets).judge(&page.body, None);
    if found.reason.is_some() || !is_to_be_compared(route.visitor_rules(), request, &page.head, false, worker.now()) {
        return;
    }
    let Some(mut found) = compare(&fetcher, pattern, request, page).await else { return };
    let mut finding = found.finding(&[]);
    // Further comparisons tell what depends on who asks from chance.
    while let Finding::Open(suspects) = finding {
        let fetcher = fetcher.again();
        let Some(page) = fetcher.fetch(request, None).await else { return };
        let Some(again) = compare(&fetcher, pattern, request, page).await else { return };
        (finding, found) = (again.finding(&suspects), again);
    }
    if finding == Finding::OfVisitors {
        block(worker, route, pattern, found.report);
    }
}

/// Compares a page, and takes in what is found of its places.
async fn compare(
    fetcher: &ByWorker<'_>,
    pattern: &Pattern,
    request: &RequestHead,
    page: FetchedPage,
) -> Option<ComparisonResult> {
    let ByWorker { worker, route, fetch_context, .. } = fetcher;
    worker.cells.count(Counter::GuardChecks);
    let (uri, seed) = (&*fetch_context.uri, worker.guard.visitor_seed(pattern));
    let subject = Comparison { fetcher, route: route.visitor_rules(), uri, request, pattern: seed, countries: &[] };
    let found = check(subject, page, false).await?;
    let has_token = worker.guard.learn(pattern, &found.places, uri, worker.now().mono_ms) == PageReview::Token;
    if has_token {
        // Pages of this pattern have got a token since they were stored.
        drop_all(worker, &route.policy.tags.site, pattern.key(), worker.now());
    }
    Some(found)
}
