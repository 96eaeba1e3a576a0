//! Decides whether a response may be stored (RFC 9111 section 3). No other place decides it; `Vary: *` is refused here as well.

use crate::credentials;
use crate::directives::{Directives, directives};
use crate::effective::effective;
use crate::freshness::is_heuristically_cacheable;
use crate::media_type::is_endless;
use crate::partial::part;
use crate::request::request_directives;
use crate::request_fields::unseen;
use crate::vary::{Vary, vary};
use crate::{Freshness, LifetimeSource, Policy, Reason};
use http::{Method, StatusCode};
use kasoku_wire::{RequestHead, ResponseHead};
use url::Url;

/// Whether `response` to `request` (as sent to the origin, with the client's method) may be stored; `Err` says why not. `freshness`
/// is what [`freshness`](crate::freshness::freshness) computes for this request and response.
pub fn storable(
    request: &RequestHead,
    response: &ResponseHead,
    freshness: &Freshness,
    policy: &Policy,
) -> Result<(), Reason> {
    let effective = effective(request, response, policy);
    let directives = directives(&effective, policy);
    let case = StorabilityCase { request, response: &effective, directives: &directives, freshness, policy };
    checks(&case).try_for_each(|checked| checked)
}

/// All reasons that keep `response` from being stored, in order of precedence: [`storable`] names the first. For callers that need
/// to know what else would have to change.
pub fn objections(
    request: &RequestHead,
    response: &ResponseHead,
    freshness: &Freshness,
    policy: &Policy,
) -> Vec<Reason> {
    let effective = effective(request, response, policy);
    let directives = directives(&effective, policy);
    let case = StorabilityCase { request, response: &effective, directives: &directives, freshness, policy };
    checks(&case).filter_map(Result::err).collect()
}

/// The request and the response that the rules judge.
struct StorabilityCase<'c> {
    request: &'c RequestHead,
    /// The response without what the operator overrules.
    response: &'c ResponseHead,
    directives: &'c Directives,
    freshness: &'c Freshness,
    policy: &'c Policy,
}

/// The results of the rules in order of precedence; each rule runs only when its result is taken.
//= RFC 9111 section 3
//# A cache MUST NOT store a response to a request unless:
fn checks(case: &StorabilityCase<'_>) -> impl Iterator<Item = Result<(), Reason>> {
    type StorabilityCheck = fn(&StorabilityCase<'_>) -> Result<(), Reason>;
    const BEFORE: [StorabilityCheck; 6] = [
        |case| method_allows(case.request, case.response, case.freshness),
        |case| status_allows(case.response, case.directives),
        |case| has_an_end(case.response),
        |case| request_allows(case.request),
        |case| may_be_kept(case.response, case.directives),
        |case| is_not_private(case.directives, case.policy),
    ];
    const AFTER: [StorabilityCheck; 5] = [
        |case| varies_by_fields(case.response),
        |case| varies_by_what_was_sent(case.request, case.response, case.policy),
        |case| is_cacheable(case.response, case.directives, case.freshness, case.policy),
        |case| is_shareable_error(case.response.status, case.freshness, case.policy),
        |case| is_useful(case.response, case.freshness),
    ];
    let before = BEFORE.iter().map(|check| check(case));
    let sharing = credentials::checks(case.request, case.response, case.directives, case.policy);
    before.chain(sharing).chain(AFTER.iter().map(|check| check(case)))
}

/// "the request method is understood by the cache"
fn method_allows(request: &RequestHead, response: &ResponseHead, freshness: &Freshness) -> Result<(), Reason> {
    match request.method {
        Method::GET => Ok(()),
        Method::HEAD => Err(Reason::HeadOnly),
        Method::POST if freshness.is_explicit() && names_its_target(request, response) => Ok(()),
        _ => Err(Reason::Method),
    }
}

/// "the response status code is final", and the cache understands it where `must-understand` demands that.
fn status_allows(response: &ResponseHead, directives: &Directives) -> Result<(), Reason> {
    let status = response.status;
    if status.is_informational() {
        return Err(Reason::InterimStatus);
    }
    match status {
        StatusCode::NOT_MODIFIED => return Err(Reason::StatusNotModified),
        // These statuses answer a condition, a range or a proxy's credentials, none of which is part of the key.
        StatusCode::PRECONDITION_FAILED
        | StatusCode::RANGE_NOT_SATISFIABLE
        | StatusCode::PROXY_AUTHENTICATION_REQUIRED => return Err(Reason::RequestSpecificStatus),
        //= RFC 9111 section 3.3
        //# However, a cache MUST NOT store incomplete or partial-content responses if it does not support the Range and
        //# Content-Range header fields or if it does not understand the range units used in those fields.
        StatusCode::PARTIAL_CONTENT => drop(part(response, None)?),
        _ => {}
    }
    if directives.control.must_understand && !is_understood(status) {
        return Err(Reason::MustUnderstand);
    }
    Ok(())
}

/// Refuses endless streams, whatever lifetime is granted or stated: a request that joined the fill would get the stream from its
/// beginning, and memory would hold all of it for as long as it runs.
fn has_an_end(response: &ResponseHead) -> Result<(), Reason> {
    if is_endless(response) { Err(Reason::EndlessStream) } else { Ok(()) }
}

fn request_allows(request: &RequestHead) -> Result<(), Reason> {
    //= RFC 9111 section 5.2.1.5
    //# The no-store request directive indicates that a cache MUST NOT store any part of either this request or any
    //# response to it.
    if request_directives(&request.fields).no_store {
        return Err(Reason::RequestNoStore);
    }
    Ok(())
}

fn varies_by_fields(response: &ResponseHead) -> Result<(), Reason> {
    if vary(&response.fields) == Vary::Star { Err(Reason::VaryStar) } else { Ok(()) }
}

/// Where a lifetime is granted, `Vary` may name only what the application has seen, or what no request has that shares the response:
/// otherwise the application says that the response is wrong for some of the clients that would get it.
fn varies_by_what_was_sent(request: &RequestHead, response: &ResponseHead, policy: &Policy) -> Result<(), Reason> {
    match vary(&response.fields) {
        Vary::Fields(names) if policy.grant.holds_for(request) && unseen(&names, &policy.grant).is_some() => {
            Err(Reason::VaryUnseen)
        }
        _ => Ok(()),
    }
}

/// Why the response's own directives forbid a shared cache to store it, if they do. Also used for a 304 and a response to HEAD.
pub(crate) fn forbids(response: &ResponseHead, directives: &Directives, policy: &Policy) -> Option<Reason> {
    may_be_kept(response, directives).and_then(|()| is_not_private(directives, policy)).err()
}

fn may_be_kept(response: &ResponseHead, directives: &Directives) -> Result<(), Reason> {
    let control = &directives.control;
    //= RFC 9111 section 5.2.2.5
    //# The no-store response directive indicates that a cache MUST NOT store any part of either the immediate request or
    //# the response and MUST NOT use the response to satisfy any other request.
    // Section 5.2.2.3: must-understand lifts no-store where the status is understood.
    let is_lifted = control.must_understand && is_understood(response.status);
    if control.no_store && !is_lifted { Err(Reason::NoStore) } else { Ok(()) }
}

fn is_not_private(directives: &Directives, policy: &Policy) -> Result<(), Reason> {
    //= RFC 9111 section 5.2.2.7
    //# The unqualified private response directive indicates that a shared cache MUST NOT store the response (i.e., the
    //# response is intended for a single user).
    if directives.is_private(policy) { Err(Reason::Private) } else { Ok(()) }
}

/// "the response contains at least one of the following"
fn is_cacheable(
    response: &ResponseHead,
    directives: &Directives,
    freshness: &Freshness,
    policy: &Policy,
) -> Result<(), Reason> {
    let is_marked = directives.control.public && !policy.is_safe();
    let is_granted = freshness.source == LifetimeSource::Negative || freshness.is_granted();
    let is_cacheable = is_marked
        || is_granted
        || directives.has_explicit_lifetime(response)
        || is_heuristically_cacheable(response.status, policy);
    if is_cacheable { Ok(()) } else { Err(Reason::NotCacheable) }
}

/// An error may say more about the request than about its target: the fields of one odd request (too long, malformed, forbidden by
/// a filter) provoke it, and all clients would get it (cache-poisoned denial of service). So profile safe stores only errors that
/// describe the target and errors whose status the operator has granted a lifetime. Cache-Control makes no other error storable.
fn is_shareable_error(status: StatusCode, freshness: &Freshness, policy: &Policy) -> Result<(), Reason> {
    let is_error = status.is_client_error() || status.as_u16() >= 500;
    let speaks_of_the_target = matches!(status.as_u16(), 401 | 404 | 405 | 410 | 451);
    let is_named = matches!(freshness.source, LifetimeSource::Negative | LifetimeSource::Status);
    if policy.is_safe() && is_error && !speaks_of_the_target && !is_named {
        return Err(Reason::RequestSpecificError);
    }
    Ok(())
}

/// Section 3 again: "some caches will not store a response that has neither a cache validator nor an explicit expiration time, as
/// such responses are not usually useful to store". Neither is a response that arrives stale.
fn is_useful(response: &ResponseHead, freshness: &Freshness) -> Result<(), Reason> {
    let has_validator = response.fields.contains("etag") || response.fields.contains("last-modified");
    let window = freshness.lifetime.saturating_add(freshness.stale_while_revalidate.max(freshness.stale_if_error));
    if has_validator || (window > freshness.initial_age && !freshness.no_cache) {
        return Ok(());
    }
    Err(match () {
        () if freshness.is_expired_at_once() => Reason::Expired,
        () if freshness.no_cache => Reason::NoCacheNoValidator,
        () => Reason::NoExpiryNoValidator,
    })
}

/// The final status codes of RFC 9110 section 15, all of whose caching behaviour is implemented here.
fn is_understood(status: StatusCode) -> bool {
    matches!(status.as_u16(), 200..=206 | 300..=303 | 307 | 308 | 400..=417 | 421 | 422 | 426 | 500..=505)
}

/// Whether a POST's response answers later GETs of the same URI (RFC 9110 section 9.3.3): its Content-Location is
/// the target. `request_uri` is absolute.
pub fn post_stores_for_get(request_uri: &str, response: &ResponseHead) -> bool {
    let Some(location) = response.fields.only("content-location").and_then(|value| std::str::from_utf8(value).ok())
    else {
        return false;
    };
    let Ok(target) = Url::parse(request_uri) else { return false };
    target.join(location).is_ok_and(|location| location == target)
}

/// Whether Content-Location names the target where the scheme is not known: a relative one fits either scheme, an absolute one has
/// its own.
fn names_its_target(request: &RequestHead, response: &ResponseHead) -> bool {
    if request.target.contains("://") {
        return post_stores_for_get(&request.target, response);
    }
    let host = String::from_utf8_lossy(request.fields.only("host").unwrap_or(b"localhost"));
    let uri = |scheme: &str| format!("{scheme}://{host}{}", request.target);
    ["http", "https"].iter().any(|scheme| post_stores_for_get(&uri(scheme), response))
}

#[cfg(test)]
#[path = "storable_tests.rs"]
mod tests;
