//! What a disk tier has done since its start.

use crate::sync::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What a disk tier has done since its start.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct DiskCounts {
            $($(#[$doc])* pub $name: u64,)*
        }

        #[derive(Debug, Default)]
        pub(super) struct Counters {
            $(pub(super) $name: Counter,)*
        }

        impl Counters {
            pub(super) fn read(&self) -> DiskCounts {
                DiskCounts { $($name: self.$name.0.load(Ordering::Relaxed),)* }
            }
        }
    };
}

counters! {
    /// Objects that were read to answer requests.
    hit_objects,
    /// Objects that were written.
    stored_objects,
    /// Bytes of heads and bodies that were written.
    stored_bytes,
    /// Objects that were not written, since the disk was too slow or full, or had failed.
    refused_objects,
    /// Objects that were not written, since they were requested for the first time only.
    unproven_objects,
    /// Objects that were moved to a newer segment, since they had been requested again.
    moved_objects,
    /// Objects that were evicted for want of room.
    evicted_objects,
    /// Objects that were found damaged, and dropped.
    damaged_objects,
    /// Reads and writes that failed.
    io_errors,
    /// Reads that were not in the page cache and waited for the disk.
    waited_reads,
    /// Reads that were skipped, since the disk did not answer others in time.
    skipped_reads,
    /// Removals and purges that were written.
    removals,
}

/// One number.
#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    pub(super) fn add(&self, number: u64) {
        self.0.fetch_add(number, Ordering::Relaxed);
    }
}
