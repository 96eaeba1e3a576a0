//! Explains why a request gets what it gets: what `kasoku explain` shows.
//!
//! The parser of requests reads the question, `route` routes it, `forward` makes it into the request for the origin, and the
//! cache's own decision ([`Cache::inspect`](kasoku_cache::Cache::inspect)) tells the outcome. So an explanation says what would
//! really happen. Every sentence in it is from the tables of reasons and grounds.
//!
//! A question has no effect: nothing is stored, dropped or counted. Only a live question asks the origin (`live`); the shared tier is asked where
//! the request would ask it (`shared`), and its servers count that. Secrets in a
//! line are masked here, before the line leaves the engine (`shown`).
//!
//! | file | job |
//! |---|---|
//! | `question` | makes a request of what was typed |
//! | `mod` | the path of that request |
//! | `shared` | asks the shared tier |
//! | `live` | asks the origin, or checks a named file |
//! | `steps` | describes each step |
//! | `forms` | finds the forms of a page that matter |
//! | `shown` | makes lines and places safe to show |
//! | `advice` | proposes what would help |
//! | `classes` | tries whether visitors of one language or device can share a page |
//! | `warning` | warns where a visitor with a session gets a shared page |

mod advice;
mod classes;
mod forms;
mod live;
mod question;
mod shared;
pub(crate) mod shown;
mod steps;
mod warning;

use crate::operator::trial::{self, TrialOutcome};
use crate::request::forward::{self, Audience, forward};
use crate::request::message::Request;
use crate::request::notes::Notes;
use crate::request::passes::{part_passes, pass_reason};
use crate::request::route::Routed;
use crate::runtime::handle::EngineHandle;
use crate::sites::ActiveRoute;
use crate::sites::sites;
use crate::visitors::session;
pub use advice::Tips;
pub(crate) use advice::{IS_LOGIN, noise};
use kasoku_cache::inspect::LookupOutcome;
use kasoku_cache::refusals::StoreRefusal;
use kasoku_semantics::advice::{Advice, advice_without_messages};
use kasoku_semantics::cache_status::CacheStatus;
use kasoku_semantics::client_address::Peer;
use kasoku_semantics::deleted_cookies::brought;
pub use kasoku_semantics::evidence::Side;
pub use kasoku_semantics::ground::Because;
use kasoku_semantics::our_name::NAME;
pub use kasoku_semantics::reason::Reason;
pub use kasoku_semantics::suggestion::{SuggestedChange, Suggestion};
pub use kasoku_visitors::leak_guard::{GuardState, Guarded};
use kasoku_visitors::leak_guard::{PageReview, places_of};
use live::Answered;
pub use question::{Question, QuestionError};
pub use shared::SharedLookup;
pub use shown::{ConfigName, Point};
use std::sync::Arc;
use std::time::Instant;
use steps::{Explaining, RouteSource};
pub use warning::SharedWithSessions;

/// What would happen to a request, and why.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The method.
    pub method: String,
    /// The URL as it was asked for.
    pub url: String,
    /// The key: the effective URI, with the query as the rule wants it.
    pub key: String,
    /// The target for which the URL's own is a short address; `None`: it is none.
    pub stands_for: Option<String>,
    /// The tags by which its response is dropped.
    pub tags: Vec<String>,
    /// The tags of the pages that the request itself drops once it is carried out, as far as its URL tells; `None`: it drops
    /// nothing.
    pub changes: Option<Vec<String>>,
    /// Which site serves it, and where that is written.
    pub site: ConfigName,
    /// The rule that its path matches; `None`: the site's own settings hold.
    pub rule: Option<ConfigName>,
    /// `safe` or `rfc`, and where that is written.
    pub profile: ConfigName,
    /// What is stored for the key.
    pub stored: Stored,
    /// What the shared tier has; `None`: there is none, or the request passes.
    pub shared: Option<SharedLookup>,
    /// The outcome, if the request came now.
    pub outcome: LookupOutcome,
    /// What the leak guard knows of its URL pattern, where pages are compared before they are shared.
    pub guarded: Option<Guarded>,
    /// The outcome as Cache-Status tells it; after a live question, with what would become of the answer.
    pub status: CacheStatus,
    /// Further parameters of Cache-Status: the cookie that decided, and the line of the configuration.
    notes: Notes,
    /// The origin's answer to a live question.
    pub answer: Option<Result<OriginSample, Reason>>,
    /// Each line of a message or of the configuration that has a say.
    pub points: Vec<Point>,
    /// What would help.
    pub tips: Tips,
    /// A warning that a visitor with a session gets a shared page; `None`: the request has no session, or its answer is not
    /// shared.
    pub shared_with_sessions: Option<SharedWithSessions>,
}

/// What is stored for the key, and what is known of it.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Variants in memory, and those on disk that were looked at.
    pub variants: usize,
    /// The request fields that tell them apart, in lower case.
    pub varies_by: Vec<String>,
    /// The response that the request selects, usable or not.
    pub entry: Option<StoredEntry>,
    /// Whether a fill for this key is running.
    pub is_being_filled: bool,
    /// Whether the key is a hit-for-miss: its last answer could not be shared, so its requests do not wait for one another.
    pub is_hit_for_miss: bool,
    /// The last answer that was not stored, and how many seconds ago that was.
    pub last_refusal: Option<(StoreRefusal, u64)>,
}

/// A stored response.
#[derive(Clone, Debug)]
pub struct StoredEntry {
    /// Its status.
    pub status: u16,
    /// The length of the stored part of its body, in bytes.
    pub body_bytes: u64,
    /// The content codings that have been made of it, each with its length in bytes.
    pub codings: Vec<(&'static str, u64)>,
    /// Its age, in seconds.
    pub age: u64,
    /// Its freshness lifetime, in seconds.
    pub lifetime: u64,
    /// Where it is: `memory`, or `disk` or `shared` if it is only there.
    pub tier: &'static str,
}

/// The origin's answer to a live question.
#[derive(Clone, Copy, Debug)]
pub struct OriginSample {
    /// Its status.
    pub status: u16,
    /// How long it would be fresh from now on, in seconds.
    pub lifetime: u64,
    /// How old it is by its own Date or Age, in seconds.
    pub stated_age: u64,
    /// Why it would not be stored; `None`: it would be stored.
    pub refusal: Option<Reason>,
}

impl Explanation {
    /// The value of Cache-Status that the request would get.
    pub fn cache_status(&self) -> String {
        let mut value = Vec::new();
        self.status.write(NAME, &mut value);
        self.notes.write(&mut value);
        String::from_utf8_lossy(&value).into_owned()
    }
}

impl EngineHandle {
    /// Explains what a request would get. A live question blocks until the origin has answered, so no worker may ask one.
    ///
    /// # Errors
    /// The question is no valid request, or no site serves it.
    pub fn explain(&self, question: &Question) -> Result<Explanation, QuestionError> {
        let deadline = Instant::now() + live::PATIENCE;
        let mut explained = self.explain_untried(question)?;
        if question.is_live
            && question.is_tried
            && let Some(route) = self.compared(question)
        {
            explained.tips = match explained.outcome.reason() {
                Reason::LeakGuard => {
                    let (url, grant) = (question::as_sent(&question.url), &route.policy.grant);
                    classes::tried(self, &url, grant, explained.guarded.as_ref(), explained.tips, deadline)
                }
                _ => self.tried(&question.url, &route, explained.tips, deadline),
            };
        }
        Ok(explained)
    }

    /// The route of a question, where the leak guard compares pages. With `guard = false` the operator decides alone what is
    /// shared.
    fn compared(&self, question: &Question) -> Option<Arc<ActiveRoute>> {
        let options = self.options();
        let asked = question.read(&sites(&options), self.cache(), &options.limits).ok()?;
        Some(asked.routed.route).filter(|route| route.guard.is_enabled)
    }

    /// Removes lines of the configuration from `tips` that are wrong, as the page shows that is fetched under them.
    fn tried(&self, url: &str, route: &ActiveRoute, tips: Tips, deadline: Instant) -> Tips {
        // Some lines do not change what is shared.
        let can_be_tried = |lines: &&Vec<Suggestion>| trial::changed(route, lines).is_some();
        let Some(lines) = advice::ours(&tips).filter(can_be_tried) else { return tips };
        match trial::try_out(self, &question::as_sent(url), lines.clone(), deadline) {
            TrialOutcome::Same(_) => tips,
            TrialOutcome::Unknown => advice::without_ours(tips, advice::UNTRIED),
            // It would be as wrong if the application declared the page shared.
            TrialOutcome::Differs(..) => Tips::Nothing(advice::DIFFERS),
            TrialOutcome::Refused(_, reason) => match advice_without_messages(reason) {
                Advice::Nothing(why) => advice::without_ours(tips, why),
                _ => advice::without_ours(tips, advice::DIFFERS),
            },
            TrialOutcome::Nothing(why) => advice::without_ours(tips, why),
        }
    }

    fn explain_untried(&self, question: &Question) -> Result<Explanation, QuestionError> {
        let options = self.options();
        let sites = sites(&options);
        let asked = question.read(&sites, self.cache(), &options.limits)?;
        let peer = Peer::UNKNOWN;
        let upgrade = forward::upgrade(&asked.request, &asked.routed);
        let (received, now) = (&asked.request.head.fields, self.now());
        let identity =
            session::identify_visitor(self.sessions(), &asked.routed, received, now.mono_ms).unwrap_or_default();
        let passing = pass_reason(&asked.request, &asked.routed, upgrade, identity.is_anonymous)
            .or_else(|| part_passes(received, &asked.routed, self.cache(), now));
        let pattern = asked.routed.pattern(received);
        let guarded = pattern.map(|pattern| self.guard().shown(pattern, now.mono_ms));
        let is_blocked =
            guarded.as_ref().is_some_and(|it| matches!(it.state, GuardState::Blocked { is_shared: false, .. }));
        let passing = passing.or(is_blocked.then_some(Reason::LeakGuard));
        let shared = asked.routed.shared(&asked.request.head, &peer);
        let outgoing = match passing {
            Some(_) => forward(&asked.request, &asked.routed, &peer, Audience::OneClient, upgrade),
            None => shared.head().clone(),
        };
        let mut inspection = self.cache().inspect(&shared, now);
        if let Some(reason) = passing {
            inspection.outcome = LookupOutcome::Pass(reason);
        }
        if asked.routed.refused_by.is_some() {
            inspection.outcome = LookupOutcome::Refused(Reason::RefusedUrl);
        }
        let file = inspection.entry.as_ref().and_then(|entry| entry.body.external_body());
        if file.is_some_and(|file| live::has_changed(&asked.routed.route, file)) {
            inspection = inspection.missed_for(&shared, Reason::SendfileChanged);
        }
        let (mut inspection, in_shared_tier) = shared::look(self, &shared, inspection, now);
        let selected = inspection.entry.as_ref().filter(|_| matches!(inspection.outcome, LookupOutcome::Hit(_)));
        if selected.is_some_and(|entry| brought(&entry.meta.nominated, received).is_some()) {
            inspection.outcome = LookupOutcome::Pass(Reason::PassCookie);
        }
        let is_live = question.is_live && live::is_wanted(&outgoing, inspection.outcome);
        let answered = is_live.then(|| {
            let charges = [self.cache().hold(), self.cache().hold()];
            // Nothing is proposed for an answer that would be stored anyway.
            let has_objections = |live: &live::Live| !live::would_store(self.cache(), &shared, live).1.is_empty();
            let live = live::ask(&asked.routed, &outgoing, self.clock().as_ref(), charges, has_objections)?;
            let is_verified = guarded.as_ref().is_some_and(|it| {
                matches!(it.state, GuardState::Verified { .. } | GuardState::Blocked { is_shared: true, .. })
            });
            Ok(Answered::judge(self.cache(), &shared, live).reviewed(|head, page| {
                let (uri, rules) = (asked.routed.key.uri(), asked.routed.route.visitor_rules());
                let pattern = pattern.filter(|_| is_verified)?;
                let read = places_of(rules, uri, head, page, now);
                match self.guard().review(pattern, &read, uri, now.mono_ms) {
                    PageReview::Token => Some(Reason::LeakGuardToken),
                    PageReview::Unconfirmed => Some(Reason::LeakGuardUnconfirmed),
                    PageReview::Fine | PageReview::Unknown(_) | PageReview::Uncompared => None,
                }
            }))
        });
        let found = RouteSource::of(&sites, &asked.routed.route);
        let (cache, sites, cookie_setters) = (self.cache(), &sites, &**self.cookie_setters());
        Ok(Explaining {
            cache,
            sites,
            cookie_setters,
            asked: &asked,
            identity,
            found,
            shared: &shared,
            outgoing: &outgoing,
            now,
            inspection,
            in_shared_tier,
            answered,
            guarded,
        }
        .explain())
    }
}

/// A question as a request, with its site and rule.
struct RoutedQuestion {
    request: Request,
    routed: Routed,
    /// Path and query as they were asked for.
    target: String,
}
