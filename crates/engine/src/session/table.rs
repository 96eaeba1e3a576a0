//! What is known of sessions.
//!
//! Two things tell that one is anonymous: a cookie of the application's own (`session.anonymous-cookies`), or what it answers to a question with
//! that session's cookies (`probe`). A finding is believed for `session.anonymous-for`, and void at once when
//! a request of the session passes for another reason than the session itself: whatever makes somebody known (a form, a URL of a list, an
//! unknown cookie) does that. A question whose answer came while such a request was on its way counts for nothing (`serial`).
//!
//! A session may be one of several hosts and rules. A finding holds only where it was asked for, since another host may be another
//! application; but what makes somebody known anywhere voids what is known everywhere.
//!
//! What is not known means that a request passes. So it costs hits and nothing else that this is forgotten: it is in memory, bounded in
//! number, the least useful goes first, and all workers share it. Only a keyed hash of the cookies is kept.

use crate::options::SessionRules;
use kasoku_semantics::cookies;
use kasoku_semantics::reason::Reason;
use kasoku_wire::Fields;
use quick_cache::unsync;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Sessions of which something is known.
const SESSIONS_MAX: usize = 128 << 10;

/// Hosts and rules of which something is known about one session; of further ones the oldest goes.
const PLACES_MAX: usize = 3;

/// Parts of the table, each under a lock of its own.
const SHARDS: usize = 16;

/// All that is known.
pub(crate) struct Sessions {
    shards: [Mutex<unsync::Cache<[u64; 2], State>>; SHARDS],
    hashers: [RandomState; 2],
    /// The last that was given; of the whole table, so that a session which was forgotten meanwhile has none that it had before.
    serial: AtomicU64,
}

/// A session, and where it was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SessionId {
    /// The names and values of its cookies, hashed.
    cookies: [u64; 2],
    /// Host, and by which rules it is asked about, hashed.
    place: u64,
}

/// What is known of one.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// Requests on their way to the application.
    passing: u32,
    /// Another one with each thing that may have changed it.
    serial: u64,
    /// That of the last request that did more than read.
    busy_serial: u64,
    findings: [Option<Finding>; PLACES_MAX],
    /// Whether somebody asks the application at the moment.
    is_asked: bool,
    /// When it last did more than read pages, or was first seen.
    busy_ms: u64,
    /// Until when something is in it that pages show.
    stateful_until_ms: u64,
}

/// What the application said.
#[derive(Clone, Copy, Debug)]
struct Finding {
    is_anonymous: bool,
    at_ms: u64,
    /// See [`SessionId::place`].
    place: u64,
}

/// How a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) id: SessionId,
    /// Whether it is known to be nobody's.
    pub(crate) is_anonymous: bool,
    /// Whether it has long done nothing but read, and is not known to be somebody's.
    pub(crate) is_over: bool,
    /// Whether what is known is old enough to be asked for anew, before it is void.
    pub(crate) is_to_be_renewed: bool,
}

/// The duty to ask the application about a session, and to tell the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Duty {
    pub(crate) id: SessionId,
    serial: u64,
}

impl Default for Sessions {
    fn default() -> Self {
        let shard = || Mutex::new(unsync::Cache::new(SESSIONS_MAX / SHARDS));
        Self { shards: std::array::from_fn(|_| shard()), hashers: Default::default(), serial: AtomicU64::new(0) }
    }
}

impl Sessions {
    /// The session that a request to that host carries, if it carries one.
    pub(crate) fn of(&self, authority: &str, rules: &SessionRules, request: &Fields) -> Option<SessionId> {
        if rules.cookies.is_empty() || !cookies::has_any(&rules.cookies, request) {
            return None;
        }
        let of_session = |pair: &&[u8]| cookies::is_any(&rules.cookies, cookies::name(pair));
        let hash = |hasher: &RandomState| {
            let mut hasher = hasher.build_hasher();
            cookies::pairs(request).filter(of_session).for_each(|pair| pair.hash(&mut hasher));
            hasher.finish()
        };
        let [one, _] = &self.hashers;
        let place = one.hash_one((authority, &rules.cookies, &rules.probe));
        Some(SessionId { cookies: self.hashers.each_ref().map(hash), place })
    }

    /// How a session stands.
    pub(crate) fn standing(&self, id: SessionId, rules: &SessionRules, request: &Fields, now_ms: u64) -> Standing {
        let says_so = says_anonymous(rules, request);
        let state = self.shard(id).get(&id.cookies).copied();
        let finding = state.and_then(|state| state.valid(id, rules, now_ms));
        let is_stateful = state.is_some_and(|state| now_ms < state.stateful_until_ms);
        let is_nobodys = says_so.unwrap_or_else(|| finding.is_some_and(|finding| finding.is_anonymous));
        let is_anonymous = is_nobodys && !is_stateful;
        let is_somebodys = says_so == Some(false) || (rules.probe.is_some() && !is_anonymous);
        let is_over = !is_somebodys && state.is_some_and(|state| state.is_idle(0, rules, now_ms));
        let is_to_be_renewed = says_so.is_none()
            && finding.is_some_and(|finding| now_ms.saturating_sub(finding.at_ms) > millis(rules.anonymous_for) / 2);
        Standing { id, is_anonymous, is_over, is_to_be_renewed }
    }

    /// Whether it is still over when one of its requests is answered, which may have gone to the application itself.
    pub(crate) fn is_still_over(&self, id: SessionId, has_passed: bool, rules: &SessionRules, now_ms: u64) -> bool {
        let state = self.shard(id).get(&id.cookies).copied();
        let is_known_again = |state: &State| !has_passed && rules.probe.is_some() && state.of(id).is_none();
        state.is_some_and(|state| state.is_idle(u32::from(has_passed), rules, now_ms) && !is_known_again(&state))
    }

    /// A request of it is served in nobody's name: noted, so that it is known since when it has done nothing else.
    pub(crate) fn reads(&self, id: SessionId, now_ms: u64) {
        self.change(id, now_ms, |_| ());
    }

    /// A request of it goes to the application, for that reason, until the result is dropped.
    /// `stateful_for`: how long it then has something that pages show.
    pub(crate) fn passes(
        self: &Arc<Self>,
        id: SessionId,
        reason: Reason,
        stateful_for: Duration,
        now_ms: u64,
    ) -> Passing {
        let serial = self.next_serial();
        let place = (reason == Reason::PassSession).then_some(id.place);
        self.change(id, now_ms, |state| {
            state.stateful_until_ms = state.stateful_until_ms.max(now_ms.saturating_add(millis(stateful_for)));
            state.passing += 1;
            state.serial = serial;
            if reason != Reason::PassSession {
                state.busy_ms = now_ms;
                state.busy_serial = serial;
                state.findings = [None; PLACES_MAX];
            }
            state.may_be_somebodys(place);
        });
        Passing { sessions: self.clone(), id, place, serial, is_over: false }
    }

    /// After a request of it has been answered: the duty to ask about it, where there is something to ask and nobody does.
    pub(crate) fn duty(&self, id: SessionId, rules: &SessionRules, now_ms: u64) -> Option<Duty> {
        rules.probe.as_ref()?;
        self.change(id, now_ms, |state| {
            let is_known = state.valid(id, rules, now_ms).is_some_and(|finding| {
                !finding.is_anonymous || now_ms.saturating_sub(finding.at_ms) <= millis(rules.anonymous_for) / 2
            });
            let is_free = state.passing == 0 && now_ms >= state.stateful_until_ms;
            let is_due = is_free && !state.is_asked && !is_known;
            state.is_asked |= is_due;
            is_due.then_some(Duty { id, serial: state.serial })
        })
    }

    /// What the application said; `None`: nothing that can be understood.
    pub(crate) fn found(&self, duty: Duty, is_anonymous: Option<bool>, now_ms: u64) {
        self.change(duty.id, now_ms, |state| {
            state.is_asked = false;
            // That it is somebody's holds although its visitor has read on meanwhile: who clicks fast would be asked about for ever.
            let may_count = |is_anonymous: &bool| match is_anonymous {
                true => state.serial == duty.serial,
                false => state.busy_serial <= duty.serial,
            };
            if let Some(is_anonymous) = is_anonymous.filter(may_count) {
                state.find(Finding { is_anonymous, at_ms: now_ms, place: duty.id.place });
            }
        });
    }

    /// Something is in it that pages show, until then; or, where it takes the place of another, for as long as in that one.
    pub(super) fn is_opened(&self, id: SessionId, instead_of: Option<SessionId>, until_ms: u64, now_ms: u64) {
        let inherited = instead_of.and_then(|old| Some(self.shard(old).get(&old.cookies)?.stateful_until_ms));
        let until_ms = until_ms.max(inherited.unwrap_or(0));
        if until_ms > now_ms {
            self.change(id, now_ms, |state| state.stateful_until_ms = state.stateful_until_ms.max(until_ms));
        }
    }

    /// A request that ends it has been answered: where nobody can be asked, it is nobody's from now on. Unless another request of it was
    /// on its way at the same time (`!is_alone`), which may have logged in after that.
    pub(crate) fn ended(&self, id: SessionId, is_alone: bool, rules: &SessionRules, now_ms: u64) {
        self.change(id, now_ms, |state| {
            state.stateful_until_ms = now_ms;
            state.findings = [None; PLACES_MAX];
            if is_alone && rules.probe.is_none() {
                state.find(Finding { is_anonymous: true, at_ms: now_ms, place: id.place });
            }
        });
    }

    fn change<T>(&self, id: SessionId, now_ms: u64, change: impl FnOnce(&mut State) -> T) -> T {
        let mut shard = self.shard(id);
        if let Some(mut state) = shard.get_mut(&id.cookies) {
            return change(&mut state);
        }
        let mut state = State { busy_ms: now_ms, ..State::default() };
        let result = change(&mut state);
        shard.insert(id.cookies, state);
        result
    }

    fn next_serial(&self) -> u64 {
        self.serial.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
    }

    fn shard(&self, id: SessionId) -> MutexGuard<'_, unsync::Cache<[u64; 2], State>> {
        let [hash, _] = id.cookies;
        let [first, rest @ ..] = &self.shards;
        let shard = rest.get((hash % SHARDS as u64) as usize).unwrap_or(first);
        // What is behind the lock is whole between any two calls.
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether it has done nothing but read for long, with no more requests than these on their way.
    fn is_idle(&self, own: u32, rules: &SessionRules, now_ms: u64) -> bool {
        let is_long = now_ms.saturating_sub(self.busy_ms) >= millis(rules.expire_after);
        !rules.expire_after.is_zero() && self.passing <= own && is_long
    }

    /// What was found there.
    fn of(&self, id: SessionId) -> Option<Finding> {
        self.findings.iter().flatten().find(|finding| finding.place == id.place).copied()
    }

    /// Notes it, in the place of what was found there before.
    fn find(&mut self, finding: Finding) {
        let is_of = |one: &Option<Finding>| one.is_some_and(|one| one.place == finding.place);
        let oldest = |one: &&mut Option<Finding>| (!is_of(one), one.map(|one| one.at_ms));
        if let Some(one) = self.findings.iter_mut().min_by_key(oldest) {
            *one = Some(finding);
        }
    }

    /// That it is nobody's holds no more; with a place, there alone.
    fn may_be_somebodys(&mut self, place: Option<u64>) {
        let is_void = |one: &Finding| one.is_anonymous && place.is_none_or(|place| one.place == place);
        self.findings.iter_mut().for_each(|one| *one = one.filter(|one| !is_void(one)));
    }

    /// The same, for as long as it holds.
    fn valid(&self, id: SessionId, rules: &SessionRules, now_ms: u64) -> Option<Finding> {
        self.of(id).filter(|finding| now_ms.saturating_sub(finding.at_ms) < millis(rules.anonymous_for))
    }
}

/// What the cookies of a request say: `None` where there is none of those that tell. One that says otherwise outweighs all that say so.
pub(super) fn says_anonymous(rules: &SessionRules, request: &Fields) -> Option<bool> {
    if rules.anonymous_cookies.is_empty() {
        return None;
    }
    let said = cookies::pairs(request).filter_map(|pair| rules.says_anonymous(pair));
    said.reduce(|all, one| all && one)
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A request of a session on its way to the application.
pub(crate) struct Passing {
    sessions: Arc<Sessions>,
    pub(crate) id: SessionId,
    /// Where what is known is void behind it as well; none: everywhere.
    place: Option<u64>,
    serial: u64,
    is_over: bool,
}

impl Passing {
    /// It has been answered. Returns whether no other of its session was on its way at the same time.
    pub(super) fn ends(mut self) -> bool {
        self.is_over = true;
        self.settle()
    }

    fn settle(&self) -> bool {
        let serial = self.sessions.next_serial();
        let mut shard = self.sessions.shard(self.id);
        // Where it was forgotten meanwhile, nobody knows.
        let Some(mut state) = shard.get_mut(&self.id.cookies) else { return false };
        let is_alone = state.passing == 1 && state.serial == self.serial;
        state.passing = state.passing.saturating_sub(1);
        state.serial = serial;
        // Where it was forgotten meanwhile, somebody may have found something while this was on its way.
        state.may_be_somebodys(self.place);
        is_alone
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        if !self.is_over {
            self.settle();
        }
    }
}

#[cfg(test)]
mod tests;
