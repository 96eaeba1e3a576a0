//! Decides whether a response to a request with Cookie or Authorization, or one with Set-Cookie, may be shared.
//!
//! RFC 9111 protects Authorization (section 3.5) and leaves cookies to the origin's care. But applications tell visitors apart by
//! cookies, and many send no cache directives at all. So in profile safe:
//!
//! - a response to a request that reached the origin with Cookie is shared only with `s-maxage`, or with `public` and an
//!   explicit lifetime;
//! - a response with Set-Cookie is never stored, and no stored head ever holds one, whether from a 200 or a 304
//!   (`stored_fields` removes it).
//!
//! A response under the name of a file must also be a file of that kind (see `deception`), if its request had credentials or if
//! only the operator's grant makes it storable. Under the grant, what has the name of a download may be a page.
//!
//! In profile rfc cookies do not matter, as in the RFCs. But where the operator grants lifetimes (see `grant`), the rules above
//! hold there too, since the application did not say that its responses may be shared. A cookie that is in the key selects its own
//! stored response, so it does not count.

use crate::cookies;
use crate::deception::{is_deceptive, names_download};
use crate::directives::{Directives, directives};
use crate::effective::effective;
use crate::set_cookies::sets_cookie;
use crate::{Policy, Reason};
use kasoku_wire::{Fields, RequestHead, ResponseHead};

/// Whether the request carries credentials: Authorization or Cookie.
pub fn has_credentials(request: &Fields) -> bool {
    request.contains("authorization") || request.contains("cookie")
}

/// Whether the request carries Authorization, or a cookie that is not in the key.
pub fn has_unkeyed_credentials(request: &Fields, policy: &Policy) -> bool {
    request.contains("authorization") || has_unkeyed_cookie(request, policy)
}

fn has_unkeyed_cookie(request: &Fields, policy: &Policy) -> bool {
    let grant = &policy.grant;
    let is_keyed = grant.is_granting() && cookies::has_only(&grant.key_cookies, request);
    request.contains("cookie") && !is_keyed
}

/// Whether `response` may be shared although `request` (as sent to the origin) says who sends it, and whether it may be stored
/// although it sets cookies. A 304 or a response to HEAD that updates a stored response must pass this too: the caller of
/// [`freshen`](crate::freshen) passes the updated head.
pub fn may_share(request: &RequestHead, response: &ResponseHead, policy: &Policy) -> Result<(), Reason> {
    let effective = effective(request, response, policy);
    checks(request, &effective, &directives(&effective, policy), policy).try_for_each(|checked| checked)
}

/// The result of each rule, in the order in which they decide.
pub(crate) fn checks<'c>(
    request: &'c RequestHead,
    response: &'c ResponseHead,
    directives: &'c Directives,
    policy: &'c Policy,
) -> impl Iterator<Item = Result<(), Reason>> + 'c {
    type SharingCheck = fn(&RequestHead, &ResponseHead, &Directives, &Policy) -> Result<(), Reason>;
    const RFC: [SharingCheck; 1] = [shares_authorized];
    const SAFE: [SharingCheck; 4] = [shares_authorized, shares_cookie, sets_none, matches_file_type];
    let checks: &[SharingCheck] = if policy.protects_visitors() { &SAFE } else { &RFC };
    checks.iter().map(|check| check(request, response, directives, policy))
}

fn shares_authorized(
    request: &RequestHead,
    _: &ResponseHead,
    directives: &Directives,
    _: &Policy,
) -> Result<(), Reason> {
    let control = &directives.control;
    //= RFC 9111 section 3.5
    //# A shared cache MUST NOT use a cached response to a request with an Authorization header field (Section 11.6.2 of
    //# [HTTP]) to satisfy any subsequent request unless the response contains a Cache-Control field with a response
    //# directive (Section 5.2.2) that allows it to be stored by a shared cache, and the cache conforms to the
    //# requirements of that directive for that response.
    let shares = control.must_revalidate || control.public || control.s_maxage.is_some();
    if request.fields.contains("authorization") && !shares { Err(Reason::Authorization) } else { Ok(()) }
}

fn shares_cookie(
    request: &RequestHead,
    response: &ResponseHead,
    directives: &Directives,
    policy: &Policy,
) -> Result<(), Reason> {
    let control = &directives.control;
    let shares = control.s_maxage.is_some() || (control.public && directives.has_explicit_lifetime(response));
    if has_unkeyed_cookie(&request.fields, policy) && !shares { Err(Reason::Cookie) } else { Ok(()) }
}

fn sets_none(_: &RequestHead, response: &ResponseHead, _: &Directives, _: &Policy) -> Result<(), Reason> {
    if sets_cookie(&response.fields) { Err(Reason::SetCookie) } else { Ok(()) }
}

fn matches_file_type(
    request: &RequestHead,
    response: &ResponseHead,
    _: &Directives,
    policy: &Policy,
) -> Result<(), Reason> {
    let is_granted = || policy.grant.holds_for(request) && !names_download(&request.target);
    let is_unsure = has_unkeyed_credentials(&request.fields, policy) || is_granted();
    if is_unsure && is_deceptive(&request.target, response) {
        return Err(Reason::ContentTypeMismatch);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at, cached, get, ok, rfc, safe};

    fn shares(name: &str, response: &ResponseHead, policy: &Policy) -> Result<(), Reason> {
        may_share(&get().with(name, "x"), response, policy)
    }

    #[test]
    fn what_answers_authorization_needs_a_directive_to_be_shared() {
        //= RFC 9111 section 3.5
        //# A shared cache MUST NOT use a cached response to a request with an Authorization header field (Section 11.6.2 of
        //# [HTTP]) to satisfy any subsequent request unless the response contains a Cache-Control field with a response
        //# directive (Section 5.2.2) that allows it to be stored by a shared cache, and the cache conforms to the
        //# requirements of that directive for that response.
        for policy in [safe(), rfc()] {
            let shares = |response| shares("Authorization", &response, &policy);
            assert_eq!(shares(ok().with("Expires", at(100))), Err(Reason::Authorization));
            assert_eq!(shares(cached("max-age=100")), Err(Reason::Authorization));
            for value in ["public, max-age=1", "must-revalidate, max-age=1", "s-maxage=1"] {
                assert_eq!(shares(cached(value)), Ok(()), "{value}");
            }
        }
    }

    #[test]
    fn what_answers_a_cookie_needs_more_in_profile_safe() {
        for value in ["max-age=100", "public", "must-revalidate, max-age=1", "immutable, max-age=1"] {
            assert_eq!(shares("Cookie", &cached(value), &safe()), Err(Reason::Cookie), "{value}");
            assert_eq!(shares("Cookie", &cached(value), &rfc()), Ok(()), "{value}");
        }
        for value in ["s-maxage=1", "public, max-age=1"] {
            assert_eq!(shares("Cookie", &cached(value), &safe()), Ok(()), "{value}");
        }
        assert_eq!(shares("Cookie", &cached("public").with("Expires", at(1)), &safe()), Ok(()));
    }

    #[test]
    fn a_cookie_for_one_visitor_is_never_shared_in_profile_safe() {
        for name in ["Set-Cookie", "set-cookie2"] {
            let response = cached("public, s-maxage=100").with(name, "a=b");
            assert_eq!(may_share(&get(), &response, &safe()), Err(Reason::SetCookie));
            assert_eq!(may_share(&get(), &response, &rfc()), Ok(()));
        }
    }
}
