//! Requests that may have changed something: their tags' pages become stale, at a bounded rate.
//!
//! An application often reports with status 200 that it refused something: a wrong password, a form that was sent twice. If each such
//! request dropped pages, anybody could keep a site out of the cache. So pages become stale, and are refreshed as pages are whose lifetime
//! is over: with `grace`, no visitor waits for that. The first request does so at once. The following ones share one mark at the end of an
//! interval, a second at first and twice as long after each, up to a minute, until it has been quiet for as long. The caller waits for that time
//! ([`DeferredMark`]): nothing here has a clock.
//!
//! The tags of a change that was made may be dropped once more some time later, since the application itself still shows old results.

use crate::Cache;
use crate::generations::Purge;
use crate::invalidated::Invalidated;
use crate::sync::{Mutex, MutexGuard, PoisonError};
use crate::tags::{TagHash, Tags};
use kasoku_semantics::tags::Tagged;
use kasoku_semantics::time::Now;
use std::collections::HashMap;
use std::time::Duration;

/// The least time between two marks of a tag, in milliseconds.
const APART_MIN_MS: u64 = 1_000;

/// To this the time between two marks of a tag grows, in milliseconds.
const APART_MAX_MS: u64 = 64_000;

/// Changes that come within this time are dropped again together, in milliseconds.
const AGAIN_APART_MS: u64 = 1_000;

/// The most tags whose last mark is remembered.
const TAGS_MAX: usize = 16 << 10;

/// The most tags that wait to be dropped again. Beyond that, all tagged responses of a site are dropped again.
const AGAIN_TAGS_MAX: usize = 1 << 10;

/// How long after its due time a deferred mark still counts as pending, in milliseconds.
const PATIENCE_MS: u64 = 1_000;

/// The last marks by tag, or by the hash of a site for all its tagged responses.
#[derive(Default)]
pub(crate) struct PossibleChanges {
    marked: Mutex<HashMap<TagHash, MarkedTag>>,
    /// When tags are purged again, after [`Cache::purge_again`], and whether they become stale.
    again: Mutex<HashMap<(TagHash, bool), u64>>,
}

#[derive(Clone, Copy)]
struct MarkedTag {
    at_ms: u64,
    /// The least time until the next mark, in milliseconds.
    apart_ms: u64,
    /// Whether a caller holds a deferred mark of it.
    is_awaited: bool,
}

/// Tags that the caller must drop later, or mark as stale, and when.
#[derive(Clone, Debug)]
#[must_use]
pub struct DeferredMark {
    tags: Tags,
    purge: Purge,
    /// When to do so: milliseconds on the monotonic clock of [`Now`].
    pub at_ms: u64,
}

/// What has become of tags whose pages may have changed.
#[must_use]
pub struct PossibleMark {
    /// What became stale at once.
    pub invalidated: Invalidated,
    /// What the caller must mark later, each tag at its own time.
    pub later: Vec<DeferredMark>,
    /// When the last of the tags is marked, by this caller or another: milliseconds on the monotonic clock of [`Now`].
    pub all_at_ms: u64,
}

impl PossibleChanges {
    fn known(&self) -> MutexGuard<'_, HashMap<TagHash, MarkedTag>> {
        // Each change under the lock is complete in itself, so a panic elsewhere leaves a table that can be read.
        self.marked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Which of these tags are to be purged again `after_ms` from now at the earliest; without those that are soon after that anyway.
    fn again(&self, tags: &Tags, purge: Purge, after_ms: u64, now_ms: u64) -> Option<DeferredMark> {
        let mut waiting = self.again.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|_, at_ms| now_ms < *at_ms);
        let earliest_ms = now_ms.saturating_add(after_ms);
        // Later than needed, so that the changes of the following second wait for the same drop.
        let at_ms = earliest_ms.saturating_add(AGAIN_APART_MS);
        let is_full = waiting.len() + tags.each.len() > AGAIN_TAGS_MAX;
        let mut waits = |tag: &TagHash| {
            let waits = (*tag, purge == Purge::Soft);
            let is_awaited = waiting.get(&waits).is_some_and(|at_ms| earliest_ms <= *at_ms);
            if !is_awaited {
                waiting.insert(waits, at_ms);
            }
            !is_awaited
        };
        let each: Vec<TagHash> =
            if is_full { Vec::new() } else { tags.each.iter().copied().filter(&mut waits).collect() };
        let has_unknown = (is_full || tags.has_unknown) && waits(&tags.site);
        let has_any = !each.is_empty() || has_unknown;
        let tags = Tags::of_hashes(tags.site, each.into(), has_unknown);
        has_any.then_some(DeferredMark { tags, purge, at_ms })
    }

    /// Notes that these tags are marked now, and that no deferred mark of them is pending.
    fn are_marked(&self, tags: &Tags, now_ms: u64) {
        let mut known = self.known();
        for tag in tags.each.iter().copied().chain(tags.has_unknown.then_some(tags.site)) {
            let before = known.get(&tag).map_or(0, |marked| marked.apart_ms);
            known.insert(tag, MarkedTag { at_ms: now_ms, apart_ms: longer(before), is_awaited: false });
        }
    }

    /// Which of these tags are to be marked now, which later, and when the last of them is.
    fn sort(&self, tags: &Tags, now_ms: u64) -> (Tags, Vec<DeferredMark>, u64) {
        let mut known = self.known();
        if known.len() >= TAGS_MAX {
            known.retain(|_, marked| now_ms < marked.next_ms().saturating_add(marked.apart_ms));
        }
        if known.len() >= TAGS_MAX {
            // Forgetting causes more marks than needed, which never serves an outdated response.
            known.clear();
        }
        let (mut at_once, mut later, mut all_at_ms) = (Vec::new(), Vec::new(), now_ms);
        // Whether a tag is marked at once.
        let mut sort = |tag: TagHash| match known.get_mut(&tag) {
            Some(marked) if marked.is_awaited && now_ms <= marked.next_ms().saturating_add(PATIENCE_MS) => {
                all_at_ms = all_at_ms.max(marked.next_ms());
                false
            }
            Some(marked) if now_ms < marked.next_ms() => {
                marked.is_awaited = true;
                all_at_ms = all_at_ms.max(marked.next_ms());
                let is_site = tag == tags.site;
                let each: Vec<TagHash> = if is_site { Vec::new() } else { vec![tag] };
                let waiting = Tags::of_hashes(tags.site, each.into(), is_site);
                later.push(DeferredMark { tags: waiting, purge: Purge::Soft, at_ms: marked.next_ms() });
                false
            }
            known_before => {
                let was_quiet = |marked: &MarkedTag| now_ms >= marked.next_ms().saturating_add(marked.apart_ms);
                let before = known_before.filter(|marked| !was_quiet(marked)).map_or(0, |marked| marked.apart_ms);
                known.insert(tag, MarkedTag { at_ms: now_ms, apart_ms: longer(before), is_awaited: false });
                true
            }
        };
        at_once.extend(tags.each.iter().copied().filter(|tag| sort(*tag)));
        let is_site_at_once = tags.has_unknown && sort(tags.site);
        (Tags::of_hashes(tags.site, at_once.into(), is_site_at_once), later, all_at_ms)
    }
}

/// The time to the next mark, after one that came so long after the one before it.
fn longer(apart_ms: u64) -> u64 {
    (2 * apart_ms).clamp(APART_MIN_MS, APART_MAX_MS)
}

impl MarkedTag {
    fn next_ms(&self) -> u64 {
        self.at_ms.saturating_add(self.apart_ms)
    }
}

impl Cache {
    /// Makes the responses with these tags in that site stale, after a request that may have changed their pages. The caller must wait for
    /// `later`: it holds the tags that were marked a moment ago, to be marked again.
    pub fn expire_possibly_changed_tags(&self, site: &str, changed: &Tagged, now: Now) -> PossibleMark {
        let tags = Tags::new(site, changed);
        let (at_once, later, all_at_ms) = self.0.possible_changes.sort(&tags, now.mono_ms);
        let has_any = !at_once.each.is_empty() || at_once.has_unknown;
        let invalidated = if has_any { self.purge_tags(&at_once, Purge::Soft, now) } else { Invalidated::default() };
        PossibleMark { invalidated, later, all_at_ms }
    }

    /// The tags of a change, to be purged again `after` from now; `None`: they will be anyway. The caller must wait for the result.
    pub fn purge_again(
        &self,
        site: &str,
        changed: &Tagged,
        purge: Purge,
        after: Duration,
        now: Now,
    ) -> Option<DeferredMark> {
        let after_ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
        self.0.possible_changes.again(&Tags::new(site, changed), purge, after_ms, now.mono_ms)
    }

    /// Carries out a deferred mark.
    pub fn mark_later(&self, later: &DeferredMark, now: Now) -> Invalidated {
        if later.purge == Purge::Soft {
            self.0.possible_changes.are_marked(&later.tags, now.mono_ms);
        }
        self.purge_tags(&later.tags, later.purge, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(each: &[TagHash], has_unknown: bool) -> Tags {
        Tags::of_hashes(1, each.into(), has_unknown)
    }

    /// What is marked at once, what later, and when all is.
    fn sorted(possible_changes: &PossibleChanges, tags: &Tags, now_ms: u64) -> (Vec<TagHash>, Vec<TagHash>, u64) {
        let all = |tags: &Tags| tags.each.iter().copied().chain(tags.has_unknown.then_some(tags.site)).collect();
        let (at_once, later, all_at_ms) = possible_changes.sort(tags, now_ms);
        (all(&at_once), later.iter().flat_map(|later| all(&later.tags)).collect(), all_at_ms)
    }

    #[test]
    fn a_tag_is_marked_once_a_second_and_at_its_end() {
        let possible_changes = PossibleChanges::default();
        assert_eq!(sorted(&possible_changes, &tags(&[5], false), 100), (vec![5], vec![], 100));
        assert_eq!(sorted(&possible_changes, &tags(&[5, 6], true), 200), (vec![6, 1], vec![5], 1_100));
        assert_eq!(
            sorted(&possible_changes, &tags(&[5], false), 1_100 - 1),
            (vec![], vec![], 1_100),
            "another request waits for it already"
        );
    }

    #[test]
    fn the_time_between_two_marks_of_a_tag_grows_until_it_is_quiet() {
        let possible_changes = PossibleChanges::default();
        let tag = tags(&[5], false);
        assert_eq!(sorted(&possible_changes, &tag, 0).0, [5]);
        let mut marked_at = vec![0];
        while marked_at.len() < 10 {
            let at_ms = sorted(&possible_changes, &tag, marked_at[marked_at.len() - 1] + 1).2;
            possible_changes.are_marked(&tag, at_ms);
            marked_at.push(at_ms);
        }
        let apart: Vec<u64> = marked_at.windows(2).map(|two| two[1] - two[0]).collect();
        assert_eq!(apart, [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 64_000, 64_000]);
        let last = marked_at[9];
        assert_eq!(sorted(&possible_changes, &tag, last + 64_000), (vec![5], vec![], last + 64_000), "not quiet yet");
        assert_eq!(sorted(&possible_changes, &tag, last + 64_001).2, last + 128_000);
        possible_changes.are_marked(&tag, last + 128_000);
        let quiet = last + 256_000;
        assert_eq!(sorted(&possible_changes, &tag, quiet), (vec![5], vec![], quiet));
        assert_eq!(sorted(&possible_changes, &tag, quiet + 1).2, quiet + 1_000, "it begins anew");
    }

    #[test]
    fn each_tag_is_marked_at_its_own_time() {
        let possible_changes = PossibleChanges::default();
        let _ = possible_changes.sort(&tags(&[5], false), 0);
        possible_changes.are_marked(&tags(&[5], false), 1_000);
        let _ = possible_changes.sort(&tags(&[6], false), 1_500);
        let (_, later, all_at_ms) = possible_changes.sort(&tags(&[5, 6], false), 1_600);
        let at: Vec<_> = later.iter().map(|later| (later.tags.each.to_vec(), later.at_ms)).collect();
        assert_eq!((at, all_at_ms), (vec![(vec![5], 3_000), (vec![6], 2_500)], 3_000));
    }

    #[test]
    fn who_never_comes_is_not_waited_for() {
        let possible_changes = PossibleChanges::default();
        let _ = possible_changes.sort(&tags(&[5], false), 0);
        assert_eq!(sorted(&possible_changes, &tags(&[5], false), 500).1, [5]);
        assert_eq!(sorted(&possible_changes, &tags(&[5], false), 2_001).0, [5], "its time is over");
    }

    #[test]
    fn changes_of_a_second_are_dropped_again_together() {
        let possible_changes = PossibleChanges::default();
        let again = |each: &[TagHash], now_ms| {
            let later = possible_changes.again(&tags(each, false), Purge::Change, 20_000, now_ms);
            later.map(|later| (later.tags.each.to_vec(), later.at_ms))
        };
        assert_eq!(again(&[5], 100), Some((vec![5], 21_100)));
        assert_eq!(again(&[5, 6], 1_100), Some((vec![6], 22_100)), "that drop is late enough for tag 5");
        assert_eq!(again(&[5], 1_101), Some((vec![5], 22_101)), "that drop would be too early");
        assert_eq!(again(&[], 1_200), None);
        let soft = possible_changes.again(&tags(&[5], false), Purge::Soft, 20_000, 1_101).unwrap();
        assert_eq!(soft.purge, Purge::Soft, "a drop is not awaited by what becomes stale, nor the other way round");
    }

    #[test]
    fn where_too_many_tags_wait_the_site_is_dropped_again() {
        let possible_changes = PossibleChanges::default();
        for number in 0..AGAIN_TAGS_MAX as u64 {
            let later = possible_changes.again(&tags(&[1_000 + number], false), Purge::Change, 20_000, 0).unwrap();
            assert!(!later.tags.has_unknown);
        }
        let site = possible_changes.again(&tags(&[5], false), Purge::Change, 20_000, 1).unwrap();
        assert!(site.tags.has_unknown && site.tags.each.is_empty(), "{site:?}");
        assert!(
            possible_changes.again(&tags(&[6], false), Purge::Change, 20_000, 2).is_none(),
            "the site waits already"
        );
        assert!(
            !possible_changes.again(&tags(&[5], false), Purge::Change, 20_000, 30_000).unwrap().tags.has_unknown,
            "all are done"
        );
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
