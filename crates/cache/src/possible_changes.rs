//! Limits the rate of invalidations by requests that may have changed nothing: each tag is dropped at most once a second.
//!
//! An application often reports with status 200 that it refused something: a wrong password, a form that was sent twice. If each such
//! request invalidated, a client could keep a site out of the cache. So the first request drops the tags at once, and the requests of the
//! following second cause one drop at the end of that second. The caller waits for that time ([`DeferredDrop`]): nothing here has a
//! clock.
//!
//! In the same way, the tags of a change may be dropped once more some time later, since the application itself still shows old results.

use crate::Cache;
use crate::invalidated::Invalidated;
use crate::sync::{Mutex, MutexGuard, PoisonError};
use crate::tags::{TagHash, Tags};
use kasoku_semantics::tags::Tagged;
use kasoku_semantics::time::Now;
use std::collections::HashMap;
use std::time::Duration;

/// The least time between two drops of a tag for possible changes, in milliseconds.
const APART_MS: u64 = 1_000;

/// The most tags whose last drop is remembered.
const TAGS_MAX: usize = 16 << 10;

/// The most tags that wait to be dropped again. Beyond that, all tagged responses of a site are dropped again.
const AGAIN_TAGS_MAX: usize = 1 << 10;

/// How long after its due time a deferred drop still counts as pending, in milliseconds.
const PATIENCE_MS: u64 = 1_000;

/// The last drops by tag, or by the hash of a site for a drop of all its tagged responses.
#[derive(Default)]
pub(crate) struct PossibleChanges {
    dropped: Mutex<HashMap<TagHash, DroppedTag>>,
    /// When tags are dropped again, after [`Cache::drop_again`].
    again: Mutex<HashMap<TagHash, u64>>,
}

#[derive(Clone, Copy)]
struct DroppedTag {
    at_ms: u64,
    /// When the tag will be dropped next, if a caller holds a deferred drop of it.
    next_ms: Option<u64>,
}

/// Tags that the caller must drop later, and when.
#[derive(Clone, Debug)]
#[must_use]
pub struct DeferredDrop {
    tags: Tags,
    /// When to drop them: milliseconds on the monotonic clock of [`Now`].
    pub at_ms: u64,
}

/// What has become of tags whose pages may have changed.
#[must_use]
pub struct PossibleDrop {
    /// What was dropped at once.
    pub invalidated: Invalidated,
    /// What the caller must drop later, if another caller does not.
    pub later: Option<DeferredDrop>,
    /// Whether some of the tags are dropped later, by this caller or another.
    pub is_deferred: bool,
}

impl PossibleChanges {
    fn known(&self) -> MutexGuard<'_, HashMap<TagHash, DroppedTag>> {
        // Each change under the lock is complete in itself, so a panic elsewhere leaves a table that can be read.
        self.dropped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Which of these tags are to be dropped again `after_ms` from now at the earliest; without those that are dropped soon after that
    /// anyway.
    fn again(&self, tags: &Tags, after_ms: u64, now_ms: u64) -> Option<DeferredDrop> {
        let mut waiting = self.again.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|_, at_ms| now_ms < *at_ms);
        let earliest_ms = now_ms.saturating_add(after_ms);
        // Later than needed, so that the changes of the following second wait for the same drop.
        let at_ms = earliest_ms.saturating_add(APART_MS);
        let is_full = waiting.len() + tags.each.len() > AGAIN_TAGS_MAX;
        let mut waits = |tag: &TagHash| {
            let is_awaited = waiting.get(tag).is_some_and(|at_ms| earliest_ms <= *at_ms);
            if !is_awaited {
                waiting.insert(*tag, at_ms);
            }
            !is_awaited
        };
        let each: Vec<TagHash> =
            if is_full { Vec::new() } else { tags.each.iter().copied().filter(&mut waits).collect() };
        let has_unknown = (is_full || tags.has_unknown) && waits(&tags.site);
        let has_any = !each.is_empty() || has_unknown;
        has_any.then(|| DeferredDrop { tags: Tags::of_hashes(tags.site, each.into(), has_unknown), at_ms })
    }

    /// Notes that these tags are dropped now, and that no deferred drop of them is pending.
    fn are_dropped(&self, tags: &Tags, now_ms: u64) {
        let mut known = self.known();
        let of_site = tags.has_unknown.then_some(tags.site);
        known.extend(
            tags.each.iter().copied().chain(of_site).map(|tag| (tag, DroppedTag { at_ms: now_ms, next_ms: None })),
        );
    }

    /// Which of these tags are to be dropped now, and which later.
    fn sort(&self, tags: &Tags, now_ms: u64) -> (Tags, Option<DeferredDrop>) {
        let mut known = self.known();
        if known.len() >= TAGS_MAX {
            known.retain(|_, dropped| now_ms < dropped.at_ms + APART_MS + PATIENCE_MS);
        }
        if known.len() >= TAGS_MAX {
            // Forgetting causes more drops than needed, which never serves an outdated response.
            known.clear();
        }
        let (mut at_once, mut later, mut at_ms) = (Vec::new(), Vec::new(), now_ms);
        let mut sort = |tag: TagHash| match known.get_mut(&tag) {
            Some(dropped) if now_ms < dropped.at_ms + APART_MS => {
                let is_awaited = dropped.next_ms.is_some_and(|next| now_ms <= next + PATIENCE_MS);
                let next_ms = dropped.at_ms + APART_MS;
                if !is_awaited {
                    dropped.next_ms = Some(next_ms);
                    at_ms = at_ms.max(next_ms);
                }
                Some(is_awaited)
            }
            _ => {
                known.insert(tag, DroppedTag { at_ms: now_ms, next_ms: None });
                None
            }
        };
        for tag in &tags.each {
            match sort(*tag) {
                None => at_once.push(*tag),
                Some(false) => later.push(*tag),
                Some(true) => {}
            }
        }
        let of_site = tags.has_unknown.then(|| sort(tags.site));
        let of = |each: Vec<TagHash>, has_unknown| Tags::of_hashes(tags.site, each.into(), has_unknown);
        let later = of(later, of_site == Some(Some(false)));
        let has_later = !later.each.is_empty() || later.has_unknown;
        (of(at_once, of_site == Some(None)), has_later.then_some(DeferredDrop { tags: later, at_ms }))
    }
}

impl Cache {
    /// Drops the responses with these tags in that site, as [`Cache::drop_changed_tags`] does, after a request that may have changed
    /// their pages. The caller must wait for the result, if there is one: it holds the tags that were dropped within the last second, to
    /// be dropped again.
    pub fn drop_possibly_changed_tags(&self, site: &str, changed: &Tagged, now: Now) -> PossibleDrop {
        let tags = Tags::new(site, changed);
        let (at_once, later) = self.0.possible_changes.sort(&tags, now.mono_ms);
        let is_deferred = at_once.each.len() < tags.each.len() || tags.has_unknown && !at_once.has_unknown;
        let has_any = !at_once.each.is_empty() || at_once.has_unknown;
        let invalidated = if has_any { self.drop_tags(&at_once, now) } else { Invalidated::default() };
        PossibleDrop { invalidated, later, is_deferred }
    }

    /// The tags of a change, to be dropped again `after` from now; `None`: they will be anyway. The caller must wait for the result.
    pub fn drop_again(&self, site: &str, changed: &Tagged, after: Duration, now: Now) -> Option<DeferredDrop> {
        let after_ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
        self.0.possible_changes.again(&Tags::new(site, changed), after_ms, now.mono_ms)
    }

    /// Drops the tags of a deferred drop.
    pub fn drop_later(&self, later: &DeferredDrop, now: Now) -> Invalidated {
        self.0.possible_changes.are_dropped(&later.tags, now.mono_ms);
        self.drop_tags(&later.tags, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(each: &[TagHash], has_unknown: bool) -> Tags {
        Tags::of_hashes(1, each.into(), has_unknown)
    }

    /// What is dropped at once, what later, and when.
    fn sorted(possible_changes: &PossibleChanges, tags: &Tags, now_ms: u64) -> (Vec<TagHash>, Vec<TagHash>, u64) {
        let all = |tags: &Tags| tags.each.iter().copied().chain(tags.has_unknown.then_some(tags.site)).collect();
        let (at_once, later) = possible_changes.sort(tags, now_ms);
        let of_later = later.as_ref().map(|later| (all(&later.tags), later.at_ms));
        let (later, at_ms) = of_later.unwrap_or_default();
        (all(&at_once), later, at_ms)
    }

    #[test]
    fn a_tag_is_dropped_once_a_second_and_at_its_end() {
        let possible_changes = PossibleChanges::default();
        assert_eq!(sorted(&possible_changes, &tags(&[5], false), 100), (vec![5], vec![], 0));
        assert_eq!(sorted(&possible_changes, &tags(&[5, 6], true), 200), (vec![6, 1], vec![5], 1_100));
        assert_eq!(
            sorted(&possible_changes, &tags(&[5], false), 1_100 - 1),
            (vec![], vec![], 0),
            "another request waits for it already"
        );
        possible_changes.are_dropped(&tags(&[5], false), 1_110);
        assert_eq!(
            sorted(&possible_changes, &tags(&[5], true), 1_150),
            (vec![], vec![5, 1], 2_110),
            "a second after that drop"
        );
        assert_eq!(sorted(&possible_changes, &tags(&[5], false), 2_200), (vec![5], vec![], 0));
    }

    #[test]
    fn who_never_comes_is_not_waited_for() {
        let possible_changes = PossibleChanges::default();
        let _ = possible_changes.sort(&tags(&[5], false), 0);
        assert_eq!(sorted(&possible_changes, &tags(&[5], false), 500).1, [5]);
        assert_eq!(sorted(&possible_changes, &tags(&[5], false), 1_500).0, [5], "its time is over");
    }

    #[test]
    fn changes_of_a_second_are_dropped_again_together() {
        let possible_changes = PossibleChanges::default();
        let again = |each: &[TagHash], now_ms| {
            let later = possible_changes.again(&tags(each, false), 20_000, now_ms);
            later.map(|later| (later.tags.each.to_vec(), later.at_ms))
        };
        assert_eq!(again(&[5], 100), Some((vec![5], 21_100)));
        assert_eq!(again(&[5, 6], 1_100), Some((vec![6], 22_100)), "that drop is late enough for tag 5");
        assert_eq!(again(&[5], 1_101), Some((vec![5], 22_101)), "that drop would be too early");
        assert_eq!(again(&[], 1_200), None);
    }

    #[test]
    fn where_too_many_tags_wait_the_site_is_dropped_again() {
        let possible_changes = PossibleChanges::default();
        for number in 0..AGAIN_TAGS_MAX as u64 {
            let later = possible_changes.again(&tags(&[1_000 + number], false), 20_000, 0).unwrap();
            assert!(!later.tags.has_unknown);
        }
        let site = possible_changes.again(&tags(&[5], false), 20_000, 1).unwrap();
        assert!(site.tags.has_unknown && site.tags.each.is_empty(), "{site:?}");
        assert!(possible_changes.again(&tags(&[6], false), 20_000, 2).is_none(), "the site waits already");
        assert!(!possible_changes.again(&tags(&[5], false), 20_000, 30_000).unwrap().tags.has_unknown, "all are done");
    }

    #[test]
    fn the_table_is_bounded() {
        let possible_changes = PossibleChanges::default();
        for number in 0..3 * TAGS_MAX as u64 {
            assert_eq!(sorted(&possible_changes, &tags(&[number], false), 0).0, [number]);
        }
        assert!(possible_changes.known().len() <= TAGS_MAX);
    }
}
