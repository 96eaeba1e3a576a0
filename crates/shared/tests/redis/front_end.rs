//! A front end: its items, and a cache that notes what is purged.

use crate::server::PATIENCE;
use kasoku_shared::names::Namespace;
use kasoku_shared::purge_log::{Clock, Epoch, Purger};
use kasoku_shared::sealed::Sealer;
use kasoku_shared::{Backend, Expiry, Items, Tier, WhenDown};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A cache that notes what is purged.
#[derive(Default)]
struct Noted {
    epoch: AtomicU64,
    purges: Mutex<Vec<String>>,
}

impl Noted {
    fn purge(&self, purge: &[u8]) -> Epoch {
        self.purges.lock().unwrap().push(String::from_utf8_lossy(purge).into_owned());
        self.epoch.fetch_add(1, Ordering::SeqCst) + 1
    }
}

impl Purger for Noted {
    fn carry_out(&self, purge: &[u8]) -> Option<Epoch> {
        Some(self.purge(purge))
    }

    async fn make_certain(&self) -> bool {
        true
    }

    fn drop_everything(&self) {
        self.purge(b"everything");
    }

    fn epoch(&self) -> Epoch {
        self.epoch.load(Ordering::SeqCst)
    }
}

pub(crate) struct FrontEnd {
    pub(crate) items: Items,
    cache: Noted,
    started: Instant,
}

impl FrontEnd {
    pub(crate) fn new(backend: Backend) -> Self {
        let tier = Tier::new(backend, WhenDown::Miss, Namespace::default(), Sealer::new(None).unwrap());
        Self { items: Arc::new(tier).items(), cache: Noted::default(), started: Instant::now() }
    }

    /// Reads the log once.
    pub(crate) async fn follow(&self) -> bool {
        let now = || Clock {
            unix_ms: 1_790_000_000_000 + self.started.elapsed().as_millis() as i64,
            mono_ms: self.started.elapsed().as_millis() as u64,
        };
        self.items.follow(0, &self.cache, now).await.unwrap_or(false)
    }

    /// Reads the log until this holds.
    pub(crate) async fn follow_until(&self, what: &str, holds: impl AsyncFn(&Self) -> bool) {
        let begun = Instant::now();
        loop {
            let is_read = self.follow().await;
            if is_read && holds(self).await {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{what}: read {is_read}, {:?}", self.purges());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub(crate) async fn hears_of(&self, purge: &str) {
        self.follow_until(purge, async |front_end| front_end.purges().iter().any(|it| it == purge)).await;
    }

    /// Waits until the server may be asked for items.
    pub(crate) async fn is_usable(&self) {
        let servers = self.items.tier().servers().clone();
        let is_usable = async |_: &Self| servers.all()[0].health.is_usable(servers.now_ms());
        self.follow_until("usable", is_usable).await;
    }

    /// Purges, without telling others yet.
    pub(crate) fn purges_here(&self, purge: &str) {
        let carry_out = || Ok::<_, ()>((self.cache.purge(purge.as_bytes()), purge.as_bytes().to_vec()));
        let now_ms = self.started.elapsed().as_millis() as u64;
        let _ = self.items.tier().log().publish(now_ms, carry_out).unwrap();
    }

    /// Purges, and writes that to the server.
    pub(crate) async fn purge(&self, purge: &str) {
        self.purges_here(purge);
        self.follow_until(purge, async |_| true).await;
    }

    pub(crate) fn purges(&self) -> Vec<String> {
        self.cache.purges.lock().unwrap().clone()
    }

    pub(crate) async fn put(&self, uri: &str, content: &str) -> bool {
        let name = self.items.tier().namespace().response(uri);
        self.items.put(&name, Expiry::After(60), |_| Some(vec![content.to_owned().into()])).await
    }

    pub(crate) async fn get(&self, uri: &str) -> Option<String> {
        let name = self.items.tier().namespace().response(uri);
        let item = self.items.get(&name).await.ok()?;
        let mut content = item.content().to_vec();
        for number in 1..=item.chunks_left() {
            content.extend_from_slice(&self.items.chunk(&item, &name, number).await?);
        }
        Some(String::from_utf8(content).unwrap())
    }
}
