//! Counts the purges that this front end has told the others, and those that it has heard of.

use super::{Epoch, Purger};
use crate::server_counters::Count;

/// The counts so far.
#[derive(Debug, Default)]
pub struct PurgeCounts {
    /// Purges of this front end that the others are told of.
    pub published: Count,
    /// Purges of other front ends that were carried out here.
    pub carried_out: Count,
    /// Records that stayed missing, or could not be read.
    pub missing: Count,
    /// How often everything was dropped here, since purges of other front ends may have been lost.
    pub dropped_everything: Count,
    /// How often a log that had been read has lost its counter.
    pub lost: Count,
}

/// A cache whose purges for other front ends are counted.
pub(super) struct Counted<'p, P> {
    pub(super) purger: &'p P,
    pub(super) counts: &'p PurgeCounts,
}

impl<P: Purger> Purger for Counted<'_, P> {
    fn carry_out(&self, purge: &[u8]) -> Option<Epoch> {
        let epoch = self.purger.carry_out(purge)?;
        self.counts.carried_out.add(1);
        Some(epoch)
    }

    async fn make_certain(&self) -> bool {
        self.purger.make_certain().await
    }

    fn drop_everything(&self) {
        self.purger.drop_everything();
        self.counts.dropped_everything.add(1);
    }

    fn epoch(&self) -> Epoch {
        self.purger.epoch()
    }
}
