//! The clocks of the engine. Only the worker reads them; all code below it gets `now`.

use kasoku_semantics::time::Now;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Tells the current time.
pub trait Clock: Send + Sync {
    /// The current time.
    fn now(&self) -> Now;

    /// The current time, and the same moment of the monotonic clock in microseconds. One reading gives both.
    fn moment(&self) -> WorkerTime {
        let now = self.now();
        WorkerTime { now, mono_us: now.mono_ms.saturating_mul(1000) }
    }
}

/// A moment, for durations of less than a millisecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerTime {
    /// The moment in the form that all other code uses.
    pub now: Now,
    /// Microseconds since some fixed moment, never going back.
    pub mono_us: u64,
}

/// The operating system's clocks: the wall clock for dates, the monotonic one for ages, so that a step of the wall clock makes
/// nothing older or younger. Each request reads the monotonic clock. Its difference to the wall clock is measured anew each
/// second, so a step of the wall clock shows with that delay.
///
/// The monotonic clock begins at the time of the wall clock at the start, not at 0: so there is room before it for the times of
/// responses that an earlier process has stored.
#[derive(Debug)]
pub struct SystemClock {
    start: Instant,
    /// The monotonic clock at the start, in microseconds.
    start_us: u64,
    /// Wall clock minus monotonic clock, in milliseconds.
    offset_ms: AtomicI64,
    /// When the wall clock is read next, in milliseconds of the monotonic clock.
    next_ms: AtomicU64,
}

/// How long a reading of the wall clock counts, in milliseconds.
const WALL_CLOCK_MS: u64 = 1000;

/// The wall clock, in milliseconds since 1970.
fn wall_clock_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as i64
}

impl SystemClock {
    /// Starts counting.
    pub fn new() -> Self {
        let start_ms = u64::try_from(wall_clock_ms()).unwrap_or_default();
        Self {
            start: Instant::now(),
            start_us: start_ms * 1000,
            offset_ms: AtomicI64::new(0),
            next_ms: AtomicU64::new(start_ms + WALL_CLOCK_MS),
        }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Now {
        self.moment().now
    }

    fn moment(&self) -> WorkerTime {
        let elapsed = self.start.elapsed();
        // Not as_micros(), which calculates with 128 bits.
        let mono_us = self.start_us + elapsed.as_secs() * 1_000_000 + u64::from(elapsed.subsec_micros());
        let mono_ms = mono_us / 1000;
        if mono_ms >= self.next_ms.load(Ordering::Relaxed) {
            // A thread that still sees the offset from before is right to the second, too.
            self.offset_ms.store(wall_clock_ms() - mono_ms as i64, Ordering::Relaxed);
            self.next_ms.store(mono_ms + WALL_CLOCK_MS, Ordering::Relaxed);
        }
        let now = Now { unix_ms: self.offset_ms.load(Ordering::Relaxed) + mono_ms as i64, mono_ms };
        WorkerTime { now, mono_us }
    }
}

/// A clock for tests, which stands still until a test moves it.
#[derive(Debug)]
pub struct SimulatedClock {
    start: SystemTime,
    ms: AtomicI64,
}

impl SimulatedClock {
    /// Starts at the current time.
    pub fn new() -> Self {
        Self { start: SystemTime::now(), ms: AtomicI64::new(0) }
    }

    /// Moves both clocks on.
    pub fn advance_seconds(&self, seconds: i64) {
        self.ms.fetch_add(seconds * 1000, Ordering::SeqCst);
    }
}

impl Default for SimulatedClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SimulatedClock {
    fn now(&self) -> Now {
        let ms = self.ms.load(Ordering::SeqCst);
        let unix_ms = self.start.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as i64 + ms;
        Now { unix_ms, mono_ms: u64::try_from(unix_ms).unwrap_or_default() }
    }
}
