//! The surrogate keys (tags) of a response, as hashes that are compared with purge marks.
//!
//! `kasoku_semantics::tags` says what a tag is and how templates make it. Here a tag is a hash of the site's name and the tag, the same
//! in each process. Two tags with the same hash are dropped together: that costs a miss, and never serves an outdated response.

use crate::Key;
use kasoku_semantics::policy::Policy;
use kasoku_semantics::query::path_and_query;
use kasoku_semantics::tags::{Excepted, Parameters, Tagged};
use std::sync::Arc;
use xxhash_rust::xxh3::Xxh3;

/// The hash of a site or of one of its tags.
pub(crate) type TagHash = u64;

/// The tags of one response, or of one change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tags {
    /// The site: all that is tagged in it.
    pub(crate) site: TagHash,
    pub(crate) each: Box<[TagHash]>,
    /// Tags that a page does not get if a certain text occurs in it, each with its template's place in the list.
    if_absent: Vec<(usize, TagHash)>,
    /// Whether there are tags that are not known: then a drop of any tag of the site drops the response.
    pub(crate) has_unknown: bool,
}

impl Tags {
    /// The tags of the response to a request for this key. `read` is the target as the application reads it, where it differs from the
    /// key's. `also` are tags that no template makes; in a site without tag templates, they belong to the site with the empty name.
    pub(crate) fn of(key: &Key, read: Option<&str>, policy: &Policy, also: &[String]) -> Option<Arc<Self>> {
        let rules = &policy.tags;
        if rules.site.is_empty() && also.is_empty() {
            return None;
        }
        let mut parameters = Parameters::default();
        let (_, query) = path_and_query(read.unwrap_or(key.uri()));
        parameters.read(query.unwrap_or_default());
        let mut tagged = Tagged::of(&rules.templates, &parameters);
        tagged.tags.extend_from_slice(also);
        let mut tags = Self::new(&rules.site, &tagged);
        if rules.need_the_page() {
            let certain = Tagged::of(rules.templates.iter().filter(|template| !template.needs_the_page()), &parameters);
            for (place, template) in rules.needing_the_page() {
                let made = Tagged::of([template], &parameters).tags;
                let uncertain = made.iter().filter(|tag| !certain.tags.contains(tag));
                tags.if_absent.extend(uncertain.map(|tag| (place, of_tag(&rules.site, tag))));
            }
        }
        Some(Arc::new(tags))
    }

    /// The tags of a page that contains the exception texts of these templates.
    pub(crate) fn of_page(self: &Arc<Self>, excepted: Excepted) -> Arc<Self> {
        if excepted.is_empty() || self.if_absent.is_empty() {
            return self.clone();
        }
        let (gone, left): (Vec<_>, Vec<_>) = self.if_absent.iter().partition(|(place, _)| excepted.has(*place));
        let has = |list: &[(usize, TagHash)], tag: &TagHash| list.iter().any(|(_, other)| other == tag);
        let each = self.each.iter().copied().filter(|tag| !has(&gone, tag) || has(&left, tag)).collect();
        Arc::new(Self { if_absent: left, ..Self::of_hashes(self.site, each, self.has_unknown) })
    }

    pub(crate) fn new(site: &str, tagged: &Tagged) -> Self {
        let each = tagged.tags.iter().map(|tag| of_tag(site, tag)).collect();
        Self::of_hashes(of_site(site), each, !tagged.is_all_known)
    }

    pub(crate) fn of_hashes(site: TagHash, each: Box<[TagHash]>, has_unknown: bool) -> Self {
        Self { site, each, if_absent: Vec::new(), has_unknown }
    }

    /// The tags that the page does not get if a certain text occurs in it.
    pub(crate) fn if_absent(&self) -> &[(usize, TagHash)] {
        &self.if_absent
    }

    pub(crate) fn with_if_absent(self, if_absent: Vec<(usize, TagHash)>) -> Self {
        Self { if_absent, ..self }
    }

    /// Memory held, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.each) + size_of_val(&*self.if_absent)
    }
}

pub(crate) fn of_site(site: &str) -> TagHash {
    of_tag(site, "")
}

pub(crate) fn of_tag(site: &str, tag: &str) -> TagHash {
    let mut hash = Xxh3::new();
    for part in [site, tag] {
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.digest()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_of_another_site_are_others() {
        assert_ne!(of_tag("a", "b"), of_tag("ab", ""));
        assert_ne!(of_tag("a", "b"), of_tag("b", "b"));
        assert_eq!(of_tag("a", "b"), of_tag("a", "b"));
        assert_ne!(of_site("a"), of_tag("a", "a"));
    }
}
