//! Tries each proposal before it is shown: each example on its own thread, with one deadline for all.
//!
//! | step | what may end the try there |
//! |---|---|
//! | an explanation of the example, which asks the application | the configuration can do nothing: reported with its reason |
//! | a page that is fetched anonymously under the changed rules | the page may not be kept: reported with its reason |
//! | the guard's comparison of that page | it differs by visitor: reported with the lines |
//! | | it is the same for all visitors: proposed |

use crate::observe::misses::{MissKey, MissStats};
use crate::operator::doctor::new_each_time;
use crate::operator::doctor::one_time::is_one_time;
use crate::operator::doctor::placement::{Placement, SeenPattern, placement};
use crate::operator::explain::{IS_LOGIN, Question, SuggestedChange, Suggestion, Tips, noise};
use crate::operator::trial::{TrialOutcome, head, try_out};
use crate::request::route::route_url;
use crate::runtime::handle::EngineHandle;
use crate::sites::ActiveSite;
use kasoku_semantics::advice::{Advice, advice_without_messages};
use kasoku_semantics::reason::Reason;
use kasoku_visitors::cookie_setters;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// Why the application is not asked once more for a URL that a visitor has requested.
const ONE_TIME: &str =
    "not tried: by the words in its URL, it may work once for one visitor, and another request may change something";
const FEW_VISITORS: &str = "not tried: none of these URLs was requested by three visitors, and another request for one visitor's URL may change something; a lifetime would not save much either";

/// A case that may be tried.
#[derive(Clone)]
pub(super) struct TrialSubject {
    pub(super) site: String,
    /// Where a line would stand, or why there is no place for one.
    pub(super) placement: Result<Placement, &'static str>,
    url: String,
    reason: Reason,
    /// Why the application is not asked for the URL once more; `None`: it may be asked.
    untried_because: Option<&'static str>,
    /// The proposal, where it is known without the application.
    known: Option<Suggestion>,
}

impl TrialSubject {
    /// Makes the subject of a case; `None`: no site serves its example any more.
    pub(super) fn of(
        handle: &EngineHandle,
        sites: &[ActiveSite],
        seen: &[SeenPattern<'_>],
        key: &MissKey,
        case: &MissStats,
    ) -> Option<Self> {
        let url = case.examples.url();
        let routed = route_url(sites, handle.cache(), &head(url)).ok()?;
        let site = sites.get(routed.site)?;
        let placement = placement(site, &routed, &key.pattern, seen);
        let cookie = case.cookie.as_deref().filter(|_| key.reason == Reason::PassCookie);
        let known = cookie.and_then(|name| noise(name, &routed.route, handle.cookie_setters()));
        let (requests, urls) = (case.requests, case.urls.count());
        let has_key_fields = !routed.route.policy.grant.key_fields.is_empty();
        let untried_because = match () {
            () if is_one_time(routed.target()) || is_one_time(routed.read_target()) => Some(ONE_TIME),
            () if !case.examples.has_several_visitors() => {
                new_each_time::parameter(&key.pattern, requests, urls).or(Some(FEW_VISITORS))
            }
            () => new_each_time::field(key.reason, has_key_fields, requests, urls),
        };
        let (site, url) = (site.name.clone(), url.to_owned());
        Some(Self { site, placement, url, reason: key.reason, untried_because, known })
    }

    /// The outcome, where it is known without the application.
    fn without_asking(&self) -> Option<TrialOutcome> {
        let target =
            self.url.split_once("://").and_then(|(_, rest)| rest.split_once('/')).map_or("", |(_, target)| target);
        if cookie_setters::is_login(target) {
            return Some(TrialOutcome::Nothing(IS_LOGIN));
        }
        match advice_without_messages(self.reason) {
            Advice::Nothing(why) if self.known.is_none() => Some(TrialOutcome::Nothing(why)),
            _ => self.untried_because.or(self.placement.as_ref().err().copied()).map(TrialOutcome::Nothing),
        }
    }
}

/// Tries at most `tries_max` subjects, all at a time. A try that has no result after `patience` is `Unknown`.
pub(super) fn all(
    handle: &EngineHandle,
    subjects: &[Option<TrialSubject>],
    tries_max: usize,
    patience: Duration,
) -> Vec<TrialOutcome> {
    let deadline = Instant::now() + patience;
    let mut all: Vec<TrialOutcome> = Vec::new();
    let (sender, results) = channel();
    let mut left = tries_max;
    for (number, subject) in subjects.iter().enumerate() {
        let known = subject.as_ref().map_or(Some(TrialOutcome::Unknown), TrialSubject::without_asking);
        let is_asked = known.is_none() && left > 0;
        all.push(known.unwrap_or(TrialOutcome::Unknown));
        if let Some(subject) = subject.clone().filter(|_| is_asked) {
            left -= 1;
            let (handle, sender) = (handle.clone(), sender.clone());
            // The thread ends by this deadline as well: a live question has the same patience.
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

fn attempt(handle: &EngineHandle, subject: &TrialSubject, deadline: Instant) -> TrialOutcome {
    let changes = match &subject.known {
        Some(known) => vec![known.clone()],
        None => match proposed(handle, subject) {
            Ok(changes) => changes,
            Err(tried) => return tried,
        },
    };
    try_out(handle, &subject.url, changes, deadline)
}

/// What an explanation proposes, where the configuration alone can do it.
fn proposed(handle: &EngineHandle, subject: &TrialSubject) -> Result<Vec<Suggestion>, TrialOutcome> {
    const APPLICATION: &str = "only the application can help: `kasoku explain --live` says what it would have to send";
    const KEPT: &str = "these pages are stored already: the application is asked for each at its first request, and when its lifetime is over";
    let question = Question { is_live: true, ..Question::get(&subject.url) };
    let Ok(explained) = handle.explain(&question) else { return Err(TrialOutcome::Unknown) };
    let is_ours = |all: &[Suggestion]| all.iter().all(|one| matches!(one.change, SuggestedChange::Set(..)));
    match explained.tips {
        Tips::Changes(all) if is_ours(&all) => Ok(all),
        Tips::Either(all, _) if is_ours(&all) => Ok(all),
        Tips::Either(_, instead) if is_ours(&instead) => Ok(instead),
        Tips::Changes(_) | Tips::Either(..) => Err(TrialOutcome::Nothing(APPLICATION)),
        Tips::Nothing(why) => Err(TrialOutcome::Nothing(why)),
        Tips::Needless => Err(TrialOutcome::Nothing(KEPT)),
        Tips::AskLive => Err(TrialOutcome::Unknown),
    }
}
