//! A large object, written a chunk at a time while it comes, into a segment of its own. It may begin anywhere in its body, and have gaps.
//! Later, more chunks can be added to it (`addition`).
//!
//! The thread that writes objects makes the room. The chunks are written by the threads that wait for the disk, each before the next one
//! is taken, so a disk that is slow slows the source down. What has been written can be read at once. The head comes last: until it is
//! there, the file is no object, and is removed if the process ends.

use super::addition::{Addition, BegunAddition, WantedAddition, merged};
use super::body::StoredBody;
use super::jobs::Job;
use super::layout::{CHUNKS_MAX, ChunkPlace, FileKind, Head, head_bytes};
use super::object::{CHUNK_BYTES_MAX, Source, StoredChunk};
use super::place::{Location, Place, UNIT_BYTES};
use super::segment::{HEADER_BYTES, Segment};
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

/// Writes a large object, or what is added to one, while it comes. Dropping it removes what was written.
pub struct LargeWriter {
    shared: Arc<Shared>,
    to: Destination,
    /// Where the next chunk goes in the file.
    offset: u64,
    /// The end of the room.
    room: u64,
    chunks: Vec<ChunkPlace>,
    /// Where the next chunk belongs in the body.
    position: u64,
}

/// Where the chunks go.
enum Destination {
    /// Into a new object.
    New(Unfinished, Coming),
    /// Into an object that is stored: this is its place, and its head.
    Stored(Arc<Addition>, Place, Box<Head>),
}

/// A large object that is complete on disk, and not found yet. Dropping it removes it, or what was added to it.
pub struct FinishedLarge {
    shared: Arc<Shared>,
    store: Arc<Store>,
    segment: Arc<Segment>,
    kind: FinishedKind,
    place: Place,
    chunks: Arc<[ChunkPlace]>,
    sequence: u64,
}

enum FinishedKind {
    New {
        file: Unfinished,
        coming: Coming,
        is_waiting: bool,
    },
    /// It is stored already, at this place, and so many bytes were added.
    Extended {
        addition: Arc<Addition>,
        old: Place,
        bytes: u64,
    },
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
    /// Begins a large object of this key with `length` bytes of a body from the offset `first` on, where the length is known. What is stored
    /// from now on is newer.
    ///
    /// # Errors
    /// See [`LargeError`].
    pub async fn begin(&self, key: &[u8], first: u64, length: Option<u64>) -> Result<LargeWriter, LargeError> {
        let store = self.shared.store().ok_or(LargeError::Refused)?;
        let hash = store.hash(key);
        let coming = Coming::new(&store, hash);
        let unknown = || ROOM_BYTES.min(self.shared.options.size_bytes / ROOM_SHARE);
        let room = HEADER_BYTES.saturating_add(length.unwrap_or_else(unknown));
        let (done, receiver) = oneshot::channel();
        let job = Job::Begin { store, hash, bytes: room, done };
        self.shared.jobs.push(WAITING_OVERHEAD_BYTES, job).map_err(|_| LargeError::Refused)?;
        let file = receiver.await.map_err(|_| LargeError::Refused)??;
        let (shared, to) = (self.shared.clone(), Destination::New(file, coming));
        Ok(LargeWriter { shared, to, offset: HEADER_BYTES, room, chunks: Vec::new(), position: first })
    }

    /// Begins to add at most `bytes` bytes to the large object with this body, from the offset `first` of the body on. Until that is
    /// published, the object stays what it is.
    ///
    /// # Errors
    /// See [`LargeError`]; [`LargeError::Refused`] also where the object is not stored any more, or others are adding to it.
    pub async fn extend(
        &self,
        key: &[u8],
        variant: u64,
        body: &StoredBody,
        (first, bytes): (u64, u64),
    ) -> Result<LargeWriter, LargeError> {
        let store = self.shared.store().filter(|store| body.is_in(store)).ok_or(LargeError::Refused)?;
        let (done, receiver) = oneshot::channel();
        let wanted = WantedAddition { key: key.into(), variant, segment: body.segment_number(), bytes };
        let job = Job::Extend { store, wanted, done };
        self.shared.jobs.push(WAITING_OVERHEAD_BYTES, job).map_err(|_| LargeError::Refused)?;
        let begun = receiver.await.map_err(|_| LargeError::Refused)??;
        let BegunAddition { addition, offset, place, head } = begun;
        let (shared, to) = (self.shared.clone(), Destination::Stored(addition, place, Box::new(head)));
        Ok(LargeWriter { shared, to, offset, room: offset + bytes, chunks: Vec::new(), position: first })
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
        let (store, segment, offset) = (self.store().clone(), self.segment().clone(), self.offset);
        let checksums = store.directory.checksums;
        // Who waits may give up meanwhile. Its room must not be given to another addition before the write has ended.
        let addition = match &self.to {
            Destination::Stored(addition, ..) => Some(addition.clone()),
            Destination::New(..) => None,
        };
        let write = move || {
            let is_written = match &addition {
                Some(addition) => addition.segment().write_added(&bytes, offset)?,
                None => segment.write(&bytes, offset).map(|()| true)?,
            };
            let checksum = checksums.of(FileKind::Segment, segment.number.into(), offset, &bytes);
            Ok::<_, io::Error>(is_written.then_some(checksum))
        };
        let written = store.reads.write(write).await?.inspect_err(|error| self.failed(error))?;
        let checksum = written.ok_or(LargeError::Refused)?;
        let chunk = ChunkPlace { first: self.position, offset, length, checksum };
        self.chunks.push(chunk);
        self.offset += u64::from(length);
        self.position = self.position.checked_add(length.into()).ok_or(LargeError::Refused)?;
        Ok(StoredChunk::new(Arc::new(self.source()?), chunk))
    }

    /// Leaves out bytes of the body.
    pub fn skip(&mut self, bytes: u64) {
        self.position = self.position.saturating_add(bytes);
    }

    /// Where the next chunk belongs in the body: the offset of its first byte.
    pub fn position(&self) -> u64 {
        self.position
    }

    fn store(&self) -> &Arc<Store> {
        match &self.to {
            Destination::New(file, _) => &file.store,
            Destination::Stored(addition, ..) => addition.store(),
        }
    }

    fn segment(&self) -> &Arc<Segment> {
        match &self.to {
            Destination::New(file, _) => &file.segment,
            Destination::Stored(addition, ..) => addition.segment(),
        }
    }

    /// Where readers find the chunks. They are in no object yet, so there is none to be dropped if a chunk is damaged.
    fn source(&self) -> Result<Source, LargeError> {
        let at = Location { segment: self.segment().number, offset: 0 };
        let nowhere = |hash| Place::new((hash, 0), at, (0, 0), 0).ok_or(LargeError::Refused);
        Ok(match &self.to {
            Destination::New(file, coming) => {
                Source::new(file.store.clone(), file.segment.clone(), nowhere(coming.hash)?)
            }
            Destination::Stored(addition, old, _) => Source::of_addition(addition, nowhere(old.hash)?),
        })
    }

    async fn make_room(&mut self, bytes: u64) -> Result<(), LargeError> {
        let end = self.offset.checked_add(bytes).ok_or(LargeError::Refused)?;
        if end <= self.room {
            return Ok(());
        }
        // Behind the room of an addition, another head may lie.
        let Destination::New(file, _) = &self.to else { return Err(LargeError::Refused) };
        let limit = self.shared.options.size_bytes / LARGE_SHARE_OF_STORE;
        let wanted = self.room + self.room.min(GROWTH_BYTES_MAX);
        let room = wanted.min(limit).max(end);
        let (done, receiver) = oneshot::channel();
        let (store, segment) = (file.store.clone(), file.segment.clone());
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
    /// [`Disk::begin`] is not found any more. One to which bytes were added is found as it was.
    ///
    /// # Errors
    /// See [`LargeError`].
    pub async fn finish(
        self,
        key: Box<[u8]>,
        variant: u64,
        description: Box<[u8]>,
        stored_ms: u64,
    ) -> Result<FinishedLarge, LargeError> {
        let Self { shared, to, offset, chunks, .. } = self;
        match to {
            Destination::New(file, coming) => {
                let head = Head { key, variant, sequence: 0, stored_ms, description, chunks };
                finish_new(shared, (file, coming), head, offset).await
            }
            Destination::Stored(addition, old, stored) => {
                let chunks = merged(&stored.chunks, &chunks).filter(|_| stored.key == key && stored.variant == variant);
                let chunks = chunks.filter(|chunks| chunks.len() <= CHUNKS_MAX as usize).ok_or(LargeError::Refused)?;
                let head = Head { key, variant, sequence: 0, stored_ms, description, chunks };
                finish_extended(shared, (addition, old), head, offset).await
            }
        }
    }
}

async fn finish_new(
    shared: Arc<Shared>,
    (file, coming): (Unfinished, Coming),
    mut head: Head,
    end: u64,
) -> Result<FinishedLarge, LargeError> {
    let (store, segment) = (file.store.clone(), file.segment.clone());
    let length = head_bytes(&head.key, &head.description, head.chunks.len());
    let at = Location { segment: segment.number, offset: end.next_multiple_of(UNIT_BYTES) };
    let hash = (coming.hash, head.variant);
    let place = Place::new(hash, at, (length, length), head.stored_ms).ok_or(LargeError::Refused)?;
    head.sequence = store.index.wait_since(coming.hash, head.variant, coming.begun);
    let (chunks, sequence): (Arc<[ChunkPlace]>, _) = (head.chunks.as_slice().into(), head.sequence);
    // Made before the head is written: dropping it says that the object waits no longer.
    let kind = FinishedKind::New { file, coming, is_waiting: true };
    let finished = FinishedLarge { shared, store: store.clone(), segment, kind, place, chunks, sequence };
    let (checksums, segment) = (store.directory.checksums, finished.segment.clone());
    let write = move || segment.write_head(&head, at.offset, checksums);
    store.reads.write(write).await?.inspect_err(|error| {
        finished.shared.counters.io_errors.add(1);
        tracing::warn!(%error, "a large object could not be written");
    })?;
    Ok(finished)
}

/// The same for an object to which bytes were added. The thread that gives objects other heads writes this one, too.
async fn finish_extended(
    shared: Arc<Shared>,
    (addition, old): (Arc<Addition>, Place),
    head: Head,
    end: u64,
) -> Result<FinishedLarge, LargeError> {
    let (done, receiver) = oneshot::channel();
    let chunks: Arc<[ChunkPlace]> = head.chunks.as_slice().into();
    let weight = head_bytes(&head.key, &head.description, chunks.len()) + WAITING_OVERHEAD_BYTES;
    let job = Job::WriteHead { addition: addition.clone(), old, head, end, done };
    shared.jobs.push(weight, job).map_err(|_| LargeError::Refused)?;
    let (place, sequence) = receiver.await.map_err(|_| LargeError::Refused)??;
    let (store, segment) = (addition.store().clone(), addition.segment().clone());
    let end_of = |place: &Place| place.location().offset + place.head_bytes();
    let bytes = end_of(&place).saturating_sub(end_of(&old));
    let kind = FinishedKind::Extended { addition, old, bytes };
    Ok(FinishedLarge { shared, store, segment, kind, place, chunks, sequence })
}

impl FinishedLarge {
    /// The body, without its bytes.
    pub fn stored_body(&self) -> StoredBody {
        StoredBody::new(&self.store, self.place, self.chunks.clone())
    }

    /// Lets the object be found; returns whether it is: not if it was removed meanwhile, or a newer one of its variant was stored. One to
    /// which bytes were added is not found with them if it was refreshed meanwhile, either.
    pub fn publish(mut self) -> bool {
        let (place, sequence) = (self.place, self.sequence);
        match &mut self.kind {
            FinishedKind::New { coming, is_waiting, .. } => {
                *is_waiting = false;
                let is_published = self.store.index.publish_since(place, sequence, coming.begun);
                self.note(is_published)
            }
            FinishedKind::Extended { addition, old, .. } => {
                let is_published = addition.publish(old, place);
                self.note(is_published)
            }
        }
    }

    /// The same for one that has more bytes of the same as the object with that body: it takes its place, even if that began later.
    pub fn publish_instead_of(mut self, other: &StoredBody) -> bool {
        let (index, place) = (&self.store.index, self.place);
        let FinishedKind::New { is_waiting, .. } = &mut self.kind else { return self.publish() };
        let Some(old) = index.place_in(other.segment_number(), place.hash, place.variant.into()) else {
            return self.publish();
        };
        *is_waiting = false;
        let is_published = index.extend(&old, place);
        index.give_up(place.hash);
        self.note(is_published)
    }

    /// Tells the thread that writes objects that this one was published, if it was.
    fn note(mut self, is_published: bool) -> bool {
        if !is_published {
            return false;
        }
        let (store, place, sequence) = (self.store.clone(), self.place, self.sequence);
        let job = match &mut self.kind {
            FinishedKind::New { file, .. } => {
                file.is_kept = true;
                Job::Published { store, segment: self.segment.clone(), place, sequence }
            }
            FinishedKind::Extended { addition, bytes, .. } => {
                Job::Extended { addition: addition.clone(), place, sequence, bytes: *bytes }
            }
        };
        // Without a weight, so that it is refused only when the directory is given up: then the object is not found again.
        let _ = self.shared.jobs.push(0, job);
        true
    }
}

impl Drop for FinishedLarge {
    fn drop(&mut self) {
        if let FinishedKind::New { is_waiting: true, .. } = self.kind {
            self.store.index.give_up(self.place.hash);
        }
    }
}
