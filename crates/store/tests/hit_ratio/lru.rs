//! Simulates a cache that evicts the least recently used object, the baseline that every eviction policy has to beat.

use super::Simulator;
use std::collections::{BTreeMap, HashMap};

/// See the [module](self). Sizes are in bytes.
pub(crate) struct Lru {
    by_use: BTreeMap<u64, u32>,
    stored: HashMap<u32, (u64, u64)>,
    uses: u64,
    bytes: u64,
    bytes_max: u64,
}

impl Lru {
    pub(crate) fn new(bytes_max: u64) -> Self {
        Self { by_use: BTreeMap::new(), stored: HashMap::new(), uses: 0, bytes: 0, bytes_max }
    }
}

impl Simulator for Lru {
    fn request(&mut self, object: u32, bytes: u64) -> bool {
        self.uses += 1;
        let before = self.stored.insert(object, (self.uses, bytes));
        self.by_use.insert(self.uses, object);
        if let Some((last_use, _)) = before {
            self.by_use.remove(&last_use);
            return true;
        }
        self.bytes += bytes;
        while self.bytes > self.bytes_max {
            let Some((_, oldest)) = self.by_use.pop_first() else { break };
            self.bytes -= self.stored.remove(&oldest).map_or(0, |(_, bytes)| bytes);
        }
        false
    }
}
