//! Response fields that tell about the cache.

/// Response fields for operators who know them from other caches. Cache-Status (RFC 9211) has a switch of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HitHeaders {
    /// `Cache-Status: kasoku; hit; …` Default true.
    pub cache_status: bool,
    /// `X-Cache-Hit: 1` or `0`. Default false.
    pub x_cache_hit: bool,
    /// `X-Cache-Status: HIT`, `MISS`, `STALE`, `REVALIDATED`, `UPDATING`, `BYPASS`, as nginx writes it. Default false.
    pub x_cache_status: bool,
    /// `X-Request-Id`: the id of this request, as the access log has it. Default false.
    pub request_id: bool,
}

impl HitHeaders {
    /// A number for each combination.
    pub fn mark(self) -> u8 {
        let switches = [self.cache_status, self.x_cache_hit, self.x_cache_status, self.request_id];
        switches.iter().fold(0, |mark, is_on| mark << 1 | u8::from(*is_on))
    }
}

impl Default for HitHeaders {
    fn default() -> Self {
        Self { cache_status: true, x_cache_hit: false, x_cache_status: false, request_id: false }
    }
}
