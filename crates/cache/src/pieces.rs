//! The bytes of a fill while they arrive, and the memory that they are charged for.

use crate::Body;
use crate::budget::{Budget, Charge};
use crate::disk::SpooledPiece;
use bytes::Bytes;
use kasoku_store::disk::{OpenBody, StoredChunk};
use std::collections::VecDeque;
use std::ops::Range;
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
    /// What the disk tier has of a body that is too large for memory, in order.
    spooled: Vec<StoredChunk>,
    /// The offset behind the last byte that the disk tier has of what has arrived.
    spooled_end: u64,
    placement: Placement,
    /// Whether they are a part that goes to disk.
    is_for_disk: bool,
}

/// Where the bytes of a fill belong in the body. Readers count from the first byte of the response that they get.
#[derive(Default)]
pub(crate) struct Placement {
    /// Where the first byte that arrives is for the readers.
    pub(crate) start: u64,
    /// Where the readers' first byte is in the body.
    pub(crate) shift: u64,
    /// What is stored of the body already.
    pub(crate) base: Option<OpenBody>,
    /// The offsets of the bytes that arrive, and the length of the body, if readers also get what `base` has around these.
    pub(crate) around: Option<(Range<u64>, u64)>,
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
            spooled_end: 0,
            placement: Placement::default(),
            is_for_disk: false,
        }
    }

    /// Says where the bytes of a part that goes to disk belong, before the first one arrives.
    pub(crate) fn place(&mut self, placement: Placement) {
        (self.end, self.spooled_end) = (placement.start, placement.start);
        (self.placement, self.is_for_disk) = (placement, true);
    }

    /// Whether readers get what is stored around the bytes that arrive.
    pub(crate) fn is_completing(&self) -> bool {
        self.placement.around.is_some()
    }

    /// Whether they are a part that goes to disk.
    pub(crate) fn is_for_disk(&self) -> bool {
        self.is_for_disk
    }

    /// How many bytes have arrived.
    pub(crate) fn arrived_bytes(&self) -> u64 {
        self.end - self.placement.start
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
        let behind = self.pieces.partition_point(|(first, _)| *first <= offset);
        if offset < self.end
            && let Some((first, piece)) = behind.checked_sub(1).and_then(|index| self.pieces.get(index))
        {
            // The offset lies within this piece, so the distance fits in usize.
            return PieceAt::Piece(piece.slice((offset - first) as usize..));
        }
        if let Some(piece) = self.on_disk_at(offset) {
            return PieceAt::OnDisk(piece);
        }
        let is_none = |(arriving, length): &(Range<u64>, u64)| !arriving.contains(&offset) && offset < *length;
        let is_gone = offset < self.end || self.placement.around.as_ref().is_some_and(is_none);
        if is_gone { PieceAt::Gone } else { PieceAt::NotYet }
    }

    fn on_disk_at(&self, offset: u64) -> Option<SpooledPiece> {
        let at = offset.checked_add(self.placement.shift)?;
        let behind = self.spooled.partition_point(|chunk| chunk.first() <= at);
        let spooled = behind.checked_sub(1).and_then(|index| self.spooled.get(index));
        if let Some(chunk) = spooled.filter(|chunk| at < chunk.first() + chunk.length()) {
            return Some(SpooledPiece::new(chunk, at));
        }
        let is_arriving = self.placement.around.is_none() && offset >= self.end;
        let chunk = self.placement.base.as_ref().filter(|_| !is_arriving)?.chunk_at(at)?;
        Some(SpooledPiece::new(&chunk, at))
    }

    /// The disk tier has one more chunk.
    pub(crate) fn spooled(&mut self, chunk: StoredChunk) {
        self.spooled_to(chunk.first() + chunk.length());
        self.spooled.push(chunk);
    }

    /// The disk tier has all that has arrived before this offset of the body.
    pub(crate) fn spooled_to(&mut self, end: u64) {
        self.spooled_end = self.spooled_end.max(end.saturating_sub(self.placement.shift));
    }

    /// The offset behind the last byte that the disk tier has.
    pub(crate) fn spooled_end(&self) -> u64 {
        self.spooled_end
    }

    /// The pieces from this offset of the body on.
    pub(crate) fn from(&self, position: u64) -> Vec<Bytes> {
        let offset = position.saturating_sub(self.placement.shift);
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
