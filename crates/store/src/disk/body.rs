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

    /// The file, and where in it this byte of the body is. From there to the end, the bytes lie one behind the other. Who sends them
    /// from there does not compare them with their checksums.
    pub fn file_at(&self, offset: u64) -> Option<(Arc<File>, u64)> {
        let chunk = self.chunk_at(offset)?.place();
        Some((self.source.segment().shared_file(), chunk.offset + (offset - chunk.first)))
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
