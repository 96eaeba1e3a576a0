//! Finds what keeps requests from being served from memory, and which lines of the configuration would help: what `kasoku doctor`
//! shows.
//!
//! Workers count their misses by URL pattern and reason (`observe::misses`). When the operator asks, the doctor looks at the
//! largest cases. It proposes what [`explain`](crate::operator::explain) would propose for an example of the case, and tries each
//! proposal before it shows it (`tries`): it changes the rules in memory as if the lines were in the configuration (`trial`), and
//! the leak guard compares a page under them. Lines under which the page differs by visitor are reported and not proposed.
//! Proposed lines stand in a rule that is not wider than the pattern (`placement`). Only a URL that several visitors have
//! requested is requested once more (`observe::miss_examples`), and never one that may have been made for one visitor and one
//! time (`one_time`).
//!
//! Like an explanation, this asks the application and stores nothing.

pub(crate) mod missed;
mod new_each_time;
mod one_time;
mod placement;
mod tries;

use crate::observe::misses::{MissKey, MissStats, all};
use crate::operator::explain::{Guarded, SuggestedChange, Suggestion, shown};
use crate::operator::purge;
use crate::operator::trial::{TTL_SECONDS, TrialOutcome};
use crate::request::route::serving;
use crate::runtime::handle::EngineHandle;
use crate::sites::ActiveSite;
use crate::sites::sites;
use kasoku_semantics::difference::Difference;
use kasoku_semantics::reason::Reason;
use missed::authority_and_target;
use placement::{Placement, SeenPattern};
use std::time::Duration;
use tries::TrialSubject;

/// The most findings of one diagnosis.
const FINDINGS_MAX: usize = 20;

/// The most examples for which one diagnosis asks the application.
const TRIES_MAX: usize = 8;

/// How long all these tries may take.
const PATIENCE: Duration = Duration::from_secs(8);

/// The result of a diagnosis.
#[derive(Clone, Debug)]
pub struct Diagnosis {
    /// How far the numbers go back, in seconds.
    pub seconds: u64,
    /// URL patterns whose pages differ by visitor.
    pub blocked: Vec<BlockedPattern>,
    /// The findings. The one for which the application took longest comes first.
    pub findings: Vec<Finding>,
}

/// A URL pattern whose pages differ by visitor.
#[derive(Clone, Debug)]
pub struct BlockedPattern {
    /// What the guard has found.
    pub guarded: Guarded,
    /// The pattern's requests that were not served from memory.
    pub requests: u64,
    /// How long the application took for them, in seconds.
    pub origin_seconds: f64,
}

/// Requests of one URL pattern that were not served from memory for one reason.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The site that serves them.
    pub site: String,
    /// The pattern: `a.org/search?q`.
    pub pattern: String,
    /// Why they were not served from memory.
    pub reason: Reason,
    /// How many requests there were.
    pub requests: u64,
    /// For how many URLs; an estimate where there were many.
    pub urls: u64,
    /// How long the application took for them, in seconds.
    pub origin_seconds: f64,
    /// The URL of one of them, with the values of its parameters masked.
    pub example: String,
    /// What to do about it.
    pub verdict: FindingVerdict,
}

/// What to do about a finding.
#[derive(Clone, Debug)]
pub enum FindingVerdict {
    /// Add these lines. They were tried: the page is the same for all visitors.
    Proposal(Proposal),
    /// These lines seem to help, but the page differs by visitor under them.
    Differs(Vec<Suggestion>, Vec<Difference>),
    /// These lines seem to help, but the page could not be kept under them, for this reason.
    Refused(Vec<Suggestion>, Reason),
    /// Nothing can be done, for this reason.
    Nothing(&'static str),
    /// Nothing was tried: the application gave no answer in time, or other cases were tried first.
    Untried,
}

/// Proposed lines of the configuration, and their effect.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// The lines.
    pub changes: Vec<Suggestion>,
    /// The path of the rule in which they stand.
    pub path: String,
    /// Where that rule is written; `None`: it is a new rule.
    pub place: Option<String>,
    /// What follows from the rule's place among the rules: one sentence.
    pub order: String,
    /// Requests that the application would no longer get, in an hour.
    pub saved_requests: f64,
    /// How long the application would no longer work, in seconds of an hour.
    pub saved_seconds: f64,
}

impl Proposal {
    /// The lines as TOML, ready to be pasted.
    pub fn toml(&self) -> String {
        let mut text = match &self.place {
            Some(place) => format!("# in the rule of {place}: path = \"{}\"\n", self.path),
            None => format!("[[site.rule]]\npath = \"{}\"\n", self.path),
        };
        for one in &self.changes {
            if let SuggestedChange::Set(key, value) = &one.change {
                text.push_str(&format!("{key} = {value}\n"));
            }
        }
        text
    }
}

impl EngineHandle {
    /// Finds what keeps requests from being served from memory, and what would help: for the URL patterns of `host`, or for all.
    /// It blocks until the application has answered, so no worker may call it.
    pub fn diagnose(&self, host: Option<&str>) -> Diagnosis {
        let (options, now_ms) = (self.options(), self.now().mono_ms);
        let sites = sites(&options);
        let (cases, seconds) = all(self.misses().iter().map(AsRef::as_ref), now_ms);
        let is_meant = |pattern: &str| host.is_none_or(|host| is_of_host(pattern, host));
        let all_patterns: Vec<String> = cases.iter().map(|(key, _)| key.pattern.clone()).collect();
        let seen: Vec<SeenPattern<'_>> =
            all_patterns.iter().filter_map(|pattern| SeenPattern::of(&sites, pattern)).collect();
        let cases: Vec<(MissKey, MissStats)> = cases.into_iter().filter(|(key, _)| is_meant(&key.pattern)).collect();
        let blocked = self.guard().shown_blocked(now_ms).into_iter();
        let is_of = |pattern: &str, host: &str| purge::is_of_host(&sites, pattern, &host.to_ascii_lowercase());
        let blocked = blocked.filter(|one| host.is_none_or(|host| is_of(&one.pattern, host)));
        let blocked: Vec<BlockedPattern> = blocked.map(|guarded| with_cost(guarded, &sites, &cases)).collect();
        let told = cases
            .into_iter()
            .filter(|(key, _)| !matches!(key.reason, Reason::LeakGuard | Reason::LeakGuardPending))
            .take(FINDINGS_MAX);
        Diagnosis { seconds, blocked, findings: self.findings(&sites, &seen, told.collect(), seconds) }
    }

    fn findings(
        &self,
        sites: &[ActiveSite],
        seen: &[SeenPattern<'_>],
        cases: Vec<(MissKey, MissStats)>,
        seconds: u64,
    ) -> Vec<Finding> {
        let subjects: Vec<Option<TrialSubject>> =
            cases.iter().map(|(key, case)| TrialSubject::of(self, sites, seen, key, case)).collect();
        let verdicts = tries::all(self, &subjects, TRIES_MAX, PATIENCE);
        let mut findings = Vec::new();
        for (((key, case), subject), tried) in cases.into_iter().zip(&subjects).zip(verdicts) {
            let Some(subject) = subject else { continue };
            let urls = case.urls.count();
            let verdict = match tried {
                TrialOutcome::Same(changes) => match &subject.placement {
                    Ok(placement) => FindingVerdict::Proposal(proposal(placement, changes, &case, urls, seconds)),
                    Err(why) => FindingVerdict::Nothing(why),
                },
                TrialOutcome::Differs(changes, differences) => FindingVerdict::Differs(changes, printable(differences)),
                TrialOutcome::Refused(changes, reason) => FindingVerdict::Refused(changes, reason),
                TrialOutcome::Nothing(why) => FindingVerdict::Nothing(why),
                TrialOutcome::Unknown => FindingVerdict::Untried,
            };
            findings.push(Finding {
                site: subject.site.clone(),
                pattern: shown::printable(&key.pattern),
                reason: key.reason,
                requests: case.requests,
                urls,
                origin_seconds: in_seconds(case.origin_us),
                example: example(case.examples.url()),
                verdict,
            });
        }
        findings
    }
}

fn proposal(placement: &Placement, changes: Vec<Suggestion>, case: &MissStats, urls: u64, seconds: u64) -> Proposal {
    let saved_requests = saved(case.requests, urls, seconds);
    let mean_seconds = in_seconds(case.origin_us) / case.requests.max(1) as f64;
    Proposal {
        changes,
        path: placement.path.clone(),
        place: placement.place.clone(),
        order: placement.order.clone(),
        saved_requests,
        saved_seconds: saved_requests * mean_seconds,
    }
}

/// Requests of an hour that would be hits: the origin is asked for a URL anew when its lifetime is over and a client requests it.
fn saved(requests: u64, urls: u64, seconds: u64) -> f64 {
    let (requests, urls, seconds) = (requests as f64, urls.max(1) as f64, seconds.max(1) as f64);
    let gap = urls * seconds / requests.max(1.0);
    let asked = urls * seconds / (TTL_SECONDS as f64 + gap);
    (requests - asked.min(requests)) * 3600.0 / seconds
}

fn with_cost(guarded: Guarded, sites: &[ActiveSite], cases: &[(MissKey, MissStats)]) -> BlockedPattern {
    let own = || cases.iter().filter(|(key, _)| shown::printable(&as_guarded(sites, &key.pattern)) == guarded.pattern);
    let requests = own().map(|(_, case)| case.requests).sum();
    let origin_seconds = in_seconds(own().map(|(_, case)| case.origin_us).sum());
    BlockedPattern { guarded, requests, origin_seconds }
}

/// A pattern as the guard names it, where one name may stand for many hosts.
fn as_guarded(sites: &[ActiveSite], pattern: &str) -> String {
    let (authority, shape) = pattern.split_at_checked(pattern.find('/').unwrap_or(pattern.len())).unwrap_or_default();
    match serving(sites, authority) {
        Some(site) => format!("{}{shape}", site.route.guarded_hosts.name(authority)),
        None => pattern.to_owned(),
    }
}

/// Whether a pattern is of that host. The host may be given with its port or without.
fn is_of_host(pattern: &str, host: &str) -> bool {
    let authority = pattern.split('/').next().unwrap_or_default();
    let without_port = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
    [authority, without_port].iter().any(|one| one.eq_ignore_ascii_case(host))
}

fn in_seconds(us: u64) -> f64 {
    us as f64 / 1e6
}

fn example(url: &str) -> String {
    let (before, target) = authority_and_target(url)
        .and_then(|(_, target)| url.split_at_checked(url.len() - target.len()))
        .unwrap_or((url, ""));
    format!("{}{}", shown::printable(before), shown::target(target))
}

fn printable(differences: Vec<Difference>) -> Vec<Difference> {
    let own = |one: Difference| Difference {
        anonymous: shown::printable(&one.anonymous),
        visitors: shown::printable(&one.visitors),
        ..one
    };
    differences.into_iter().map(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_be_saved_follows_from_how_often_urls_come_again() {
        let rounded = |requests, urls, seconds| saved(requests, urls, seconds).round();
        // 100 requests a second for one URL: with a lifetime of a minute, the origin gets one of them in a minute.
        assert_eq!(rounded(360_000, 1, 3600), 359_940.0);
        assert_eq!(rounded(60, 60, 3600), 1.0, "each comes once in an hour");
        assert_eq!(rounded(60, 1, 3600), 30.0, "once in a minute");
        assert_eq!(rounded(30, 1, 1800), 30.0, "the same in half an hour");
        assert_eq!(rounded(0, 0, 0), 0.0);
    }

    #[test]
    fn a_pattern_is_of_its_host() {
        for (pattern, host, expected) in [
            ("a.org/x", "a.org", true),
            ("a.org:8080/x", "A.org", true),
            ("a.org:8080/x", "a.org:8080", true),
            ("b.org/x", "a.org", false),
        ] {
            assert_eq!(is_of_host(pattern, host), expected, "{pattern} {host}");
        }
    }

    #[test]
    fn an_example_shows_no_value() {
        assert_eq!(example("http://a.org/x?q=hunter2&b"), "http://a.org/x?q=***&b");
    }
}
