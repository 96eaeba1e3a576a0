//! Stored objects and their chunks, as readers get them.
//!
//! What is read is compared with its checksum before a caller gets it. An object that is not as it was written is dropped and counted.

use super::addition::{Addition, are_in_order, have_no_gaps};
use super::layout::{ChunkPlace, FileKind, Head};
use super::place::Place;
use super::reads::{ReadError, read_and_wait};
use super::segment::Segment;
use super::store::Store;
use bytes::Bytes;
use std::fs::File;
use std::io;
use std::sync::Arc;

/// An object up to this length is read in one go, in bytes. The chunks of a longer one are read by themselves.
const WHOLE_BYTES_MAX: u64 = 64 << 10;

/// The longest chunk, in bytes.
pub(super) const CHUNK_BYTES_MAX: u32 = 4 << 20;

/// An object as it is stored: all but those bytes of its body that must be read first.
#[derive(Clone, Debug)]
pub struct StoredObject {
    /// The key.
    pub key: Box<[u8]>,
    /// The variant of the key.
    pub variant: u64,
    /// What the owner of the store wrote beside the body.
    pub description: Box<[u8]>,
    /// When it was stored, in milliseconds since 1970.
    pub stored_ms: u64,
    /// Whether removals may have been lost, so that the origin must confirm the object before it is used.
    pub is_unconfirmed: bool,
    /// The chunks of the body, in order.
    pub chunks: Vec<StoredChunk>,
    pub(super) sequence: u64,
    pub(super) place: Place,
}

/// Bytes of a stored body.
#[derive(Clone, Debug)]
pub struct StoredChunk {
    source: Arc<Source>,
    place: ChunkPlace,
    /// The bytes, where they were read with the head.
    bytes: Option<Bytes>,
}

/// Where the chunks of one object come from.
#[derive(Debug)]
pub(super) struct Source {
    store: Arc<Store>,
    segment: Arc<Segment>,
    place: Place,
    /// Keeps the room of bytes that are being added to the object.
    _addition: Option<Arc<Addition>>,
}

impl Source {
    pub(super) fn new(store: Arc<Store>, segment: Arc<Segment>, place: Place) -> Self {
        Self { store, segment, place, _addition: None }
    }

    /// Of bytes that are being added to an object.
    pub(super) fn of_addition(addition: &Arc<Addition>, place: Place) -> Self {
        let (store, segment) = (addition.store().clone(), addition.segment().clone());
        Self { store, segment, place, _addition: Some(addition.clone()) }
    }

    /// The one of that place; `None` where its segment has been evicted since the place was found.
    fn of(store: &Arc<Store>, place: Place) -> Option<Arc<Self>> {
        let segment = store.segment(place.segment);
        if segment.is_none() {
            store.index.remove_place(&place);
        }
        Some(Arc::new(Self::new(store.clone(), segment?, place)))
    }

    /// Bytes of the segment, in two buffers of these lengths. Fewer than wanted come only where the file ends.
    fn read(&self, offset: u64, lengths: [usize; 2], wait: Wait) -> io::Result<Attempt<[Bytes; 2]>> {
        let file = self.segment.file();
        let read = match wait {
            Wait::No => self.store.reads.read_now((file, self.store.suits_ring), offset, lengths)?,
            Wait::Yes => Some(read_and_wait(file, offset, lengths)?),
        };
        Ok(read.map_or(Attempt::NotYet, Attempt::Done))
    }

    pub(super) fn store(&self) -> &Arc<Store> {
        &self.store
    }

    pub(super) fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }

    pub(super) fn place(&self) -> Place {
        self.place
    }
}

/// The file of the segment. Who holds the source keeps the segment's bytes counted as used.
impl AsRef<File> for Source {
    fn as_ref(&self) -> &File {
        self.segment.file()
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        // The last one to close a file that was removed has the file system free its blocks, which takes time.
        if self.segment.is_removed() {
            let segment = self.segment.clone();
            self.store.reads.later(move || drop(segment));
        }
    }
}

/// What is read without waiting for the disk.
#[derive(Debug)]
pub(super) enum Attempt<T> {
    Done(T),
    /// It is not in the page cache.
    NotYet,
}

/// Whether a read may wait for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    No,
    Yes,
}

impl StoredObject {
    /// The object at that place, if it is one of this key. `Err` where the place has no whole object.
    pub(super) fn read(
        store: &Arc<Store>,
        place: Place,
        key: Option<&[u8]>,
        wait: Wait,
    ) -> Result<Attempt<Option<Self>>, ReadError> {
        let Some(source) = Source::of(store, place) else { return Ok(Attempt::Done(None)) };
        match source.read(place.location().offset, lengths(&place), wait) {
            Ok(Attempt::NotYet) => Ok(Attempt::NotYet),
            Ok(Attempt::Done(bytes)) => Self::of_bytes(&source, key, Ok(bytes)).map(Attempt::Done),
            Err(error) => Self::of_bytes(&source, key, Err(error)).map(Attempt::Done),
        }
    }

    /// The same after a wait for the disk. Within [`Reads::make`](super::reads::Reads::make).
    pub(super) async fn retrieve(store: &Arc<Store>, place: Place, key: &[u8]) -> Result<Option<Self>, ReadError> {
        let Some(source) = Source::of(store, place) else { return Ok(None) };
        let read = store.reads.read((&source, store.suits_ring), place.location().offset, lengths(&place)).await?;
        Self::of_bytes(&source, Some(key), read)
    }

    /// The object that was read by [`lengths`], if it is one of this key.
    fn of_bytes(
        source: &Arc<Source>,
        key: Option<&[u8]>,
        read: io::Result<[Bytes; 2]>,
    ) -> Result<Option<Self>, ReadError> {
        let Source { store, place, .. } = &**source;
        let (at, checksums) = (place.location(), store.directory.checksums);
        let read = read.inspect_err(|error| failed(store, error)).ok();
        let read = read.and_then(|[head, body]| Some((Head::read(&head, checksums, at)?, body)));
        let Some((head, body)) = read else {
            store.drop_damaged(place);
            return Err(ReadError::Damaged);
        };
        if key.is_some_and(|key| *key != *head.key) {
            return Ok(None);
        }
        let mut chunks = Vec::with_capacity(head.chunks.len());
        for chunk in &head.chunks {
            if chunk.length > CHUNK_BYTES_MAX {
                store.drop_damaged(place);
                return Err(ReadError::Damaged);
            }
            let mut stored = StoredChunk::new(source.clone(), *chunk);
            if is_whole(place) {
                let begin = chunk.offset.checked_sub(at.offset + place.head_bytes());
                let begin = begin.and_then(|begin| usize::try_from(begin).ok());
                let inside = begin.filter(|begin| begin + chunk.length as usize <= body.len());
                stored.bytes = match inside {
                    Some(begin) => Some(stored.checked(body.slice(begin..begin + chunk.length as usize))?),
                    None => None,
                };
            }
            chunks.push(stored);
        }
        let Head { key, variant, description, stored_ms, sequence, .. } = head;
        let is_unconfirmed = place.is_unconfirmed();
        Ok(Some(Self { key, variant, description, stored_ms, is_unconfirmed, chunks, sequence, place: *place }))
    }

    /// Whether its chunks are parts of a body of that length: each begins behind the one before it.
    pub fn is_part_of(&self, complete_length: u64) -> bool {
        let end = self.chunks.last().map_or(0, |last| last.first().saturating_add(last.length()));
        are_in_order(self.chunks.iter().map(StoredChunk::place)) && end <= complete_length
    }

    /// Whether all bytes from 0 on are stored, up to the end of the last chunk.
    pub fn is_whole(&self) -> bool {
        have_no_gaps(self.chunks.iter().map(StoredChunk::place))
    }

    /// The length of the stored body, in bytes.
    pub fn body_bytes(&self) -> u64 {
        self.chunks.iter().map(|chunk| u64::from(chunk.place.length)).sum()
    }
}

impl StoredChunk {
    /// The offset of its first byte in the body.
    pub fn first(&self) -> u64 {
        self.place.first
    }

    /// Its length, in bytes.
    pub fn length(&self) -> u64 {
        self.place.length.into()
    }

    /// Its bytes, if no read has to wait for the disk.
    ///
    /// # Errors
    /// They are not as they were written. The object has been dropped.
    pub fn bytes_now(&self) -> Result<Option<Bytes>, ReadError> {
        match self.read(Wait::No)? {
            Attempt::Done(bytes) => Ok(Some(bytes)),
            Attempt::NotYet => Ok(None),
        }
    }

    /// Its bytes.
    ///
    /// # Errors
    /// They are not as they were written (the object has been dropped), or too many reads wait.
    pub async fn bytes(&self) -> Result<Bytes, ReadError> {
        if let Some(bytes) = self.bytes_now()? {
            return Ok(bytes);
        }
        let Store { reads, suits_ring, .. } = &*self.source.store;
        let read = reads.make(reads.read((&self.source, *suits_ring), self.place.offset, self.lengths())).await?;
        self.of_bytes(read)
    }

    /// The same, for threads that may wait for the disk.
    ///
    /// # Errors
    /// They are not as they were written. The object has been dropped.
    pub fn bytes_and_wait(&self) -> Result<Bytes, ReadError> {
        match self.read(Wait::Yes)? {
            Attempt::Done(bytes) => Ok(bytes),
            Attempt::NotYet => Err(ReadError::Busy),
        }
    }

    pub(super) fn new(source: Arc<Source>, place: ChunkPlace) -> Self {
        Self { source, place, bytes: None }
    }

    pub(super) fn place(&self) -> ChunkPlace {
        self.place
    }

    pub(super) fn source(&self) -> &Arc<Source> {
        &self.source
    }

    pub(super) fn read(&self, wait: Wait) -> Result<Attempt<Bytes>, ReadError> {
        if let Some(bytes) = &self.bytes {
            return Ok(Attempt::Done(bytes.clone()));
        }
        match self.source.read(self.place.offset, self.lengths(), wait) {
            Ok(Attempt::NotYet) => Ok(Attempt::NotYet),
            Ok(Attempt::Done(bytes)) => self.of_bytes(Ok(bytes)).map(Attempt::Done),
            Err(error) => self.of_bytes(Err(error)).map(Attempt::Done),
        }
    }

    /// All bytes come into the first buffer.
    fn lengths(&self) -> [usize; 2] {
        [self.place.length as usize, 0]
    }

    /// The bytes that were read by these lengths.
    fn of_bytes(&self, read: io::Result<[Bytes; 2]>) -> Result<Bytes, ReadError> {
        match read {
            Ok([bytes, _]) => self.checked(bytes),
            Err(error) => {
                failed(&self.source.store, &error);
                self.source.store.drop_damaged(&self.source.place);
                Err(ReadError::Damaged)
            }
        }
    }

    /// The bytes, if they are as they were written.
    fn checked(&self, bytes: Bytes) -> Result<Bytes, ReadError> {
        let Source { store, segment, place, .. } = &*self.source;
        let checksums = store.directory.checksums;
        let checksum = checksums.of(FileKind::Segment, segment.number.into(), self.place.offset, &bytes);
        if checksum == self.place.checksum && bytes.len() == self.place.length as usize {
            return Ok(bytes);
        }
        store.drop_damaged(place);
        Err(ReadError::Damaged)
    }
}

/// Whether the object at that place is read in one go.
fn is_whole(place: &Place) -> bool {
    place.bytes() <= WHOLE_BYTES_MAX
}

/// How many bytes of an object are read for its head, and how many behind it.
fn lengths(place: &Place) -> [usize; 2] {
    let behind_head = if is_whole(place) { place.bytes().saturating_sub(place.head_bytes()) } else { 0 };
    [place.head_bytes(), behind_head].map(|length| usize::try_from(length).unwrap_or(usize::MAX))
}

fn failed(store: &Store, error: &io::Error) {
    store.counters.io_errors.add(1);
    tracing::warn!(directory = %store.directory.path().display(), %error, "the disk cache could not be read");
}
