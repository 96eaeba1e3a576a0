//! Tests which responses may be stored.

use super::*;
use crate::testing::{NOW, at, cached, fresh, get, ok, rfc, safe, status};

fn stored(request: &RequestHead, response: &ResponseHead, policy: &Policy) -> Result<(), Reason> {
    let freshness = crate::freshness(request, response, NOW, NOW, policy);
    storable(request, response, &freshness, policy)
}

fn in_both(response: &ResponseHead) -> Result<(), Reason> {
    let outcome = stored(&get(), response, &rfc());
    assert_eq!(outcome, stored(&get(), response, &safe()));
    outcome
}

#[test]
fn only_get_and_a_post_that_names_its_target() {
    //= RFC 9111 section 3
    //# A cache MUST NOT store a response to a request unless:
    let by = |method: Method, response: &ResponseHead| stored(&RequestHead { method, ..get() }, response, &rfc());
    let response = cached("max-age=10").with("Content-Location", "/");
    assert_eq!(by(Method::GET, &response), Ok(()));
    assert_eq!(by(Method::POST, &response), Ok(()));
    assert_eq!(by(Method::HEAD, &response), Err(Reason::HeadOnly));
    assert_eq!(by(Method::PUT, &response), Err(Reason::Method));
    assert_eq!(by(Method::POST, &cached("max-age=10")), Err(Reason::Method));
    assert_eq!(by(Method::POST, &ok().with("Content-Location", "/").with("ETag", "x")), Err(Reason::Method));
}

#[test]
fn a_post_names_its_target_relatively_or_absolutely() {
    let names = |uri, location| post_stores_for_get(uri, &ok().with("Content-Location", location));
    assert!(names("http://a/x?y", ""));
    assert!(names("http://a/x?y", "/x?y"));
    assert!(names("http://a/x?y", "http://A:80/x?y"));
    assert!(!names("http://a/x?y", "/x"));
    assert!(!names("http://a/x?y", "https://a/x?y"));
    assert!(!names("nonsense", ""));
}

#[test]
fn the_status_must_be_final_and_not_about_this_request_alone() {
    for (code, reason) in [
        (103, Reason::InterimStatus),
        (304, Reason::StatusNotModified),
        (412, Reason::RequestSpecificStatus),
        (416, Reason::RequestSpecificStatus),
        (206, Reason::ContentRangeInvalid),
    ] {
        assert_eq!(in_both(&status(code).with("Cache-Control", "max-age=10")), Err(reason), "{code}");
    }
    for code in [200, 299, 302, 404] {
        assert_eq!(in_both(&status(code).with("Cache-Control", "max-age=10")), Ok(()), "{code}");
    }
}

#[test]
fn a_part_is_stored_when_its_range_is_understood() {
    //= RFC 9111 section 3.3
    //# However, a cache MUST NOT store incomplete or partial-content responses if it does not support the Range and
    //# Content-Range header fields or if it does not understand the range units used in those fields.
    let part = status(206).with("Cache-Control", "max-age=10");
    assert_eq!(in_both(&part.clone().with("Content-Range", "bytes 0-4/10")), Ok(()));
    assert_eq!(in_both(&part.with("Content-Range", "lines 0-4/10")), Err(Reason::ContentRangeInvalid));
}

#[test]
fn must_understand_replaces_no_store_where_the_status_is_known() {
    let value = "max-age=10, must-understand, no-store";
    assert_eq!(in_both(&status(200).with("Cache-Control", value)), Ok(()));
    assert_eq!(in_both(&status(599).with("Cache-Control", value)), Err(Reason::MustUnderstand));
    assert_eq!(in_both(&status(599).with("Cache-Control", "max-age=10, must-understand")), Err(Reason::MustUnderstand));
}

#[test]
fn no_store_forbids_it_in_either_message() {
    //= RFC 9111 section 5.2.2.5
    //# The no-store response directive indicates that a cache MUST NOT store any part of either the immediate request or
    //# the response and MUST NOT use the response to satisfy any other request.
    //= RFC 9111 section 5.2.1.5
    //# The no-store request directive indicates that a cache MUST NOT store any part of either this request or any
    //# response to it.
    assert_eq!(in_both(&cached("max-age=10, No-StOrE")), Err(Reason::NoStore));
    let request = get().with("Cache-Control", "no-store");
    assert_eq!(stored(&request, &cached("max-age=10"), &safe()), Err(Reason::RequestNoStore));
}

#[test]
fn private_forbids_it() {
    //= RFC 9111 section 5.2.2.7
    //# The unqualified private response directive indicates that a shared cache MUST NOT store the response (i.e., the
    //# response is intended for a single user).
    assert_eq!(in_both(&cached("private, max-age=10")), Err(Reason::Private));
    let qualified = cached("private=\"a\", max-age=10");
    assert_eq!(stored(&get(), &qualified, &rfc()), Ok(()));
    assert_eq!(stored(&get(), &qualified, &safe()), Err(Reason::Private));
}

#[test]
fn a_targeted_field_speaks_for_us_alone() {
    let response = cached("no-store, private").with("CDN-Cache-Control", "max-age=10");
    assert_eq!(in_both(&response), Ok(()));
    let response = cached("max-age=10").with("CDN-Cache-Control", "no-store");
    assert_eq!(in_both(&response), Err(Reason::NoStore));
}

#[test]
fn vary_star_is_not_stored() {
    for value in ["*", "Foo, *", ", *", "*, *", "a b"] {
        assert_eq!(in_both(&cached("max-age=10").with("Vary", value)), Err(Reason::VaryStar), "{value}");
    }
}

#[test]
fn credentials_are_asked_about() {
    let visitor = get().with("Cookie", "a=b").with("Authorization", "x");
    assert_eq!(stored(&visitor, &cached("max-age=10"), &safe()), Err(Reason::Authorization));
    let visitor = get().with("Cookie", "a=b");
    assert_eq!(stored(&visitor, &cached("max-age=10"), &safe()), Err(Reason::Cookie));
    assert_eq!(stored(&visitor, &cached("max-age=10"), &rfc()), Ok(()));
    assert_eq!(stored(&get(), &cached("s-maxage=10").with("Set-Cookie", "a=b"), &safe()), Err(Reason::SetCookie));
}

#[test]
fn something_must_say_that_it_is_cacheable() {
    let modified = at(-1000);
    for code in [201, 302, 403, 500, 502, 599] {
        let response = status(code).with("Last-Modified", &modified);
        assert_eq!(in_both(&response), Err(Reason::NotCacheable), "{code}");
    }
    let public = status(599).with("Last-Modified", &modified).with("Cache-Control", "public");
    assert_eq!(stored(&get(), &public, &rfc()), Ok(()));
    assert_eq!(stored(&get(), &public, &safe()), Err(Reason::NotCacheable));
    assert_eq!(in_both(&status(204).with("Last-Modified", &modified)), Ok(()));
    for code in [404, 405, 410, 414, 501] {
        let response = status(code).with("Last-Modified", &modified);
        assert_eq!(stored(&get(), &response, &rfc()), Ok(()), "{code}");
        assert_eq!(stored(&get(), &response, &safe()), Err(Reason::NotCacheable), "{code}");
    }
}

#[test]
fn a_granted_lifetime_makes_an_error_cacheable() {
    let policy = Policy { negative_ttl_seconds: 5, ..safe() };
    assert_eq!(stored(&get(), &status(404), &policy), Ok(()));
    assert_eq!(stored(&get().with("Cookie", "a=b"), &status(404), &policy), Err(Reason::Cookie));
}

#[test]
fn an_error_that_one_request_may_have_provoked_is_not_everybodys() {
    for code in [400, 403, 406, 413, 414, 417, 421, 422, 429, 431, 499, 500, 501, 502, 503, 504, 599] {
        let response = status(code).with("Cache-Control", "public, max-age=10");
        assert_eq!(stored(&get(), &response, &safe()), Err(Reason::RequestSpecificError), "{code}");
        assert_eq!(stored(&get(), &response, &rfc()), Ok(()), "{code}");
    }
    for code in [200, 301, 404, 405, 410, 451] {
        assert_eq!(in_both(&status(code).with("Cache-Control", "max-age=10")), Ok(()), "{code}");
    }
    let granted = Policy { negative_ttl_seconds: 5, ..safe() };
    assert_eq!(stored(&get(), &status(414), &granted), Ok(()));
}

#[test]
fn a_visitors_page_under_the_name_of_a_file_is_not_stored() {
    let page = |request: RequestHead| RequestHead { target: "/account.php/x.css".to_owned(), ..request };
    let html = cached("public, max-age=10").with("Content-Type", "text/html");
    for visitor in [get().with("Cookie", "a=b"), get().with("Authorization", "x")] {
        assert_eq!(stored(&page(visitor.clone()), &html, &safe()), Err(Reason::ContentTypeMismatch));
        assert_eq!(stored(&page(visitor.clone()), &html, &rfc()), Ok(()));
        let css = cached("public, max-age=10").with("Content-Type", "text/css");
        assert_eq!(stored(&page(visitor), &css, &safe()), Ok(()));
    }
    assert_eq!(stored(&page(get()), &html, &safe()), Ok(()));
}

#[test]
fn what_could_never_be_used_is_not_stored() {
    let useless = [ok(), cached("no-cache, max-age=10"), cached("max-age=10").with("Age", "10")];
    let expired = [
        cached("max-age=0"),
        cached("no-cache, max-age=0"),
        cached("s-maxage=0, max-age=9"),
        ok().with("Expires", at(0)),
    ];
    let useless = useless.map(|response| {
        let says_no_cache = response.fields.only("cache-control").is_some_and(|value| value.starts_with(b"no-cache"));
        (response, if says_no_cache { Reason::NoCacheNoValidator } else { Reason::NoExpiryNoValidator })
    });
    for (response, reason) in useless.into_iter().chain(expired.map(|response| (response, Reason::Expired))) {
        assert_eq!(in_both(&response), Err(reason), "{response:?}");
        assert_eq!(in_both(&response.with("ETag", "\"a\"")), Ok(()));
    }
    assert_eq!(in_both(&cached("max-age=0, stale-if-error=60")), Ok(()));
    assert_eq!(fresh(&cached("max-age=0"), &safe()).lifetime, 0);
}
