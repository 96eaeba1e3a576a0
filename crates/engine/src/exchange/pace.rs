//! Bounds how slowly a client may send a request's body.
//!
//! Each pause has a bound, but a client that sends a byte just before each bound could keep a body from ever ending. So pauses are
//! paid for: a client begins with credit for the longest pause, each wait takes from it, and each byte adds the time that it may
//! take at the minimum rate, up to the longest pause again. A client that keeps the rate is never cut. A slower client is cut when
//! its credit is used up, however much it has sent before. Only waits for the client count: while no origin takes its bytes, the
//! client is not slow. (Apache's mod_reqtimeout lets the credit grow without end.)

use std::time::Duration;

/// See the [module](self).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    pause_max: Duration,
    bytes_per_second_min: u64,
    credit: Duration,
}

impl Pace {
    /// `bytes_per_second_min`: 0 for no minimum rate.
    pub(crate) fn new(pause_max: Duration, bytes_per_second_min: u64) -> Self {
        Self { pause_max, bytes_per_second_min, credit: pause_max }
    }

    /// How long the next wait may take.
    pub(crate) fn wait_max(&self) -> Duration {
        self.credit
    }

    /// Notes that a piece of so many bytes has come, after a wait of that time.
    pub(crate) fn waited(&mut self, took: Duration, bytes: usize) {
        if self.bytes_per_second_min == 0 {
            return;
        }
        let earned_us = (bytes as u64).saturating_mul(1_000_000) / self.bytes_per_second_min;
        let credit = self.credit.saturating_sub(took).saturating_add(Duration::from_micros(earned_us));
        self.credit = credit.min(self.pause_max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE_MAX: Duration = Duration::from_secs(30);
    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_byte_now_and_then_uses_the_credit_up() {
        let mut pace = Pace::new(PAUSE_MAX, 500);
        let waits = std::iter::repeat_with(|| {
            let is_in_time = pace.wait_max() >= SECOND;
            pace.waited(SECOND, 1);
            is_in_time
        });
        assert_eq!(waits.take_while(|is_in_time| *is_in_time).count(), 30);
    }

    #[test]
    fn who_keeps_the_rate_is_never_cut_and_saves_up_no_more_than_a_pause() {
        let mut pace = Pace::new(PAUSE_MAX, 500);
        for _ in 0..10_000 {
            pace.waited(SECOND, 500);
            assert_eq!(pace.wait_max(), PAUSE_MAX);
        }
        pace.waited(SECOND, 100 << 20);
        assert_eq!(pace.wait_max(), PAUSE_MAX);
        pace.waited(PAUSE_MAX, 0);
        assert_eq!(pace.wait_max(), Duration::ZERO);
    }

    #[test]
    fn without_a_rate_each_pause_may_be_as_long() {
        let mut pace = Pace::new(PAUSE_MAX, 0);
        pace.waited(PAUSE_MAX, 1);
        assert_eq!(pace.wait_max(), PAUSE_MAX);
    }
}
