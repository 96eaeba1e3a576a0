//! Rate-limits invalidation by requests that may have changed nothing: each tag is dropped at most once a second.
//!
//! An application often says with a page of status 200 that something was refused: a wrong password, a form that was sent twice. If each
//! such request invalidated, a client could keep a site out of the cache. So the first drops at once, and those that come within a second
//! after it drop together at that second's end. The caller waits for that ([`DeferredDrop`]): nothing here has a clock.

use crate::Cache;
use crate::sync::{Mutex, MutexGuard, PoisonError};
use crate::tags::{TagHash, Tags};
use kasoku_semantics::tags::Tagged;
use kasoku_semantics::time::Now;
use std::collections::HashMap;

/// How often a tag is dropped in doubt, in milliseconds.
const APART_MS: u64 = 1_000;

/// Tags of which it is known when they were dropped last.
const TAGS_MAX: usize = 16 << 10;

/// For how long after its time somebody who has to drop a tag later is waited for, in milliseconds.
const PATIENCE_MS: u64 = 1_000;

/// By tag, or by the hash of a site for all that has tags there.
#[derive(Default)]
pub(crate) struct PossibleChanges(Mutex<HashMap<TagHash, DroppedTag>>);

#[derive(Clone, Copy)]
struct DroppedTag {
    at_ms: u64,
    /// When it will be dropped the next time, if somebody waits for that.
    next_ms: Option<u64>,
}

/// What has to be dropped later, and when.
#[derive(Clone, Debug)]
#[must_use]
pub struct DeferredDrop {
    tags: Tags,
    /// On the monotonic clock of [`Now`], in milliseconds.
    pub at_ms: u64,
}

impl PossibleChanges {
    fn known(&self) -> MutexGuard<'_, HashMap<TagHash, DroppedTag>> {
        // Each change under the lock is complete in itself, so a panic elsewhere leaves a table that can be read.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// These are dropped now, and nobody waits for it any more.
    fn are_dropped(&self, tags: &Tags, now_ms: u64) {
        let mut known = self.known();
        let of_site = tags.has_unknown.then_some(tags.site);
        known.extend(
            tags.each.iter().copied().chain(of_site).map(|tag| (tag, DroppedTag { at_ms: now_ms, next_ms: None })),
        );
    }

    /// Which of these are dropped now, and which later.
    fn sort(&self, tags: &Tags, now_ms: u64) -> (Tags, Option<DeferredDrop>) {
        let mut known = self.known();
        if known.len() >= TAGS_MAX {
            known.retain(|_, dropped| now_ms < dropped.at_ms + APART_MS + PATIENCE_MS);
        }
        if known.len() >= TAGS_MAX {
            // To drop something too often shows nobody anything old.
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
    /// Drops what has these tags in that site, as [`Cache::drop_changed_tags`] does, where something may have changed; what was so
    /// dropped within the last second has to be dropped later, by whoever gets that back.
    pub fn drop_possibly_changed_tags(&self, site: &str, changed: &Tagged, now: Now) -> Option<DeferredDrop> {
        let (at_once, later) = self.0.possible_changes.sort(&Tags::new(site, changed), now.mono_ms);
        if !at_once.each.is_empty() || at_once.has_unknown {
            self.0.generations.change(&at_once, now);
        }
        later
    }

    /// Drops what had to be dropped later.
    pub fn drop_later(&self, later: &DeferredDrop, now: Now) {
        self.0.possible_changes.are_dropped(&later.tags, now.mono_ms);
        self.0.generations.change(&later.tags, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(each: &[TagHash], has_unknown: bool) -> Tags {
        Tags::of_hashes(1, each.into(), has_unknown)
    }

    /// What is dropped at once, what later, and when that is.
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
            "somebody waits for it already"
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
    fn the_table_is_bounded() {
        let possible_changes = PossibleChanges::default();
        for number in 0..3 * TAGS_MAX as u64 {
            assert_eq!(sorted(&possible_changes, &tags(&[number], false), 0).0, [number]);
        }
        assert!(possible_changes.known().len() <= TAGS_MAX);
    }
}
