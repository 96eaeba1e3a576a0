//! Counts what a data cache does.

use crate::sync::{AtomicU64, Ordering};
use kasoku_store::{Evicted, KeyHash};

/// Rows of cells: threads that ask for different keys seldom write to the same cache line.
const ROWS: usize = 16;

/// What a data cache has done since it was built, and what it holds. Each finished call of `get`, `load` or `load_optional` counts as one
/// of `hits`, `negative_hits`, `stale` and `misses`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Calls that a fresh value answered.
    pub hits: u64,
    /// Calls that a fresh "not found" answered.
    pub negative_hits: u64,
    /// Calls that an expired value answered: while another caller loaded it, or after a load failed.
    pub stale: u64,
    /// Calls that no stored value answered. They loaded, waited for a load, got a value of the shared tier, or, with `get`,
    /// found nothing.
    pub misses: u64,
    /// Calls that waited for the load of another caller.
    pub waits: u64,
    /// Loads that began.
    pub loads: u64,
    /// Loads that ended with an error.
    pub load_errors: u64,
    /// Loads that run at present, or look in the shared tier.
    pub loads_running: u64,
    /// Values that were found in the shared tier in place of a load.
    pub shared_hits: u64,
    /// Values that were loaded here and written to the shared tier.
    pub shared_stored: u64,
    /// Values that were loaded here and not written there: they can't be, a server was away or too slow, or too many values waited.
    pub shared_refused: u64,
    /// Values that were evicted for lack of room.
    pub evictions: u64,
    /// Stored values, including expired ones, and including purged ones for which no call has asked since the purge (by tag, by prefix, or
    /// of all).
    pub entries: u64,
    /// The sum of their weights, in bytes.
    pub weight_bytes: u64,
}

/// How a call was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answered {
    Fresh,
    Negative,
    Stale,
    Miss,
}

#[derive(Default)]
#[repr(align(128))]
struct Row {
    fresh: AtomicU64,
    negative: AtomicU64,
    stale: AtomicU64,
    miss: AtomicU64,
}

/// The counters of [`Stats`].
#[derive(Default)]
pub(super) struct Counters {
    rows: [Row; ROWS],
    pub(super) waits: AtomicU64,
    pub(super) loads: AtomicU64,
    pub(super) load_errors: AtomicU64,
    pub(super) shared_hits: AtomicU64,
    pub(super) shared_stored: AtomicU64,
    pub(super) shared_refused: AtomicU64,
}

impl Counters {
    pub(super) fn count(&self, hash: KeyHash, answered: Answered) {
        let [first, ..] = &self.rows;
        let row = self.rows.get(hash.spread(ROWS)).unwrap_or(first);
        add(match answered {
            Answered::Fresh => &row.fresh,
            Answered::Negative => &row.negative,
            Answered::Stale => &row.stale,
            Answered::Miss => &row.miss,
        });
    }

    pub(super) fn read(&self, loads_running: usize, evicted: Evicted, entries: usize, weight_bytes: u64) -> Stats {
        let sum = |cell: fn(&Row) -> &AtomicU64| self.rows.iter().map(|row| read(cell(row))).sum();
        Stats {
            hits: sum(|row| &row.fresh),
            negative_hits: sum(|row| &row.negative),
            stale: sum(|row| &row.stale),
            misses: sum(|row| &row.miss),
            waits: read(&self.waits),
            loads: read(&self.loads),
            load_errors: read(&self.load_errors),
            loads_running: loads_running as u64,
            shared_hits: read(&self.shared_hits),
            shared_stored: read(&self.shared_stored),
            shared_refused: read(&self.shared_refused),
            evictions: evicted.values,
            entries: entries as u64,
            weight_bytes,
        }
    }
}

pub(super) fn add(cell: &AtomicU64) {
    cell.fetch_add(1, Ordering::Relaxed);
}

fn read(cell: &AtomicU64) -> u64 {
    cell.load(Ordering::Relaxed)
}
