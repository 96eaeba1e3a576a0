//! The application's handle of its cache: it purges responses, and reads the statistics.

use crate::counts::Count;
use crate::rules::is_as_sent;
use crate::shared::Shared;
use kasoku_cache::{Purge, PurgeScope};
use std::fmt;
use std::sync::Arc;

/// Purges responses of a [`CacheLayer`](crate::CacheLayer), and reads its statistics. A clone is a handle of the same cache.
///
/// A purge takes effect at once. A response that was requested from the application before the purge is not stored after the purge.
#[derive(Clone)]
pub struct CacheHandle {
    shared: Arc<Shared>,
}

/// Why nothing is purged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PurgeError {
    /// A URI or prefix with characters that no request has. Clients send such characters percent-encoded, and do not send fragments.
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

    /// Drops all variants of a page. `uri` is a path with its query, for all authorities of the application, or a whole URI. It is spelled as
    /// the service with the cache sees it: percent-encoded, as clients send it, and in a nested router without the router's prefix.
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
            // The layer stores in memory only, where a purge is complete at once.
            let _ = self.shared.cache.invalidate(&key);
        }
        Ok(())
    }

    /// Drops all pages whose URI begins with `prefix`: the beginning of a path, for all authorities of the application, or of a whole URI, with
    /// at least the first slash of its path.
    ///
    /// # Errors
    /// No URI of the application begins with `prefix`.
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
        // The layer has no sites: all its tags belong to a site whose name is empty.
        self.purge_scope(PurgeScope::Tag("", tag)).ok_or(PurgeError::EmptyTag)
    }

    /// Drops all responses.
    pub fn purge_all(&self) {
        // This scope is always valid.
        let _ = self.purge_scope(PurgeScope::All);
    }

    /// The statistics of the cache.
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

/// The statistics of a cache. It counts from when it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Requests that a stored response answered, stale or not, without a call to the application.
    pub hits: u64,
    /// Requests that called the application for a response that may be shared.
    pub misses: u64,
    /// Requests that were answered with the response to another request's call.
    pub collapsed: u64,
    /// Requests that went to the application unchanged.
    pub passes: u64,
    /// Calls to the application for which no client waited alone: refreshes of stale responses, and second tries after a failure.
    pub refreshes: u64,
    /// Responses that were stored.
    pub stored: u64,
    /// Responses that were dropped for lack of memory.
    pub evicted: u64,
    /// Calls to the application that run at present, for responses that may be shared.
    pub fills: usize,
    /// URIs with at least one stored response.
    pub keys: usize,
    /// The memory of stored responses, in bytes.
    pub used_bytes: u64,
    /// The memory of all responses, in bytes: also of those on their way, and of dropped ones that clients still read.
    pub held_bytes: u64,
    /// The bound of `held_bytes`: see [`CacheBuilder::memory_bytes`](crate::CacheBuilder::memory_bytes).
    pub memory_bytes: u64,
}
