//! What comes while no directory is open, and makes objects of the directory removed or outdated: it is made up for before the directory
//! is used.
//!
//! A removal that is lost would bring back what was purged, so the directory is emptied then. A newer response that is stored meanwhile
//! only makes an older one outdated. Where these are too many, the origin must confirm each object of the directory.

use super::NotDurable;
use super::index::Removal;
use std::collections::HashSet;
use tokio::sync::oneshot;

/// The most removals that are remembered. With more, the directory is emptied before it is used.
const REMEMBERED_MAX: usize = 4096;

/// The memory for what is outdated, in bytes. With more, the objects of the directory are unconfirmed.
const OUTDATED_BYTES_MAX: usize = 8 << 20;

/// What each of these takes besides the bytes of its key.
const OUTDATED_OVERHEAD_BYTES: usize = 96;

/// A removal that was missed.
#[derive(Debug)]
pub(super) enum MissedRemoval {
    Objects { key: Box<[u8]>, removal: Removal },
    Mark(Vec<u8>),
}

/// Which objects of a key are outdated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Outdated {
    /// That of this variant. See [`Disk::hide`](super::Disk::hide).
    Hidden(u64),
    /// See [`Disk::forget`](super::Disk::forget).
    Forgotten(Removal),
}

/// The one who waits until it is durable.
pub(super) type Waiter = oneshot::Sender<Result<(), NotDurable>>;

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Missed {
    removals: Vec<(MissedRemoval, Waiter)>,
    /// There were more, or one could not be written: the directory has to be emptied.
    pub(super) has_lost: bool,
    /// While a disk does not work, the same responses are stored again and again, so each is remembered once.
    outdated: HashSet<(Box<[u8]>, Outdated)>,
    outdated_bytes: usize,
    /// There were more.
    has_lost_outdated: bool,
}

impl Missed {
    /// Remembers a removal. Returns whether it was.
    pub(super) fn add(&mut self, removal: MissedRemoval, waiter: Waiter) -> bool {
        let has_room = self.removals.len() < REMEMBERED_MAX;
        if has_room {
            self.removals.push((removal, waiter));
        } else {
            self.has_lost = true;
        }
        has_room
    }

    /// What was remembered, in its order.
    pub(super) fn take(&mut self) -> Vec<(MissedRemoval, Waiter)> {
        std::mem::take(&mut self.removals)
    }

    /// Remembers that objects are outdated.
    pub(super) fn add_outdated(&mut self, key: &[u8], outdated: Outdated) {
        if self.has_lost_outdated || !self.outdated.insert((key.into(), outdated)) {
            return;
        }
        self.outdated_bytes += key.len() + OUTDATED_OVERHEAD_BYTES;
        if self.outdated_bytes > OUTDATED_BYTES_MAX {
            (self.outdated, self.outdated_bytes) = Default::default();
            self.has_lost_outdated = true;
        }
    }

    /// What is outdated, in any order: all of it is older than what will be stored in the directory. `None`: there was too much.
    pub(super) fn take_outdated(&mut self) -> Option<HashSet<(Box<[u8]>, Outdated)>> {
        self.outdated_bytes = 0;
        let all = std::mem::take(&mut self.outdated);
        (!std::mem::take(&mut self.has_lost_outdated)).then_some(all)
    }
}
