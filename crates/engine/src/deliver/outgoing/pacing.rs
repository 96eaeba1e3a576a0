//! Limits the send rate of a response (`limit_rate` in nginx).
//!
//! By any moment, the answer may have sent what the rate allows for the time since its beginning and one second more: so a small
//! file goes at once, as with nginx's limit_rate. An answer that may send only a few bytes waits until enough have accumulated for
//! a system call.

use std::time::Duration;
use tokio::time::Instant;

/// An answer waits until it may send the bytes of this part of a second, or all that is left.
const STEPS_PER_SECOND: u64 = 4;

/// The time whose bytes may go at once, in microseconds.
const AT_ONCE_MICROS: u128 = 1_000_000;

/// The pace of one answer.
pub(super) struct Pacing {
    bytes_per_second: u64,
    began: Instant,
    sent: u64,
}

impl Pacing {
    /// Begins now; `None`: as fast as the client takes it.
    pub(super) fn begin(bytes_per_second: u64) -> Option<Self> {
        (bytes_per_second > 0).then(|| Self { bytes_per_second, began: Instant::now(), sent: 0 })
    }

    pub(super) fn has_sent(&mut self, bytes: usize) {
        self.sent += bytes as u64;
    }

    /// How many bytes may go now, where `left` are left; or how long nothing may.
    pub(super) fn now(&self, left: u64) -> Result<u64, Duration> {
        self.after(self.began.elapsed(), left)
    }

    fn after(&self, elapsed: Duration, left: u64) -> Result<u64, Duration> {
        let rate = u128::from(self.bytes_per_second);
        let by_now = rate * (elapsed.as_micros() + AT_ONCE_MICROS) / 1_000_000;
        let may_go = by_now.saturating_sub(u128::from(self.sent));
        let worth = u128::from(left.min((self.bytes_per_second / STEPS_PER_SECOND).max(1)));
        if may_go >= worth {
            return Ok(u64::try_from(may_go).unwrap_or(u64::MAX));
        }
        let wait_micros = ((worth - may_go) * 1_000_000).div_ceil(rate);
        Err(Duration::from_micros(u64::try_from(wait_micros).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn pacing(sent: u64) -> Pacing {
        Pacing { bytes_per_second: 1000, began: Instant::now(), sent }
    }

    #[test]
    fn a_second_goes_at_once_and_then_as_much_as_the_time_that_has_gone() {
        assert_eq!(pacing(0).after(Duration::ZERO, 5000), Ok(1000));
        assert_eq!(pacing(1000).after(SECOND, 4000), Ok(1000));
        assert_eq!(pacing(1400).after(SECOND, 4000), Ok(600));
    }

    #[test]
    fn who_may_send_little_waits_for_a_quarter_of_a_second_or_for_the_rest() {
        assert_eq!(pacing(1000).after(Duration::ZERO, 4000), Err(SECOND / 4));
        assert_eq!(pacing(1000).after(SECOND / 5, 4000), Err(SECOND / 20));
        assert_eq!(pacing(1000).after(SECOND / 5, 100), Ok(200));
        assert_eq!(pacing(1000).after(Duration::ZERO, 100), Err(SECOND / 10));
        assert_eq!(pacing(1000).after(Duration::ZERO, 0), Ok(0));
    }

    #[test]
    fn the_slowest_rate_goes_on_as_well() {
        let slowest = Pacing { bytes_per_second: 1, began: Instant::now(), sent: 1 };
        assert_eq!(slowest.after(Duration::ZERO, 10), Err(SECOND));
        assert_eq!(slowest.after(SECOND, 10), Ok(1));
    }
}
