//! The wait for a response that is on disk and not in the page cache. Requests for one key wait for one read.
//!
//! What was read comes into memory, and a full memory may let it go again before the requests that wait go on. So they get it from the read.

use super::{DiskTier, FoundAll};
use crate::resource::Resource;
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
    /// What was stored for the key when the read had ended.
    done: OnceCell<Option<Arc<Resource>>>,
    /// The disk has not answered a request in time.
    is_given_up: AtomicBool,
}

impl Recall {
    /// Waits until what the disk has is in memory, or until another request has given the read up. Then [`Cache::look_up_recalled`] decides.
    pub async fn wait(&self) {
        let Self { cache, key, read } = self;
        let make = || async {
            let tier = cache.0.disk.as_ref()?;
            // Each attempt to read what hangs would take the place of another read.
            let is_given_up = read.is_given_up.load(Ordering::Relaxed);
            let found = if is_given_up { None } else { cache.read_from_disk(tier, key).await };
            // Before it comes into memory: a request that comes after an invalidation must not get what was read before it.
            tier.recalls().remove(&key.hash());
            cache.recalled(key, found?)
        };
        read.done.get_or_init(make).await;
    }

    /// What was stored for the key when the read had ended.
    pub(crate) fn found(&self) -> Option<&Arc<Resource>> {
        self.read.done.get()?.as_ref()
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

    async fn read_from_disk(&self, tier: &DiskTier, key: &Key) -> Option<FoundAll> {
        // A read that can't be made is a miss.
        let objects = tier.disk.retrieve(key.bytes()).await.ok()?;
        let now = (tier.clock)();
        Some(FoundAll::new(objects, |object| self.response(object, now), |_| true).read().await)
    }
}

#[cfg(test)]
mod tests {
    use crate::disk::{DiskOptions, Recall};
    use crate::verdict::OriginExchange;
    use crate::{Cache, CacheLimits, CacheRoute, Key, Lookup, SharedRequest, Verdict};
    use bytes::Bytes;
    use http::{Method, StatusCode};
    use kasoku_semantics::client_address::Peer;
    use kasoku_semantics::policy::{Policy, Profile};
    use kasoku_semantics::time::Now;
    use kasoku_store::disk::{Admission, DiskCounts, SIZE_BYTES_MIN};
    use kasoku_wire::{RequestHead, ResponseHead};
    use std::sync::Arc;

    const NOW: Now = Now { unix_ms: 1_700_000_000_000, mono_ms: 0 };

    fn start(folder: &tempfile::TempDir) -> Cache {
        let limits = CacheLimits { memory_bytes_max: 8 << 20, object_bytes_max: 1 << 20 };
        let path = folder.path().to_owned();
        let options = DiskOptions { path, size_bytes: SIZE_BYTES_MIN, admission: Admission::Always };
        Cache::with_disk(limits, options, Arc::new(|| NOW)).unwrap()
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

    fn request(cache: &Cache, target: &str) -> (Key, SharedRequest) {
        let received = RequestHead::new(Method::GET, target).with("Host", "a.example");
        let key = cache.key(format!("http://a.example{target}"));
        let policy = Arc::new(Policy::new(Profile::Safe));
        let request = SharedRequest::new(&received, &CacheRoute::new(&key, &policy), &Peer::UNKNOWN);
        (key, request)
    }

    /// Stores a page, and has memory let it go.
    async fn store(cache: &Cache, target: &str) -> (Key, SharedRequest) {
        let (key, request) = request(cache, target);
        let Lookup::Fill(mut writer, _) = cache.look_up(&request, NOW) else { panic!("it is not stored") };
        writer.prepare();
        let head = ResponseHead::new(StatusCode::OK).with("Cache-Control", "max-age=3600");
        let exchange = OriginExchange {
            response: &head,
            request_time: NOW,
            response_time: NOW,
            body_length: Some(4),
            is_file: false,
        };
        let Verdict::Write(mut writer) = writer.on_response(&exchange) else { panic!("it may be stored") };
        writer.push(Bytes::from_static(b"page")).await.unwrap();
        assert!(writer.finish(None));
        while cache.disk_status().unwrap().counts.stored_objects == 0 {
            std::thread::yield_now();
        }
        forget_in_memory(cache, &key);
        (key, request)
    }

    fn forget_in_memory(cache: &Cache, key: &Key) {
        cache.0.memory.update(key.hash(), key.bytes(), |_| None);
    }

    #[tokio::test]
    async fn what_was_read_answers_also_if_memory_has_let_it_go_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let cache = start(&folder);
        let (key, request) = store(&cache, "/page").await;
        let waiting = [recall(&cache, "/page"), recall(&cache, "/page")];
        for recall in &waiting {
            recall.wait().await;
            forget_in_memory(&cache, &key);
            assert!(matches!(cache.look_up_recalled(&request, recall, NOW), Lookup::Hit(..)));
        }
        assert_eq!(reads(&cache), (1, 0));
        let _ = cache.invalidate(&key);
        let later = recall(&cache, "/page");
        later.wait().await;
        assert!(matches!(cache.look_up_recalled(&request, &later, NOW), Lookup::Fill(..)));
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
