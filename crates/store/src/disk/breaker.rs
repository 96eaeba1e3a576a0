//! Skips reads while the disk does not answer them, so that only a few requests wait for a disk that hangs.
//!
//! The owner says when it gave up a read. After [`TIMEOUTS_MAX`] of these without an answer in between, reads are skipped. After each
//! [`PAUSE`] one read is tried, and its answer ends the pause.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// After so many timeouts in a row, reads are skipped.
pub(super) const TIMEOUTS_MAX: u32 = 4;

/// After this time without reads, one is tried.
pub(super) const PAUSE: Duration = Duration::from_secs(10);

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Breaker(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Timeouts since the last answer.
    timeouts: u32,
    /// When the next read is tried. `None`: all reads are made.
    tried_at: Option<Instant>,
}

impl Breaker {
    /// Whether a read should be made now.
    pub(super) fn lets_through(&self, now: Instant) -> bool {
        let mut state = self.state();
        match state.tried_at {
            None => true,
            Some(tried_at) if now < tried_at => false,
            Some(_) => {
                // The others wait for what becomes of this one.
                state.tried_at = Some(now + PAUSE);
                true
            }
        }
    }

    /// Whether reads are skipped at present.
    pub(super) fn is_skipping(&self) -> bool {
        self.state().tried_at.is_some()
    }

    /// The owner gave up a read. Returns whether reads are skipped from now on, and were not before.
    pub(super) fn timed_out(&self, now: Instant) -> bool {
        let mut state = self.state();
        state.timeouts = state.timeouts.saturating_add(1);
        let begins = state.timeouts >= TIMEOUTS_MAX && state.tried_at.is_none();
        if begins {
            state.tried_at = Some(now + PAUSE);
        }
        begins
    }

    /// A read was answered in time. Returns whether reads were skipped until now.
    pub(super) fn answered(&self) -> bool {
        let mut state = self.state();
        state.timeouts = 0;
        state.tried_at.take().is_some()
    }

    /// The pause is over.
    #[cfg(test)]
    pub(super) fn try_now(&self) {
        self.state().tried_at = Some(Instant::now());
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_some_timeouts_in_a_row_reads_are_skipped_until_one_is_answered() {
        let (breaker, now) = (Breaker::default(), Instant::now());
        // An answer in between: the disk is slow, and works.
        assert!((1..TIMEOUTS_MAX).all(|_| !breaker.timed_out(now)));
        assert!(!breaker.answered());
        assert!((1..TIMEOUTS_MAX).all(|_| !breaker.timed_out(now)));
        assert!(breaker.lets_through(now));
        assert!(breaker.timed_out(now));
        // Reads that began before.
        assert!(!breaker.timed_out(now));
        assert!(!breaker.lets_through(now) && !breaker.lets_through(now + PAUSE / 2));
        // One is tried, and is not answered.
        assert!(breaker.lets_through(now + PAUSE));
        assert!(!breaker.lets_through(now + PAUSE) && !breaker.timed_out(now + PAUSE));
        assert!(breaker.lets_through(now + 2 * PAUSE));
        assert!(breaker.answered());
        assert!(breaker.lets_through(now + 2 * PAUSE) && breaker.lets_through(now + 2 * PAUSE));
        assert!(!breaker.timed_out(now + 2 * PAUSE));
    }
}
