//! The other processes of an application, to which a data cache tells its purges, and whose purges it carries out.
//!
//! A thread of its own does both ([`PurgeFollower`](crate::purge_exchange::PurgeFollower)); it has a clone of the cache that does not own the thread.

use super::DataCache;
use super::flight::locked;
use super::name::{CacheName, Dropped};
use super::stored::{DataKey, any_tags, drop_all_of, one_tag};
use crate::generations::{Epoch, Generations, Purge, PurgeScope};
use crate::invalidated::{Purged, Told};
use crate::purge_exchange::{Link, Linked, PeersStatus, PurgeExchange, Removal};
use crate::shared::TierStatus;
use kasoku_semantics::time::Now;
use kasoku_shared::purge_log::{Delivery, Purger};
use std::convert::Infallible;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

/// The way to the other processes, and what they call this cache.
pub(super) struct Others {
    pub(super) link: Link,
    pub(super) name: CacheName,
}

/// A purge, which already holds in this process.
///
/// The other processes are told even if this future is dropped. The future is ready when every reachable server or peer has the purge, or after
/// one second. It needs a runtime of tokio with a timer; without one it is ready at once, and `reached_all` is mostly false. In a cache of one
/// process it is ready at once, with `reached_all` true.
pub struct Purging(Option<Pin<Box<dyn Future<Output = Purged> + Send>>>);

impl Future for Purging {
    type Output = Purged;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Purged> {
        match &mut self.0 {
            Some(told) => told.as_mut().poll(cx),
            None => Poll::Ready(Purged { reached_all: true }),
        }
    }
}

impl fmt::Debug for Purging {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Purging").finish_non_exhaustive()
    }
}

impl<V: Clone + Send + Sync + 'static> DataCache<V> {
    /// What the shared tier does; `None` where there is none.
    pub fn shared_status(&self) -> Option<TierStatus> {
        Some(self.exchange()?.tier()?.status())
    }

    /// What the peers do; `None` where there are none.
    pub fn peers_status(&self) -> Option<PeersStatus> {
        Some(self.exchange()?.peers()?.status())
    }

    fn exchange(&self) -> Option<&PurgeExchange> {
        Some(self.link()?.exchange())
    }

    /// Has a purge of many values carried out here, and the others told of it.
    pub(super) fn purged(
        &self,
        carry_out: impl FnOnce(&Generations, Now) -> Epoch,
        purge: impl FnOnce(&CacheName) -> Vec<u8>,
    ) -> Purging {
        let Some(Others { link, name }) = &self.shared.others else {
            carry_out(&self.shared.generations, self.now());
            return Purging(None);
        };
        self.telling(Some(publish(link, |now| carry_out(&self.shared.generations, now), || purge(name))))
    }

    /// Has the others told that a value is dropped here. To be called before it is: what the shared tier has of it must not come into memory
    /// afterwards.
    pub(super) fn tell_of_key(&self, key: &str) -> Option<Delivery> {
        let Others { link, name } = self.shared.others.as_ref()?;
        let mark = |now| self.mark_key(key, now);
        Some(publish(link, mark, || name.purge_of_key(key)))
    }

    /// The wait for the others.
    pub(super) fn telling(&self, delivery: Option<Delivery>) -> Purging {
        let (Some(delivery), Some(link)) = (delivery, self.link().cloned()) else { return Purging(None) };
        Purging(Some(Box::pin(async move {
            let is_told = Told::from(delivery).in_time().await;
            link.purged(is_told)
        })))
    }

    fn mark_key(&self, key: &str, now: Now) -> Epoch {
        self.shared.generations.mark_key(DataKey::new(key).uri(), now)
    }
}

fn publish(link: &Link, carry_out: impl FnOnce(Now) -> Epoch, purge: impl FnOnce() -> Vec<u8>) -> Delivery {
    let now = link.now();
    match link.publish(now, || Ok::<_, Infallible>(carry_out(now)), purge) {
        Ok((_, delivery)) => delivery,
        Err(never) => match never {},
    }
}

impl<V: Clone + Send + Sync + 'static> Linked for DataCache<V> {
    fn link(&self) -> Option<&Link> {
        Some(&self.shared.others.as_ref()?.link)
    }
}

impl<V: Clone + Send + Sync + 'static> Purger for DataCache<V> {
    fn carry_out(&self, purge: &[u8]) -> Option<Epoch> {
        let Others { link, name } = self.shared.others.as_ref()?;
        let (generations, now) = (&self.shared.generations, link.now());
        let removal = Removal::read(purge)?;
        Some(match name.dropped(&removal)? {
            Dropped::Key(key) => {
                let epoch = self.mark_key(&key, now);
                // The log is locked, and the value's `Drop` is the application's: it may purge.
                locked(&self.shared.taken_out).extend(self.take_out(&key));
                epoch
            }
            Dropped::Prefix(prefix) => drop_all_of(generations, PurgeScope::Prefix(DataKey::new(&prefix).uri()), now),
            Dropped::Tag(tag) => generations.change(&one_tag(tag), Purge::Change, now),
            Dropped::Tagged => generations.change(&any_tags(), Purge::Change, now),
            Dropped::All => drop_all_of(generations, PurgeScope::All, now),
            Dropped::Nothing => generations.epoch(),
        })
    }

    async fn make_certain(&self) -> bool {
        for value in std::mem::take(&mut *locked(&self.shared.taken_out)) {
            // If it panics, the thread goes on: it has to hear of further purges.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(value)));
        }
        // Nothing outlives the process.
        true
    }

    fn drop_everything(&self) {
        if let Some(link) = self.link() {
            drop_all_of(&self.shared.generations, PurgeScope::All, link.now());
        }
    }

    fn epoch(&self) -> Epoch {
        self.shared.generations.epoch()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
    use crate::data::Loaded;
    use kasoku_shared::peers::Peers;
    use std::future::poll_fn;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, OnceLock};
    use std::time::Duration;

    const TTL: Duration = Duration::from_secs(60);

    fn others() -> Others {
        let exchange = PurgeExchange::Peers(Peers::new(Vec::new(), b"0123456789abcdef").unwrap());
        Others { link: Link::new(exchange, clock::system()), name: CacheName::new("values").unwrap() }
    }

    /// A cache that hears of purges by calls of [`Purger`].
    fn cache<V: Clone + Send + Sync + 'static>() -> DataCache<V> {
        let others = others();
        DataCache::with(DataCache::builder(1 << 20, |_: &V| 0).options, Some(others), None)
    }

    /// Loads a value while something happens.
    async fn load_during(cache: &DataCache<u8>, happens: impl FnOnce()) {
        let load = || async {
            happens();
            Ok::<_, Infallible>(Loaded::new(1).tags(["t"]))
        };
        assert_eq!(cache.load("k", TTL, load).await.unwrap(), 1);
    }

    #[tokio::test]
    async fn where_purges_may_be_missing_everything_is_dropped_and_no_running_load_is_kept() {
        let cache = cache();
        cache.insert("stored", TTL, 1);
        load_during(&cache, || Purger::drop_everything(&cache)).await;
        assert_eq!((cache.get("stored"), cache.get("k")), (None, None));
        load_during(&cache, || {}).await;
        assert_eq!(cache.get("k"), Some(1));
    }

    #[tokio::test]
    async fn each_purge_of_values_begins_an_epoch() {
        let cache = cache();
        for purge in
            ["Key: data://cache/values/k", "Tag: data://cache/values/ t", "Key: https://a.example/", "All: yes"]
        {
            let before = cache.epoch();
            let of_values = purge.contains("values") || purge.contains("All");
            load_during(&cache, || {
                let carried_out = cache.carry_out(format!("Purge: soft\r\n{purge}\r\n").as_bytes());
                assert_eq!(carried_out, Some(cache.epoch()), "{purge}");
            })
            .await;
            assert_eq!(cache.epoch() > before, of_values, "{purge}");
            assert_eq!(cache.get("k"), (!of_values).then_some(1), "{purge}");
            cache.remove("k");
        }
        assert_eq!(cache.carry_out(b"Purge: hard\r\nKey: data://cache/values/%ff\r\n"), None);
        assert_eq!(cache.carry_out(b"no purge"), None);
    }

    /// A value of which no second clone can be dropped.
    #[derive(Clone)]
    struct Brittle(Arc<AtomicBool>);

    impl Drop for Brittle {
        fn drop(&mut self) {
            assert!(!self.0.load(Ordering::SeqCst), "dropped");
        }
    }

    #[tokio::test]
    async fn a_value_whose_drop_panics_does_not_end_the_thread_of_purges() {
        let cache = cache();
        let is_brittle = Arc::new(AtomicBool::new(false));
        cache.insert("k", TTL, Brittle(is_brittle.clone()));
        is_brittle.store(true, Ordering::SeqCst);
        assert!(cache.carry_out(b"Purge: hard\r\nKey: data://cache/values/k\r\n").is_some());
        assert!(cache.make_certain().await);
        is_brittle.store(false, Ordering::SeqCst);
        assert!(cache.get("k").is_none());
    }

    /// A value whose end removes another one.
    #[derive(Clone)]
    struct Chained(DataCache<Option<Chained>>);

    impl Drop for Chained {
        fn drop(&mut self) {
            self.0.remove("other");
        }
    }

    #[tokio::test]
    async fn a_value_whose_drop_purges_is_dropped_where_the_log_is_not_locked() {
        let cache = cache::<Option<Chained>>();
        cache.insert("k", TTL, Some(Chained(cache.clone())));
        cache.insert("other", TTL, None);
        let (done, is_done) = std::sync::mpsc::channel();
        let its = cache.clone();
        std::thread::spawn(move || {
            let link = its.link().unwrap();
            // As the log does it: under its lock.
            let carry_out =
                || Ok::<_, Infallible>(its.carry_out(b"Purge: hard\r\nKey: data://cache/values/k\r\n").unwrap());
            let _ = link.publish(link.now(), carry_out, Vec::new);
            done.send(()).unwrap();
        });
        is_done.recv_timeout(Duration::from_secs(10)).expect("it does not wait for itself");
        assert!(cache.make_certain().await);
        assert_eq!((cache.get("k").is_none(), cache.get("other").is_none()), (true, true));
    }

    #[tokio::test]
    async fn a_purge_of_another_process_while_a_value_is_being_inserted_drops_it() {
        static CACHE: OnceLock<DataCache<u8>> = OnceLock::new();
        // What is weighed is on its way into the cache.
        let weigh = |_: &u8| {
            let purge = b"Purge: hard\r\nKey: data://cache/values/k\r\n";
            CACHE.get().unwrap().carry_out(purge).map_or(0, |_| 1)
        };
        let cache =
            CACHE.get_or_init(|| DataCache::with(DataCache::builder(1 << 20, weigh).options, Some(others()), None));
        cache.insert("k", TTL, 1);
        assert_eq!(cache.get("k"), None);
        cache.insert("l", TTL, 1);
        assert_eq!(cache.get("l"), Some(1));
    }

    #[tokio::test]
    async fn without_others_a_purge_is_ready_at_once() {
        let alone = DataCache::builder(1 << 20, |_: &u8| 0).build();
        let mut purging = alone.purge_all();
        let polled = poll_fn(|cx| Poll::Ready(Pin::new(&mut purging).poll(cx))).await;
        assert_eq!(polled, Poll::Ready(Purged { reached_all: true }));
    }
}
