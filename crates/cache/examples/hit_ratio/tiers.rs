//! Drives the whole cache, with a disk tier in a real directory, as a host does: a look-up, a wait for the disk where the look-up says
//! so, and after a miss a fill.
//!
//! The disk tier writes objects on a thread of its own. After each [`STORES_BETWEEN_WAITS`] stores the replay waits for that thread, so
//! that a trace which is replayed faster than any origin could answer does not overtake it.

use super::Simulator;
use super::comparison::CACHE_PERCENT;
use super::trace::Sizes;
use bytes::Bytes;
use http::{Method, StatusCode};
use kasoku_cache::disk::{Admission, Clock, DiskCounts, DiskOptions, SIZE_BYTES_MIN};
use kasoku_cache::verdict::OriginExchange;
use kasoku_cache::{Cache, CacheLimits, CacheRoute, Key, Lookup, SharedRequest, Verdict};
use kasoku_semantics::client_address::Peer;
use kasoku_semantics::policy::{Policy, Profile};
use kasoku_semantics::time::Now;
use kasoku_wire::{RequestHead, ResponseHead};
use std::io;
use std::sync::Arc;
use tempfile::TempDir;
use tokio::runtime::Runtime;

const STORES_BETWEEN_WAITS: u64 = 64;

/// The largest object that is stored, in bytes: more than any of the traces.
const OBJECT_BYTES_MAX: u64 = 64 << 10;

const NOW: Now = Now { unix_ms: 1_700_000_000_000, mono_ms: 0 };

/// See the [module](self).
pub(crate) struct Tiers {
    cache: Cache,
    policy: Arc<Policy>,
    runtime: Runtime,
    /// What an object takes besides its body, on disk, or in memory where there is no disk. The sizes in requests include this.
    overhead_bytes: u64,
    stores: u64,
    waits_for: u64,
    zeros: Bytes,
    /// Its directory goes after the cache.
    _directory: Option<TempDir>,
}

impl Tiers {
    /// A cache for `percent` of the bytes of all objects, and these bytes: the smallest of [`CACHE_PERCENT`] in memory alone, more of
    /// them on disk, with that smallest part of them in memory.
    pub(crate) fn for_trace(sizes: Sizes, percent: u64) -> io::Result<(Self, u64)> {
        let share = |overhead_bytes: u64, percent: u64| {
            (sizes.all_bytes() + sizes.keys() as u64 * overhead_bytes) * percent / 100
        };
        let [memory_percent, _] = CACHE_PERCENT;
        let in_memory = Self::measured_overhead(None)?;
        let memory_bytes = share(in_memory, memory_percent);
        if percent == memory_percent {
            return Ok((Self { overhead_bytes: in_memory, ..Self::new(memory_bytes, None)? }, memory_bytes));
        }
        let on_disk = Self::measured_overhead(Some(SIZE_BYTES_MIN))?;
        let disk_bytes = share(on_disk, percent);
        Ok((Self { overhead_bytes: on_disk, ..Self::new(memory_bytes, Some(disk_bytes))? }, disk_bytes))
    }

    /// What a stored object takes besides its body.
    fn measured_overhead(disk_bytes: Option<u64>) -> io::Result<u64> {
        let body_bytes = 1 << 10;
        let mut tiers = Self::new(64 << 20, disk_bytes)?;
        tiers.request(0, body_bytes);
        tiers.wait();
        let bytes = tiers.cache.disk_status().map_or(tiers.cache.used_bytes(), |status| status.counts.stored_bytes);
        Ok(bytes - body_bytes)
    }

    pub(crate) fn overhead_bytes(&self) -> u64 {
        self.overhead_bytes
    }

    fn new(memory_bytes_max: u64, disk_bytes: Option<u64>) -> io::Result<Self> {
        let limits = CacheLimits { memory_bytes_max, object_bytes_max: OBJECT_BYTES_MAX };
        let directory = disk_bytes.map(|_| tempfile::tempdir()).transpose()?;
        let cache = match (&directory, disk_bytes) {
            (Some(directory), Some(size_bytes)) => {
                let path = directory.path().join("cache");
                let clock: Clock = Arc::new(|| NOW);
                Cache::with_disk(limits, DiskOptions { path, size_bytes, admission: Admission::Always }, clock)?
            }
            _ => Cache::new(limits),
        };
        Ok(Self {
            cache,
            policy: Arc::new(Policy::new(Profile::Safe)),
            runtime: tokio::runtime::Builder::new_current_thread().build()?,
            overhead_bytes: 0,
            stores: 0,
            waits_for: 0,
            zeros: Bytes::from(vec![0; OBJECT_BYTES_MAX as usize]),
            _directory: directory,
        })
    }

    /// Waits until all that was stored has been written.
    fn wait(&mut self) {
        self.waits_for = self.stores + STORES_BETWEEN_WAITS;
        while let Some(status) = self.cache.disk_status() {
            let DiskCounts { stored_objects, refused_objects, .. } = status.counts;
            if stored_objects + refused_objects >= self.stores {
                return;
            }
            std::thread::yield_now();
        }
    }

    /// Whether the request was a hit.
    fn serve(&mut self, received: &RequestHead, key: &Key, bytes: u64) -> bool {
        let policy = self.policy.clone();
        let route = CacheRoute::new(key, &policy);
        let in_memory = self.cache.hit(received, &route, NOW);
        if in_memory.or_else(|| self.cache.hit_on_disk(received, &route, None, NOW)).is_some() {
            return true;
        }
        let request = SharedRequest::new(received, &route, &Peer::UNKNOWN);
        let found = match self.cache.look_up(&request, NOW) {
            Lookup::Recall(recall) => {
                self.runtime.block_on(recall.wait());
                self.cache.look_up_recalled(&request, &recall, NOW)
            }
            found => found,
        };
        match found {
            Lookup::Hit(..) => true,
            Lookup::Fill(mut writer, _) => {
                let head = ResponseHead::new(StatusCode::OK)
                    .with("Content-Type", "text/html; charset=utf-8")
                    .with("Cache-Control", "public, max-age=86400")
                    .with("ETag", "\"0123456789abcdef\"")
                    .with("Date", "Tue, 14 Nov 2023 22:13:20 GMT");
                writer.prepare();
                let verdict = writer.on_response(&OriginExchange {
                    response: &head,
                    request_time: NOW,
                    response_time: NOW,
                    body_length: Some(bytes),
                    is_file: false,
                });
                let Verdict::Write(mut writer) = verdict else { unreachable!("it may be stored") };
                let _ = self.runtime.block_on(writer.push(self.zeros.slice(..bytes as usize)));
                writer.finish(None);
                self.stores += 1;
                false
            }
            _ => unreachable!("one request at a time, and each may be stored"),
        }
    }
}

impl Simulator for Tiers {
    fn request(&mut self, number: u32, bytes: u64) -> bool {
        let target = format!("/{number:08}");
        let key = self.cache.key(format!("http://a.example{target}"));
        let received = RequestHead::new(Method::GET, &*target).with("Host", "a.example");
        let is_hit = self.serve(&received, &key, bytes.saturating_sub(self.overhead_bytes).max(1));
        if self.stores >= self.waits_for {
            self.wait();
        }
        is_hit
    }
}
