//! Keeps the whole process below a number of cores, so that a soak can run beside other work.
//!
//! It lengthens or shortens the pause that each client takes between two requests, by the processor time that the kernel
//! accounts to this process.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The most processor time for each second of wall time, in seconds.
const CORES_MAX: f64 = 1.3;
/// Ticks of /proc/self/stat in a second (USER_HZ, which is 100 on Linux).
const TICKS: f64 = 100.0;
const INTERVAL: Duration = Duration::from_millis(250);
const PAUSE_MICROS: std::ops::RangeInclusive<u64> = 50..=200_000;

/// See the [module](self).
pub struct Governor(AtomicU64);

impl Governor {
    /// Begins with a long pause.
    pub fn new() -> Self {
        Self(AtomicU64::new(5_000))
    }

    /// Pauses a client between two requests.
    pub fn pause(&self) {
        thread::sleep(Duration::from_micros(self.0.load(Ordering::Relaxed)));
    }

    /// Adjusts the pause until that moment.
    pub fn run(&self, until: Instant) {
        let mut before = (Instant::now(), cpu_seconds());
        while Instant::now() < until {
            thread::sleep(INTERVAL.min(until.saturating_duration_since(Instant::now())));
            let now = (Instant::now(), cpu_seconds());
            let used = (now.1 - before.1) / (now.0 - before.0).as_secs_f64().max(0.001);
            let pause = self.0.load(Ordering::Relaxed);
            let changed = if used > CORES_MAX { pause + pause / 3 + 50 } else { pause - pause / 8 };
            self.0.store(changed.clamp(*PAUSE_MICROS.start(), *PAUSE_MICROS.end()), Ordering::Relaxed);
            before = now;
        }
    }
}

impl Default for Governor {
    fn default() -> Self {
        Self::new()
    }
}

/// Processor time of this process so far.
pub fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name in parentheses may hold spaces; utime and stime are the 12th and 13th field behind it.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    fields.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / TICKS
}
