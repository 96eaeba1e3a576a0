//! The index in memory: for each hash of a key, the places of the objects that have it.
//!
//! The index is divided into parts with a lock each, so many that no part is large: a part that grows is copied while its lock is held.
//! A place has no key. Who reads an object compares the key that is stored with it, so two keys with one hash cost a read and never
//! answer for each other.
//!
//! A removal also meets the objects that wait to be written: they are not published. Stores and removals take their numbers from one
//! sequence, under the lock of the part. A large object takes one when it begins and one when it is complete: by the first, it is older than
//! what was stored meanwhile.

use super::place::{PLACE_BYTES, Place};
use crate::sync::{AtomicBool, AtomicU64, Mutex, MutexGuard, Ordering, PoisonError};
use hashbrown::HashTable;
use smallvec::SmallVec;
use std::collections::HashMap;

/// The bytes of disk for each part of the index. With objects of 4 KiB, a part has 4,096 places: 128 KiB, which are copied in some
/// 50 microseconds.
const BYTES_PER_PART: u64 = 16 << 20;

const PARTS_MIN: u64 = 16;
const PARTS_MAX: u64 = 64 << 10;

/// The most objects of one key, so that a look-up reads a bounded number of heads.
const VARIANTS_MAX: usize = 64;

/// A part with more room than this multiple of its places gives memory back.
const ROOM_MAX: usize = 8;

#[derive(Debug)]
pub(super) struct Index {
    parts: Box<[Mutex<Part>]>,
    sequence: AtomicU64,
    objects: AtomicU64,
    /// The lengths of all objects, as their places have them.
    object_bytes: AtomicU64,
    /// What the tables of all parts take.
    table_bytes: AtomicU64,
    /// Whether places of an earlier process are still being added: then a key that is not found may still come.
    is_loading: AtomicBool,
}

#[derive(Debug, Default)]
struct Part {
    places: HashTable<Place>,
    /// The objects that wait to be written or still come, by the hash of their keys.
    waiting: HashMap<u64, Waiting>,
    /// While places of an earlier process are added: the keys that were removed meanwhile.
    removed: Option<HashMap<u64, ()>>,
}

/// The objects of one key that wait to be written or still come.
#[derive(Debug, Default)]
struct Waiting {
    /// Those that wait.
    count: usize,
    /// The large ones that still come, or have come and wait.
    coming: usize,
    /// Objects with smaller numbers have been removed before they were written.
    removed_before: u64,
    /// Variants that were stored or hidden meanwhile, with the number of the last time.
    newest: SmallVec<[(u32, u64); 1]>,
    /// The same for the variants that are not in that list.
    newest_of_others: u64,
}

impl Waiting {
    /// Notes that a variant was stored or hidden.
    fn note(&mut self, variant: u64, number: u64) {
        let has_room = self.newest.len() < VARIANTS_MAX;
        match self.newest.iter_mut().find(|(other, _)| *other == variant as u32) {
            Some((_, newest)) => *newest = number.max(*newest),
            None if has_room => self.newest.push((variant as u32, number.max(self.newest_of_others))),
            None => self.note_all(number),
        }
    }

    /// The same for all variants.
    fn note_all(&mut self, number: u64) {
        self.newest.clear();
        self.newest_of_others = number.max(self.newest_of_others);
    }

    /// Whether the object of that number is outdated by what came after it.
    fn outdoes(&self, variant: u32, number: u64) -> bool {
        let found = self.newest.iter().find(|(other, _)| *other == variant);
        found.map_or(self.newest_of_others, |(_, newest)| *newest) > number
    }
}

/// Which objects of a key a removal meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Removal {
    /// All.
    Key,
    /// Those of one variant.
    Variant(u64),
}

impl Removal {
    fn meets(self, place: &Place) -> bool {
        match self {
            Self::Key => true,
            Self::Variant(variant) => place.variant == variant as u32,
        }
    }
}

/// What is known of a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) places: smallvec::SmallVec<[Place; 1]>,
    /// Whether there may be more of an earlier process.
    pub(super) may_be_more: bool,
}

impl Index {
    /// An empty index for a store of that size.
    pub(super) fn new(size_bytes: u64) -> Self {
        let parts = (size_bytes / BYTES_PER_PART).clamp(PARTS_MIN, PARTS_MAX).next_power_of_two();
        Self {
            parts: (0..parts).map(|_| Mutex::default()).collect(),
            sequence: AtomicU64::new(1),
            objects: AtomicU64::new(0),
            object_bytes: AtomicU64::new(0),
            table_bytes: AtomicU64::new(0),
            is_loading: AtomicBool::new(false),
        }
    }

    /// The places under this hash.
    pub(super) fn find(&self, hash: u64) -> Found {
        let part = self.part(hash);
        let places = part.places.iter_hash(hash).filter(|place| place.hash == hash).copied().collect();
        Found { places, may_be_more: part.removed.as_ref().is_some_and(|removed| !removed.contains_key(&hash)) }
    }

    /// Whether the object at that place has been neither removed nor replaced nor moved.
    pub(super) fn has(&self, place: &Place) -> bool {
        self.part(place.hash).places.find(place.hash, |other| is_same(other, place)).is_some()
    }

    /// Whether an object of that key waits to be written.
    pub(super) fn is_waited_for(&self, hash: u64) -> bool {
        is_waited_for(&self.part(hash), hash)
    }

    /// Whether there is, or may be, an object of that variant, or one of that key that waits to be written.
    pub(super) fn may_have(&self, hash: u64, variant: u64) -> bool {
        let part = self.part(hash);
        let is_found = |place: &Place| place.hash == hash && Removal::Variant(variant).meets(place);
        let may_come = part.removed.as_ref().is_some_and(|removed| !removed.contains_key(&hash));
        may_come || is_waited_for(&part, hash) || part.places.find(hash, is_found).is_some()
    }

    /// Counts a hit of the object that was at that place, wherever it is now.
    pub(super) fn count_hit(&self, place: &Place) {
        let mut part = self.part(place.hash);
        if let Some(found) = part.places.find_mut(place.hash, |other| is_of_same_object(other, place)) {
            found.count_hit();
        }
    }

    /// Notes that an object waits to be written. Returns its number, and whether it replaces an older one. That is not found any more
    /// from now on, whether the new one will be written or not.
    pub(super) fn wait(&self, hash: u64, variant: u64) -> (u64, bool) {
        let mut part = self.part(hash);
        let replaces = self.drop_from(&mut part, hash, Removal::Variant(variant));
        let sequence = self.next_sequence();
        let waiting = part.waiting.entry(hash).or_default();
        waiting.count += 1;
        waiting.note(variant, sequence);
        (sequence, replaces)
    }

    /// A large object of that key begins to come. Returns the number of its beginning.
    pub(super) fn begin_coming(&self, hash: u64) -> u64 {
        let mut part = self.part(hash);
        part.waiting.entry(hash).or_default().coming += 1;
        self.next_sequence()
    }

    /// It has been published or given up.
    pub(super) fn end_coming(&self, hash: u64) {
        ended(&mut self.part(hash), hash, |waiting| waiting.coming = waiting.coming.saturating_sub(1));
    }

    /// The same as [`Index::wait`] for a large object that began with that number. It replaces only what is older than its beginning.
    pub(super) fn wait_since(&self, hash: u64, variant: u64, begun: u64) -> u64 {
        let mut part = self.part(hash);
        let waiting = part.waiting.entry(hash).or_default();
        waiting.count += 1;
        if !waiting.outdoes(variant as u32, begun) {
            waiting.note(variant, begun);
            self.drop_from(&mut part, hash, Removal::Variant(variant));
        }
        self.next_sequence()
    }

    /// An object is outdated: it is not found any more. A process that begins later may find it.
    pub(super) fn hide(&self, hash: u64, variant: u64) {
        let mut part = self.part(hash);
        self.drop_from(&mut part, hash, Removal::Variant(variant));
        if let Some(waiting) = part.waiting.get_mut(&hash) {
            waiting.note(variant, self.next_sequence());
        }
    }

    /// The object that waited does so no longer, and was not written.
    pub(super) fn give_up(&self, hash: u64) {
        waited(&mut self.part(hash), hash);
    }

    /// Publishes an object that waited, in the place of the older object of the same variant. Returns whether it was: not if it was
    /// removed meanwhile.
    pub(super) fn publish(&self, place: Place, sequence: u64) -> bool {
        // Such objects are written in the order of their numbers, so none comes after a newer one.
        self.publish_since(place, sequence, u64::MAX)
    }

    /// The same for a large object that began with the number `begun`: also not if a newer one of its variant was stored since then.
    pub(super) fn publish_since(&self, place: Place, sequence: u64, begun: u64) -> bool {
        let mut part = self.part(place.hash);
        let is_outdated =
            |waiting: &Waiting| sequence < waiting.removed_before || waiting.outdoes(place.variant, begun);
        let is_outdated = part.waiting.get(&place.hash).is_some_and(is_outdated);
        waited(&mut part, place.hash);
        if is_outdated {
            return false;
        }
        match part.places.find_mut(place.hash, |other| is_of_same_object(other, &place)) {
            Some(found) => {
                self.discount(&std::mem::replace(found, place));
                self.count(&place);
            }
            None => self.insert(&mut part, place),
        }
        self.keep_newest(&mut part, place.hash);
        true
    }

    /// Moves an object; returns whether it was still at the old place. Its hits are those of `new`.
    pub(super) fn relocate(&self, old: &Place, new: Place) -> bool {
        let mut part = self.part(old.hash);
        let found = part.places.find_mut(old.hash, |other| is_same(other, old));
        let replaced = found.map(|found| std::mem::replace(found, new));
        if let Some(replaced) = &replaced {
            self.discount(replaced);
            self.count(&new);
        }
        replaced.is_some()
    }

    /// The place of the object of that variant, if it is in that segment.
    pub(super) fn place_in(&self, segment: u32, hash: u64, variant: u64) -> Option<Place> {
        let part = self.part(hash);
        let is_that =
            |place: &Place| place.hash == hash && place.segment == segment && Removal::Variant(variant).meets(place);
        part.places.find(hash, is_that).copied()
    }

    /// Gives an object a place with more of its bytes; returns whether it was still at the old place. Its hits stay. As with
    /// [`Index::relocate`], whatever removed or replaced it meanwhile has taken the old place away.
    pub(super) fn extend(&self, old: &Place, mut new: Place) -> bool {
        let mut part = self.part(old.hash);
        let Some(found) = part.places.find_mut(old.hash, |other| is_same(other, old)) else { return false };
        new.set_hits(found.hits());
        self.discount(&std::mem::replace(found, new));
        self.count(&new);
        true
    }

    /// Drops objects of a key. Returns the number of the removal, and whether there was anything to drop.
    pub(super) fn remove(&self, hash: u64, removal: Removal) -> (u64, bool) {
        let mut part = self.part(hash);
        let sequence = self.next_sequence();
        if let Some(waiting) = part.waiting.get_mut(&hash) {
            waiting.removed_before = sequence;
            // Where one variant is dropped, a large object that still comes is what takes its place.
            if removal == Removal::Key {
                waiting.note_all(sequence);
            }
        }
        let waiting = is_waited_for(&part, hash);
        let was_there = self.drop_from(&mut part, hash, removal);
        (sequence, was_there || waiting)
    }

    /// Drops the object at that place.
    pub(super) fn remove_place(&self, place: &Place) -> bool {
        let mut part = self.part(place.hash);
        let Ok(found) = part.places.find_entry(place.hash, |other| is_same(other, place)) else { return false };
        self.discount(&found.remove().0);
        if let Some(removed) = &mut part.removed {
            removed.insert(place.hash, ());
        }
        true
    }

    /// Looks at each object of a segment; drops those for which `stays` says no.
    pub(super) fn sift(&self, segment: u32, mut stays: impl FnMut(&mut Place) -> bool) {
        for part in &self.parts {
            let mut part = lock(part);
            let Part { places, removed, .. } = &mut *part;
            places.retain(|place| {
                let is_kept = place.segment != segment || stays(place);
                if !is_kept {
                    self.discount(place);
                    if let Some(removed) = removed {
                        removed.insert(place.hash, ());
                    }
                }
                is_kept
            });
            self.shrink(&mut part);
        }
    }

    /// The places of one part; `None` after the last part. For checkpoints and lists: a part at a time, so no lock is held for long.
    pub(super) fn part_of(&self, number: usize) -> Option<Vec<Place>> {
        Some(lock(self.parts.get(number)?).places.iter().copied().collect())
    }

    /// Places of an earlier process will be added.
    pub(super) fn begin_loading(&self) {
        self.is_loading.store(true, Ordering::Relaxed);
        self.parts.iter().for_each(|part| lock(part).removed = Some(HashMap::new()));
    }

    /// Adds a place of an earlier process, unless its object was removed or replaced meanwhile.
    pub(super) fn load(&self, place: Place) -> bool {
        let mut part = self.part(place.hash);
        let is_removed = part.removed.as_ref().is_none_or(|removed| removed.contains_key(&place.hash));
        let is_replaced = || part.places.find(place.hash, |other| is_of_same_object(other, &place)).is_some();
        if is_removed || is_replaced() {
            return false;
        }
        self.insert(&mut part, place);
        true
    }

    /// All places of the earlier process have been added.
    pub(super) fn end_loading(&self) {
        self.parts.iter().for_each(|part| lock(part).removed = None);
        self.is_loading.store(false, Ordering::Relaxed);
    }

    pub(super) fn is_loading(&self) -> bool {
        self.is_loading.load(Ordering::Relaxed)
    }

    /// Numbers begin behind this one.
    pub(super) fn count_from(&self, sequence: u64) {
        self.sequence.fetch_max(sequence.saturating_add(1), Ordering::Relaxed);
    }

    /// The number that the next store or removal gets.
    pub(super) fn next_sequence(&self) -> u64 {
        self.sequence.fetch_add(1, Ordering::Relaxed)
    }

    /// The number of objects.
    pub(super) fn len(&self) -> u64 {
        self.objects.load(Ordering::Relaxed)
    }

    /// What all objects take in segments, in bytes; of a large object, its head.
    pub(super) fn object_bytes(&self) -> u64 {
        self.object_bytes.load(Ordering::Relaxed)
    }

    /// The same by segment.
    pub(super) fn object_bytes_by_segment(&self) -> HashMap<u32, u64> {
        let mut bytes = HashMap::new();
        for part in &self.parts {
            for place in &lock(part).places {
                *bytes.entry(place.segment).or_default() += place.bytes();
            }
        }
        bytes
    }

    /// The memory of the index, in bytes.
    pub(super) fn memory_bytes(&self) -> u64 {
        let parts = self.parts.len() * size_of::<Mutex<Part>>();
        self.table_bytes.load(Ordering::Relaxed) + parts as u64
    }

    /// Drops the objects of a key that a removal meets; returns whether there was one. Those of an earlier process that are not known yet
    /// are dropped when they come, whatever their variant.
    fn drop_from(&self, part: &mut Part, hash: u64, removal: Removal) -> bool {
        let mut was_there = false;
        while let Ok(found) = part.places.find_entry(hash, |place| place.hash == hash && removal.meets(place)) {
            self.discount(&found.remove().0);
            was_there = true;
        }
        if let Some(removed) = &mut part.removed {
            removed.insert(hash, ());
            was_there = true;
        }
        self.shrink(part);
        was_there
    }

    /// Drops the oldest objects of a key beyond the bound.
    fn keep_newest(&self, part: &mut Part, hash: u64) {
        let of_key = |part: &Part| part.places.iter_hash(hash).filter(|place| place.hash == hash).count();
        while of_key(part) > VARIANTS_MAX {
            let places = part.places.iter_hash(hash).filter(|place| place.hash == hash);
            let Some(oldest) = places.min_by_key(|place| place.stored).copied() else { return };
            if let Ok(found) = part.places.find_entry(hash, |place| is_same(place, &oldest)) {
                self.discount(&found.remove().0);
            }
        }
    }

    fn insert(&self, part: &mut Part, place: Place) {
        self.resize(part, |places| {
            places.insert_unique(place.hash, place, |place| place.hash);
        });
        self.count(&place);
    }

    fn count(&self, place: &Place) {
        self.objects.fetch_add(1, Ordering::Relaxed);
        self.object_bytes.fetch_add(place.bytes(), Ordering::Relaxed);
    }

    fn discount(&self, place: &Place) {
        self.objects.fetch_sub(1, Ordering::Relaxed);
        self.object_bytes.fetch_sub(place.bytes(), Ordering::Relaxed);
    }

    /// Gives back memory that a part does not need.
    fn shrink(&self, part: &mut Part) {
        let count = part.places.len();
        if part.places.capacity() > ROOM_MAX * count.max(4) {
            self.resize(part, |places| places.shrink_to(2 * count, |place| place.hash));
        }
    }

    /// Makes a change that may resize the table.
    fn resize(&self, part: &mut Part, change: impl FnOnce(&mut HashTable<Place>)) {
        let before = part.places.allocation_size() as u64;
        change(&mut part.places);
        self.table_bytes.fetch_add(part.places.allocation_size() as u64, Ordering::Relaxed);
        self.table_bytes.fetch_sub(before, Ordering::Relaxed);
    }

    fn part(&self, hash: u64) -> MutexGuard<'_, Part> {
        let [first, ..] = &*self.parts else { unreachable!("an index has parts") };
        // Other bits than those by which a table finds its buckets.
        let number = (hash >> 32) as usize & (self.parts.len() - 1);
        lock(self.parts.get(number).unwrap_or(first))
    }
}

// What an object costs in the index: a place and a byte of the table. A table is at least 7/16 full after it has grown.
const _: () = assert!(size_of::<Place>() == PLACE_BYTES && (PLACE_BYTES + 1) * 16 / 7 <= 96);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each change under the lock is complete in itself, so a panic elsewhere leaves a state that can be read.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether both are the same object at the same location.
fn is_same(one: &Place, other: &Place) -> bool {
    one.hash == other.hash && one.location() == other.location()
}

/// Whether one takes the place of the other.
fn is_of_same_object(one: &Place, other: &Place) -> bool {
    one.hash == other.hash && one.variant == other.variant
}

/// Whether an object of that key waits to be written.
fn is_waited_for(part: &Part, hash: u64) -> bool {
    part.waiting.get(&hash).is_some_and(|waiting| waiting.count > 0)
}

/// One object of this key no longer waits.
fn waited(part: &mut Part, hash: u64) {
    ended(part, hash, |waiting| waiting.count = waiting.count.saturating_sub(1));
}

/// The same as `change` says, and the key is forgotten with the last of its objects.
fn ended(part: &mut Part, hash: u64, change: impl FnOnce(&mut Waiting)) {
    let Some(waiting) = part.waiting.get_mut(&hash) else { return };
    change(waiting);
    if waiting.count == 0 && waiting.coming == 0 {
        part.waiting.remove(&hash);
    }
}

#[cfg(test)]
mod tests {
    use super::super::place::Location;
    use super::*;

    fn place(hash: u64, variant: u64, segment: u32) -> Place {
        Place::new((hash, variant), Location { segment, offset: 64 }, (64, 128), 0).unwrap()
    }

    fn segments(index: &Index, hash: u64) -> Vec<u32> {
        let mut segments: Vec<u32> = index.find(hash).places.iter().map(|place| place.segment).collect();
        segments.sort_unstable();
        segments
    }

    fn wait(index: &Index, hash: u64, variant: u64) -> u64 {
        index.wait(hash, variant).0
    }

    fn publish(index: &Index, place: Place) -> bool {
        let sequence = wait(index, place.hash, place.variant.into());
        index.publish(place, sequence)
    }

    #[test]
    fn an_object_replaces_the_older_one_of_its_variant() {
        let index = Index::new(0);
        for (variant, segment) in [(1, 10), (2, 11), (1, 12)] {
            assert!(publish(&index, place(7, variant, segment)));
        }
        assert_eq!(segments(&index, 7), [11, 12]);
        assert_eq!(segments(&index, 8), [0; 0]);
        assert_eq!(index.len(), 2);
    }

    #[test]
    fn what_is_removed_while_it_waits_is_not_published() {
        let index = Index::new(0);
        let before = wait(&index, 7, 1);
        index.remove(7, Removal::Key);
        let after = wait(&index, 7, 1);
        assert!(index.publish(place(7, 1, 2), after));
        assert!(!index.publish(place(7, 1, 1), before));
        assert_eq!(segments(&index, 7), [2]);
        assert!(publish(&index, place(7, 1, 3)), "nothing of the removal is left");
    }

    #[test]
    fn what_was_stored_or_hidden_while_a_large_object_came_is_newer_than_it_and_so_is_a_purge() {
        let newer: [fn(&Index); 3] = [
            |index| assert!(publish(index, place(7, 1, 2))),
            |index| index.hide(7, 1),
            |index| assert!(!index.remove(7, Removal::Key).1, "what still comes is no object"),
        ];
        for (number, newer) in newer.iter().enumerate() {
            let index = Index::new(0);
            let begun = index.begin_coming(7);
            assert!(!index.is_waited_for(7) && !index.may_have(7, 1));
            newer(&index);
            let found = segments(&index, 7);
            let sequence = index.wait_since(7, 1, begun);
            assert_eq!(segments(&index, 7), found, "{number}");
            assert!(!index.publish_since(place(7, 1, 1), sequence, begun), "{number}");
            index.end_coming(7);
            assert_eq!(segments(&index, 7), found, "{number}");
            assert!(publish(&index, place(7, 1, 3)), "nothing of that is left");
        }
    }

    #[test]
    fn a_large_object_takes_the_place_of_one_that_was_dropped_while_it_came() {
        let index = Index::new(0);
        assert!(publish(&index, place(7, 1, 1)));
        let begun = index.begin_coming(7);
        assert!(index.remove(7, Removal::Variant(1)).1);
        let sequence = index.wait_since(7, 1, begun);
        assert!(index.publish_since(place(7, 1, 2), sequence, begun));
        index.end_coming(7);
        assert_eq!(segments(&index, 7), [2]);
    }

    #[test]
    fn of_large_objects_the_one_that_began_last_is_the_newest() {
        for begins_of_last in [true, false] {
            let index = Index::new(0);
            let (one, other) = (index.begin_coming(7), index.begin_coming(7));
            let finish = |begun| (begun, index.wait_since(7, 1, begun));
            let publish = |segment, (begun, sequence)| {
                let is_published = index.publish_since(place(7, 1, segment), sequence, begun);
                index.end_coming(7);
                is_published
            };
            if begins_of_last {
                let (other, one) = (finish(other), finish(one));
                assert_eq!((publish(2, other), publish(1, one)), (true, false));
            } else {
                assert!(publish(1, finish(one)));
                assert!(publish(2, finish(other)));
            }
            assert_eq!(segments(&index, 7), [2]);
        }
    }

    #[test]
    fn among_more_variants_than_are_remembered_a_large_object_that_came_slowly_counts_as_older() {
        let index = Index::new(0);
        let begun = index.begin_coming(7);
        (0..=VARIANTS_MAX as u64).for_each(|variant| assert!(publish(&index, place(7, variant, 1))));
        let sequence = index.wait_since(7, 3, begun);
        assert!(!index.publish_since(place(7, 3, 2), sequence, begun));
    }

    #[test]
    fn while_a_newer_object_waits_the_older_one_is_not_found() {
        let index = Index::new(0);
        publish(&index, place(7, 1, 1));
        publish(&index, place(7, 2, 2));
        assert!(index.wait(7, 1).1);
        assert_eq!(segments(&index, 7), [2]);
        index.give_up(7);
        assert_eq!(segments(&index, 7), [2], "it is outdated, also if the newer one can't be written");
        assert!(!index.wait(7, 3).1);
    }

    #[test]
    fn of_many_variants_the_newest_stay() {
        let index = Index::new(0);
        for variant in 0..100_u64 {
            let at = Location { segment: variant as u32, offset: 64 };
            publish(&index, Place::new((7, variant), at, (64, 128), variant * 1000).unwrap());
        }
        assert_eq!(segments(&index, 7), (36..100).collect::<Vec<u32>>());
        assert_eq!(index.len(), 64);
    }

    #[test]
    fn what_was_evicted_while_loading_does_not_bring_its_predecessor_back() {
        let index = Index::new(0);
        index.begin_loading();
        publish(&index, place(1, 1, 10));
        index.sift(10, |_| false);
        assert!(!index.load(place(1, 1, 1)));
    }

    #[test]
    fn a_removal_says_whether_there_was_anything() {
        let index = Index::new(0);
        assert!(!index.remove(7, Removal::Key).1);
        publish(&index, place(7, 1, 1));
        publish(&index, place(7, 2, 2));
        assert!(!index.remove(7, Removal::Variant(3)).1);
        assert!(index.remove(7, Removal::Variant(2)).1);
        assert_eq!(segments(&index, 7), [1]);
        let waiting = wait(&index, 8, 1);
        assert!(index.remove(8, Removal::Key).1);
        assert!(!index.publish(place(8, 1, 1), waiting));
    }

    #[test]
    fn what_an_earlier_process_left_yields_to_what_came_meanwhile() {
        let index = Index::new(0);
        index.begin_loading();
        assert!(index.find(1).may_be_more);
        publish(&index, place(1, 1, 10));
        index.remove(2, Removal::Key);
        assert!(!index.load(place(1, 1, 1)));
        assert!(!index.load(place(2, 1, 3)));
        assert!(index.load(place(3, 1, 4)));
        assert!(!index.find(2).may_be_more);
        index.end_loading();
        assert_eq!((segments(&index, 1), segments(&index, 2), segments(&index, 3)), (vec![10], vec![], vec![4]));
        assert!(!index.find(1).may_be_more);
    }

    #[test]
    fn a_segment_is_sifted() {
        let index = Index::new(0);
        (0..100).for_each(|hash| assert!(publish(&index, place(hash << 30, 1, hash as u32 % 2))));
        let mut seen = 0;
        index.sift(1, |place| {
            seen += 1;
            place.hash > 50 << 30
        });
        assert_eq!((seen, index.len()), (50, 75));
    }

    #[test]
    fn an_object_costs_at_most_96_bytes_at_any_load() {
        let index = Index::new(64 << 20);
        let (mut hash, fixed) = (1_u64, index.memory_bytes());
        for count in 1..=200_000_u64 {
            hash = hash.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(count);
            publish(&index, place(hash, 1, 1));
            if count >= 2000 && count % 97 == 0 {
                let each = (index.memory_bytes() - fixed) / index.len();
                assert!(each <= 96, "{each} bytes an object at {count}");
            }
        }
        index.sift(1, |place| place.hash.is_multiple_of(64));
        let each = (index.memory_bytes() - fixed) / index.len();
        assert!(each <= 400, "memory is given back: {each} bytes an object");
    }
}
