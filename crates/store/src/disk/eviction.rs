//! Which segment goes when room is needed: S3-FIFO (SOSP 2023), with segments in the place of objects.
//!
//! New objects go into the segments of one queue, which has a tenth of the room. When its oldest segment goes, what was requested again
//! is moved to a segment of the other queue, and the keys of the rest are remembered. An object that comes back while its key is
//! remembered goes to the other queue at once. There, the oldest segment goes too, and what was requested since its last move is moved
//! once more. So a scan of objects that are requested once passes through the first queue and drives nothing else out.
//!
//! Objects that were replaced or removed leave their bytes behind. While these are more than half of what segments of many objects take, none
//! of the others has to go: the segment with the fewest bytes of objects is taken, of either queue, and its objects are moved, whether they
//! were requested again or not.

use super::segment::{Content, Segment};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// The share of the room that is for new objects: one part of so many.
const NEW_SHARE: u64 = 10;

/// The segments that are complete, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Queues {
    new: VecDeque<Arc<Segment>>,
    proven: VecDeque<Arc<Segment>>,
}

/// Which queue a segment was in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueueKind {
    New,
    Proven,
}

impl Queues {
    /// Adds a segment that is complete.
    pub(super) fn add(&mut self, segment: Arc<Segment>) {
        match segment.content {
            Content::New | Content::One => self.new.push_back(segment),
            Content::Proven => self.proven.push_back(segment),
        }
    }

    /// The number of segments.
    pub(super) fn len(&self) -> usize {
        self.new.len() + self.proven.len()
    }

    /// The segment with the fewest bytes of objects. `object_bytes`: how many each segment has, by its number.
    pub(super) fn take_emptiest(&mut self, object_bytes: &HashMap<u32, u64>) -> Option<(QueueKind, Arc<Segment>)> {
        let new = self.new.iter().map(|segment| (QueueKind::New, segment));
        let proven = self.proven.iter().map(|segment| (QueueKind::Proven, segment));
        let shared = new.chain(proven).filter(|(_, segment)| segment.content != Content::One);
        let bytes_in = |segment: &Segment| object_bytes.get(&segment.number).copied().unwrap_or_default();
        let (kind, emptiest) = shared.min_by_key(|(_, segment)| bytes_in(segment))?;
        let emptiest = emptiest.clone();
        let queue = if kind == QueueKind::New { &mut self.new } else { &mut self.proven };
        queue.retain(|segment| segment.number != emptiest.number);
        Some((kind, emptiest))
    }

    /// The bytes of the segments that have many objects.
    pub(super) fn shared_bytes(&self) -> u64 {
        let segments = self.new.iter().chain(&self.proven);
        segments.filter(|segment| segment.content != Content::One).map(|segment| segment.bytes()).sum()
    }

    /// Adds a segment whose one object was requested again.
    pub(super) fn add_proven(&mut self, segment: Arc<Segment>) {
        self.proven.push_back(segment);
    }

    /// The next segment to go, where segments may have `bytes_max` bytes.
    pub(super) fn take(&mut self, bytes_max: u64) -> Option<(QueueKind, Arc<Segment>)> {
        let new_bytes: u64 = self.new.iter().map(|segment| segment.bytes()).sum();
        let is_new_turn = new_bytes > bytes_max / NEW_SHARE || self.proven.is_empty();
        let from_new = |queues: &mut Self| queues.new.pop_front().map(|segment| (QueueKind::New, segment));
        let from_proven = |queues: &mut Self| queues.proven.pop_front().map(|segment| (QueueKind::Proven, segment));
        if is_new_turn {
            from_new(self).or_else(|| from_proven(self))
        } else {
            from_proven(self).or_else(|| from_new(self))
        }
    }
}
