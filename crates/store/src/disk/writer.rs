//! Writes objects into segments, makes room (`room`), and takes checkpoints (`checkpoints`). Objects with a segment of their own are in
//! `large`. All of it on one thread, so that nothing here needs a lock.

mod checkpoints;
mod large;
mod room;

use super::eviction::Queues;
use super::ghosts::Ghosts;
use super::in_memory::InMemory;
use super::layout::{ChunkPlace, FileKind, Head, head_bytes};
use super::log::LogWriter;
use super::object::CHUNK_BYTES_MAX;
use super::opening::{self, Opened};
use super::place::{Location, Place, UNIT_BYTES};
use super::segment::{Content, HEADER_BYTES, Segment, TRAILER_BYTES};
use super::store::Store;
use super::{Admission, DiskOptions, NewObject, Owner};
use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;

/// An object larger than this part of a segment has a segment of its own.
const LARGE_SHARE: u64 = 8;

/// The largest object: this part of the store.
pub(super) const LARGE_SHARE_OF_STORE: u64 = 4;

/// The size of a segment: one of so many in the whole store.
const SEGMENTS: u64 = 256;
const SEGMENT_BYTES_MIN: u64 = 1 << 20;
const SEGMENT_BYTES_MAX: u64 = 1 << 30;

/// The writing end of an open directory.
pub(super) struct Writer {
    store: Arc<Store>,
    log: LogWriter,
    queues: Queues,
    active: [Option<Active>; 2],
    ghosts: Ghosts,
    owner: Arc<dyn Owner>,
    in_memory: InMemory,
    /// The numbers of the segments of large objects that may not be complete.
    unfinished: HashSet<u32>,
    /// The bytes that are being added to large objects, by the numbers of their segments.
    additions: HashMap<u32, u64>,
    /// Whether each large object has been kept once since room is wanted, and none is kept any more since it is in memory.
    is_pressed: bool,
    /// Keys that were seen once, where objects are written on their second request.
    seen: Option<Ghosts>,
    size_bytes: u64,
    /// What segments may take while others are evicted: more than the size while the store is brought down to it.
    limit_bytes: u64,
    segment_bytes: u64,
    next_segment: u32,
    previous_checkpoint: u64,
    is_evicting: bool,
    /// Whether a checkpoint should be taken as soon as all objects are known.
    is_checkpoint_due: bool,
    /// Whether the log in use began for a checkpoint that has not been written yet.
    awaits_checkpoint: bool,
}

/// A segment to which objects are appended.
struct Active {
    segment: Arc<Segment>,
    offset: u64,
}

/// Why an object was not written.
#[derive(Debug)]
pub(super) enum Refused {
    /// There is no room, or nothing may be written.
    Io(io::Error),
    /// It was requested once only.
    Unproven,
    /// It is larger than the format allows, or than the store takes.
    TooLarge,
    /// It was removed while it waited.
    Removed,
    /// The body that it shall keep has been evicted, or the object to which it adds has changed.
    Gone,
    /// Too much of the object's file is of no use any more.
    Worn,
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The size of the segments of a store.
pub(super) fn segment_bytes(size_bytes: u64) -> u64 {
    (size_bytes / SEGMENTS).next_power_of_two().clamp(SEGMENT_BYTES_MIN, SEGMENT_BYTES_MAX)
}

impl Writer {
    pub(super) fn new(opened: Opened, options: &DiskOptions, owner: Arc<dyn Owner>) -> (Self, opening::FoundObjects) {
        let Opened { store, log, checkpoint, next_segment, has_lost, found, segments, .. } = opened;
        let mut queues = Queues::default();
        segments.into_iter().for_each(|segment| queues.add(segment));
        let writer = Self {
            store,
            previous_checkpoint: checkpoint.unwrap_or(log.generation()),
            log,
            queues,
            active: [None, None],
            ghosts: Ghosts::new(0),
            owner,
            in_memory: InMemory::default(),
            unfinished: HashSet::new(),
            additions: HashMap::new(),
            is_pressed: false,
            seen: (options.admission == Admission::SecondRequest).then(|| Ghosts::new(options.size_bytes / (16 << 10))),
            size_bytes: options.size_bytes,
            limit_bytes: options.size_bytes,
            segment_bytes: segment_bytes(options.size_bytes),
            next_segment,
            is_evicting: false,
            is_checkpoint_due: has_lost,
            awaits_checkpoint: false,
        };
        (writer, found)
    }

    pub(super) fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// The number of the next segment.
    pub(super) fn next_segment(&self) -> u32 {
        self.next_segment
    }

    /// Writes an object and publishes it. `replaces`: whether it takes the place of an older one.
    pub(super) fn put(
        &mut self,
        object: NewObject,
        (sequence, replaces): (u64, bool),
        now_ms: u64,
    ) -> Result<(), Refused> {
        let hash = self.store.hash(&object.key);
        self.admit(hash, replaces || object.is_proven)?;
        let content = if self.ghosts.recall(hash) { Content::Proven } else { Content::New };
        let (place, bytes) = self.write(&object, (sequence, object.stored_ms), content)?;
        if !self.store.index.publish(place, sequence) {
            return Err(Refused::Removed);
        }
        self.log.stored(sequence, now_ms, &place);
        self.store.counters.stored_objects.add(1);
        self.store.counters.stored_bytes.add(bytes);
        Ok(())
    }

    /// Refuses what comes for the first time, where only what comes again is written.
    fn admit(&mut self, hash: u64, is_proven: bool) -> Result<(), Refused> {
        if let Some(seen) = &mut self.seen
            && !seen.recall(hash)
            && !is_proven
        {
            seen.remember(hash);
            return Err(Refused::Unproven);
        }
        Ok(())
    }

    /// Writes an object; returns its place, and how many bytes it takes.
    fn write(
        &mut self,
        object: &NewObject,
        (sequence, stored_ms): (u64, u64),
        content: Content,
    ) -> Result<(Place, u64), Refused> {
        let head = head_bytes(&object.key, &object.description, object.chunks.len());
        let body: u64 = object.chunks.iter().map(|(_, bytes)| bytes.len() as u64).sum();
        if object.chunks.iter().any(|(_, bytes)| bytes.len() > CHUNK_BYTES_MAX as usize) {
            return Err(Refused::TooLarge);
        }
        let bytes = (head + body).next_multiple_of(UNIT_BYTES);
        let is_large = bytes > self.segment_bytes / LARGE_SHARE;
        let (segment, begin) = match is_large {
            true if bytes > self.size_bytes / LARGE_SHARE_OF_STORE => return Err(Refused::TooLarge),
            true => (self.create(Content::One, HEADER_BYTES + bytes + TRAILER_BYTES)?, HEADER_BYTES),
            false => self.room(content, bytes)?,
        };
        let written = self.write_into(&segment, begin, is_large, object, (sequence, stored_ms));
        match written {
            Ok(place) if is_large => {
                self.store.add_segment(&segment);
                self.queues.add(segment);
                Ok((place, bytes))
            }
            Ok(place) => Ok((place, bytes)),
            Err(refused) => {
                if is_large {
                    segment.remove();
                }
                Err(refused)
            }
        }
    }

    fn write_into(
        &self,
        segment: &Segment,
        begin: u64,
        is_large: bool,
        object: &NewObject,
        (sequence, stored_ms): (u64, u64),
    ) -> Result<Place, Refused> {
        let checksums = self.store.directory.checksums;
        let length = head_bytes(&object.key, &object.description, object.chunks.len());
        let mut offset = if is_large { begin } else { begin + length };
        let mut chunks = Vec::with_capacity(object.chunks.len());
        for (first, bytes) in &object.chunks {
            let checksum = checksums.of(FileKind::Segment, segment.number.into(), offset, bytes);
            segment.write(bytes, offset)?;
            chunks.push(ChunkPlace { first: *first, offset, length: bytes.len() as u32, checksum });
            offset += bytes.len() as u64;
        }
        offset = offset.next_multiple_of(UNIT_BYTES);
        let at = Location { segment: segment.number, offset: if is_large { offset } else { begin } };
        let (key, description) = (object.key.clone(), object.description.clone());
        let head = Head { key, variant: object.variant, sequence, stored_ms, description, chunks };
        if is_large {
            segment.write_head(&head, at.offset, checksums)?;
        } else {
            segment.write(&head.write(checksums, at), at.offset)?;
        }
        let bytes = if is_large { length } else { offset - begin };
        let hash = (self.store.hash(&object.key), object.variant);
        Place::new(hash, at, (length, bytes), stored_ms).ok_or(Refused::TooLarge)
    }

    /// Room for so many bytes in a segment of that content. The room counts as used.
    fn room(&mut self, content: Content, bytes: u64) -> Result<(Arc<Segment>, u64), Refused> {
        let number = usize::from(content == Content::Proven);
        if !self.has_room(number, bytes) {
            self.make_room(self.segment_bytes)?;
        }
        // Making room may have begun a segment for what was moved.
        if !self.has_room(number, bytes) {
            let segment = self.create(content, self.segment_bytes)?;
            self.store.add_segment(&segment);
            let new = Active { segment, offset: HEADER_BYTES };
            if let Some(complete) = self.active.get_mut(number).and_then(|active| active.replace(new)) {
                self.queues.add(complete.segment);
            }
        }
        let active = self.active.get_mut(number).and_then(Option::as_mut);
        let active = active.ok_or_else(|| Refused::Io(io::ErrorKind::StorageFull.into()))?;
        let begin = active.offset;
        active.offset += bytes;
        Ok((active.segment.clone(), begin))
    }

    fn has_room(&self, number: usize, bytes: u64) -> bool {
        let active = self.active.get(number).and_then(Option::as_ref);
        active.is_some_and(|active| active.offset + bytes <= active.segment.bytes())
    }
}
