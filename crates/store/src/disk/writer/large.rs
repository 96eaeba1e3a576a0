//! Large objects: the room for one that comes, for what is added to one, and another head for one that is refreshed.

use super::{LARGE_SHARE_OF_STORE, Refused, Writer};
use crate::disk::NewObject;
use crate::disk::addition::{Addition, BegunAddition, WantedAddition};
use crate::disk::body::StoredBody;
use crate::disk::layout::{ChunkPlace, Head, head_bytes};
use crate::disk::object::{Attempt, Wait};
use crate::disk::opening;
use crate::disk::place::{Location, Place, UNIT_BYTES};
use crate::disk::segment::{Content, HEADER_BYTES, Segment, TRAILER_BYTES};
use std::sync::Arc;

/// What all large objects together may take while they come: this part of the store.
const UNFINISHED_SHARE_OF_STORE: u64 = 2;

/// The heads that a large object was given one after the other, and what was added to it in vain, may take this part of its body, and at
/// least so many bytes. Then it is dropped, and fetched anew.
const WASTE_SHARE: u64 = 8;
const WASTE_BYTES_MIN: u64 = 1 << 20;

impl Writer {
    /// A segment for a large object that is still to come.
    pub(in crate::disk) fn begin_large(&mut self, hash: u64, bytes: u64) -> Result<Arc<Segment>, Refused> {
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
    pub(in crate::disk) fn grow_large(&mut self, segment: &Segment, bytes: u64) -> Result<(), Refused> {
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
    pub(in crate::disk) fn leave_unfinished(&mut self) {
        for segment in self.unfinished.drain().filter_map(|number| self.store.segment(number)) {
            segment.remove();
        }
        for segment in self.additions.drain().filter_map(|(number, _)| self.store.segment(number)) {
            segment.leave();
        }
    }

    /// Makes room for bytes that are added to a large object.
    pub(in crate::disk) fn extend(&mut self, wanted: &WantedAddition) -> Result<BegunAddition, Refused> {
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
    pub(in crate::disk) fn write_added_head(
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
    pub(in crate::disk) fn extended(
        &mut self,
        addition: &Addition,
        (place, sequence): (&Place, u64),
        bytes: u64,
        now_ms: u64,
    ) {
        addition.end();
        // It may have been removed or refreshed since: see `published_large`.
        if self.store.index.has(place) {
            self.log.stored(sequence, now_ms, place);
        }
        self.store.counters.stored_objects.add(1);
        self.store.counters.stored_bytes.add(bytes);
    }

    /// Such an object is complete and can be found.
    pub(in crate::disk) fn published_large(
        &mut self,
        segment: Arc<Segment>,
        place: &Place,
        sequence: u64,
        now_ms: u64,
    ) {
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
    pub(in crate::disk) fn refresh(
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
}

/// Whether too much of a large object's file is of no use any more. `bytes`: the file with its next head, `body`: the bytes of its chunks.
fn is_worn(bytes: u64, body: u64) -> bool {
    bytes.saturating_sub(HEADER_BYTES + body) > (body / WASTE_SHARE).max(WASTE_BYTES_MIN)
}

fn body_bytes(chunks: &[ChunkPlace]) -> u64 {
    chunks.iter().map(|chunk| u64::from(chunk.length)).sum()
}
