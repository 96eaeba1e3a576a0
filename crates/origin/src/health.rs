//! Whether an origin should be asked: what requests and checks have found out about it.
//!
//! Two kinds of failures are kept apart, since a client must not be able to take an origin away from other clients:
//!
//! * **No connection** (refused, no answer to it in time, no such name). The request has no part in it. After [`OriginHealth::failures`]
//!   in a row the origin is [`HealthStatus::Down`]: requests go to other origins.
//! * **No answer** on an open connection (closed, malformed, too late). One odd request may be the reason, so after as many in a row the
//!   origin is [`HealthStatus::Suspect`]: it is asked after all others, but it is still asked. Such a failure does not count if the
//!   origin has answered any other request since the failed one was sent.
//!
//! **Trials.** One real request at a time tries an origin that is down: once in each [`OriginHealth::back_off`] ([`Health::claim`]), and
//! at once when no other origin can be asked ([`Health::claim_anyway`]). So a client is not told that all origins are down because of an
//! attempt that is seconds old. The trial is over as soon as there is a connection or a failure to connect; requests that have no other
//! origin wait for that for [`TRIAL_WAIT_MAX`]. After a trial that took longer (packets vanish instead of being refused), no request
//! tries again before the next period, so that not every visitor waits as long. A suspect's trial may cost its visitor a long wait, so
//! its periods double up to [`OriginHealth::back_off_max`] while trials take long. After a trial that fails fast, the next one follows
//! after the shortest period. The first success ends all of it.
//!
//! **Checks** are requests of Kasoku's own ([`Health::checked`]). Their findings need no confirmation: an origin that fails them is
//! [`HealthStatus::ChecksFailed`], and only its checks ask it. A check that gets no connection weighs less: when no other origin can be asked,
//! requests try the origin like any other that is down.
//!
//! A status of 5xx is an answer: it tells about one page, not about the origin (stale-if-error is for it). Times are arguments, in
//! milliseconds of a monotonic clock. All workers share this state. Its lock is held for a few instructions, and only by requests that go
//! to the origin.

mod back_off;
mod outage;

use back_off::BackOff;
use kasoku_options::OriginHealth;
use outage::Outage;
pub use outage::Recovery;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// How long after the start of a trial requests with no other origin wait for it.
pub const TRIAL_WAIT_MAX: Duration = Duration::from_millis(250);

/// How long a trial waits for its connection: its visitor can get another origin, or an error.
pub const TRIAL_CONNECT_MAX: Duration = Duration::from_millis(500);

/// The status of an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HealthStatus {
    /// Nothing speaks against it.
    Up,
    /// It could not be reached, and its back-off is over: one request may try it.
    Due,
    /// It has not answered lately, so other origins are asked first. Once its back-off is over, one request may try it first.
    Suspect {
        /// Whether the back-off is over.
        is_due: bool,
    },
    /// It could not be reached a moment ago: requests try it only when no other origin can be asked.
    Down,
    /// Its checks fail: requests are not sent to it.
    ChecksFailed,
}

/// What a failed request tells about its origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// Nothing: the origin was not asked, or the fault is Kasoku's or the client's.
    NoOrigin,
    /// There was no connection.
    Connection,
    /// There was no answer.
    Answer,
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckResult {
    /// The expected answer.
    Passed,
    /// An answer other than the expected one.
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
    /// It passes its checks again, and nothing else speaks against it. Holds the outage that this ends.
    Up(Recovery),
}

/// Whether a request may be sent to an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Availability {
    /// A request may be sent.
    Free,
    /// A request may be sent as the trial of this number, whose end must be [told](Health::end_trial).
    Trial(u64),
    /// Another request tries the origin: wait for it for this long, which may be zero.
    TrialRunning(Duration),
    /// No request may be sent.
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
    /// Wakes the requests that wait for a trial, at the end of each.
    trial_ended: Notify,
}

#[derive(Debug, Default)]
struct HealthState {
    connecting: BackOff,
    answering: BackOff,
    answers: u64,
    checks: CheckState,
    /// Consecutive checks that contradict `checks`.
    contrary: u32,
    /// When the origin could not be reached the last time, and how often that was.
    unreachable_ms: u64,
    refusals: u64,
    /// Whether the last failed trial took longer than other requests wait for one.
    is_slow_to_refuse: bool,
    /// The number of trials so far, and when the last one began.
    trials: u64,
    tried_ms: u64,
    /// The number of the trial that runs.
    trial: Option<u64>,
    /// The present outage, which includes the time as a suspect.
    outage: Option<Outage>,
}

/// What the checks have found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum CheckState {
    /// Nothing speaks against the origin.
    #[default]
    Passed,
    /// The origin is down: the checks can't reach it.
    Unreachable,
    /// The checks could not reach it, but a request has since: the next check decides.
    Reached,
    /// The origin is down: it does not answer the checks as expected.
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
            HealthStatus::ChecksFailed
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

    /// Ends the outage if nothing speaks against the origin any more.
    fn recover(&mut self, now_ms: u64) -> Option<Recovery> {
        let is_up = self.checks == CheckState::Passed && !self.connecting.is_on() && !self.answering.is_on();
        if is_up { self.outage.take().map(|outage| outage.end(now_ms)) } else { None }
    }

    /// A connection was made. Returns whether the origin was down, and whether this ends a trial.
    fn is_reached(&mut self) -> (bool, bool) {
        let was_down = self.connecting.end();
        if self.checks == CheckState::Unreachable {
            self.checks = CheckState::Reached;
        }
        self.is_slow_to_refuse = false;
        (was_down, self.trial.take().is_some())
    }

    /// Begins a trial, unless one is running. A trial that takes longer than a period does not block the next.
    fn begin_trial(&mut self, rules: &OriginHealth, now_ms: u64) -> Availability {
        let age = Duration::from_millis(now_ms.saturating_sub(self.tried_ms));
        if self.trial.is_some() && age < rules.back_off {
            return Availability::TrialRunning(TRIAL_WAIT_MAX.saturating_sub(age));
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

    /// The status at this time.
    pub fn status(&self, now_ms: u64) -> HealthStatus {
        self.known().status(now_ms)
    }

    /// Whether nothing speaks against the origin: false also after a back-off is over, until the next success. `/metrics` shows this.
    pub fn is_up(&self) -> bool {
        let known = self.known();
        !(known.checks != CheckState::Passed || known.connecting.is_on() || known.answering.is_on())
    }

    /// Since when the origin has been unreachable, if it is; `None` also where its checks fail otherwise, so that requests may not try
    /// it.
    pub fn unreachable_since(&self) -> Option<u64> {
        let known = self.known();
        (known.is_unreachable() && known.checks != CheckState::Failed).then_some(known.unreachable_ms)
    }

    /// Whether a request may be sent although the origin failed. In each period one request may try it.
    pub fn claim(&self, rules: &OriginHealth, now_ms: u64) -> Availability {
        let mut known = self.known();
        match known.status(now_ms) {
            HealthStatus::Up | HealthStatus::Suspect { is_due: false } => Availability::Free,
            HealthStatus::Due => known.begin_trial(rules, now_ms),
            HealthStatus::Suspect { is_due: true } => {
                known.answering.begin_longer_period(rules, now_ms);
                Availability::Free
            }
            HealthStatus::Down | HealthStatus::ChecksFailed => Availability::Refused,
        }
    }

    /// The same, where no other origin can be asked.
    pub fn claim_anyway(&self, rules: &OriginHealth, now_ms: u64) -> Availability {
        let mut known = self.known();
        let is_too_early = || now_ms < known.tried_ms.saturating_add(milliseconds(rules.back_off));
        match known.status(now_ms) {
            HealthStatus::Up | HealthStatus::Suspect { .. } => Availability::Free,
            // Each further attempt would cost another visitor a long wait.
            HealthStatus::Down if known.is_slow_to_refuse && known.trial.is_none() && is_too_early() => {
                Availability::Refused
            }
            HealthStatus::Due | HealthStatus::Down => known.begin_trial(rules, now_ms),
            HealthStatus::ChecksFailed => Availability::Refused,
        }
    }

    /// Ends this trial, whatever its result.
    pub fn end_trial(&self, number: u64) {
        let ends = self.known().trial.take_if(|trial| *trial == number).is_some();
        self.tell(ends);
    }

    fn tell(&self, ends_trial: bool) {
        if ends_trial {
            self.trial_ended.notify_waiters();
        }
    }

    /// Waits for the running trial, for `wait_max` at most. Returns whether the origin counts as asked, in vain: not if it was reached,
    /// and not if the trial was given up.
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

    /// A snapshot for [`Health::failed`] and [`Health::checked`], to be taken before the request is sent.
    pub fn mark(&self) -> HealthSnapshot {
        let known = self.known();
        HealthSnapshot { answers: known.answers, period_ms: known.answering.begun_ms }
    }

    /// A request got no answer. Returns whether an outage begins with this: the origin is now down or suspect, and has been neither since
    /// its last answer.
    pub fn failed(&self, blame: Blame, sent: HealthSnapshot, rules: &OriginHealth, now_ms: u64) -> bool {
        let mut known = self.known();
        // An origin that has answered another request meanwhile is alive.
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

    /// A request was answered with an error, since neither this origin nor another could be asked.
    pub fn was_not_asked(&self) {
        if let Some(outage) = &mut self.known().outage {
            outage.unasked = outage.unasked.saturating_add(1);
        }
    }

    /// A connection was made. Returns whether the origin was down.
    pub fn connected(&self) -> bool {
        let (was_down, ends_trial) = self.known().is_reached();
        self.tell(ends_trial);
        was_down
    }

    /// A request was answered, with any status. Returns the outage that this ends.
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

    /// A check has ended. Returns what that has changed. `sent` is the mark from before the check.
    pub fn checked(
        &self,
        result: CheckResult,
        sent: HealthSnapshot,
        rules: &OriginHealth,
        now_ms: u64,
    ) -> Option<HealthChange> {
        let mut known = self.known();
        let passes = result == CheckResult::Passed;
        // The origin answers other requests, so at worst it is overloaded. Without it, another origin would have more load.
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

    /// The origin is not checked any more.
    pub fn is_unchecked(&self) {
        let mut known = self.known();
        (known.checks, known.contrary) = (CheckState::Passed, 0);
    }
}

#[cfg(test)]
mod tests;
