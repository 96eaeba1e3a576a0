//! Small facts by a hash, bounded in number, which all workers share. The least useful go first.

use quick_cache::unsync;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Parts of the table, each under a lock of its own.
const SHARDS: usize = 16;

/// Two hashes under different keys: nobody can make two things look like one.
pub(crate) type Id = [u64; 2];

/// See the [module](self).
pub(crate) struct Known<V>([Mutex<unsync::Cache<Id, V>>; SHARDS]);

impl<V: Copy + Default> Known<V> {
    /// With room for so many.
    pub(crate) fn with_room_for(count: usize) -> Self {
        Self(std::array::from_fn(|_| Mutex::new(unsync::Cache::new(count / SHARDS))))
    }

    pub(crate) fn get(&self, id: Id) -> Option<V> {
        self.shard(id).get(&id).copied()
    }

    /// Changes what is known; what was not known begins as its default.
    pub(crate) fn change<T>(&self, id: Id, change: impl FnOnce(&mut V) -> T) -> T {
        let mut shard = self.shard(id);
        if let Some(mut value) = shard.get_mut(&id) {
            return change(&mut value);
        }
        let mut value = V::default();
        let result = change(&mut value);
        shard.insert(id, value);
        result
    }

    /// The same, where anything is known.
    pub(crate) fn change_known<T>(&self, id: Id, change: impl FnOnce(&mut V) -> T) -> Option<T> {
        self.shard(id).get_mut(&id).map(|mut value| change(&mut value))
    }

    fn shard(&self, id: Id) -> MutexGuard<'_, unsync::Cache<Id, V>> {
        let [hash, _] = id;
        let [first, rest @ ..] = &self.0;
        let shard = rest.get((hash % SHARDS as u64) as usize).unwrap_or(first);
        // What is behind the lock is whole between any two calls.
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets everything.
    #[cfg(test)]
    pub(crate) fn clear(&self) {
        self.0.iter().for_each(|shard| shard.lock().unwrap().clear());
    }
}
