//! Purges, and statistics: what the application does with its cache besides asking it.

use crate::counts::Count;
use crate::rules::is_as_sent;
use crate::shared::Shared;
use kasoku_cache::{Purge, PurgeScope};
use std::fmt;
use std::sync::Arc;

/// Purges responses of a [`CacheLayer`](crate::CacheLayer), and tells how it does. A clone is a handle of the same cache.
///
/// A purge takes effect at once. A response that was requested from the application before the purge is not stored after it.
#[derive(Clone)]
pub struct CacheHandle {
    shared: Arc<Shared>,
}

/// Why nothing is purged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PurgeError {
    /// A URI or prefix with characters that no request has: clients send them percent-encoded, and no fragment.
    #[error("{0:?} has characters that no request has: encode them, and leave out the fragment")]
    NotAsSent(String),
    /// Neither a path nor a URI with a scheme and an authority of the application.
    #[error("{0:?} is neither a path nor a URI of this application")]
    NotOurs(String),
    /// A tag without a name.
    #[error("a tag has a name")]
    EmptyTag,
}

impl CacheHandle {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Drops all variants of a page. `uri`: a path with its query, for all authorities of the application, or a whole URI; as the service with
    /// the cache sees it, which in a nested router is without the router's prefix, and percent-encoded as clients send it.
    ///
    /// # Errors
    /// The URI is not one of the application's.
    pub fn purge(&self, uri: &str) -> Result<(), PurgeError> {
        as_sent(uri)?;
        let keys = self.shared.rules.keys(&self.shared.cache, uri);
        if keys.is_empty() {
            return Err(PurgeError::NotOurs(uri.to_owned()));
        }
        for key in keys {
            // In memory alone, what is dropped is gone at once.
            let _ = self.shared.cache.invalidate(&key);
        }
        Ok(())
    }

    /// Drops all pages whose URI begins like this: with a path, for all authorities of the application, or with a whole URI up to at least
    /// the first slash of its path.
    ///
    /// # Errors
    /// No URI of the application begins like this.
    pub fn purge_prefix(&self, prefix: &str) -> Result<(), PurgeError> {
        as_sent(prefix)?;
        let not_ours = || PurgeError::NotOurs(prefix.to_owned());
        let prefixes = self.shared.rules.prefixes(prefix);
        if prefixes.is_empty() {
            return Err(not_ours());
        }
        prefixes.iter().try_for_each(|prefix| self.purge_scope(PurgeScope::Prefix(prefix)).ok_or_else(not_ours))
    }

    /// Drops all pages with this tag: see [`CacheBuilder::tags`](crate::CacheBuilder::tags).
    ///
    /// # Errors
    /// The tag is empty.
    pub fn purge_tag(&self, tag: &str) -> Result<(), PurgeError> {
        // Without templates of tags, all tags belong to the site without a name.
        self.purge_scope(PurgeScope::Tag("", tag)).ok_or(PurgeError::EmptyTag)
    }

    /// Drops everything.
    pub fn purge_all(&self) {
        // This scope is always a valid one.
        let _ = self.purge_scope(PurgeScope::All);
    }

    /// How the cache does.
    pub fn statistics(&self) -> Statistics {
        let Shared { cache, counts, .. } = &*self.shared;
        Statistics {
            hits: counts.sum(Count::Hits),
            misses: counts.sum(Count::Misses),
            collapsed: counts.sum(Count::Collapsed),
            passes: counts.sum(Count::Passes),
            refreshes: counts.sum(Count::Refreshes),
            stored: counts.sum(Count::Stored),
            evicted: cache.evicted().values,
            fills: cache.fills_running(),
            keys: cache.len(),
            used_bytes: cache.used_bytes(),
            held_bytes: cache.held_bytes(),
            memory_bytes: cache.memory_bytes_max(),
        }
    }

    fn purge_scope(&self, scope: PurgeScope<'_>) -> Option<()> {
        let _ = self.shared.cache.purge_all_of(scope, Purge::Hard, self.shared.now()).ok()?;
        Some(())
    }
}

fn as_sent(uri: &str) -> Result<(), PurgeError> {
    is_as_sent(uri).then_some(()).ok_or_else(|| PurgeError::NotAsSent(uri.to_owned()))
}

impl fmt::Debug for CacheHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CacheHandle").finish_non_exhaustive()
    }
}

/// How a cache does. The counts begin with the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Requests that were answered by what was stored, stale or not, without a call to the application.
    pub hits: u64,
    /// Requests that called the application for a response that may be shared.
    pub misses: u64,
    /// Requests that got what another request's call has brought.
    pub collapsed: u64,
    /// Requests that went to the application as they came.
    pub passes: u64,
    /// Calls to the application for which no client waited alone: refreshes of stale responses, and second tries after a failure.
    pub refreshes: u64,
    /// Responses that were stored.
    pub stored: u64,
    /// Responses that were dropped for lack of memory.
    pub evicted: u64,
    /// Calls to the application for responses that may be shared which run at present.
    pub fills: usize,
    /// URIs with at least one stored response.
    pub keys: usize,
    /// What stored responses use, in bytes.
    pub used_bytes: u64,
    /// What all responses use, in bytes: also those on their way, and dropped ones that clients still read.
    pub held_bytes: u64,
    /// The most that they may use, in bytes.
    pub memory_bytes: u64,
}
