//! A bounded table of small facts by hash, shared by all workers. At the bound, the least useful facts are evicted.

use quick_cache::unsync;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Parts of the table, each under a lock of its own.
const SHARDS: usize = 16;

/// Two hashes under different keys, so that no client can make two things look the same.
pub(crate) type FactId = [u64; 2];

/// See the [module](self).
pub(crate) struct FactTable<V>([Mutex<unsync::Cache<FactId, V>>; SHARDS]);

impl<V: Copy + Default> FactTable<V> {
    /// A table with room for `count` facts.
    pub(crate) fn with_room_for(count: usize) -> Self {
        Self(std::array::from_fn(|_| Mutex::new(unsync::Cache::new(count / SHARDS))))
    }

    pub(crate) fn get(&self, id: FactId) -> Option<V> {
        self.shard(id).get(&id).copied()
    }

    /// Changes a fact; an unknown one begins as the default.
    pub(crate) fn change<T>(&self, id: FactId, change: impl FnOnce(&mut V) -> T) -> T {
        let mut shard = self.shard(id);
        if let Some(mut value) = shard.get_mut(&id) {
            return change(&mut value);
        }
        let mut value = V::default();
        let result = change(&mut value);
        shard.insert(id, value);
        result
    }

    /// Changes a fact if it is known.
    pub(crate) fn change_known<T>(&self, id: FactId, change: impl FnOnce(&mut V) -> T) -> Option<T> {
        self.shard(id).get_mut(&id).map(|mut value| change(&mut value))
    }

    fn shard(&self, id: FactId) -> MutexGuard<'_, unsync::Cache<FactId, V>> {
        let [hash, _] = id;
        let [first, rest @ ..] = &self.0;
        let shard = rest.get((hash % SHARDS as u64) as usize).unwrap_or(first);
        // Each change under the lock is complete in itself, so a panic elsewhere leaves facts that can be read.
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets everything.
    #[cfg(test)]
    pub(crate) fn clear(&self) {
        self.0.iter().for_each(|shard| shard.lock().unwrap().clear());
    }
}
