//! The registry of running fills: joins concurrent requests for the same response into one fill.

use crate::budget::Budget;
use crate::fill::{Fill, FillReader};
use crate::generations::Generations;
use crate::resource::Resource;
use crate::selection::FillId;
use crate::sync::{AtomicUsize, Mutex, MutexGuard, Ordering, PoisonError};
use crate::tags::Tags;
use kasoku_store::KeyHash;
use std::collections::HashMap;
use std::sync::Arc;

/// Parts of the registry, each under a lock of its own.
const SHARDS: usize = 16;

type Shard = HashMap<KeyHash, Vec<Arc<Fill>>>;

/// The running fills of a cache.
pub(crate) struct Fills {
    shards: [Mutex<Shard>; SHARDS],
    running: AtomicUsize,
    budget: Arc<Budget>,
    generations: Arc<Generations>,
}

/// The result of [`Fills::begin`].
pub(crate) enum FillStart {
    /// A new fill: the caller must write it.
    New(Arc<Fill>),
    /// A running fill: the caller joins it.
    Running(FillReader),
    /// No such fill runs, and what the caller decided on has changed: a fill has stored a response, or has failed. Holds what is stored
    /// now; the caller decides anew.
    DecideAgain(Option<Arc<Resource>>),
}

impl Fills {
    pub(crate) fn new(budget: Arc<Budget>, generations: Arc<Generations>) -> Self {
        Self { shards: std::array::from_fn(|_| Mutex::default()), running: AtomicUsize::new(0), budget, generations }
    }

    pub(crate) fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }

    /// Joins the running fill, or else begins a new one. In between, under the lock, `stored` says whether what is stored has changed
    /// since the caller decided; then no fill begins. `tags` makes the tags of a new fill's response.
    pub(crate) fn begin(
        &self,
        which: FillId<'_>,
        is_joinable: bool,
        tags: impl FnOnce() -> Option<Arc<Tags>>,
        stored: impl FnOnce() -> Option<Option<Arc<Resource>>>,
    ) -> FillStart {
        let mut shard = self.shard(which.hash);
        let running = || shard.get(&which.hash)?.iter().find(|fill| fill.can_be_joined(which));
        if is_joinable && let Some(fill) = running() {
            return FillStart::Running(FillReader::new(fill.clone()));
        }
        if let Some(stored) = stored() {
            return FillStart::DecideAgain(stored);
        }
        FillStart::New(self.add(&mut shard, which, is_joinable, tags()))
    }

    /// Begins a fill that no request joins.
    pub(crate) fn begin_alone(&self, which: FillId<'_>, tags: Option<Arc<Tags>>) -> Arc<Fill> {
        self.add(&mut self.shard(which.hash), which, false, tags)
    }

    /// Joins a running fill, if there is one.
    pub(crate) fn join(&self, which: FillId<'_>) -> Option<FillReader> {
        let shard = self.shard(which.hash);
        let fill = shard.get(&which.hash)?.iter().find(|fill| fill.can_be_joined(which))?;
        Some(FillReader::new(fill.clone()))
    }

    /// Whether any fill for this key is running.
    pub(crate) fn is_running(&self, hash: KeyHash, key: &[u8]) -> bool {
        self.shard(hash).get(&hash).is_some_and(|fills| fills.iter().any(|fill| *fill.key == *key))
    }

    /// Whether another fill of the same key is running for which that holds.
    pub(crate) fn has_other(&self, fill: &Arc<Fill>, holds: impl Fn(&Fill) -> bool) -> bool {
        let shard = self.shard(fill.hash);
        let is_other = |other: &&Arc<Fill>| *other.key == *fill.key && !Arc::ptr_eq(other, fill);
        shard.get(&fill.hash).is_some_and(|fills| fills.iter().filter(is_other).any(|other| holds(other)))
    }

    /// Removes a fill: no request joins it from now on.
    pub(crate) fn end(&self, fill: &Arc<Fill>) {
        let mut shard = self.shard(fill.hash);
        if let Some(fills) = shard.get_mut(&fill.hash) {
            let before = fills.len();
            fills.retain(|other| !Arc::ptr_eq(other, fill));
            self.running.fetch_sub(before - fills.len(), Ordering::Relaxed);
            if fills.is_empty() {
                shard.remove(&fill.hash);
            }
        }
    }

    /// Poisons all running fills of a key except `spared`: their responses are not stored, and later requests do not join them.
    pub(crate) fn poison(&self, hash: KeyHash, key: &[u8], spared: Option<&Arc<Fill>>) {
        let shard = self.shard(hash);
        let is_meant = |fill: &&Arc<Fill>| *fill.key == *key && !spared.is_some_and(|it| Arc::ptr_eq(it, fill));
        for fill in shard.get(&hash).into_iter().flatten().filter(is_meant) {
            fill.state().is_poisoned = true;
        }
    }

    fn add(&self, shard: &mut Shard, which: FillId<'_>, is_joinable: bool, tags: Option<Arc<Tags>>) -> Arc<Fill> {
        let fill = Arc::new(Fill::new(which, is_joinable, tags, &self.budget, &self.generations));
        shard.entry(which.hash).or_default().push(fill.clone());
        self.running.fetch_add(1, Ordering::Relaxed);
        fill
    }

    fn shard(&self, hash: KeyHash) -> MutexGuard<'_, Shard> {
        let [first, ..] = &self.shards;
        let shard = self.shards.get(hash.spread(SHARDS)).unwrap_or(first);
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
