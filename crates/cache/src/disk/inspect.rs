//! Looks into the disk tier for people: the responses of a directory that another process may use ([`DiskContents`]), and what the disk
//! tier of this process has for a key. Nothing is changed, and nothing is counted as used.

use super::{CodedForm, Described, Disk, FoundResponse, description};
use crate::generations::{Generations, Validity};
use crate::query::CacheQuery;
use crate::resource::{BYTES_MIN, Resource};
use crate::{Cache, Entry};
use kasoku_semantics::freshness::Freshness;
use kasoku_semantics::time::Now;
use kasoku_store::disk::{DiskImage, DiskSummary, Inspected, InspectedObject, ObjectPlace, ObjectReader, OpenError};
use kasoku_wire::ResponseHead;
use std::path::Path;
use std::sync::Arc;

/// The responses in a directory.
pub struct DiskContents {
    image: DiskImage,
    generations: Generations,
    now: Now,
}

/// What is found at a place of a directory.
pub enum Read {
    /// This response.
    Response(Box<DiskResponse>),
    /// A response that a purge covers: it is never used again.
    Purged,
    /// Nothing any more: it was evicted meanwhile.
    Gone,
    /// A response that is not as it was written, or can't be read.
    Damaged,
    /// A compressed form of a response.
    Form(InspectedObject),
    /// An object that this edition does not take for a response.
    Unknown,
}

/// A response in a directory.
pub struct DiskResponse {
    /// Its key: the URL.
    pub url: String,
    /// Its head.
    pub head: ResponseHead,
    /// The complete length of its body; more than what is stored where only parts are.
    pub complete_length: Option<u64>,
    /// The request fields that tell the variants apart, lower case.
    pub nominated: Vec<String>,
    /// The object in which it is.
    pub object: InspectedObject,
    /// Whether its body is a file outside the cache, which it names.
    pub is_decision: bool,
    freshness: Freshness,
    now: Now,
}

impl DiskContents {
    /// Reads what the directory has; `unix_ms` is the present time.
    ///
    /// # Errors
    /// It is no cache of this format, or can't be read.
    pub fn open(path: &Path, unix_ms: i64) -> Result<Self, OpenError> {
        let now = Now { unix_ms, mono_ms: u64::try_from(unix_ms).unwrap_or_default() };
        let image = DiskImage::open(path, now.mono_ms)?;
        let generations = Generations::new();
        if let Some(marks) = image.marks()
            && generations.read(&marks.then, &marks.since, now).is_none()
        {
            // As the next process does it.
            generations.drop_everything(now);
        }
        // Otherwise a response of the present epoch, among them all unconfirmed ones, would not be compared with the purges.
        generations.skip();
        Ok(Self { image, generations, now })
    }

    /// What it has, in numbers. Responses that a purge of many URLs covers are among them.
    pub fn summary(&self) -> &DiskSummary {
        self.image.summary()
    }

    /// Where the responses are, in the order of the files.
    pub fn places(&self) -> impl DoubleEndedIterator<Item = ObjectPlace> {
        self.image.places()
    }

    /// What a response takes on disk, in bytes.
    pub fn bytes(&self, place: &ObjectPlace) -> u64 {
        self.image.bytes(place)
    }

    /// Where the responses of a URL may be.
    pub fn places_of(&self, url: &str) -> impl Iterator<Item = ObjectPlace> {
        self.image.places_of(url.as_bytes())
    }

    /// Reads responses.
    pub fn reader(&self) -> ObjectReader<'_> {
        self.image.reader()
    }

    /// The response at that place, without its body.
    pub fn read(&self, reader: &mut ObjectReader<'_>, place: ObjectPlace) -> Read {
        let object = match reader.read(place) {
            Inspected::Object(object) => object,
            Inspected::Gone => return Read::Gone,
            Inspected::Damaged => return Read::Damaged,
        };
        let described = description::read(&object.description, object.is_unconfirmed, self.now);
        let described = described.filter(|described| description::variant_number(&described.meta) == object.variant);
        let url = String::from_utf8(object.key.to_vec()).ok();
        let Some((Described { meta, complete_length, external_body }, url)) = described.zip(url) else {
            return match CodedForm::read(&object.description) {
                Some(_) => Read::Form(object),
                None => Read::Unknown,
            };
        };
        let freshness = match self.generations.validity(&object.key, meta.tags.as_deref(), meta.epoch) {
            Validity::Valid => meta.freshness,
            Validity::Stale(since) => meta.freshness.ended(since),
            Validity::Changed | Validity::Gone => return Read::Purged,
        };
        let (head, nominated, now) = (meta.head, meta.nominated, self.now);
        let is_decision = external_body.is_some();
        Read::Response(Box::new(DiskResponse {
            url,
            head,
            complete_length,
            nominated,
            object,
            is_decision,
            freshness,
            now,
        }))
    }
}

impl DiskResponse {
    /// Its age, in seconds.
    pub fn age(&self) -> u64 {
        self.freshness.age(self.now)
    }

    /// How long it stays fresh, in seconds; below 0, for how long it has been stale.
    pub fn remaining(&self) -> i64 {
        self.freshness.remaining(self.now)
    }

    /// Whether the origin must confirm it before each use, or before the next one.
    pub fn must_be_confirmed(&self) -> bool {
        self.freshness.no_cache
    }

    /// Whether all of its body is stored.
    pub fn is_complete(&self) -> bool {
        self.complete_length == Some(self.object.body_bytes()) && self.object.is_whole()
    }
}

impl Cache {
    /// What is stored for a look-up in both tiers, and which of the responses are only on disk.
    pub(crate) fn stored_in_tiers(&self, query: &CacheQuery<'_>) -> (Option<Arc<Resource>>, Vec<Arc<Entry>>) {
        let stored = self.0.memory.value(query.key.hash(), query.key.bytes());
        let is_answer = |resource: &Arc<Resource>| resource.select(&query.request.fields, query.policy).is_some();
        let Some(tier) = self.0.disk.as_ref().filter(|_| !stored.as_ref().is_some_and(is_answer)) else {
            return (stored, Vec::new());
        };
        let on_disk = self.read_for_inspection(&tier.disk, query, stored.as_deref());
        let bytes_max = self.0.limits.object_bytes_max.max(BYTES_MIN);
        let in_memory = stored.iter().flat_map(|stored| stored.entries().iter().rev());
        let merged = on_disk.iter().chain(in_memory).fold(None, |resource: Option<Resource>, entry| {
            Some(match resource {
                Some(resource) => resource.with(entry.clone(), bytes_max),
                None => Resource::new(query.key.bytes(), entry.clone()),
            })
        });
        (merged.map(Arc::new), on_disk)
    }

    /// The responses on disk of variants that memory does not have, the oldest first.
    fn read_for_inspection(&self, disk: &Disk, query: &CacheQuery<'_>, present: Option<&Resource>) -> Vec<Arc<Entry>> {
        let is_missing = |found: &FoundResponse| {
            let same = present.and_then(|present| present.same_variant(&found.meta));
            same.is_none_or(|entry| !entry.body.is_there())
        };
        let objects = disk.find_and_wait(query.key.bytes());
        let mut found: Vec<_> =
            objects.into_iter().filter_map(|object| self.response(object, query.now)).filter(is_missing).collect();
        found.sort_by_key(|found| found.object.stored_ms);
        let entry = |found: FoundResponse| {
            let FoundResponse { meta, complete_length, body, .. } = found.with_body_and_wait()?;
            let body = body.into_body(complete_length).charged(&self.0.budget);
            Some(Arc::new(Entry::new(Arc::new(meta), body, query.key, &self.0.budget)))
        };
        found.into_iter().filter_map(entry).collect()
    }
}
