//! A body that stays on disk: where its chunks are, for an owner that reads them when it sends them.
//!
//! A [`StoredBody`] does not keep its segment from being evicted: an owner may hold it for long. [`StoredBody::open`] says whether the
//! bytes are still there, and keeps them until the [`OpenBody`] is dropped.

use super::layout::ChunkPlace;
use super::object::{Source, StoredChunk, StoredObject};
use super::place::Place;
use super::segment::{Content, Segment};
use super::store::Store;
use std::fs::File;
use std::sync::{Arc, Weak};

/// Where the bytes of a body are. It does not keep them from being evicted.
#[derive(Clone, Debug)]
pub struct StoredBody {
    store: Weak<Store>,
    place: Place,
    chunks: Arc<[ChunkPlace]>,
}

/// A stored body whose bytes stay where they are.
#[derive(Clone, Debug)]
pub struct OpenBody {
    source: Arc<Source>,
    chunks: Arc<[ChunkPlace]>,
}

impl StoredObject {
    /// The body, without its bytes.
    pub fn stored_body(&self) -> Option<StoredBody> {
        let source = self.chunks.first()?.source();
        let chunks = self.chunks.iter().map(StoredChunk::place).collect();
        Some(StoredBody { store: Arc::downgrade(source.store()), place: self.place, chunks })
    }
}

impl StoredBody {
    pub(super) fn new(store: &Arc<Store>, place: Place, chunks: Arc<[ChunkPlace]>) -> Self {
        Self { store: Arc::downgrade(store), place, chunks }
    }

    /// The bytes; `None` where they have been evicted.
    pub fn open(&self) -> Option<OpenBody> {
        let store = self.store.upgrade()?;
        let segment = store.segment(self.place.segment)?;
        let source = Arc::new(Source::new(store, segment, self.place));
        Some(OpenBody { source, chunks: self.chunks.clone() })
    }

    /// Whether the bytes have not been evicted.
    pub fn is_there(&self) -> bool {
        self.store.upgrade().is_some_and(|store| store.segment(self.place.segment).is_some())
    }

    /// Whether the object was dropped although its bytes are there: they are damaged, or its next head was not written. One whose next head
    /// waits to be written was not dropped.
    pub fn is_dropped(&self) -> bool {
        let Place { segment, hash, variant, .. } = self.place;
        self.store.upgrade().is_some_and(|store| {
            store.segment(segment).is_some()
                && store.index.place_in(segment, hash, variant.into()).is_none()
                && !store.index.is_waited_for(hash)
        })
    }

    /// What of the body is stored, in order: the offset of the first byte of each part, and its length.
    pub fn parts(&self) -> Vec<(u64, u64)> {
        let mut parts: Vec<(u64, u64)> = Vec::new();
        for chunk in self.chunks.iter() {
            match parts.last_mut() {
                Some((first, length)) if *first + *length == chunk.first => *length += u64::from(chunk.length),
                _ => parts.push((chunk.first, chunk.length.into())),
            }
        }
        parts
    }

    /// Whether the object has a segment of its own, so that bytes can be added to it.
    pub fn can_be_extended(&self) -> bool {
        let segment = self.store.upgrade().and_then(|store| store.segment(self.place.segment));
        segment.is_some_and(|segment| segment.content == Content::One)
    }

    /// Whether both are of one object, perhaps at different times.
    pub fn is_of_same_object(&self, other: &Self) -> bool {
        self.store.ptr_eq(&other.store) && self.place.segment == other.place.segment
    }

    pub(super) fn is_in(&self, store: &Arc<Store>) -> bool {
        std::ptr::eq(self.store.as_ptr(), Arc::as_ptr(store))
    }

    pub(super) fn segment_number(&self) -> u32 {
        self.place.segment
    }

    /// Memory held, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        (size_of::<Self>() + self.chunks.len() * size_of::<ChunkPlace>()) as u64
    }
}

impl OpenBody {
    /// The chunk that has the byte at this offset of the body.
    pub fn chunk_at(&self, offset: u64) -> Option<StoredChunk> {
        let behind = self.chunks.partition_point(|chunk| chunk.first <= offset);
        let chunk = *self.chunks.get(behind.checked_sub(1)?)?;
        (offset < chunk.first + u64::from(chunk.length)).then(|| StoredChunk::new(self.source.clone(), chunk))
    }

    /// The file, where in it this byte of the body is, and how many bytes of the body lie one behind the other from there. Who sends them
    /// does not compare them with their checksums.
    pub fn run_at(&self, offset: u64) -> Option<(Arc<File>, u64, u64)> {
        let behind = self.chunks.partition_point(|chunk| chunk.first <= offset);
        let mut chunks = self.chunks.get(behind.checked_sub(1)?..)?.iter();
        let chunk = chunks.next()?;
        let from = offset - chunk.first;
        let mut length = u64::from(chunk.length).checked_sub(from).filter(|length| *length > 0)?;
        let position = chunk.offset + from;
        for next in chunks {
            if next.first != offset + length || next.offset != position + length {
                break;
            }
            length += u64::from(next.length);
        }
        Some((self.source.segment().shared_file(), position, length))
    }

    /// Notes that the object answered a request.
    pub fn count_hit(&self) {
        let store = self.source.store();
        store.index.count_hit(&self.source.place());
        store.counters.hit_objects.add(1);
    }

    pub(super) fn chunks(&self) -> impl Iterator<Item = StoredChunk> {
        self.chunks.iter().map(|chunk| StoredChunk::new(self.source.clone(), *chunk))
    }

    pub(super) fn segment(&self) -> &Arc<Segment> {
        self.source.segment()
    }

    pub(super) fn is_alone_in_its_segment(&self) -> bool {
        self.source.segment().content == Content::One
    }
}
