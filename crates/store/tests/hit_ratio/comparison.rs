//! The traces, run against the memory tier and the two simulators.

use super::Simulator;
use super::lru::Lru;
use super::ours::Ours;
use super::s3_fifo::S3Fifo;
use super::trace::{Sizes, Trace, scanned, zipf};
use std::fmt;

/// Sizes of the cache, in percent of all objects' bytes.
pub(crate) const CACHE_PERCENT: [u64; 2] = [1, 10];

/// Hit ratios of one trace at one size, in percent of the requests that are counted.
pub(crate) struct Row {
    pub(crate) trace: String,
    pub(crate) sizes: Sizes,
    /// One of [`CACHE_PERCENT`].
    pub(crate) percent: u64,
    pub(crate) ours: f64,
    pub(crate) s3_fifo: f64,
    pub(crate) lru: f64,
}

/// Percentage points by which the tier may be behind S3-FIFO.
const BEHIND_MAX: f64 = 2.0;

/// The largest object of all traces: with the size of the tier it decides how many shards there are.
const OBJECT_BYTES_MAX: u64 = 1 << 20;

impl Row {
    /// Whether the tier does what is expected of it.
    pub(crate) fn is_good(&self) -> bool {
        self.ours >= self.s3_fifo - BEHIND_MAX && self.ours > self.lru
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { trace, sizes, percent, ours, s3_fifo, lru } = self;
        write!(f, "{trace}, {sizes:?} sizes, {percent} %: ours {ours:.2} %, S3-FIFO {s3_fifo:.2} %, LRU {lru:.2} %")
    }
}

/// A Zipf trace for each of `alphas` and one with scans, each of `count` requests, at both sizes; calls `each` after each
/// row.
pub(crate) fn compare(alphas: &[f64], count: usize, mut each: impl FnMut(&Row)) -> Vec<Row> {
    let mut rows = Vec::new();
    for sizes in [Sizes::Uniform, Sizes::Mixed] {
        let all_bytes = sizes.all_bytes();
        let zipfs = alphas.iter().map(|alpha| zipf(*alpha, sizes, count));
        for trace in zipfs.chain([scanned(0.9, 30, sizes, count)]) {
            for percent in CACHE_PERCENT {
                let bytes_max = all_bytes * percent / 100;
                let row = Row {
                    trace: trace.name.clone(),
                    sizes,
                    percent,
                    ours: hit_ratio(&trace, Ours::new(bytes_max, OBJECT_BYTES_MAX)),
                    s3_fifo: hit_ratio(&trace, S3Fifo::new(bytes_max)),
                    lru: hit_ratio(&trace, Lru::new(bytes_max)),
                };
                each(&row);
                rows.push(row);
            }
        }
    }
    rows
}

/// The first quarter of the requests fills the cache and is not counted.
fn hit_ratio(trace: &Trace, mut cache: impl Simulator) -> f64 {
    let mut is_hit = |object: u32| cache.request(object, trace.bytes(object));
    let (filling, counted) = trace.requests.split_at(trace.requests.len() / 4);
    filling.iter().for_each(|object| _ = is_hit(*object));
    let hits = counted.iter().filter(|object| is_hit(**object)).count();
    100.0 * hits as f64 / counted.len() as f64
}
