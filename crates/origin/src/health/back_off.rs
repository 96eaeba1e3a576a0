//! How long an origin that failed is left alone: in periods, each of which ends with a trial.

use super::milliseconds;
use kasoku_options::OriginHealth;
use std::time::Duration;

/// The failures of one kind. While `periods` is not 0, a period runs or its trial is due.
#[derive(Debug, Default)]
pub(super) struct BackOff {
    failures: u32,
    periods: u32,
    /// When the present period began.
    pub(super) begun_ms: u64,
    until_ms: u64,
}

impl BackOff {
    pub(super) fn is_on(&self) -> bool {
        self.periods > 0
    }

    pub(super) fn is_due(&self, now_ms: u64) -> bool {
        now_ms >= self.until_ms
    }

    /// Counts a failure. Returns whether the first period begins with it.
    pub(super) fn fail(&mut self, rules: &OriginHealth, now_ms: u64) -> bool {
        self.failures = self.failures.saturating_add(1);
        let begins = !self.is_on() && rules.failures > 0 && self.failures >= rules.failures;
        if begins {
            self.begin_period(rules.back_off, now_ms);
        }
        begins
    }

    pub(super) fn begin_period(&mut self, period: Duration, now_ms: u64) {
        self.begun_ms = now_ms;
        self.until_ms = now_ms.saturating_add(milliseconds(period));
        self.periods = self.periods.saturating_add(1);
    }

    /// Begins a period that is twice as long as the one before.
    pub(super) fn begin_longer_period(&mut self, rules: &OriginHealth, now_ms: u64) {
        let longest = rules.back_off_max.max(rules.back_off);
        let period = 1_u32.checked_shl(self.periods).and_then(|factor| rules.back_off.checked_mul(factor));
        self.begin_period(period.map_or(longest, |period| period.min(longest)), now_ms);
    }

    /// Makes the present period as short as the first one. Later periods double from there.
    pub(super) fn shorten(&mut self, rules: &OriginHealth) {
        self.until_ms = self.until_ms.min(self.begun_ms.saturating_add(milliseconds(rules.back_off)));
        self.periods = 1;
    }

    /// Ends the back-off. Returns whether it was on.
    pub(super) fn end(&mut self) -> bool {
        std::mem::take(self).is_on()
    }
}
