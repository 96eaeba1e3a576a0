//! The bytes of a response: a sparse list of extents, each made of immutable chunks.
//!
//! A whole body is one extent from 0. Parts that arrived in 206 responses are extents elsewhere, and are joined when they touch. Chunks
//! are reference counted: a slice of a body costs no copy, and an evicted body lives on while a client still reads it. While a fill
//! streams, its pieces are what the origin's socket gave. [`Body::whole`] and [`Body::part`] copy them once into chunks of exact size,
//! since a small piece of a read buffer would keep the whole buffer alive.
//!
//! A body may also be elsewhere: external, then it names the file that has the bytes (`external_body`), or on disk, then it says where the
//! disk tier has them: then an extent has no chunks.
//!
//! A whole body also holds its compressed forms (`coding`), so that every entry with these bytes has them, a later entry after a 304
//! included.

mod codings;

use crate::budget::{ALLOCATION_BYTES, Budget, Charge};
use crate::external_body::ExternalBody;
use bytes::{Bytes, BytesMut};
use codings::CodedBodies;
use kasoku_semantics::range::ByteRange;
use kasoku_store::disk::StoredBody;
use smallvec::{SmallVec, smallvec};
use std::ops::Range;
use std::sync::Arc;

/// The size of stored chunks, in bytes. The last chunk of an extent may be shorter.
pub const CHUNK_BYTES: usize = 256 << 10;

/// See the [module](self).
#[derive(Debug, Default)]
pub struct Body {
    /// Sorted by `first`, never touching or overlapping.
    extents: Extents,
    complete_length: Option<u64>,
    /// The charge for the body; `None` for a body that is not to be stored.
    charge: Option<Charge>,
    pub(crate) codings: CodedBodies,
    /// Where the bytes are, if they are not here.
    elsewhere: Option<Box<Elsewhere>>,
}

#[derive(Debug)]
enum Elsewhere {
    External(ExternalBody),
    Disk(StoredBody),
}

/// Nearly all bodies have one extent, and most have one chunk. Both are in the body itself then: a hit reads one place in memory, not three.
type Extents = SmallVec<[Extent; 1]>;
type Chunks = SmallVec<[Bytes; 1]>;

#[derive(Clone, Debug)]
struct Extent {
    first: u64,
    length: u64,
    chunks: Chunks,
}

impl Extent {
    fn new(first: u64, pieces: &[Bytes]) -> Self {
        let chunks = exact_chunks(pieces);
        let length = chunks.iter().map(|chunk| chunk.len() as u64).sum();
        Self { first, length, chunks }
    }

    /// The offset behind the last byte.
    fn end(&self) -> u64 {
        self.first + self.length
    }
}

impl Body {
    /// A complete body.
    pub fn whole(pieces: &[Bytes]) -> Self {
        let extent = Extent::new(0, pieces);
        let complete_length = Some(extent.length);
        let extents = if extent.length == 0 { Extents::new() } else { smallvec![extent] };
        Self { extents, complete_length, ..Self::default() }
    }

    /// The body with these chunks, each with the offset of its first byte. They must be in order and must not overlap, and hold on to no
    /// more memory than their lengths.
    pub(crate) fn of_chunks(chunks: Vec<(u64, Bytes)>, complete_length: Option<u64>) -> Self {
        let extents = chunks.into_iter().map(|(first, chunk)| {
            let length = chunk.len() as u64;
            Extent { first, length, chunks: smallvec![chunk] }
        });
        Self { extents: joined(extents.collect()), complete_length, ..Self::default() }
    }

    /// The stored chunks, each with the offset of its first byte.
    pub(crate) fn placed_chunks(&self) -> impl Iterator<Item = (u64, &Bytes)> {
        self.extents.iter().flat_map(|extent| {
            let mut end = extent.first;
            extent.chunks.iter().map(move |chunk| {
                let first = end;
                end += chunk.len() as u64;
                (first, chunk)
            })
        })
    }

    /// A part of a body, which begins at the offset `first`.
    pub fn part(first: u64, pieces: &[Bytes], complete_length: Option<u64>) -> Self {
        Self { extents: smallvec![Extent::new(first, pieces)], complete_length, ..Self::default() }
    }

    /// An external body.
    pub fn external_body_at(external_body: ExternalBody) -> Self {
        let elsewhere = Some(Box::new(Elsewhere::External(external_body)));
        Self { complete_length: Some(0), elsewhere, ..Self::default() }
    }

    /// A body, or parts of one, that stays on disk.
    pub(crate) fn on_disk(stored: StoredBody, complete_length: u64) -> Self {
        let extent = |(first, length)| Extent { first, length, chunks: Chunks::new() };
        Self {
            extents: stored.parts().into_iter().map(extent).collect(),
            complete_length: Some(complete_length),
            elsewhere: Some(Box::new(Elsewhere::Disk(stored))),
            ..Self::default()
        }
    }

    /// Whether the bytes that are stored are in memory.
    pub fn is_in_memory(&self) -> bool {
        self.elsewhere.is_none()
    }

    /// Where the bytes are, if they stay on disk.
    pub fn stored_body(&self) -> Option<&StoredBody> {
        match self.elsewhere.as_deref()? {
            Elsewhere::Disk(stored) => Some(stored),
            Elsewhere::External(_) => None,
        }
    }

    /// Whether the disk tier still has the bytes, where they stay there.
    pub(crate) fn is_there(&self) -> bool {
        self.stored_body().is_none_or(StoredBody::is_there)
    }

    /// The file that has the bytes, where the body is external.
    pub fn external_body(&self) -> Option<&ExternalBody> {
        match self.elsewhere.as_deref()? {
            Elsewhere::External(external_body) => Some(external_body),
            Elsewhere::Disk(_) => None,
        }
    }

    /// The same body, charged for as long as any reference to it lives.
    pub(crate) fn charged(self, budget: &Arc<Budget>) -> Arc<Self> {
        self.charged_with(0, budget)
    }

    /// The same, with a charge for `more` bytes that live as long as the body.
    pub(crate) fn charged_with(mut self, more: u64, budget: &Arc<Budget>) -> Arc<Self> {
        self.charge = Some(budget.charge(self.memory_bytes() + more));
        Arc::new(self)
    }

    /// The bytes that are charged for the body.
    pub(crate) fn charged_bytes(&self) -> u64 {
        self.charge.as_ref().map_or(0, Charge::bytes)
    }

    /// The length of the whole representation, where it is known.
    pub fn complete_length(&self) -> Option<u64> {
        self.complete_length
    }

    /// Whether every byte is stored.
    pub fn is_complete(&self) -> bool {
        match (self.complete_length, self.extents.as_slice()) {
            (Some(0), _) => true,
            (Some(length), [only]) => only.first == 0 && only.length == length,
            _ => false,
        }
    }

    /// The ranges whose bytes are stored, in order.
    pub fn ranges(&self) -> Vec<ByteRange> {
        let not_empty = self.extents.iter().filter(|extent| extent.length > 0);
        not_empty.map(|extent| ByteRange { first: extent.first, last: extent.end() - 1 }).collect()
    }

    /// How many bytes are stored.
    pub(crate) fn stored_bytes(&self) -> u64 {
        self.extents.iter().map(|extent| extent.length).sum()
    }

    /// Whether all bytes of `range` are stored.
    pub fn covers(&self, range: ByteRange) -> bool {
        self.extents.iter().any(|extent| extent.first <= range.first && range.last < extent.end())
    }

    /// The stored bytes of `range`, as slices of the chunks. A slice keeps its chunk alive.
    pub fn slice(&self, range: ByteRange) -> Vec<Bytes> {
        self.places(range).map(|(chunk, place)| chunk.slice(place)).collect()
    }

    /// The stored bytes of `range`, borrowed: the chunks' reference counts do not change.
    pub fn slices(&self, range: ByteRange) -> impl Iterator<Item = &[u8]> {
        self.places(range).filter_map(|(chunk, place)| chunk.get(place))
    }

    /// The chunks that have bytes of `range`, and where in each chunk these bytes are.
    fn places(&self, range: ByteRange) -> impl Iterator<Item = (&Bytes, Range<usize>)> {
        self.extents.iter().flat_map(move |extent| {
            let mut end = extent.first;
            extent.chunks.iter().filter_map(move |chunk| {
                let chunk_first = end;
                end += chunk.len() as u64;
                let from = range.first.max(chunk_first);
                let to = range.last.saturating_add(1).min(end);
                // Both offsets lie within this chunk, so they fit in usize.
                (from < to).then(|| (chunk, (from - chunk_first) as usize..(to - chunk_first) as usize))
            })
        })
    }

    /// All chunks of a complete body.
    pub fn chunks(&self) -> impl Iterator<Item = &Bytes> {
        self.extents.iter().flat_map(|extent| &extent.chunks)
    }

    /// A body with the bytes of both. Both must be of the same representation, and in memory. Where both have a byte, `self`'s is kept.
    #[must_use]
    pub fn combined(&self, other: &Body) -> Body {
        let mut extents = self.extents.clone();
        for range in other.ranges() {
            let mut from = range.first;
            while from <= range.last {
                // Adds the bytes of `range` from `from` on, up to the next byte that `self` has.
                let inside = self.extents.iter().find(|extent| extent.first <= from && from < extent.end());
                if let Some(extent) = inside {
                    from = extent.end();
                    continue;
                }
                let next = self.extents.iter().map(|extent| extent.first).filter(|first| *first > from).min();
                let last = next.map_or(range.last, |first| range.last.min(first - 1));
                let chunks = other.slice(ByteRange { first: from, last }).into();
                extents.push(Extent { first: from, length: last - from + 1, chunks });
                from = last.saturating_add(1);
            }
        }
        extents.sort_by_key(|extent| extent.first);
        let complete_length = self.complete_length.or(other.complete_length);
        Body { extents: joined(extents), complete_length, ..Body::default() }
    }

    /// Memory held, in bytes, without the body's codings.
    pub fn memory_bytes(&self) -> u64 {
        let chunk_overhead = (size_of::<Bytes>() + 2 * ALLOCATION_BYTES) as u64;
        let bytes = |extent: &Extent| if extent.chunks.is_empty() { 0 } else { extent.length };
        let chunks = |extent: &Extent| bytes(extent) + chunk_overhead * extent.chunks.len() as u64;
        let own = if self.extents.spilled() { (size_of::<Extent>() + ALLOCATION_BYTES) as u64 } else { 0 };
        let extents = self.extents.iter().map(|extent| own + chunks(extent));
        let elsewhere = self.elsewhere.as_deref().map_or(0, |elsewhere| match elsewhere {
            Elsewhere::External(external_body) => external_body.memory_bytes(),
            Elsewhere::Disk(stored) => stored.memory_bytes() + 2 * ALLOCATION_BYTES as u64,
        });
        (size_of::<Self>() + 2 * ALLOCATION_BYTES) as u64 + extents.sum::<u64>() + elsewhere
    }
}

/// Joins extents that touch. `extents` must be sorted and must not overlap.
fn joined(extents: Extents) -> Extents {
    let mut joined = Extents::new();
    for extent in extents {
        match joined.last_mut() {
            Some(last) if last.end() == extent.first => {
                last.length += extent.length;
                last.chunks.extend(extent.chunks);
            }
            _ => joined.push(extent),
        }
    }
    joined
}

/// The same bytes in chunks of [`CHUNK_BYTES`], each in an allocation of its own.
fn exact_chunks(pieces: &[Bytes]) -> Chunks {
    let mut left: usize = pieces.iter().map(Bytes::len).sum();
    let mut chunks = Chunks::with_capacity(left.div_ceil(CHUNK_BYTES));
    let mut chunk = BytesMut::with_capacity(left.min(CHUNK_BYTES));
    for piece in pieces {
        let mut piece = piece.as_ref();
        while !piece.is_empty() {
            let (now, later) = piece.split_at(piece.len().min(CHUNK_BYTES - chunk.len()));
            chunk.extend_from_slice(now);
            piece = later;
            left -= now.len();
            if chunk.len() == CHUNK_BYTES {
                chunks.push(std::mem::replace(&mut chunk, BytesMut::with_capacity(left.min(CHUNK_BYTES))).freeze());
            }
        }
    }
    if !chunk.is_empty() {
        chunks.push(chunk.freeze());
    }
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(body: &Body, first: u64, last: u64) -> String {
        body.slice(ByteRange { first, last }).iter().map(|s| String::from_utf8_lossy(s).into_owned()).collect()
    }

    #[test]
    fn a_whole_body_is_sliced_without_a_copy_across_chunks() {
        let bytes: Vec<u8> = (0..CHUNK_BYTES * 2 + 10).map(|i| (i % 251) as u8).collect();
        let pieces: Vec<Bytes> = bytes.chunks(1000).map(Bytes::copy_from_slice).collect();
        let body = Body::whole(&pieces);
        assert!(body.is_complete());
        assert_eq!(body.chunks().map(Bytes::len).collect::<Vec<_>>(), [CHUNK_BYTES, CHUNK_BYTES, 10]);
        let range = ByteRange { first: CHUNK_BYTES as u64 - 5, last: CHUNK_BYTES as u64 + 4 };
        assert_eq!(body.slice(range).concat(), bytes[CHUNK_BYTES - 5..CHUNK_BYTES + 5]);
    }

    #[test]
    fn parts_join_where_they_touch_and_become_complete() {
        let part = |first, text: &'static str| Body::part(first, &[Bytes::from(text)], Some(10));
        let body = part(0, "012").combined(&part(6, "678"));
        assert!(!body.is_complete());
        assert_eq!(body.ranges(), [ByteRange { first: 0, last: 2 }, ByteRange { first: 6, last: 8 }]);
        assert!(body.covers(ByteRange { first: 6, last: 7 }));
        assert!(!body.covers(ByteRange { first: 2, last: 6 }));
        let body = body.combined(&part(1, "12345678")).combined(&part(8, "89"));
        assert!(body.is_complete());
        assert_eq!(text(&body, 0, 9), "0123456789");
        assert_eq!(text(&body, 8, 100), "89");
    }

    #[test]
    fn an_empty_body_is_complete() {
        let body = Body::whole(&[]);
        assert!(body.is_complete());
        assert_eq!((body.complete_length(), body.ranges().len()), (Some(0), 0));
    }
}
