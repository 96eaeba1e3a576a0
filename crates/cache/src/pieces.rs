//! The bytes of a fill while they arrive, and the memory that they are charged for.

use crate::Body;
use crate::budget::{Budget, Charge};
use crate::disk::SpooledPiece;
use bytes::Bytes;
use kasoku_store::disk::StoredChunk;
use std::collections::VecDeque;
use std::sync::Arc;

/// The charge for a piece besides its bytes, so that many small pieces are not free.
const PIECE_OVERHEAD_BYTES: u64 = 128;

/// The bytes of a fill that have not been dropped, in order.
pub(crate) struct Pieces {
    /// Each piece with the offset of its first byte; no piece is empty.
    pieces: VecDeque<(u64, Bytes)>,
    /// The offset behind the last byte that has arrived.
    pub(crate) end: u64,
    charge: Charge,
    /// The part of `charge` that is reserved for pieces that have not arrived yet.
    reserved: u64,
    /// The stored body, once the bytes are stored: it carries the charge from then on.
    stored: Option<Arc<Body>>,
    /// What the disk tier has of a body that is too large for memory: chunks from 0 on.
    spooled: Vec<StoredChunk>,
}

/// What a reader finds at an offset.
pub(crate) enum PieceAt {
    Piece(Bytes),
    OnDisk(SpooledPiece),
    NotYet,
    Gone,
}

impl Pieces {
    pub(crate) fn new(budget: &Arc<Budget>) -> Self {
        Self {
            pieces: VecDeque::new(),
            end: 0,
            charge: budget.charge(0),
            reserved: 0,
            stored: None,
            spooled: Vec::new(),
        }
    }

    /// Charges in advance for pieces of `bytes` bytes in all.
    pub(crate) fn reserve(&mut self, bytes: u64) {
        self.reserved += bytes;
        self.charge.add(bytes);
    }

    /// Appends a piece. Returns whether its bytes exceeded the reservation.
    pub(crate) fn push(&mut self, piece: Bytes) -> bool {
        let first = self.end;
        let bytes = piece.len() as u64;
        self.end += bytes;
        self.pieces.push_back((first, piece));
        // The overhead of a piece is small, and the number of pieces is not known in advance, so it is not reserved.
        let more = bytes - bytes.min(self.reserved);
        self.reserved -= bytes - more;
        self.charge.add(more + PIECE_OVERHEAD_BYTES);
        more > 0
    }

    /// Gives back the charge for pieces that will not come.
    pub(crate) fn release_reserved(&mut self) {
        self.charge.sub(std::mem::take(&mut self.reserved));
    }

    /// Gives back the whole charge while the bytes are copied into the store. Returns the number of bytes that [`Pieces::take_back`]
    /// needs.
    pub(crate) fn lend_charge(&mut self) -> u64 {
        let bytes = self.charge.bytes();
        self.charge.sub(bytes);
        bytes
    }

    /// Charges again for bytes that were not stored after all.
    pub(crate) fn take_back(&mut self, bytes: u64) {
        self.charge.add(bytes);
    }

    /// The bytes from this offset to the end of their piece.
    pub(crate) fn at(&self, offset: u64) -> PieceAt {
        if offset >= self.end {
            return PieceAt::NotYet;
        }
        let behind = self.pieces.partition_point(|(first, _)| *first <= offset);
        let Some((first, piece)) = behind.checked_sub(1).and_then(|index| self.pieces.get(index)) else {
            return self.spooled_at(offset).map_or(PieceAt::Gone, PieceAt::OnDisk);
        };
        // The offset lies within this piece, so the distance fits in usize.
        PieceAt::Piece(piece.slice((offset - first) as usize..))
    }

    fn spooled_at(&self, offset: u64) -> Option<SpooledPiece> {
        let behind = self.spooled.partition_point(|chunk| chunk.first() <= offset);
        let chunk = self.spooled.get(behind.checked_sub(1)?)?;
        (offset < chunk.first() + chunk.length()).then(|| SpooledPiece::new(chunk, offset))
    }

    /// The disk tier has one more chunk.
    pub(crate) fn spooled(&mut self, chunk: StoredChunk) {
        self.spooled.push(chunk);
    }

    /// The offset behind the last byte that the disk tier has.
    pub(crate) fn spooled_end(&self) -> u64 {
        self.spooled.last().map_or(0, |chunk| chunk.first() + chunk.length())
    }

    /// The pieces from this offset on.
    pub(crate) fn from(&self, offset: u64) -> Vec<Bytes> {
        let later = self.pieces.iter().filter(|(first, piece)| first + piece.len() as u64 > offset);
        later.map(|(first, piece)| piece.slice(offset.saturating_sub(*first) as usize..)).collect()
    }

    /// Drops the pieces that lie wholly before this offset.
    pub(crate) fn drop_before(&mut self, offset: u64) {
        while self.pieces.front().is_some_and(|(first, piece)| first + piece.len() as u64 <= offset) {
            if let Some((_, piece)) = self.pieces.pop_front() {
                self.charge.sub(piece.len() as u64 + PIECE_OVERHEAD_BYTES);
            }
        }
    }

    /// Puts the stored chunks in the place of the pieces: the same bytes, which the stored body is charged for, as long as readers hold
    /// them here.
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
