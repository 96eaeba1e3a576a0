//! The table of sessions: which are known to be anonymous, and since when.
//!
//! Two things tell that one is anonymous: a cookie of the application's own (`session.anonymous-cookies`), or what it answers to a question with
//! that session's cookies (`probe`). A finding is believed for `session.anonymous-for`, and void at once when
//! a request of the session passes for another reason than the session itself: whatever makes somebody known (a form, a URL of a list, an
//! unknown cookie) does that. A question whose answer came while such a request was on its way counts for nothing (`serial`).
//!
//! A session may be one of several hosts and rules. A finding holds only where it was asked for, since another host may be another
//! application; but what makes somebody known anywhere voids what is known everywhere, by each of its cookies ([`cookie_activity`]).
//!
//! A request with an unknown session passes, so a forgotten session costs hits and nothing else. The table is in memory, bounded, shared by
//! all workers, and evicts the least useful entries. It keeps only a keyed hash of the cookies.

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

/// Sessions of which something is known.
const SESSIONS_MAX: usize = 128 << 10;

/// Hosts and rules of which something is known about one session; of further ones the oldest goes.
const PLACES_MAX: usize = 3;

/// Cookies of one session; of one that has more, nothing is found.
const COOKIES_MAX: usize = 4;

/// How long an application may still be at a request for whose answer nobody waits any more: PHP gives a script that long.
const UNSURE_FOR: Duration = Duration::from_secs(30);

/// All that is known.
pub struct Sessions {
    states: FactTable<SessionState>,
    activities: CookieActivities,
    hashers: [RandomState; 2],
}

/// Where a session is met: another host, or another application, may know nothing of it.
#[derive(Clone, Copy, Debug)]
pub struct SessionPlace<'a> {
    /// Host and port.
    pub authority: &'a str,
    /// Stands for which application is asked about sessions, and how its answers are understood.
    pub rules: u64,
}

/// A session, and where it was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionId {
    /// The names and values of its cookies, hashed together.
    all: FactId,
    /// Each of them.
    cookies: [FactId; COOKIES_MAX],
    /// How many there are, of which [`COOKIES_MAX`] are above.
    count: usize,
    /// Host, by which rules it is asked about, and whom, hashed.
    place: u64,
}

/// What is known of one.
#[derive(Clone, Copy, Debug, Default)]
struct SessionState {
    /// Requests on their way to the application.
    passing: u32,
    /// Another one with each of them that begins or ends.
    serial: u64,
    findings: [Option<ProbeResult>; PLACES_MAX],
    /// Whether somebody asks the application at the moment.
    is_asked: bool,
}

/// What the application said.
#[derive(Clone, Copy, Debug)]
struct ProbeResult {
    is_anonymous: bool,
    at_ms: u64,
    /// That of the question.
    serial: u64,
    /// See [`SessionId::place`].
    place: u64,
}

/// How a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionStatus {
    /// The session.
    pub id: SessionId,
    /// Whether it is known to be nobody's.
    pub is_anonymous: bool,
    /// Whether it is known to be somebody's, and nothing has happened since.
    pub is_identified: bool,
    /// Whether it has long done nothing but read, and is not known to be somebody's.
    pub is_over: bool,
    /// Whether what is known is old enough to be asked for anew, before it is void.
    pub is_to_be_renewed: bool,
}

/// The duty to ask the application about a session, and to tell the answer.
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
    /// The session that a request to that host carries, if it carries one.
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

    /// How a session stands for a page that shows what is in it of these kinds.
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
        let is_anonymous_page = says_so.unwrap_or_else(|| finding.is_some_and(|finding| finding.is_anonymous));
        let is_anonymous = is_anonymous_page && !is_stateful;
        let is_identified =
            says_so.map_or_else(|| finding.is_some_and(|finding| !finding.is_anonymous), |says_so| !says_so);
        let may_be_identified = says_so == Some(false) || (rules.probe.is_some() && !is_anonymous);
        let is_over = !may_be_identified && self.is_idle(id, &together, 0, rules, now_ms);
        let is_to_be_renewed = says_so.is_none()
            && finding.is_some_and(|finding| now_ms.saturating_sub(finding.at_ms) > millis(rules.anonymous_for) / 2);
        SessionStatus { id, is_anonymous, is_identified, is_over, is_to_be_renewed }
    }

    /// Whether it is still over when one of its requests is answered, which may have gone to the application itself.
    pub fn is_still_over(&self, id: SessionId, has_passed: bool, rules: &SessionRules, now_ms: u64) -> bool {
        let together = self.activities.of(id.cookies(), now_ms);
        let is_known_again = !has_passed
            && rules.probe.is_some()
            && self.states.get(id.all).and_then(|state| state.valid(id, &together, rules, now_ms)).is_none();
        self.is_idle(id, &together, u32::from(has_passed), rules, now_ms) && !is_known_again
    }

    /// Whether it has done nothing but read for long, with no more requests than these on their way.
    fn is_idle(&self, id: SessionId, together: &CombinedActivity, own: u32, rules: &SessionRules, now_ms: u64) -> bool {
        let is_long = now_ms.saturating_sub(together.busy_ms) >= millis(rules.expire_after);
        let passing = self.states.get(id.all).map_or(0, |state| state.passing).max(together.passing);
        !rules.expire_after.is_zero() && together.is_known && passing <= own && is_long
    }

    /// A request of it is served anonymously: noted, so that it is known since when it has done nothing else.
    pub fn reads(&self, id: SessionId, now_ms: u64) {
        self.activities.see(id.cookies(), now_ms);
    }

    /// A request goes to the application for its visitor alone, until the result is dropped. `session`: the one that it carries, where its
    /// rules know one.
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

    /// Something is in it that these pages show, for so long.
    pub fn is_stateful(&self, id: SessionId, shown_by: ShownBy, duration: Duration, now_ms: u64) {
        self.activities.is_stateful(id.cookies(), shown_by, now_ms.saturating_add(millis(duration)), now_ms);
    }

    /// After a request of it has been answered: the duty to ask about it, where there is something to ask and nobody does.
    pub fn ticket(&self, id: SessionId, rules: &SessionRules, now_ms: u64) -> Option<ProbeTicket> {
        if rules.probe.is_none() || id.count > COOKIES_MAX {
            return None;
        }
        self.activities.see(id.cookies(), now_ms);
        // Whatever begins or ends from now on has a later one.
        let serial = self.activities.next_serial();
        let together = self.activities.of(id.cookies(), now_ms);
        // What all pages show makes them all pass, whatever would be found.
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

    /// What the application said; `None`: nothing that can be understood.
    pub fn found(&self, ticket: ProbeTicket, is_anonymous: Option<bool>, now_ms: u64) {
        let ProbeTicket { id, serial } = ticket;
        let together = self.activities.of(id.cookies(), now_ms);
        let has_changed_nothing = together.is_known && together.serial < serial;
        // Of what was forgotten meanwhile, nobody knows what else has happened.
        self.states.change_known(id.all, |state| {
            state.is_asked = false;
            // That it is somebody's holds although its visitor has read on meanwhile: who clicks fast would be asked about for ever.
            let may_count = |is_anonymous: &bool| has_changed_nothing && (!is_anonymous || state.serial < serial);
            if let Some(is_anonymous) = is_anonymous.filter(may_count) {
                state.find(ProbeResult { is_anonymous, at_ms: now_ms, serial, place: id.place });
            }
        });
    }

    /// It takes the place of another: what was in that one is in it.
    pub fn replaces(&self, id: SessionId, old: SessionId, now_ms: u64) {
        let states = self.activities.of(old.cookies(), now_ms).states;
        self.activities.inherits(id.cookies(), &states, now_ms);
    }

    /// It was opened for a visitor who was nobody, by an answer that makes nobody of anybody: so it is nobody's, and nobody need ask.
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

    /// A request that ends it has been answered: where nobody can be asked, it is nobody's from now on. Unless another request of it was
    /// on its way at the same time (`!is_alone`), which may have logged in after that.
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
    /// What was found there, for as long as it holds.
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

    /// Notes it, in the place of what was found there before.
    fn find(&mut self, finding: ProbeResult) {
        let is_of = |one: &Option<ProbeResult>| one.is_some_and(|one| one.place == finding.place);
        let oldest = |one: &&mut Option<ProbeResult>| (!is_of(one), one.map(|one| one.at_ms));
        if let Some(one) = self.findings.iter_mut().min_by_key(oldest) {
            *one = Some(finding);
        }
    }

    /// That it is nobody's holds no more, there alone where it `is_reading`.
    fn may_be_identified(&mut self, place: u64, is_reading: bool) {
        let is_void = |one: &ProbeResult| one.is_anonymous && (!is_reading || one.place == place);
        self.findings.iter_mut().for_each(|one| *one = one.filter(|one| !is_void(one)));
    }
}

/// What the cookies of a request say: `None` where there is none of those that tell. One that says otherwise outweighs all that say so.
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
    /// It reads: it passes for the session alone.
    Reads,
    /// It may make somebody of it, by these cookies: log in, log out.
    Changes(CookieIds),
    /// By its URL it changes nothing that shared pages show, and makes nobody of anybody. Whether that is so, its answer tells: if not, it counts as a
    /// change by these cookies.
    Harmless(CookieIds),
}

/// A request on its way to the application for its visitor alone.
pub struct PassingRequest {
    sessions: Arc<Sessions>,
    session: Option<SessionId>,
    effect: SessionEffect,
    /// That of its beginning; 0 while it counts for nothing.
    serial: u64,
    begun_ms: u64,
    is_over: bool,
}

impl PassingRequest {
    /// It has been answered. Returns whether no other of its session was on its way at the same time.
    pub fn ends(mut self) -> bool {
        self.is_over = true;
        self.settle()
    }

    /// Its answer is not that of a harmless request.
    pub fn turns_out_to_change(&mut self, now_ms: u64) {
        if let SessionEffect::Harmless(cookies) = &mut self.effect {
            self.effect = SessionEffect::Changes(std::mem::take(cookies));
            self.counts(now_ms);
        }
    }

    /// Nobody waits for its answer any more, and the application may still be at it.
    pub fn leaves(mut self, now_ms: u64) {
        self.turns_out_to_change(now_ms);
        if let SessionEffect::Changes(cookies) = &self.effect {
            self.sessions.activities.is_unsure(cookies, UNSURE_FOR, now_ms);
        }
        if let Some(id) = self.session {
            self.sessions.activities.is_unsure(id.cookies(), UNSURE_FOR, now_ms);
        }
    }

    /// From now on what was found before does not hold.
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
            // Where it was forgotten meanwhile, somebody may have found something while this was on its way.
            state.may_be_identified(id.place, effect.is_reading());
            is_alone
        });
        // Where it was forgotten meanwhile, nobody knows.
        is_alone && settled.unwrap_or(false)
    }
}

impl SessionEffect {
    fn is_reading(&self) -> bool {
        !matches!(self, Self::Changes(_))
    }

    /// The cookies by which it changes something.
    fn changing(&self) -> &[FactId] {
        if let Self::Changes(cookies) = self { cookies } else { &[] }
    }
}

impl Drop for PassingRequest {
    fn drop(&mut self) {
        if !self.is_over {
            // Its answer was never seen.
            self.turns_out_to_change(self.begun_ms);
            self.settle();
        }
    }
}

#[cfg(test)]
mod tests;
