//! Measures how long requests and origins take: one table of histograms, with a row of cells for each worker.
//!
//! All histograms have the same few buckets, so that the times of hits, of misses and of the origin can be compared. Cells work as
//! those of counters do: each has one writer, counting is a plain load and store, and readers sum over the workers.

use std::sync::atomic::{AtomicU64, Ordering};

/// The buckets' upper bounds, inclusive, in microseconds; longer times fall into one more bucket.
pub const BOUNDS_US: [u64; 12] =
    [1_000, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000];

/// The number of buckets of a histogram; the cell of its sum follows them.
const BUCKETS: usize = BOUNDS_US.len() + 1;
const CELLS: usize = BUCKETS + 1;

macro_rules! histograms {
    ($($variant:ident $name:literal $result:literal $help:literal;)*) => {
        /// What is timed. The table below is the reference; histograms of the same name are told apart by their result.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Timer { $(#[doc = $help] $variant),* }

        impl Timer {
            /// All histograms, in the order of the table; those of the same name stand together.
            pub const ALL: &'static [Timer] = &[$(Timer::$variant),*];

            /// The name in `/metrics`, without prefix.
            pub fn name(self) -> &'static str {
                match self { $(Timer::$variant => $name),* }
            }

            /// The value of its label `result`; empty where it has none.
            pub fn result(self) -> &'static str {
                match self { $(Timer::$variant => $result),* }
            }

            /// One sentence for people.
            pub fn help(self) -> &'static str {
                match self { $(Timer::$variant => $help),* }
            }
        }
    };
}

histograms! {
    Hit "request_seconds" "hit" "Seconds from a request's head to the last byte of its answer; 0 for answers that were sent without a wait.";
    Miss "request_seconds" "miss" "Seconds from a request's head to the last byte of its answer; 0 for answers that were sent without a wait.";
    Pass "request_seconds" "pass" "Seconds from a request's head to the last byte of its answer; 0 for answers that were sent without a wait.";
    Error "request_seconds" "error" "Seconds from a request's head to the last byte of its answer; 0 for answers that were sent without a wait.";
    Origin "origin_head_seconds" "" "Seconds from asking the origins of a rule to the head of an answer, or to their failure; includes connecting, waiting for a connection and asking another origin.";
}

/// One worker's cells.
#[derive(Debug)]
pub(crate) struct Times(Box<[AtomicU64]>);

impl Times {
    pub(crate) fn new() -> Self {
        Self((0..CELLS * Timer::ALL.len()).map(|_| AtomicU64::new(0)).collect())
    }

    /// Counts a time of `us` microseconds. To be called by the owning worker only.
    pub(crate) fn observe(&self, timer: Timer, us: u64) {
        let bucket = BOUNDS_US.iter().position(|bound| us <= *bound).unwrap_or(BOUNDS_US.len());
        let start = timer as usize * CELLS;
        self.add(start + bucket, 1);
        if us > 0 {
            self.add(start + BUCKETS, us);
        }
    }

    fn add(&self, cell: usize, n: u64) {
        if let Some(cell) = self.0.get(cell) {
            cell.store(cell.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
        }
    }

    pub(crate) fn add_to(&self, timer: Timer, sum: &mut Histogram) {
        let start = timer as usize * CELLS;
        let cell = |at: usize| self.0.get(start + at).map_or(0, |cell| cell.load(Ordering::Relaxed));
        for (at, count) in sum.buckets.iter_mut().enumerate() {
            *count += cell(at);
        }
        sum.sum_us = sum.sum_us.wrapping_add(cell(BUCKETS));
    }
}

/// A histogram, summed over all workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// The number of times in each bucket alone (not cumulative); the last bucket has no bound.
    pub buckets: [u64; BUCKETS],
    /// The sum of all times, in microseconds.
    pub sum_us: u64,
}

impl Histogram {
    /// The number of times in all buckets.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// The mean in microseconds; `None`: nothing was counted.
    pub fn mean_us(&self) -> Option<u64> {
        self.sum_us.checked_div(self.count())
    }

    /// The quantile of `part` (0 to 1) in microseconds: the upper bound of its bucket. `None`: nothing was counted, or the quantile
    /// lies beyond the last bound.
    pub fn quantile_us(&self, part: f64) -> Option<u64> {
        let wanted = self.count() as f64 * part;
        let mut so_far = 0;
        self.buckets.iter().zip(BOUNDS_US).find_map(|(count, bound)| {
            so_far += count;
            (so_far > 0 && so_far as f64 >= wanted).then_some(bound)
        })
    }

    /// What was counted since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut difference = *self;
        for (now, before) in difference.buckets.iter_mut().zip(earlier.buckets) {
            *now = now.saturating_sub(before);
        }
        difference.sum_us = self.sum_us.wrapping_sub(earlier.sum_us);
        difference
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[u64]) -> Histogram {
        let (times, mut histogram) = (Times::new(), Histogram::default());
        values.iter().for_each(|us| times.observe(Timer::Miss, *us));
        times.add_to(Timer::Miss, &mut histogram);
        histogram
    }

    #[test]
    fn a_bound_belongs_to_its_bucket() {
        let histogram = of(&[0, 1_000, 1_001, 10_000_000, 10_000_001]);
        assert_eq!(histogram.buckets, [2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
        assert_eq!((histogram.count(), histogram.sum_us), (5, 20_002_002));
    }

    #[test]
    fn timers_do_not_mix() {
        let times = Times::new();
        Timer::ALL.iter().enumerate().for_each(|(number, timer)| times.observe(*timer, number as u64));
        for (number, timer) in Timer::ALL.iter().enumerate() {
            let mut histogram = Histogram::default();
            times.add_to(*timer, &mut histogram);
            assert_eq!((histogram.count(), histogram.sum_us), (1, number as u64));
        }
    }

    #[test]
    fn mean_and_quantiles_of_what_came_since() {
        let (earlier, later) = (of(&[1_000]), of(&[1_000, 4_000, 4_000, 40_000, 20_000_000]));
        let since = later.since(&earlier);
        assert_eq!((since.count(), since.mean_us()), (4, Some(5_012_000)));
        assert_eq!((since.quantile_us(0.5), since.quantile_us(0.75)), (Some(5_000), Some(50_000)));
        assert_eq!(since.quantile_us(1.0), None, "it is not known how long it took");
        assert_eq!((of(&[]).mean_us(), of(&[]).quantile_us(0.5)), (None, None));
    }

    #[test]
    fn those_of_one_name_stand_together_and_say_the_same() {
        let mut names: Vec<_> = Timer::ALL.iter().map(|timer| (timer.name(), timer.help())).collect();
        names.dedup();
        assert_eq!(names.len(), 2, "{names:?}");
    }
}
