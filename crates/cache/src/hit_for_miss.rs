//! Hit-for-miss: remembers keys whose last response could not be shared, so that requests for them do not wait for one another.
//!
//! Without this, the visitors of a private page would queue up behind one another's fills. A key that a request with cookies or
//! credentials found private counts as private only for such requests; otherwise one visitor could switch the cache off for all
//! (docs/decisions/0006). The memory is a hint: a request for a remembered key still begins a fill of its own, and an answer that may be
//! stored by then is stored.
//!
//! Some answers tell more: the anonymous request brought no page, or one visitor's page ([`Reason::PageTextMissing`],
//! [`Reason::PersonalPage`], [`Reason::LeakGuardToken`], [`Reason::LeakGuardUnconfirmed`], [`Reason::EndlessStream`]), or a page
//! that depends on what was not sent ([`Reason::VaryUnseen`]). The application refused the anonymous request, and may not refuse a visitor's
//! own request. So requests for that key pass for a minute, with all that their clients sent. The pass ends early when a purge or a
//! change of the key's tags drops what is known of the key. What other rules found does not count: the operator may have written the line
//! that allows the page.

use crate::Key;
use crate::generations::Epoch;
use kasoku_semantics::policy::Policy;
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

/// A key, and the fingerprint of the rules under which it is asked for. Of each key, the memory knows those that asked last.
#[derive(Clone, Copy)]
pub(crate) struct AskedKey {
    pub(crate) hash: KeyHash,
    pub(crate) rules: u64,
}

/// What is remembered of one key.
#[derive(Clone, Copy)]
struct HitForMissEntry {
    rules: u64,
    until_ms: u64,
    /// Where requests for the key pass: the reason, and the epoch in which the origin was asked.
    passes: Option<(Reason, Epoch)>,
}

impl HitForMiss {
    pub(crate) fn new() -> Self {
        Self(Cache::new(KEYS_MAX))
    }

    pub(crate) fn remember(&self, key: AskedKey, has_credentials: bool, now: Now) {
        let AskedKey { hash, rules } = key;
        let until_ms = now.mono_ms.saturating_add(REMEMBER_MS);
        self.0.insert((hash, has_credentials), HitForMissEntry { rules, until_ms, passes: None });
    }

    /// The answer to an anonymous request was no page, or one visitor's page. `since` is the epoch in which the origin was asked.
    pub(crate) fn remember_no_page(&self, key: AskedKey, reason: Reason, since: Epoch, now: Now) {
        let AskedKey { hash, rules } = key;
        let until_ms = now.mono_ms.saturating_add(PASS_MS);
        self.0.insert((hash, false), HitForMissEntry { rules, until_ms, passes: Some((reason, since)) });
    }

    pub(crate) fn forget(&self, hash: KeyHash) {
        self.0.remove(&(hash, false));
        self.0.remove(&(hash, true));
    }

    pub(crate) fn contains(&self, key: AskedKey, has_credentials: bool, now: Now) -> bool {
        self.known(key, has_credentials, now).is_some()
    }

    /// Why requests for this key pass, and the epoch in which that was found; `None` where they need not pass.
    pub(crate) fn passes(&self, key: AskedKey, now: Now) -> Option<(Reason, Epoch)> {
        self.known(key, false, now)?.passes
    }

    fn known(&self, key: AskedKey, has_credentials: bool, now: Now) -> Option<HitForMissEntry> {
        let known = self.0.get(&(key.hash, has_credentials))?;
        (known.rules == key.rules && now.mono_ms < known.until_ms).then_some(known)
    }
}

impl crate::Cache {
    pub(crate) fn asked_key(&self, key: &Key, policy: &Policy) -> AskedKey {
        AskedKey { hash: key.hash(), rules: policy.rules }
    }
}
