//! The disk tier below the memory tier: what is stored is written there, and what memory does not have is looked for there.
//!
//! A look-up that finds nothing in memory asks the index of the disk tier. If there is an object, and the page cache has it, the response
//! comes into memory at once, and the look-up goes on with it. Otherwise the look-up ends with a [`Recall`]: the caller waits for the
//! disk, and looks up again. Requests for one key wait for one read.
//!
//! Each change of what is stored for a key is made in both tiers under the lock of that key (`save`). So a response that is on its way
//! from the disk into memory is dropped where the key was invalidated meanwhile. Purges of many keys are marks (`generations`), which are
//! written as well.

mod description;

use crate::generations::{Generations, Mark};
use crate::invalidated::Invalidated;
use crate::query::CacheQuery;
use crate::resource::Resource;
use crate::sync::{Mutex, MutexGuard, PoisonError};
use crate::{Body, Cache, CacheLimits, Entry, Key, Meta};
use bytes::Bytes;
use kasoku_semantics::policy::Profile;
use kasoku_semantics::time::Now;
use kasoku_store::KeyHash;
pub use kasoku_store::disk::{Admission, DiskCounts, DiskOptions, DiskState, DiskStatus, NotDurable, SIZE_BYTES_MIN};
use kasoku_store::disk::{Disk, Finding, Marks, NewObject, Owner, Removal, StoredObject};
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Weak};
use tokio::sync::OnceCell;

/// Tells the time. The disk tier has threads of its own, and no caller gives them the time.
pub type Clock = Arc<dyn Fn() -> Now + Send + Sync>;

/// The disk tier of a cache.
pub(crate) struct DiskTier {
    disk: Disk,
    clock: Clock,
    /// The reads that run, by key. Requests for the same key share one.
    recalls: Mutex<HashMap<KeyHash, Weak<OnceCell<()>>>>,
}

/// Responses for a key are on the disk, and the disk has to be waited for.
#[must_use]
pub struct Recall {
    cache: Cache,
    key: Key,
    read: Arc<OnceCell<()>>,
}

impl Recall {
    /// Waits until what the disk has is in memory. Then [`Cache::look_up_recalled`] decides.
    pub async fn wait(self) {
        let Self { cache, key, read } = self;
        read.get_or_init(|| async {
            cache.read_from_disk(&key).await;
            if let Some(tier) = &cache.0.disk {
                tier.recalls().remove(&key.hash());
            }
        })
        .await;
    }
}

/// Keeps the purge marks of a cache in its disk tier.
struct MarksOwner {
    generations: Arc<Generations>,
    clock: Clock,
}

impl Owner for MarksOwner {
    fn now_ms(&self) -> u64 {
        u64::try_from((self.clock)().unix_ms).unwrap_or_default()
    }

    fn recover(&self, marks: Option<Marks>) {
        // Where marks are lost, the disk tier calls all objects unconfirmed, and these are older than every purge.
        if let Some(Marks { then, since }) = marks
            && self.generations.read(&then, &since, (self.clock)()).is_none()
        {
            tracing::error!("the purges in the disk cache can't be read: everything in it is dropped");
            self.generations.drop_everything((self.clock)());
        }
        self.generations.skip();
    }

    fn marks(&self) -> Vec<u8> {
        self.generations.write()
    }
}

impl DiskTier {
    fn recalls(&self) -> MutexGuard<'_, HashMap<KeyHash, Weak<OnceCell<()>>>> {
        self.recalls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cache {
    /// A cache with a disk tier below its memory.
    ///
    /// # Errors
    /// A thread can't be started. A directory that can't be used is no error: see [`Cache::disk_status`].
    pub fn with_disk(limits: CacheLimits, options: DiskOptions, clock: Clock) -> io::Result<Self> {
        Self::build(limits, |generations| {
            let owner = Arc::new(MarksOwner { generations: generations.clone(), clock: clock.clone() });
            let disk = Disk::start(options, owner)?;
            Ok(Some(DiskTier { disk, clock, recalls: Mutex::default() }))
        })
    }

    /// What the disk tier holds and does; `None` where there is none.
    pub fn disk_status(&self) -> Option<DiskStatus> {
        Some(self.0.disk.as_ref()?.disk.status())
    }

    /// Ends the disk tier: what waits is written, and another process may use the directory.
    pub fn stop_disk(&self) {
        if let Some(tier) = &self.0.disk {
            tier.disk.stop();
        }
    }

    /// What is stored for a look-up. `Err`: the disk has to be waited for.
    pub(crate) fn stored(&self, query: &CacheQuery<'_>) -> Result<Option<Arc<Resource>>, Recall> {
        let stored = self.0.memory.value(query.key.hash(), query.key.bytes());
        let Some(tier) = &self.0.disk else { return Ok(stored) };
        let is_answer = |resource: &Arc<Resource>| resource.select(&query.request.fields, query.policy).is_some();
        if stored.as_ref().is_some_and(is_answer) {
            return Ok(stored);
        }
        let Finding::Objects(mut objects) = tier.disk.find(query.key.bytes()) else {
            return Err(self.recall(tier, query.key));
        };
        // Only a response that this request may select is read.
        objects.retain(|object| self.may_select(query, object));
        if objects.is_empty() {
            return Ok(stored);
        }
        match objects.iter().map(Self::body_now).collect::<Option<Vec<_>>>() {
            Some(bodies) => Ok(self.recalled(query.key, objects, bodies)),
            None => Err(self.recall(tier, query.key)),
        }
    }

    /// Whether a stored object may answer the request, as far as its head tells, and there is memory for it.
    fn may_select(&self, query: &CacheQuery<'_>, object: &StoredObject) -> bool {
        let head = description::read(&object.description, object.is_unconfirmed, query.now);
        // In profile rfc, a language may select a response that was stored for another one.
        let is_selected = |meta: &Meta| {
            query.policy.profile == Profile::Rfc || meta.is_selected_by(&query.request.fields, query.policy)
        };
        head.is_some_and(|(meta, _)| is_selected(&meta)) && self.has_room_to_read(object)
    }

    fn has_room_to_read(&self, object: &StoredObject) -> bool {
        let bytes = object.body_bytes();
        bytes <= self.0.limits.object_bytes_max && self.0.budget.has_room_for(bytes)
    }

    fn recall(&self, tier: &DiskTier, key: &Key) -> Recall {
        let mut recalls = tier.recalls();
        let running = recalls.get(&key.hash()).and_then(Weak::upgrade);
        let read = running.unwrap_or_else(|| {
            // Reads whose requests have all gone away.
            if recalls.len() >= 1024 {
                recalls.retain(|_, read| read.strong_count() > 0);
            }
            let read = Arc::<OnceCell<()>>::default();
            recalls.insert(key.hash(), Arc::downgrade(&read));
            read
        });
        Recall { cache: self.clone(), key: key.clone(), read }
    }

    async fn read_from_disk(&self, key: &Key) {
        let Some(tier) = &self.0.disk else { return };
        // A read that can't be made is a miss.
        let Ok(objects) = tier.disk.retrieve(key.bytes()).await else { return };
        let (mut read, mut bodies) = (Vec::with_capacity(objects.len()), Vec::with_capacity(objects.len()));
        'objects: for object in objects.into_iter().filter(|object| self.has_room_to_read(object)) {
            let mut body = Vec::with_capacity(object.chunks.len());
            for chunk in &object.chunks {
                match tier.disk.read(chunk).await {
                    Ok(bytes) => body.push((chunk.first(), bytes)),
                    Err(_) => continue 'objects,
                }
            }
            read.push(object);
            bodies.push(body);
        }
        self.recalled(key, read, bodies);
    }

    /// The chunks of an object, if all are in memory; none where they are damaged, so that the object is left out.
    fn body_now(object: &StoredObject) -> Option<Vec<(u64, Bytes)>> {
        let mut body = Vec::with_capacity(object.chunks.len());
        for chunk in &object.chunks {
            match chunk.bytes_now() {
                Ok(Some(bytes)) => body.push((chunk.first(), bytes)),
                Ok(None) => return None,
                Err(_) => return Some(Vec::new()),
            }
        }
        Some(body)
    }

    /// Puts what was read into the memory tier, unless it was removed meanwhile. Returns all that is stored for the key then.
    fn recalled(&self, key: &Key, objects: Vec<StoredObject>, bodies: Vec<Vec<(u64, Bytes)>>) -> Option<Arc<Resource>> {
        let tier = self.0.disk.as_ref()?;
        let now = (tier.clock)();
        let mut read: Vec<_> = objects.into_iter().zip(bodies).collect();
        read.sort_by_key(|(object, _)| object.stored_ms);
        let mut stored = None;
        self.0.memory.update(key.hash(), key.bytes(), |present| {
            let bytes_max = self.0.limits.object_bytes_max.max(crate::resource::BYTES_MIN);
            let mut resource: Option<Resource> = None;
            let mut add = |entry: Arc<Entry>| {
                resource = Some(match resource.take() {
                    Some(resource) => resource.with(entry, bytes_max),
                    None => Resource::new(key.bytes(), entry),
                });
            };
            for (object, body) in read {
                let is_present = |meta: &Meta| present.as_ref().is_some_and(|it| it.same_variant(meta).is_some());
                let entry = tier.disk.has(&object).then(|| self.entry(key, &object, body, now)).flatten();
                if let Some(entry) = entry.filter(|entry| !is_present(&entry.meta) && entry.memory_bytes() <= bytes_max)
                {
                    tier.disk.count_hit(&object);
                    add(entry);
                }
            }
            present.iter().flat_map(|present| present.entries().iter().rev()).for_each(|entry| add(entry.clone()));
            stored = resource.map(Arc::new);
            stored.clone()
        });
        stored
    }

    /// The stored response that an object holds.
    fn entry(&self, key: &Key, object: &StoredObject, body: Vec<(u64, Bytes)>, now: Now) -> Option<Arc<Entry>> {
        let (meta, complete_length) = description::read(&object.description, object.is_unconfirmed, now)?;
        let has_all = body.len() == object.chunks.len();
        let body = Body::of_chunks(body, complete_length);
        let is_right = has_all && description::variant_number(&meta) == object.variant;
        is_right.then(|| Arc::new(Entry::new(Arc::new(meta), body.charged(&self.0.budget), key, &self.0.budget)))
    }

    /// Has a stored response written. Called under the lock of its key.
    pub(crate) fn put_on_disk(&self, key: &Key, entry: &Arc<Entry>) {
        let Some(tier) = &self.0.disk else { return };
        // A stored decision about a file is not written.
        let described = if entry.body.external_body().is_some() { None } else { description::write(entry) };
        let variant = description::variant_number(&entry.meta);
        // The older response on disk is outdated in any case.
        let Some(description) = described else { return tier.disk.hide(key.bytes(), variant) };
        let body = entry.body.clone();
        tier.disk.put(NewObject {
            key: key.bytes().into(),
            variant,
            description,
            chunks: description::chunks(&body),
            stored_ms: u64::try_from((tier.clock)().unix_ms).unwrap_or_default(),
            keeps: Some(body),
        });
    }

    /// Drops one response of a key on disk. Called under the lock of its key.
    pub(crate) fn forget_on_disk(&self, key: &Key, meta: &Meta) {
        if let Some(tier) = &self.0.disk {
            tier.disk.forget(key.bytes(), Removal::Variant(description::variant_number(meta)));
        }
    }

    /// Drops all responses of a key on disk. Called under the lock of its key.
    pub(crate) fn remove_from_disk(&self, key: &Key) -> Invalidated {
        match &self.0.disk {
            Some(tier) => Invalidated::on_disk(tier.disk.remove(key.bytes(), Removal::Key)),
            None => Invalidated::default(),
        }
    }

    /// Writes a purge of many keys.
    pub(crate) fn mark_on_disk<'m>(&self, mark: impl FnOnce() -> Mark<'m>) -> Invalidated {
        match &self.0.disk {
            Some(tier) => Invalidated::on_disk(tier.disk.mark(mark().write())),
            None => Invalidated::default(),
        }
    }
}
