//! Writes Kasoku's member of the Cache-Status field (RFC 9211).

use crate::Reason;

/// Why a request went on to the origin (RFC 9211 section 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fwd {
    /// The cache was configured not to handle the request.
    Bypass,
    /// The method's semantics require it.
    Method,
    /// Nothing is stored for the URI.
    UriMiss,
    /// Something is stored, but no variant that fits.
    VaryMiss,
    /// Nothing that fits is stored.
    Miss,
    /// Something fresh is stored, but the request's directives or conditions demand the origin.
    Request,
    /// What is stored is stale.
    Stale,
    /// Only parts are stored.
    Partial,
}

impl Fwd {
    /// The kind of reason for which a request is forwarded.
    fn of(reason: Reason) -> Self {
        match reason {
            Reason::UriMiss
            | Reason::Purged
            | Reason::Invalidated
            | Reason::KeepExceeded
            | Reason::RulesChanged
            | Reason::SendfileChanged
            | Reason::HitForMiss => Self::UriMiss,
            Reason::VaryMiss => Self::VaryMiss,
            Reason::PartialMiss => Self::Partial,
            Reason::Stale | Reason::StaleNoCache | Reason::StaleMustRevalidate | Reason::NoLifetime => Self::Stale,
            Reason::ClientNoCache
            | Reason::ClientMaxAge
            | Reason::ClientMinFresh
            | Reason::RequestNoStore
            | Reason::OriginCondition
            | Reason::IfRangeMiss
            | Reason::RequestBodyOnGet
            | Reason::HeadOnly => Self::Request,
            Reason::Method => Self::Method,
            Reason::PassRule
            | Reason::PassUrl
            | Reason::PassParameter
            | Reason::PassTagValue
            | Reason::PageTextMissing
            | Reason::PersonalPage
            | Reason::AddressInResponse
            | Reason::EndlessStream
            | Reason::LeakGuard
            | Reason::LeakGuardToken
            | Reason::LeakGuardUnconfirmed
            | Reason::LeakGuardPending
            | Reason::PassSession
            | Reason::PassCredentialInUrl
            | Reason::PassAuthorization
            | Reason::PassCookie
            | Reason::PassField
            | Reason::VaryUnseen
            | Reason::Upgrade => Self::Bypass,
            _ => Self::Miss,
        }
    }

    /// The token of RFC 9211.
    pub fn token(self) -> &'static str {
        match self {
            Self::Bypass => "bypass",
            Self::Method => "method",
            Self::UriMiss => "uri-miss",
            Self::VaryMiss => "vary-miss",
            Self::Miss => "miss",
            Self::Request => "request",
            Self::Stale => "stale",
            Self::Partial => "partial",
        }
    }
}

/// How the cache handled a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStatus {
    /// Answered from the cache without the origin; excludes `fwd`.
    pub hit: bool,
    /// Why the request went to the origin.
    pub fwd: Option<Fwd>,
    /// The status that the origin answered with, where it differs from the client's.
    pub fwd_status: Option<u16>,
    /// Whether the origin's response was stored.
    pub stored: bool,
    /// Whether the request joined another request's fill.
    pub collapsed: bool,
    /// The freshness left, in seconds; negative when stale.
    pub ttl: Option<i64>,
    /// Why the cache did this.
    pub detail: Option<Reason>,
}

impl CacheStatus {
    /// The status of a request that a stored response answers without the origin, for this reason. `ttl`: the freshness left, in seconds.
    pub fn of_hit(reason: Reason, ttl: i64) -> Self {
        Self { hit: true, ttl: Some(ttl), detail: Some(reason), ..Self::default() }
    }

    /// The status of a request for which the origin is asked, for this reason.
    pub fn forwarded(reason: Reason) -> Self {
        Self { fwd: Some(Fwd::of(reason)), detail: Some(reason), ..Self::default() }
    }

    /// The status of a request that waits for another request's fill. `reason`: why no stored response answers it.
    pub fn joined(reason: Reason) -> Self {
        Self { collapsed: true, detail: Some(Reason::Collapsed), ..Self::forwarded(reason) }
    }

    /// Appends the member, as `cache_name` (a token): `kasoku; hit; ttl=12; detail=hit`.
    pub fn write(&self, cache_name: &str, out: &mut Vec<u8>) {
        out.extend_from_slice(cache_name.as_bytes());
        if self.hit {
            out.extend_from_slice(b"; hit");
        } else if let Some(fwd) = self.fwd {
            out.extend_from_slice(b"; fwd=");
            out.extend_from_slice(fwd.token().as_bytes());
        }
        if let Some(status) = self.fwd_status {
            out.extend_from_slice(b"; fwd-status=");
            out.extend_from_slice(itoa::Buffer::new().format(status).as_bytes());
        }
        if self.stored {
            out.extend_from_slice(b"; stored");
        }
        if self.collapsed {
            out.extend_from_slice(b"; collapsed");
        }
        if let Some(ttl) = self.ttl {
            out.extend_from_slice(b"; ttl=");
            out.extend_from_slice(itoa::Buffer::new().format(ttl.clamp(-INTEGER_MAX, INTEGER_MAX)).as_bytes());
        }
        if let Some(detail) = self.detail {
            out.extend_from_slice(b"; detail=");
            out.extend_from_slice(detail.id().as_bytes());
        }
    }
}

/// The largest Integer of RFC 9651 section 3.3.1.
const INTEGER_MAX: i64 = 999_999_999_999_999;

#[cfg(test)]
mod tests {
    use super::*;

    fn written(status: CacheStatus) -> String {
        let mut out = Vec::new();
        status.write("kasoku", &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_hit() {
        let status = CacheStatus { hit: true, ttl: Some(12), detail: Some(Reason::Hit), ..CacheStatus::default() };
        assert_eq!(written(status), "kasoku; hit; ttl=12; detail=hit");
    }

    #[test]
    fn a_miss() {
        let status = CacheStatus {
            fwd: Some(Fwd::UriMiss),
            fwd_status: Some(200),
            stored: true,
            collapsed: true,
            ttl: Some(-3),
            ..CacheStatus::default()
        };
        assert_eq!(written(status), "kasoku; fwd=uri-miss; fwd-status=200; stored; collapsed; ttl=-3");
    }

    #[test]
    fn numbers_stay_within_structured_fields() {
        let status = CacheStatus { ttl: Some(i64::MIN), ..CacheStatus::default() };
        assert_eq!(written(status), "kasoku; ttl=-999999999999999");
    }
}
