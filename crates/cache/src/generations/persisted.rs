//! The purge marks as they are written on disk: each when it is made, and all of them with each checkpoint.
//!
//! With all marks it is written how far the purges of other caches have been carried out (`shared`).
//!
//! Each mark is written with its epoch, so that the order in which they were written does not matter, nor whether one is applied twice.

use super::tagged::TagMarks;
use super::{Epoch, Generations, Marks, Purge, PurgeMark, PurgeScope, SKIPPED, SiteMarks};
use crate::sync::Ordering;
use crate::tags::Tags;
use kasoku_semantics::time::Now;
use serde::{Deserialize, Serialize};

/// One purge of many keys.
#[derive(Serialize, Deserialize)]
pub(crate) struct Mark<'a> {
    epoch: Epoch,
    unix_ms: i64,
    #[serde(borrow)]
    what: Marked<'a>,
}

/// A purge of many keys, without its time.
pub(crate) enum Removal<'a> {
    Purge(PurgeScope<'a>, Purge),
    /// Of pages that a request has changed, or may have changed.
    Change(Tags, Purge),
}

#[derive(Serialize, Deserialize)]
enum Marked<'a> {
    Purge(#[serde(borrow)] StoredScope<'a>, StoredPurge),
    Change {
        site: u64,
        each: Vec<u64>,
        has_unknown: bool,
    },
    /// The same where the pages become stale.
    SoftChange {
        site: u64,
        each: Vec<u64>,
        has_unknown: bool,
    },
}

#[derive(Serialize, Deserialize)]
enum StoredScope<'a> {
    All,
    Site(&'a str),
    Prefix(&'a str),
    Tag(&'a str, &'a str),
    Tagged(&'a str),
}

#[derive(Clone, Copy, Serialize, Deserialize)]
enum StoredPurge {
    Hard,
    Soft,
    Change,
}

/// The hash of a server's address, and the number up to which the purges in its log have been carried out.
pub(super) type LogPosition = (u64, u64);

/// All marks.
#[derive(Serialize, Deserialize)]
struct AllMarks<'a> {
    epoch: Epoch,
    everything: StoredMark,
    /// The marks of each host, and of its prefixes.
    #[serde(borrow)]
    sites: Vec<StoredSiteMarks<'a>>,
    tagged: Vec<StoredTagMarks>,
}

/// Of one host: of all its URIs, and of prefixes.
#[derive(Serialize, Deserialize)]
struct StoredSiteMarks<'a> {
    host: &'a str,
    whole: StoredMark,
    #[serde(borrow)]
    prefixes: Vec<(&'a str, StoredMark)>,
}

/// Of one site: of all its tagged responses, of those whose tags are not all known, and of each tag.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredTagMarks {
    pub(super) site: u64,
    pub(super) whole: StoredMark,
    pub(super) unknown: StoredMark,
    pub(super) tags: Vec<(u64, StoredMark)>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct StoredMark {
    gone: Epoch,
    changed: Epoch,
    stale: Epoch,
    stale_since_unix_ms: Option<i64>,
}

impl<'a> Mark<'a> {
    pub(crate) fn purge(scope: PurgeScope<'a>, purge: Purge, epoch: Epoch, now: Now) -> Self {
        let scope = match scope {
            PurgeScope::All => StoredScope::All,
            PurgeScope::Site(host) => StoredScope::Site(host),
            PurgeScope::Prefix(prefix) => StoredScope::Prefix(prefix),
            PurgeScope::Tag(site, tag) => StoredScope::Tag(site, tag),
            PurgeScope::Tagged(site) => StoredScope::Tagged(site),
        };
        let purge = match purge {
            Purge::Hard => StoredPurge::Hard,
            Purge::Soft => StoredPurge::Soft,
            Purge::Change => StoredPurge::Change,
        };
        Self { epoch, unix_ms: now.unix_ms, what: Marked::Purge(scope, purge) }
    }

    pub(crate) fn change(tags: &Tags, purge: Purge, epoch: Epoch, now: Now) -> Self {
        let (site, each, has_unknown) = (tags.site, tags.each.to_vec(), tags.has_unknown);
        let what = match purge {
            Purge::Soft => Marked::SoftChange { site, each, has_unknown },
            Purge::Hard | Purge::Change => Marked::Change { site, each, has_unknown },
        };
        Self { epoch, unix_ms: now.unix_ms, what }
    }

    /// The same mark in another epoch.
    pub(crate) fn at(self, epoch: Epoch) -> Self {
        Self { epoch, ..self }
    }

    /// The mark that was written.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        postcard::from_bytes(bytes).ok()
    }

    /// What it has removed.
    pub(crate) fn removal(&self) -> Removal<'_> {
        match &self.what {
            Marked::Purge(scope, purge) => {
                let scope = match *scope {
                    StoredScope::All => PurgeScope::All,
                    StoredScope::Site(host) => PurgeScope::Site(host),
                    StoredScope::Prefix(prefix) => PurgeScope::Prefix(prefix),
                    StoredScope::Tag(site, tag) => PurgeScope::Tag(site, tag),
                    StoredScope::Tagged(site) => PurgeScope::Tagged(site),
                };
                let purge = match purge {
                    StoredPurge::Hard => Purge::Hard,
                    StoredPurge::Soft => Purge::Soft,
                    StoredPurge::Change => Purge::Change,
                };
                Removal::Purge(scope, purge)
            }
            Marked::Change { site, each, has_unknown } => {
                Removal::Change(Tags::of_hashes(*site, each.clone().into(), *has_unknown), Purge::Change)
            }
            Marked::SoftChange { site, each, has_unknown } => {
                Removal::Change(Tags::of_hashes(*site, each.clone().into(), *has_unknown), Purge::Soft)
            }
        }
    }

    pub(crate) fn write(&self) -> Vec<u8> {
        // Only a writer that fails makes this fail, and a vector does not.
        postcard::to_extend(self, Vec::new()).unwrap_or_default()
    }
}

impl Generations {
    /// All marks, and the positions in the logs of the shared tier.
    pub(crate) fn write(&self, positions: &[LogPosition]) -> Vec<u8> {
        let marks = self.marks();
        let all = AllMarks {
            epoch: self.epoch(),
            everything: StoredMark::of(&marks.everything),
            sites: marks.sites.iter().map(|(host, site)| StoredSiteMarks::of(host, site)).collect(),
            tagged: marks.tagged.write(),
        };
        postcard::to_extend(&(all, positions), Vec::new()).unwrap_or_default()
    }

    /// Adds all marks that an earlier process had written with [`Generations::write`], and those that came later. Returns the positions; `None` where
    /// that can't be read. To be followed by [`Generations::skip`]: then the marks that this process has made before cover what that one had stored.
    pub(crate) fn read(&self, then: &[u8], since: &[Vec<u8>], now: Now) -> Option<Vec<LogPosition>> {
        let (all, positions) = match then {
            [] => (None, Vec::new()),
            then => {
                let (all, rest): (AllMarks<'_>, _) = postcard::take_from_bytes(then).ok()?;
                // Earlier versions wrote no positions.
                (Some(all), if rest.is_empty() { Vec::new() } else { postcard::from_bytes(rest).ok()? })
            }
        };
        let since = since.iter().map(|mark| postcard::from_bytes::<Mark<'_>>(mark).ok());
        let mut since = since.collect::<Option<Vec<_>>>()?;
        since.sort_by_key(|mark| mark.epoch);
        let mut marks = self.marks();
        let then = all.as_ref().map(|all| all.epoch);
        let epoch = since.iter().map(|mark| mark.epoch).chain(then).fold(self.epoch(), Epoch::max);
        marks.raise(epoch.saturating_add(SKIPPED));
        if let Some(all) = all {
            marks.everything.join(&all.everything.read(now));
            for StoredSiteMarks { host, whole, prefixes } in all.sites {
                marks.site(host).whole.join(&whole.read(now));
                for (prefix, mark) in prefixes {
                    marks.join_prefix(host, prefix, &mark.read(now));
                }
            }
            marks.tagged.read(all.tagged, now);
        }
        for mark in since {
            mark.apply(&mut marks, now);
        }
        self.epoch.store(epoch, Ordering::SeqCst);
        Some(positions)
    }
}

impl<'a> StoredSiteMarks<'a> {
    fn of(host: &'a str, site: &'a SiteMarks) -> Self {
        let prefixes = site.prefixes.iter().map(|(prefix, mark)| (&**prefix, StoredMark::of(mark)));
        Self { host, whole: StoredMark::of(&site.whole), prefixes: prefixes.collect() }
    }
}

impl Mark<'_> {
    fn apply(&self, marks: &mut Marks, now: Now) {
        let at = now.when(self.unix_ms);
        match self.removal() {
            Removal::Purge(scope, purge) => {
                // Only a scope that is valid was written.
                let _ = marks.purge(scope, purge, self.epoch, at);
            }
            Removal::Change(tags, purge) => marks.change(&tags, purge, self.epoch, at),
        }
    }
}

impl StoredMark {
    pub(super) fn of(mark: &PurgeMark) -> Self {
        let PurgeMark { gone, changed, stale, stale_since } = *mark;
        Self { gone, changed, stale, stale_since_unix_ms: stale_since.map(|since| since.unix_ms) }
    }

    pub(super) fn read(self, now: Now) -> PurgeMark {
        let Self { gone, changed, stale, stale_since_unix_ms } = self;
        PurgeMark { gone, changed, stale, stale_since: stale_since_unix_ms.map(|unix_ms| now.when(unix_ms)) }
    }
}

impl TagMarks {
    fn write(&self) -> Vec<StoredTagMarks> {
        self.each(|site, whole, unknown, tags| StoredTagMarks {
            site,
            whole: StoredMark::of(whole),
            unknown: StoredMark::of(unknown),
            tags: tags.iter().map(|(tag, mark)| (*tag, StoredMark::of(mark))).collect(),
        })
    }

    fn read(&mut self, stored: Vec<StoredTagMarks>, now: Now) {
        for StoredTagMarks { site, whole, unknown, tags } in stored {
            let tags = tags.into_iter().map(|(tag, mark)| (tag, mark.read(now)));
            self.join(site, &whole.read(now), &unknown.read(now), tags);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Validity;
    use super::*;

    const NOW: Now = Now { unix_ms: 1_700_000_000_000, mono_ms: 1_700_000_000_000 };

    #[test]
    fn marks_mean_the_same_after_a_restart() {
        let before = Generations::new();
        let mut written = Vec::new();
        let tags = |each: &[u64]| Tags::of_hashes(7, each.into(), false);
        let mut purge = |scope, purge| {
            let epoch = before.purge(scope, purge, NOW).unwrap();
            written.push(Mark::purge(scope, purge, epoch, NOW).write());
        };
        purge(PurgeScope::Site("a.org"), Purge::Hard);
        purge(PurgeScope::Prefix("http://b.org/x/"), Purge::Soft);
        purge(PurgeScope::Tag("site", "tag"), Purge::Hard);
        let epoch = before.change(&tags(&[5]), Purge::Change, NOW);
        written.push(Mark::change(&tags(&[5]), Purge::Change, epoch, NOW).write());
        let epoch = before.change(&tags(&[8]), Purge::Soft, NOW);
        written.push(Mark::change(&tags(&[8]), Purge::Soft, epoch, NOW).write());
        let later = NOW.after(60_000);
        let restored = |then: &[u8], since: &[Vec<u8>]| {
            let generations = Generations::new();
            generations.read(then, since, later).unwrap();
            generations
        };
        written.reverse();
        for after in
            [restored(&[], &written), restored(&before.write(&[]), &[]), restored(&before.write(&[]), &written)]
        {
            assert_eq!(after.epoch(), before.epoch());
            for (uri, tags, born) in [
                ("http://a.org/", None, 0),
                ("http://a.org/", None, 1),
                ("http://b.org/x/1", None, 1),
                ("http://b.org/y", None, 1),
                ("http://c.org/", Some(tags(&[5])), 3),
                ("http://c.org/", Some(tags(&[6])), 3),
                ("http://c.org/", Some(tags(&[8])), 4),
                ("http://c.org/", Some(Tags::of_hashes(crate::tags::of_site("site"), Box::default(), true)), 2),
            ] {
                let validity = |of: &Generations| of.validity(uri.as_bytes(), tags.as_ref(), born);
                assert_eq!(validity(&after), validity(&before), "{uri} {tags:?} {born}");
            }
        }
        assert_eq!(before.validity(b"http://b.org/x/1", None, 1), Validity::Stale(NOW));
        assert_eq!(before.validity(b"http://c.org/", Some(&tags(&[8])), 4), Validity::Stale(NOW));
    }

    #[test]
    fn a_purge_covers_what_was_stored_after_a_purge_that_was_lost() {
        let before = Generations::new();
        let written = before.write(&[]);
        // The process ended before it had written this one.
        before.purge(PurgeScope::Site("b.org"), Purge::Hard, NOW).unwrap();
        let born = before.epoch();
        let after = Generations::new();
        after.read(&written, &[], NOW).unwrap();
        after.skip();
        after.purge(PurgeScope::Site("a.org"), Purge::Hard, NOW).unwrap();
        assert_eq!(after.validity(b"http://a.org/", None, born), Validity::Gone);
    }

    #[test]
    fn a_purge_that_came_before_the_marks_were_read_covers_what_an_earlier_process_had_stored() {
        let before = Generations::new();
        for _ in 0..5 {
            before.purge(PurgeScope::Site("a.org"), Purge::Hard, NOW).unwrap();
        }
        let born = before.epoch();
        let after = Generations::new();
        let tags = || Tags::of_hashes(crate::tags::of_site("site"), [crate::tags::of_tag("site", "tag")].into(), false);
        after.purge(PurgeScope::Prefix("http://b.org/x/"), Purge::Hard, NOW).unwrap();
        after.purge(PurgeScope::Tag("site", "tag"), Purge::Soft, NOW).unwrap();
        after.read(&before.write(&[]), &[], NOW).unwrap();
        after.skip();
        assert_eq!(after.validity(b"http://b.org/x/1", None, born), Validity::Gone);
        assert_eq!(after.validity(b"http://b.org/y", Some(&tags()), born), Validity::Stale(NOW));
        assert_eq!(after.validity(b"http://b.org/y", None, born), Validity::Valid);
        assert_eq!(after.validity(b"http://a.org/", None, born), Validity::Valid, "it was stored after that purge");
        assert_eq!(after.validity(b"http://b.org/x/1", None, after.epoch()), Validity::Valid);
    }

    #[test]
    fn positions_are_written_with_the_marks_and_earlier_versions_wrote_none() {
        let generations = Generations::new();
        let written = generations.write(&[(7, 300), (9, 5)]);
        assert_eq!(generations.read(&written, &[], NOW), Some(vec![(7, 300), (9, 5)]));
        let without: (AllMarks<'_>, &[u8]) = postcard::take_from_bytes(&written).unwrap();
        let earlier = &written[..written.len() - without.1.len()];
        assert_eq!(generations.read(earlier, &[], NOW), Some(Vec::new()));
        assert_eq!(generations.read(&written[..written.len() - 1], &[], NOW), None);
    }

    #[test]
    fn what_is_no_mark_is_noticed() {
        assert!(Generations::new().read(b"\xff\xff", &[], NOW).is_none());
        assert!(Generations::new().read(b"", &[vec![1]], NOW).is_none());
    }
}
