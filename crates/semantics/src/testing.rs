//! Helpers that the tests of this crate share: a moment, a request, a response.

use crate::{Freshness, Now, Policy, Profile, freshness};
use http::{Method, StatusCode};
use kasoku_wire::field::date;
use kasoku_wire::{RequestHead, ResponseHead};

/// Some day in November 2026.
pub(crate) const NOW: Now = Now { unix_ms: 1_795_000_000_000, mono_ms: 5_000_000 };

pub(crate) fn safe() -> Policy {
    Policy::new(Profile::Safe)
}

/// Profile safe that grants a lifetime of a minute and drops cookies: a session's, and those of an application.
pub(crate) fn dropping() -> Policy {
    let mut policy = safe();
    policy.grant.ttl_seconds = 60;
    policy.grant.dropped_cookies = vec!["PHPSESSID".to_owned(), "ck_*".to_owned()];
    policy
}

pub(crate) fn rfc() -> Policy {
    Policy::new(Profile::Rfc)
}

/// `GET /` for example.org.
pub(crate) fn get() -> RequestHead {
    RequestHead::new(Method::GET, "/").with("Host", "example.org")
}

/// A 200 with the Date of [`NOW`].
pub(crate) fn ok() -> ResponseHead {
    status(200)
}

/// A response of that status with the Date of [`NOW`].
pub(crate) fn status(code: u16) -> ResponseHead {
    ResponseHead::new(StatusCode::from_u16(code).unwrap()).with("Date", at(0))
}

/// A 200 with that Cache-Control.
pub(crate) fn cached(cache_control: &str) -> ResponseHead {
    ok().with("Cache-Control", cache_control)
}

/// The HTTP date `seconds` after [`NOW`].
pub(crate) fn at(seconds: i64) -> String {
    date::format(NOW.unix_seconds() + seconds)
}

/// The freshness of a response to [`get`] that arrives at [`NOW`].
pub(crate) fn fresh(response: &ResponseHead, policy: &Policy) -> Freshness {
    freshness(&get(), response, NOW, NOW, policy)
}

/// The moment `seconds` after [`NOW`].
pub(crate) fn later(seconds: u64) -> Now {
    NOW.after(seconds * 1000)
}
