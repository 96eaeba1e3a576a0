//! Remembers why the last response of a key was not stored, for `kasoku explain`.
//!
//! It keeps reason, status and time, and nothing of the response itself: a response that must not be stored is not stored here either.
//! Requests with cookies or credentials are kept apart from those without, as in `hit_for_miss`. The memory is for people, with one
//! exception, where it is a hint: a response that is too large to be stored is not fetched as a whole for each range of it that a client
//! wants ([`Cache::is_known_too_large`](crate::Cache::is_known_too_large)).

use crate::Key;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::time::Now;
use kasoku_store::KeyHash;
use quick_cache::sync::Cache;

/// The most keys that are remembered; the least useful ones go first.
const KEYS_MAX: usize = 16 << 10;

/// For how long a response that was too large counts as too large, in seconds.
const TOO_LARGE_SECONDS: u64 = 3_600;

/// One decision not to store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreRefusal {
    /// Why.
    pub reason: Reason,
    /// The status that the origin answered with.
    pub status: u16,
    /// When the origin answered.
    pub at: Now,
    /// Whether the request had cookies or credentials that are not in the key.
    pub has_credentials: bool,
}

/// The last refusals by key, kept apart for requests with (`true`) and without (`false`) credentials.
pub(crate) struct Refusals(Cache<(KeyHash, bool), StoreRefusal>);

impl Refusals {
    pub(crate) fn new() -> Self {
        Self(Cache::new(KEYS_MAX))
    }

    pub(crate) fn remember(&self, hash: KeyHash, refusal: StoreRefusal) {
        self.0.insert((hash, refusal.has_credentials), refusal);
    }

    /// Forgets the refusals of a key, since a response of it is stored now.
    pub(crate) fn forget(&self, hash: KeyHash) {
        self.0.remove(&(hash, false));
        self.0.remove(&(hash, true));
    }

    /// The last refusal for requests of this kind, or else for the other kind.
    pub(crate) fn last(&self, hash: KeyHash, has_credentials: bool) -> Option<StoreRefusal> {
        self.0.get(&(hash, has_credentials)).or_else(|| self.0.get(&(hash, !has_credentials)))
    }
}

impl crate::Cache {
    /// Whether the last answer for a key, within the last hour, was too large to be stored.
    pub fn is_known_too_large(&self, key: &Key, now: Now) -> bool {
        let is_such = |refusal: StoreRefusal| {
            refusal.reason == Reason::ObjectTooLarge && now.seconds_since(refusal.at) < TOO_LARGE_SECONDS
        };
        [false, true].into_iter().filter_map(|kind| self.0.refusals.last(key.hash(), kind)).any(is_such)
    }
}
