//! The removals that come while no directory is open: they are made up for before the directory is used.

use super::NotDurable;
use super::index::Removal;
use tokio::sync::oneshot;

/// The most removals that are remembered. With more, the directory is emptied before it is used.
const REMEMBERED_MAX: usize = 4096;

/// A removal that was missed.
#[derive(Debug)]
pub(super) enum MissedRemoval {
    Objects { key: Box<[u8]>, removal: Removal },
    Mark(Vec<u8>),
}

/// The one who waits until it is durable.
pub(super) type Waiter = oneshot::Sender<Result<(), NotDurable>>;

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Missed {
    removals: Vec<(MissedRemoval, Waiter)>,
    /// There were more, or one could not be written: the directory has to be emptied.
    pub(super) has_lost: bool,
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
}
