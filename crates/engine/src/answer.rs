//! What a request gets: found, fetched or refused, before it is bytes.

use crate::error::Fault;
use crate::request::respond;
use http::StatusCode;
use kasoku_cache::{Entry, FillReader, Meta};
use kasoku_origin::Response;
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
    Origin(Box<Response>, Conditions, CacheStatus),
    /// The origin has switched protocols.
    Switched(Box<Response>),
    /// A failure, of whomever.
    Own(Fault, Option<CacheStatus>),
    /// OPTIONS that may not be forwarded any more.
    Options,
    /// What came of a PURGE.
    Purged(StatusCode, String),
    /// Nothing: the client has left.
    ClientGone(CacheStatus, Meant),
}

/// What a request was to be, of which nobody will know what it would have been.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meant {
    /// Its answer would have been stored, if it may be.
    ForTheCache,
    /// It passed.
    ForOneClient,
}

/// Who evaluates the client's conditions (If-None-Match, If-Modified-Since).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conditions {
    /// The origin got them, and has.
    Origins,
    /// They were kept from the origin, so that its answer could be stored.
    Ours,
}

impl Answer {
    /// A stored response that is used for this reason.
    pub(crate) fn hit(entry: Arc<Entry>, reason: Reason, now: Now) -> Self {
        let remaining = entry.meta.freshness.remaining(now);
        Self::Stored(entry, respond::hit(reason, remaining))
    }
}
