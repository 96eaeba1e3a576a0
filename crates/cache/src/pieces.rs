//! The bytes of a fill while they arrive.

use crate::Body;
use crate::budget::{Budget, Charge};
use bytes::Bytes;
use std::collections::VecDeque;
use std::sync::Arc;

/// What a piece costs besides its bytes, so that many small ones are not for nothing.
const PIECE_OVERHEAD_BYTES: u64 = 128;

/// The bytes of a fill that are still here, in order.
pub(crate) struct Pieces {
    /// Each with the offset of its first byte; never empty ones.
    pieces: VecDeque<(u64, Bytes)>,
    /// The offset behind the last byte.
    pub(crate) end: u64,
    charge: Charge,
    /// Of that, what is charged for pieces that have not come yet.
    reserved: u64,
    /// What is charged for them instead, once they are stored.
    stored: Option<Arc<Body>>,
}

/// What is at an offset.
pub(crate) enum PieceAt {
    Piece(Bytes),
    NotYet,
    Gone,
}

impl Pieces {
    pub(crate) fn new(budget: &Arc<Budget>) -> Self {
        Self { pieces: VecDeque::new(), end: 0, charge: budget.charge(0), reserved: 0, stored: None }
    }

    /// Charges for pieces of so many bytes in advance.
    pub(crate) fn reserve(&mut self, bytes: u64) {
        self.reserved += bytes;
        self.charge.add(bytes);
    }

    /// Returns whether more had to be charged than was reserved.
    pub(crate) fn push(&mut self, piece: Bytes) -> bool {
        let first = self.end;
        let bytes = piece.len() as u64;
        self.end += bytes;
        self.pieces.push_back((first, piece));
        // What a piece costs besides its bytes is small change, which nobody can reserve before it is known.
        let more = bytes - bytes.min(self.reserved);
        self.reserved -= bytes - more;
        self.charge.add(more + PIECE_OVERHEAD_BYTES);
        more > 0
    }

    /// No more pieces come.
    pub(crate) fn release_reserved(&mut self) {
        self.charge.sub(std::mem::take(&mut self.reserved));
    }

    /// Gives back what is charged, for the moment in which the bytes are stored. Returns what [`Pieces::take_back`] needs.
    pub(crate) fn lend_charge(&mut self) -> u64 {
        let bytes = self.charge.bytes();
        self.charge.sub(bytes);
        bytes
    }

    /// Charges again for bytes that were not stored.
    pub(crate) fn take_back(&mut self, bytes: u64) {
        self.charge.add(bytes);
    }

    /// What is here from that offset on, up to the end of its piece.
    pub(crate) fn at(&self, offset: u64) -> PieceAt {
        if offset >= self.end {
            return PieceAt::NotYet;
        }
        let behind = self.pieces.partition_point(|(first, _)| *first <= offset);
        let Some((first, piece)) = behind.checked_sub(1).and_then(|index| self.pieces.get(index)) else {
            return PieceAt::Gone;
        };
        // The offset lies within this piece, so the distance fits in usize.
        PieceAt::Piece(piece.slice((offset - first) as usize..))
    }

    /// Drops whole pieces before that offset.
    pub(crate) fn drop_before(&mut self, offset: u64) {
        while self.pieces.front().is_some_and(|(first, piece)| first + piece.len() as u64 <= offset) {
            if let Some((_, piece)) = self.pieces.pop_front() {
                self.charge.sub(piece.len() as u64 + PIECE_OVERHEAD_BYTES);
            }
        }
    }

    /// The same bytes as they are stored, which is charged there for as long as somebody reads them here.
    pub(crate) fn replace(&mut self, body: Arc<Body>) {
        self.pieces.clear();
        self.end = 0;
        self.charge.sub(u64::MAX);
        for chunk in body.chunks() {
            self.pieces.push_back((self.end, chunk.clone()));
            self.end += chunk.len() as u64;
        }
        self.stored = Some(body);
    }

    pub(crate) fn to_vec(&self) -> Vec<Bytes> {
        self.pieces.iter().map(|(_, piece)| piece.clone()).collect()
    }
}
