//! The surrogate keys (tags) of a response, as hashes that are compared with purge marks.
//!
//! What a tag is, and of what it is made, says `kasoku_semantics::tags`. Here it is a hash of the site's name and the tag, the same in each
//! process. Two tags of one hash are dropped together, which costs a miss and shows nobody anything old.

use crate::Key;
use kasoku_semantics::policy::Policy;
use kasoku_semantics::query::path_and_query;
use kasoku_semantics::tags::{Excepted, Parameters, Tagged};
use std::sync::Arc;
use xxhash_rust::xxh3::Xxh3;

/// A site, or a tag of one.
pub(crate) type TagHash = u64;

/// See the [module](self).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tags {
    /// All that is tagged in one site.
    pub(crate) site: TagHash,
    pub(crate) each: Box<[TagHash]>,
    /// Those of them that a page does not get in which a text stands, by the place of their template.
    if_absent: Vec<(usize, TagHash)>,
    /// It has others that nobody knows: what drops any tag of the site drops it.
    pub(crate) has_unknown: bool,
}

impl Tags {
    /// Of the response to a request for that key. `read`: the target as the application reads it, where that is another one; `also`: tags
    /// that no template makes. In a site where templates make none, those are tags of the site without a name.
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

    /// Those of a page that has the texts of these templates.
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
