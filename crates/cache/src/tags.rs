//! The tags of a response or of a fill, as marks know them: numbers, of which a response has few.
//!
//! What a tag is, and of what it is made, says `kasoku_semantics::tags`. Here it is a hash of the site's name and the tag, the same in each
//! process. Two tags of one hash are dropped together, which costs a miss and shows nobody anything old.

use crate::Key;
use kasoku_semantics::policy::Policy;
use kasoku_semantics::query::path_and_query;
use kasoku_semantics::tags::{Parameters, Tagged};
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
    /// It has others that nobody knows: what drops any tag of the site drops it.
    pub(crate) has_unknown: bool,
}

impl Tags {
    /// Of the response to a request for that key. `read`: the target as the application reads it, where that is another one.
    pub(crate) fn of(key: &Key, read: Option<&str>, policy: &Policy) -> Option<Arc<Self>> {
        let rules = &policy.tags;
        if rules.site.is_empty() {
            return None;
        }
        let mut parameters = Parameters::default();
        let (_, query) = path_and_query(read.unwrap_or(key.uri()));
        parameters.read(query.unwrap_or_default());
        let tagged = Tagged::of(&rules.templates, &parameters);
        Some(Arc::new(Self::new(&rules.site, &tagged)))
    }

    pub(crate) fn new(site: &str, tagged: &Tagged) -> Self {
        let each = tagged.tags.iter().map(|tag| of_tag(site, tag)).collect();
        Self { site: of_site(site), each, has_unknown: !tagged.is_all_known }
    }

    /// Memory held, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.each)
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
