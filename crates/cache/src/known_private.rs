//! Keys whose last answer could not be shared: the next requests do not wait for each other, or pass.
//!
//! Without this, the visitors of a page that turns out private each time would queue up behind one another. What a request
//! with cookies or credentials learns counts only for such requests, or one visitor could switch the cache off for all
//! (DESIGN). What is remembered is a hint: such a request still asks for itself, and an answer that can be stored by then
//! is stored.
//!
//! An answer that was no page, or one visitor's ([`Reason::NotAPage`], [`Reason::PageOfOne`], [`Reason::EndlessStream`]) tells more: what the application says to
//! nobody there is a refusal, which it may not say to somebody. So requests for that key pass for a minute, with all that their
//! clients sent, before the application is asked in nobody's name again; or until a purge or a change of its tags drops what is known of it.

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
pub(crate) struct KnownPrivate(Cache<(KeyHash, bool), Known>);

/// What is remembered of one.
#[derive(Clone, Copy)]
struct Known {
    until_ms: u64,
    /// Requests pass, for this reason: as was found by asking in that epoch.
    passes: Option<(Reason, Epoch)>,
}

impl KnownPrivate {
    pub(crate) fn new() -> Self {
        Self(Cache::new(KEYS_MAX))
    }

    pub(crate) fn remember(&self, hash: KeyHash, has_credentials: bool, now: Now) {
        self.0
            .insert((hash, has_credentials), Known { until_ms: now.mono_ms.saturating_add(REMEMBER_MS), passes: None });
    }

    /// What is said to nobody there is no page for anybody else, as was asked in that epoch.
    pub(crate) fn remember_no_page(&self, hash: KeyHash, reason: Reason, since: Epoch, now: Now) {
        let until_ms = now.mono_ms.saturating_add(PASS_MS);
        self.0.insert((hash, false), Known { until_ms, passes: Some((reason, since)) });
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
