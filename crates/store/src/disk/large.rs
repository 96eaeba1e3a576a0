//! A large object, written a chunk at a time while it comes, into a segment of its own.
//!
//! The thread that writes objects makes the room. The chunks are written by the threads that wait for the disk, each before the next one
//! is taken, so a disk that is slow slows the source down. What has been written can be read at once. The head comes last: until it is
//! there, the file is no object, and is removed if the process ends.

use super::body::StoredBody;
use super::jobs::Job;
use super::layout::{ChunkPlace, FileKind, Head, head_bytes};
use super::object::{CHUNK_BYTES_MAX, Source, StoredChunk};
use super::place::{Location, Place, UNIT_BYTES};
use super::segment::HEADER_BYTES;
use super::store::Store;
use super::unfinished::{LargeError, Unfinished};
use super::writer::LARGE_SHARE_OF_STORE;
use super::{Disk, Shared, WAITING_OVERHEAD_BYTES};
use bytes::Bytes;
use std::io;
use std::sync::Arc;
use tokio::sync::oneshot;

/// The room for a body of unknown length at its beginning, in bytes; at most one part of so many of the store. Later it grows by what it
/// has.
const ROOM_BYTES: u64 = 16 << 20;
const ROOM_SHARE: u64 = 32;

/// The most by which it grows at once, in bytes.
const GROWTH_BYTES_MAX: u64 = 256 << 20;

/// Writes a large object while it comes. Dropping it removes what was written.
pub struct LargeWriter {
    shared: Arc<Shared>,
    file: Unfinished,
    coming: Coming,
    /// Where the next chunk goes.
    offset: u64,
    /// The end of the room.
    room: u64,
    chunks: Vec<ChunkPlace>,
    body_bytes: u64,
}

/// A large object that is complete on disk, and not found yet. Dropping it removes it.
pub struct FinishedLarge {
    shared: Arc<Shared>,
    file: Unfinished,
    coming: Coming,
    place: Place,
    chunks: Arc<[ChunkPlace]>,
    sequence: u64,
    is_waiting: bool,
}

/// When a large object began. As long as this lives, the index remembers what is newer.
struct Coming {
    store: Arc<Store>,
    hash: u64,
    begun: u64,
}

impl Coming {
    fn new(store: &Arc<Store>, hash: u64) -> Self {
        Self { store: store.clone(), hash, begun: store.index.begin_coming(hash) }
    }
}

impl Drop for Coming {
    fn drop(&mut self) {
        self.store.index.end_coming(self.hash);
    }
}

impl Disk {
    /// Begins a large object of this key with a body of `length` bytes, where that is known. What is stored from now on is newer.
    ///
    /// # Errors
    /// See [`LargeError`].
    pub async fn begin(&self, key: &[u8], length: Option<u64>) -> Result<LargeWriter, LargeError> {
        let store = self.shared.store().ok_or(LargeError::Refused)?;
        let hash = store.hash(key);
        let coming = Coming::new(&store, hash);
        let unknown = || ROOM_BYTES.min(self.shared.options.size_bytes / ROOM_SHARE);
        let room = HEADER_BYTES + length.unwrap_or_else(unknown);
        let (done, receiver) = oneshot::channel();
        let job = Job::Begin { store, hash, bytes: room, done };
        self.shared.jobs.push(WAITING_OVERHEAD_BYTES, job).map_err(|_| LargeError::Refused)?;
        let file = receiver.await.map_err(|_| LargeError::Refused)??;
        let shared = self.shared.clone();
        Ok(LargeWriter { shared, file, coming, offset: HEADER_BYTES, room, chunks: Vec::new(), body_bytes: 0 })
    }
}

impl LargeWriter {
    /// Appends a chunk to the body. Waits until it can be read.
    ///
    /// # Errors
    /// See [`LargeError`]. Nothing more may be appended then; what was appended before can still be read.
    pub async fn append(&mut self, bytes: Bytes) -> Result<StoredChunk, LargeError> {
        let length = u32::try_from(bytes.len()).ok().filter(|length| *length <= CHUNK_BYTES_MAX);
        let length = length.ok_or(LargeError::Refused)?;
        self.make_room(length.into()).await?;
        let (segment, offset) = (self.file.segment.clone(), self.offset);
        let checksums = self.file.store.directory.checksums;
        let write = move || {
            segment.write(&bytes, offset)?;
            Ok::<_, io::Error>(checksums.of(FileKind::Segment, segment.number.into(), offset, &bytes))
        };
        let checksum = self.file.store.reads.write(write).await?.inspect_err(|error| self.failed(error))?;
        let chunk = ChunkPlace { first: self.body_bytes, offset, length, checksum };
        self.chunks.push(chunk);
        self.offset += u64::from(length);
        self.body_bytes += u64::from(length);
        // It is no object yet, so there is none to be dropped if the chunk is damaged.
        let at = Location { segment: self.file.segment.number, offset: 0 };
        let nowhere = Place::new((self.coming.hash, 0), at, (0, 0), 0).ok_or(LargeError::Refused)?;
        let source = Source::new(self.file.store.clone(), self.file.segment.clone(), nowhere);
        Ok(StoredChunk::new(Arc::new(source), chunk))
    }

    /// The length of the body so far, in bytes.
    pub fn body_bytes(&self) -> u64 {
        self.body_bytes
    }

    async fn make_room(&mut self, bytes: u64) -> Result<(), LargeError> {
        if self.offset + bytes <= self.room {
            return Ok(());
        }
        let limit = self.shared.options.size_bytes / LARGE_SHARE_OF_STORE;
        let wanted = self.room + self.room.min(GROWTH_BYTES_MAX);
        let room = wanted.min(limit).max(self.offset + bytes);
        let (done, receiver) = oneshot::channel();
        let (store, segment) = (self.file.store.clone(), self.file.segment.clone());
        let job = Job::Grow { store, segment, bytes: room, done };
        self.shared.jobs.push(WAITING_OVERHEAD_BYTES, job).map_err(|_| LargeError::Refused)?;
        receiver.await.map_err(|_| LargeError::Refused)??;
        self.room = room;
        Ok(())
    }

    fn failed(&self, error: &io::Error) {
        self.shared.counters.io_errors.add(1);
        tracing::warn!(directory = %self.shared.options.path.display(), %error, "a large object could not be written");
    }

    /// Completes the object. It is not found before [`FinishedLarge::publish`]. From now on, an object of the same variant that is older than
    /// [`Disk::begin`] is not found any more.
    ///
    /// # Errors
    /// See [`LargeError`].
    pub async fn finish(
        mut self,
        key: Box<[u8]>,
        variant: u64,
        description: Box<[u8]>,
        stored_ms: u64,
    ) -> Result<FinishedLarge, LargeError> {
        let (store, segment) = (self.file.store.clone(), self.file.segment.clone());
        let length = head_bytes(&key, &description, self.chunks.len());
        let at = Location { segment: segment.number, offset: self.offset.next_multiple_of(UNIT_BYTES) };
        let hash = (self.coming.hash, variant);
        let place = Place::new(hash, at, (length, length), stored_ms).ok_or(LargeError::Refused)?;
        let sequence = store.index.wait_since(self.coming.hash, variant, self.coming.begun);
        let chunks: Arc<[ChunkPlace]> = self.chunks.as_slice().into();
        let head = Head { key, variant, sequence, stored_ms, description, chunks: std::mem::take(&mut self.chunks) };
        let (shared, file, coming) = (self.shared.clone(), self.file, self.coming);
        // Made before the head is written: dropping it says that the object waits no longer.
        let finished = FinishedLarge { shared, file, coming, place, chunks, sequence, is_waiting: true };
        let checksums = store.directory.checksums;
        let write = move || segment.write_head(&head, at.offset, checksums);
        store.reads.write(write).await?.inspect_err(|error| {
            finished.shared.counters.io_errors.add(1);
            tracing::warn!(%error, "a large object could not be written");
        })?;
        Ok(finished)
    }
}

impl FinishedLarge {
    /// The body, without its bytes.
    pub fn stored_body(&self) -> StoredBody {
        StoredBody::new(&self.file.store, self.place, self.chunks.clone())
    }

    /// Lets the object be found; returns whether it is: not if it was removed meanwhile, or a newer one of its variant was stored.
    pub fn publish(mut self) -> bool {
        self.is_waiting = false;
        if !self.file.store.index.publish_since(self.place, self.sequence, self.coming.begun) {
            return false;
        }
        self.file.is_kept = true;
        let (store, segment) = (self.file.store.clone(), self.file.segment.clone());
        let (place, sequence) = (self.place, self.sequence);
        // Without a weight, so that it is refused only when the directory is given up: then the object is not found again.
        let _ = self.shared.jobs.push(0, Job::Published { store, segment, place, sequence });
        true
    }
}

impl Drop for FinishedLarge {
    fn drop(&mut self) {
        if self.is_waiting {
            self.file.store.index.give_up(self.place.hash);
        }
    }
}
