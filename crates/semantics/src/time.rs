//! Defines the time of a decision: the caller passes it as an argument, and no decision reads a clock.
//!
//! There are two clocks, because they answer different questions. The wall clock is compared with the times that the origin wrote
//! (Date, Expires) and may jump; the monotonic clock measures how long Kasoku has had a response and may not jump.

use std::time::Duration;

/// One moment on both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// Milliseconds since the Unix epoch, UTC.
    pub unix_ms: i64,
    /// Milliseconds since some fixed moment, never going back.
    pub mono_ms: u64,
}

impl Now {
    /// Whole seconds since the Unix epoch, rounded down.
    pub fn unix_seconds(self) -> i64 {
        self.unix_ms.div_euclid(1000)
    }

    /// The moment `ms` milliseconds later on both clocks.
    #[must_use]
    pub fn after(self, ms: u64) -> Now {
        Now {
            unix_ms: self.unix_ms.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX)),
            mono_ms: self.mono_ms.saturating_add(ms),
        }
    }

    /// The moment at which the wall clock showed `unix_ms`, on both clocks: for times that an earlier process has written. A moment that
    /// seems to be in the future is now.
    #[must_use]
    pub fn when(self, unix_ms: i64) -> Now {
        let ago_ms = u64::try_from(self.unix_ms.saturating_sub(unix_ms)).unwrap_or(0);
        Now { unix_ms, mono_ms: self.mono_ms.saturating_sub(ago_ms) }
    }

    /// Whole seconds on the monotonic clock from `earlier` to this moment; 0 when `earlier` is later.
    pub fn seconds_since(self, earlier: Now) -> u64 {
        self.mono_ms.saturating_sub(earlier.mono_ms) / 1000
    }
}

/// A duration in milliseconds.
pub fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_move_on_both_clocks() {
        let start = Now { unix_ms: -1, mono_ms: 500 };
        assert_eq!(start.unix_seconds(), -1);
        assert_eq!(start.after(1001), Now { unix_ms: 1000, mono_ms: 1501 });
        assert_eq!(start.after(1999).seconds_since(start), 1);
        assert_eq!(start.seconds_since(start.after(1)), 0);
        assert_eq!(start.after(400).when(-1), start);
        assert_eq!(start.when(99), Now { unix_ms: 99, mono_ms: 500 }, "a clock that was set back");
    }
}
