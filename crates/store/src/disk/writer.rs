//! Writes objects into segments, makes room, and takes checkpoints. All of it on one thread, so that nothing here needs a lock.

use super::addition::{Addition, BegunAddition, WantedAddition};
use super::body::StoredBody;
use super::checkpoint::{self, CheckpointWriter, Moment};
use super::directory::{FileName, is_full};
use super::eviction::{QueueKind, Queues};
use super::ghosts::Ghosts;
use super::in_memory::InMemory;
use super::layout::{ChunkPlace, FileKind, Head, head_bytes};
use super::log::{FRAME_BYTES, LogWriter};
use super::object::{Attempt, CHUNK_BYTES_MAX, StoredObject, Wait};
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

/// What all large objects together may take while they come: this part of the store.
const UNFINISHED_SHARE_OF_STORE: u64 = 2;

/// The heads that a large object was given one after the other, and what was added to it in vain, may take this part of its body, and at
/// least so many bytes. Then it is dropped, and fetched anew.
const WASTE_SHARE: u64 = 8;
const WASTE_BYTES_MIN: u64 = 1 << 20;

/// How much of a segment is moved at most when it is evicted: the rest of it makes the room.
const MOVED_SHARE: (u64, u64) = (3, 4);

/// A checkpoint is taken when the log has so many frames, or one for each so many objects: a start reads the log before it finds anything, and
/// a checkpoint is a place for each object.
const LOG_FRAMES_MIN: u64 = 16 << 10;
const OBJECTS_PER_FRAME: u64 = 4;

/// The log may grow to so many times that length while no checkpoint can be written.
const LOG_GROWTH_MAX: u64 = 4;

/// Room that is kept for the owner's marks in a checkpoint, in bytes.
const MARKS_BYTES: u64 = 1 << 20;

/// With so many logs since the last checkpoint, another one is taken: each start begins a log.
const LOGS_MAX: u64 = 3;

/// The most segments that are evicted, or kept since their object was requested again, to make room for one.
const EVICTIONS_MAX: usize = 4096;

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

/// Whether too much of a large object's file is of no use any more. `bytes`: the file with its next head, `body`: the bytes of its chunks.
fn is_worn(bytes: u64, body: u64) -> bool {
    bytes.saturating_sub(HEADER_BYTES + body) > (body / WASTE_SHARE).max(WASTE_BYTES_MIN)
}

fn body_bytes(chunks: &[ChunkPlace]) -> u64 {
    chunks.iter().map(|chunk| u64::from(chunk.length)).sum()
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

    /// Evicts segments until there is room for one of so many bytes, and for one more into which objects are moved.
    fn make_room(&mut self, bytes: u64) -> Result<(), Refused> {
        // What is moved has the segment that is kept in reserve.
        if self.is_evicting {
            return Ok(());
        }
        let wanted = bytes + self.segment_bytes;
        self.evict_until(|writer| writer.used_bytes() + wanted <= writer.size_bytes)
    }

    fn evict_until(&mut self, has_room: impl Fn(&Self) -> bool) -> Result<(), Refused> {
        let segments = self.queues.len();
        let mut evicted = Ok(());
        for number in 0..EVICTIONS_MAX {
            if evicted.is_err() || has_room(self) {
                break;
            }
            // Where all large objects are in memory as well, they would be kept for ever.
            self.is_pressed = number >= segments;
            evicted = self.evict();
        }
        self.is_pressed = false;
        evicted
    }

    /// The same; an error where there is no room after that.
    fn make_room_for_more(&mut self, bytes: u64) -> Result<(), Refused> {
        self.make_room(bytes)?;
        match self.used_bytes() + bytes <= self.limit_bytes {
            true => Ok(()),
            false => Err(Refused::Io(io::ErrorKind::StorageFull.into())),
        }
    }

    /// A new segment, after room was made for it.
    fn create(&mut self, content: Content, bytes: u64) -> Result<Arc<Segment>, Refused> {
        self.make_room_for_more(bytes)?;
        match self.create_file(content, bytes) {
            // Others use the file system as well: what is configured may be more than there is.
            Err(error) if is_full(&error) && !self.is_evicting && self.evict().is_ok() => {
                Ok(self.create_file(content, bytes)?)
            }
            created => Ok(created?),
        }
    }

    /// A segment for a large object that is still to come.
    pub(super) fn begin_large(&mut self, hash: u64, bytes: u64) -> Result<Arc<Segment>, Refused> {
        if bytes > self.size_bytes / LARGE_SHARE_OF_STORE {
            return Err(Refused::TooLarge);
        }
        let store = &self.store;
        self.unfinished.retain(|number| store.segment(*number).is_some());
        self.has_room_for_unfinished(bytes)?;
        self.admit(hash, false)?;
        let segment = self.create(Content::One, bytes)?;
        self.store.add_segment(&segment);
        self.unfinished.insert(segment.number);
        Ok(segment)
    }

    /// More room for such an object: so much in all.
    pub(super) fn grow_large(&mut self, segment: &Segment, bytes: u64) -> Result<(), Refused> {
        if bytes > self.size_bytes / LARGE_SHARE_OF_STORE {
            return Err(Refused::TooLarge);
        }
        let more = bytes.saturating_sub(segment.bytes());
        self.has_room_for_unfinished(more)?;
        self.make_room_for_more(more)?;
        Ok(segment.grow(bytes)?)
    }

    /// Refuses what would make large objects that are not complete take so much that all others had to go for them.
    fn has_room_for_unfinished(&mut self, bytes: u64) -> Result<(), Refused> {
        let store = &self.store;
        let is_adding = |number: &u32| store.segment(*number).is_some_and(|segment| segment.is_adding());
        self.additions.retain(|number, _| is_adding(number));
        let segments = self.unfinished.iter().filter_map(|number| store.segment(*number));
        let sum = segments.map(|segment| segment.bytes()).sum::<u64>() + self.additions.values().sum::<u64>();
        if sum + bytes > self.size_bytes / UNFINISHED_SHARE_OF_STORE { Err(Refused::TooLarge) } else { Ok(()) }
    }

    /// Takes the names of large objects that are not complete from them. Who writes or reads one goes on. The next process, which may be
    /// about to use the directory, finds nothing of them. Nothing more is added to the others: that process may do so.
    pub(super) fn leave_unfinished(&mut self) {
        for segment in self.unfinished.drain().filter_map(|number| self.store.segment(number)) {
            segment.remove();
        }
        for segment in self.additions.drain().filter_map(|(number, _)| self.store.segment(number)) {
            segment.leave();
        }
    }

    /// Makes room for bytes that are added to a large object.
    pub(super) fn extend(&mut self, wanted: &WantedAddition) -> Result<BegunAddition, Refused> {
        let WantedAddition { key, variant, segment, bytes } = wanted;
        let store = self.store.clone();
        let segment = store.segment(*segment).filter(|segment| segment.content == Content::One).ok_or(Refused::Gone)?;
        let place = store.index.place_in(segment.number, store.hash(key), *variant).ok_or(Refused::Gone)?;
        let Some((head, _)) = opening::read_head(&store.directory, &segment, place.location().offset) else {
            store.drop_damaged(&place);
            return Err(Refused::Gone);
        };
        if head.key != *key || head.variant != *variant || segment.is_adding() {
            return Err(Refused::Gone);
        }
        let body = body_bytes(&head.chunks) + bytes;
        // The next head will be as long as this one, and somewhat longer.
        if is_worn(segment.bytes() + bytes + place.head_bytes(), body) {
            return Err(Refused::Worn);
        }
        if segment.bytes() + bytes > self.size_bytes / LARGE_SHARE_OF_STORE {
            return Err(Refused::TooLarge);
        }
        self.has_room_for_unfinished(*bytes)?;
        self.make_room_for_more(*bytes)?;
        // Making room may have evicted it.
        if segment.is_removed() {
            return Err(Refused::Gone);
        }
        let offset = segment.begin_adding(*bytes)?.ok_or(Refused::Gone)?;
        self.additions.insert(segment.number, *bytes);
        Ok(BegunAddition { addition: Addition::new(&store, segment), offset, place, head })
    }

    /// Writes the head that names such bytes, which end at that offset.
    pub(super) fn write_added_head(
        &mut self,
        addition: &Addition,
        old: &Place,
        mut head: Head,
        end: u64,
    ) -> Result<(Place, u64), Refused> {
        let (store, segment) = (addition.store(), addition.segment());
        let length = head_bytes(&head.key, &head.description, head.chunks.len());
        let at = Location { segment: segment.number, offset: end.next_multiple_of(UNIT_BYTES) };
        self.make_room_for_more(length + TRAILER_BYTES)?;
        // First the number, then the look: a removal with a lower number has taken the old place away by then. So a scan never finds a head
        // that is newer than the removal of its object.
        head.sequence = store.index.next_sequence();
        if segment.is_removed() || !store.index.has(old) {
            return Err(Refused::Gone);
        }
        let place =
            Place::new((old.hash, head.variant), at, (length, length), head.stored_ms).ok_or(Refused::TooLarge)?;
        match segment.write_added_head(&head, at.offset, store.directory.checksums)? {
            true => Ok((place, head.sequence)),
            false => Err(Refused::Gone),
        }
    }

    /// A large object can be found with what was added to it.
    pub(super) fn extended(&mut self, addition: &Addition, (place, sequence): (&Place, u64), bytes: u64, now_ms: u64) {
        addition.end();
        // It may have been removed or refreshed since: see `published_large`.
        if self.store.index.has(place) {
            self.log.stored(sequence, now_ms, place);
        }
        self.store.counters.stored_objects.add(1);
        self.store.counters.stored_bytes.add(bytes);
    }

    /// Such an object is complete and can be found.
    pub(super) fn published_large(&mut self, segment: Arc<Segment>, place: &Place, sequence: u64, now_ms: u64) {
        self.unfinished.remove(&segment.number);
        // It may have been removed or refreshed since it was published. The journal that says so may be older than the log that is in use now,
        // so it must not be in that log.
        if !self.store.index.has(place) {
            return match self.store.index.is_waited_for(place.hash) {
                true => self.queues.add(segment),
                false => self.store.remove_segment(&segment),
            };
        }
        self.log.stored(sequence, now_ms, place);
        self.store.counters.stored_objects.add(1);
        self.store.counters.stored_bytes.add(segment.bytes());
        match self.ghosts.recall(place.hash) {
            true => self.queues.add_proven(segment),
            false => self.queues.add(segment),
        }
    }

    /// Gives an object another description. Its body stays where it is, if it has a segment of its own; otherwise it is written anew.
    pub(super) fn refresh(
        &mut self,
        mut object: NewObject,
        body: &StoredBody,
        sequence: u64,
        now_ms: u64,
    ) -> Result<(), Refused> {
        let open = body.open().ok_or(Refused::Gone)?;
        if !open.is_alone_in_its_segment() {
            for chunk in open.chunks() {
                let Ok(Attempt::Done(bytes)) = chunk.read(Wait::Yes) else { return Err(Refused::Gone) };
                object.chunks.push((chunk.first(), bytes));
            }
            return self.put(object, (sequence, true), now_ms);
        }
        let chunks: Vec<ChunkPlace> = open.chunks().map(|chunk| chunk.place()).collect();
        let length = head_bytes(&object.key, &object.description, chunks.len());
        let segment = open.segment();
        let offset = segment.bytes().next_multiple_of(UNIT_BYTES);
        // Each refreshing leaves a head behind.
        if is_worn(offset + length, body_bytes(&chunks)) {
            return Err(Refused::TooLarge);
        }
        self.make_room_for_more(length + TRAILER_BYTES)?;
        let hash = self.store.hash(&object.key);
        let at = Location { segment: segment.number, offset };
        let place =
            Place::new((hash, object.variant), at, (length, length), object.stored_ms).ok_or(Refused::TooLarge)?;
        let NewObject { key, variant, description, stored_ms, .. } = object;
        let head = Head { key, variant, sequence, stored_ms, description, chunks };
        segment.write_head(&head, offset, self.store.directory.checksums)?;
        // Making room may have evicted it.
        if segment.is_removed() {
            return Err(Refused::Gone);
        }
        if !self.store.index.publish(place, sequence) {
            return Err(Refused::Removed);
        }
        self.log.stored(sequence, now_ms, &place);
        Ok(())
    }

    fn create_file(&mut self, content: Content, bytes: u64) -> io::Result<Arc<Segment>> {
        let (number, directory) = (self.next_segment, &self.store.directory);
        // A file may have the last number.
        self.next_segment = number.checked_add(1).ok_or_else(|| io::Error::other("no segment number is left"))?;
        let folder = directory.segments();
        let segment = Segment::create(&folder, number, content, bytes, directory.checksums, &self.store.usage)?;
        Ok(Arc::new(segment))
    }

    /// The bytes that everything takes, with room for the next checkpoint, its journal, and the log until then.
    fn used_bytes(&self) -> u64 {
        let directory = &self.store.directory;
        let bytes = |file| std::fs::metadata(directory.file(file)).map_or(0, |file| file.len());
        let files: u64 = directory.files().unwrap_or_default().into_iter().map(bytes).sum();
        let checkpoint = checkpoint::bytes(self.store.index.len(), MARKS_BYTES);
        let journal = 2 * super::journal::JOURNAL_BYTES as u64;
        let log = 2 * self.log_frames_wanted() * FRAME_BYTES as u64;
        self.store.usage.bytes() + files + checkpoint + journal + log
    }

    /// Whether everything takes more than the store may.
    pub(super) fn is_too_large(&self) -> bool {
        self.used_bytes() > self.size_bytes
    }

    /// Removes segments until the size is kept. What is wanted of them has to be moved first, into a segment that comes on top.
    pub(super) fn fit(&mut self) {
        self.limit_bytes = self.used_bytes() + self.segment_bytes;
        if let Err(refused) = self.evict_until(|writer| !writer.is_too_large()) {
            tracing::warn!(?refused, "the disk cache takes more than its size");
        }
        self.limit_bytes = self.size_bytes;
    }

    /// Removes a segment with all that is in it, so that the file system has room for a log or a checkpoint.
    pub(super) fn give_room(&mut self) {
        let active = |writer: &mut Self| writer.active.iter_mut().find_map(Option::take).map(|active| active.segment);
        let taken = self.queues.take(self.size_bytes).map(|(_, segment)| segment);
        let Some(segment) = taken.or_else(|| active(self)) else { return };
        let mut evicted = 0;
        self.store.index.sift(segment.number, |_| {
            evicted += 1;
            false
        });
        self.store.counters.evicted_objects.add(evicted);
        self.store.remove_segment(&segment);
    }

    /// Removes a segment. What was requested again is moved.
    fn evict(&mut self) -> Result<(), Refused> {
        let emptiest = if self.is_half_free() {
            self.queues.take_emptiest(&self.store.index.object_bytes_by_segment())
        } else {
            None
        };
        let keeps_all = emptiest.is_some();
        let (queue, victim) = match emptiest.or_else(|| self.queues.take(self.size_bytes)) {
            Some(taken) => taken,
            None => {
                let active = self.active.iter_mut().find_map(Option::take);
                let active = active.ok_or_else(|| Refused::Io(io::ErrorKind::StorageFull.into()))?;
                (
                    if active.segment.content == Content::Proven { QueueKind::Proven } else { QueueKind::New },
                    active.segment,
                )
            }
        };
        self.in_memory.refresh(&self.store, &*self.owner);
        if victim.content == Content::One && self.is_wanted_large(&victim) {
            self.queues.add_proven(victim);
            return Ok(());
        }
        let (mut wanted, mut dropped) = (Vec::new(), Vec::new());
        let in_memory = &mut self.in_memory;
        self.store.index.sift(victim.number, |place| {
            let is_in_memory = in_memory.has(place.hash);
            let is_wanted = place.hits() > 0 || is_in_memory || keeps_all;
            if is_wanted {
                wanted.push((is_in_memory, *place));
            } else {
                dropped.push(place.hash);
            }
            is_wanted
        });
        // What is wanted most has the room.
        wanted.sort_by_key(|(is_in_memory, place)| std::cmp::Reverse((*is_in_memory, place.hits())));
        let (mut moved, mut moved_bytes) = (Vec::new(), 0);
        for (_, place) in wanted {
            if moved_bytes + place.bytes() <= self.segment_bytes * MOVED_SHARE.0 / MOVED_SHARE.1 {
                moved_bytes += place.bytes();
                moved.push((place, if queue == QueueKind::New { 0 } else { place.hits().saturating_sub(1) }));
            } else if self.store.index.remove_place(&place) {
                dropped.push(place.hash);
            }
        }
        self.store.counters.evicted_objects.add(dropped.len() as u64);
        if queue == QueueKind::New {
            dropped.into_iter().for_each(|hash| self.ghosts.remember(hash));
        }
        self.is_evicting = true;
        for (place, hits) in moved {
            if let Err(refused) = self.relocate(place, hits) {
                tracing::debug!(?refused, "an object of the disk cache was not moved");
                self.store.index.remove_place(&place);
                self.store.counters.evicted_objects.add(1);
            }
        }
        self.is_evicting = false;
        // The new places of what was moved must be known before the old ones are gone.
        if let Err(error) = self.log.flush() {
            self.queues.add(victim);
            return Err(error.into());
        }
        self.store.remove_segment(&victim);
        Ok(())
    }

    /// Whether objects that were replaced or removed have left more than half of the segments of many objects free.
    fn is_half_free(&self) -> bool {
        let index = &self.store.index;
        !index.is_loading() && 2 * index.object_bytes() < self.queues.shared_bytes()
    }

    /// Whether the object of a large segment was requested again. Its hits are counted down. Otherwise it is dropped.
    fn is_wanted_large(&mut self, segment: &Segment) -> bool {
        let (ghosts, in_memory) = (&mut self.ghosts, &mut self.in_memory);
        let is_pressed = self.is_pressed;
        let (mut is_kept, evicted) = (false, &self.store.counters.evicted_objects);
        self.store.index.sift(segment.number, |place| {
            let hits = place.hits();
            place.set_hits(hits.saturating_sub(1));
            let is_wanted = hits > 0 || !is_pressed && in_memory.has(place.hash);
            is_kept |= is_wanted;
            if !is_wanted {
                ghosts.remember(place.hash);
                evicted.add(1);
            }
            is_wanted
        });
        is_kept
    }

    /// Writes an object anew into a segment of what was requested again.
    fn relocate(&mut self, place: Place, hits: u32) -> Result<(), Refused> {
        let damaged = |_| Refused::Io(io::ErrorKind::InvalidData.into());
        let read = StoredObject::read(&self.store, place, None, Wait::Yes).map_err(damaged)?;
        let Attempt::Done(Some(stored)) = read else { return Err(Refused::Removed) };
        let mut chunks = Vec::with_capacity(stored.chunks.len());
        for chunk in &stored.chunks {
            let Attempt::Done(bytes) = chunk.read(Wait::Yes).map_err(damaged)? else { return Err(Refused::Removed) };
            chunks.push((chunk.first(), bytes));
        }
        // A place of an earlier process may lead into a newer object.
        if self.store.hash(&stored.key) != place.hash || stored.variant as u32 != place.variant {
            return Err(Refused::Removed);
        }
        let (sequence, stored_ms) = (stored.sequence, stored.stored_ms);
        let (key, variant, description) = (stored.key, stored.variant, stored.description);
        let object = NewObject { key, variant, description, chunks, stored_ms, is_proven: true, keeps: None };
        let (mut new, _) = self.write(&object, (sequence, stored_ms), Content::Proven)?;
        new.set_hits(hits);
        let new = if place.is_unconfirmed() { new.unconfirmed() } else { new };
        if self.store.index.relocate(&place, new) {
            self.log.stored(sequence, stored_ms, &new);
            self.store.counters.moved_objects.add(1);
        }
        Ok(())
    }

    /// Writes the log's frames that wait.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.log.flush()
    }

    /// The log's frames that wait.
    pub(super) fn frames_waiting(&self) -> usize {
        self.log.waiting()
    }

    /// Notes the time in the log.
    pub(super) fn note_time(&mut self, now_ms: u64) {
        self.log.time(now_ms);
    }

    /// Has a checkpoint taken as soon as all objects are known.
    pub(super) fn want_checkpoint(&mut self) {
        self.is_checkpoint_due = true;
    }

    /// Whether the log or the journal is so long that a checkpoint should be taken.
    pub(super) fn wants_checkpoint(&self) -> bool {
        let is_long = self.log.len() > self.log_frames_wanted() || self.store.journal().is_half_full();
        let has_many_logs = self.log.generation() - self.previous_checkpoint >= LOGS_MAX;
        !self.store.index.is_loading() && (is_long || has_many_logs || self.is_checkpoint_due)
    }

    /// Whether the log is so long that nothing more may be written before a checkpoint is.
    pub(super) fn is_log_full(&self) -> bool {
        self.log.len() > LOG_GROWTH_MAX * self.log_frames_wanted()
    }

    fn log_frames_wanted(&self) -> u64 {
        LOG_FRAMES_MIN.max(self.store.index.len() / OBJECTS_PER_FRAME)
    }

    /// Begins a new log and a new journal: from here on, all changes are in these as well.
    pub(super) fn begin_generation(&mut self) -> io::Result<()> {
        let directory = &self.store.directory;
        let (log, journal) = opening::begin_generation(directory, self.log.generation() + 1)?;
        // Before anything is acknowledged that is in them.
        directory.sync()?;
        // A log that can't be written must not keep a new one from being used: what waits is in the index, and so in the checkpoint.
        if let Err(error) = self.log.flush() {
            tracing::warn!(%error, "the end of a log of the disk cache is lost");
        }
        self.log = log;
        *self.store.journal() = journal;
        self.awaits_checkpoint = true;
        Ok(())
    }

    /// Takes a checkpoint. `marks` returns all marks of the owner.
    pub(super) fn checkpoint(&mut self, now_ms: u64, marks: impl FnOnce() -> Vec<u8>) -> io::Result<()> {
        if !self.awaits_checkpoint {
            self.begin_generation()?;
        }
        let (store, directory) = (self.store.clone(), &self.store.directory);
        let generation = self.log.generation();
        let (sequence, next_segment) = (store.index.next_sequence(), self.next_segment);
        let moment = Moment { generation, sequence, now_ms, next_segment, marks: marks() };
        let unfinished = directory.file(FileName::Unfinished);
        let written = self.write_checkpoint(&unfinished, &moment);
        if let Err(error) = written {
            let _ = std::fs::remove_file(&unfinished);
            return Err(error);
        }
        std::fs::rename(&unfinished, directory.file(FileName::Checkpoint(generation)))?;
        directory.sync()?;
        (self.awaits_checkpoint, self.is_checkpoint_due) = (false, false);
        // The checkpoint before this one stays until the next, with all that came since then.
        let previous = std::mem::replace(&mut self.previous_checkpoint, generation);
        for file in directory.files()?.into_iter().filter(|file| file.generation() < previous) {
            std::fs::remove_file(directory.file(file))?;
        }
        self.ghosts.fit(store.index.len());
        Ok(())
    }

    fn write_checkpoint(&self, path: &std::path::Path, moment: &Moment) -> io::Result<()> {
        let mut writer = CheckpointWriter::create(path, moment, self.store.directory.checksums)?;
        for number in 0.. {
            let Some(places) = self.store.index.part_of(number) else { break };
            writer.places(&places)?;
        }
        writer.finish()
    }
}
