//! A response whose bytes lie elsewhere: what is kept of a file that an application has named.
//!
//! The entry has the application's head and, in the place of the bytes, the name and what it led to then. That is the decision, not the
//! file: whoever uses it looks where the name leads by now, and drops the entry when that is not the same ([`Cache::drop_changed`]). Nothing
//! here reads the name or the identity.
//!
//! Such a response is stored when its head has come. So its fill is not streamed but settled: who waits gets the entry, and fetches the
//! bytes on his own. It is stored by the rules for all responses, and by one more: the response itself must say how long it holds. Neither a
//! guess nor a lifetime that an operator grants says that an application need not be asked whether somebody may have a file.

use crate::entry::ALLOCATION_BYTES;
use crate::resource::{BYTES_MIN, Resource};
use crate::verdict::Exchange;
use crate::{Body, Cache, Entry, FillWriter, Key, Meta, Verdict};
use kasoku_semantics::freshness::freshness;
use kasoku_semantics::reason::Reason;
use std::sync::Arc;

/// What lies elsewhere, by which name, and what that led to. Whoever stores it gives all of this its meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// The response field that named it.
    pub field: &'static str,
    /// The name, as it was received.
    pub name: Box<[u8]>,
    /// Numbers that tell it from all else that the name may lead to.
    pub identity: [u64; 7],
}

impl Elsewhere {
    /// Memory held, in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        (size_of::<Self>() + self.name.len() + 2 * ALLOCATION_BYTES) as u64
    }
}

impl FillWriter {
    /// Whether the stored response that is validated lies elsewhere.
    pub fn validates_elsewhere(&self) -> bool {
        self.validated().is_some_and(|base| base.body.elsewhere().is_some())
    }

    /// What a response means whose body lies elsewhere: [`Verdict::Kept`], or [`Verdict::Private`].
    pub fn on_elsewhere(self, exchange: &Exchange<'_>, elsewhere: Elsewhere) -> Verdict {
        let meta = match self.may_keep(exchange) {
            Ok(meta) => meta,
            Err(reason) => return self.private(exchange, reason),
        };
        let (cache, key) = (self.cache().clone(), self.key().clone());
        let body = Body::elsewhere_at(elsewhere).charged(&cache.0.budget);
        let entry = Arc::new(Entry::new(Arc::new(meta), body, &key, &cache.0.budget));
        let is_stored = cache.save_elsewhere(&key, &entry, || self.is_poisoned());
        self.settle(entry, Reason::Collapsed);
        Verdict::Kept { is_stored }
    }

    fn may_keep(&self, exchange: &Exchange<'_>) -> Result<Meta, Reason> {
        let Exchange { request, response, request_time, response_time, .. } = *exchange;
        if !freshness(request, response, request_time, response_time, self.policy()).is_explicit() {
            return Err(Reason::Sendfile);
        }
        self.may_store(&Exchange { body_length: Some(0), ..*exchange })
    }
}

impl Cache {
    /// Drops a response of which the bytes, where they lie, are not what they were.
    pub fn drop_changed(&self, key: &Key, entry: &Arc<Entry>) {
        self.remove(key, entry);
    }

    /// Whether it was stored.
    fn save_elsewhere(&self, key: &Key, entry: &Arc<Entry>, is_poisoned: impl Fn() -> bool) -> bool {
        let bytes_max = self.0.limits.object_bytes_max.max(BYTES_MIN);
        let mut is_stored = false;
        self.0.memory.update(key.hash(), key.bytes(), |resource| {
            let stored = resource.as_ref().and_then(|resource| resource.same_variant(&entry.meta));
            let is_outdone = stored.is_some_and(|stored| stored.meta.is_later_than(&entry.meta));
            if is_poisoned() || is_outdone || entry.memory_bytes() > bytes_max {
                return resource;
            }
            is_stored = true;
            Some(Arc::new(match resource {
                Some(resource) => resource.with(entry.clone(), bytes_max),
                None => Resource::new(key.bytes(), entry.clone()),
            }))
        });
        if is_stored {
            self.0.known_private.forget(key.hash());
            self.0.refusals.forget(key.hash());
        }
        is_stored
    }
}
