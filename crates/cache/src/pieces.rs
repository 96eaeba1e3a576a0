//! The bytes of a fill while they arrive.

use crate::Body;
use bytes::Bytes;
use std::collections::VecDeque;

/// What a piece costs besides its bytes, so that many small ones are not for nothing.
const PIECE_OVERHEAD_BYTES: u64 = 128;

/// The bytes of a fill that are still here, in order.
#[derive(Default)]
pub(crate) struct Pieces {
    /// Each with the offset of its first byte; never empty ones.
    pieces: VecDeque<(u64, Bytes)>,
    /// The offset behind the last byte.
    pub(crate) end: u64,
    /// What is charged for them.
    pub(crate) charge: u64,
}

/// What is at an offset.
pub(crate) enum Found {
    Piece(Bytes),
    NotYet,
    Gone,
}

impl Pieces {
    pub(crate) fn push(&mut self, piece: Bytes) -> u64 {
        let charge = piece.len() as u64 + PIECE_OVERHEAD_BYTES;
        let first = self.end;
        self.end += piece.len() as u64;
        self.charge += charge;
        self.pieces.push_back((first, piece));
        charge
    }

    /// What is here from that offset on, up to the end of its piece.
    pub(crate) fn at(&self, offset: u64) -> Found {
        if offset >= self.end {
            return Found::NotYet;
        }
        let behind = self.pieces.partition_point(|(first, _)| *first <= offset);
        let Some((first, piece)) = behind.checked_sub(1).and_then(|index| self.pieces.get(index)) else {
            return Found::Gone;
        };
        // The offset lies within this piece, so the distance fits in usize.
        Found::Piece(piece.slice((offset - first) as usize..))
    }

    /// Drops whole pieces before that offset; returns what was charged for them.
    pub(crate) fn drop_before(&mut self, offset: u64) -> u64 {
        let mut freed = 0;
        while self.pieces.front().is_some_and(|(first, piece)| first + piece.len() as u64 <= offset) {
            if let Some((_, piece)) = self.pieces.pop_front() {
                freed += piece.len() as u64 + PIECE_OVERHEAD_BYTES;
            }
        }
        self.charge -= freed;
        freed
    }

    /// The same bytes in other pieces, for which somebody else is charged.
    pub(crate) fn replace(&mut self, body: &Body) -> u64 {
        self.pieces.clear();
        self.end = 0;
        let freed = std::mem::take(&mut self.charge);
        for chunk in body.chunks() {
            self.pieces.push_back((self.end, chunk.clone()));
            self.end += chunk.len() as u64;
        }
        freed
    }

    pub(crate) fn to_vec(&self) -> Vec<Bytes> {
        self.pieces.iter().map(|(_, piece)| piece.clone()).collect()
    }
}
