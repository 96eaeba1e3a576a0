//! What was last done with each cookie of a session.
//!
//! A log-in may come with other cookies than the pages that are read: one of them is limited to a path, another host is sent fewer, or other
//! rules name others. So what may have changed a session is noted for each of its cookies, and what is known of the session holds only
//! while none of them has been used for such a thing.

use super::states::{ShownBy, States};
use crate::clock::millis;
use crate::known::{Id, Known};
use kasoku_semantics::cookies;
use kasoku_wire::Fields;
use smallvec::SmallVec;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Cookies of which something is known.
const COOKIES_MAX: usize = 128 << 10;

/// Some cookies with their values, hashed.
pub(crate) type CookieIds = SmallVec<[Id; 2]>;

/// By cookie.
pub(super) struct Doings {
    known: Known<Doing>,
    /// The last that was given, to whatever changes or is found: the later one is the larger one.
    serial: AtomicU64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Doing {
    /// Requests on their way that may change the session.
    passing: u32,
    /// That of the last such thing, or of when it was first seen: of what was before, nobody knows, since it may have been forgotten.
    serial: u64,
    /// When that was, or when it was first seen.
    busy_ms: Option<u64>,
    /// What is in the session that pages show.
    states: States,
    /// Until when the application may still be at something that nobody waits for any more.
    unsure_until_ms: u64,
}

/// What is known of several cookies together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Together {
    /// Whether something is known of each.
    pub(super) is_known: bool,
    pub(super) passing: u32,
    pub(super) serial: u64,
    pub(super) busy_ms: u64,
    pub(super) states: States,
    pub(super) unsure_until_ms: u64,
}

impl Doings {
    pub(super) fn new() -> Self {
        Self { known: Known::with_room_for(COOKIES_MAX), serial: AtomicU64::new(0) }
    }

    pub(super) fn next_serial(&self) -> u64 {
        self.serial.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
    }

    pub(super) fn of(&self, ids: &[Id], now_ms: u64) -> Together {
        let states = States::default();
        let none = Together { is_known: true, passing: 0, serial: 0, busy_ms: 0, states, unsure_until_ms: 0 };
        ids.iter().fold(none, |mut all, id| {
            let Some(one) = self.known.get(*id) else { return Together { is_known: false, ..all } };
            all.states.join(&one.states, now_ms);
            Together {
                is_known: all.is_known,
                states: all.states,
                passing: all.passing.max(one.passing),
                serial: all.serial.max(one.serial),
                busy_ms: all.busy_ms.max(one.busy_ms.unwrap_or(0)),
                unsure_until_ms: all.unsure_until_ms.max(one.unsure_until_ms),
            }
        })
    }

    /// They are seen: noted, so that it is known since when nothing else was done with them.
    pub(super) fn see(&self, ids: &[Id], now_ms: u64) {
        self.change(ids, now_ms, |_| ());
    }

    /// A request that may change the session goes to the application with them.
    pub(super) fn begin(&self, ids: &[Id], serial: u64, now_ms: u64) {
        self.change(ids, now_ms, |one| {
            one.passing += 1;
            one.serial = serial;
            one.busy_ms = Some(now_ms);
        });
    }

    /// It has been answered. Returns whether no other was on its way at the same time.
    pub(super) fn end(&self, ids: &[Id], begun: u64, serial: u64) -> bool {
        let end = |one: &mut Doing| {
            let is_alone = one.passing == 1 && one.serial == begun;
            one.passing = one.passing.saturating_sub(1);
            one.serial = serial;
            is_alone
        };
        // Where one was forgotten meanwhile, nobody knows.
        ids.iter().filter(|id| self.known.change_known(**id, end) != Some(true)).count() == 0
    }

    /// Something is in the session that these pages show, until then at least.
    pub(super) fn is_stateful(&self, ids: &[Id], shown_by: ShownBy, until_ms: u64, now_ms: u64) {
        if until_ms > now_ms {
            self.change(ids, now_ms, |one| one.states.add(shown_by, until_ms, now_ms));
        }
    }

    /// All that is in another session is in it.
    pub(super) fn inherits(&self, ids: &[Id], states: &States, now_ms: u64) {
        self.change(ids, now_ms, |one| one.states.join(states, now_ms));
    }

    /// Nothing is in it any more.
    pub(super) fn is_emptied(&self, ids: &[Id], now_ms: u64) {
        self.change(ids, now_ms, |one| one.states = States::default());
    }

    /// The application may still be at something, for so long.
    pub(super) fn is_unsure(&self, ids: &[Id], duration: Duration, now_ms: u64) {
        let until_ms = now_ms.saturating_add(millis(duration));
        self.change(ids, now_ms, |one| one.unsure_until_ms = one.unsure_until_ms.max(until_ms));
    }

    fn change(&self, ids: &[Id], now_ms: u64, change: impl Fn(&mut Doing)) {
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
    pub(super) fn clear(&self) {
        self.known.clear();
    }
}

/// The cookies of a request whose names fit one of these globs.
pub(super) fn ids(globs: &[String], request: &Fields, hash: impl Fn(&[u8]) -> Id) -> CookieIds {
    let of_session = |pair: &&[u8]| cookies::is_any(globs, cookies::name(pair));
    cookies::pairs(request).filter(of_session).map(hash).collect()
}
