//! The wait for a response that is on disk and not in the page cache. Requests for one key wait for one read.

use super::{DiskTier, FoundAll};
use crate::sync::{MutexGuard, PoisonError};
use crate::{Cache, Key};
use kasoku_store::KeyHash;
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use tokio::sync::OnceCell;

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

impl DiskTier {
    fn recalls(&self) -> MutexGuard<'_, HashMap<KeyHash, Weak<OnceCell<()>>>> {
        self.recalls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cache {
    pub(super) fn recall(&self, tier: &DiskTier, key: &Key) -> Recall {
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
        let now = (tier.clock)();
        let found = FoundAll::new(objects, |object| self.response(object, now), |_| true);
        self.recalled(key, found.read().await);
    }
}
