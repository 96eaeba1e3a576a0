//! Compares the hit ratio of the memory tier with those of S3-FIFO and LRU, which simulators compute, on shorter traces than those of
//! `examples/hit_ratio` of kasoku-cache, which prints the table of docs/benchmarks.md.
//!
//! Traces are the same in each run. The tier's hash has a random key, so the load of its shards varies. From run to run this changes the
//! hit ratio by a tenth of a percentage point, while the test allows a difference of two points.

mod comparison;
mod lru;
mod ours;
mod s3_fifo;
mod trace;

use comparison::{Row, compare};

/// The exponents of the Zipf traces: the smallest and the largest of the example.
const ALPHAS: [f64; 2] = [0.7, 1.2];

/// Requests in each trace: a fifth of the example's.
const REQUESTS: usize = 200_000;

/// A cache of which only the hits matter.
trait Simulator {
    /// Requests an object of `bytes` bytes, and stores the object after a miss. Returns whether the request was a hit.
    fn request(&mut self, object: u32, bytes: u64) -> bool;
}

#[test]
fn the_tier_hits_as_often_as_s3_fifo_and_more_often_than_lru() {
    let rows = compare(&ALPHAS, REQUESTS, |_| ());
    assert_eq!(rows.len(), 2 * 2 * (ALPHAS.len() + 1), "sizes, times sizes of the cache, times traces");
    let bad: Vec<_> = rows.iter().filter(|row| !row.is_good()).map(Row::to_string).collect();
    assert!(bad.is_empty(), "{bad:#?}");
}

#[test]
fn the_simulated_s3_fifo_keeps_what_is_asked_for_more_than_once_through_a_scan() {
    // Room for ten objects: one in the small queue, nine in the main one.
    let mut cache = s3_fifo::S3Fifo::new(10);
    assert!(!cache.request(0, 1));
    assert!(cache.request(0, 1) && cache.request(0, 1), "it was just stored");
    (100..120).for_each(|scanned| assert!(!cache.request(scanned, 1)));
    assert!(cache.request(0, 1), "pushed out by a scan");
    // One more request is not enough to survive, but the ghost queue keeps the name, so the object then enters the main queue.
    assert!(!cache.request(1, 1));
    assert!(cache.request(1, 1));
    (200..210).for_each(|scanned| assert!(!cache.request(scanned, 1)));
    assert!(!cache.request(1, 1), "survived with one more request");
    (300..320).for_each(|scanned| assert!(!cache.request(scanned, 1)));
    assert!(cache.request(1, 1), "the ghost was not recognised");
}

#[test]
fn the_simulated_lru_drops_what_was_not_used_for_longest() {
    let mut cache = lru::Lru::new(3);
    for (object, is_hit) in [(1, false), (2, false), (3, false), (1, true), (4, false), (2, false), (1, true)] {
        assert_eq!(cache.request(object, 1), is_hit, "{object}");
    }
}
