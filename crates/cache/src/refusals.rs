//! Remembers why the last response of a key was not stored, for `kasoku explain`.
//!
//! Reason, status and time, and nothing of the response itself: what must not be stored is not stored here either. Requests
//! with cookies or credentials and those without are remembered apart, as in `hit_for_miss`. It is a memory for people. One decision
//! is made by it, where it is a hint: what is too large to be kept is not fetched as a whole for each part of it that somebody
//! wants ([`Cache::is_known_too_large`](crate::Cache::is_known_too_large)).

use crate::Key;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::time::Now;
use kasoku_store::KeyHash;
use quick_cache::sync::Cache;

/// Keys that are remembered; the least useful go first.
const KEYS_MAX: usize = 16 << 10;

/// How long it is believed that what was too large still is, in seconds.
const TOO_LARGE_SECONDS: u64 = 3_600;

/// One decision not to store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreRefusal {
    /// Why.
    pub reason: Reason,
    /// The status that the origin answered with.
    pub status: u16,
    /// When.
    pub at: Now,
    /// Whether the request said who sent it.
    pub has_credentials: bool,
}

/// See the [module](self).
pub(crate) struct Refusals(Cache<(KeyHash, bool), StoreRefusal>);

impl Refusals {
    pub(crate) fn new() -> Self {
        Self(Cache::new(KEYS_MAX))
    }

    pub(crate) fn remember(&self, hash: KeyHash, refusal: StoreRefusal) {
        self.0.insert((hash, refusal.has_credentials), refusal);
    }

    /// Something is stored: what was said before is history.
    pub(crate) fn forget(&self, hash: KeyHash) {
        self.0.remove(&(hash, false));
        self.0.remove(&(hash, true));
    }

    /// The last one for such requests, or else for the other kind.
    pub(crate) fn last(&self, hash: KeyHash, has_credentials: bool) -> Option<StoreRefusal> {
        self.0.get(&(hash, has_credentials)).or_else(|| self.0.get(&(hash, !has_credentials)))
    }
}

impl crate::Cache {
    /// Whether the last answer for a key, not long ago, was too large to be stored.
    pub fn is_known_too_large(&self, key: &Key, now: Now) -> bool {
        let is_such = |refusal: StoreRefusal| {
            refusal.reason == Reason::ObjectTooLarge && now.seconds_since(refusal.at) < TOO_LARGE_SECONDS
        };
        [false, true].into_iter().filter_map(|kind| self.0.refusals.last(key.hash(), kind)).any(is_such)
    }
}
