//! Counters of a layer. Each thread adds to one of a few rows, so that hits on several cores do not share a cache line.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

const ROWS: usize = 16;

/// What is counted.
#[derive(Clone, Copy)]
pub(crate) enum Count {
    /// Requests that a stored response answered: at once, or stale after another request's fill failed.
    Hits,
    /// Requests that began a fill.
    Misses,
    /// Requests that got the response of another request's fill.
    Collapsed,
    /// Requests that went to the application as they came.
    Passes,
    /// Fills in the background.
    Refreshes,
    /// Responses that were stored.
    Stored,
    /// Fills that the shared tier has answered.
    SharedHits,
    /// Responses that were written to the shared tier.
    SharedStored,
    /// Responses that were stored and not written there.
    SharedRefused,
}

const COUNTS: usize = Count::SharedRefused as usize + 1;

#[repr(align(128))]
#[derive(Default)]
struct Row([AtomicU64; COUNTS]);

#[derive(Default)]
pub(crate) struct Counts([Row; ROWS]);

impl Counts {
    pub(crate) fn add(&self, count: Count) {
        if let Some(cell) = self.0.get(own_row()).and_then(|row| row.0.get(count as usize)) {
            cell.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn sum(&self, count: Count) -> u64 {
        self.0.iter().filter_map(|row| row.0.get(count as usize)).map(|cell| cell.load(Ordering::Relaxed)).sum()
    }
}

/// The row of this thread.
fn own_row() -> usize {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static ROW: Cell<Option<usize>> = const { Cell::new(None) };
    }
    ROW.with(|row| {
        row.get().unwrap_or_else(|| {
            let own = THREADS.fetch_add(1, Ordering::Relaxed) % ROWS;
            row.set(Some(own));
            own
        })
    })
}
