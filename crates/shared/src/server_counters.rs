//! Counts of what one server of the shared tier was asked and did, for all workers.

use crate::failure::Failure;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The counts so far. Each grows for as long as the server is configured.
#[derive(Debug, Default)]
pub struct ServerCounters {
    /// Values that were asked for.
    pub gets: Count,
    /// Those that the server had.
    pub hits: Count,
    /// Values that were to be stored.
    pub sets: Count,
    /// Operations that failed, also those that the server refused; without `timeouts` and `busy`.
    pub errors: Count,
    /// Operations that had no answer in time.
    pub timeouts: Count,
    /// Operations that were not tried, since too many were waiting.
    pub busy: Count,
    /// Bytes received.
    pub bytes_in: Count,
    /// Bytes sent.
    pub bytes_out: Count,
    /// How long operations with an answer took.
    pub latency: Latency,
}

impl ServerCounters {
    /// Counts an operation that failed.
    pub(crate) fn count(&self, failure: &Failure) {
        match failure {
            Failure::Timeout => self.timeouts.add(1),
            Failure::Busy => self.busy.add(1),
            _ => self.errors.add(1),
        }
    }
}

/// One count.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// The count so far.
    pub fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }
}

/// How long operations took, in microseconds.
#[derive(Debug, Default)]
pub struct Latency {
    /// All of them together.
    pub sum_us: Count,
    /// How many there were.
    pub count: Count,
    max_us: AtomicU64,
}

impl Latency {
    /// The longest one.
    pub fn max_us(&self) -> u64 {
        self.max_us.load(Ordering::Relaxed)
    }

    pub(crate) fn record(&self, taken: Duration) {
        let us = u64::try_from(taken.as_micros()).unwrap_or(u64::MAX);
        self.sum_us.add(us);
        self.count.add(1);
        self.max_us.fetch_max(us, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_have_a_sum_a_count_and_a_maximum() {
        let latency = Latency::default();
        for us in [5, 90, 7] {
            latency.record(Duration::from_micros(us));
        }
        assert_eq!((latency.sum_us.value(), latency.count.value(), latency.max_us()), (102, 3, 90));
    }
}
