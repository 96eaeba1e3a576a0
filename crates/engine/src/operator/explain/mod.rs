//! Why a request gets what it gets: what `kasoku explain` shows.
//!
//! A question is read by the parser of requests, routed by `route`, made into the request for the origin by `forward`, and
//! decided by the cache's own decision ([`Cache::inspect`](kasoku_cache::Cache::inspect)), so an explanation says what would
//! happen and not what somebody believes would. Every sentence in it is of the tables of reasons and grounds.
//!
//! Nothing follows from a question: nothing is stored, dropped or counted. Only a live one (`live`) asks the origin. What may
//! be secret in a line is masked here, before it leaves the engine (`shown`).
//!
//! | file | job |
//! |---|---|
//! | `question` | what was typed to a request |
//! | `mod` | the path of that request |
//! | `live` | asks the origin, or where a file lies |
//! | `steps` | what is said of each step |
//! | `forms` | the forms of a page, as far as they matter |
//! | `shown` | lines and places as people may see them |
//! | `advice` | what would help |
//! | `warning` | who gets what everybody gets |

mod advice;
mod forms;
mod live;
mod question;
pub(crate) mod shown;
mod steps;
mod warning;

use crate::operator::trial::{self, TrialOutcome};
use crate::request::forward::{self, Audience, forward};
use crate::request::message::Request;
use crate::request::notes::Notes;
use crate::request::passes::{part_passes, pass_reason};
use crate::request::respond;
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
pub use kasoku_semantics::evidence::Side;
pub use kasoku_semantics::reason::Reason;
pub use kasoku_semantics::suggestion::{SuggestedChange, Suggestion};
pub use kasoku_visitors::leak_guard::{GuardState, Guarded};
use live::Answered;
pub use question::{Question, QuestionError};
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
    /// The target for which its own is short; none: it is not.
    pub stands_for: Option<String>,
    /// The tags by which its response is dropped.
    pub tags: Vec<String>,
    /// What the request itself drops when it has been carried out, as far as its URL tells; none: nothing.
    pub changes: Option<Vec<String>>,
    /// Which site serves it, and where that is written.
    pub site: ConfigName,
    /// The rule that its path matches; none: the site's own settings hold.
    pub rule: Option<ConfigName>,
    /// `safe` or `rfc`, and where that is written.
    pub profile: ConfigName,
    /// What is stored.
    pub stored: Stored,
    /// What would happen now.
    pub outcome: LookupOutcome,
    /// What is known of its URL pattern, where pages are compared before they are shared.
    pub guarded: Option<Guarded>,
    /// The same as Cache-Status says it; after a live question, with what became of the answer.
    pub status: CacheStatus,
    /// What Cache-Status says besides: which cookie decided, and which line.
    notes: Notes,
    /// What the origin has just answered.
    pub answer: Option<Result<OriginSample, Reason>>,
    /// Each line that has a say.
    pub points: Vec<Point>,
    /// What would help.
    pub tips: Tips,
    /// That a visitor with a session gets what everybody gets; none: the request has no session, or its answer is not shared.
    pub shared_with_sessions: Option<SharedWithSessions>,
}

/// What is known of the key.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Variants in memory.
    pub variants: usize,
    /// The request fields by which they are told apart, lower case.
    pub varies_by: Vec<String>,
    /// The response that the request selects, usable or not.
    pub entry: Option<StoredEntry>,
    /// Whether somebody is fetching something for this key at the moment.
    pub is_being_filled: bool,
    /// Whether requests for it do not wait for each other at the moment, since its last answer could not be shared.
    pub is_hit_for_miss: bool,
    /// The last answer that was not stored, and how many seconds ago that was.
    pub last_refusal: Option<(StoreRefusal, u64)>,
}

/// A stored response.
#[derive(Clone, Debug)]
pub struct StoredEntry {
    /// Its status.
    pub status: u16,
    /// Its body's length in bytes, as far as it is stored.
    pub body_bytes: u64,
    /// The content codings that have been made of it, each with its length in bytes.
    pub codings: Vec<(&'static str, u64)>,
    /// Its age, in seconds.
    pub age: u64,
    /// Its freshness lifetime, in seconds.
    pub lifetime: u64,
}

/// An answer of the origin.
#[derive(Clone, Copy, Debug)]
pub struct OriginSample {
    /// Its status.
    pub status: u16,
    /// How long it would be fresh, in seconds.
    pub lifetime: u64,
    /// Why it would not be stored; none: it would be.
    pub refusal: Option<Reason>,
}

impl Explanation {
    /// The value of Cache-Status that the request would get.
    pub fn cache_status(&self) -> String {
        let mut value = Vec::new();
        self.status.write(respond::NAME, &mut value);
        self.notes.write(&mut value);
        String::from_utf8_lossy(&value).into_owned()
    }
}

impl EngineHandle {
    /// Explains what a request would get. A live question waits for the origin: not for a thread that serves.
    ///
    /// # Errors
    /// It is no request, or none that any site serves.
    pub fn explain(&self, question: &Question) -> Result<Explanation, QuestionError> {
        let deadline = Instant::now() + live::PATIENCE;
        let mut explained = self.explain_untried(question)?;
        if question.is_live
            && question.is_tried
            && let Some(route) = self.compared(question)
        {
            explained.tips = self.tried(&question.url, &route, explained.tips, deadline);
        }
        Ok(explained)
    }

    /// Where pages are compared, if they are: with `guard = false` the operator has said that they differ, and what is shared all the same.
    fn compared(&self, question: &Question) -> Option<Arc<ActiveRoute>> {
        let options = self.options();
        let asked = question.read(&sites(&options), self.cache(), &options.limits).ok()?;
        Some(asked.routed.route).filter(|route| route.guard.is_enabled)
    }

    /// What would help, without the lines of the configuration that turn out to be wrong when the page is fetched as they would have it.
    fn tried(&self, url: &str, route: &ActiveRoute, tips: Tips, deadline: Instant) -> Tips {
        // Some lines change nothing of what is shared.
        let can_be_tried = |lines: &&Vec<Suggestion>| trial::changed(route, lines).is_some();
        let Some(lines) = advice::ours(&tips).filter(can_be_tried) else { return tips };
        match trial::try_out(self, &question::as_sent(url), lines.clone(), deadline) {
            TrialOutcome::Same(_) => tips,
            TrialOutcome::Unknown => advice::without_ours(tips, advice::UNTRIED),
            // What the application would have to say would be as wrong.
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
        let identity = session::see(self.sessions(), &asked.routed, received, now.mono_ms).unwrap_or_default();
        let passing = pass_reason(&asked.request, &asked.routed, upgrade, identity.is_anonymous)
            .or_else(|| part_passes(received, &asked.routed, self.cache(), now));
        let pattern = asked.routed.pattern(received);
        let guarded = pattern.map(|pattern| self.guard().shown(pattern, now.mono_ms));
        let is_blocked = guarded.as_ref().is_some_and(|it| matches!(it.state, GuardState::Blocked { .. }));
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
        let is_live = question.is_live && live::is_wanted(&outgoing, inspection.outcome);
        let answered = is_live.then(|| {
            let charges = [self.cache().hold(), self.cache().hold()];
            // What is stored anyway has nothing proposed.
            let is_in_doubt = |live: &live::Live| !live::would_store(self.cache(), &shared, live).1.is_empty();
            let live = live::ask(&asked.routed, &outgoing, self.clock().as_ref(), charges, is_in_doubt)?;
            Ok(Answered::judge(self.cache(), &shared, live))
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
            answered,
            guarded,
        }
        .explain())
    }
}

/// A question as a request that has found its site.
struct RoutedQuestion {
    request: Request,
    routed: Routed,
    /// Path and query as they were asked for.
    target: String,
}
