//! The wait for a response that is on disk and not in the page cache. Requests for one key wait for one read.

use super::{DiskTier, FoundAll};
use crate::sync::{AtomicBool, MutexGuard, Ordering, PoisonError};
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
    read: Arc<SharedRead>,
}

/// The read for which the requests for a key wait. One of them makes it; if that one goes away, another one begins anew.
#[derive(Default)]
pub(super) struct SharedRead {
    done: OnceCell<()>,
    /// The disk has not answered a request in time.
    is_given_up: AtomicBool,
}

impl Recall {
    /// Waits until what the disk has is in memory, or until another request has given the read up. Then [`Cache::look_up_recalled`] decides.
    pub async fn wait(&self) {
        let Self { cache, key, read } = self;
        let make = || async {
            // Each attempt to read what hangs would hold another one of the few threads that read.
            if !read.is_given_up.load(Ordering::Relaxed) {
                cache.read_from_disk(key).await;
            }
            if let Some(tier) = &cache.0.disk {
                tier.recalls().remove(&key.hash());
            }
        };
        read.done.get_or_init(make).await;
    }

    /// The disk did not answer in time. To be called before the future of [`Recall::wait`] is dropped: then no other request begins the same
    /// read anew.
    pub fn give_up(&self) {
        let was_given_up = self.read.is_given_up.swap(true, Ordering::Relaxed);
        // However many requests wait, one read has hung.
        if !was_given_up {
            self.cache.disk_timed_out();
        }
    }
}

impl DiskTier {
    fn recalls(&self) -> MutexGuard<'_, HashMap<KeyHash, Weak<SharedRead>>> {
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
            let read = Arc::<SharedRead>::default();
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

#[cfg(test)]
mod tests {
    use crate::disk::{DiskOptions, Recall};
    use crate::{Cache, CacheLimits};
    use kasoku_semantics::time::Now;
    use kasoku_store::disk::{Admission, DiskCounts, SIZE_BYTES_MIN};
    use std::sync::Arc;

    fn start(folder: &tempfile::TempDir) -> Cache {
        let limits = CacheLimits { memory_bytes_max: 8 << 20, object_bytes_max: 1 << 20 };
        let path = folder.path().to_owned();
        let options = DiskOptions { path, size_bytes: SIZE_BYTES_MIN, admission: Admission::Always };
        Cache::with_disk(limits, options, Arc::new(|| Now { unix_ms: 1_700_000_000_000, mono_ms: 0 })).unwrap()
    }

    fn recall(cache: &Cache, target: &str) -> Recall {
        let key = cache.key(format!("http://a.example{target}"));
        cache.recall(cache.0.disk.as_ref().unwrap(), &key)
    }

    /// The reads that were made, and those that were skipped since the disk does not answer.
    fn reads(cache: &Cache) -> (u64, u64) {
        let DiskCounts { waited_reads, skipped_reads, .. } = cache.disk_status().unwrap().counts;
        (waited_reads, skipped_reads)
    }

    #[tokio::test]
    async fn a_read_that_hangs_counts_once_however_many_requests_wait_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let cache = start(&folder);
        let waiting: Vec<Recall> = (0..10).map(|_| recall(&cache, "/hangs")).collect();
        waiting.iter().for_each(Recall::give_up);
        recall(&cache, "/1").wait().await;
        assert_eq!(reads(&cache), (1, 0));
        let of_others: Vec<Recall> = (2..6).map(|number| recall(&cache, &format!("/{number}"))).collect();
        of_others.iter().for_each(Recall::give_up);
        recall(&cache, "/6").wait().await;
        assert_eq!(reads(&cache), (1, 1), "four reads that hang are too many");
    }

    #[tokio::test]
    async fn a_read_that_was_given_up_is_not_begun_anew_by_the_next_that_waits_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let cache = start(&folder);
        let (one, other) = (recall(&cache, "/"), recall(&cache, "/"));
        one.give_up();
        other.wait().await;
        assert_eq!(reads(&cache), (0, 0));
        recall(&cache, "/").wait().await;
        assert_eq!(reads(&cache), (1, 0), "a later request tries again");
    }
}
