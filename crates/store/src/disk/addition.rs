//! Bytes that are being added to a large object.
//!
//! They go behind the object's head, into room of their own, and another head behind them then names all chunks. Until that is published,
//! the object is what it was, and so it is if the process ends. A segment takes one addition at a time. If something refreshes,
//! replaces or removes the object meanwhile, the addition is not published.

use super::layout::{ChunkPlace, Head};
use super::place::Place;
use super::segment::Segment;
use super::store::Store;
use crate::sync::{AtomicBool, Ordering};
use std::sync::Arc;

/// See the [module](self). Readers of the bytes hold it, too: dropping the last one gives the room back, unless it is part of the object.
#[derive(Debug)]
pub(super) struct Addition {
    store: Arc<Store>,
    segment: Arc<Segment>,
    is_published: AtomicBool,
}

/// An addition, and the object as it is.
pub(super) struct BegunAddition {
    pub(super) addition: Arc<Addition>,
    /// Where the new bytes go.
    pub(super) offset: u64,
    pub(super) place: Place,
    pub(super) head: Head,
}

/// Which object gets more bytes, and how many.
pub(super) struct WantedAddition {
    pub(super) key: Box<[u8]>,
    pub(super) variant: u64,
    pub(super) segment: u32,
    pub(super) bytes: u64,
}

impl Addition {
    pub(super) fn new(store: &Arc<Store>, segment: Arc<Segment>) -> Arc<Self> {
        Arc::new(Self { store: store.clone(), segment, is_published: AtomicBool::new(false) })
    }

    pub(super) fn store(&self) -> &Arc<Store> {
        &self.store
    }

    pub(super) fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }

    /// Lets the object be found with what was added to it, if it is still at the old place. Returns whether it is found so. Then the thread
    /// that writes objects has to call [`Addition::end`]: that may wait for the disk.
    pub(super) fn publish(&self, old: &Place, new: Place) -> bool {
        let is_published = self.store.index.extend(old, new);
        self.is_published.store(is_published, Ordering::Relaxed);
        is_published
    }

    /// More may be added from now on.
    pub(super) fn end(&self) {
        self.segment.end_adding();
    }
}

impl Drop for Addition {
    fn drop(&mut self) {
        if self.is_published.load(Ordering::Relaxed) {
            return;
        }
        let segment = self.segment.clone();
        self.store.reads.later(move || {
            if let Err(error) = segment.give_up_adding() {
                tracing::warn!(segment = segment.number, %error, "a segment of the disk cache is longer than its object");
            }
        });
    }
}

/// The chunks of both, in the order of the body; `None` where two have the same byte.
pub(super) fn merged(one: &[ChunkPlace], other: &[ChunkPlace]) -> Option<Vec<ChunkPlace>> {
    let mut chunks = [one, other].concat();
    chunks.sort_by_key(|chunk| chunk.first);
    are_in_order(chunks.iter().copied()).then_some(chunks)
}

/// Whether each chunk begins behind the one before it.
pub(super) fn are_in_order(chunks: impl IntoIterator<Item = ChunkPlace>) -> bool {
    let mut end = 0;
    chunks.into_iter().all(|chunk| {
        let is_behind = chunk.first >= end;
        let next = chunk.first.checked_add(chunk.length.into());
        end = next.unwrap_or(end);
        is_behind && next.is_some()
    })
}

/// Whether each chunk begins where the one before it ends, and the first one at 0.
pub(super) fn have_no_gaps(chunks: impl IntoIterator<Item = ChunkPlace>) -> bool {
    let mut end = 0;
    chunks
        .into_iter()
        .all(|chunk| chunk.first == std::mem::replace(&mut end, chunk.first.saturating_add(chunk.length.into())))
}
