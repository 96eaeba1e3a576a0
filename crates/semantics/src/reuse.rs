//! Decides whether a stored response may be used now (RFC 9111 section 4), and when it may be used although it is stale (section
//! 4.2.4, RFC 5861).
//!
//! The rules apply in this order: what the origin forbids, what the client refuses, freshness, permission to serve stale. The
//! client's wishes are advice (section 5.2.1); the policy says whether they count.

use crate::{Freshness, LifetimeSource, Now, Policy, Reason, RequestDirectives};
use http::StatusCode;

/// What to do with a stored response that fits the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// Serve it.
    Fresh,
    /// Serve it stale without asking the origin: the client permits it.
    Stale(Reason),
    /// Serve it stale, and refresh it in the background.
    StaleWhileRevalidate,
    /// Validate it with the origin first.
    Validate(Reason),
}

/// Decides what to do with a stored response that fits the request.
pub fn reuse(freshness: &Freshness, directives: &RequestDirectives, policy: &Policy, now: Now) -> Reuse {
    //= RFC 9111 section 4
    //# When presented with a request, a cache MUST NOT reuse a stored response unless:
    //= RFC 9111 section 5.2.2.4
    //# The no-cache response directive, in its unqualified form (without an argument), indicates that the response MUST
    //# NOT be used to satisfy any other request without forwarding it for validation and receiving a successful
    //# response; see Section 4.3.
    if freshness.no_cache {
        return Reuse::Validate(Reason::StaleNoCache);
    }
    if policy.client_may_revalidate
        && let Some(reason) = client_refuses(freshness, directives, now)
    {
        return Reuse::Validate(reason);
    }
    if freshness.is_fresh(now) {
        return Reuse::Fresh;
    }
    if let Err(reason) = may_be_stale(freshness) {
        return Reuse::Validate(reason);
    }
    //= RFC 9111 section 4.2.4
    //# A cache MUST NOT generate a stale response unless it is disconnected or doing so is explicitly permitted by the
    //# client or origin server
    let staleness = freshness.staleness(now);
    if directives.max_stale.is_some_and(|accepted| staleness <= accepted) {
        return Reuse::Stale(Reason::HitMaxStale);
    }
    let client_insists = policy.client_may_revalidate && directives.max_age.is_some();
    if staleness < freshness.stale_while_revalidate && !client_insists {
        return Reuse::StaleWhileRevalidate;
    }
    Reuse::Validate(Reason::Stale)
}

/// How the origin failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OriginFailure {
    /// It could not be reached, or did not answer: "disconnected" in the words of RFC 9111.
    Disconnected,
    /// It answered with an error.
    ServerError(StatusCode),
}

/// Whether a stored response may be served instead of a failure: `Ok` says why it may, `Err` why it may not.
pub fn stale_on_failure(
    freshness: &Freshness,
    directives: &RequestDirectives,
    failure: OriginFailure,
    policy: &Policy,
    now: Now,
) -> Result<Reason, Reason> {
    //= RFC 9111 section 5.2.2.2
    //# In all circumstances, a cache MUST NOT ignore the must-revalidate directive; in particular, if a cache is
    //# disconnected, the cache MUST generate an error response rather than reuse the stale response.
    may_be_stale(freshness)?;
    let staleness = freshness.staleness(now);
    if counts_as_error(failure) {
        let clients = directives.stale_if_error.unwrap_or(0);
        if staleness < freshness.stale_if_error || staleness < clients {
            return Ok(Reason::HitStaleError);
        }
    }
    if policy.client_may_revalidate
        && let Some(reason) = client_refuses(freshness, directives, now)
    {
        return Err(reason);
    }
    // The response's own stale-if-error also limits how long it is served while the origin is unreachable (RFC 5861 section 4:
    // "SHOULD NOT").
    let is_allowed = failure == OriginFailure::Disconnected && !freshness.has_stale_if_error;
    if is_allowed && staleness < policy.stale_disconnected_seconds {
        return Ok(Reason::HitStaleDisconnected);
    }
    Err(Reason::Stale)
}

/// Whether the response may be served stale at all; if not, no wish of the client changes that. `Err`: it needs validation, or it
/// has no lifetime.
//= RFC 9111 section 4.2.4
//# A cache MUST NOT generate a stale response if it is prohibited by an explicit in-protocol directive (e.g., by a
//# no-cache response directive, a must-revalidate response directive, or an applicable s-maxage or proxy-revalidate
//# response directive; see Section 5.2.2).
fn may_be_stale(freshness: &Freshness) -> Result<(), Reason> {
    if freshness.no_cache {
        return Err(Reason::StaleNoCache);
    }
    //= RFC 9111 section 5.2.2.2
    //# The must-revalidate response directive indicates that once the response has become stale, a cache MUST NOT reuse
    //# that response to satisfy another request until it has been successfully validated by the origin, as defined by
    //# Section 4.3.
    //= RFC 9111 section 5.2.2.8
    //# The proxy-revalidate response directive indicates that once the response has become stale, a shared cache MUST NOT
    //# reuse that response to satisfy another request until it has been successfully validated by the origin, as defined
    //# by Section 4.3.
    //= RFC 9111 section 5.2.2.10
    //# A shared cache MUST NOT reuse a stale response with s-maxage to satisfy another request until it has been
    //# successfully validated by the origin, as defined by Section 4.3.
    if freshness.must_revalidate {
        return Err(Reason::StaleMustRevalidate);
    }
    if freshness.source == LifetimeSource::None {
        return Err(Reason::NoLifetime);
    }
    Ok(())
}

/// Why the client refuses the stored response, if it does.
fn client_refuses(freshness: &Freshness, directives: &RequestDirectives, now: Now) -> Option<Reason> {
    if directives.no_cache {
        return Some(Reason::ClientNoCache);
    }
    // max-age=0 is how a browser's reload button says no-cache, so it also refuses a response of age 0.
    if directives.max_age.is_some_and(|oldest| oldest == 0 || freshness.age(now) > oldest) {
        return Some(Reason::ClientMaxAge);
    }
    let remaining = u64::try_from(freshness.remaining(now)).unwrap_or(0);
    directives.min_fresh.is_some_and(|wanted| remaining < wanted).then_some(Reason::ClientMinFresh)
}

/// Whether RFC 5861 section 4 counts the failure as an error: these statuses do, and so does a missing answer.
fn counts_as_error(failure: OriginFailure) -> bool {
    match failure {
        OriginFailure::Disconnected => true,
        OriginFailure::ServerError(status) => matches!(status.as_u16(), 500 | 502 | 503 | 504),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request_directives;
    use crate::testing::{cached, fresh, get, later, ok, rfc, safe};

    fn asked(cache_control: &str) -> RequestDirectives {
        request_directives(&get().with("Cache-Control", cache_control).fields)
    }

    /// The decision `seconds` after a response with Cache-Control `response` was stored.
    fn after(seconds: u64, response: &str, request: &str, policy: &Policy) -> Reuse {
        reuse(&fresh(&cached(response), policy), &asked(request), policy, later(seconds))
    }

    fn failing(failure: OriginFailure, seconds: u64, response: &str, policy: &Policy) -> Result<Reason, Reason> {
        let freshness = fresh(&cached(response), policy);
        stale_on_failure(&freshness, &RequestDirectives::default(), failure, policy, later(seconds))
    }

    const UNAVAILABLE: OriginFailure = OriginFailure::ServerError(StatusCode::SERVICE_UNAVAILABLE);

    #[test]
    fn a_stale_response_is_validated() {
        //= RFC 9111 section 4
        //# When presented with a request, a cache MUST NOT reuse a stored response unless:
        //= RFC 9111 section 4.2.4
        //# A cache MUST NOT generate a stale response unless it is disconnected or doing so is explicitly permitted by the
        //# client or origin server
        assert_eq!(after(9, "max-age=10", "", &rfc()), Reuse::Fresh);
        assert_eq!(after(10, "max-age=10", "", &rfc()), Reuse::Validate(Reason::Stale));
    }

    #[test]
    fn no_cache_is_validated_even_when_fresh() {
        //= RFC 9111 section 5.2.2.4
        //# The no-cache response directive, in its unqualified form (without an argument), indicates that the response MUST
        //# NOT be used to satisfy any other request without forwarding it for validation and receiving a successful
        //# response; see Section 4.3.
        assert_eq!(after(0, "max-age=10, no-cache", "max-stale", &rfc()), Reuse::Validate(Reason::StaleNoCache));
        assert_eq!(after(0, "max-age=10, no-cache=\"a\"", "", &rfc()), Reuse::Fresh);
    }

    #[test]
    fn nothing_lifts_what_the_origin_forbids() {
        //= RFC 9111 section 4.2.4
        //# A cache MUST NOT generate a stale response if it is prohibited by an explicit in-protocol directive (e.g., by a
        //# no-cache response directive, a must-revalidate response directive, or an applicable s-maxage or proxy-revalidate
        //# response directive; see Section 5.2.2).
        //= RFC 9111 section 5.2.2.2
        //# The must-revalidate response directive indicates that once the response has become stale, a cache MUST NOT reuse
        //# that response to satisfy another request until it has been successfully validated by the origin, as defined by
        //# Section 4.3.
        //= RFC 9111 section 5.2.2.2
        //# In all circumstances, a cache MUST NOT ignore the must-revalidate directive; in particular, if a cache is
        //# disconnected, the cache MUST generate an error response rather than reuse the stale response.
        //= RFC 9111 section 5.2.2.8
        //# The proxy-revalidate response directive indicates that once the response has become stale, a shared cache MUST NOT
        //# reuse that response to satisfy another request until it has been successfully validated by the origin, as defined
        //# by Section 4.3.
        //= RFC 9111 section 5.2.2.10
        //# A shared cache MUST NOT reuse a stale response with s-maxage to satisfy another request until it has been
        //# successfully validated by the origin, as defined by Section 4.3.
        for forbidding in ["must-revalidate, max-age=2", "proxy-revalidate, max-age=2", "s-maxage=2"] {
            let response = format!("{forbidding}, stale-while-revalidate=60, stale-if-error=60");
            let expected = Reason::StaleMustRevalidate;
            assert_eq!(after(1, &response, "", &rfc()), Reuse::Fresh);
            assert_eq!(after(3, &response, "max-stale", &rfc()), Reuse::Validate(expected), "{response}");
            assert_eq!(failing(OriginFailure::Disconnected, 3, &response, &safe()), Err(expected), "{response}");
            assert_eq!(failing(UNAVAILABLE, 3, &response, &safe()), Err(expected), "{response}");
        }
    }

    #[test]
    fn stale_while_revalidate_has_an_end() {
        let response = "max-age=10, stale-while-revalidate=5";
        assert_eq!(after(14, response, "", &safe()), Reuse::StaleWhileRevalidate);
        assert_eq!(after(15, response, "", &safe()), Reuse::Validate(Reason::Stale));
        assert_eq!(after(14, response, "max-age=60", &rfc()), Reuse::Validate(Reason::Stale));
    }

    #[test]
    fn the_client_may_accept_a_stale_response() {
        assert_eq!(after(15, "max-age=10", "max-stale=5", &safe()), Reuse::Stale(Reason::HitMaxStale));
        assert_eq!(after(16, "max-age=10", "max-stale=5", &safe()), Reuse::Validate(Reason::Stale));
        assert_eq!(after(999, "max-age=10", "max-stale", &safe()), Reuse::Stale(Reason::HitMaxStale));
    }

    #[test]
    fn the_client_may_refuse_a_fresh_response_where_the_policy_lets_it() {
        for (request, reason) in [
            ("no-cache", Reason::ClientNoCache),
            ("max-age=0", Reason::ClientMaxAge),
            ("max-age=4", Reason::ClientMaxAge),
            ("min-fresh=96", Reason::ClientMinFresh),
        ] {
            assert_eq!(after(5, "max-age=100", request, &rfc()), Reuse::Validate(reason), "{request}");
            assert_eq!(after(5, "max-age=100", request, &safe()), Reuse::Fresh, "{request}");
        }
        assert_eq!(after(5, "max-age=100", "max-age=5, min-fresh=95", &rfc()), Reuse::Fresh);
        assert_eq!(after(0, "max-age=100", "max-age=0", &rfc()), Reuse::Validate(Reason::ClientMaxAge));
    }

    #[test]
    fn stale_if_error_covers_errors_and_silence() {
        let response = "max-age=10, stale-if-error=60";
        for failure in [OriginFailure::Disconnected, UNAVAILABLE] {
            assert_eq!(failing(failure, 69, response, &safe()), Ok(Reason::HitStaleError));
            assert_eq!(failing(failure, 70, response, &safe()), Err(Reason::Stale));
        }
        let not_found = OriginFailure::ServerError(StatusCode::NOT_FOUND);
        assert_eq!(failing(not_found, 11, response, &safe()), Err(Reason::Stale));
    }

    #[test]
    fn an_origin_that_is_away_is_stood_in_for_but_an_error_is_not() {
        assert_eq!(failing(OriginFailure::Disconnected, 60, "max-age=10", &safe()), Ok(Reason::HitStaleDisconnected));
        assert_eq!(failing(UNAVAILABLE, 60, "max-age=10", &safe()), Err(Reason::Stale));
        assert_eq!(failing(OriginFailure::Disconnected, 10 + 86_400, "max-age=10", &safe()), Err(Reason::Stale));
    }

    #[test]
    fn the_client_may_ask_for_stale_if_error() {
        let freshness = fresh(&cached("max-age=10"), &rfc());
        let asked = asked("no-cache, stale-if-error=60");
        let outcome = stale_on_failure(&freshness, &asked, UNAVAILABLE, &rfc(), later(20));
        assert_eq!(outcome, Ok(Reason::HitStaleError));
    }

    #[test]
    fn without_a_lifetime_there_is_nothing_to_stretch() {
        let freshness = fresh(&ok().with("ETag", "\"a\""), &rfc());
        assert_eq!(reuse(&freshness, &asked("max-stale"), &rfc(), later(1)), Reuse::Validate(Reason::NoLifetime));
    }
}
