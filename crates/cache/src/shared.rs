//! The shared tier below memory and disk: servers in which several caches keep their responses together (docs/decisions/0042).
//!
//! A fill asks the shared tier before it asks the origin ([`FillWriter::find_shared`](crate::FillWriter::find_shared)), and what a fill has
//! brought is written there ([`Cache::share`]). The caller does the waiting: this crate has no timer, and knows no server.
//!
//! Each purge and each invalidation is told to all other caches, and theirs are carried out here (`removals`). What the shared tier has is compared
//! with them by the log of the server that has it.
//!
//! What was read is hostile input. It has to pass the rules again that a response from an origin has to pass.
//!
//! | file | job |
//! |---|---|
//! | `read` | looks for the response of a fill |
//! | `write` | writes what a fill has brought |
//! | `removals` | a purge as text, as other caches are told of it |
//! | `content` | the content of an item as text, and back |
//! | `lines` | the lines with which a content begins |
//! | `inspect` | what the shared tier has for a request, for people |
//! | `usable` | whether what an item says may be used for a request |

mod content;
mod inspect;
mod lines;
mod read;
mod removals;
mod usable;
mod write;

use crate::disk::Clock;
use crate::generations::{Purge, PurgeScope, PurgeScopeError};
use crate::invalidated::Invalidated;
use crate::sync::{AtomicBool, AtomicUsize, Mutex, MutexGuard, Ordering, PoisonError};
use crate::tags::Tags;
use crate::{Cache, Key};
pub use inspect::SharedPlace;
use kasoku_semantics::time::Now;
use kasoku_shared::purge_log::{Delivery, Epoch, Purger};
pub use kasoku_shared::{Items, ServerStatus, Tier, TierStatus};
pub use read::SharedResponse;
pub(crate) use read::may_be_answered;
use removals::Removal;
use std::convert::Infallible;
use std::sync::Arc;

/// The shared tier of a cache.
pub(crate) struct SharedTier {
    tier: Arc<Tier>,
    clock: Clock,
    /// Purges of other caches that have been carried out here, and may be lost at a restart.
    uncertain: Mutex<Invalidated>,
    /// How many tasks wait until some are certain.
    waits: AtomicUsize,
    /// Whether one may be lost for ever.
    has_lost: AtomicBool,
}

/// A task waits until purges are certain. If it gives the wait up, they may be lost.
struct Wait<'t> {
    tier: &'t SharedTier,
    has_ended_well: bool,
}

impl<'t> Wait<'t> {
    fn begin(tier: &'t SharedTier) -> Self {
        tier.waits.fetch_add(1, Ordering::SeqCst);
        Self { tier, has_ended_well: false }
    }

    fn has_ended_well(mut self) {
        self.has_ended_well = true;
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        if !self.has_ended_well {
            self.tier.has_lost.store(true, Ordering::SeqCst);
        }
        self.tier.waits.fetch_sub(1, Ordering::SeqCst);
    }
}

impl SharedTier {
    pub(crate) fn new(tier: Arc<Tier>, clock: Clock) -> Self {
        let (waits, has_lost) = (AtomicUsize::new(0), AtomicBool::new(false));
        Self { tier, clock, uncertain: Mutex::default(), waits, has_lost }
    }

    fn uncertain(&self) -> MutexGuard<'_, Invalidated> {
        self.uncertain.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cache {
    /// The shared tier, if there is one.
    pub fn shared_tier(&self) -> Option<&Arc<Tier>> {
        Some(&self.0.shared.as_ref()?.tier)
    }

    /// What the shared tier does; `None` where there is none.
    pub fn shared_status(&self) -> Option<TierStatus> {
        Some(self.shared_tier()?.status())
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
    pub(crate) fn change_everywhere(&self, tags: &Tags, now: Now) -> (Epoch, Option<Delivery>) {
        let carry_out = || Ok::<_, Infallible>(self.0.generations.change(tags, now));
        match self.published(now, carry_out, || Removal::Change(tags.clone())) {
            Ok(done) => done,
            Err(never) => match never {},
        }
    }

    /// Has all other caches told that a key is purged here. To be called before it is: what the shared tier has of it must not come into memory
    /// afterwards.
    pub(crate) fn tell_of_key(&self, key: &Key, purge: Purge) -> Option<Delivery> {
        let now = (self.0.shared.as_ref()?.clock)();
        let mark = || Ok::<_, Infallible>(self.0.generations.mark_key(key, now));
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
        let Some(SharedTier { tier, .. }) = &self.0.shared else { return Ok((carry_out()?, None)) };
        let mut done = 0;
        let delivery = tier.log().publish(now.mono_ms, || {
            done = carry_out()?;
            Ok((done, removal().write()))
        })?;
        Ok((done, Some(delivery)))
    }
}

impl Purger for Cache {
    fn carry_out(&self, purge: &[u8]) -> Option<Epoch> {
        let shared = self.0.shared.as_ref()?;
        let now = (shared.clock)();
        let (epoch, removed) = match Removal::read(purge)? {
            Removal::Key(uri, purge) => {
                let key = self.key(uri);
                let epoch = self.0.generations.mark_key(&key, now);
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
            Removal::Change(tags) => {
                let epoch = self.0.generations.change(&tags, now);
                (epoch, self.mark_change_on_disk(&tags, epoch, now))
            }
        };
        shared.uncertain().add(removed);
        Some(epoch)
    }

    async fn make_certain(&self) -> bool {
        let Some(shared) = &self.0.shared else { return false };
        let (uncertain, wait) = {
            let mut uncertain = shared.uncertain();
            (std::mem::take(&mut *uncertain), Wait::begin(shared))
        };
        if uncertain.wait().await.is_ok() {
            wait.has_ended_well();
        } else {
            drop(wait);
        }
        // While another task waits, it may wait for a purge of this one's log.
        shared.waits.load(Ordering::SeqCst) == 0 && !shared.has_lost.load(Ordering::SeqCst)
    }

    fn drop_everything(&self) {
        let Some(shared) = &self.0.shared else { return };
        let now = (shared.clock)();
        if let Ok(epoch) = self.0.generations.purge(PurgeScope::All, Purge::Hard, now) {
            shared.uncertain().add(self.mark_purge_on_disk(PurgeScope::All, Purge::Hard, epoch, now));
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
