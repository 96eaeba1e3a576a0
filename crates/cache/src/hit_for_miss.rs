//! Hit-for-miss: remembers keys whose last response could not be shared, so that requests for them are not collapsed.
//!
//! Without this, the visitors of a page that turns out private each time would queue up behind one another. What a request
//! with cookies or credentials learns counts only for such requests, or one visitor could switch the cache off for all
//! (docs/decisions/0006). What is remembered is a hint: such a request still asks for itself, and an answer that can be stored by then
//! is stored.
//!
//! An answer that was no page, or one visitor's ([`Reason::PageTextMissing`], [`Reason::PersonalPage`], [`Reason::EndlessStream`]) tells
//! more: the application refused the anonymous request, and may not refuse a visitor's. So requests for that key pass for a minute, with
//! all that their clients sent, before the application is asked anonymously again; or until a purge or a change of its tags drops what is
//! known of it.

use crate::generations::Epoch;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::time::Now;
use kasoku_store::KeyHash;
use quick_cache::sync::Cache;

/// Keys that are remembered; the least useful go first.
const KEYS_MAX: usize = 64 << 10;

/// How long a key is remembered, in milliseconds.
const REMEMBER_MS: u64 = 5_000;

/// How long requests pass for a key whose answer was no page, in milliseconds.
const PASS_MS: u64 = 60_000;

/// Keys, apart for requests with credentials and without.
pub(crate) struct HitForMiss(Cache<(KeyHash, bool), HitForMissEntry>);

/// What is remembered of one.
#[derive(Clone, Copy)]
struct HitForMissEntry {
    until_ms: u64,
    /// Requests pass, for this reason: as was found by asking in that epoch.
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

    /// What is said to nobody there is no page for anybody else, as was asked in that epoch.
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

    /// Why requests without credentials pass for that key, and since which epoch, if they do.
    pub(crate) fn passes(&self, hash: KeyHash, now: Now) -> Option<(Reason, Epoch)> {
        self.0.get(&(hash, false)).filter(|known| now.mono_ms < known.until_ms)?.passes
    }
}
