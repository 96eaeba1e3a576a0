//! What the threads that write are told to do.

use super::NewObject;
use super::NotDurable;
use super::addition::{Addition, BegunAddition, WantedAddition};
use super::body::StoredBody;
use super::journal::Removed;
use super::layout::Head;
use super::place::Place;
use super::segment::Segment;
use super::store::Store;
use super::unfinished::{LargeError, Unfinished};
use std::sync::{Arc, mpsc};
use tokio::sync::{oneshot, watch};

/// What the thread that writes objects is told to do.
pub(super) enum Job {
    /// Write an object. `replaces`: whether it takes the place of an older one.
    Put { store: Arc<Store>, object: NewObject, sequence: u64, replaces: bool },
    /// Give an object whose body is on disk another description.
    Refresh { store: Arc<Store>, object: NewObject, body: StoredBody, sequence: u64 },
    /// Make a segment with that room for a large object.
    Begin { store: Arc<Store>, hash: u64, bytes: u64, done: oneshot::Sender<Result<Unfinished, LargeError>> },
    /// Make its room larger: so much in all.
    Grow { store: Arc<Store>, segment: Arc<Segment>, bytes: u64, done: oneshot::Sender<Result<(), LargeError>> },
    /// A large object is complete and can be found.
    Published { store: Arc<Store>, segment: Arc<Segment>, place: Place, sequence: u64 },
    /// Make room for bytes that are added to a large object.
    Extend { store: Arc<Store>, wanted: WantedAddition, done: oneshot::Sender<Result<BegunAddition, LargeError>> },
    /// Write the head that names such bytes, which end at `end`, and return its place and number. The object is still at `old`.
    WriteHead {
        addition: Arc<Addition>,
        old: Place,
        head: Head,
        end: u64,
        done: oneshot::Sender<Result<(Place, u64), LargeError>>,
    },
    /// The object can be found with what was added to it.
    Extended { addition: Arc<Addition>, place: Place, sequence: u64, bytes: u64 },
    /// Begin a new journal, say so, and take a checkpoint.
    Checkpoint(mpsc::Sender<()>),
}

/// What the thread that writes removals is told to do.
pub(super) enum RemovalJob {
    /// Write a removal.
    Write(WaitingRemoval),
    /// Give a directory up, since a removal has no room in the queue or in a journal, and say what became of that.
    GiveUp { store: Arc<Store>, done: watch::Sender<Option<Result<(), NotDurable>>> },
}

/// A removal that waits to be written.
pub(super) struct WaitingRemoval {
    pub(super) store: Arc<Store>,
    pub(super) sequence: u64,
    pub(super) removed: Removed,
    /// Told when it is durable; `None`: it need not survive a loss of power.
    pub(super) done: Option<oneshot::Sender<Result<(), NotDurable>>>,
}
