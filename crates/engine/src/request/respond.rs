//! What the response fields say about what the cache did. `door/head.rs` writes them.

use kasoku_options::HitHeaders;
use kasoku_semantics::cache_status::{CacheStatus, Fwd};
use kasoku_semantics::reason::Reason;

/// The status of a request that is refused: neither the cache nor an origin was asked.
pub(crate) fn refused() -> CacheStatus {
    CacheStatus { detail: Some(Reason::RefusedUrl), ..CacheStatus::default() }
}

/// Fields of a cache between us and the origin that our own fields replace. (Cache-Status is a list: each cache adds to it.)
pub(crate) fn replaced_fields(settings: HitHeaders) -> [&'static str; 3] {
    [
        if settings.x_cache_hit { "x-cache-hit" } else { "" },
        if settings.x_cache_status { "x-cache-status" } else { "" },
        // Otherwise a hit would carry the id of the request that stored the response.
        if settings.request_id { "x-request-id" } else { "" },
    ]
}

/// The word of nginx's `$upstream_cache_status` for that.
pub(crate) fn nginx_word(status: &CacheStatus) -> &'static str {
    match (status.hit, status.detail, status.fwd) {
        (true, Some(Reason::HitStaleWhileRevalidate), _) => "UPDATING",
        (true, Some(Reason::HitStaleError | Reason::HitStaleDisconnected | Reason::HitMaxStale), _) => "STALE",
        (true, ..) => "HIT",
        (false, Some(Reason::Revalidated), _) => "REVALIDATED",
        (false, _, Some(Fwd::Bypass | Fwd::Method | Fwd::Request)) => "BYPASS",
        (false, _, Some(Fwd::Stale)) => "EXPIRED",
        (false, ..) => "MISS",
    }
}
