//! The answer to a request, before it is serialised: stored, being fetched, from the origin, or synthetic.

use crate::error::Fault;
use crate::origin_client::Response;
use http::StatusCode;
use kasoku_cache::disk::OpenEntry;
use kasoku_cache::{Entry, FillReader, Meta};
use kasoku_semantics::cache_status::CacheStatus;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::time::Now;
use std::sync::Arc;

/// The answer to a request.
pub(crate) enum Answer {
    /// A stored response.
    Stored(Arc<Entry>, CacheStatus),
    /// A stored response whose body is on disk.
    OnDisk(Box<OpenEntry>, CacheStatus),
    /// A response that is being filled.
    Filling(Arc<Meta>, FillReader, CacheStatus),
    /// The origin's response, for this client alone.
    Origin(Box<Response>, ConditionEvaluator, CacheStatus),
    /// The origin has switched protocols.
    Switched(Box<Response>),
    /// An error that Kasoku itself answers, whichever party is at fault.
    Synthetic(Fault, Option<CacheStatus>),
    /// The answer to OPTIONS that may be forwarded no further (Max-Forwards).
    Options,
    /// The result of a PURGE.
    Purged(StatusCode, String),
    /// No answer: the client has left.
    ClientGone(CacheStatus, IntendedUse),
}

/// How a request is counted whose client left before the outcome was known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IntendedUse {
    /// As a miss: its answer was to be stored, if possible.
    Cacheable,
    /// As a pass.
    Pass,
}

/// Whether the origin or the cache evaluates the client's conditions (If-None-Match, If-Modified-Since).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConditionEvaluator {
    /// The origin got the conditions, and has evaluated them.
    Origin,
    /// The origin did not get the conditions, so that its answer could be stored.
    Cache,
}

impl Answer {
    /// A hit with a stored response, for this reason.
    pub(crate) fn hit(entry: Arc<Entry>, reason: Reason, now: Now) -> Self {
        let remaining = entry.meta.freshness.remaining(now);
        Self::Stored(entry, CacheStatus::of_hit(reason, remaining))
    }
}
