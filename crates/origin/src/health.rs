//! Whether an origin should be asked: what requests and checks have found out about it.
//!
//! Two kinds of failures are kept apart, since a client must not be able to take an origin away from the others:
//!
//! * **No connection** (refused, no answer to it in time, no such name). What a client asks for has no part in it.
//!   From [`OriginHealth::failures`] in a row on the origin is [`HealthStatus::Down`]: requests go to other origins.
//! * **No answer** on a connection that was there (closed, malformed, too late). One odd request may be the reason, so
//!   these make it [`HealthStatus::Suspect`]: it is asked after all others, but it is asked. Such a failure does not count
//!   when the origin has answered any other request since this one was sent.
//!
//! **Trials.** An origin that is down is tried by one real request at a time: each [`OriginHealth::back_off`]
//! ([`Health::claim`]), and at once when no other origin can be asked ([`Health::claim_anyway`]), so that nobody is ever
//! told that all are down on the word of an attempt that is seconds old. The trial is over as soon as there is a
//! connection or none; whoever has no other origin waits for that for [`TRIAL_WAIT_MAX`]. A trial that takes longer
//! (packets vanish instead of being refused) keeps others from the same wait until the next period.
//! A suspect's trial may cost its visitor a long wait, so its periods double up to [`OriginHealth::back_off_max`] while
//! trials take long; one that fails fast is followed by the next after the shortest period.
//! The first success ends all of it.
//!
//! **Checks** are requests of our own ([`Health::checked`]). What they find needs no confirmation: an origin that fails
//! them is [`HealthStatus::Shut`], and only its checks ask it. That they got no connection is less than that: it is tried
//! like any origin that is down when no other can be asked.
//!
//! A status of 5xx is an answer: it tells about one page, not about the origin (stale-if-error is for it). Times are
//! arguments, in milliseconds of a monotonic clock. All workers share this; the lock is held for a few instructions,
//! and only by requests that go to the origin.

mod back_off;
mod outage;

use back_off::BackOff;
use kasoku_options::OriginHealth;
use outage::Outage;
pub use outage::Recovery;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// How long after its beginning a trial is waited for by whoever has no other origin to ask.
pub const TRIAL_WAIT_MAX: Duration = Duration::from_millis(250);

/// How long a trial waits for its connection: its visitor has another origin to go to, or an error to be told.
pub const TRIAL_CONNECT_MAX: Duration = Duration::from_millis(500);

/// How an origin stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HealthStatus {
    /// Nothing speaks against it.
    Up,
    /// It could not be reached, and its back-off is over: one request may try.
    Due,
    /// It did not answer lately: better ask another. `is_due`: its back-off is over, one request may try it first.
    Suspect {
        /// Whether the back-off is over.
        is_due: bool,
    },
    /// It could not be reached a moment ago: only to be tried when no other can be asked.
    Down,
    /// Its checks fail: not to be asked.
    Shut,
}

/// What a failed request says about its origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// Nothing: it was not asked, or the fault is ours or the client's.
    NoOrigin,
    /// There was no connection.
    Connection,
    /// There was no answer.
    Answer,
}

/// What a check found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckResult {
    /// What it should.
    Passed,
    /// An answer that was not the expected one.
    Failed,
    /// No answer, or none in time.
    Unanswered,
    /// No connection.
    Unreachable,
}

/// What a check has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HealthChange {
    /// The origin is down.
    Down,
    /// It passes its checks again, and nothing else speaks against it; the outage that this ends.
    Up(Recovery),
}

/// Whether a request may be sent to an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Availability {
    /// It may.
    Free,
    /// It may, as the trial of that number, whose end is to be [told](Health::end_trial).
    Trial(u64),
    /// Another request tries it: worth a wait for so long, which may be none.
    Tried(Duration),
    /// It may not.
    Refused,
}

/// What was known of an origin when a request was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HealthSnapshot {
    answers: u64,
    /// When the present period of a suspect began.
    period_ms: u64,
}

/// What is known of one origin. See the [module](self).
#[derive(Debug, Default)]
pub struct Health {
    known: Mutex<HealthState>,
    /// Told at the end of each trial.
    trial_ended: Notify,
}

#[derive(Debug, Default)]
struct HealthState {
    connecting: BackOff,
    answering: BackOff,
    answers: u64,
    checks: CheckState,
    /// Checks in a row that say the contrary.
    contrary: u32,
    /// When it could not be reached the last time, and how often that was.
    unreachable_ms: u64,
    refusals: u64,
    /// Whether that took longer than others wait for a trial.
    is_slow_to_refuse: bool,
    /// Trials so far, and when the last one began.
    trials: u64,
    tried_ms: u64,
    /// The one that runs.
    trial: Option<u64>,
    /// The one that goes on, suspicion included.
    outage: Option<Outage>,
}

/// What the checks say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum CheckState {
    /// Nothing against it.
    #[default]
    Passed,
    /// It is down: it can't be reached.
    Unreachable,
    /// The same, and a request has reached it since: the next check decides.
    Reached,
    /// It is down: it does not answer as it should.
    Failed,
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl HealthState {
    fn is_unreachable(&self) -> bool {
        self.connecting.is_on() || self.checks == CheckState::Unreachable
    }

    fn status(&self, now_ms: u64) -> HealthStatus {
        if self.checks == CheckState::Failed {
            HealthStatus::Shut
        } else if self.checks == CheckState::Unreachable {
            HealthStatus::Down
        } else if self.connecting.is_on() {
            if self.connecting.is_due(now_ms) { HealthStatus::Due } else { HealthStatus::Down }
        } else if self.checks == CheckState::Reached {
            HealthStatus::Suspect { is_due: false }
        } else if self.answering.is_on() {
            HealthStatus::Suspect { is_due: self.answering.is_due(now_ms) }
        } else {
            HealthStatus::Up
        }
    }

    /// Ends the outage where nothing speaks against the origin any more.
    fn recover(&mut self, now_ms: u64) -> Option<Recovery> {
        let is_up = self.checks == CheckState::Passed && !self.connecting.is_on() && !self.answering.is_on();
        if is_up { self.outage.take().map(|outage| outage.end(now_ms)) } else { None }
    }

    /// There is a connection: whether it was down, and whether a trial ends with this.
    fn is_reached(&mut self) -> (bool, bool) {
        let was_down = self.connecting.end();
        if self.checks == CheckState::Unreachable {
            self.checks = CheckState::Reached;
        }
        self.is_slow_to_refuse = false;
        (was_down, self.trial.take().is_some())
    }

    /// One trial at a time, unless one takes longer than a period.
    fn begin_trial(&mut self, rules: &OriginHealth, now_ms: u64) -> Availability {
        let age = Duration::from_millis(now_ms.saturating_sub(self.tried_ms));
        if self.trial.is_some() && age < rules.back_off {
            return Availability::Tried(TRIAL_WAIT_MAX.saturating_sub(age));
        }
        self.trials = self.trials.wrapping_add(1);
        (self.trial, self.tried_ms) = (Some(self.trials), now_ms);
        if self.connecting.is_on() {
            self.connecting.begin_period(rules.back_off, now_ms);
        }
        Availability::Trial(self.trials)
    }
}

impl Health {
    fn known(&self) -> MutexGuard<'_, HealthState> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How it stands now.
    pub fn status(&self, now_ms: u64) -> HealthStatus {
        self.known().status(now_ms)
    }

    /// Whether nothing speaks against it, back-offs that are over included: what `/metrics` shows.
    pub fn is_up(&self) -> bool {
        let known = self.known();
        !(known.checks != CheckState::Passed || known.connecting.is_on() || known.answering.is_on())
    }

    /// Since when it has not been reached, if nobody reaches it; `None` also when its checks keep all others away.
    pub fn unreachable_since(&self) -> Option<u64> {
        let known = self.known();
        (known.is_unreachable() && known.checks != CheckState::Failed).then_some(known.unreachable_ms)
    }

    /// Whether a request may be sent although the origin failed: one in each period gets this.
    pub fn claim(&self, rules: &OriginHealth, now_ms: u64) -> Availability {
        let mut known = self.known();
        match known.status(now_ms) {
            HealthStatus::Up | HealthStatus::Suspect { is_due: false } => Availability::Free,
            HealthStatus::Due => known.begin_trial(rules, now_ms),
            HealthStatus::Suspect { is_due: true } => {
                known.answering.begin_longer_period(rules, now_ms);
                Availability::Free
            }
            HealthStatus::Down | HealthStatus::Shut => Availability::Refused,
        }
    }

    /// The same when no other origin can be asked.
    pub fn claim_anyway(&self, rules: &OriginHealth, now_ms: u64) -> Availability {
        let mut known = self.known();
        let is_too_early = || now_ms < known.tried_ms.saturating_add(milliseconds(rules.back_off));
        match known.status(now_ms) {
            HealthStatus::Up | HealthStatus::Suspect { .. } => Availability::Free,
            // Each attempt would be another visitor's wait.
            HealthStatus::Down if known.is_slow_to_refuse && known.trial.is_none() && is_too_early() => {
                Availability::Refused
            }
            HealthStatus::Due | HealthStatus::Down => known.begin_trial(rules, now_ms),
            HealthStatus::Shut => Availability::Refused,
        }
    }

    /// That trial is over, whatever came of it.
    pub fn end_trial(&self, number: u64) {
        let ends = self.known().trial.take_if(|trial| *trial == number).is_some();
        self.tell(ends);
    }

    fn tell(&self, ends_trial: bool) {
        if ends_trial {
            self.trial_ended.notify_waiters();
        }
    }

    /// Waits for what the trial that runs finds out, for so long at most. Whether the origin is as good as asked, in vain:
    /// not when it was reached, and not when the trial was given up.
    pub async fn wait_for_trial(&self, wait_max: Duration) -> bool {
        let mut ended = std::pin::pin!(self.trial_ended.notified());
        ended.as_mut().enable();
        let (is_running, refusals) = {
            let known = self.known();
            (known.trial.is_some(), known.refusals)
        };
        let is_late = is_running && tokio::time::timeout(wait_max, ended).await.is_err();
        let known = self.known();
        known.is_unreachable() && (is_late || known.refusals != refusals)
    }

    /// To be taken before a request is sent, for [`Health::failed`].
    pub fn mark(&self) -> HealthSnapshot {
        let known = self.known();
        HealthSnapshot { answers: known.answers, period_ms: known.answering.begun_ms }
    }

    /// A request got no answer. Whether an outage begins with it: the origin is down or suspect, and was neither since its last answer.
    pub fn failed(&self, blame: Blame, sent: HealthSnapshot, rules: &OriginHealth, now_ms: u64) -> bool {
        let mut known = self.known();
        // Who has answered somebody else meanwhile is alive.
        if known.answers != sent.answers {
            return false;
        }
        let begins = match blame {
            Blame::NoOrigin => return false,
            Blame::Connection => {
                known.unreachable_ms = now_ms;
                known.refusals = known.refusals.wrapping_add(1);
                if known.trial.is_some() {
                    let took_ms = now_ms.saturating_sub(known.tried_ms);
                    known.is_slow_to_refuse = took_ms > milliseconds(TRIAL_WAIT_MAX);
                }
                known.connecting.fail(rules, now_ms)
            }
            Blame::Answer => {
                let answering = &mut known.answering;
                let is_of_this_period = answering.is_on() && answering.begun_ms == sent.period_ms;
                if is_of_this_period && now_ms < answering.begun_ms.saturating_add(milliseconds(rules.back_off)) {
                    answering.shorten(rules);
                }
                answering.fail(rules, now_ms)
            }
        };
        if let Some(outage) = &mut known.outage {
            outage.failed = outage.failed.saturating_add(1);
            return false;
        }
        if begins {
            known.outage = Some(Outage::begun(now_ms, u64::from(rules.failures)));
        }
        begins
    }

    /// A request was answered with an error, since no origin could be asked: neither this one nor another.
    pub fn was_not_asked(&self) {
        if let Some(outage) = &mut self.known().outage {
            outage.unasked = outage.unasked.saturating_add(1);
        }
    }

    /// A connection was made.
    pub fn connected(&self) -> bool {
        let (was_down, ends_trial) = self.known().is_reached();
        self.tell(ends_trial);
        was_down
    }

    /// A request was answered, whatever the status. The outage that this ends.
    pub fn answered(&self, now_ms: u64) -> Option<Recovery> {
        let mut known = self.known();
        known.answers = known.answers.wrapping_add(1);
        let (_, ends_trial) = known.is_reached();
        known.answering.end();
        let recovery = known.recover(now_ms);
        drop(known);
        self.tell(ends_trial);
        recovery
    }

    /// A check has come to its end. What that has changed. `sent`: the mark before it.
    pub fn checked(
        &self,
        result: CheckResult,
        sent: HealthSnapshot,
        rules: &OriginHealth,
        now_ms: u64,
    ) -> Option<HealthChange> {
        let mut known = self.known();
        let passes = result == CheckResult::Passed;
        // It works for others, so it has too much to do at worst: without it, another would have more.
        if !passes && result != CheckResult::Failed && known.answers != sent.answers {
            return None;
        }
        if passes {
            let (_, ends_trial) = known.is_reached();
            self.tell(ends_trial);
        }
        let found = match result {
            CheckResult::Passed => CheckState::Passed,
            CheckResult::Unreachable => CheckState::Unreachable,
            CheckResult::Failed | CheckResult::Unanswered => CheckState::Failed,
        };
        if found == CheckState::Unreachable {
            known.unreachable_ms = now_ms;
        }
        let was_up = known.checks == CheckState::Passed;
        if passes == was_up {
            known.contrary = 0;
            if !passes {
                known.checks = found;
            }
            return known.recover(now_ms).map(HealthChange::Up);
        }
        known.contrary = known.contrary.saturating_add(1);
        let needed = if passes { rules.rise } else { rules.fall };
        if known.contrary < needed {
            return None;
        }
        (known.checks, known.contrary) = (found, 0);
        if passes {
            return known.recover(now_ms).map(HealthChange::Up);
        }
        known.outage.get_or_insert_with(|| Outage::begun(now_ms, 0));
        Some(HealthChange::Down)
    }

    /// It is not checked any more.
    pub fn is_unchecked(&self) {
        let mut known = self.known();
        (known.checks, known.contrary) = (CheckState::Passed, 0);
    }
}

#[cfg(test)]
mod tests;
