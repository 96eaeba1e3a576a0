//! Tries what would help before it is proposed: each example on a thread of its own, with one deadline for all.
//!
//! | step | what comes of it |
//! |---|---|
//! | what an explanation of the example proposes, the application asked | nothing that the configuration can do: told with its reason |
//! | a page fetched in nobody's name under the changed rules | no page that may be kept: told with its reason |
//! | the guard's comparison of that page | it differs by visitor: told with the lines |
//! | | it is the same for everybody: proposed |

use super::cases::{Case, Key};
use super::changed::changed;
use super::one_time::is_one_time;
use super::placement::{Placement, Seen, placement};
use crate::connection::Peer;
use crate::explain::{Change, IS_LOGIN, Question, Suggestion, Tips, noise, send_apart};
use crate::forward::{Audience, forward};
use crate::guard::{FETCH_MAX, Fetcher, Found, Page, as_sent, check, plain, says_nothing};
use crate::handle::Handle;
use crate::held::{self, Sought};
use crate::options::{Route, Site};
use crate::parse::Request;
use crate::route::{Routed, route_url};
use crate::set_by;
use crate::settings::{own, sites, tagged_as};
use crate::visitor;
use http::{Method, StatusCode};
use kasoku_cache::HeldCharge;
use kasoku_semantics::advice::{Advice, advice_without_messages};
use kasoku_semantics::difference::Difference;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::secrets::Secrets;
use kasoku_wire::RequestHead;
use kasoku_wire::http1::BodyLength;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, LocalOptions};

/// Why nobody asks once more for a URL that a visitor has asked for.
const ONE_TIME: &str = "not tried: by the words in its URL it may be made for one visitor and one time, and asking for it once more may do something";
const FEW_VISITORS: &str = "not tried: no URL of it was asked for by three visitors, and asking for another's once more may do something; nor would a lifetime save much";

/// What came of an attempt.
pub(crate) enum Tried {
    /// The page is the same for everybody under these lines.
    Same(Vec<Suggestion>),
    /// It is not.
    Differs(Vec<Suggestion>, Vec<Difference>),
    /// It could not be kept under them, for this reason.
    Refused(Vec<Suggestion>, Reason),
    /// The configuration can do nothing, for this reason.
    Nothing(&'static str),
    /// Nobody knows.
    Unknown,
}

/// What an attempt is about.
#[derive(Clone)]
pub(super) struct Subject {
    pub(super) site: String,
    /// Where a line would stand, or why there is no place for one.
    pub(super) placement: Result<Placement, &'static str>,
    url: String,
    reason: Reason,
    /// Why the application is not asked for it once more, if it is not.
    is_left_alone: Option<&'static str>,
    /// What is proposed, where the application need not be asked for it.
    known: Option<Suggestion>,
}

impl Subject {
    /// Of a case; `None`: no site serves its example any more.
    pub(super) fn of(handle: &Handle, sites: &[Site], seen: &[Seen<'_>], key: &Key, case: &Case) -> Option<Self> {
        let url = case.examples.url();
        let routed = route_url(sites, handle.cache(), &head(url)).ok()?;
        let site = sites.get(routed.site)?;
        let placement = placement(site, &routed, &key.pattern, seen);
        let cookie = case.cookie.as_deref().filter(|_| key.reason == Reason::PassCookie);
        let known = cookie.and_then(|name| noise(name, &routed.route, handle.set_by()));
        let is_left_alone = match () {
            () if is_one_time(routed.target()) || is_one_time(routed.read_target()) => Some(ONE_TIME),
            () if !case.examples.has_several_visitors() => Some(FEW_VISITORS),
            () => None,
        };
        let (site, url) = (site.name.clone(), url.to_owned());
        Some(Self { site, placement, url, reason: key.reason, is_left_alone, known })
    }

    /// What is known without the application.
    fn without_asking(&self) -> Option<Tried> {
        let target =
            self.url.split_once("://").and_then(|(_, rest)| rest.split_once('/')).map_or("", |(_, target)| target);
        if set_by::is_login(target) {
            return Some(Tried::Nothing(IS_LOGIN));
        }
        match advice_without_messages(self.reason) {
            Advice::Nothing(why) if self.known.is_none() => Some(Tried::Nothing(why)),
            _ => self.is_left_alone.or(self.placement.as_ref().err().copied()).map(Tried::Nothing),
        }
    }
}

fn head(url: &str) -> RequestHead {
    let authority = url.split_once("://").and_then(|(_, rest)| rest.split('/').next()).unwrap_or_default();
    RequestHead::new(Method::GET, url).with("Host", authority)
}

/// Tries at most so many, all at a time; whatever has no result by then has none.
pub(super) fn all(handle: &Handle, subjects: &[Option<Subject>], tries_max: usize, patience: Duration) -> Vec<Tried> {
    let deadline = Instant::now() + patience;
    let mut all: Vec<Tried> = Vec::new();
    let (sender, results) = channel();
    let mut left = tries_max;
    for (number, subject) in subjects.iter().enumerate() {
        let known = subject.as_ref().map_or(Some(Tried::Unknown), Subject::without_asking);
        let is_asked = known.is_none() && left > 0;
        all.push(known.unwrap_or(Tried::Unknown));
        if let Some(subject) = subject.clone().filter(|_| is_asked) {
            left -= 1;
            let (handle, sender) = (handle.clone(), sender.clone());
            // It ends by the same deadline, which is that of a live question as well.
            std::thread::spawn(move || drop(sender.send((number, attempt(&handle, &subject, deadline)))));
        }
    }
    drop(sender);
    while let Ok((number, tried)) = results.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        if let Some(place) = all.get_mut(number) {
            *place = tried;
        }
    }
    all
}

fn attempt(handle: &Handle, subject: &Subject, deadline: Instant) -> Tried {
    let changes = match &subject.known {
        Some(known) => vec![known.clone()],
        None => match proposed(handle, subject) {
            Ok(changes) => changes,
            Err(tried) => return tried,
        },
    };
    try_out(handle, &subject.url, changes, deadline)
}

/// Tries lines of the configuration on a URL, as the application answers now.
pub(crate) fn try_out(handle: &Handle, url: &str, changes: Vec<Suggestion>, deadline: Instant) -> Tried {
    let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default());
    let Ok(runtime) = runtime else { return Tried::Unknown };
    let left = deadline.saturating_duration_since(Instant::now());
    runtime
        .block_on(async { tokio::time::timeout(left, compare(handle, url, changes)).await })
        .unwrap_or(Tried::Unknown)
}

/// What an explanation proposes that the configuration alone can do.
fn proposed(handle: &Handle, subject: &Subject) -> Result<Vec<Suggestion>, Tried> {
    const APPLICATION: &str = "what would help, the application has to send: `kasoku explain --live` says what";
    const KEPT: &str =
        "such pages are kept: each is asked for when somebody wants it for the first time, or its lifetime is over";
    let question = Question { is_live: true, ..Question::get(&subject.url) };
    let Ok(explained) = handle.explain(&question) else { return Err(Tried::Unknown) };
    let is_ours = |all: &[Suggestion]| all.iter().all(|one| matches!(one.change, Change::Set(..)));
    match explained.tips {
        Tips::Changes(all) if is_ours(&all) => Ok(all),
        Tips::Either(all, _) if is_ours(&all) => Ok(all),
        Tips::Either(_, instead) if is_ours(&instead) => Ok(instead),
        Tips::Changes(_) | Tips::Either(..) => Err(Tried::Nothing(APPLICATION)),
        Tips::Nothing(why) => Err(Tried::Nothing(why)),
        Tips::Needless => Err(Tried::Nothing(KEPT)),
        Tips::AskLive => Err(Tried::Unknown),
    }
}

/// Compares a page under the changed rules.
async fn compare(handle: &Handle, url: &str, changes: Vec<Suggestion>) -> Tried {
    let sites = sites(&handle.options());
    let Ok(mut routed) = route_url(&sites, handle.cache(), &head(url)) else { return Tried::Unknown };
    let Some(changed) = changed(&routed.route, &changes) else { return Tried::Unknown };
    let mut changed = Arc::new(changed);
    own(&mut changed, sites.get(routed.site).map_or("", tagged_as), 0);
    routed.route = changed;
    let route = routed.route.clone();
    let request = Request { head: head(url), body: BodyLength::None, keeps_alive: true };
    let peer = Peer { address: None, is_trusted: false };
    let mut request = plain(&forward(&request, &routed, &peer, Audience::Shared, None));
    visitor::keep_wishes_back(&mut request, &route);
    let fetcher = Apart { handle, routed: &routed };
    let Some(page) = fetcher.fetch(&request, None).await else { return Tried::Unknown };
    if let Some(reason) = refusal(&route, &request, &page) {
        return Tried::Refused(changes, reason);
    }
    let subject = crate::guard::Subject { fetcher: &fetcher, route: &route, uri: routed.key.uri(), request: &request };
    match check(subject, page, false).await {
        Found::Same { .. } => Tried::Same(changes),
        Found::Differs(report) => Tried::Differs(changes, report.differences),
        Found::Unknown => Tried::Unknown,
    }
}

/// Why a page would not be kept for what stands in it.
fn refusal(route: &Route, request: &RequestHead, page: &Page) -> Option<Reason> {
    let secrets = Secrets::of(request, &page.head, &route.policy);
    if secrets.occur_in_head(&page.head) {
        return Some(Reason::CookieValueInAnswer);
    }
    let sought = Sought::of(route, &request.target, &page.head, false, &secrets);
    let is_page = page.head.status == StatusCode::OK;
    sought.judge(&page.body, None).reason.filter(|reason| is_page || *reason == Reason::CookieValueInAnswer)
}

/// Fetches on connections that no other request uses, and tells nobody.
struct Apart<'a> {
    handle: &'a Handle,
    routed: &'a Routed,
}

impl Fetcher for Apart<'_> {
    async fn fetch(&self, request: &RequestHead, address: Option<Ipv4Addr>) -> Option<Page> {
        let request = as_sent(request, &self.routed.route, address);
        let remote = address.map(|address| SocketAddr::new(IpAddr::V4(address), 0));
        let fetched = async {
            let mut response = send_apart(self.routed, &request, remote, self.handle.now()).await.ok()?;
            if says_nothing(response.head.status) {
                return None;
            }
            let mut charge = self.handle.cache().hold();
            let (body, _) = held::read(&response.head, &mut response.body, &mut charge).await.ok()??;
            Some(Page::new(response.head, body, charge))
        };
        tokio::time::timeout(FETCH_MAX, fetched).await.ok().flatten()
    }

    fn hold(&self) -> HeldCharge {
        self.handle.cache().hold()
    }

    fn next_visitor(&self) -> u64 {
        self.handle.guard().next_visitor()
    }
}
