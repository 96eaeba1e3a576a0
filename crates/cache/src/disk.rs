//! The disk tier below the memory tier: what is stored is written there, and what memory does not have is looked for there.
//!
//! A look-up that finds nothing in memory asks the index of the disk tier. If there is an object, and the page cache has it, the response
//! comes into memory at once, and the look-up goes on with it. Otherwise the look-up ends with a [`Recall`]: the caller waits for the
//! disk, and looks up again. Requests for one key wait for one read.
//!
//! A response that is large stays on disk: what comes into memory is its head, and where the body is. The bytes are read when they are sent.
//! The body of a fill that is too large for memory goes to disk while it comes (`spool`), and so does a part that is too large, or that
//! belongs to a body on disk.
//!
//! Each change of what is stored for a key is made in both tiers under the lock of that key (`save`). So a response that is on its way
//! from the disk into memory is dropped where the key was invalidated meanwhile. Purges of many keys are marks (`generations`), which are
//! written as well.

mod description;
mod found;
mod inspect;
mod lately;
mod open_entry;
mod recall;
mod spool;

pub use crate::clock::Clock;
use crate::generations::{Generations, Mark};
use crate::invalidated::Invalidated;
use crate::resource::{BYTES_MIN, Resource};
use crate::succession::Told;
use crate::sync::Mutex;
use crate::{Body, Cache, CacheLimits, Entry, Key, Meta};
pub(crate) use description::CodedForm;
use description::Described;
use found::{FoundAll, FoundBody, FoundEntry, FoundForm, FoundResponse};
pub use inspect::{DiskContents, DiskResponse, Read};
use kasoku_semantics::coding::Coding;
use kasoku_semantics::policy::{Policy, Profile};
use kasoku_semantics::time::Now;
use kasoku_shared::PurgeExchange;
pub use kasoku_store::disk::{
    Admission, DiskCounts, DiskOptions, DiskState, DiskStatus, NotDurable, SIZE_BYTES_DEFAULT, SIZE_BYTES_MIN,
};
use kasoku_store::disk::{Disk, Finding, Marks, NewObject, Owner, Removal, StoredBody, StoredObject};
pub use kasoku_store::disk::{DiskSummary, InspectedObject, ObjectPlace, ObjectReader, OpenError};
pub use kasoku_store::disk::{OpenBody, ReadError};
use kasoku_store::{KeyHash, Memory};
use kasoku_wire::Fields;
use lately::Lately;
pub use open_entry::{DISK_TIMEOUT, OpenEntry, Unreadable};
pub use recall::Recall;
use recall::SharedRead;
pub use spool::SpooledPiece;
pub(crate) use spool::{DiskBase, DiskPart, Spool, Spooled};
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Weak};

/// A body above this length stays on disk, in bytes: the page cache has what is hot of it. Smaller ones come into memory.
const STAYS_ON_DISK_BYTES: u64 = 1 << 20;

/// The disk tier of a cache.
pub(crate) struct DiskTier {
    disk: Disk,
    admission: Admission,
    clock: Clock,
    lately: Lately,
    /// The reads that run, by key. Requests for the same key share one.
    recalls: Mutex<HashMap<KeyHash, Weak<SharedRead>>>,
}

/// A response that is on disk only.
pub(crate) struct OnlyResponse {
    found: FoundEntry,
    /// Whether it should be in memory.
    is_wanted: bool,
}

impl OnlyResponse {
    pub(crate) fn entry(&self) -> &Arc<Entry> {
        &self.found.entry
    }
}

/// What the disk tier asks of the cache: its purge marks, and what is in memory.
struct DiskOwner {
    generations: Arc<Generations>,
    memory: Weak<Memory<Arc<Resource>>>,
    /// Which purges of other caches have been carried out is written with the marks.
    exchange: Option<PurgeExchange>,
    clock: Clock,
}

impl Owner for DiskOwner {
    fn now_ms(&self) -> u64 {
        u64::try_from((self.clock)().unix_ms).unwrap_or_default()
    }

    fn recover(&self, marks: Option<Marks>) {
        // Where marks are lost, the disk tier calls all objects unconfirmed, and these are older than every purge.
        let mut positions = Vec::new();
        if let Some(Marks { then, since }) = marks {
            match self.generations.read(&then, &since, (self.clock)()) {
                Some(found) => positions = found,
                None => {
                    tracing::error!("the purges in the disk cache can't be read: everything in it is dropped");
                    self.generations.drop_everything((self.clock)());
                }
            }
        }
        self.generations.skip();
        if let Some(exchange) = &self.exchange {
            exchange.resume(&positions);
        }
    }

    fn for_each_in_memory(&self, each: &mut dyn FnMut(&[u8])) {
        if let Some(memory) = self.memory.upgrade() {
            // Of a body that stays on disk, memory has only the head, and its hits are counted on disk.
            let has_bodies = |resource: &Resource| resource.entries().iter().any(|entry| entry.body.is_in_memory());
            memory.for_each(|resource| {
                if has_bodies(resource) {
                    each(resource.key())
                }
            });
        }
    }

    fn marks(&self) -> Vec<u8> {
        let positions = self.exchange.as_ref().map(PurgeExchange::positions);
        self.generations.write(&positions.unwrap_or_default())
    }

    fn renewed(&self, mark: Vec<u8>) -> Vec<u8> {
        Mark::read(&mark).map(|read| read.at(self.generations.epoch()).write()).unwrap_or(mark)
    }
}

impl DiskTier {
    /// # Errors
    /// A thread can't be started.
    pub(crate) fn start(
        limits: CacheLimits,
        options: DiskOptions,
        (clock, exchange): (Clock, Option<PurgeExchange>),
        generations: &Arc<Generations>,
        memory: &Arc<Memory<Arc<Resource>>>,
    ) -> io::Result<Self> {
        let lately = Lately::new(limits.memory_bytes_max);
        let (generations, memory) = (generations.clone(), Arc::downgrade(memory));
        let owner = Arc::new(DiskOwner { generations, memory, exchange, clock: clock.clone() });
        let admission = options.admission;
        let disk = Disk::start(options, owner)?;
        Ok(Self { disk, admission, clock, lately, recalls: Mutex::default() })
    }

    fn now_ms(&self) -> u64 {
        u64::try_from((self.clock)().unix_ms).unwrap_or_default()
    }
}

impl Cache {
    /// What the disk tier holds and does; `None` where there is none.
    pub fn disk_status(&self) -> Option<DiskStatus> {
        Some(self.0.disk.as_ref()?.disk.status())
    }

    /// The read of a chunk was given up, since the disk did not answer in time. For a [`Recall`] see [`Recall::give_up`].
    pub fn disk_timed_out(&self) {
        if let Some(tier) = &self.0.disk {
            tier.disk.timed_out();
        }
    }

    /// The same, except that who reads a body from disk may go on.
    pub(crate) fn give_up_directory(&self) {
        if let Some(tier) = &self.0.disk {
            tier.disk.give_up();
        }
    }

    /// Ends the disk tier: what waits is written, and another process may use the directory.
    pub fn stop_disk(&self) {
        if let Some(tier) = &self.0.disk {
            tier.disk.stop();
        }
    }

    /// What is stored for a request with these fields. `Err`: the disk has to be waited for.
    pub(crate) fn stored(
        &self,
        key: &Key,
        fields: &Fields,
        policy: &Policy,
        now: Now,
    ) -> Result<Option<Arc<Resource>>, Recall> {
        let stored = self.0.memory.value(key.hash(), key.bytes());
        let Some(tier) = &self.0.disk else { return Ok(stored) };
        let selected = stored.as_ref().and_then(|stored| stored.select(fields, policy));
        let is_evicted = selected.is_some_and(|selected| !selected.body.is_there());
        if selected.is_some() && !is_evicted {
            return Ok(stored);
        }
        let Finding::Objects(objects) = tier.disk.find(key.bytes()) else {
            return Err(self.recall(tier, key));
        };
        // Only a response that this request may select is read. In profile rfc, a language may select one of another variant.
        let is_selected =
            |found: &FoundResponse| policy.profile == Profile::Rfc || found.meta.is_selected_by(fields, policy);
        match FoundAll::new(objects, |object| self.response(object, now), is_selected).read_now() {
            Some(found) if found.responses.is_empty() && !is_evicted => Ok(stored),
            Some(found) => Ok(self.recalled(key, found)),
            None => Err(self.recall(tier, key)),
        }
    }

    /// The one response that the disk has for a key of which memory has none, if it `may_answer`, by its head, and is in the page cache.
    pub(crate) fn only_response(
        &self,
        key: &Key,
        now: Now,
        may_answer: impl Fn(&Meta) -> bool,
    ) -> Option<OnlyResponse> {
        let tier = self.0.disk.as_ref()?;
        if self.0.memory.value(key.hash(), key.bytes()).is_some() {
            return None;
        }
        let Finding::Objects(objects) = tier.disk.find(key.bytes()) else { return None };
        let found = FoundAll::new(objects, |object| self.response(object, now), |_| true);
        let [only] = &*found.responses else { return None };
        if !matches!(only.body, FoundBody::Read(_)) || !may_answer(&only.meta) {
            return None;
        }
        let found = self.entries(tier, key, found.read_now()?).pop()?;
        let is_wanted = self.0.memory.evicted().values == 0 || tier.lately.is_known(key.hash());
        Some(OnlyResponse { found, is_wanted })
    }

    /// A response answers. It comes into memory if it is wanted there: if memory is not full yet, or the response was requested a short time
    /// ago; or if it is to be compressed for this client, for which it has to be kept.
    pub(crate) fn answers(&self, key: &Key, response: OnlyResponse, is_to_be_coded: bool) -> Option<Arc<Entry>> {
        let tier = self.0.disk.as_ref()?;
        let OnlyResponse { found, is_wanted } = response;
        let entry = found.entry.clone();
        if is_wanted || is_to_be_coded {
            // Purged meanwhile, if it is not kept.
            let resource = self.keep(tier, key, vec![found])?;
            return resource.has(&entry).then_some(entry);
        }
        found.count_hits(&tier.disk);
        Some(entry)
    }

    /// The response in an object, still without its body; `None` where it is none, or where memory has no room for it.
    fn response(&self, object: StoredObject, now: Now) -> Option<FoundResponse> {
        let Described { meta, complete_length, external_body } =
            description::read(&object.description, object.is_unconfirmed, now)?;
        let is_right = description::variant_number(&meta) == object.variant;
        let bytes = object.body_bytes();
        let is_whole = complete_length == Some(bytes) && object.is_whole();
        // What memory does not take was written as a large object, whatever its length. Only to such a one parts can be added.
        let stays = STAYS_ON_DISK_BYTES.min(self.0.limits.object_bytes_max / 2);
        let is_part = || complete_length.is_some_and(|length| object.is_part_of(length));
        let can_stay = |stored: &StoredBody| is_whole || is_part() && stored.can_be_extended();
        let stays = if bytes > stays { object.stored_body().filter(can_stay) } else { None };
        let has_room = || bytes <= self.0.limits.object_bytes_max && self.0.budget.has_room_for(bytes);
        let body = match (external_body, stays) {
            (Some(external_body), _) => FoundBody::External(external_body),
            (None, Some(stored)) => FoundBody::OnDisk(stored),
            (None, None) if has_room() => FoundBody::Read(Vec::new()),
            (None, None) => return None,
        };
        is_right.then_some(FoundResponse { object, meta, complete_length, body })
    }

    /// Puts what was read into the memory tier, unless it was removed meanwhile. Returns all that is stored for the key then.
    fn recalled(&self, key: &Key, read: FoundAll) -> Option<Arc<Resource>> {
        let tier = self.0.disk.as_ref()?;
        self.keep(tier, key, self.entries(tier, key, read))
    }

    /// The entries that memory would have of what was read, the oldest first.
    fn entries(&self, tier: &DiskTier, key: &Key, mut read: FoundAll) -> Vec<FoundEntry> {
        read.responses.sort_by_key(|found| found.object.stored_ms);
        let FoundAll { responses, forms } = read;
        responses.into_iter().map(|found| self.entry(tier, key, found, &forms)).collect()
    }

    fn entry(&self, tier: &DiskTier, key: &Key, found: FoundResponse, forms: &[FoundForm]) -> FoundEntry {
        let FoundResponse { object, meta, complete_length, body } = found;
        // What stays on disk is counted when it is sent.
        let is_counted = !matches!(body, FoundBody::OnDisk(_));
        let body = body.into_body(complete_length).charged(&self.0.budget);
        let entry = Arc::new(Entry::new(Arc::new(meta), body, key, &self.0.budget));
        let is_of_this = |form: &&FoundForm| form.form.of == object.variant && tier.disk.has(&form.object);
        let mut forms = forms.iter().filter(is_of_this).peekable();
        let body_hash = forms.peek().map(|_| description::body_hash(&entry.body)).unwrap_or_default();
        let (mut coded_forms, mut outdated_forms) = (Vec::new(), Vec::new());
        for form in forms {
            match form.of_body(body_hash) {
                Some((coding, coded)) => {
                    coded_forms.push(form.object.clone());
                    entry.body.begin_coding(coding);
                    let coded = coded.charged_with(entry.prepared_bytes(), &self.0.budget);
                    entry.body.keep_coded(coding, coded);
                }
                None => outdated_forms.push(form.object.variant),
            }
        }
        FoundEntry { object, is_counted, entry, coded_forms, outdated_forms }
    }

    /// Puts entries into the memory tier, unless they were removed meanwhile. Returns all that is stored for the key then.
    fn keep(&self, tier: &DiskTier, key: &Key, entries: Vec<FoundEntry>) -> Option<Arc<Resource>> {
        let mut stored = None;
        self.update(key.hash(), key.bytes(), |present| {
            let bytes_max = self.0.limits.object_bytes_max.max(BYTES_MIN);
            let mut resource: Option<Resource> = None;
            let mut add = |entry: Arc<Entry>| {
                resource = Some(match resource.take() {
                    Some(resource) => resource.with(entry, bytes_max),
                    None => Resource::new(key.bytes(), entry),
                });
            };
            // An entry whose body has been evicted from the disk is as good as gone.
            let is_there = |entry: &&Arc<Entry>| entry.body.is_there();
            let is_present = |meta: &Meta| {
                present.as_ref().is_some_and(|it| it.same_variant(meta).filter(|entry| is_there(entry)).is_some())
            };
            for found in entries {
                if is_present(&found.entry.meta) || !tier.disk.has(&found.object) {
                    continue;
                }
                found.count_hits(&tier.disk);
                let FoundEntry { entry, outdated_forms, .. } = found;
                outdated_forms.into_iter().for_each(|variant| tier.disk.hide(key.bytes(), variant));
                if entry.memory_bytes() <= bytes_max {
                    add(entry);
                }
            }
            let present = present.iter().flat_map(|present| present.entries().iter().rev());
            present.filter(is_there).for_each(|entry| add(entry.clone()));
            stored = resource.map(Arc::new);
            stored.clone()
        });
        stored
    }

    /// Has a stored response written, or at least its predecessor dropped. Called under the lock of its key.
    pub(crate) fn put_on_disk(&self, key: &[u8], entry: &Arc<Entry>) {
        let Some(tier) = &self.0.disk else { return };
        if tier.admission == Admission::OnEviction && entry.body.stored_body().is_none() {
            return tier.disk.forget(key, Removal::Variant(description::variant_number(&entry.meta)));
        }
        self.write_to_disk(tier, key, entry, false);
    }

    /// `is_proven`: the response was requested again.
    fn write_to_disk(&self, tier: &DiskTier, key: &[u8], entry: &Arc<Entry>, is_proven: bool) {
        let body = &entry.body;
        let described = description::write(&entry.meta, body.complete_length(), body.external_body());
        let variant = description::variant_number(&entry.meta);
        // The older response on disk is outdated in any case.
        let Some(description) = described else { return tier.disk.hide(key, variant) };
        let body = entry.body.clone();
        let object = NewObject {
            key: key.into(),
            variant,
            description,
            chunks: description::chunks(&body),
            stored_ms: tier.now_ms(),
            is_proven,
            keeps: Some(body.clone()),
        };
        match body.stored_body() {
            Some(stored) => tier.disk.refresh(object, stored.clone()),
            None => tier.disk.put(object),
        };
    }

    /// Has a compressed form of a stored body written. Called under the lock of its key.
    pub(crate) fn put_coded_on_disk(&self, key: &[u8], form: Option<CodedForm>, coded: &Arc<Body>) {
        let Some((tier, form)) = self.0.disk.as_ref().zip(form) else { return };
        let Some(description) = form.write() else { return };
        tier.disk.put(NewObject {
            key: key.into(),
            variant: form.variant_number(),
            description,
            chunks: description::chunks(coded),
            stored_ms: tier.now_ms(),
            is_proven: false,
            keeps: Some(coded.clone()),
        });
    }

    /// What is written of a compressed form at once, if anything is.
    pub(crate) fn coded_form(&self, entry: &Entry, coding: Coding) -> Option<CodedForm> {
        let is_written = self.0.disk.as_ref().is_some_and(|tier| tier.admission != Admission::OnEviction);
        is_written.then(|| CodedForm::new(&entry.meta, &entry.body, coding))
    }

    /// Whether a response is written when memory evicts it. `was_hot`: it had been requested again.
    pub(crate) fn writes_evicted(&self, was_hot: bool) -> bool {
        self.0.disk.as_ref().is_some_and(|tier| was_hot || tier.admission == Admission::OnEviction)
    }

    /// Has the responses of a key written that the disk does not have: they were not admitted, or came while the disk was too slow or had
    /// failed, or were evicted there. Called under the lock of the key.
    pub(crate) fn put_evicted_on_disk(&self, resource: &Resource) {
        let Some(tier) = &self.0.disk else { return };
        // A body that was on disk is gone with its object.
        let is_missing = |entry: &&Arc<Entry>| {
            entry.body.stored_body().is_none()
                && !tier.disk.may_have(resource.key(), description::variant_number(&entry.meta))
        };
        // Found before any of them waits to be written. The oldest comes first, as they were stored.
        let missing: Vec<_> = resource.entries().iter().rev().filter(is_missing).collect();
        missing.into_iter().for_each(|entry| self.write_to_disk(tier, resource.key(), entry, true));
    }

    /// Drops one response of a key on disk. Called under the lock of its key.
    pub(crate) fn forget_on_disk(&self, key: &Key, meta: &Meta) {
        if let Some(tier) = &self.0.disk {
            tier.disk.forget(key.bytes(), Removal::Variant(description::variant_number(meta)));
        }
    }

    /// Drops all responses of a key on disk. Called under the lock of its key.
    pub(crate) fn remove_from_disk(&self, key: &Key) -> Invalidated {
        self.make_certain(&Told::Key(key), || match &self.0.disk {
            Some(tier) => Invalidated::on_disk(tier.disk.remove(key.bytes(), Removal::Key)),
            None => Invalidated::default(),
        })
    }

    /// Writes a purge of many keys.
    pub(crate) fn mark_on_disk<'m>(&self, mark: impl FnOnce() -> Mark<'m>) -> Invalidated {
        let mark = mark();
        self.make_certain(&Told::Mark(&mark), || match &self.0.disk {
            Some(tier) => Invalidated::on_disk(tier.disk.mark(mark.write())),
            None => Invalidated::default(),
        })
    }
}
