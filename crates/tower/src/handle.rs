//! The application's handle of its cache: it purges responses, and reads the statistics.

use crate::counts::Count;
use crate::removals::{Removed, removed};
use crate::rules::is_as_sent;
use crate::shared::Shared;
#[cfg(feature = "disk")]
use kasoku_cache::disk::DiskStatus;
#[cfg(feature = "peers")]
use kasoku_cache::purge_exchange::PeersStatus;
#[cfg(feature = "shared")]
use kasoku_cache::shared::TierStatus;
use kasoku_cache::{Invalidated, Purge, PurgeScope, Purged};
use std::fmt;
use std::sync::Arc;

/// Purges responses of a [`CacheLayer`](crate::CacheLayer), and reads its statistics. A clone is a handle of the same cache.
///
/// A purge takes effect at once in this process, when it is called. A response that was requested from the application before the purge is not
/// stored after it. The future of a purge ends when no dropped response can come back from the disk, and other processes can know of the
/// purge: when each server of the shared tier, or each peer, that can be reached has it, or after a second. In memory alone, it is ready at
/// once. With a disk tier, a shared tier or peers, await it on a runtime of tokio with a timer: elsewhere the wait would have no bound, so it does
/// not begin, and with a disk tier the purge is [`PurgeError::Uncertain`].
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
    /// It was purged, and the next start may undo that, for this reason.
    #[error("it was purged, and the next start may undo that: {0}")]
    Uncertain(String),
}

impl CacheHandle {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Drops all variants of a page. `uri` is a path with its query, for all authorities of the application, or a whole URI. It is spelled as
    /// the service with the cache sees it: percent-encoded, as clients send it, and in a nested router without the router's prefix.
    ///
    /// # Errors
    /// The URI is not one of the application's. Or the disk can't note the purge.
    pub fn purge(&self, uri: &str) -> impl Future<Output = Result<Purged, PurgeError>> + Send + use<> {
        self.purged(self.drop_uri(uri))
    }

    /// Drops all pages whose URI begins with `prefix`: the beginning of a path, for all authorities of the application, or of a whole URI, with
    /// at least the first slash of its path.
    ///
    /// # Errors
    /// No URI of the application begins with `prefix`. Or the disk can't note the purge.
    pub fn purge_prefix(&self, prefix: &str) -> impl Future<Output = Result<Purged, PurgeError>> + Send + use<> {
        self.purged(self.drop_prefix(prefix))
    }

    /// Drops all pages with this tag: see [`CacheBuilder::tags`](crate::CacheBuilder::tags).
    ///
    /// # Errors
    /// The tag is empty. Or the disk can't note the purge.
    pub fn purge_tag(&self, tag: &str) -> impl Future<Output = Result<Purged, PurgeError>> + Send + use<> {
        // The layer has no sites: all its tags belong to a site whose name is empty.
        self.purged(self.drop_scope(PurgeScope::Tag("", tag)).ok_or(PurgeError::EmptyTag))
    }

    /// Drops all responses.
    ///
    /// # Errors
    /// The disk can't note the purge.
    pub fn purge_all(&self) -> impl Future<Output = Result<Purged, PurgeError>> + Send + use<> {
        // This scope is always valid.
        self.purged(Ok(self.drop_scope(PurgeScope::All).unwrap_or_default()))
    }

    /// What the shared tier does; `None` where there is none.
    #[cfg(feature = "shared")]
    pub fn shared_status(&self) -> Option<TierStatus> {
        self.shared.cache.shared_status()
    }

    /// What the peers do; `None` where there are none.
    #[cfg(feature = "peers")]
    pub fn peers_status(&self) -> Option<PeersStatus> {
        self.shared.cache.peers_status()
    }

    /// What the disk tier holds and does; `None` where there is none.
    #[cfg(feature = "disk")]
    pub fn disk_status(&self) -> Option<DiskStatus> {
        self.shared.cache.disk_status()
    }

    /// Ends the disk tier: what waits is written, and another process may use the directory. The cache goes on without it, and further purges
    /// are errors, since the disk can't note them.
    ///
    /// Waits for the disk and blocks its thread: in an asynchronous program, call it after the server has ended, or by tokio's
    /// `spawn_blocking`. The same happens when the last of layer, services and handles is dropped. A process that ends without either, or
    /// is killed, loses the responses that waited to be written, and no purge that has returned.
    #[cfg(feature = "disk")]
    pub fn stop_disk(&self) {
        self.shared.cache.stop_disk();
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
            #[cfg(feature = "shared")]
            shared_hits: counts.sum(Count::SharedHits),
            #[cfg(feature = "shared")]
            shared_stored: counts.sum(Count::SharedStored),
            #[cfg(feature = "shared")]
            shared_refused: counts.sum(Count::SharedRefused),
            evicted: cache.evicted().values,
            fills: cache.fills_running(),
            keys: cache.len(),
            used_bytes: cache.used_bytes(),
            held_bytes: cache.held_bytes(),
            memory_bytes: cache.memory_bytes_max(),
        }
    }

    fn drop_uri(&self, uri: &str) -> Result<Invalidated, PurgeError> {
        as_sent(uri)?;
        let keys = self.shared.rules.keys(&self.shared.cache, uri);
        if keys.is_empty() {
            return Err(PurgeError::NotOurs(uri.to_owned()));
        }
        let mut dropped = Invalidated::default();
        keys.iter().for_each(|key| dropped.add(self.shared.cache.invalidate(key)));
        Ok(dropped)
    }

    fn drop_prefix(&self, prefix: &str) -> Result<Invalidated, PurgeError> {
        as_sent(prefix)?;
        let not_ours = || PurgeError::NotOurs(prefix.to_owned());
        let prefixes = self.shared.rules.prefixes(prefix);
        if prefixes.is_empty() {
            return Err(not_ours());
        }
        let mut dropped = Invalidated::default();
        for prefix in prefixes {
            dropped.add(self.drop_scope(PurgeScope::Prefix(&prefix)).ok_or_else(not_ours)?);
        }
        Ok(dropped)
    }

    fn drop_scope(&self, scope: PurgeScope<'_>) -> Option<Invalidated> {
        self.shared.cache.purge_all_of(scope, Purge::Hard, self.shared.now()).ok()
    }

    /// Waits until what was dropped can't come back, and the others can know of it.
    fn purged(
        &self,
        dropped: Result<Invalidated, PurgeError>,
    ) -> impl Future<Output = Result<Purged, PurgeError>> + Send + use<> {
        let cache = self.shared.cache.clone();
        async move {
            let Removed { certain, is_told } = removed(dropped?).await;
            certain.map_err(PurgeError::Uncertain)?;
            Ok(cache.purged(is_told))
        }
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
    /// Requests whose response was in the shared tier: neither in `hits` nor in `misses`.
    #[cfg(feature = "shared")]
    pub shared_hits: u64,
    /// Responses that were written to the shared tier.
    #[cfg(feature = "shared")]
    pub shared_stored: u64,
    /// Responses that were stored here and not written there: they were not fresh or not in memory, a server was away or too slow, or too many
    /// responses waited.
    #[cfg(feature = "shared")]
    pub shared_refused: u64,
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
