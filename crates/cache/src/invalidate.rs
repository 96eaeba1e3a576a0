//! Invalidation by unsafe methods (RFC 9111 section 4.4), and purges.

use crate::fill::Fill;
use crate::generations::{Epoch, Mark, Purge, PurgeScope, PurgeScopeError};
use crate::invalidated::Invalidated;
use crate::purge_exchange::and_told;
use crate::tags::Tags;
use crate::{Cache, FillWriter, Key};
use http::{Method, StatusCode};
use kasoku_semantics::invalidation::{invalidated_uris, invalidates};
use kasoku_semantics::tags::Tagged;
use kasoku_semantics::time::Now;
use kasoku_wire::Fields;
use std::sync::Arc;

impl Cache {
    /// After a response to `method`: drops the responses that are stored for the target, and for the Location and Content-Location of the
    /// same origin. `canonical` spells a URI as keys are spelled.
    ///
    /// Running fills of these keys are not stored either, except `own`: the fill of this very response, which does not predate it.
    pub fn on_unsafe_response(
        &self,
        method: &Method,
        key: &Key,
        status: StatusCode,
        response: &Fields,
        canonical: impl Fn(String) -> String,
        own: Option<&FillWriter>,
    ) -> Invalidated {
        let mut invalidated = Invalidated::default();
        if !invalidates(method, status) {
            return invalidated;
        }
        let others = invalidated_uris(key.uri(), response).into_iter().map(|uri| self.key(canonical(uri)));
        let own = own.and_then(FillWriter::fill);
        std::iter::once(key.clone()).chain(others).for_each(|key| invalidated.add(self.invalidate_but(&key, own)));
        invalidated
    }

    /// Drops all responses of a key, and keeps its running fills from being stored.
    pub fn invalidate(&self, key: &Key) -> Invalidated {
        self.invalidate_but(key, None)
    }

    /// The same where the disk tier need not note it.
    pub(crate) fn invalidate_in_memory(&self, key: &Key) -> Invalidated {
        self.0.fills.poison(key.hash(), key.bytes(), None);
        self.0.hit_for_miss.forget(key.hash());
        self.update(key.hash(), key.bytes(), |_| None);
        Invalidated::default()
    }

    fn invalidate_but(&self, key: &Key, spared: Option<&Arc<Fill>>) -> Invalidated {
        let told = self.tell_of_key(key, Purge::Hard);
        and_told(self.invalidate_here(key, spared), told)
    }

    /// The same where no other cache has to be told.
    pub(crate) fn invalidate_here(&self, key: &Key, spared: Option<&Arc<Fill>>) -> Invalidated {
        // The order matters, see `save`.
        self.0.fills.poison(key.hash(), key.bytes(), spared);
        self.0.hit_for_miss.forget(key.hash());
        let mut invalidated = Invalidated::default();
        self.update(key.hash(), key.bytes(), |resource| {
            invalidated = self.remove_from_disk(key);
            if resource.is_some() {
                invalidated.keys = 1;
            }
            None
        });
        invalidated
    }

    /// Drops all responses of a key, or makes them stale. Its running fills are not stored.
    pub fn purge(&self, key: &Key, purge: Purge, now: Now) -> Invalidated {
        match purge {
            Purge::Hard | Purge::Change => self.invalidate(key),
            Purge::Soft => {
                let told = self.tell_of_key(key, Purge::Soft);
                and_told(self.expire_here(key, now), told)
            }
        }
    }

    /// Drops all responses within a scope, or makes them stale, in a time that does not depend on their number. Running fills within the
    /// scope are not stored.
    ///
    /// # Errors
    /// The scope is invalid; nothing is purged.
    pub fn purge_all_of(&self, scope: PurgeScope<'_>, purge: Purge, now: Now) -> Result<Invalidated, PurgeScopeError> {
        let (epoch, told) = self.purge_everywhere(scope, purge, now)?;
        Ok(and_told(self.mark_purge_on_disk(scope, purge, epoch, now), told))
    }

    pub(crate) fn mark_purge_on_disk(
        &self,
        scope: PurgeScope<'_>,
        purge: Purge,
        epoch: Epoch,
        now: Now,
    ) -> Invalidated {
        self.mark_on_disk(|| Mark::purge(scope, purge, epoch, now))
    }

    /// Drops all responses that have one of these tags in that site, since a request has changed the pages. Running fills with these tags
    /// are not stored. Where not all tags are known, all tagged responses of the site are dropped.
    pub fn drop_changed_tags(&self, site: &str, changed: &Tagged, now: Now) -> Invalidated {
        self.purge_tags(&Tags::new(site, changed), Purge::Change, now)
    }

    pub(crate) fn purge_tags(&self, tags: &Tags, purge: Purge, now: Now) -> Invalidated {
        let (epoch, told) = self.change_everywhere(tags, purge, now);
        and_told(self.mark_change_on_disk(tags, purge, epoch, now), told)
    }

    pub(crate) fn mark_change_on_disk(&self, tags: &Tags, purge: Purge, epoch: Epoch, now: Now) -> Invalidated {
        self.mark_on_disk(|| Mark::change(tags, purge, epoch, now))
    }
}
