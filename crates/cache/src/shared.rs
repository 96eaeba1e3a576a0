//! The shared tier below memory and disk: servers in which several caches keep their responses together (docs/decisions/0042).
//!
//! A fill asks the shared tier before it asks the origin ([`FillWriter::find_shared`]), and what a fill has brought is written there
//! ([`Cache::share`]). The caller does the waiting: this crate has no timer, and knows no server.
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
//! | `usable` | whether what an item says may be used for a request |

mod content;
mod lines;
mod read;
mod removals;
mod usable;
mod write;

use crate::disk::Clock;
use crate::generations::{Purge, PurgeScope, PurgeScopeError};
use crate::invalidated::Invalidated;
use crate::tags::Tags;
use crate::{Cache, Key};
use kasoku_semantics::time::Now;
use kasoku_shared::purge_log::{Delivery, Epoch, Purger};
pub use kasoku_shared::{Items, Tier};
pub use read::SharedResponse;
use removals::Removal;
use std::convert::Infallible;
use std::sync::Arc;

/// The shared tier of a cache.
pub(crate) struct SharedTier {
    pub(crate) tier: Arc<Tier>,
    pub(crate) clock: Clock,
}

impl Cache {
    /// The shared tier, if there is one.
    pub fn shared_tier(&self) -> Option<&Arc<Tier>> {
        Some(&self.0.shared.as_ref()?.tier)
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
        let now = (self.0.shared.as_ref()?.clock)();
        // Nobody waits for the disk: the cache that has made the purge has answered it already.
        match Removal::read(purge)? {
            Removal::Key(uri, purge) => {
                let key = self.key(uri);
                let epoch = self.0.generations.mark_key(&key, now);
                let _ = match purge {
                    Purge::Hard | Purge::Change => self.invalidate_here(&key, None),
                    Purge::Soft => self.expire_here(&key, now),
                };
                Some(epoch)
            }
            Removal::Scope(scope, purge) => {
                let epoch = self.0.generations.purge(scope, purge, now).ok()?;
                let _ = self.mark_purge_on_disk(scope, purge, epoch, now);
                Some(epoch)
            }
            Removal::Change(tags) => {
                let epoch = self.0.generations.change(&tags, now);
                let _ = self.mark_change_on_disk(&tags, epoch, now);
                Some(epoch)
            }
        }
    }

    fn drop_everything(&self) {
        let Some(SharedTier { clock, .. }) = &self.0.shared else { return };
        tracing::warn!("purges of other front ends may be lost: everything that is stored here is dropped");
        let now = clock();
        if let Ok(epoch) = self.0.generations.purge(PurgeScope::All, Purge::Hard, now) {
            let _ = self.mark_purge_on_disk(PurgeScope::All, Purge::Hard, epoch, now);
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
