//! The purge marks of tags: drops of one tag, or of all tagged responses of a site.
//!
//! The number of marks is bounded, as for prefixes: at the bound, the older half is widened to all tagged responses of their sites. A
//! response whose tags are not all known is dropped with any tag of its site.

use super::{Epoch, Now, Purge, PurgeMark, SITES_MAX, Validity, median};
use crate::tags::{TagHash, Tags};
use std::collections::HashMap;

/// The most tags that are marked, in all sites.
pub(super) const TAGS_MARKED_MAX: usize = 64 << 10;

#[derive(Default)]
pub(super) struct TagMarks {
    sites: HashMap<TagHash, OfSite>,
    /// The number of marked tags, in all sites.
    tags: usize,
}

#[derive(Default)]
struct OfSite {
    /// Covers all tagged responses of the site.
    whole: PurgeMark,
    /// Covers responses whose tags are not all known: marked with each tag.
    unknown: PurgeMark,
    tags: HashMap<TagHash, PurgeMark>,
}

impl TagMarks {
    /// Marks all tagged responses of a site.
    pub(super) fn mark_site(&mut self, site: TagHash, purge: Purge, epoch: Epoch, now: Now) {
        let of_site = self.sites.entry(site).or_default();
        of_site.whole.set(purge, epoch, now);
        if purge != Purge::Soft {
            // The site's mark now covers what the marks of its tags covered, if they are older.
            let before = of_site.tags.len();
            of_site.tags.retain(|_, mark| mark.last() > epoch);
            self.tags = self.tags.saturating_sub(before - of_site.tags.len());
        }
    }

    pub(super) fn mark_tag(&mut self, site: TagHash, tag: TagHash, purge: Purge, epoch: Epoch, now: Now) {
        if self.tags >= TAGS_MARKED_MAX && !self.sites.get(&site).is_some_and(|it| it.tags.contains_key(&tag)) {
            self.widen();
        }
        let of_site = self.sites.entry(site).or_default();
        of_site.unknown.set(purge, epoch, now);
        let before = of_site.tags.len();
        of_site.tags.entry(tag).or_default().set(purge, epoch, now);
        self.tags += of_site.tags.len() - before;
    }

    pub(super) fn validity(&self, tags: &Tags, born: Epoch) -> Validity {
        let Some(of_site) = self.sites.get(&tags.site) else { return Validity::Valid };
        let unknown = tags.has_unknown.then_some(&of_site.unknown);
        let met = tags.each.iter().filter_map(|tag| of_site.tags.get(tag)).chain(unknown).chain([&of_site.whole]);
        met.map(|mark| mark.validity(born)).fold(Validity::Valid, Validity::worse)
    }

    /// Makes each mark cover all that began before that epoch.
    pub(super) fn raise(&mut self, epoch: Epoch) {
        for OfSite { whole, unknown, tags } in self.sites.values_mut() {
            [whole, unknown].into_iter().chain(tags.values_mut()).for_each(|mark| mark.raise(epoch));
        }
    }

    /// The results of `of` for each site: of the marks that cover all its tagged responses, those whose tags are not all known, and its
    /// tags.
    pub(super) fn each<T>(
        &self,
        of: impl Fn(TagHash, &PurgeMark, &PurgeMark, &HashMap<TagHash, PurgeMark>) -> T,
    ) -> Vec<T> {
        self.sites.iter().map(|(site, marks)| of(*site, &marks.whole, &marks.unknown, &marks.tags)).collect()
    }

    /// Adds marks of a site to those that it has.
    pub(super) fn join(
        &mut self,
        site: TagHash,
        whole: &PurgeMark,
        unknown: &PurgeMark,
        tags: impl Iterator<Item = (TagHash, PurgeMark)>,
    ) {
        let of_site = self.sites.entry(site).or_default();
        of_site.whole.join(whole);
        of_site.unknown.join(unknown);
        tags.for_each(|(tag, mark)| of_site.tags.entry(tag).or_default().join(&mark));
        self.tags = self.sites.values().map(|site| site.tags.len()).sum();
    }

    /// Widens the older half of the tags' marks to their sites.
    fn widen(&mut self) {
        let up_to = median(self.sites.values().flat_map(|site| site.tags.values()).map(PurgeMark::last));
        for OfSite { whole, tags, .. } in self.sites.values_mut() {
            tags.retain(|_, mark| {
                let stays = mark.last() > up_to;
                if !stays {
                    whole.join(mark);
                }
                stays
            });
        }
        self.tags = self.sites.values().map(|site| site.tags.len()).sum();
    }

    /// Whether so many sites have marks that sites must have been renamed or removed.
    pub(super) fn has_too_many_sites(&self) -> bool {
        self.sites.len() > SITES_MAX
    }

    /// Forgets all marks, after the caller has marked everything.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Now = Now { unix_ms: 1_700_000_000_000, mono_ms: 5 };

    fn tags(site: TagHash, each: &[TagHash]) -> Tags {
        Tags::of_hashes(site, each.into(), false)
    }

    #[test]
    fn a_tag_meets_what_has_it_in_its_site() {
        let mut marks = TagMarks::default();
        marks.mark_tag(1, 10, Purge::Change, 5, NOW);
        assert_eq!(marks.validity(&tags(1, &[9, 10]), 4), Validity::Changed);
        assert_eq!(marks.validity(&tags(1, &[9, 10]), 5), Validity::Valid, "born after it");
        assert_eq!(marks.validity(&tags(1, &[9]), 4), Validity::Valid);
        assert_eq!(marks.validity(&tags(2, &[10]), 4), Validity::Valid);
        assert_eq!(marks.validity(&Tags::of_hashes(1, Box::default(), true), 4), Validity::Changed);
        marks.mark_site(1, Purge::Hard, 6, NOW);
        assert_eq!(marks.validity(&tags(1, &[]), 5), Validity::Gone);
        assert_eq!((marks.tags, marks.validity(&tags(1, &[10]), 6)), (0, Validity::Valid));
        marks.mark_tag(1, 10, Purge::Soft, 7, NOW);
        assert_eq!(marks.validity(&tags(1, &[10]), 6), Validity::Stale(NOW));
        assert_eq!(marks.validity(&tags(1, &[10]), 5), Validity::Gone, "what is gone stays gone");
    }

    #[test]
    fn beyond_the_bound_old_tags_are_all_of_their_sites() {
        let mut marks = TagMarks::default();
        let max = TAGS_MARKED_MAX as u64;
        (0..max).for_each(|number| marks.mark_tag(number % 2, number, Purge::Change, number + 1, NOW));
        assert_eq!(marks.validity(&tags(0, &[1]), 0), Validity::Valid, "the tag of the other site");
        marks.mark_tag(0, max, Purge::Change, max + 1, NOW);
        assert!(marks.tags <= TAGS_MARKED_MAX / 2 + 1, "{}", marks.tags);
        assert_eq!(marks.tags, marks.sites.values().map(|site| site.tags.len()).sum::<usize>());
        assert_eq!(marks.validity(&tags(0, &[]), max / 2 - 5), Validity::Changed, "older than what was widened");
        assert_eq!(marks.validity(&tags(0, &[]), max / 2 + 5), Validity::Valid);
        for number in [0, max / 2, max - 2, max] {
            assert_eq!(marks.validity(&tags(0, &[number]), number), Validity::Changed, "{number}");
        }
    }
}
