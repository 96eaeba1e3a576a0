//! Room for what is written: which segments go, and what of them is moved.

use super::{Refused, Writer};
use crate::disk::directory::is_full;
use crate::disk::eviction::QueueKind;
use crate::disk::log::FRAME_BYTES;
use crate::disk::object::{Attempt, StoredObject, Wait};
use crate::disk::place::Place;
use crate::disk::segment::{Content, Segment};
use crate::disk::{NewObject, checkpoint, journal};
use std::io;
use std::sync::Arc;

/// How much of a segment is moved at most when it is evicted: the rest of it makes the room.
const MOVED_SHARE: (u64, u64) = (3, 4);

/// The most segments that are evicted, or kept since their object was requested again, to make room for one.
const EVICTIONS_MAX: usize = 4096;

/// Room that is kept for the owner's marks in a checkpoint, in bytes.
const MARKS_BYTES: u64 = 1 << 20;

impl Writer {
    /// Evicts segments until there is room for one of so many bytes, and for one more into which objects are moved.
    pub(super) fn make_room(&mut self, bytes: u64) -> Result<(), Refused> {
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
    pub(super) fn make_room_for_more(&mut self, bytes: u64) -> Result<(), Refused> {
        self.make_room(bytes)?;
        match self.used_bytes() + bytes <= self.limit_bytes {
            true => Ok(()),
            false => Err(Refused::Io(io::ErrorKind::StorageFull.into())),
        }
    }

    /// A new segment, after room was made for it.
    pub(super) fn create(&mut self, content: Content, bytes: u64) -> Result<Arc<Segment>, Refused> {
        self.make_room_for_more(bytes)?;
        match self.create_file(content, bytes) {
            // Others use the file system as well: what is configured may be more than there is.
            Err(error) if is_full(&error) && !self.is_evicting && self.evict().is_ok() => {
                Ok(self.create_file(content, bytes)?)
            }
            created => Ok(created?),
        }
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
        let journal = 2 * journal::JOURNAL_BYTES as u64;
        let log = 2 * self.log_frames_wanted() * FRAME_BYTES as u64;
        self.store.usage.bytes() + files + checkpoint + journal + log
    }

    /// Whether everything takes more than the store may.
    pub(in crate::disk) fn is_too_large(&self) -> bool {
        self.used_bytes() > self.size_bytes
    }

    /// Removes segments until the size is kept. What is wanted of them has to be moved first, into a segment that comes on top.
    pub(in crate::disk) fn fit(&mut self) {
        self.limit_bytes = self.used_bytes() + self.segment_bytes;
        if let Err(refused) = self.evict_until(|writer| !writer.is_too_large()) {
            tracing::warn!(?refused, "the disk cache takes more than its size");
        }
        self.limit_bytes = self.size_bytes;
    }

    /// Removes a segment with all that is in it, so that the file system has room for a log or a checkpoint.
    pub(in crate::disk) fn give_room(&mut self) {
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
}
