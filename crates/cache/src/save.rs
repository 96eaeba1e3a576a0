//! Changes what is stored: after a finished fill, a 304, the response to a HEAD.
//!
//! Each change runs under the lock of its key, and checks there whether an invalidation came in between. An invalidation first poisons
//! the running fills of a key, and then removes the stored responses. So whichever comes first, no response from before the invalidation
//! stays.

use crate::budget::Budget;
use crate::completed::Completion;
use crate::disk::DiskPart;
use crate::fill::Fill;
use crate::generations::Epoch;
use crate::invalidated::Invalidated;
use crate::resource::{BYTES_MIN, Resource};
use crate::{Body, Cache, Entry, Key, Meta};
use bytes::Bytes;
use http::StatusCode;
use kasoku_semantics::partial::{PartialContent, combinable};
use kasoku_semantics::policy::Policy;
use kasoku_semantics::range::ByteRange;
use kasoku_semantics::time::Now;
use kasoku_semantics::validation::combined_head;
use kasoku_store::KeyHash;
use kasoku_store::disk::StoredBody;
use kasoku_wire::ResponseHead;
use std::sync::Arc;

/// How a part of a body is stored.
pub(crate) enum PartOf {
    /// As a part.
    Alone(PartialContent),
    /// Combined with the stored response `base`; readers wait for the whole.
    Completing { base: Arc<Entry>, part: PartialContent },
    /// On disk, alone or added to a stored response.
    OnDisk(Box<DiskPart>),
}

/// A finished fill.
#[derive(Clone, Copy)]
pub(crate) struct Finished<'a> {
    pub(crate) fill: &'a Fill,
    pub(crate) meta: &'a Arc<Meta>,
    pub(crate) part: Option<&'a PartOf>,
    pub(crate) key: &'a Key,
    pub(crate) policy: &'a Policy,
    pub(crate) pieces: &'a [Bytes],
}

/// The result of saving a finished fill.
#[derive(Default)]
pub(crate) struct Saved {
    /// The response as it would be stored; `None` where its length is not what the head promised.
    pub(crate) entry: Option<Arc<Entry>>,
    /// False where the fill was poisoned, a later response is stored, or the entry is too large.
    pub(crate) is_stored: bool,
}

impl Cache {
    /// Stores the response of a finished fill. A part is combined with the response that is stored by now, if both are of the same
    /// representation.
    pub(crate) fn save(&self, finished: Finished<'_>) -> Saved {
        let Some(brought) = brought(finished, &self.0.budget) else { return Saved::default() };
        let bytes_max = self.0.limits.object_bytes_max.max(BYTES_MIN);
        let mut saved = Saved::default();
        self.update(finished.key.hash(), finished.key.bytes(), |resource| {
            let stored = resource.as_ref().and_then(|resource| resource.same_variant(&brought.meta));
            let combined = stored
                .filter(|_| finished.part.is_some())
                .and_then(|stored| combined(finished, stored, &brought, &self.0.budget));
            // The response whose head came later is the more recent one, whichever fill ended first.
            let is_outdone = combined.is_none()
                && stored.is_some_and(|stored| {
                    stored.meta.is_later_than(&brought.meta) || has_other_parts_on_disk(finished, stored, &brought)
                });
            let entry = Arc::new(combined.unwrap_or(brought));
            saved.entry = Some(entry.clone());
            if finished.fill.is_poisoned() || is_outdone || entry.memory_bytes() > bytes_max {
                return resource;
            }
            saved.is_stored = true;
            self.put_on_disk(finished.key.bytes(), &entry);
            Some(Arc::new(match resource {
                Some(resource) => resource.with(entry, bytes_max),
                None => Resource::new(finished.key.bytes(), entry),
            }))
        });
        if saved.is_stored {
            self.0.hit_for_miss.forget(finished.key.hash());
            self.0.refusals.forget(finished.key.hash());
        }
        saved
    }

    /// Changes what is stored for a key: see [`kasoku_store::Memory::update`]. What that evicts from memory is written to disk where the
    /// disk does not have it.
    pub(crate) fn update(
        &self,
        hash: KeyHash,
        key: &[u8],
        change: impl FnOnce(Option<Arc<Resource>>) -> Option<Arc<Resource>>,
    ) {
        let keeps = self.0.keeps_in_memory;
        let evicted = self.0.memory.update(hash, key, |present| change(present).filter(|_| keeps));
        for evicted in evicted.iter().filter(|evicted| self.writes_evicted(evicted.was_hot)) {
            // An invalidation of the evicted key is a change, also if it found nothing in memory: what it dropped is not written.
            self.0.memory.unless_changed(evicted, |resource| self.put_evicted_on_disk(resource));
        }
    }

    /// Puts `new` in the place of `old`, if `old` is still stored and `is_valid` returns true under the lock.
    pub(crate) fn replace(&self, key: &Key, old: &Arc<Entry>, new: Arc<Entry>, is_valid: impl FnOnce() -> bool) {
        self.update(key.hash(), key.bytes(), |resource| {
            let resource = resource?;
            if !is_valid() {
                return Some(resource);
            }
            if resource.has(old) {
                self.put_on_disk(key.bytes(), &new);
            }
            Some(Arc::new(resource.replacing(old, new)))
        });
    }

    /// Makes all stored responses of a key stale, and keeps its running fills from being stored.
    pub(crate) fn expire_here(&self, key: &Key, now: Now) -> Invalidated {
        // The order matters: see the head of this file.
        self.0.fills.poison(key.hash(), key.bytes(), None);
        let mut invalidated = Invalidated::default();
        self.update(key.hash(), key.bytes(), |resource| {
            invalidated = self.remove_from_disk(key);
            let resource = resource?;
            invalidated.keys = 1;
            Some(Arc::new(resource.with_each(|entry| {
                let expired = Arc::new(self.expired(entry, key, now, entry.meta.epoch));
                self.put_on_disk(key.bytes(), &expired);
                expired
            })))
        });
        invalidated
    }

    /// A stale copy of a stored response: its lifetime ends at `since`. The copy counts as compared with all purges up to `epoch`.
    pub(crate) fn expired(&self, entry: &Entry, key: &Key, since: Now, epoch: Epoch) -> Entry {
        let freshness = entry.meta.freshness.ended(since);
        let meta = Meta { freshness, epoch, ..(*entry.meta).clone() };
        Entry::new(Arc::new(meta), entry.body.clone(), key, &self.0.budget)
    }

    /// Drops one stored response.
    pub(crate) fn remove(&self, key: &Key, entry: &Arc<Entry>) {
        self.update(key.hash(), key.bytes(), |resource| {
            // What has taken its place meanwhile stays.
            if resource.as_ref().is_none_or(|resource| resource.has(entry)) {
                self.forget_on_disk(key, &entry.meta);
            }
            resource?.without(entry).map(Arc::new)
        });
    }

    /// Drops the responses of a key that were stored under other rules. They could be used only if those rules came back.
    pub(crate) fn remove_of_other_rules(&self, key: &Key, policy: &Policy) {
        self.update(key.hash(), key.bytes(), |resource| resource?.under(policy).map(Arc::new));
    }

    /// Drops a response with an external body, after the file under its name has changed.
    pub fn drop_changed(&self, key: &Key, entry: &Arc<Entry>) {
        self.remove(key, entry);
    }

    /// Stores a response whose body is not in memory. `to_disk` does what the disk tier has to know of it; it returns whether the response
    /// may be stored. It gets the body that the entry replaces, where that is another object on disk with fewer bytes of the same
    /// representation. Returns whether the response was stored.
    pub(crate) fn save_elsewhere(
        &self,
        key: &Key,
        entry: &Arc<Entry>,
        is_poisoned: impl Fn() -> bool,
        to_disk: impl FnOnce(Option<&StoredBody>) -> bool,
    ) -> bool {
        let bytes_max = self.0.limits.object_bytes_max.max(BYTES_MIN);
        let mut is_stored = false;
        self.update(key.hash(), key.bytes(), |resource| {
            let stored = resource.as_ref().and_then(|resource| resource.same_variant(&entry.meta));
            let lesser = stored.filter(|stored| are_of_one(stored, entry) && has_more(&entry.body, &stored.body));
            let is_other = |it: &&StoredBody| !entry.body.stored_body().is_some_and(|own| own.is_of_same_object(it));
            let lesser = lesser.and_then(|stored| stored.body.stored_body()).filter(is_other);
            let is_outdone = lesser.is_none() && stored.is_some_and(|stored| stored.meta.is_later_than(&entry.meta));
            if is_poisoned() || is_outdone || entry.memory_bytes() > bytes_max || !to_disk(lesser) {
                return resource;
            }
            is_stored = true;
            Some(Arc::new(match resource {
                Some(resource) => resource.with(entry.clone(), bytes_max),
                None => Resource::new(key.bytes(), entry.clone()),
            }))
        });
        if is_stored {
            self.0.hit_for_miss.forget(key.hash());
            self.0.refusals.forget(key.hash());
        }
        is_stored
    }

    /// Whether the stored response has these bytes, or more than these, of the same representation on disk.
    pub(crate) fn has_more_on_disk(&self, key: &Key, meta: &Meta, complete_length: u64, part: ByteRange) -> bool {
        let resource = self.0.memory.value(key.hash(), key.bytes());
        let stored = resource.as_ref().and_then(|resource| resource.same_variant(meta));
        stored.is_some_and(|stored| {
            let is_of_one = stored.meta.rules == meta.rules
                && combinable(&stored.meta.head, stored.body.complete_length(), &meta.head, Some(complete_length));
            let has_more = stored.body.covers(part) || stored.body.stored_bytes() > part.length();
            stored.body.stored_body().is_some() && stored.body.is_there() && is_of_one && has_more
        })
    }
}

/// Whether a body has all that the other one has, or more bytes.
fn has_more(body: &Body, other: &Body) -> bool {
    body.stored_bytes() > other.stored_bytes() || other.ranges().into_iter().all(|range| body.covers(range))
}

/// The response that a fill has brought, or `None` where its length is not what the head promised. A part that was fetched to complete a
/// stored response is combined with that response first.
fn brought(finished: Finished<'_>, budget: &Arc<Budget>) -> Option<Entry> {
    let Finished { key, pieces, .. } = finished;
    let length: u64 = pieces.iter().map(|piece| piece.len() as u64).sum();
    let alone = |part: &PartialContent| {
        (part.range.length() == length).then(|| {
            let body = Body::part(part.range.first, pieces, part.complete_length);
            Entry::new(Arc::new(without_range(finished.meta)), body.charged(budget), key, budget)
        })
    };
    match finished.part {
        None => {
            let mut completion = Completion::new(finished.meta, key);
            pieces.iter().for_each(|piece| completion.update(piece));
            let meta = completion.of(finished.meta);
            let body = Body::whole(pieces).charged(budget);
            Some(Entry::new(meta, body, key, budget))
        }
        Some(PartOf::Alone(part)) => alone(part),
        Some(PartOf::Completing { base, part }) => {
            alone(part).map(|entry| combined(finished, base, &entry, budget).unwrap_or(entry))
        }
        // It is in memory only if the disk did not take it.
        Some(PartOf::OnDisk(_)) => None,
    }
}

/// Whether both are parts of one representation under the same rules.
fn are_of_one(stored: &Entry, entry: &Entry) -> bool {
    let (stored_length, length) = (stored.body.complete_length(), entry.body.complete_length());
    let is_under_the_same_rules = stored.meta.rules == entry.meta.rules;
    is_under_the_same_rules && combinable(&stored.meta.head, stored_length, &entry.meta.head, length)
}

/// Whether the part would take the place of a stored response that has other parts of the same representation on disk. Only a fill that knew
/// of them adds to them.
fn has_other_parts_on_disk(finished: Finished<'_>, stored: &Entry, entry: &Entry) -> bool {
    finished.part.is_some() && stored.body.stored_body().is_some() && are_of_one(stored, entry)
}

/// `entry` with the bytes of `stored` added, if both are of one representation.
fn combined(finished: Finished<'_>, stored: &Entry, entry: &Entry, budget: &Arc<Budget>) -> Option<Entry> {
    let is_on_disk = stored.body.stored_body().is_some();
    let has_all = || entry.body.ranges().into_iter().all(|range| stored.body.covers(range));
    if !are_of_one(stored, entry) || is_on_disk && !has_all() {
        return None;
    }
    let body = if is_on_disk { stored.body.clone() } else { entry.body.combined(&stored.body).charged(budget) };
    let meta = combined_meta(&stored.meta, &entry.meta, finished.policy);
    Some(Entry::new(Arc::new(meta), body, finished.key, budget))
}

/// The stored response with the fields and the times of a part of the same representation.
pub(crate) fn combined_meta(stored: &Meta, part: &Meta, policy: &Policy) -> Meta {
    let head = combined_head(&stored.head, &part.head, part.freshness.response_time, policy);
    let epoch = stored.epoch.min(part.epoch);
    without_range(&Meta { head, epoch, ..part.clone() })
}

/// The head of a part as a head of the whole: the deliverer writes ranges and lengths.
pub(crate) fn without_range(meta: &Meta) -> Meta {
    let mut head = ResponseHead { version: meta.head.version, ..ResponseHead::new(StatusCode::OK) };
    head.fields = meta.head.fields.clone();
    head.fields.remove("content-range");
    head.fields.remove("content-length");
    Meta { head, ..meta.clone() }
}
