//! The exchange of purges with other caches: each purge and each invalidation here is told to them, and theirs are carried out here.
//!
//! The others are reached by the servers of a shared tier, or directly (docs/decisions/0042 and 0043). A thread of its own does that
//! ([`PurgeFollower`]), which the host starts and stops.
//!
//! | file | job |
//! |---|---|
//! | `removals` | a purge as text, as other caches are told of it |
//! | `link` | by which way a cache tells others of its purges |
//! | `follower` | the thread that reads the purges of the others, and writes those of this cache |

mod follower;
mod link;
mod removals;

use crate::clock::Clock;
use crate::generations::{Purge, PurgeScope, PurgeScopeError};
use crate::invalidated::{Invalidated, Purged};
use crate::sync::{AtomicBool, AtomicUsize, Mutex, MutexGuard, Ordering, PoisonError};
use crate::tags::Tags;
use crate::{Cache, Key};
pub use follower::PurgeFollower;
use kasoku_semantics::time::Now;
pub use kasoku_shared::PurgeExchange;
pub use kasoku_shared::peers::{PeerStatus, PeersStatus};
use kasoku_shared::purge_log::{Delivery, Epoch, Purger};
pub use kasoku_shared::settings;
pub(crate) use link::{Link, Linked};
pub(crate) use removals::{Removal, VALUES};
use std::convert::Infallible;

/// The exchange of purges with other caches.
pub(crate) struct OtherCaches {
    link: Link,
    /// Purges of other caches that have been carried out here, and may be lost at a restart.
    uncertain: Mutex<Invalidated>,
    /// How many tasks wait until some are certain.
    waits: AtomicUsize,
    /// Whether one may be lost for ever.
    has_lost: AtomicBool,
}

/// A task waits until purges are certain. If it gives the wait up, they may be lost.
struct Wait<'o> {
    others: &'o OtherCaches,
    has_ended_well: bool,
}

impl<'o> Wait<'o> {
    fn begin(others: &'o OtherCaches) -> Self {
        others.waits.fetch_add(1, Ordering::SeqCst);
        Self { others, has_ended_well: false }
    }

    fn has_ended_well(mut self) {
        self.has_ended_well = true;
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        if !self.has_ended_well {
            self.others.has_lost.store(true, Ordering::SeqCst);
        }
        self.others.waits.fetch_sub(1, Ordering::SeqCst);
    }
}

impl OtherCaches {
    pub(crate) fn new(exchange: PurgeExchange, clock: Clock) -> Self {
        let (waits, has_lost) = (AtomicUsize::new(0), AtomicBool::new(false));
        Self { link: Link::new(exchange, clock), uncertain: Mutex::default(), waits, has_lost }
    }

    fn uncertain(&self) -> MutexGuard<'_, Invalidated> {
        self.uncertain.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cache {
    /// How purges reach other caches, if there are any.
    pub fn purge_exchange(&self) -> Option<&PurgeExchange> {
        Some(self.link()?.exchange())
    }

    /// What the peers do; `None` where there are none.
    pub fn peers_status(&self) -> Option<PeersStatus> {
        Some(self.purge_exchange()?.peers()?.status())
    }

    /// What has come of a purge of which others were told, or not in time.
    pub fn purged(&self, is_told: bool) -> Purged {
        self.link().map_or(Purged { reached_all: true }, |link| link.purged(is_told))
    }

    /// Carries out a purge, and has all other caches told of it.
    pub(crate) fn purge_everywhere(
        &self,
        scope: PurgeScope<'_>,
        purge: Purge,
        now: Now,
    ) -> Result<(Epoch, Option<Delivery>), PurgeScopeError> {
        let carry_out = || self.0.generations.purge(scope, purge, now);
        self.published(now, carry_out, || Removal::Scope(scope, purge))
    }

    /// The same for the pages with these tags.
    pub(crate) fn change_everywhere(&self, tags: &Tags, purge: Purge, now: Now) -> (Epoch, Option<Delivery>) {
        let carry_out = || Ok::<_, Infallible>(self.0.generations.change(tags, purge, now));
        match self.published(now, carry_out, || Removal::Change(tags.clone(), purge)) {
            Ok(done) => done,
            Err(never) => match never {},
        }
    }

    /// Has all other caches told that a key is purged here. To be called before it is: what the shared tier has of it must not come into memory
    /// afterwards.
    pub(crate) fn tell_of_key(&self, key: &Key, purge: Purge) -> Option<Delivery> {
        let now = self.link()?.now();
        let mark = || Ok::<_, Infallible>(self.0.generations.mark_key(key.uri(), now));
        match self.published(now, mark, || Removal::Key(key.uri(), purge)) {
            Ok((_, delivery)) => delivery,
            Err(never) => match never {},
        }
    }

    fn published<'r, E>(
        &self,
        now: Now,
        carry_out: impl FnOnce() -> Result<Epoch, E>,
        removal: impl FnOnce() -> Removal<'r>,
    ) -> Result<(Epoch, Option<Delivery>), E> {
        let Some(link) = self.link() else { return Ok((carry_out()?, None)) };
        let (epoch, delivery) = link.publish(now, carry_out, || removal().write())?;
        Ok((epoch, Some(delivery)))
    }
}

impl Linked for Cache {
    fn link(&self) -> Option<&Link> {
        Some(&self.0.others.as_ref()?.link)
    }
}

impl Purger for Cache {
    fn carry_out(&self, purge: &[u8]) -> Option<Epoch> {
        let others = self.0.others.as_ref()?;
        let now = others.link.now();
        let removal = Removal::read(purge)?;
        if removal.is_of_values() {
            return Some(self.0.generations.epoch());
        }
        let (epoch, removed) = match removal {
            Removal::Key(uri, purge) => {
                let key = self.key(uri);
                let epoch = self.0.generations.mark_key(key.uri(), now);
                let removed = match purge {
                    Purge::Hard | Purge::Change => self.invalidate_here(&key, None),
                    Purge::Soft => self.expire_here(&key, now),
                };
                (epoch, removed)
            }
            Removal::Scope(scope, purge) => {
                let epoch = self.0.generations.purge(scope, purge, now).ok()?;
                (epoch, self.mark_purge_on_disk(scope, purge, epoch, now))
            }
            Removal::Change(tags, purge) => {
                let epoch = self.0.generations.change(&tags, purge, now);
                (epoch, self.mark_change_on_disk(&tags, purge, epoch, now))
            }
        };
        others.uncertain().add(removed);
        Some(epoch)
    }

    async fn make_certain(&self) -> bool {
        let Some(others) = &self.0.others else { return false };
        let (uncertain, wait) = {
            let mut uncertain = others.uncertain();
            (std::mem::take(&mut *uncertain), Wait::begin(others))
        };
        if uncertain.wait().await.is_ok() {
            wait.has_ended_well();
        } else {
            drop(wait);
        }
        // While another task waits, it may wait for a purge of this one's log.
        others.waits.load(Ordering::SeqCst) == 0 && !others.has_lost.load(Ordering::SeqCst)
    }

    fn drop_everything(&self) {
        let Some(others) = &self.0.others else { return };
        let now = others.link.now();
        if let Ok(epoch) = self.0.generations.purge(PurgeScope::All, Purge::Hard, now) {
            others.uncertain().add(self.mark_purge_on_disk(PurgeScope::All, Purge::Hard, epoch, now));
        }
    }

    fn epoch(&self) -> Epoch {
        self.0.generations.epoch()
    }
}

/// The wait for other caches, added to what was removed here.
pub(crate) fn and_told(mut removed: Invalidated, told: Option<Delivery>) -> Invalidated {
    if let Some(delivery) = told {
        removed.add(Invalidated::told(delivery));
    }
    removed
}
