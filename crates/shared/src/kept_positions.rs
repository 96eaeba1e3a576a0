//! How far the logs of purges have been read, as it is kept with what is stored on disk.

use crate::history::History;
use crate::purge_log::{Position, PurgeLog};
use std::sync::OnceLock;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The positions in the logs of some servers. Each is kept as the hash of the server's address and history, and the number.
#[derive(Debug)]
pub(crate) struct KeptPositions {
    /// The hash of the address of each server; none for a log that ends with this process.
    addresses: Vec<Option<u64>>,
    /// Those of an earlier process.
    resumed: OnceLock<Vec<(u64, u64)>>,
}

impl KeptPositions {
    /// Of the servers with these hashes of addresses, in the order of their logs.
    pub(crate) fn new(addresses: Vec<Option<u64>>) -> Self {
        Self { addresses, resumed: OnceLock::new() }
    }

    /// How far the purges in each log have been carried out for good.
    pub(crate) fn read_from(&self, log: &PurgeLog) -> Vec<(u64, u64)> {
        let positions = self.addresses.iter().zip(log.positions());
        let kept = positions.filter_map(|(address, position)| {
            let (address, Position { history, number }) = ((*address)?, position?);
            Some((hash_of(address, history), number))
        });
        let mut kept: Vec<(u64, u64)> = kept.collect();
        if kept.len() < self.addresses.iter().flatten().count() {
            // Those that were not read yet may still be of use.
            let resumed = self.resumed.get().into_iter().flatten();
            let others: Vec<_> = resumed.filter(|(hash, _)| !kept.iter().any(|(it, _)| it == hash)).copied().collect();
            kept.extend(others);
        }
        kept
    }

    /// The cache begins with what an earlier process had stored, which had read the logs so far. To be called once at most.
    pub(crate) fn resume(&self, log: &PurgeLog, positions: &[(u64, u64)]) {
        let _ = self.resumed.set(positions.to_vec());
        let (addresses, positions) = (self.addresses.clone(), positions.to_vec());
        log.resume(move |server, history| {
            let hash = hash_of((*addresses.get(server)?)?, history);
            positions.iter().find(|(it, _)| *it == hash).map(|(_, number)| *number)
        });
    }
}

/// Stands for a server in one of its histories. Where servers have none, it is the hash of the address.
fn hash_of(address: u64, history: Option<History>) -> u64 {
    history.map_or(address, |history| xxh3_64_with_seed(&history.0.to_le_bytes(), address))
}
