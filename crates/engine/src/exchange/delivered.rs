//! How sending a response to the client ended.

use http::StatusCode;
use kasoku_origin::Tunnel;
use kasoku_semantics::cache_status::CacheStatus;
use kasoku_semantics::reason::Reason;

/// How a delivery ended.
pub(crate) struct Delivered {
    pub(crate) status: StatusCode,
    /// Bytes of content, without framing.
    pub(crate) body_bytes: u64,
    /// Whether the client got the whole answer.
    pub(crate) is_whole: bool,
    /// Whether the connection can carry another request, as far as the response is concerned.
    pub(crate) keeps_alive: bool,
    /// What the cache did; `None`: it was not asked.
    pub(crate) cache: Option<CacheStatus>,
    /// Why the answer is an error of our own.
    pub(crate) error: Option<Reason>,
    /// Whether the answer was to be stored, where the client left or was cut before that was done.
    pub(crate) was_meant_for_cache: bool,
    /// The tunnel that follows a 101.
    pub(crate) tunnel: Option<Tunnel>,
}

impl Delivered {
    /// The end of an answer that was cut before anything of it was sent.
    pub(crate) fn cut(status: StatusCode) -> Self {
        Self {
            status,
            body_bytes: 0,
            is_whole: false,
            keeps_alive: false,
            cache: None,
            error: None,
            was_meant_for_cache: false,
            tunnel: None,
        }
    }
}
