//! A stored value: when it expires, when its load may be tried again, and by which purges it is dropped.

use super::loaded::SITE;
use super::stats::Answered;
use crate::budget::ALLOCATION_BYTES;
use crate::generations::{Epoch, Generations, Purge, PurgeScope, Validity};
use crate::purge_exchange::VALUES;
use crate::sync::{AtomicU64, Ordering};
use crate::tags::{TagHash, Tags, of_site, of_tag};
use kasoku_semantics::time::Now;
use kasoku_store::{INDEX_BYTES_PER_ENTRY, Weigh};
use std::sync::Arc;
use std::time::Duration;

/// The prefix that turns a key into a URI, because purges compare URIs and look up their marks by host.
pub(super) const BEFORE_KEYS: &str = VALUES;

/// The first back-off after a failed load, in milliseconds.
const BACK_OFF_FIRST_MS: u64 = 1_000;

/// Allocations of a value: the value itself, its key, its tags and their list.
const ALLOCATIONS: usize = 4;

/// A key in the form of a URI.
#[derive(Clone, Debug)]
pub(super) struct DataKey(Arc<str>);

impl DataKey {
    pub(super) fn new(key: &str) -> Self {
        Self([BEFORE_KEYS, key].concat().into())
    }

    /// Whether this is that key.
    pub(super) fn is(&self, key: &[u8]) -> bool {
        self.0.as_bytes().get(BEFORE_KEYS.len()..) == Some(key)
    }

    /// The form in which purges know the key, or a prefix of it.
    pub(super) fn uri(&self) -> &str {
        &self.0
    }
}

/// How a value may answer at its age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Age {
    /// It answers.
    Fresh,
    /// It answers while one caller loads it anew.
    Stale,
    /// It answers where a load fails.
    StaleIfError,
    /// It does not answer any more.
    Expired,
}

/// How long a value answers after its lifetime, in milliseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StaleFor {
    pub(super) while_revalidate_ms: u64,
    pub(super) if_error_ms: u64,
}

/// See the [module](self). `None` is a value too: there is nothing under the key.
pub(super) struct StoredValue<V> {
    pub(super) key: DataKey,
    pub(super) value: Option<V>,
    pub(super) tags: Option<Tags>,
    /// The purge epoch in which its load began.
    pub(super) epoch: Epoch,
    /// The last purge epoch in which it was found valid.
    checked: AtomicU64,
    fresh_until_ms: u64,
    /// A failed load is not tried again before this time.
    retry_at_ms: AtomicU64,
    /// The length of the last back-off; 0 before the first failure.
    back_off_ms: AtomicU64,
    weight_bytes: u64,
}

impl<V> StoredValue<V> {
    pub(super) fn new(
        key: DataKey,
        value: Option<V>,
        value_bytes: usize,
        tags: &[TagHash],
        epoch: Epoch,
        fresh_until_ms: u64,
    ) -> Self {
        let tags = tags_of(tags);
        let own = size_of::<Self>() + key.uri().len() + ALLOCATIONS * ALLOCATION_BYTES;
        let of_tags = tags.as_ref().map_or(0, |tags| size_of_val(&*tags.each));
        let weight_bytes = (own as u64 + of_tags as u64 + INDEX_BYTES_PER_ENTRY).saturating_add(value_bytes as u64);
        let (checked, retry_at_ms, back_off_ms) = (AtomicU64::new(epoch), AtomicU64::new(0), AtomicU64::new(0));
        Self { key, value, tags, epoch, checked, fresh_until_ms, retry_at_ms, back_off_ms, weight_bytes }
    }

    /// Whether no purge of many keys since the value's load began covers it.
    pub(super) fn holds(&self, generations: &Generations) -> bool {
        // The epoch is read before the marks: a later purge changes the epoch, so the next comparison finds it.
        let epoch = generations.epoch();
        if self.checked.load(Ordering::Relaxed) == epoch {
            return true;
        }
        let validity = generations.validity(self.key.uri().as_bytes(), self.tags.as_ref(), self.epoch);
        if validity == Validity::Valid {
            self.checked.store(epoch, Ordering::Relaxed);
        }
        validity == Validity::Valid
    }

    pub(super) fn age(&self, stale_for: StaleFor, now_ms: u64) -> Age {
        let within = |ms: u64| now_ms < self.fresh_until_ms.saturating_add(ms);
        match () {
            () if within(0) => Age::Fresh,
            () if within(stale_for.while_revalidate_ms) => Age::Stale,
            () if within(stale_for.if_error_ms) => Age::StaleIfError,
            () => Age::Expired,
        }
    }

    /// How an answer with this value counts while it is fresh.
    pub(super) fn answers_fresh(&self) -> Answered {
        if self.value.is_some() { Answered::Fresh } else { Answered::Negative }
    }

    /// Whether its last load failed so recently that it is not tried again yet.
    pub(super) fn is_backing_off(&self, now_ms: u64) -> bool {
        now_ms < self.retry_at_ms.load(Ordering::Relaxed)
    }

    /// Begins the back-off of a failed load. Each is twice as long as the last one, up to `max_ms`.
    pub(super) fn back_off(&self, max_ms: u64, now_ms: u64) {
        let last = self.back_off_ms.load(Ordering::Relaxed);
        let next = if last == 0 { BACK_OFF_FIRST_MS } else { last.saturating_mul(2) }.min(max_ms);
        self.back_off_ms.store(next, Ordering::Relaxed);
        self.retry_at_ms.store(now_ms.saturating_add(next), Ordering::Relaxed);
    }
}

/// Whole milliseconds.
pub(super) fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The tags of a value, as purges know them.
pub(super) fn tags_of(tags: &[TagHash]) -> Option<Tags> {
    (!tags.is_empty()).then(|| Tags::of_hashes(of_site(SITE), tags.into(), false))
}

/// This tag alone.
pub(super) fn one_tag(tag: &str) -> Tags {
    Tags::of_hashes(of_site(SITE), [of_tag(SITE, tag)].into(), false)
}

/// Tags that are not known: they may be any.
pub(super) fn any_tags() -> Tags {
    Tags::of_hashes(of_site(SITE), Box::default(), true)
}

/// Drops all values within a scope, whose loads have begun until now.
pub(super) fn drop_all_of(generations: &Generations, scope: PurgeScope<'_>, now: Now) -> Epoch {
    // The scope is complete. If the rules for scopes change, too much is dropped rather than too little.
    generations.purge(scope, Purge::Hard, now).unwrap_or_else(|_| generations.drop_everything(now))
}

impl<V> Weigh for StoredValue<V> {
    fn weight_bytes(&self) -> u64 {
        self.weight_bytes
    }

    fn belongs_to(&self, key: &[u8]) -> bool {
        self.key.is(key)
    }
}
