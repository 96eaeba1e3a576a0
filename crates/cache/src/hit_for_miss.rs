//! Hit-for-miss: remembers keys whose last response could not be shared, so that requests for them do not wait for one another.
//!
//! Without this, the visitors of a private page would queue up behind one another's fills. A key that a request with cookies or
//! credentials found private counts as private only for such requests; otherwise one visitor could switch the cache off for all
//! (docs/decisions/0006). The memory is a hint: a request for a remembered key still begins a fill of its own, and an answer that may be
//! stored by then is stored.
//!
//! Some answers tell more: the anonymous request brought no page, or one visitor's page ([`Reason::PageTextMissing`],
//! [`Reason::PersonalPage`], [`Reason::EndlessStream`]). The application refused the anonymous request, and may not refuse a visitor's
//! own request. So requests for that key pass for a minute, with all that their clients sent. The pass ends early when a purge or a
//! change of the key's tags drops what is known of the key.

use crate::generations::Epoch;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::time::Now;
use kasoku_store::KeyHash;
use quick_cache::sync::Cache;

/// The most keys that are remembered; the least useful ones go first.
const KEYS_MAX: usize = 64 << 10;

/// How long requests for a key do not wait for one another, in milliseconds.
const REMEMBER_MS: u64 = 5_000;

/// How long requests pass for a key whose anonymous request brought no page, in milliseconds.
const PASS_MS: u64 = 60_000;

/// The remembered keys, kept apart for requests with (`true`) and without (`false`) credentials.
pub(crate) struct HitForMiss(Cache<(KeyHash, bool), HitForMissEntry>);

/// What is remembered of one key.
#[derive(Clone, Copy)]
struct HitForMissEntry {
    until_ms: u64,
    /// Where requests for the key pass: the reason, and the epoch in which the origin was asked.
    passes: Option<(Reason, Epoch)>,
}

impl HitForMiss {
    pub(crate) fn new() -> Self {
        Self(Cache::new(KEYS_MAX))
    }

    pub(crate) fn remember(&self, hash: KeyHash, has_credentials: bool, now: Now) {
        self.0.insert(
            (hash, has_credentials),
            HitForMissEntry { until_ms: now.mono_ms.saturating_add(REMEMBER_MS), passes: None },
        );
    }

    /// The answer to an anonymous request was no page, or one visitor's page. `since` is the epoch in which the origin was asked.
    pub(crate) fn remember_no_page(&self, hash: KeyHash, reason: Reason, since: Epoch, now: Now) {
        let until_ms = now.mono_ms.saturating_add(PASS_MS);
        self.0.insert((hash, false), HitForMissEntry { until_ms, passes: Some((reason, since)) });
    }

    pub(crate) fn forget(&self, hash: KeyHash) {
        self.0.remove(&(hash, false));
        self.0.remove(&(hash, true));
    }

    pub(crate) fn contains(&self, hash: KeyHash, has_credentials: bool, now: Now) -> bool {
        self.0.get(&(hash, has_credentials)).is_some_and(|known| now.mono_ms < known.until_ms)
    }

    /// Why requests for this key pass, and the epoch in which that was found; `None` where they need not pass.
    pub(crate) fn passes(&self, hash: KeyHash, now: Now) -> Option<(Reason, Epoch)> {
        self.0.get(&(hash, false)).filter(|known| now.mono_ms < known.until_ms)?.passes
    }
}
