//! Whether an origin should be asked: what requests and checks have found out about it.
//!
//! Two kinds of failures are kept apart, since a client must not be able to take an origin away from the others:
//!
//! * **No connection** (refused, no answer to it in time, no such name). What a client asks for has no part in it.
//!   From [`HealthRules::failures`] in a row on the origin is [`Standing::Down`]: nobody asks it until its back-off is
//!   over.
//! * **No answer** on a connection that was there (closed, malformed, too late). One odd request may be the reason, so
//!   these make it [`Standing::Suspect`]: it is asked after all others, but it is asked. Such a failure does not count
//!   when the origin has answered any other request since this one was sent.
//!
//! A back-off ends with a trial: the one request that [claims](Health::claim) it. A trial counts as failed until it
//! succeeds, so the next period, twice as long, begins with the claim, and no more than one request is sent in a
//! period, whatever becomes of it. The first success ends all of it.
//!
//! **Checks** are requests of our own ([`Health::checked`]); what they find needs no confirmation.
//!
//! A status of 5xx is an answer: it tells about one page, not about the origin (stale-if-error is for it). Times are
//! arguments, in milliseconds of a monotonic clock. All workers share this; the lock is held for a few instructions,
//! and only by requests that go to the origin.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// When an origin counts as failing, and how it is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthRules {
    /// Failures in a row until it is not asked for a while. Default 3; 0: it is always asked.
    pub failures: u32,
    /// The first period in which it is not asked; each one doubles. Default 1 s.
    pub back_off: Duration,
    /// The longest such period. Default 10 s; at least `back_off`.
    pub back_off_max: Duration,
    /// Path and query of the active check, sent with GET. Default: none, no checks.
    pub path: Option<String>,
    /// From the end of a check to the next. Default 5 s.
    pub interval: Duration,
    /// For a whole check, connection included. Default 2 s.
    pub timeout: Duration,
    /// Statuses that pass, first and last. Default 200 to 399.
    pub expect: (u16, u16),
    /// Checks in a row that must pass until the origin is up again. Default 2.
    pub rise: u32,
    /// Checks in a row that must fail until it is down. Default 3.
    pub fall: u32,
}

impl Default for HealthRules {
    fn default() -> Self {
        Self {
            failures: 3,
            back_off: Duration::from_secs(1),
            back_off_max: Duration::from_secs(10),
            path: None,
            interval: Duration::from_secs(5),
            timeout: Duration::from_secs(2),
            expect: (200, 399),
            rise: 2,
            fall: 3,
        }
    }
}

/// How an origin stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing speaks against it.
    Up,
    /// It could not be reached, and its back-off is over: one request may try.
    Due,
    /// It did not answer lately: better ask another. `is_due`: its back-off is over, one request may try it first.
    Suspect {
        /// Whether the back-off is over.
        is_due: bool,
    },
    /// Not to be asked.
    Down,
}

/// What a failed request says about its origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// Nothing: it was not asked, or the fault is ours or the client's.
    Nobody,
    /// There was no connection.
    Connection,
    /// There was no answer.
    Answer,
}

/// How many answers an origin had given when a request was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(u64);

/// What is known of one origin. See the [module](self).
#[derive(Debug, Default)]
pub struct Health(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    connecting: BackOff,
    answering: BackOff,
    answers: u64,
    /// Whether the checks say that it is down.
    is_checked_down: bool,
    /// Checks in a row that say the contrary.
    contrary: u32,
}

/// Failures of one kind. A period runs, or its trial is due, while `periods` is not 0.
#[derive(Debug, Default)]
struct BackOff {
    failures: u32,
    periods: u32,
    until_ms: u64,
}

impl BackOff {
    fn is_on(&self) -> bool {
        self.periods > 0
    }

    fn is_due(&self, now_ms: u64) -> bool {
        now_ms >= self.until_ms
    }

    /// Whether the first period begins with this failure.
    fn fail(&mut self, rules: &HealthRules, now_ms: u64) -> bool {
        self.failures = self.failures.saturating_add(1);
        let begins = !self.is_on() && rules.failures > 0 && self.failures >= rules.failures;
        if begins {
            self.begin_period(rules, now_ms);
        }
        begins
    }

    fn begin_period(&mut self, rules: &HealthRules, now_ms: u64) {
        let longest = rules.back_off_max.max(rules.back_off);
        let period = 1_u32.checked_shl(self.periods).and_then(|factor| rules.back_off.checked_mul(factor));
        let period_ms = period.map_or(longest, |period| period.min(longest)).as_millis();
        self.until_ms = now_ms.saturating_add(u64::try_from(period_ms).unwrap_or(u64::MAX));
        self.periods = self.periods.saturating_add(1);
    }

    /// Whether it was on.
    fn end(&mut self) -> bool {
        std::mem::take(self).is_on()
    }
}

impl Health {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How it stands now.
    pub fn standing(&self, now_ms: u64) -> Standing {
        let known = self.known();
        if known.is_checked_down {
            Standing::Down
        } else if known.connecting.is_on() {
            if known.connecting.is_due(now_ms) { Standing::Due } else { Standing::Down }
        } else if known.answering.is_on() {
            Standing::Suspect { is_due: known.answering.is_due(now_ms) }
        } else {
            Standing::Up
        }
    }

    /// Whether nothing speaks against it, back-offs that are over included: what `/metrics` shows.
    pub fn is_up(&self) -> bool {
        let known = self.known();
        !(known.is_checked_down || known.connecting.is_on() || known.answering.is_on())
    }

    /// Whether a request may be sent although the origin failed: one in each period gets this.
    pub fn claim(&self, rules: &HealthRules, now_ms: u64) -> bool {
        let mut known = self.known();
        let known = &mut *known;
        let failing = match (known.connecting.is_on(), known.answering.is_on()) {
            _ if known.is_checked_down => return false,
            (true, _) => &mut known.connecting,
            (false, true) => &mut known.answering,
            (false, false) => return true,
        };
        let is_due = failing.is_due(now_ms);
        if is_due {
            failing.begin_period(rules, now_ms);
        }
        is_due
    }

    /// To be taken before a request is sent, for [`Health::failed`].
    pub fn mark(&self) -> Mark {
        Mark(self.known().answers)
    }

    /// A request got no answer. Whether the origin begins to be down or suspect with it.
    pub fn failed(&self, blame: Blame, sent: Mark, rules: &HealthRules, now_ms: u64) -> bool {
        let mut known = self.known();
        // Who has answered somebody else meanwhile is alive.
        if known.answers != sent.0 {
            return false;
        }
        match blame {
            Blame::Nobody => false,
            Blame::Connection => known.connecting.fail(rules, now_ms),
            Blame::Answer => known.answering.fail(rules, now_ms),
        }
    }

    /// A connection was made.
    pub fn connected(&self) -> bool {
        self.known().connecting.end()
    }

    /// A request was answered, whatever the status. Whether the origin was down or suspect before.
    pub fn answered(&self) -> bool {
        let mut known = self.known();
        known.answers = known.answers.wrapping_add(1);
        let was_down = known.connecting.end();
        known.answering.end() || was_down
    }

    /// A check has come to its end. Whether the origin's state has changed with it.
    pub fn checked(&self, passes: bool, rules: &HealthRules) -> bool {
        let mut known = self.known();
        if passes {
            known.connecting.end();
        }
        if passes != known.is_checked_down {
            known.contrary = 0;
            return false;
        }
        known.contrary = known.contrary.saturating_add(1);
        let needed = if passes { rules.rise } else { rules.fall };
        let changes = known.contrary >= needed;
        if changes {
            known.is_checked_down = !passes;
            known.contrary = 0;
        }
        changes
    }

    /// It is not checked any more.
    pub fn is_unchecked(&self) {
        let mut known = self.known();
        (known.is_checked_down, known.contrary) = (false, 0);
    }
}

#[cfg(test)]
mod tests;
