//! Describes each step of a request: site, rule, key, what is stored, the lines that have a say, and the outcome.

use crate::operator::explain::live::{Answered, PATIENCE};
use crate::operator::explain::shown::{self, ConfigName, Point, printable};
use crate::operator::explain::{Explanation, OriginSample, RoutedQuestion, SharedLookup, Stored, StoredEntry};
use crate::request::changing;
use crate::request::notes::{DroppedCookies, Notes, list_of};
use crate::request::respond;
use crate::sites::{ActiveRoute, ActiveRule, ActiveSite};
use kasoku_cache::inspect::{Inspection, LookupOutcome, Tier};
use kasoku_cache::{Body, Cache, SharedRequest};
use kasoku_options::SettingLocations;
use kasoku_semantics::cache_status::CacheStatus;
use kasoku_semantics::cookies;
use kasoku_semantics::deleted_cookies::{brought, nominated_cookie};
use kasoku_semantics::evidence::{self, Evidence, EvidenceLine, Side};
use kasoku_semantics::grant::GrantRefusal;
use kasoku_semantics::ground::{Because, Ground};
use kasoku_semantics::policy::Profile;
use kasoku_semantics::query::path_and_query;
use kasoku_semantics::range::ByteRange;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::stated_age;
use kasoku_semantics::tags::{Parameters, Tagged};
use kasoku_semantics::time::Now;
use kasoku_visitors::cookie_setters::CookieSetters;
use kasoku_visitors::leak_guard::Guarded;
use kasoku_visitors::passing;
use kasoku_visitors::session::RequestIdentity;
use kasoku_wire::RequestHead;
use std::sync::Arc;

/// A question whose answer is known, and only has to be described.
pub(super) struct Explaining<'q> {
    pub(super) cache: &'q Cache,
    pub(super) sites: &'q [ActiveSite],
    pub(super) cookie_setters: &'q CookieSetters,
    pub(super) asked: &'q RoutedQuestion,
    /// What is known of the visitor's session.
    pub(super) identity: RequestIdentity,
    pub(super) found: RouteSource<'q>,
    pub(super) shared: &'q SharedRequest,
    /// The request as it goes to the origin.
    pub(super) outgoing: &'q RequestHead,
    pub(super) now: Now,
    pub(super) inspection: Inspection,
    pub(super) in_shared_tier: Option<SharedLookup>,
    pub(super) answered: Option<Result<Answered, Reason>>,
    pub(super) guarded: Option<Guarded>,
}

/// Where a route is written in the configuration.
pub(super) struct RouteSource<'s> {
    site: Option<&'s ActiveSite>,
    rule: Option<&'s ActiveRule>,
    pub(super) places: &'s SettingLocations,
}

impl<'s> RouteSource<'s> {
    pub(super) fn of(sites: &'s [ActiveSite], route: &'s Arc<ActiveRoute>) -> Self {
        let has = |site: &&ActiveSite| Self::rule_of(site, route).is_some() || Arc::ptr_eq(&site.route, route);
        let site = sites.iter().find(has);
        Self { site, rule: site.and_then(|site| Self::rule_of(site, route)), places: &route.places }
    }

    fn rule_of<'a>(site: &'a ActiveSite, route: &Arc<ActiveRoute>) -> Option<&'a ActiveRule> {
        site.rules.iter().find(|rule| Arc::ptr_eq(&rule.route, route))
    }
}

/// The codings that were made of a body, and their lengths in bytes.
fn codings(body: &Body) -> Vec<(&'static str, u64)> {
    let length = |coding| body.coded(coding).and_then(|coded| coded.complete_length());
    body.codings().filter_map(|coding| Some((coding.name(), length(coding)?))).collect()
}

impl Explaining<'_> {
    pub(super) fn explain(self) -> Explanation {
        let places = self.found.places;
        let profile = if self.shared.policy().profile == Profile::Safe { "safe" } else { "rfc" };
        let answer = self.answered.as_ref().map(|answered| match answered {
            Err(reason) => Err(*reason),
            Ok(answered) => Ok(OriginSample {
                status: answered.live.head.status.as_u16(),
                lifetime: answered.freshness.lifetime.saturating_sub(answered.freshness.initial_age),
                stated_age: stated_age(&answered.live.head, answered.freshness.response_time),
                refusal: answered.objections.first().copied(),
            }),
        });
        Explanation {
            method: self.outgoing.method.to_string(),
            url: printable(&self.asked.request.head.target),
            key: printable(self.shared.key().uri()),
            stands_for: self.asked.routed.stands_for().map(printable),
            tags: self.tags(),
            changes: changing::told(&self.asked.request.head.method, &self.asked.routed),
            site: ConfigName::new(self.found.site.map_or("", |site| &site.name), places.site.as_ref()),
            rule: self.found.rule.map(|rule| ConfigName::new(rule.path.as_str(), places.rule.as_ref())),
            profile: ConfigName::new(profile, places.settings.get("profile")),
            stored: self.stored(),
            shared: self.in_shared_tier.clone(),
            outcome: self.inspection.outcome,
            status: self.status(answer.as_ref()),
            guarded: self.guarded.clone(),
            notes: self.notes(),
            points: self.points(),
            tips: self.tips(),
            shared_with_sessions: self.shared_with_sessions(),
            answer,
        }
    }

    fn tags(&self) -> Vec<String> {
        let mut parameters = Parameters::default();
        parameters.read(path_and_query(self.asked.routed.read_target()).1.unwrap_or_default());
        let is_stored = match self.inspection.outcome {
            LookupOutcome::Refused(_) => false,
            // The response that other clients get for this URL is stored under its tags.
            LookupOutcome::Pass(
                Reason::PassSession | Reason::PassCookie | Reason::PassAuthorization | Reason::PassField,
            ) => self.outgoing.method.is_safe(),
            LookupOutcome::Pass(_) => false,
            _ => true,
        };
        let templates = self.shared.policy().tags.templates.iter().filter(|_| is_stored);
        Tagged::of(templates, &parameters).tags
    }

    /// The origin's answer to a live question, where there is one.
    pub(super) fn live_answer(&self) -> Option<&Answered> {
        self.answered.as_ref()?.as_ref().ok()
    }

    fn stored(&self) -> Stored {
        let (found, now) = (&self.inspection, self.now);
        Stored {
            variants: found.variants,
            varies_by: found.nominated.iter().filter(|name| nominated_cookie(name).is_none()).cloned().collect(),
            entry: found.entry.as_ref().map(|entry| StoredEntry {
                status: entry.meta.head.status.as_u16(),
                body_bytes: entry.body.ranges().into_iter().map(ByteRange::length).sum(),
                codings: codings(&entry.body),
                age: entry.meta.freshness.age(now),
                lifetime: entry.meta.freshness.lifetime,
                tier: found.tier.map_or("memory", Tier::name),
            }),
            is_being_filled: found.is_being_filled,
            is_hit_for_miss: found.is_hit_for_miss,
            last_refusal: found.last_refusal.map(|refusal| (refusal, now.seconds_since(refusal.at))),
        }
    }

    /// The Cache-Status that the request itself would get.
    fn status(&self, answer: Option<&Result<OriginSample, Reason>>) -> CacheStatus {
        let status = match self.inspection.outcome {
            LookupOutcome::Hit(reason) => {
                let ttl = self.inspection.entry.as_ref().map(|entry| entry.meta.freshness.remaining(self.now));
                return CacheStatus::of_hit(reason, ttl.unwrap_or_default());
            }
            LookupOutcome::Failed(why, miss) => {
                return CacheStatus { fwd: None, detail: Some(why), ..CacheStatus::forwarded(miss) };
            }
            LookupOutcome::Unavailable(reason) => return CacheStatus { fwd: None, ..CacheStatus::forwarded(reason) },
            LookupOutcome::Pass(reason) => return CacheStatus::forwarded(reason),
            LookupOutcome::Refused(_) => return respond::refused(),
            LookupOutcome::Ask(reason) => CacheStatus::forwarded(reason),
        };
        match answer {
            None => status,
            // The outcome is not known: a visitor's request waits for longer.
            Some(Err(Reason::OriginTimeoutFirstByte))
                if self.asked.routed.route.origin.first_byte_timeout > PATIENCE =>
            {
                status
            }
            Some(Err(reason)) => CacheStatus { detail: Some(*reason), ..status },
            // The answer to the anonymous request is not this visitor's: the visitor's own request passes.
            Some(Ok(OriginSample { refusal: Some(reason @ Reason::VaryUnseen), .. })) => {
                CacheStatus::forwarded(*reason)
            }
            Some(Ok(OriginSample { refusal: Some(reason), .. })) => CacheStatus { detail: Some(*reason), ..status },
            Some(Ok(OriginSample { refusal: None, .. })) => CacheStatus { stored: true, ..status },
        }
    }

    /// The further parameters of Cache-Status that the request itself would get.
    fn notes(&self) -> Notes {
        let (route, mut notes) = (&self.asked.routed.route, Notes::default());
        if let Some(by) = &self.asked.routed.refused_by {
            notes.refused(by);
            return notes;
        }
        match (self.inspection.outcome, self.live_answer()) {
            (LookupOutcome::Pass(reason), _) => {
                notes.passes(reason, &self.asked.request.head.fields, &self.asked.routed, self.identity.is_anonymous)
            }
            (_, Some(answered)) => match answered.objections.first() {
                None => notes.kept(DroppedCookies::of(
                    &answered.live.request,
                    &answered.live.head,
                    &answered.freshness,
                    route,
                )),
                Some(Reason::SetCookie) => notes.sets(route, &answered.live.head.fields),
                Some(_) => {}
            },
            _ => {}
        }
        let is_set_aside = self.identity.session.is_some_and(|session| session.is_anonymous);
        if is_set_aside && !matches!(self.inspection.outcome, LookupOutcome::Pass(_)) {
            notes.session("anonymous");
        }
        notes
    }

    /// Each line that has a say, in the order of the request's path: routing, request, response.
    fn points(&self) -> Vec<Point> {
        let (outgoing, now, inspection) = (self.outgoing, self.now, &self.inspection);
        let (policy, places) = (self.shared.policy().as_ref(), self.found.places);
        let mut points = self.of_route();
        let outcome = inspection.outcome;
        if matches!(outcome, LookupOutcome::Refused(_)) {
            return points;
        }
        points.extend(self.of_visitor());
        let is_told = matches!(
            outcome,
            LookupOutcome::Hit(_)
                | LookupOutcome::Pass(
                    Reason::PassAuthorization | Reason::PassCookie | Reason::PassSession | Reason::PassField
                )
        );
        let refusal = (!is_told).then(|| outcome.reason());
        let own;
        let mut all = evidence::of_request(outgoing, refusal, &inspection.nominated, policy);
        match (self.live_answer(), &inspection.entry) {
            (Some(answered), _) => {
                let (request, head, freshness) = (&answered.live.request, &answered.live.head, &answered.freshness);
                let mut reasons = evidence::obstacles(request, head, freshness, policy);
                let of_ours = answered.objections.iter().filter(|one| !reasons.contains(one)).copied();
                let of_ours: Vec<Reason> = of_ours.collect();
                reasons.extend(of_ours);
                all.extend(evidence::of_response(request, head, freshness, &reasons, policy, freshness.response_time));
            }
            (None, Some(entry)) => {
                let reasons: Vec<Reason> = refusal.into_iter().collect();
                let freshness = &entry.meta.freshness;
                // The head as the application sent it.
                own = entry.meta.origin_head(policy);
                all.extend(evidence::of_response(outgoing, &own, freshness, &reasons, policy, now));
            }
            (None, None) => {
                all.extend(evidence::of_visitor(outgoing, policy));
                let other = inspection.other.as_ref().map(|other| &other.meta);
                let varying =
                    other.map(|meta| evidence::of_response(outgoing, &meta.head, &meta.freshness, &[], policy, now));
                all.extend(varying.into_iter().flatten());
            }
        }
        let file = inspection.entry.as_ref().and_then(|entry| entry.body.external_body());
        points.extend(file.map(|file| {
            let line = shown::field(file.field.as_bytes(), &file.name);
            Point::of("response", line, Side::Neither, Because::Ground(Ground::NamedFile), places)
        }));
        let mut told = Vec::new();
        // The line of the cookie says it already.
        let is_said_of_it = self.live_answer().is_some_and(|answered| answered.live.cookie_in_it.is_some());
        all.retain(|one| {
            !is_said_of_it
                || one.line != EvidenceLine::Absent
                || one.because != Because::Reason(Reason::CookieValueInResponse)
        });
        for mut one in all {
            if self.is_in_the_answer(&one) {
                (one.side, one.because) = (Side::Against, Because::Reason(Reason::CookieValueInResponse));
            } else if self.is_noise(&one) {
                one.because = Because::Ground(Ground::NoiseDropped);
            }
            let point = Point::new(&one, places);
            if !told.contains(&point) {
                told.push(point);
            }
        }
        points.extend(told);
        if self.live_answer().is_some_and(Answered::has_form_of_a_session) {
            let because = Because::Ground(Ground::FormSentBack);
            points.push(Point::of("response", "<form method=\"post\">".to_owned(), Side::Neither, because, places));
        }
        points
    }

    /// Whether the line sets the dropped cookie whose value stands in the answer.
    fn is_in_the_answer(&self, one: &Evidence<'_>) -> bool {
        let found = self.live_answer().and_then(|answered| answered.live.cookie_in_it.as_deref());
        let is_dropped = one.because == Because::Ground(Ground::CookieDropped);
        matches!(one.line, EvidenceLine::Response(_, value) if is_dropped && found == Some(cookies::name(value)))
    }

    /// Whether the line sets a cookie that is dropped and that opens no session.
    fn is_noise(&self, one: &Evidence<'_>) -> bool {
        let of_session = &self.asked.routed.route.session.cookies;
        let is_dropped = one.because == Because::Ground(Ground::CookieDropped);
        matches!(one.line, EvidenceLine::Response(_, value) if is_dropped && !cookies::is_any(of_session, cookies::name(value)))
    }

    /// The lines that tell visitors apart, or keep visitors from being told apart, where a lifetime is granted.
    fn of_visitor(&self) -> Vec<Point> {
        let (route, received) = (&self.asked.routed.route, &self.asked.request.head.fields);
        let mut points = Vec::new();
        let mut tell = |name: &[u8], value: &[u8], side, because| {
            let line = shown::field(name, value);
            points.push(Point::of("request", line, side, because, self.found.places));
        };
        match self.inspection.outcome {
            LookupOutcome::Pass(
                reason @ (Reason::PassAuthorization | Reason::PassCookie | Reason::PassSession | Reason::PassField),
            ) => {
                let because = Because::Reason(reason);
                match passing::refusal(received, route.visitor_rules(), self.identity.is_anonymous) {
                    Some(GrantRefusal::Session(name)) => {
                        tell(b"Cookie", &[name, b"="].concat(), Side::Against, because)
                    }
                    Some(GrantRefusal::Authorization) => {
                        let values = received.all("authorization");
                        values.for_each(|value| tell(b"Authorization", value, Side::Against, because));
                    }
                    Some(GrantRefusal::Cookie(name)) => {
                        let is_listed = passing::listed(received, route.visitor_rules()) == Some(name);
                        let because = if is_listed { Because::Ground(Ground::CookiePasses) } else { because };
                        tell(b"Cookie", &[name, b"="].concat(), Side::Against, because);
                    }
                    Some(GrantRefusal::Field(name)) => {
                        let lines = received.iter().filter(|(one, _)| one.eq_ignore_ascii_case(name));
                        lines.for_each(|(name, value)| tell(name, value, Side::Against, because));
                    }
                    None => {
                        // A cookie that the stored page deletes.
                        let name = brought(&self.inspection.nominated, received).unwrap_or_default();
                        tell(b"Cookie", &[name, b"="].concat(), Side::Against, because);
                    }
                }
            }
            LookupOutcome::Pass(_) | LookupOutcome::Refused(_) => {}
            _ if !route.policy.grant.is_granting() => {}
            _ => {
                for (name, value, ground) in passing::keyed_and_withheld(received, route.visitor_rules()) {
                    let side = if ground.is_in_key() { Side::Neither } else { Side::For };
                    tell(name, value, side, Because::Ground(ground));
                }
            }
        }
        points
    }

    /// The lines of the configuration that have a say before the cache is asked.
    fn of_route(&self) -> Vec<Point> {
        let route = &self.asked.routed.route;
        if let Some(by) = &self.asked.routed.refused_by {
            let (line, because) = (shown::target(&self.asked.target), Because::Reason(Reason::RefusedUrl));
            return vec![Point::of("configuration", line, Side::Against, because, &by.places)];
        }
        let query = self.asked.target.split_once('?').map(|(_, query)| query);
        let kept = self.asked.routed.target().split_once('?').map_or("", |(_, query)| query);
        let (ignore, sort) = (!route.query.ignore.is_empty(), route.query.sort);
        let dropped: Vec<&str> = match query {
            Some(query) if ignore => {
                query.split('&').filter(|pair| !kept.split('&').any(|kept| kept == *pair)).collect()
            }
            _ => Vec::new(),
        };
        let asked_path = self.asked.target.split('?').next().unwrap_or_default();
        let kept_path = self.asked.routed.target().split('?').next().unwrap_or_default();
        let mut points = Vec::new();
        let mut tell = |line: String, side, because| {
            points.push(Point::of("configuration", line, side, because, self.found.places));
        };
        if let Some(host) = &route.key.host {
            tell(printable(host), Side::Neither, Because::Ground(Ground::HostInKey));
        }
        if asked_path != kept_path && !route.key.path_parameters.is_empty() {
            tell(printable(asked_path), Side::For, Because::Ground(Ground::PathParametersStripped));
        }
        if !dropped.is_empty() {
            tell(printable(&dropped.join("&")), Side::For, Because::Ground(Ground::QueryIgnored));
        }
        if sort && query.is_some() {
            tell(String::new(), Side::For, Because::Ground(Ground::QuerySorted));
        }
        if let LookupOutcome::Pass(reason @ (Reason::PassUrl | Reason::PassCredentialInUrl)) = self.inspection.outcome {
            let list = (reason == Reason::PassUrl).then(|| list_of(&self.asked.routed));
            let because = match list {
                Some("session.logout") => Because::Ground(Ground::EndsSession),
                Some("fresh-links") => Because::Ground(Ground::LinkOfAVisitor),
                Some("session.harmless-urls") => Because::Ground(Ground::WritesIntoSession),
                Some("device-urls") if self.asked.routed.is_any(|| route.device_urls.mobile.iter()) => {
                    Because::Ground(Ground::ChoosesMobile)
                }
                Some("device-urls") => Because::Ground(Ground::ChoosesDesktop),
                Some("changes") => Because::Ground(Ground::ChangesPages),
                _ => Because::Reason(reason),
            };
            tell(shown::target(&self.asked.target), Side::Against, because);
        }
        if self.inspection.outcome == LookupOutcome::Pass(Reason::LeakGuard) {
            let pattern = self.guarded.as_ref().map_or("", |guarded| &guarded.pattern);
            tell(printable(pattern), Side::Against, Because::Reason(Reason::LeakGuard));
        }
        if self.inspection.outcome == LookupOutcome::Pass(Reason::PassRule) {
            let because =
                if route.pass { Because::Reason(Reason::PassRule) } else { Because::Ground(Ground::TwoReadings) };
            tell(String::new(), Side::Against, because);
        }
        points
    }
}
