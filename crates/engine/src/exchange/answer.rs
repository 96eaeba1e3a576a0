//! The answer to a request, before it is serialised: stored, being fetched, from the origin, or synthetic.

use crate::error::Fault;
use crate::origin_client::Response;
use crate::request::respond;
use http::StatusCode;
use kasoku_cache::{Entry, FillReader, Meta};
use kasoku_semantics::cache_status::CacheStatus;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::time::Now;
use std::sync::Arc;

/// What a request gets.
pub(crate) enum Answer {
    /// A stored response.
    Stored(Arc<Entry>, CacheStatus),
    /// A response that is being filled.
    Filling(Arc<Meta>, FillReader, CacheStatus),
    /// The origin's response, for this client alone.
    Origin(Box<Response>, ConditionEvaluator, CacheStatus),
    /// The origin has switched protocols.
    Switched(Box<Response>),
    /// A failure, of whomever.
    Synthetic(Fault, Option<CacheStatus>),
    /// OPTIONS that may not be forwarded any more.
    Options,
    /// What came of a PURGE.
    Purged(StatusCode, String),
    /// Nothing: the client has left.
    ClientGone(CacheStatus, IntendedUse),
}

/// How a request would have been counted whose client left before the outcome was known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IntendedUse {
    /// Its answer would have been stored, if it may be.
    Cacheable,
    /// It passed.
    Pass,
}

/// Whether the origin or the cache evaluates the client's conditions (If-None-Match, If-Modified-Since).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConditionEvaluator {
    /// The origin got them, and has.
    Origin,
    /// They were kept from the origin, so that its answer could be stored.
    Cache,
}

impl Answer {
    /// A stored response that is used for this reason.
    pub(crate) fn hit(entry: Arc<Entry>, reason: Reason, now: Now) -> Self {
        let remaining = entry.meta.freshness.remaining(now);
        Self::Stored(entry, respond::hit(reason, remaining))
    }
}
