//! Purges of many keys at once (everything, a site, a URI prefix, a tag), without a scan.
//!
//! The epoch counts such purges. Each stored response knows the epoch in which its request began, and the last epoch in which a look-up
//! found it valid. A hit compares the latter with the present epoch: one comparison of numbers. Only if the epoch has moved does the hit
//! compare the response with the marks of its site, once, and remember the result.
//!
//! A mark says before which epoch responses are dropped, or stale. The number of marks is bounded. At the bound the older half is
//! widened: marks of prefixes become marks of their sites, marks of sites become marks of everything. Each keeps its epoch. So no purged
//! response comes back, and only responses that are older than these purges are dropped with them.

mod persisted;
mod tagged;

use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering, PoisonError};
use crate::tags::{Tags, of_site, of_tag};
use kasoku_semantics::time::Now;
pub(crate) use persisted::{Mark, Removal};
use std::collections::HashMap;
use tagged::TagMarks;

/// The most sites that have marks.
const SITES_MAX: usize = 16 << 10;

/// The most prefixes that are marked, in all sites.
const PREFIXES_MAX: usize = 16 << 10;

/// The most prefixes that are marked in one site: with all of them a response is compared when the epoch has moved.
const PREFIXES_OF_SITE_MAX: usize = 1024;

/// How much of a prefix is kept, in bytes. A shortened prefix covers more.
const PREFIX_BYTES_MAX: usize = 1024;

/// The site to which the marks of keys belong. No site has that name.
const KEYS: &str = "\0keys";

/// How many epochs are skipped at a restart: more than there are purges in the life of a process.
const SKIPPED: Epoch = 1 << 32;

/// Counts the purges of many keys. The present epoch is their number.
pub(crate) type Epoch = u64;

/// What a purge does with the responses that it covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purge {
    /// Drops them.
    Hard,
    /// Makes them stale: they are validated before they are used, and served meanwhile where stale responses may be.
    Soft,
    /// Drops them, since a request has changed the pages.
    Change,
}

/// The responses that a purge of many keys covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PurgeScope<'a> {
    /// Everything.
    All,
    /// All URIs of this host, with any scheme and port. Spelled as in keys: lower case, IPv6 addresses in brackets.
    Site(&'a str),
    /// All URIs that begin with these bytes: scheme, authority and at least the path's first slash, as in keys.
    Prefix(&'a str),
    /// All responses with this tag (the second name) in the site of the first name (`kasoku_semantics::tags`).
    Tag(&'a str, &'a str),
    /// All tagged responses of the site of this name.
    Tagged(&'a str),
}

/// Why a [`PurgeScope`] is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PurgeScopeError {
    /// A prefix without scheme, host and a path.
    #[error("a prefix begins with scheme, host and a slash, like http://example.org/blog/")]
    IncompletePrefix,
    /// A site without a name.
    #[error("a site is the name of a host without a port, like example.org")]
    EmptySite,
    /// A tag without a name.
    #[error("a tag has a name")]
    EmptyTag,
}

/// What the purges have left of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Validity {
    /// It is valid.
    Valid,
    /// It has been stale since this time.
    Stale(Now),
    /// It is dropped: a request has changed the page.
    Changed,
    /// It is dropped.
    Gone,
}

/// See the [module](self).
pub(crate) struct Generations {
    epoch: AtomicU64,
    marks: Mutex<Marks>,
}

#[derive(Default)]
struct Marks {
    everything: PurgeMark,
    sites: HashMap<Box<str>, SiteMarks>,
    prefixes: usize,
    tagged: TagMarks,
    /// The marks of keys, as those of tags of one site. Not written on disk: values from before a restart are known by the position in their log.
    keys: TagMarks,
}

#[derive(Default)]
struct SiteMarks {
    whole: PurgeMark,
    prefixes: HashMap<Box<str>, PurgeMark>,
}

/// Responses whose requests began before these epochs are dropped, or stale.
#[derive(Clone, Copy, Default)]
struct PurgeMark {
    gone: Epoch,
    changed: Epoch,
    stale: Epoch,
    /// The time of the last soft purge.
    stale_since: Option<Now>,
}

impl PurgeMark {
    fn set(&mut self, purge: Purge, epoch: Epoch, now: Now) {
        // What was written in another order must not make a mark older.
        match purge {
            Purge::Hard => self.gone = self.gone.max(epoch),
            Purge::Change => self.changed = self.changed.max(epoch),
            Purge::Soft if epoch < self.stale => {}
            Purge::Soft => (self.stale, self.stale_since) = (epoch, Some(now)),
        }
    }

    /// Makes this mark cover all that either mark covers.
    fn join(&mut self, other: &Self) {
        (self.gone, self.changed) = (self.gone.max(other.gone), self.changed.max(other.changed));
        self.stale = self.stale.max(other.stale);
        let both = [self.stale_since, other.stale_since].into_iter().flatten();
        self.stale_since = both.min_by_key(|since| since.mono_ms);
    }

    /// Makes this mark cover all that began before that epoch.
    fn raise(&mut self, epoch: Epoch) {
        for part in [&mut self.gone, &mut self.changed, &mut self.stale] {
            if *part > 0 {
                *part = epoch;
            }
        }
    }

    /// The epoch of the mark's last purge.
    fn last(&self) -> Epoch {
        self.gone.max(self.changed).max(self.stale)
    }

    fn validity(&self, born: Epoch) -> Validity {
        match self.stale_since {
            _ if born < self.gone => Validity::Gone,
            _ if born < self.changed => Validity::Changed,
            Some(since) if born < self.stale => Validity::Stale(since),
            _ => Validity::Valid,
        }
    }
}

impl Generations {
    pub(crate) fn new() -> Self {
        Self { epoch: AtomicU64::new(0), marks: Mutex::default() }
    }

    /// The present epoch.
    pub(crate) fn epoch(&self) -> Epoch {
        self.epoch.load(Ordering::SeqCst)
    }

    /// Purges the responses whose requests have begun until now. Any thread that reads the epoch after this returns also sees the marks.
    pub(crate) fn purge(&self, scope: PurgeScope<'_>, purge: Purge, now: Now) -> Result<Epoch, PurgeScopeError> {
        let mut marks = self.marks();
        let epoch = self.epoch().saturating_add(1);
        marks.purge(scope, purge, epoch, now)?;
        // The epoch is stored after the marks: a thread that sees the new epoch must find the marks.
        self.epoch.store(epoch, Ordering::SeqCst);
        Ok(epoch)
    }

    /// Drops the responses with these tags, since their pages have changed, or makes them stale. Any thread that reads the epoch after this
    /// returns also sees the marks.
    pub(crate) fn change(&self, tags: &Tags, purge: Purge, now: Now) -> Epoch {
        let mut marks = self.marks();
        let epoch = self.epoch().saturating_add(1);
        marks.change(tags, purge, epoch, now);
        self.epoch.store(epoch, Ordering::SeqCst);
        epoch
    }

    /// Marks a key, so that what the shared tier has of it is known to be older. What is stored here has to be removed apart from that.
    pub(crate) fn mark_key(&self, uri: &str, now: Now) -> Epoch {
        let mut marks = self.marks();
        let epoch = self.epoch().saturating_add(1);
        marks.keys.mark_tag(of_keys(), of_tag(KEYS, uri), Purge::Hard, epoch, now);
        self.epoch.store(epoch, Ordering::SeqCst);
        epoch
    }

    /// What the purges have left of a response from the shared tier: as [`Generations::validity`], and by the purges of its key.
    pub(crate) fn shared_validity(&self, uri: &str, tags: Option<&Tags>, born: Epoch) -> Validity {
        let key_alone = Tags::of_hashes(of_keys(), [of_tag(KEYS, uri)].into(), false);
        let by_key = self.marks().keys.validity(&key_alone, born);
        self.validity(uri.as_bytes(), tags, born).worse(by_key)
    }

    /// Drops everything whose request has begun until now, and all marks, since some may be lost.
    pub(crate) fn drop_everything(&self, now: Now) -> Epoch {
        let mut marks = self.marks();
        let epoch = self.epoch().max(Epoch::MAX / 2).saturating_add(1);
        marks.everything.set(Purge::Hard, epoch, now);
        self.epoch.store(epoch, Ordering::SeqCst);
        epoch
    }

    /// Skips epochs: an earlier process may have stored responses in epochs whose purges it had not written yet, and a new purge must
    /// cover them.
    pub(crate) fn skip(&self) {
        // A purge reads the epoch and sets the next one under this lock.
        let _marks = self.marks();
        self.epoch.fetch_add(SKIPPED, Ordering::SeqCst);
    }

    /// What the purges have left of a response of this key, with these tags, whose request began in the epoch `born`.
    pub(crate) fn validity(&self, key: &[u8], tags: Option<&Tags>, born: Epoch) -> Validity {
        if born == self.epoch() {
            return Validity::Valid;
        }
        // Keys are made of strings. A key that is no UTF-8 belongs to no site.
        let uri = std::str::from_utf8(key).unwrap_or_default();
        let marks = self.marks();
        let site = host_of(uri).and_then(|host| marks.sites.get(host));
        let of_prefixes = site.into_iter().flat_map(|site| &site.prefixes);
        let met = of_prefixes.filter(|(prefix, _)| uri.starts_with(&***prefix)).map(|(_, mark)| mark);
        let met = met.chain(site.map(|site| &site.whole)).chain([&marks.everything]);
        let by_url = met.map(|mark| mark.validity(born)).fold(Validity::Valid, Validity::worse);
        by_url.worse(tags.map_or(Validity::Valid, |tags| marks.tagged.validity(tags, born)))
    }

    fn marks(&self) -> MutexGuard<'_, Marks> {
        // Each change under the lock is complete in itself, so a panic elsewhere leaves marks that can be read.
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Validity {
    fn worse(self, other: Self) -> Self {
        match (self, other) {
            (Self::Gone, _) | (_, Self::Gone) => Self::Gone,
            (Self::Changed, _) | (_, Self::Changed) => Self::Changed,
            (Self::Stale(one), Self::Stale(other)) => {
                Self::Stale(if one.mono_ms < other.mono_ms { one } else { other })
            }
            (stale @ Self::Stale(_), Self::Valid) | (Self::Valid, stale) => stale,
        }
    }
}

impl Marks {
    /// Makes each mark cover all that began before that epoch. Not those of keys: what is on disk of a key is removed apart from them.
    fn raise(&mut self, epoch: Epoch) {
        self.everything.raise(epoch);
        for SiteMarks { whole, prefixes } in self.sites.values_mut() {
            whole.raise(epoch);
            prefixes.values_mut().for_each(|mark| mark.raise(epoch));
        }
        self.tagged.raise(epoch);
    }

    fn purge(&mut self, scope: PurgeScope<'_>, purge: Purge, epoch: Epoch, now: Now) -> Result<(), PurgeScopeError> {
        match scope {
            PurgeScope::All => self.everything.set(purge, epoch, now),
            PurgeScope::Site("") => return Err(PurgeScopeError::EmptySite),
            PurgeScope::Site(host) => self.mark_site(host, purge, epoch, now),
            PurgeScope::Prefix(prefix) => {
                let host = host_of(prefix).ok_or(PurgeScopeError::IncompletePrefix)?;
                self.mark_prefix(host, prefix, purge, epoch, now);
            }
            PurgeScope::Tag(_, "") => return Err(PurgeScopeError::EmptyTag),
            PurgeScope::Tag(site, tag) => self.tagged.mark_tag(of_site(site), of_tag(site, tag), purge, epoch, now),
            PurgeScope::Tagged(site) => self.tagged.mark_site(of_site(site), purge, epoch, now),
        }
        if self.tagged.has_too_many_sites() {
            self.everything.set(purge, epoch, now);
            self.tagged.clear();
        }
        Ok(())
    }

    fn change(&mut self, tags: &Tags, purge: Purge, epoch: Epoch, now: Now) {
        for tag in &tags.each {
            self.tagged.mark_tag(tags.site, *tag, purge, epoch, now);
        }
        if tags.has_unknown {
            self.tagged.mark_site(tags.site, purge, epoch, now);
        }
    }

    fn mark_site(&mut self, host: &str, purge: Purge, epoch: Epoch, now: Now) {
        let site = self.site(host);
        site.whole.set(purge, epoch, now);
        if purge != Purge::Soft {
            // The site's mark now covers what its prefixes' marks covered, if they are older.
            let before = site.prefixes.len();
            site.prefixes.retain(|_, mark| mark.last() > epoch);
            let covered = before - site.prefixes.len();
            self.prefixes = self.prefixes.saturating_sub(covered);
        }
    }

    fn mark_prefix(&mut self, host: &str, prefix: &str, purge: Purge, epoch: Epoch, now: Now) {
        let prefix = cut(prefix, host);
        if !self.site(host).prefixes.contains_key(prefix) {
            self.make_room_for_prefix(host);
            self.prefixes += 1;
        }
        self.site(host).prefixes.entry(prefix.into()).or_default().set(purge, epoch, now);
    }

    /// Adds a mark of a prefix to the one that it has.
    fn join_prefix(&mut self, host: &str, prefix: &str, mark: &PurgeMark) {
        if !self.site(host).prefixes.contains_key(prefix) {
            self.make_room_for_prefix(host);
            self.prefixes += 1;
        }
        self.site(host).prefixes.entry(prefix.into()).or_default().join(mark);
    }

    /// The marks of a site. Where there is no room for another site, the older half of the sites' marks become marks of everything.
    fn site(&mut self, host: &str) -> &mut SiteMarks {
        if self.sites.len() >= SITES_MAX && !self.sites.contains_key(host) {
            let up_to = median(self.sites.values().map(SiteMarks::last));
            let (everything, prefixes) = (&mut self.everything, &mut self.prefixes);
            self.sites.retain(|_, site| {
                let stays = site.last() > up_to;
                if !stays {
                    *prefixes = prefixes.saturating_sub(site.widen(up_to));
                    everything.join(&site.whole);
                }
                stays
            });
        }
        self.sites.entry(host.into()).or_default()
    }

    fn make_room_for_prefix(&mut self, host: &str) {
        let site = self.site(host);
        let mut widened = 0;
        if site.prefixes.len() >= PREFIXES_OF_SITE_MAX {
            widened = site.widen(median(site.prefixes.values().map(PurgeMark::last)));
        } else if self.prefixes >= PREFIXES_MAX {
            let all = self.sites.values().flat_map(|site| site.prefixes.values());
            let up_to = median(all.map(PurgeMark::last));
            widened = self.sites.values_mut().map(|site| site.widen(up_to)).sum();
        }
        self.prefixes = self.prefixes.saturating_sub(widened);
    }
}

impl SiteMarks {
    fn last(&self) -> Epoch {
        self.prefixes.values().map(PurgeMark::last).fold(self.whole.last(), Epoch::max)
    }

    /// Widens the marks of prefixes up to this epoch to the whole site. Returns how many.
    fn widen(&mut self, up_to: Epoch) -> usize {
        let before = self.prefixes.len();
        let whole = &mut self.whole;
        self.prefixes.retain(|_, mark| {
            let stays = mark.last() > up_to;
            if !stays {
                whole.join(mark);
            }
            stays
        });
        before - self.prefixes.len()
    }
}

fn of_keys() -> u64 {
    of_site(KEYS)
}

/// The median; 0 where there are no epochs.
fn median(epochs: impl Iterator<Item = Epoch>) -> Epoch {
    let mut epochs: Vec<_> = epochs.collect();
    epochs.sort_unstable();
    epochs.get(epochs.len() / 2).copied().unwrap_or_default()
}

/// The part of a prefix that is kept; all of it where the part does not contain the whole host.
fn cut<'p>(prefix: &'p str, host: &str) -> &'p str {
    let ends = (0..=PREFIX_BYTES_MAX).rev().find(|end| prefix.is_char_boundary(*end));
    let short = ends.and_then(|end| prefix.get(..end)).unwrap_or(prefix);
    if host_of(short) == Some(host) { short } else { prefix }
}

/// The host of a URI as keys spell it, without the port; `None` where the URI has no path.
fn host_of(uri: &str) -> Option<&str> {
    let (_, rest) = uri.split_once("://")?;
    let authority = rest.split_once('/').map(|(authority, _)| authority).or_else(|| rest.strip_suffix('*'))?;
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => host,
        _ => authority,
    };
    (!host.is_empty()).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Now = Now { unix_ms: 1_700_000_000_000, mono_ms: 5 };

    fn validity(generations: &Generations, uri: &str, born: Epoch) -> Validity {
        generations.validity(uri.as_bytes(), None, born)
    }

    #[test]
    fn marks_of_keys_widen_no_marks_of_tags() {
        let generations = Generations::new();
        let tags = |tag| Tags::of_hashes(of_site("a"), [of_tag("a", tag)].into(), false);
        generations.change(&tags("1"), Purge::Change, NOW);
        for number in 0..=tagged::TAGS_MARKED_MAX {
            generations.mark_key(&format!("http://a.org/{number}"), NOW);
        }
        assert_eq!(generations.validity(b"http://a.org/", Some(&tags("2")), 0), Validity::Valid);
        assert_eq!(generations.validity(b"http://a.org/", Some(&tags("1")), 0), Validity::Changed);
    }

    #[test]
    fn a_purge_meets_what_began_before_it_within_its_scope() {
        let generations = Generations::new();
        let before = generations.epoch();
        generations.purge(PurgeScope::Prefix("http://a.org/blog/"), Purge::Hard, NOW).unwrap();
        let after = generations.epoch();
        for uri in ["http://a.org/blog/", "http://a.org/blog/1?page=2"] {
            assert_eq!(validity(&generations, uri, before), Validity::Gone, "{uri}");
            assert_eq!(validity(&generations, uri, after), Validity::Valid, "{uri}");
        }
        for uri in ["http://a.org/blog", "http://a.org/", "https://a.org/blog/", "http://b.org/blog/", "no URI"] {
            assert_eq!(validity(&generations, uri, before), Validity::Valid, "{uri}");
        }
        generations.purge(PurgeScope::Site("a.org"), Purge::Soft, NOW).unwrap();
        for uri in ["http://a.org/", "https://a.org:8443/x", "http://a.org/blog/"] {
            assert_eq!(validity(&generations, uri, after), Validity::Stale(NOW), "{uri}");
        }
        assert_eq!(validity(&generations, "http://a.org/blog/", before), Validity::Gone);
        assert_eq!(validity(&generations, "http://www.a.org/", before), Validity::Valid);
        generations.purge(PurgeScope::All, Purge::Hard, NOW).unwrap();
        assert_eq!(validity(&generations, "http://www.a.org/", after), Validity::Gone);
        assert_eq!(validity(&generations, "no URI", after), Validity::Gone);
    }

    #[test]
    fn a_scope_that_is_none_purges_nothing() {
        let generations = Generations::new();
        for prefix in ["", "http://", "http://a.org", "/blog/", "http:///x", "a.org/x"] {
            let refused = generations.purge(PurgeScope::Prefix(prefix), Purge::Hard, NOW);
            assert_eq!(refused, Err(PurgeScopeError::IncompletePrefix), "{prefix}");
        }
        assert_eq!(generations.purge(PurgeScope::Site(""), Purge::Hard, NOW), Err(PurgeScopeError::EmptySite));
        assert_eq!(generations.epoch(), 0);
    }

    #[test]
    fn the_host_of_a_uri_has_no_port() {
        for (uri, host) in [
            ("http://a.org/", Some("a.org")),
            ("http://a.org:80/:1", Some("a.org")),
            ("http://[::1]/", Some("[::1]")),
            ("http://[::1]:80/", Some("[::1]")),
            ("http://a.org*", Some("a.org")),
            ("http://a.org", None),
        ] {
            assert_eq!(host_of(uri), host, "{uri}");
        }
    }

    #[test]
    fn beyond_the_bound_old_prefixes_are_their_sites() {
        let generations = Generations::new();
        let purge = |uri: &str, purge| generations.purge(PurgeScope::Prefix(uri), purge, NOW).unwrap();
        for number in 0..PREFIXES_OF_SITE_MAX {
            purge(&format!("http://a.org/{number}/"), if number == 0 { Purge::Hard } else { Purge::Soft });
        }
        assert_eq!(validity(&generations, "http://a.org/x", 0), Validity::Valid);
        let before = generations.epoch();
        purge("http://a.org/more/", Purge::Soft);
        assert_eq!(validity(&generations, "http://a.org/0/", 0), Validity::Gone);
        assert_eq!(validity(&generations, "http://a.org/1/", 1), Validity::Stale(NOW));
        assert_eq!(validity(&generations, "http://a.org/1000/", 1), Validity::Stale(NOW));
        assert_eq!(validity(&generations, "http://a.org/x", 0), Validity::Gone, "as old as what was purged first");
        assert_eq!(validity(&generations, "http://a.org/x", 1), Validity::Stale(NOW));
        assert_eq!(validity(&generations, "http://a.org/x", before), Validity::Valid, "younger than the old purges");
        assert_eq!(validity(&generations, "http://b.org/x", 0), Validity::Valid);
        assert_eq!(validity(&generations, "http://a.org/more/x", before), Validity::Stale(NOW));
        let marks = generations.marks();
        assert_eq!(marks.prefixes, marks.sites["a.org"].prefixes.len());
        assert!(marks.prefixes <= PREFIXES_OF_SITE_MAX / 2 + 1, "{}", marks.prefixes);
    }

    #[test]
    fn a_site_with_many_prefixes_does_not_widen_those_of_others() {
        let generations = Generations::new();
        let purge = |uri: &str| generations.purge(PurgeScope::Prefix(uri), Purge::Hard, NOW).unwrap();
        for number in 0..4 * PREFIXES_OF_SITE_MAX {
            purge(&format!("http://busy.org/{number}/"));
        }
        let before = generations.epoch();
        purge("http://a.org/blog/");
        assert_eq!(validity(&generations, "http://a.org/blog/1", before), Validity::Gone);
        assert_eq!(validity(&generations, "http://a.org/x", before), Validity::Valid);
    }

    #[test]
    fn beyond_the_bound_of_all_sites_prefixes_are_widened_where_they_are_old() {
        let generations = Generations::new();
        for number in 0..=PREFIXES_MAX {
            let uri = format!("http://{}.org/{number}/", number % 100);
            generations.purge(PurgeScope::Prefix(&uri), Purge::Hard, NOW).unwrap();
        }
        let (half, marks) = (PREFIXES_MAX as u64 / 2, generations.marks());
        assert_eq!(marks.prefixes, marks.sites.values().map(|site| site.prefixes.len()).sum::<usize>());
        assert!(marks.prefixes <= PREFIXES_MAX / 2 + 1, "{}", marks.prefixes);
        drop(marks);
        assert_eq!(validity(&generations, "http://0.org/x", half - 200), Validity::Gone);
        assert_eq!(validity(&generations, "http://0.org/x", half + 200), Validity::Valid);
    }

    #[test]
    fn beyond_the_bound_old_sites_are_everything() {
        let generations = Generations::new();
        for number in 0..SITES_MAX {
            generations.purge(PurgeScope::Site(&format!("{number}.org")), Purge::Hard, NOW).unwrap();
        }
        let before = generations.epoch();
        assert_eq!(validity(&generations, "http://b.org/x", 0), Validity::Valid);
        generations.purge(PurgeScope::Prefix("http://a.org/x"), Purge::Soft, NOW).unwrap();
        assert_eq!(validity(&generations, "http://b.org/x", 0), Validity::Gone);
        assert_eq!(validity(&generations, "http://b.org/x", before), Validity::Valid);
        assert_eq!(validity(&generations, "http://0.org/x", 0), Validity::Gone);
        assert_eq!(validity(&generations, "http://a.org/x", before), Validity::Stale(NOW));
        assert!(generations.marks().sites.len() <= SITES_MAX / 2 + 1);
    }

    #[test]
    fn of_a_long_prefix_the_beginning_is_kept() {
        let generations = Generations::new();
        let long = format!("http://a.org/{}", "x".repeat(2 * PREFIX_BYTES_MAX));
        generations.purge(PurgeScope::Prefix(&long), Purge::Hard, NOW).unwrap();
        assert_eq!(validity(&generations, &format!("{long}y"), 0), Validity::Gone);
        assert_eq!(validity(&generations, "http://a.org/x", 0), Validity::Valid);
        let marks = generations.marks();
        assert!(marks.sites["a.org"].prefixes.keys().all(|kept| kept.len() == PREFIX_BYTES_MAX));
    }
}
