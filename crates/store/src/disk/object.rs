//! Stored objects and their chunks, as readers get them.
//!
//! What is read is compared with its checksum before a caller gets it. An object that is not as it was written is dropped and counted.

use super::addition::{Addition, are_in_order};
use super::layout::{ChunkPlace, FileKind, Head};
use super::log::read_full;
use super::place::Place;
use super::reads::ReadError;
use super::segment::Segment;
use super::store::Store;
use bytes::Bytes;
use kasoku_sys::page_cache;
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
        // The segment may have been evicted since the place was found.
        let Some(segment) = store.segment(place.segment) else {
            store.index.remove_place(&place);
            return Ok(Attempt::Done(None));
        };
        let (at, checksums) = (place.location(), store.directory.checksums);
        let is_whole = place.bytes() <= WHOLE_BYTES_MAX;
        let behind_head = if is_whole { place.bytes().saturating_sub(place.head_bytes()) } else { 0 };
        let read = match read_bytes(segment.file(), at.offset, [place.head_bytes(), behind_head], wait) {
            Ok(Attempt::NotYet) => return Ok(Attempt::NotYet),
            Ok(Attempt::Done([head, body])) => Head::read(&head, checksums, at).map(|head| (head, body)),
            Err(error) => {
                failed(store, &error);
                None
            }
        };
        let Some((head, body)) = read else {
            store.drop_damaged(&place);
            return Err(ReadError::Damaged);
        };
        if key.is_some_and(|key| *key != *head.key) {
            return Ok(Attempt::Done(None));
        }
        let source = Arc::new(Source::new(store.clone(), segment, place));
        let mut chunks = Vec::with_capacity(head.chunks.len());
        for chunk in &head.chunks {
            if chunk.length > CHUNK_BYTES_MAX {
                store.drop_damaged(&place);
                return Err(ReadError::Damaged);
            }
            let mut stored = StoredChunk::new(source.clone(), *chunk);
            if is_whole {
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
        let object = Self { key, variant, description, stored_ms, is_unconfirmed, chunks, sequence, place };
        Ok(Attempt::Done(Some(object)))
    }

    /// Whether its chunks are parts of a body of that length: each begins behind the one before it.
    pub fn is_part_of(&self, complete_length: u64) -> bool {
        let places: Vec<ChunkPlace> = self.chunks.iter().map(StoredChunk::place).collect();
        let end = self.chunks.last().map_or(0, |last| last.first().saturating_add(last.length()));
        are_in_order(&places) && end <= complete_length
    }

    /// Whether all bytes from 0 on are stored, up to the end of the last chunk.
    pub fn is_whole(&self) -> bool {
        let mut end = 0;
        self.chunks.iter().all(|chunk| chunk.first() == std::mem::replace(&mut end, chunk.first() + chunk.length()))
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
        let chunk = self.clone();
        match self.source.store.reads.run(move || chunk.read(Wait::Yes)).await?? {
            Attempt::Done(bytes) => Ok(bytes),
            Attempt::NotYet => Err(ReadError::Busy),
        }
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
        let source = &self.source;
        match read_bytes(source.segment.file(), self.place.offset, [self.length(), 0], wait) {
            Ok(Attempt::Done([bytes, _])) => Ok(Attempt::Done(self.checked(bytes)?)),
            Ok(Attempt::NotYet) => Ok(Attempt::NotYet),
            Err(error) => {
                failed(&source.store, &error);
                source.store.drop_damaged(&source.place);
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

/// Bytes of a segment, in two buffers of these lengths. Fewer than wanted come only where the file ends.
fn read_bytes(file: &File, offset: u64, lengths: [u64; 2], wait: Wait) -> io::Result<Attempt<[Bytes; 2]>> {
    let lengths = lengths.map(|length| usize::try_from(length).unwrap_or(usize::MAX));
    if wait == Wait::No {
        let read = page_cache::read(file, offset, lengths)?;
        return Ok(read.map_or(Attempt::NotYet, |buffers| Attempt::Done(buffers.map(Bytes::from))));
    }
    // Not `vec![0; length]`: the allocator zeroes a large block by giving its pages back (madvise), and the kernel then faults in each page
    // anew, which takes several times as long as to write zeros. `black_box`, so that the compiler does not make the one of the other.
    let mut buffers = lengths.map(|length| std::hint::black_box(Vec::with_capacity(length)));
    let mut at = offset;
    for (buffer, length) in buffers.iter_mut().zip(lengths) {
        buffer.resize(length, 0);
        let count = read_full(file, buffer, at)?;
        buffer.truncate(count);
        at += count as u64;
    }
    Ok(Attempt::Done(buffers.map(Bytes::from)))
}

fn failed(store: &Store, error: &io::Error) {
    store.counters.io_errors.add(1);
    tracing::warn!(directory = %store.directory.path().display(), %error, "the disk cache could not be read");
}
