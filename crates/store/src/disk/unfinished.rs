//! The file of a large object that is not complete.

use super::reads::ReadError;
use super::segment::Segment;
use super::store::Store;
use std::io;
use std::sync::Arc;

/// Why a large object is not written (to its end).
#[derive(Debug, thiserror::Error)]
pub enum LargeError {
    /// There is no room for it, or nothing is written at present.
    #[error("the disk cache does not take it")]
    Refused,
    /// Lists of its chunks that are outdated take too much of its file: it should be dropped, and fetched anew.
    #[error("outdated lists of chunks take too much of the object's file")]
    Worn,
    /// The disk failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Too much else waits for the disk.
    #[error("too many reads and writes wait for the disk")]
    Busy,
}

impl From<ReadError> for LargeError {
    fn from(_: ReadError) -> Self {
        Self::Busy
    }
}

/// See the [module](self). Dropping it removes the file, unless it is to be kept.
pub(super) struct Unfinished {
    pub(super) store: Arc<Store>,
    pub(super) segment: Arc<Segment>,
    pub(super) is_kept: bool,
}

impl Unfinished {
    pub(super) fn new(store: &Arc<Store>, segment: Arc<Segment>) -> Self {
        Self { store: store.clone(), segment, is_kept: false }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.is_kept {
            let (store, segment) = (self.store.clone(), self.segment.clone());
            self.store.reads.later(move || store.remove_segment(&segment));
        }
    }
}
