//! Records, per session cookie, the last request that may have changed the session.
//!
//! A log-in request may carry other cookies than the requests for pages: a cookie may be limited to a path, another host may get
//! fewer cookies, or other rules may name others. So the table notes for each cookie which request may have changed the session. A
//! finding about a session holds only while none of its cookies has been used for such a request.

use crate::session::contents::{SessionContents, ShownBy};
use crate::{FactId, FactTable};
use kasoku_semantics::cookies;
use kasoku_semantics::time::millis;
use kasoku_wire::Fields;
use smallvec::SmallVec;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Cookies that the table remembers.
const COOKIES_MAX: usize = 128 << 10;

/// Some cookies with their values, hashed.
pub type CookieIds = SmallVec<[FactId; 2]>;

/// What is known of each cookie.
pub(crate) struct CookieActivities {
    known: FactTable<CookieActivity>,
    /// The last serial that was given to a change or a finding. A later one is larger.
    serial: AtomicU64,
}

#[derive(Clone, Copy, Debug, Default)]
struct CookieActivity {
    /// Requests on their way that may change the session.
    passing: u32,
    /// The serial of the last change, or of the first sight of the cookie: an earlier change may have been evicted.
    serial: u64,
    /// When the last such request began, or when the cookie was first seen.
    busy_ms: Option<u64>,
    /// The content of the session that pages show.
    states: SessionContents,
    /// Until when the application may still be working on a request whose answer Kasoku no longer waits for.
    unsure_until_ms: u64,
}

/// What is known of several cookies together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CombinedActivity {
    /// Whether each of the cookies is known.
    pub(crate) is_known: bool,
    pub(crate) passing: u32,
    pub(crate) serial: u64,
    pub(crate) busy_ms: u64,
    pub(crate) states: SessionContents,
    pub(crate) unsure_until_ms: u64,
}

impl CookieActivities {
    pub(crate) fn new() -> Self {
        Self { known: FactTable::with_room_for(COOKIES_MAX), serial: AtomicU64::new(0) }
    }

    pub(crate) fn next_serial(&self) -> u64 {
        self.serial.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
    }

    pub(crate) fn of(&self, ids: &[FactId], now_ms: u64) -> CombinedActivity {
        let states = SessionContents::default();
        let none = CombinedActivity { is_known: true, passing: 0, serial: 0, busy_ms: 0, states, unsure_until_ms: 0 };
        ids.iter().fold(none, |mut all, id| {
            let Some(one) = self.known.get(*id) else { return CombinedActivity { is_known: false, ..all } };
            all.states.join(&one.states, now_ms);
            CombinedActivity {
                is_known: all.is_known,
                states: all.states,
                passing: all.passing.max(one.passing),
                serial: all.serial.max(one.serial),
                busy_ms: all.busy_ms.max(one.busy_ms.unwrap_or(0)),
                unsure_until_ms: all.unsure_until_ms.max(one.unsure_until_ms),
            }
        })
    }

    /// Notes a request with these cookies, so that it is known since when no change was made with them.
    pub(crate) fn see(&self, ids: &[FactId], now_ms: u64) {
        self.change(ids, now_ms, |_| ());
    }

    /// A request with these cookies that may change the session goes to the application.
    pub(crate) fn begin(&self, ids: &[FactId], serial: u64, now_ms: u64) {
        self.change(ids, now_ms, |one| {
            one.passing += 1;
            one.serial = serial;
            one.busy_ms = Some(now_ms);
        });
    }

    /// The request has been answered. Returns whether no other was on its way at the same time.
    pub(crate) fn end(&self, ids: &[FactId], begun: u64, serial: u64) -> bool {
        let end = |one: &mut CookieActivity| {
            let is_alone = one.passing == 1 && one.serial == begun;
            one.passing = one.passing.saturating_sub(1);
            one.serial = serial;
            is_alone
        };
        // If an entry was evicted meanwhile, other requests may have been on their way unnoticed.
        ids.iter().filter(|id| self.known.change_known(**id, end) != Some(true)).count() == 0
    }

    /// The session has content until `until_ms` at least, shown by these pages.
    pub(crate) fn is_stateful(&self, ids: &[FactId], shown_by: ShownBy, until_ms: u64, now_ms: u64) {
        if until_ms > now_ms {
            self.change(ids, now_ms, |one| one.states.add(shown_by, until_ms, now_ms));
        }
    }

    /// The session takes over the content of another session.
    pub(crate) fn inherits(&self, ids: &[FactId], states: &SessionContents, now_ms: u64) {
        self.change(ids, now_ms, |one| one.states.join(states, now_ms));
    }

    /// The session has no content any more.
    pub(crate) fn is_emptied(&self, ids: &[FactId], now_ms: u64) {
        self.change(ids, now_ms, |one| one.states = SessionContents::default());
    }

    /// The application may still be working on a request, for `duration`.
    pub(crate) fn is_unsure(&self, ids: &[FactId], duration: Duration, now_ms: u64) {
        let until_ms = now_ms.saturating_add(millis(duration));
        self.change(ids, now_ms, |one| one.unsure_until_ms = one.unsure_until_ms.max(until_ms));
    }

    fn change(&self, ids: &[FactId], now_ms: u64, change: impl Fn(&mut CookieActivity)) {
        for id in ids {
            self.known.change(*id, |one| {
                if one.busy_ms.is_none() {
                    (one.busy_ms, one.serial) = (Some(now_ms), self.next_serial());
                }
                change(one);
            });
        }
    }

    /// Forgets everything.
    #[cfg(test)]
    pub(crate) fn clear(&self) {
        self.known.clear();
    }
}

/// The cookies of a request whose names fit one of these globs.
pub(crate) fn ids(globs: &[String], request: &Fields, hash: impl Fn(&[u8]) -> FactId) -> CookieIds {
    let of_session = |pair: &&[u8]| cookies::is_any(globs, cookies::name(pair));
    cookies::pairs(request).filter(of_session).map(hash).collect()
}
