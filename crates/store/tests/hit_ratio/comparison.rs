//! Runs the traces against the memory tier and the two simulators, and compares the hit ratios.

use super::Simulator;
use super::lru::Lru;
use super::ours::Ours;
use super::s3_fifo::S3Fifo;
use super::trace::{Sizes, Trace, scanned, zipf};
use std::fmt;

/// The sizes of the cache, in percent of the bytes of all objects.
pub(crate) const CACHE_PERCENT: [u64; 2] = [1, 10];

/// The hit ratios of one trace at one cache size, in percent of the counted requests.
pub(crate) struct Row {
    pub(crate) trace: String,
    pub(crate) sizes: Sizes,
    /// One of [`CACHE_PERCENT`].
    pub(crate) percent: u64,
    pub(crate) ours: f64,
    pub(crate) s3_fifo: f64,
    pub(crate) lru: f64,
}

/// The most percentage points by which the tier's hit ratio may be below that of S3-FIFO.
const BEHIND_MAX: f64 = 2.0;

/// The size of the largest object of all traces, in bytes. It decides, with the tier's size, how many shards the tier has.
const OBJECT_BYTES_MAX: u64 = 1 << 20;

impl Row {
    /// Whether the tier is nearly as good as S3-FIFO, and better than LRU.
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

/// Runs a Zipf trace for each of `alphas` and one with scans, each of `count` requests, at both cache sizes; calls `each` after each row.
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

/// The hit ratio in percent. The first quarter of the requests fills the cache and is not counted.
fn hit_ratio(trace: &Trace, mut cache: impl Simulator) -> f64 {
    hit_ratio_with(trace, 0, &mut cache)
}

/// The same, where each object takes `overhead_bytes` more than the trace says.
pub(crate) fn hit_ratio_with(trace: &Trace, overhead_bytes: u64, cache: &mut impl Simulator) -> f64 {
    let mut is_hit = |object: u32| cache.request(object, trace.bytes(object) + overhead_bytes);
    let (filling, counted) = trace.requests.split_at(trace.requests.len() / 4);
    filling.iter().for_each(|object| _ = is_hit(*object));
    let hits = counted.iter().filter(|object| is_hit(**object)).count();
    100.0 * hits as f64 / counted.len() as f64
}
