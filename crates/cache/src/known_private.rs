//! Keys whose last answer could not be shared: the next requests do not wait for each other.
//!
//! Without this, the visitors of a page that turns out private each time would queue up behind one another. What a request
//! with cookies or credentials learns counts only for such requests, or one visitor could switch the cache off for all
//! (DESIGN). What is remembered is a hint: such a request still asks for itself, and an answer that can be stored by then
//! is stored.

use kasoku_semantics::time::Now;
use kasoku_store::KeyHash;
use quick_cache::sync::Cache;

/// Keys that are remembered; the least useful go first.
const KEYS_MAX: usize = 64 << 10;

/// How long a key is remembered, in milliseconds.
const REMEMBER_MS: u64 = 5_000;

/// Keys, apart for requests with credentials and without, each with the time until which it is remembered.
pub(crate) struct KnownPrivate(Cache<(KeyHash, bool), u64>);

impl KnownPrivate {
    pub(crate) fn new() -> Self {
        Self(Cache::new(KEYS_MAX))
    }

    pub(crate) fn remember(&self, hash: KeyHash, has_credentials: bool, now: Now) {
        self.0.insert((hash, has_credentials), now.mono_ms.saturating_add(REMEMBER_MS));
    }

    pub(crate) fn forget(&self, hash: KeyHash) {
        self.0.remove(&(hash, false));
        self.0.remove(&(hash, true));
    }

    pub(crate) fn contains(&self, hash: KeyHash, has_credentials: bool, now: Now) -> bool {
        self.0.get(&(hash, has_credentials)).is_some_and(|until| now.mono_ms < until)
    }
}
