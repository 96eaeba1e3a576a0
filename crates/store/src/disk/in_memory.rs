//! Which objects the owner also holds in memory, as far as eviction needs to know.
//!
//! A hit in memory tells the disk tier nothing, so that it costs nothing. Therefore the hits of an object on disk do not show that it
//! is wanted: what is requested all the time stays in memory, and is not read from disk. So before objects are evicted, the owner lists
//! the keys that it has in memory. Listing them takes time for each key, so a list serves until it was asked about a quarter as many
//! objects. What came into memory meanwhile was stored or read a short time before, so its segment is not due yet.

use super::Owner;
use super::store::Store;

/// A list of keys answers so many questions: one part of its length.
const USES_SHARE: usize = 4;

/// The hashes of the keys in memory, at some time not long ago.
#[derive(Debug, Default)]
pub(super) struct InMemory {
    /// In ascending order.
    hashes: Vec<u64>,
    uses_left: usize,
}

impl InMemory {
    /// Lists the keys anew, if the list was used often enough.
    pub(super) fn refresh(&mut self, store: &Store, owner: &dyn Owner) {
        if self.uses_left > 0 {
            return;
        }
        self.hashes.clear();
        owner.for_each_in_memory(&mut |key| self.hashes.push(store.hash(key)));
        self.hashes.sort_unstable();
        self.uses_left = self.hashes.len() / USES_SHARE;
    }

    /// Whether an object with this hash is in memory as well.
    pub(super) fn has(&mut self, hash: u64) -> bool {
        self.uses_left = self.uses_left.saturating_sub(1);
        self.hashes.binary_search(&hash).is_ok()
    }
}
