//! The table of sessions: which are known to be anonymous, and since when.
//!
//! Kasoku learns that a session is anonymous in two ways: by a cookie of the application (`session.anonymous-cookies`), or by a
//! probe, a request with that session's cookies. A finding holds for `session.anonymous-for`. It is void at once when a request of
//! the session passes for another reason than the session itself, since only such a request can log in a visitor (a form, a listed
//! URL, an unknown cookie). A probe that overlaps with such a request counts for nothing (`serial`).
//!
//! Several hosts and rules may use the same session. A finding holds only for the host and rules that were asked, since another
//! host may be another application. But a log-in at any of them voids the findings of all, by each of the session's cookies
//! (`cookie_activity`).
//!
//! A request with an unknown session passes, so a forgotten session only costs hits. The table is in memory, bounded, and shared by
//! all workers. It evicts the least useful entries, and keeps only a keyed hash of the cookies.

use crate::session::contents::ShownBy;
use crate::session::cookie_activity::{self, CombinedActivity, CookieActivities, CookieIds};
use crate::{FactId, FactTable};
use kasoku_options::SessionRules;
use kasoku_semantics::cookies;
use kasoku_semantics::time::millis;
use kasoku_wire::Fields;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

/// Sessions that the table remembers.
const SESSIONS_MAX: usize = 128 << 10;

/// Hosts and rules for which findings about one session are kept. A further one replaces the oldest.
const PLACES_MAX: usize = 3;

/// Cookies of one session. A session with more cookies gets no finding.
const COOKIES_MAX: usize = 4;

/// How long the application may go on working on a request whose answer Kasoku no longer waits for: PHP's default time limit of a
/// script.
const UNSURE_FOR: Duration = Duration::from_secs(30);

/// All sessions that are known.
pub struct Sessions {
    states: FactTable<SessionState>,
    activities: CookieActivities,
    hashers: [RandomState; 2],
}

/// Where a session is used: another host, or another application, may know nothing of the session.
#[derive(Clone, Copy, Debug)]
pub struct SessionPlace<'a> {
    /// Host and port.
    pub authority: &'a str,
    /// Stands for which application is asked about sessions, and how its answers are understood.
    pub rules: u64,
}

/// A session, and the place where it was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionId {
    /// The names and values of its cookies, hashed together.
    all: FactId,
    /// Each cookie, hashed.
    cookies: [FactId; COOKIES_MAX],
    /// How many cookies the request has. The first [`COOKIES_MAX`] of them are above.
    count: usize,
    /// The [`SessionPlace`], hashed.
    place: u64,
}

/// What is known of one session.
#[derive(Clone, Copy, Debug, Default)]
struct SessionState {
    /// Requests on their way to the application.
    passing: u32,
    /// The serial of the last request of the session that began or ended.
    serial: u64,
    findings: [Option<ProbeResult>; PLACES_MAX],
    /// Whether a probe of the session is on its way.
    is_asked: bool,
}

/// What the application said of a session.
#[derive(Clone, Copy, Debug)]
struct ProbeResult {
    is_anonymous: bool,
    at_ms: u64,
    /// The serial of the probe.
    serial: u64,
    /// See [`SessionId::place`].
    place: u64,
}

/// What is known of a session when a request uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionStatus {
    /// The session.
    pub id: SessionId,
    /// Whether the session is known to be anonymous, and has no content that the requested page shows.
    pub is_anonymous: bool,
    /// Whether the application has said that the session is not anonymous, and that still holds.
    pub is_identified: bool,
    /// Whether the session has only read for `expire_after`, and is anonymous as far as the application can tell.
    pub is_over: bool,
    /// Whether the finding is old enough to be renewed before it becomes void.
    pub is_to_be_renewed: bool,
}

/// The caller's duty to ask the application about a session, and to report the answer ([`Sessions::report_probe`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeTicket {
    /// The session.
    pub id: SessionId,
    serial: u64,
}

impl Default for Sessions {
    fn default() -> Self {
        Self {
            states: FactTable::with_room_for(SESSIONS_MAX),
            activities: CookieActivities::new(),
            hashers: Default::default(),
        }
    }
}

impl Sessions {
    /// The session of a request to `place`; `None`: it carries none.
    pub fn of(&self, place: SessionPlace<'_>, rules: &SessionRules, request: &Fields) -> Option<SessionId> {
        if rules.cookies.is_empty() {
            return None;
        }
        let found = self.cookies(&rules.cookies, request);
        if found.is_empty() {
            return None;
        }
        let mut cookies = [FactId::default(); COOKIES_MAX];
        cookies.iter_mut().zip(&found).for_each(|(place, id)| *place = *id);
        let all = match &*found {
            [only] => *only,
            several => self.hashers.each_ref().map(|hasher| hasher.hash_one(several)),
        };
        let [one, _] = &self.hashers;
        let place = one.hash_one((place.authority, place.rules));
        Some(SessionId { all, cookies, count: found.len(), place })
    }

    /// The cookies of a request whose names fit one of these globs.
    pub fn cookies(&self, globs: &[String], request: &Fields) -> CookieIds {
        cookie_activity::ids(globs, request, |pair| self.hashers.each_ref().map(|hasher| hasher.hash_one(pair)))
    }

    /// What is known of a session, for a page. `shows` says whether the page shows a kind of the session's content.
    pub fn status(
        &self,
        id: SessionId,
        rules: &SessionRules,
        request: &Fields,
        now_ms: u64,
        shows: impl FnMut(ShownBy) -> bool,
    ) -> SessionStatus {
        let says_so = says_anonymous(rules, request);
        let together = self.activities.of(id.cookies(), now_ms);
        let finding = self.states.get(id.all).and_then(|state| state.valid(id, &together, rules, now_ms));
        let is_stateful = together.states.is_shown(now_ms, shows);
        let is_known_anonymous = says_so.unwrap_or_else(|| finding.is_some_and(|finding| finding.is_anonymous));
        let is_anonymous = is_known_anonymous && !is_stateful;
        let is_identified =
            says_so.map_or_else(|| finding.is_some_and(|finding| !finding.is_anonymous), |says_so| !says_so);
        let may_be_identified = says_so == Some(false) || (rules.probe.is_some() && !is_anonymous);
        let is_over = !may_be_identified && self.is_idle(id, &together, 0, rules, now_ms);
        let is_to_be_renewed = says_so.is_none()
            && finding.is_some_and(|finding| now_ms.saturating_sub(finding.at_ms) > millis(rules.anonymous_for) / 2);
        SessionStatus { id, is_anonymous, is_identified, is_over, is_to_be_renewed }
    }

    /// Whether a session that was over still is, when one of its requests is answered. `has_passed`: the application got that
    /// request.
    pub fn is_still_over(&self, id: SessionId, has_passed: bool, rules: &SessionRules, now_ms: u64) -> bool {
        let together = self.activities.of(id.cookies(), now_ms);
        let is_known_again = !has_passed
            && rules.probe.is_some()
            && self.states.get(id.all).and_then(|state| state.valid(id, &together, rules, now_ms)).is_none();
        self.is_idle(id, &together, u32::from(has_passed), rules, now_ms) && !is_known_again
    }

    /// Whether the session has only read for `expire_after`, with at most `own` requests on their way.
    fn is_idle(&self, id: SessionId, together: &CombinedActivity, own: u32, rules: &SessionRules, now_ms: u64) -> bool {
        let is_long = now_ms.saturating_sub(together.busy_ms) >= millis(rules.expire_after);
        let passing = self.states.get(id.all).map_or(0, |state| state.passing).max(together.passing);
        !rules.expire_after.is_zero() && together.is_known && passing <= own && is_long
    }

    /// Notes that a request of the session is served anonymously, so that it is known since when the session only reads.
    pub fn note_read(&self, id: SessionId, now_ms: u64) {
        self.activities.see(id.cookies(), now_ms);
    }

    /// Notes that a request goes to the application for its client alone, until the result is dropped. `session`: the session that
    /// it carries, if its rules know one.
    pub fn passes(self: &Arc<Self>, session: Option<SessionId>, effect: SessionEffect, now_ms: u64) -> PassingRequest {
        let mut passing =
            PassingRequest { sessions: self.clone(), session, effect, serial: 0, begun_ms: now_ms, is_over: false };
        if let Some(id) = session {
            self.activities.see(id.cookies(), now_ms);
            self.states.change(id.all, |state| state.passing += 1);
        }
        if !matches!(passing.effect, SessionEffect::Harmless(_)) {
            passing.counts(now_ms);
        }
        passing
    }

    /// The session has content for `duration`, which these pages show.
    pub fn is_stateful(&self, id: SessionId, shown_by: ShownBy, duration: Duration, now_ms: u64) {
        self.activities.is_stateful(id.cookies(), shown_by, now_ms.saturating_add(millis(duration)), now_ms);
    }

    /// The duty to ask about a session, after one of its requests has been answered. `None`: there is nothing to ask, or a probe is
    /// on its way.
    pub fn ticket(&self, id: SessionId, rules: &SessionRules, now_ms: u64) -> Option<ProbeTicket> {
        if rules.probe.is_none() || id.count > COOKIES_MAX {
            return None;
        }
        self.activities.see(id.cookies(), now_ms);
        // A request that begins or ends from now on has a larger serial.
        let serial = self.activities.next_serial();
        let together = self.activities.of(id.cookies(), now_ms);
        // Content that all pages show makes every request pass, whatever a probe finds.
        let is_of_use = !together.states.is_shown(now_ms, |_| false);
        let may_be_asked = together.passing == 0 && is_of_use && now_ms >= together.unsure_until_ms;
        self.states.change(id.all, |state| {
            let is_known = state.valid(id, &together, rules, now_ms).is_some_and(|finding| {
                !finding.is_anonymous || now_ms.saturating_sub(finding.at_ms) <= millis(rules.anonymous_for) / 2
            });
            let is_due = may_be_asked && state.passing == 0 && !state.is_asked && !is_known;
            state.is_asked |= is_due;
            is_due.then_some(ProbeTicket { id, serial })
        })
    }

    /// Takes the application's answer to a probe; `None`: it could not be understood.
    pub fn report_probe(&self, ticket: ProbeTicket, is_anonymous: Option<bool>, now_ms: u64) {
        let ProbeTicket { id, serial } = ticket;
        let together = self.activities.of(id.cookies(), now_ms);
        let has_changed_nothing = together.is_known && together.serial < serial;
        // If the entry was evicted meanwhile, other requests may have changed the session unnoticed, so the answer does not count.
        self.states.change_known(id.all, |state| {
            state.is_asked = false;
            // "Not anonymous" counts although the visitor has read on meanwhile: otherwise Kasoku would probe a visitor who clicks
            // fast for ever.
            let may_count = |is_anonymous: &bool| has_changed_nothing && (!is_anonymous || state.serial < serial);
            if let Some(is_anonymous) = is_anonymous.filter(may_count) {
                state.find(ProbeResult { is_anonymous, at_ms: now_ms, serial, place: id.place });
            }
        });
    }

    /// The session takes the place of `old`, and takes over its content.
    pub fn replaces(&self, id: SessionId, old: SessionId, now_ms: u64) {
        let states = self.activities.of(old.cookies(), now_ms).states;
        self.activities.inherits(id.cookies(), &states, now_ms);
    }

    /// The harmless request of an anonymous visitor opened the session: the session is anonymous, and needs no probe.
    pub fn is_born_anonymous(&self, id: SessionId, now_ms: u64) {
        if id.count > COOKIES_MAX {
            return;
        }
        self.activities.see(id.cookies(), now_ms);
        let serial = self.activities.next_serial();
        self.states.change(id.all, |state| {
            state.find(ProbeResult { is_anonymous: true, at_ms: now_ms, serial, place: id.place })
        });
    }

    /// The application has answered a request that ends the session. Without a probe, the session is anonymous from now on, unless
    /// another of its requests was on its way at the same time (`!is_alone`): that one may have logged in later.
    pub fn ended(&self, id: SessionId, is_alone: bool, rules: &SessionRules, now_ms: u64) {
        self.activities.is_emptied(id.cookies(), now_ms);
        let serial = self.activities.next_serial();
        self.states.change(id.all, |state| {
            state.findings = [None; PLACES_MAX];
            if is_alone && rules.probe.is_none() && id.count <= COOKIES_MAX {
                state.find(ProbeResult { is_anonymous: true, at_ms: now_ms, serial, place: id.place });
            }
        });
    }
}

impl SessionId {
    fn cookies(&self) -> &[FactId] {
        self.cookies.get(..self.count).unwrap_or(&self.cookies)
    }
}

impl SessionState {
    /// The finding for the place of `id`, if it still holds.
    fn valid(
        &self,
        id: SessionId,
        together: &CombinedActivity,
        rules: &SessionRules,
        now_ms: u64,
    ) -> Option<ProbeResult> {
        let finding = self.findings.iter().flatten().find(|finding| finding.place == id.place)?;
        let has_changed_nothing = together.is_known && together.serial < finding.serial;
        let is_young = now_ms.saturating_sub(finding.at_ms) < millis(rules.anonymous_for);
        (has_changed_nothing && is_young).then_some(*finding)
    }

    /// Stores a finding in place of the one for the same place, or else of the oldest.
    fn find(&mut self, finding: ProbeResult) {
        let is_of = |one: &Option<ProbeResult>| one.is_some_and(|one| one.place == finding.place);
        let oldest = |one: &&mut Option<ProbeResult>| (!is_of(one), one.map(|one| one.at_ms));
        if let Some(one) = self.findings.iter_mut().min_by_key(oldest) {
            *one = Some(finding);
        }
    }

    /// Voids findings that the session is anonymous: those of `place`, and unless the request `is_reading`, those of all places.
    fn may_be_identified(&mut self, place: u64, is_reading: bool) {
        let is_void = |one: &ProbeResult| one.is_anonymous && (!is_reading || one.place == place);
        self.findings.iter_mut().for_each(|one| *one = one.filter(|one| !is_void(one)));
    }
}

/// What the cookies of a request say (`session.anonymous-cookies`); `None`: none of them says anything. One cookie that says
/// "known" outweighs all that say "anonymous".
pub fn says_anonymous(rules: &SessionRules, request: &Fields) -> Option<bool> {
    if rules.anonymous_cookies.is_empty() {
        return None;
    }
    let said = cookies::pairs(request).filter_map(|pair| rules.says_anonymous(pair));
    said.reduce(|all, one| all && one)
}

/// What a request that passes may do to its session.
#[derive(Debug)]
pub enum SessionEffect {
    /// It can't log a visitor in or out: it passes for its session alone, for example.
    Reads,
    /// It may log a visitor in or out, by these cookies.
    Changes(CookieIds),
    /// By its URL, it changes nothing that shared pages show, and logs no visitor in. Its answer confirms that; if not, the request
    /// counts as a change by these cookies.
    Harmless(CookieIds),
}

/// A request on its way to the application for its visitor alone.
pub struct PassingRequest {
    sessions: Arc<Sessions>,
    session: Option<SessionId>,
    effect: SessionEffect,
    /// The serial of its beginning; 0 while it counts as no change.
    serial: u64,
    begun_ms: u64,
    is_over: bool,
}

impl PassingRequest {
    /// The application has answered. Returns whether no other request of the session was on its way at the same time.
    pub fn ends(mut self) -> bool {
        self.is_over = true;
        self.settle()
    }

    /// The answer is not that of a harmless request, so the request counts as a change.
    pub fn turns_out_to_change(&mut self, now_ms: u64) {
        if let SessionEffect::Harmless(cookies) = &mut self.effect {
            self.effect = SessionEffect::Changes(std::mem::take(cookies));
            self.counts(now_ms);
        }
    }

    /// Kasoku no longer waits for the answer, but the application may still be working on it.
    pub fn leaves(mut self, now_ms: u64) {
        self.turns_out_to_change(now_ms);
        if let SessionEffect::Changes(cookies) = &self.effect {
            self.sessions.activities.is_unsure(cookies, UNSURE_FOR, now_ms);
        }
        if let Some(id) = self.session {
            self.sessions.activities.is_unsure(id.cookies(), UNSURE_FOR, now_ms);
        }
    }

    /// Voids what was found before.
    fn counts(&mut self, now_ms: u64) {
        let Self { sessions, session, effect, serial, .. } = self;
        *serial = sessions.activities.next_serial();
        sessions.activities.begin(effect.changing(), *serial, now_ms);
        if let Some(id) = session {
            sessions.states.change(id.all, |state| {
                state.serial = *serial;
                state.may_be_identified(id.place, effect.is_reading());
            });
        }
    }

    fn settle(&self) -> bool {
        let Self { sessions, session, effect, .. } = self;
        if let SessionEffect::Harmless(_) = effect {
            if let Some(id) = session {
                sessions.states.change_known(id.all, |state| state.passing = state.passing.saturating_sub(1));
            }
            return false;
        }
        let serial = sessions.activities.next_serial();
        let is_alone = sessions.activities.end(effect.changing(), self.serial, serial);
        let Some(id) = session else { return is_alone };
        let settled = sessions.states.change_known(id.all, |state| {
            let is_alone = state.passing == 1 && state.serial == self.serial;
            state.passing = state.passing.saturating_sub(1);
            state.serial = serial;
            // If the session was evicted and noted again meanwhile, its new entry may have a finding from the time of this request.
            state.may_be_identified(id.place, effect.is_reading());
            is_alone
        });
        // Without an entry, it is unknown whether other requests were on their way.
        is_alone && settled.unwrap_or(false)
    }
}

impl SessionEffect {
    fn is_reading(&self) -> bool {
        !matches!(self, Self::Changes(_))
    }

    /// The cookies of a request that may log a visitor in or out.
    fn changing(&self) -> &[FactId] {
        if let Self::Changes(cookies) = self { cookies } else { &[] }
    }
}

impl Drop for PassingRequest {
    fn drop(&mut self) {
        if !self.is_over {
            // The answer was never seen, so the request counts as a change.
            self.turns_out_to_change(self.begun_ms);
            self.settle();
        }
    }
}

#[cfg(test)]
mod tests;
