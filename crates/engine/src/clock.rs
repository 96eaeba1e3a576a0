//! The clock. Only the worker reads it; everything below takes `now`.

use kasoku_semantics::time::Now;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Where the present comes from.
pub trait Clock: Send + Sync {
    /// The present.
    fn now(&self) -> Now;
}

/// The operating system's clocks: the wall clock for dates, the monotonic one for ages, so that a step of the wall
/// clock makes nothing older or younger.
#[derive(Debug)]
pub struct SystemClock(Instant);

impl SystemClock {
    /// Starts counting.
    pub fn new() -> Self {
        Self(Instant::now())
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Now {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Now { unix_ms: unix.as_millis() as i64, mono_ms: self.0.elapsed().as_millis() as u64 }
    }
}

/// A clock that stands still until somebody moves it: for tests.
#[derive(Debug)]
pub struct SimulatedClock {
    start: SystemTime,
    ms: AtomicI64,
}

impl SimulatedClock {
    /// Stands at the present.
    pub fn new() -> Self {
        Self { start: SystemTime::now(), ms: AtomicI64::new(0) }
    }

    /// Moves on.
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
        let unix = self.start.duration_since(UNIX_EPOCH).unwrap_or_default();
        Now { unix_ms: unix.as_millis() as i64 + ms, mono_ms: ms as u64 }
    }
}
