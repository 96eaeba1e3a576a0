//! Scenarios of hostile items: each is a response that a front end might have written, with one change.

use super::super::content::{Read, read, write};
use super::*;
use crate::verdict::{OriginExchange, meta};
use crate::{Cache, CacheLimits};
use http::Method;
use kasoku_semantics::grant::{Ignored, StatusTtl};
use kasoku_semantics::policy::Profile;
use kasoku_semantics::request::is_plain_get;
use kasoku_semantics::time::Now;
use kasoku_shared::purge_log::Generation;
use kasoku_wire::field::date;

/// Some day in November 2026.
const NOW: Now = Now { unix_ms: 1_795_000_000_000, mono_ms: 5_000_000_000 };

fn safe() -> Policy {
    Policy { rules: 5, ..Policy::new(Profile::Safe) }
}

fn rfc() -> Policy {
    Policy { rules: 5, ..Policy::new(Profile::Rfc) }
}

/// Profile safe with a granted lifetime of a minute.
fn granting() -> Policy {
    let mut policy = safe();
    policy.grant.ttl_seconds = 60;
    policy
}

fn get() -> RequestHead {
    RequestHead::new(Method::GET, "/").with("Host", "a.test")
}

fn status(code: u16) -> ResponseHead {
    let head = ResponseHead::new(StatusCode::from_u16(code).unwrap());
    let length = if code == 204 { "0" } else { "4" };
    head.with("Date", date::format(NOW.unix_seconds())).with("Content-Length", length)
}

/// A page that any profile stores.
fn page() -> ResponseHead {
    status(200).with("Content-Type", "text/html").with("Cache-Control", "max-age=600")
}

/// What a front end makes of this response to this request.
fn stored(request: &RequestHead, response: &ResponseHead, policy: &Policy) -> Meta {
    let exchange =
        OriginExchange { response, request_time: NOW, response_time: NOW, body_length: Some(4), is_file: false };
    meta(request, &exchange, policy, 3)
}

/// The verdict on an item with this meta, after it was written and read.
fn judged(meta: &Meta, request: &RequestHead, policy: &Policy) -> Result<(), Reason> {
    let key = Cache::new(CacheLimits { memory_bytes_max: 1 << 20, object_bytes_max: 1 << 16 }).key("http://a.test/");
    let length = if meta.head.status == StatusCode::NO_CONTENT { 0 } else { 4 };
    let content = write(meta, Generation { log: 1, number: 7 }, &key, length).expect("an item");
    let Ok(Read::Response(read)) = read(&content, NOW.after(1000)) else { panic!("no response") };
    let verdict = may_be_used(&read, request, policy);
    if is_plain_get(request) {
        // `JudgedItems` depends on that.
        let more =
            ["Accept", "Origin", "Range", "If-None-Match", "Forwarded", "X-Forwarded-For", "Via", "User-Agent", "X-A"];
        let other = more.iter().fold(request.clone(), |request, name| request.with(name, "x"));
        assert_eq!(may_be_used(&read, &other, policy), verdict, "a plain GET with other fields");
    }
    verdict?;
    if read.meta.is_selected_by(&request.fields, policy) { Ok(()) } else { Err(Reason::VaryMiss) }
}

/// The verdict where a forger has put this head under the lines of a page.
fn forged(head: &ResponseHead, policy: &Policy) -> Result<(), Reason> {
    judged(&Meta { head: head.clone(), ..stored(&get(), &page(), policy) }, &get(), policy)
}

#[test]
fn what_a_front_end_stores_another_one_uses() {
    let keyed = |policy: Policy| {
        let mut policy = policy;
        policy.grant.key_fields = vec!["x-currency".to_owned()];
        policy.grant.key_device = true;
        policy
    };
    let announcing = |policy: Policy| {
        let mut policy = policy;
        policy.grant.announce_ttl = true;
        policy
    };
    let ignoring = |policy: Policy| {
        let mut policy = policy;
        policy.grant.ttl_override_seconds = 60;
        policy.grant.ignore = vec![Ignored::NoStore, Ignored::NoCache, Ignored::Private, Ignored::SetCookie];
        policy
    };
    let bare = || status(200).with("Content-Type", "text/html");
    let validated = || bare().with("ETag", "\"a\"").with("Last-Modified", date::format(NOW.unix_seconds() - 1000));
    let responses = [
        page(),
        validated(),
        validated().with("Cache-Control", "public, s-maxage=5, stale-while-revalidate=9"),
        page().with("Vary", "Accept, Accept-Encoding"),
        page().with("Expires", "0").with("Age", "3").with("Connection", "x").with("X", "y"),
        page().with("Set-Cookie", "a=b"),
        bare().with("Cache-Control", "no-store, private, no-cache").with("Pragma", "no-cache"),
        bare().with("Vary", "Cookie"),
        bare().with("Cache-Control", "no-cache").with("ETag", "\"a\""),
        status(204).with("Cache-Control", "max-age=5"),
        status(301).with("Cache-Control", "max-age=5").with("Location", "/a"),
        status(404).with("Cache-Control", "max-age=5"),
        status(302).with("Location", "/a"),
    ];
    let mut used = 0;
    for policy in [
        safe(),
        rfc(),
        granting(),
        keyed(granting()),
        announcing(granting()),
        announcing(keyed(granting())),
        ignoring(granting()),
        ignoring(announcing(keyed(granting()))),
    ] {
        for response in &responses {
            let request = get().with("Accept", "*/*").with("X-Currency", "JPY");
            let meta = stored(&request, response, &policy);
            let is_kept = kasoku_semantics::storable(&request, response, &meta.freshness, &policy).is_ok();
            if is_kept && !sets_cookie(&meta.head.fields) {
                assert_eq!(judged(&meta, &request, &policy), Ok(()), "{:?} under {:?}", meta, policy.grant);
                used += 1;
            }
        }
    }
    assert!(used > 50, "{used}");
}

#[test]
fn no_cookie_comes_out_of_the_shared_tier() {
    for policy in [safe(), rfc(), granting()] {
        for name in ["Set-Cookie", "set-cookie2"] {
            assert_eq!(forged(&page().with(name, "session=1"), &policy), Err(Reason::SetCookie), "{name}");
        }
        assert_eq!(forged(&page().with("Set_Cookie", "session=1"), &policy), Err(Reason::SharedItem));
    }
    // Nor where the operator drops cookies: a front end has dropped them before it wrote the item.
    let mut dropping = granting();
    dropping.grant.dropped_cookies = vec!["session".to_owned()];
    assert_eq!(forged(&page().with("Set-Cookie", "session=1"), &dropping), Err(Reason::SetCookie));
}

#[test]
fn no_field_for_a_server_or_a_connection_comes_out_of_it() {
    for policy in [safe(), rfc()] {
        for (name, value) in [
            ("X-Accel-Redirect", "/etc/passwd"),
            ("x-accel-expires", "9"),
            ("X_Accel_Redirect", "/etc/passwd"),
            ("X-Sendfile", "/etc/passwd"),
            ("X-LIGHTTPD-send-file", "/etc/passwd"),
            ("Connection", "close"),
            ("Keep-Alive", "timeout=5"),
            ("Upgrade", "h2c"),
            ("TE", "trailers"),
            ("Proxy-Authenticate", "Basic"),
            ("Age", "5"),
        ] {
            assert_eq!(forged(&page().with(name, value), &policy), Err(Reason::SharedItem), "{name}");
        }
    }
}

#[test]
fn what_must_not_be_stored_is_not_used() {
    for (value, reason) in [
        ("no-store, max-age=600", Reason::NoStore),
        ("private, max-age=600", Reason::Private),
        ("private=\"X-User\", max-age=600", Reason::Private),
    ] {
        let head = status(200).with("Cache-Control", value);
        assert_eq!(forged(&head, &safe()), Err(reason), "{value}");
    }
    // Profile rfc stores a response without its private fields. With one of them, no front end has written it.
    let head = status(200).with("Cache-Control", "private=\"X-User\", max-age=600");
    assert_eq!(forged(&head, &rfc()), Ok(()));
    assert_eq!(forged(&head.with("X-User", "Ann"), &rfc()), Err(Reason::SharedItem));
    // The operator may overrule it.
    let mut policy = granting();
    policy.grant.ttl_override_seconds = 60;
    policy.grant.ignore = vec![Ignored::Private];
    let page = status(200).with("Cache-Control", "private");
    assert_eq!(judged(&stored(&get(), &page, &policy), &get(), &policy), Ok(()));
    assert_eq!(forged(&status(200).with("Cache-Control", "no-store"), &policy).unwrap_err(), Reason::NoStore);
}

#[test]
fn statuses_of_one_request_are_not_used() {
    for (code, reason) in [
        (206, Reason::RequestSpecificStatus),
        (412, Reason::RequestSpecificStatus),
        (416, Reason::RequestSpecificStatus),
        (407, Reason::RequestSpecificStatus),
        (400, Reason::RequestSpecificError),
        (500, Reason::RequestSpecificError),
    ] {
        let head = status(code).with("Cache-Control", "max-age=600").with("Content-Range", "bytes 0-3/4");
        assert_eq!(forged(&head, &safe()), Err(reason), "{code}");
    }
}

#[test]
fn a_lifetime_may_be_chosen_by_who_writes_the_item() {
    for policy in [safe(), rfc()] {
        let head = status(302).with("Location", "/a");
        let meta = Meta { head, ..stored(&get(), &page(), &policy) };
        assert_eq!(judged(&meta, &get(), &policy), Ok(()));
        let freshness = Freshness { lifetime: 0, stale_if_error: 0, ..meta.freshness };
        assert_eq!(judged(&Meta { freshness, ..meta }, &get(), &policy), Ok(()));
    }
    let bounded = Policy { ttl_max_seconds: 60, ..safe() };
    let meta = stored(&get(), &page(), &bounded);
    assert_eq!((meta.freshness.lifetime, judged(&meta, &get(), &bounded)), (60, Ok(())));
    let freshness = Freshness { lifetime: 61, ..meta.freshness };
    assert_eq!(judged(&Meta { freshness, ..meta }, &get(), &bounded), Err(Reason::SharedItem));
}

#[test]
fn a_grant_is_the_operator_s_not_the_item_s() {
    let with_source = |source, head: ResponseHead, policy: &Policy| {
        let meta = Meta { head, ..stored(&get(), &page(), policy) };
        judged(&Meta { freshness: Freshness { source, ..meta.freshness }, ..meta }, &get(), policy)
    };
    let bare = || status(200).with("Content-Type", "text/html");
    for source in [LifetimeSource::Ttl, LifetimeSource::Override, LifetimeSource::Status, LifetimeSource::Negative] {
        assert_eq!(with_source(source, bare(), &safe()), Err(Reason::SharedItem), "{source:?}");
    }
    // Nor does a claimed grant make an application's own `no-cache` look like what Kasoku tells clients about granted lifetimes.
    let demanding = bare().with("Cache-Control", "no-cache").with("Vary", "Cookie");
    assert_eq!(with_source(LifetimeSource::Ttl, demanding, &safe()), Err(Reason::SharedItem));
    // An error is not for everybody because an item says so.
    for source in [LifetimeSource::Status, LifetimeSource::Negative] {
        assert_eq!(with_source(source, status(500), &safe()), Err(Reason::RequestSpecificError), "{source:?}");
    }
    let mut policy = safe();
    policy.grant.ttl_status = vec![StatusTtl { first: 500, last: 500, seconds: 5 }];
    assert_eq!(judged(&stored(&get(), &status(500), &policy), &get(), &policy), Ok(()));
    // Where a lifetime is granted, clients have to be told to ask again each time, and get no validator of the application's.
    let meta = stored(&get(), &bare().with("ETag", "\"a\""), &granting());
    assert_eq!(judged(&meta, &get(), &granting()), Ok(()));
    let mut silent = meta.clone();
    silent.head.fields.remove("cache-control");
    assert_eq!(judged(&silent, &get(), &granting()), Err(Reason::SharedItem));
    let claimed = Freshness { source: LifetimeSource::MaxAge, ..meta.freshness };
    assert_eq!(judged(&Meta { freshness: claimed, ..silent }, &get(), &granting()), Err(Reason::SharedItem));
    assert_eq!(judged(&Meta { freshness: claimed, ..meta.clone() }, &get(), &granting()), Err(Reason::SharedItem));
    assert_eq!(judged(&Meta { withheld: None, ..meta }, &get(), &granting()), Err(Reason::SharedItem));
}

#[test]
fn what_the_head_demands_holds_whatever_the_lines_say() {
    let response = status(200).with("Cache-Control", "no-cache, must-revalidate, max-age=600").with("ETag", "\"a\"");
    let meta = stored(&get(), &response, &safe());
    assert_eq!(judged(&meta, &get(), &safe()), Ok(()));
    for freshness in
        [Freshness { no_cache: false, ..meta.freshness }, Freshness { must_revalidate: false, ..meta.freshness }]
    {
        assert_eq!(judged(&Meta { freshness, ..meta.clone() }, &get(), &safe()), Err(Reason::SharedItem));
    }
}

#[test]
fn a_variant_is_used_only_for_requests_that_select_it() {
    let japanese = get().with("Accept-Language", "ja");
    let meta = stored(&japanese, &page().with("Vary", "Accept-Language"), &safe());
    assert_eq!(judged(&meta, &japanese, &safe()), Ok(()));
    assert_eq!(judged(&meta, &get(), &safe()), Err(Reason::VaryMiss));
    let (nominated, variant) = (Vec::new(), Vec::new());
    let for_all = Meta { nominated, variant, ..meta };
    assert_eq!(judged(&for_all, &get(), &safe()), Err(Reason::VaryChanged));
    assert_eq!(forged(&page().with("Vary", "*"), &safe()), Err(Reason::VaryStar));
    // A program may tell variants apart by more than Vary says.
    let more = Meta { head: page(), ..stored(&japanese, &page().with("Vary", "Accept-Language"), &safe()) };
    assert_eq!((judged(&more, &japanese, &safe()), judged(&more, &get(), &safe())), (Ok(()), Err(Reason::VaryMiss)));
}

#[test]
fn a_request_with_credentials_gets_what_may_be_shared() {
    let judge = |control: &str, request: RequestHead| {
        let page = status(200).with("Cache-Control", control);
        judged(&stored(&get(), &page, &safe()), &request, &safe())
    };
    assert_eq!(judge("max-age=600", get().with("Authorization", "x")), Err(Reason::Authorization));
    assert_eq!(judge("max-age=600", get().with("Cookie", "a=b")), Err(Reason::Cookie));
    assert_eq!(judge("public, max-age=600", get().with("Cookie", "a=b").with("Authorization", "x")), Ok(()));
    assert_eq!(judge("max-age=600", get().with("Cache-Control", "no-store")), Err(Reason::RequestNoStore));
    let head = RequestHead { method: Method::HEAD, ..get() };
    assert_eq!(judge("max-age=600", head), Ok(()), "a stored response answers a HEAD");
}

#[test]
fn other_rules_make_it_a_miss() {
    let other = Policy { rules: 6, ..safe() };
    assert_eq!(judged(&stored(&get(), &page(), &other), &get(), &safe()), Err(Reason::RulesChanged));
}
