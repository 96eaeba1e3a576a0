//! What a loader returns: a value, and how it is stored.

use crate::tags::{TagHash, of_tag};
use std::time::Duration;

/// The site to which the tags of values belong: a data cache has one.
pub(super) const SITE: &str = "";

/// A loaded value with what the cache should know about it.
///
/// A plain value is enough for [`DataCache::load`](super::DataCache::load); this type adds what only the loader knows.
///
/// ```
/// use kasoku_cache::data::Loaded;
/// use std::time::Duration;
///
/// let page = "<h1>Post 7</h1>".to_owned();
/// let loaded = Loaded::new(page).ttl(Duration::from_secs(300)).tags(["post-7", "author-3"]);
/// # let _ = loaded;
/// ```
#[derive(Clone, Debug)]
pub struct Loaded<T> {
    pub(super) value: T,
    pub(super) ttl: Option<Duration>,
    pub(super) tags: Vec<TagHash>,
    pub(super) weight_bytes: Option<usize>,
}

impl<T> Loaded<T> {
    /// A value with the lifetime that the caller of `load` has given, without tags.
    pub fn new(value: T) -> Self {
        Self { value, ttl: None, tags: Vec::new(), weight_bytes: None }
    }

    /// How long the value is fresh, in place of the lifetime that the caller of `load` has given.
    #[must_use]
    pub fn ttl(self, ttl: Duration) -> Self {
        Self { ttl: Some(ttl), ..self }
    }

    /// Adds tags: [`DataCache::purge_tag`](super::DataCache::purge_tag) with one of them drops the value.
    #[must_use]
    pub fn tags<S: AsRef<str>>(mut self, tags: impl IntoIterator<Item = S>) -> Self {
        self.tags.extend(tags.into_iter().map(|tag| of_tag(SITE, tag.as_ref())));
        self
    }

    /// The bytes of memory that the value holds, in place of the weight that the function of the builder returns.
    #[must_use]
    pub fn weight_bytes(self, bytes: usize) -> Self {
        Self { weight_bytes: Some(bytes), ..self }
    }

    pub(super) fn map<U>(self, map: impl FnOnce(T) -> U) -> Loaded<U> {
        let Self { value, ttl, tags, weight_bytes } = self;
        Loaded { value: map(value), ttl, tags, weight_bytes }
    }
}

impl<T> From<T> for Loaded<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}
