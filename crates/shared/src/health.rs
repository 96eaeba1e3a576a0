//! Whether a server of the shared tier may be asked, for all workers.
//!
//! A server is usable while its log of purges is known, that is, for a second after each time it was read ([`ServerHealth::synced`]), and
//! not before the first time. One failed operation makes it unusable at once, so that a server that is gone delays a client once.
//!
//! It becomes usable again when its log is read after a hold. The hold is 250 ms, and doubles up to 2 s with each further failure after
//! the end of a hold, if no operation succeeded in between. Failures during a hold are of the same outage (all requests that waited fail
//! at once, in each worker), so they change nothing.
//!
//! Times are arguments, in milliseconds of a monotonic clock. A look-up reads one atomic; the lock is taken by failures and by
//! [`ServerHealth::synced`].

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How long a server is usable after its log has been read.
pub const SYNC_AGE_MAX_MS: u64 = 1000;

/// The first hold.
pub const HOLD_MIN_MS: u64 = 250;

/// The longest hold.
pub const HOLD_MAX_MS: u64 = 2000;

/// What is known of one server. See the [module](self).
#[derive(Debug, Default)]
pub struct ServerHealth {
    /// The first millisecond at which the server is no longer usable; 0 while it is unusable.
    usable_until_ms: AtomicU64,
    /// Whether an operation has failed since the last success.
    has_failed: AtomicBool,
    hold: Mutex<Hold>,
    outages: AtomicU64,
    /// When the log was last read.
    synced_ms: AtomicU64,
}

#[derive(Debug, Default)]
struct Hold {
    /// The first millisecond after the hold.
    ends_ms: u64,
    /// How long it is; 0 before the first failure.
    length_ms: u64,
}

impl ServerHealth {
    /// Whether the server may be asked.
    pub fn is_usable(&self, now_ms: u64) -> bool {
        // What was learned with a reading of the log is published by the one who read it.
        now_ms < self.usable_until_ms.load(Ordering::Acquire)
    }

    /// An operation has succeeded.
    pub fn succeeded(&self) {
        // Mostly nothing has failed, and then no cache line is written.
        if self.has_failed.load(Ordering::Relaxed) {
            self.has_failed.store(false, Ordering::Relaxed);
        }
    }

    /// An operation has failed: the server was not reached, did not answer in time, or answered nonsense.
    pub fn failed(&self, now_ms: u64) {
        let mut hold = self.lock();
        if self.usable_until_ms.swap(0, Ordering::AcqRel) != 0 {
            self.outages.fetch_add(1, Ordering::Relaxed);
        }
        if now_ms < hold.ends_ms {
            return;
        }
        let is_first = !self.has_failed.swap(true, Ordering::Relaxed);
        hold.length_ms = if is_first { HOLD_MIN_MS } else { (hold.length_ms * 2).clamp(HOLD_MIN_MS, HOLD_MAX_MS) };
        hold.ends_ms = now_ms.saturating_add(hold.length_ms);
    }

    /// The log of the server has been read and carried out. The time is that at which the reading began.
    pub fn synced(&self, now_ms: u64) {
        self.synced_ms.fetch_max(now_ms, Ordering::Relaxed);
        let hold = self.lock();
        if now_ms < hold.ends_ms {
            return;
        }
        let until = now_ms.saturating_add(SYNC_AGE_MAX_MS + 1);
        let before = self.usable_until_ms.swap(until, Ordering::AcqRel);
        if before != 0 && before <= now_ms {
            self.outages.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How often the server has become unusable. If its log was not read in time, it counts once the log is read again.
    pub fn outages(&self) -> u64 {
        self.outages.load(Ordering::Relaxed)
    }

    /// How long ago the log was last read, in milliseconds; if it never was, the time since the clock began.
    pub fn log_age_ms(&self, now_ms: u64) -> u64 {
        now_ms.saturating_sub(self.synced_ms.load(Ordering::Relaxed))
    }

    fn lock(&self) -> MutexGuard<'_, Hold> {
        self.hold.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What happens to a server, and when.
    #[derive(Debug)]
    enum Event {
        Synced(u64),
        Failed(u64),
        Succeeded,
        /// It is expected to be usable.
        Up(u64),
        /// It is expected to be unusable.
        Down(u64),
    }
    use Event::*;

    fn check(name: &str, outages: u64, events: &[Event]) {
        let health = ServerHealth::default();
        for (number, event) in events.iter().enumerate() {
            match *event {
                Synced(now) => health.synced(now),
                Failed(now) => health.failed(now),
                Succeeded => health.succeeded(),
                Up(now) => assert!(health.is_usable(now), "{name}: event {number}, {event:?}"),
                Down(now) => assert!(!health.is_usable(now), "{name}: event {number}, {event:?}"),
            }
        }
        assert_eq!(health.outages(), outages, "{name}");
    }

    #[test]
    fn a_server_is_usable_while_its_log_is_known_and_nothing_failed() {
        check("unknown at first", 0, &[Down(0), Down(5000), Succeeded, Down(5000)]);
        check("the clock may begin at 0", 0, &[Synced(0), Up(0), Up(1000), Down(1001)]);
        check("for a second", 0, &[Synced(70), Up(70), Up(1070), Down(1071), Succeeded, Down(1071)]);
        check("again and again", 0, &[Synced(0), Synced(900), Up(1900), Down(1901)]);
        check("read too late", 1, &[Synced(0), Down(3000), Synced(3000), Up(3000)]);
        check("failed after it was read too late", 1, &[Synced(0), Failed(3000), Down(3000)]);
    }

    #[test]
    fn a_failure_counts_at_once_and_is_over_after_a_hold() {
        check("at once", 1, &[Synced(0), Failed(10), Down(10), Succeeded, Down(10)]);
        check("within the hold", 1, &[Synced(0), Failed(10), Synced(259), Down(259), Down(260), Down(400)]);
        check("after the hold", 1, &[Synced(0), Failed(10), Synced(260), Up(260), Up(1260)]);
        check("before it was ever known", 0, &[Failed(10), Synced(259), Down(259), Synced(260), Up(260)]);
        check("time alone is not enough", 1, &[Synced(0), Failed(10), Down(500), Down(5000)]);
    }

    #[test]
    fn holds_double_until_an_operation_succeeds() {
        let tried = |at, hold| [Failed(at), Synced(at + hold - 1), Down(at + hold - 1)];
        let mut events = vec![Synced(0)];
        events.extend(tried(0, 250));
        events.extend(tried(250, 500));
        events.extend(tried(1000, 1000));
        events.extend(tried(2000, 2000));
        events.extend(tried(4000, 2000));
        events.extend([Synced(6000), Up(6000), Failed(6000)]);
        events.extend([Synced(7999), Down(7999), Synced(8000), Up(8000), Succeeded]);
        events.extend(tried(8000, 250));
        events.extend([Synced(8250), Up(8250)]);
        check("doubled", 3, &events);
    }

    #[test]
    fn the_age_of_the_log_begins_with_its_reading_also_during_a_hold() {
        let health = ServerHealth::default();
        assert_eq!(health.log_age_ms(700), 700, "never");
        health.synced(900);
        health.synced(800);
        assert_eq!(health.log_age_ms(1000), 100, "a slower worker began earlier");
        health.failed(1000);
        health.synced(1100);
        assert_eq!((health.log_age_ms(1100), health.is_usable(1100)), (0, false));
    }

    #[test]
    fn failures_of_one_outage_are_one() {
        let burst = [Synced(0), Failed(10), Failed(10), Failed(11), Failed(259), Synced(260), Up(260)];
        check("a burst", 1, &burst);
        check(
            "then one more",
            2,
            &[Synced(0), Failed(10), Failed(10), Synced(260), Failed(260), Synced(759), Down(759)],
        );
    }

    #[test]
    fn the_end_of_time_is_no_overflow() {
        let end = u64::MAX;
        check("the end", 1, &[Synced(end - 1), Up(end - 1), Failed(end), Failed(end), Down(end), Synced(end)]);
    }
}
