//! How long a response is fresh (RFC 9111 section 4.2), and what it permits afterwards.
//!
//! A [`Freshness`] is computed once, when the response arrives, and holds everything that reuse needs: a hit compares
//! numbers and reads no header field.
//!
//! A lifetime that the response states counts from when the origin made it, by Date and Age (section 4.2.3). One that the operator
//! grants counts from when the response came: an origin whose clock is behind, a page cache in the application that sends its old Date,
//! and a page that takes longer than its lifetime would never be hits otherwise.

use crate::age::{corrected_initial_age, current_age, date_value};
use crate::cache_status::CacheStatus;
use crate::credentials::has_unkeyed_credentials;
use crate::directives::{Directives, directives};
use crate::effective::{EffectiveResponse, effective};
use crate::grant::ttl_applies_to_status;
use crate::media_type::is_static;
use crate::{Now, Policy};
use http::StatusCode;
use kasoku_wire::field::date;
use kasoku_wire::{RequestHead, ResponseHead};

/// What decided the lifetime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LifetimeSource {
    /// A targeted field (RFC 9213).
    Targeted,
    /// `s-maxage`.
    SMaxage,
    /// `max-age`.
    MaxAge,
    /// X-Accel-Expires.
    AccelExpires,
    /// Expires.
    Expires,
    /// The time since Last-Modified.
    Heuristic,
    /// The policy's `negative_ttl_seconds`.
    Negative,
    /// The grant's `ttl_seconds`.
    Ttl,
    /// The grant's `ttl_override_seconds`.
    Override,
    /// The grant's `ttl_status`.
    Status,
    /// The response may be an error that says 200: of the lifetime that was granted to it, some seconds remain.
    SoftError,
    /// Nothing: the response can only be used when validated.
    None,
}

/// How long a stored response may be used, and how. See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// When the response was received, or last validated.
    pub response_time: Now,
    /// Its age at that time, in seconds.
    pub initial_age: u64,
    /// The age from which on it is stale, in seconds: with a lifetime that is granted, `initial_age` more than that.
    pub lifetime: u64,
    /// What decided the lifetime.
    pub source: LifetimeSource,
    /// For how long after its lifetime it may be served while it is refreshed, in seconds (RFC 5861 section 3).
    pub stale_while_revalidate: u64,
    /// For how long after its lifetime it may stand in for an error, in seconds (RFC 5861 section 4).
    pub stale_if_error: u64,
    /// Whether the response itself sent `stale-if-error`: then that limit also holds while the origin is unreachable.
    pub has_stale_if_error: bool,
    /// Each use needs a validation (`no-cache` without an argument).
    pub no_cache: bool,
    /// Never to be served stale: `must-revalidate`, `proxy-revalidate` or `s-maxage`.
    pub must_revalidate: bool,
}

/// The freshness of `response`, which arrived at `response_time`. `request` is the request as it was sent to the origin at
/// `request_time`.
pub fn freshness(
    request: &RequestHead,
    response: &ResponseHead,
    request_time: Now,
    response_time: Now,
    policy: &Policy,
) -> Freshness {
    let effective = effective(request, response, policy);
    let directives = directives(&effective, policy);
    let (source, lifetime) = lifetime(request, &effective, &directives, response_time, policy);
    let control = &directives.control;
    let unaged = Freshness {
        response_time,
        initial_age: 0,
        lifetime: if policy.ttl_max_seconds > 0 { lifetime.min(policy.ttl_max_seconds) } else { lifetime },
        source,
        stale_while_revalidate: control.stale_while_revalidate.unwrap_or(policy.grace_seconds),
        stale_if_error: control.stale_if_error.unwrap_or(policy.grace_seconds),
        has_stale_if_error: control.stale_if_error.is_some(),
        no_cache: control.no_cache.is_all(),
        must_revalidate: control.must_revalidate || control.proxy_revalidate || control.s_maxage.is_some(),
    };
    unaged.with_initial_age(corrected_initial_age(response, request_time, response_time))
}

impl Freshness {
    /// The same, of a response that had this age when it was received.
    pub fn with_initial_age(&self, initial_age: u64) -> Self {
        let granted = if self.counts_from_arrival() { initial_age } else { 0 };
        Self { initial_age, lifetime: self.own_lifetime().saturating_add(granted), ..*self }
    }

    /// The lifetime as the response states it, or as the operator grants it, in seconds.
    pub fn own_lifetime(&self) -> u64 {
        self.lifetime.saturating_sub(if self.counts_from_arrival() { self.initial_age } else { 0 })
    }

    fn counts_from_arrival(&self) -> bool {
        self.is_granted() || self.source == LifetimeSource::Negative
    }

    /// The same response, whose lifetime ends at that time if it has not ended before. The time for which it may be served stale
    /// counts from then on.
    pub fn ended(&self, at: Now) -> Self {
        Self { lifetime: self.lifetime.min(self.age(at)), ..*self }
    }

    /// The same, where the response may be an error that says 200: it lives these seconds, and is not served afterwards.
    pub fn of_soft_error(&self, seconds: u64) -> Self {
        let lifetime = self.lifetime.min(self.initial_age.saturating_add(seconds));
        Self { lifetime, source: LifetimeSource::SoftError, stale_while_revalidate: 0, stale_if_error: 0, ..*self }
    }

    /// The response's age at `now`, in seconds.
    pub fn age(&self, now: Now) -> u64 {
        current_age(self.initial_age, self.response_time, now)
    }

    /// The Age of an answer that is made of this response; `None`: the response was made or confirmed for this very request, and
    /// its age is 0.
    //= RFC 9111 section 4
    //# When a stored response is used to satisfy a request without validation, a cache MUST generate an Age header field
    pub fn age_field(&self, status: &CacheStatus, now: Now) -> Option<u64> {
        let age = self.age(now);
        let is_fetched_now = !status.hit && !status.collapsed;
        (!is_fetched_now || age > 0).then_some(age)
    }

    /// Whether its age has not reached its lifetime.
    pub fn is_fresh(&self, now: Now) -> bool {
        self.lifetime > self.age(now)
    }

    /// Lifetime minus age, in seconds: negative when stale.
    pub fn remaining(&self, now: Now) -> i64 {
        let signed = |seconds| i64::try_from(seconds).unwrap_or(i64::MAX);
        signed(self.lifetime).saturating_sub(signed(self.age(now)))
    }

    /// How long it has been stale, in seconds: 0 when it is fresh.
    pub fn staleness(&self, now: Now) -> u64 {
        self.age(now).saturating_sub(self.lifetime)
    }

    /// Whether the response itself said how long it is fresh.
    pub fn is_explicit(&self) -> bool {
        use LifetimeSource::{AccelExpires, Expires, MaxAge, SMaxage, Targeted};
        matches!(self.source, Targeted | AccelExpires | SMaxage | MaxAge | Expires)
    }

    /// Whether the response itself said that it is never fresh.
    pub fn is_expired_at_once(&self) -> bool {
        self.is_explicit() && self.lifetime == 0
    }

    /// Whether the operator has granted the lifetime (see [`grant`](crate::grant)).
    pub fn is_granted(&self) -> bool {
        use LifetimeSource::{Override, SoftError, Status, Ttl};
        matches!(self.source, Ttl | Override | Status | SoftError)
    }

    /// Whether the response is too old to be of any use ([`Policy::keep_seconds`]).
    pub fn is_past_keeping(&self, policy: &Policy, now: Now) -> bool {
        let served_stale = self.stale_while_revalidate.max(self.stale_if_error);
        policy
            .keep_seconds
            .is_some_and(|keep| !self.is_fresh(now) && self.staleness(now) >= served_stale.saturating_add(keep))
    }
}

/// The first source of a lifetime that applies (RFC 9111 section 4.2.1).
fn lifetime(
    request: &RequestHead,
    effective: &EffectiveResponse<'_>,
    directives: &Directives,
    response_time: Now,
    policy: &Policy,
) -> (LifetimeSource, u64) {
    let response: &ResponseHead = effective;
    let control = &directives.control;
    if directives.is_targeted
        && let Some(seconds) = control.s_maxage.or(control.max_age)
    {
        return (LifetimeSource::Targeted, seconds);
    }
    if directives.is_accel {
        return (LifetimeSource::AccelExpires, control.max_age.unwrap_or(0));
    }
    //= RFC 9111 section 5.3
    //# If a response includes a Cache-Control header field with the max-age directive (Section 5.2.2.1), a recipient
    //# MUST ignore the Expires header field.
    //= RFC 9111 section 5.3
    //# Likewise, if a response includes the s-maxage directive (Section 5.2.2.10), a shared cache recipient MUST ignore
    //# the Expires header field.
    if let Some(seconds) = control.s_maxage {
        return (LifetimeSource::SMaxage, seconds);
    }
    if let Some(seconds) = control.max_age {
        return (LifetimeSource::MaxAge, seconds);
    }
    //= RFC 9111 section 4.2.2
    //# A cache MUST NOT use heuristics to determine freshness when an explicit expiration time is present in the stored
    //# response.
    if directives.expires_applies(response) {
        return (LifetimeSource::Expires, expires_lifetime(response, response_time));
    }
    if let Some(granted) = granted(request, effective, policy) {
        return granted;
    }
    let may_grant = !has_unkeyed_credentials(&request.fields, policy);
    if may_grant && policy.negative_ttl_seconds > 0 && is_negative(response.status) {
        return (LifetimeSource::Negative, policy.negative_ttl_seconds);
    }
    let may_guess = !policy.is_safe() || (may_grant && is_anonymous(request, response, policy));
    let guessed = may_guess.then(|| heuristic_lifetime(response, directives, response_time, policy)).flatten();
    match guessed {
        Some(seconds) => (LifetimeSource::Heuristic, seconds),
        None => (LifetimeSource::None, 0),
    }
}

/// The lifetime that is granted to a response, if one is. The caller has made sure that the response states none that counts.
fn granted(request: &RequestHead, effective: &EffectiveResponse<'_>, policy: &Policy) -> Option<(LifetimeSource, u64)> {
    let grant = &policy.grant;
    if !grant.holds_for(request) {
        return None;
    }
    let (source, seconds) = match grant.of_status(effective.status) {
        Some(seconds) => (LifetimeSource::Status, seconds),
        None if !ttl_applies_to_status(effective.status) => return None,
        None if grant.ttl_override_seconds > 0 && (effective.is_overruled || grant.ttl_seconds == 0) => {
            (LifetimeSource::Override, grant.ttl_override_seconds)
        }
        None => (LifetimeSource::Ttl, grant.ttl_seconds),
    };
    (seconds > 0).then_some((source, seconds))
}

/// Whether a lifetime may be guessed for a response that was not declared to be for all: it is a file by its type, and not a page
/// that may show its visitor's address or language; or its request carried nothing of a visitor, because the operator grants a
/// lifetime.
fn is_anonymous(request: &RequestHead, response: &ResponseHead, policy: &Policy) -> bool {
    policy.is_of_files || is_static(response) || policy.grant.holds_for(request)
}

/// Expires minus Date, in seconds; 0 when Expires is in the past or no date.
fn expires_lifetime(response: &ResponseHead, response_time: Now) -> u64 {
    let now = response_time.unix_seconds();
    // Of several lines the earliest counts, and one invalid line makes the whole field invalid.
    //= RFC 9111 section 5.3
    //# A cache recipient MUST interpret invalid date formats, especially the value "0", as representing a time in the
    //# past (i.e., "already expired").
    let expires: Option<Vec<i64>> = response.fields.all("expires").map(|value| date::parse(value, now)).collect();
    let earliest = expires.and_then(|times| times.into_iter().min());
    let lifetime = earliest.map(|time| time.saturating_sub(date_value(response, response_time)));
    lifetime.and_then(|seconds| u64::try_from(seconds).ok()).unwrap_or(0)
}

/// A share of the time since Last-Modified (RFC 9111 section 4.2.2), or `None` where no heuristic is allowed.
fn heuristic_lifetime(
    response: &ResponseHead,
    directives: &Directives,
    response_time: Now,
    policy: &Policy,
) -> Option<u64> {
    let by_status = is_heuristically_cacheable(response.status, policy);
    // In profile safe `public` does not make an unknown status cacheable: an application that marks everything public
    // would have its error pages kept for days.
    if !by_status && (policy.is_safe() || !directives.control.public) {
        return None;
    }
    let modified = date::parse(response.fields.only("last-modified")?, response_time.unix_seconds())?;
    let interval = u64::try_from(date_value(response, response_time).saturating_sub(modified)).unwrap_or(0);
    let share = interval.saturating_mul(u64::from(policy.heuristic_percent)) / 100;
    Some(share.min(policy.heuristic_max_seconds))
}

/// Whether the status alone allows a heuristic lifetime (RFC 9110 section 15.1). Profile safe leaves the errors out: the 404 of a
/// broken deployment would outlive the deployment.
pub(crate) fn is_heuristically_cacheable(status: StatusCode, policy: &Policy) -> bool {
    match status.as_u16() {
        200 | 203 | 204 | 206 | 300 | 301 | 308 => true,
        404 | 405 | 410 | 414 | 501 => !policy.is_safe(),
        _ => false,
    }
}

/// The statuses to which `negative_ttl_seconds` applies.
fn is_negative(status: StatusCode) -> bool {
    matches!(status.as_u16(), 404 | 405 | 410 | 414 | 501)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{NOW, at, cached, fresh, get, later, ok, rfc, safe, status, status as status_of};

    fn lifetime_of(response: &ResponseHead, policy: &Policy) -> (LifetimeSource, u64) {
        let freshness = fresh(response, policy);
        (freshness.source, freshness.lifetime)
    }

    #[test]
    fn s_maxage_then_max_age_then_expires() {
        //= RFC 9111 section 5.3
        //# If a response includes a Cache-Control header field with the max-age directive (Section 5.2.2.1), a recipient
        //# MUST ignore the Expires header field.
        //= RFC 9111 section 5.3
        //# Likewise, if a response includes the s-maxage directive (Section 5.2.2.10), a shared cache recipient MUST ignore
        //# the Expires header field.
        let expires = ok().with("Expires", at(10));
        assert_eq!(lifetime_of(&expires, &safe()), (LifetimeSource::Expires, 10));
        let max_age = expires.with("Cache-Control", "max-age=20");
        assert_eq!(lifetime_of(&max_age, &safe()), (LifetimeSource::MaxAge, 20));
        let s_maxage = max_age.with("Cache-Control", "s-maxage=30");
        assert_eq!(lifetime_of(&s_maxage, &safe()), (LifetimeSource::SMaxage, 30));
        let targeted = s_maxage.with("CDN-Cache-Control", "max-age=40");
        assert_eq!(lifetime_of(&targeted, &safe()), (LifetimeSource::Targeted, 40));
    }

    #[test]
    fn a_targeted_field_silences_cache_control_and_expires() {
        let response = cached("no-store, s-maxage=9").with("Expires", at(9)).with("CDN-Cache-Control", "none");
        let freshness = fresh(&response, &rfc());
        assert_eq!((freshness.source, freshness.must_revalidate), (LifetimeSource::None, false));
    }

    #[test]
    fn an_invalid_expires_is_in_the_past() {
        //= RFC 9111 section 5.3
        //# A cache recipient MUST interpret invalid date formats, especially the value "0", as representing a time in the
        //# past (i.e., "already expired").
        for value in ["0", "-1", "", "tomorrow", "Thu, 18 Aug 2050 02:01:18 UTC"] {
            let response = ok().with("Expires", value).with("Last-Modified", at(-1_000_000));
            assert_eq!(lifetime_of(&response, &rfc()), (LifetimeSource::Expires, 0), "{value}");
        }
        let two = ok().with("Expires", at(100)).with("Expires", "0");
        assert_eq!(lifetime_of(&two, &rfc()), (LifetimeSource::Expires, 0));
    }

    #[test]
    fn a_heuristic_never_replaces_an_explicit_time() {
        //= RFC 9111 section 4.2.2
        //# A cache MUST NOT use heuristics to determine freshness when an explicit expiration time is present in the stored
        //# response.
        let response = ok().with("Last-Modified", at(-1000));
        assert_eq!(lifetime_of(&response, &rfc()), (LifetimeSource::Heuristic, 100));
        let response = response.with("Cache-Control", "max-age=0");
        assert_eq!(lifetime_of(&response, &rfc()), (LifetimeSource::MaxAge, 0));
    }

    #[test]
    fn a_heuristic_lifetime_is_bounded() {
        let response = ok().with("Last-Modified", "Thu, 01 Jan 1970 00:00:00 GMT").with("Content-Type", "image/png");
        for policy in [safe(), rfc()] {
            assert_eq!(lifetime_of(&response, &policy), (LifetimeSource::Heuristic, 86_400));
        }
    }

    #[test]
    fn profile_safe_guesses_no_lifetime_of_what_a_program_may_have_made_for_one_visitor() {
        let response = |media_type: &str| ok().with("Last-Modified", at(-1000)).with("Content-Type", media_type);
        for media_type in ["text/html", "application/json", "application/pdf", "application/octet-stream"] {
            let page = response(media_type);
            assert_eq!(fresh(&page, &rfc()).source, LifetimeSource::Heuristic, "{media_type}");
            assert_eq!(fresh(&page, &safe()).source, LifetimeSource::None, "{media_type}");
            let files = Policy { is_of_files: true, ..safe() };
            assert_eq!(fresh(&page, &files).source, LifetimeSource::Heuristic, "{media_type}");
            // Where a lifetime is granted, the request carries nothing of a visitor.
            let mut granting = safe();
            granting.grant.ttl_status = vec![crate::grant::StatusTtl { first: 404, last: 404, seconds: 60 }];
            assert_eq!(fresh(&page, &granting).source, LifetimeSource::Heuristic, "{media_type}");
        }
        for media_type in ["image/png", "text/css", "text/javascript", "font/woff2", "application/zip"] {
            assert_eq!(fresh(&response(media_type), &safe()).source, LifetimeSource::Heuristic, "{media_type}");
        }
    }

    #[test]
    fn profile_safe_guesses_no_lifetime_of_errors_or_for_visitors() {
        let modified = at(-1000);
        for code in [404, 405, 410, 414, 501] {
            let response = status(code).with("Last-Modified", &modified);
            assert_eq!(fresh(&response, &rfc()).source, LifetimeSource::Heuristic, "{code}");
            assert_eq!(fresh(&response, &safe()).source, LifetimeSource::None, "{code}");
        }
        let response = ok().with("Last-Modified", &modified).with("Content-Type", "image/png");
        let public = status(599).with("Last-Modified", &modified).with("Cache-Control", "public");
        assert_eq!(fresh(&public, &rfc()).source, LifetimeSource::Heuristic);
        assert_eq!(fresh(&public, &safe()).source, LifetimeSource::None);
        for name in ["Cookie", "Authorization"] {
            let visitor = get().with(name, "x");
            let source = |policy: Policy| freshness(&visitor, &response, NOW, NOW, &policy).source;
            assert_eq!(source(rfc()), LifetimeSource::Heuristic);
            assert_eq!(source(safe()), LifetimeSource::None);
        }
    }

    #[test]
    fn pragma_in_a_response_means_nothing() {
        let file = ok().with("Last-Modified", at(-1000)).with("Content-Type", "image/png").with("Pragma", "no-cache");
        let mut granting = safe();
        granting.grant.ttl_seconds = 60;
        for (response, policy, source) in [
            (&file, safe(), LifetimeSource::Heuristic),
            (&file, rfc(), LifetimeSource::Heuristic),
            (&ok().with("Pragma", "no-cache"), granting, LifetimeSource::Ttl),
        ] {
            assert_eq!(fresh(response, &policy).source, source, "{response:?}");
        }
    }

    #[test]
    fn a_granted_lifetime_of_errors_is_not_for_visitors() {
        for policy in [safe(), rfc()] {
            let policy = Policy { negative_ttl_seconds: 5, ..policy };
            assert_eq!(lifetime_of(&status(404), &policy), (LifetimeSource::Negative, 5));
            assert_eq!(lifetime_of(&status(500), &policy), (LifetimeSource::None, 0));
            let visitor = get().with("Cookie", "a=b");
            assert_eq!(freshness(&visitor, &status(404), NOW, NOW, &policy).source, LifetimeSource::None);
        }
    }

    #[test]
    fn a_lifetime_counts_from_arrival_if_it_is_granted_and_from_the_date_if_it_is_stated() {
        let old = |mut response: ResponseHead| {
            response.fields.set("Date", at(-300));
            response
        };
        let granting = |change: fn(&mut Policy)| {
            let mut policy = safe();
            change(&mut policy);
            policy
        };
        let ttl = granting(|policy| policy.grant.ttl_seconds = 60);
        let status = granting(|policy| {
            policy.grant.ttl_status = vec![crate::grant::StatusTtl { first: 404, last: 404, seconds: 60 }];
        });
        let negative = granting(|policy| policy.negative_ttl_seconds = 60);
        for (response, policy) in
            [(ok(), &ttl), (ok().with("Age", "200"), &ttl), (status_of(404), &status), (status_of(404), &negative)]
        {
            let freshness = fresh(&old(response), policy);
            assert_eq!((freshness.age(NOW), freshness.own_lifetime()), (300, 60), "{:?}", freshness.source);
            assert!(freshness.is_fresh(later(59)) && !freshness.is_fresh(later(60)), "{:?}", freshness.source);
        }
        let stated = fresh(&old(cached("max-age=60")), &ttl);
        assert_eq!((stated.own_lifetime(), stated.remaining(NOW)), (60, -240));
        let slow = freshness(&get(), &ok(), NOW, later(100), &ttl);
        assert!(slow.is_fresh(later(159)) && !slow.is_fresh(later(160)), "it took longer than its lifetime");
        let soft = fresh(&old(ok()), &ttl).of_soft_error(5);
        assert!(soft.is_fresh(later(4)) && !soft.is_fresh(later(5)) && soft.own_lifetime() == 5);
        let bounded = Policy { ttl_max_seconds: 20, ..ttl };
        assert_eq!(fresh(&old(ok()), &bounded).remaining(NOW), 20);
    }

    #[test]
    fn a_response_is_fresh_until_its_age_reaches_its_lifetime() {
        let freshness = fresh(&cached("max-age=10"), &safe());
        assert!(freshness.is_fresh(later(9)));
        assert!(!freshness.is_fresh(later(10)));
        assert_eq!((freshness.remaining(later(4)), freshness.remaining(later(14))), (6, -4));
        assert_eq!((freshness.staleness(later(4)), freshness.staleness(later(14))), (0, 4));
    }
}
