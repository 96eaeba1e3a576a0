//! Tries lines of the configuration on a URL before they are proposed: fetches its page anonymously under the changed rules, and
//! compares it as the leak guard compares pages.

mod changed;

use crate::operator::isolated_fetch::send_isolated;
use crate::request::route::{Routed, route_url};
use crate::runtime::handle::EngineHandle;
use crate::sites::ActiveRoute;
use crate::sites::sites;
use crate::visitors::scan_body::{self, ScanTargets};
pub(crate) use changed::{TTL_SECONDS, changed};
use http::{Method, StatusCode};
use kasoku_cache::HeldCharge;
use kasoku_semantics::advice::{Advice, advice};
use kasoku_semantics::client_address::Peer;
use kasoku_semantics::difference::Difference;
use kasoku_semantics::freshness::freshness;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::secrets::Secrets;
use kasoku_semantics::suggestion::{SuggestedChange, Suggestion};
use kasoku_semantics::time::Now;
use kasoku_visitors::leak_guard::{
    Comparison, FETCH_MAX, FetchedPage, Fetcher, Finding, as_sent, check, plain, says_nothing,
};
use kasoku_wire::RequestHead;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Instant;
use tokio::runtime::{Builder, LocalOptions};

/// The outcome of a trial.
pub(crate) enum TrialOutcome {
    /// Under these lines the page is the same for all visitors.
    Same(Vec<Suggestion>),
    /// Under these lines the page differs by visitor.
    Differs(Vec<Suggestion>, Vec<Difference>),
    /// Under these lines the page could not be kept, for this reason.
    Refused(Vec<Suggestion>, Reason),
    /// The configuration can do nothing, for this reason.
    Nothing(&'static str),
    /// The trial has no result.
    Unknown,
}

/// Tries lines of the configuration on a URL, as the application answers now.
pub(crate) fn try_out(handle: &EngineHandle, url: &str, changes: Vec<Suggestion>, deadline: Instant) -> TrialOutcome {
    let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default());
    let Ok(runtime) = runtime else { return TrialOutcome::Unknown };
    let left = deadline.saturating_duration_since(Instant::now());
    runtime
        .block_on(async { tokio::time::timeout(left, compare(handle, url, changes)).await })
        .unwrap_or(TrialOutcome::Unknown)
}

/// The lines that the page needs besides `changes` to be kept, as the application answers now; `None`: none helps, or no answer came.
pub(crate) fn further(
    handle: &EngineHandle,
    url: &str,
    changes: &[Suggestion],
    deadline: Instant,
) -> Option<Vec<Suggestion>> {
    let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default()).ok()?;
    let left = deadline.saturating_duration_since(Instant::now());
    runtime.block_on(async { tokio::time::timeout(left, needed(handle, url, changes)).await }).ok()?
}

async fn needed(handle: &EngineHandle, url: &str, changes: &[Suggestion]) -> Option<Vec<Suggestion>> {
    let routed = routed_by(handle, url, changes)?;
    let (policy, now) = (&routed.route.policy, handle.now());
    let request = plain(routed.shared(&head(url), &Peer::UNKNOWN).head());
    let fetcher = IsolatedFetcher { handle, routed: &routed, stand_in: routed.route.draw_stand_in() };
    let page = fetcher.fetch(&request, None).await?;
    let freshness = freshness(&request, &page.head, now, now, policy);
    match advice(&request, &page.head, &freshness, policy, &|name| handle.cookie_setters().meaning(name)) {
        Advice::Needless => Some(Vec::new()),
        Advice::Changes(lines) | Advice::Either(_, lines) => {
            lines.iter().all(|one| matches!(one.change, SuggestedChange::Set(..))).then_some(lines)
        }
        Advice::Nothing(_) => None,
    }
}

/// The route of a URL with these lines.
fn routed_by(handle: &EngineHandle, url: &str, changes: &[Suggestion]) -> Option<Routed> {
    let mut routed = route_url(&sites(&handle.options()), handle.cache(), &head(url)).ok()?;
    let changed = changed(&routed.route.declared, changes)?;
    routed.route = Arc::new(ActiveRoute::of(changed, &routed.route.policy.tags.site, 0));
    Some(routed)
}

/// Compares a page under the changed rules.
async fn compare(handle: &EngineHandle, url: &str, changes: Vec<Suggestion>) -> TrialOutcome {
    let Some(routed) = routed_by(handle, url, &changes) else { return TrialOutcome::Unknown };
    let route = routed.route.clone();
    let request = plain(routed.shared(&head(url), &Peer::UNKNOWN).head());
    let fetcher = IsolatedFetcher { handle, routed: &routed, stand_in: route.draw_stand_in() };
    let Some(page) = fetcher.fetch(&request, None).await else { return TrialOutcome::Unknown };
    if let Some(reason) = refusal(&route, &request, &page) {
        return TrialOutcome::Refused(changes, reason);
    }
    let (uri, pattern) = (routed.key.uri(), handle.guard().next_visitor());
    let subject = || Comparison {
        fetcher: &fetcher,
        route: route.visitor_rules(),
        uri,
        request: &request,
        pattern,
        countries: &[],
    };
    let Some(mut found) = check(subject(), page, false).await else { return TrialOutcome::Unknown };
    let mut finding = found.finding(&[]);
    // What is found once may be chance, such as the order of rows that tie.
    while let Finding::Open(suspects) = finding {
        let Some(page) = fetcher.fetch(&request, None).await else { return TrialOutcome::Unknown };
        let Some(again) = check(subject(), page, false).await else { return TrialOutcome::Unknown };
        finding = again.finding(&suspects);
        if finding == Finding::Nothing {
            found.report.differences.clear();
        }
    }
    let tokens = found.places.into_iter().filter_map(|place| place.difference);
    let differences: Vec<Difference> = found.report.differences.into_iter().chain(tokens).collect();
    match differences.is_empty() {
        true => TrialOutcome::Same(changes),
        false => TrialOutcome::Differs(changes, differences),
    }
}

/// Why the content of a page would keep it from being stored.
fn refusal(route: &ActiveRoute, request: &RequestHead, page: &FetchedPage) -> Option<Reason> {
    let secrets = Secrets::of(request, &page.head, &route.policy);
    if secrets.occur_in_head(&page.head) {
        return Some(Reason::CookieValueInResponse);
    }
    let targets = ScanTargets::of(route.visitor_rules(), &request.target, &page.head, false, &secrets);
    let is_page = page.head.status == StatusCode::OK;
    targets.judge(&page.body, None).reason.filter(|reason| is_page || *reason == Reason::CookieValueInResponse)
}

/// Fetches on connections that no other request uses, and leaves health and counters alone.
struct IsolatedFetcher<'a> {
    handle: &'a EngineHandle,
    routed: &'a Routed,
    /// The address of anonymous looks.
    stand_in: IpAddr,
}

impl Fetcher for IsolatedFetcher<'_> {
    async fn fetch(&self, request: &RequestHead, address: Option<Ipv4Addr>) -> Option<FetchedPage> {
        let address = address.map_or(self.stand_in, IpAddr::V4);
        let request = as_sent(request, self.routed.route.visitor_rules(), address);
        let fetched = async {
            let mut response = send_isolated(self.routed, &request, Some(address), self.handle.now()).await.ok()?;
            if says_nothing(response.head.status) {
                return None;
            }
            let mut charge = self.handle.cache().hold();
            let secrets = Secrets::default();
            let targets =
                ScanTargets::of(self.routed.route.visitor_rules(), &request.target, &response.head, false, &secrets);
            let (body, _) = scan_body::read(&response.head, &mut response.body, &mut charge, targets.empty_tokens())
                .await
                .ok()??;
            Some(FetchedPage::new(response.head, body, charge))
        };
        tokio::time::timeout(FETCH_MAX, fetched).await.ok().flatten()
    }

    fn hold(&self) -> HeldCharge {
        self.handle.cache().hold()
    }

    fn next_visitor(&self) -> u64 {
        self.handle.guard().next_visitor()
    }

    fn now(&self) -> Now {
        self.handle.now()
    }
}

/// A GET of a URL that no client has sent.
pub(crate) fn head(url: &str) -> RequestHead {
    let authority = url.split_once("://").and_then(|(_, rest)| rest.split('/').next()).unwrap_or_default();
    RequestHead::new(Method::GET, url).with("Host", authority)
}
