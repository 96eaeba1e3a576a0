//! For how long a response is fresh: the order of the explicit lifetimes, heuristics, negative caching.

use kasoku_semantics::policy::Profile;
use kasoku_testkit::{BOTH, Scenario, Setup, get, ok, reply};

/// Checks that a response with these fields is a hit until `stale_after` seconds have passed: asks after `stale_after - 1` and
/// after `stale_after` seconds.
#[track_caller]
fn is_fresh_for(profile: Profile, fields: &[&str], stale_after: i64) {
    let scene = Setup::new(profile).run([get("/").answers(ok(fields, "old")), get("/").answers(ok(fields, "new"))]);
    let mut client = scene.client();
    assert_eq!(client.get("/").text(), "old");
    scene.advance(stale_after - 1);
    let response = client.get("/");
    assert_eq!((response.text().as_str(), response.is_hit()), ("old", true), "{fields:?}: stale too early");
    scene.advance(1);
    assert_eq!(client.get("/").text(), "new", "{fields:?}: fresh for too long");
}

/// Asks twice, and checks that the origin answers each time.
#[track_caller]
fn is_not_reused(setup: Setup, first: &[u8]) {
    let scene = setup.run([get("/").answers(first), get("/").answers(ok(&["Cache-Control: no-store"], "second"))]);
    let mut client = scene.client();
    let response = client.get("/");
    assert!(!response.is_hit(), "{response:?}");
    assert_eq!(client.get("/").text(), "second", "{:?}", String::from_utf8_lossy(first));
}

#[test]
fn max_age_counts_in_seconds() {
    for profile in BOTH {
        is_fresh_for(profile, &["Cache-Control: max-age=100"], 100);
        is_fresh_for(profile, &["Cache-Control: public, Max-Age=100, x"], 100);
        is_fresh_for(profile, &["Cache-Control: max-age=\"100\""], 100);
        is_fresh_for(profile, &["Cache-Control: x=\"max-age=5\", max-age=100"], 100);
    }
}

#[test]
fn s_maxage_beats_max_age_and_expires() {
    //= RFC 9111 section 5.3
    //# Likewise, if a response includes the s-maxage directive (Section 5.2.2.10), a shared cache recipient MUST ignore the
    //# Expires header field.
    for profile in BOTH {
        let expires = format!("Expires: {}", Setup::new(profile).date(7));
        is_fresh_for(profile, &["Cache-Control: max-age=5, s-maxage=100", &expires], 100);
        is_fresh_for(profile, &["Cache-Control: s-maxage=100, max-age=500"], 100);
    }
}

#[test]
fn max_age_beats_expires() {
    //= RFC 9111 section 5.3
    //# If a response includes a Cache-Control header field with the max-age directive (Section 5.2.2.1), a recipient MUST
    //# ignore the Expires header field.
    let setup = Setup::safe();
    is_fresh_for(Profile::Safe, &[&format!("Expires: {}", setup.date(7)), "Cache-Control: max-age=100"], 100);
    is_fresh_for(Profile::Safe, &["Expires: 0", "Cache-Control: max-age=100"], 100);
}

#[test]
fn expires_counts_from_date() {
    for profile in BOTH {
        let setup = Setup::new(profile);
        let (date, expires) = (format!("Date: {}", setup.date(0)), format!("Expires: {}", setup.date(100)));
        let scene = setup.run([get("/").answers(ok(&[&date, &expires], "old")), get("/").answers(ok(&[], "new"))]);
        let mut client = scene.client();
        client.get("/");
        scene.advance(99);
        assert!(client.get("/").is_hit());
        scene.advance(1);
        assert_eq!(client.get("/").text(), "new");
    }
}

#[test]
fn an_invalid_or_past_expires_is_in_the_past() {
    //= RFC 9111 section 5.3
    //# A cache recipient MUST interpret invalid date formats, especially the value "0", as representing a time in the past
    //# (i.e., "already expired").
    let past = Setup::safe().date(-10);
    for expires in ["0", "-1", "soon", "", "Thu, 99 Foo 2099 00:00:00 GMT", past.as_str()] {
        for profile in BOTH {
            is_not_reused(Setup::new(profile), &ok(&[&format!("Expires: {expires}")], "first"));
        }
    }
}

#[test]
fn conflicting_lifetimes_are_not_stretched() {
    is_fresh_for(Profile::Rfc, &["Cache-Control: max-age=100, max-age=10"], 10);
    is_fresh_for(Profile::Rfc, &["Cache-Control: max-age=10", "Cache-Control: max-age=100"], 10);
}

#[test]
fn an_invalid_max_age_is_stale() {
    for value in ["max-age", "max-age=", "max-age=x", "max-age=-1", "max-age=1.5", "max-age=1s"] {
        is_not_reused(Setup::rfc(), &ok(&[&format!("Cache-Control: {value}")], "first"));
    }
}

#[test]
fn a_lifetime_beyond_all_numbers_is_a_long_one() {
    //= RFC 9111 section 1.2.2
    //# If a cache receives a delta-seconds value greater than the greatest integer it can represent, or if any of its
    //# subsequent calculations overflows, the cache MUST consider the value to be 2147483648 (2^31) or the greatest positive
    //# integer it can conveniently represent.
    let scene = Scenario::rfc([get("/").answers(ok(&["Cache-Control: max-age=99999999999999999999999"], "a"))]);
    let mut client = scene.client();
    client.get("/");
    scene.advance(1_000_000_000);
    assert!(client.get("/").is_hit());
}

#[test]
fn the_heuristic_is_a_tenth_of_the_time_since_last_modified() {
    for profile in BOTH {
        let setup = Setup::new(profile);
        let modified = format!("Last-Modified: {}", setup.date(-1000));
        let fields = ["Content-Type: image/png", &modified];
        let scene = setup.run([get("/").answers(ok(&fields, "old")), get("/").answers(ok(&[], "new"))]);
        let mut client = scene.client();
        client.get("/");
        scene.advance(99);
        assert!(client.get("/").is_hit());
        scene.advance(1);
        assert_eq!(client.get("/").text(), "new");
    }
}

#[test]
fn the_heuristic_has_a_limit_and_can_be_set() {
    let setup = Setup::safe().policy(|policy| (policy.heuristic_percent, policy.heuristic_max_seconds) = (50, 60));
    let modified = format!("Last-Modified: {}", setup.date(-100_000));
    let fields = ["Content-Type: text/css", &modified];
    let scene = setup.run([get("/").answers(ok(&fields, "old")), get("/").answers(ok(&[], "new"))]);
    let mut client = scene.client();
    client.get("/");
    scene.advance(59);
    assert!(client.get("/").is_hit());
    scene.advance(1);
    assert_eq!(client.get("/").text(), "new");
}

#[test]
fn no_lifetime_is_guessed_of_a_page_that_may_show_its_visitors_address() {
    // The application expects a request for each visit: it has stated no lifetime, and Kasoku forwards the client's address to
    // it.
    let page = |setup: &Setup| {
        let modified = format!("Last-Modified: {}", setup.date(-100_000));
        ok(&["Content-Type: text/html", &modified], "first")
    };
    let setup = Setup::safe();
    let first = page(&setup);
    is_not_reused(setup, &first);
    let setup = Setup::rfc();
    let first = page(&setup);
    let scene = setup.run([get("/").answers(first)]);
    scene.client().get("/");
    assert!(scene.client().get("/").is_hit(), "the RFC's rule");
}

#[test]
fn heuristics_give_way_to_an_explicit_expiry() {
    //= RFC 9111 section 4.2.2
    //# A cache MUST NOT use heuristics to determine freshness when an explicit expiration time is present in the stored
    //# response.
    let setup = Setup::rfc();
    let modified = format!("Last-Modified: {}", setup.date(-100_000));
    is_not_reused(setup, &ok(&[&modified, "Cache-Control: max-age=0"], "first"));
}

#[test]
fn nothing_that_says_how_long_is_not_reused() {
    for profile in BOTH {
        is_not_reused(Setup::new(profile), &ok(&[], "first"));
    }
}

#[test]
fn targeted_cache_control_beats_cache_control_and_expires() {
    //= RFC 9213 section 2.2
    //# When a cache that implements this specification receives a response with one or more of the header field names
    //# on its target list, the cache MUST select the first (in target-list order) field with a valid, non-empty value
    //# and use its value to determine the caching policy for the response, and it MUST ignore the Cache-Control and
    //# Expires header fields in that response
    for profile in BOTH {
        is_fresh_for(
            profile,
            &["CDN-Cache-Control: max-age=100", "Cache-Control: max-age=5, private", "Expires: 0"],
            100,
        );
        is_not_reused(Setup::new(profile), &ok(&["CDN-Cache-Control: no-store", "Cache-Control: max-age=60"], "first"));
        is_not_reused(
            Setup::new(profile),
            &ok(&["CDN-Cache-Control: max-age=0", "Cache-Control: max-age=60"], "first"),
        );
    }
}

#[test]
fn a_targeted_field_that_is_invalid_or_empty_is_ignored() {
    for value in ["", "max-age=60, =", "max-age=\"x", "&"] {
        is_fresh_for(Profile::Rfc, &[&format!("CDN-Cache-Control: {value}"), "Cache-Control: max-age=10"], 10);
    }
}

#[test]
fn the_operators_own_targeted_field_comes_first_where_it_is_listed_first() {
    let setup = || Setup::safe().policy(|policy| policy.targeted_fields.insert(0, "Mine-Cache-Control".into()));
    let fields = ["CDN-Cache-Control: max-age=5", "Mine-Cache-Control: max-age=100", "Cache-Control: no-store"];
    let scene = setup().run([get("/").answers(ok(&fields, "a"))]);
    let mut client = scene.client();
    client.get("/");
    scene.advance(99);
    let hit = client.get("/");
    assert!(hit.is_hit());
    assert_eq!(hit.field("cdn-cache-control"), "max-age=5", "they are passed on");
}

#[test]
fn errors_without_a_lifetime_are_remembered_for_the_negative_ttl() {
    for (status, is_kept) in [
        ("404 Not Found", true),
        ("410 Gone", true),
        ("501 Not Implemented", true),
        ("500 Oops", false),
        ("403 No", false),
    ] {
        let scene = Setup::safe()
            .policy(|policy| policy.negative_ttl_seconds = 10)
            .run([get("/").answers(reply(status, &[], "old")), get("/").answers(reply(status, &[], "new"))]);
        let mut client = scene.client();
        client.get("/");
        scene.advance(9);
        assert_eq!(client.get("/").text() == "old", is_kept, "{status}");
        scene.advance(1);
        if is_kept {
            assert_eq!(client.get("/").text(), "new", "{status}");
        }
    }
}

#[test]
fn the_negative_ttl_is_no_grant_for_requests_with_cookies_or_credentials() {
    for field in ["Cookie: a=b", "Authorization: Basic x"] {
        let answer = |body| get("/").answers(reply("404 Not Found", &[], body));
        let scene =
            Setup::safe().policy(|policy| policy.negative_ttl_seconds = 10).run([answer("mine"), answer("all")]);
        let mut client = scene.client();
        client.get_with("/", &[field]);
        assert_eq!(client.get("/").text(), "all", "{field}");
        assert!(client.get("/").is_hit());
    }
}

#[test]
fn an_explicit_lifetime_beats_the_negative_ttl() {
    let scene = Setup::safe().policy(|policy| policy.negative_ttl_seconds = 10).run([
        get("/").answers(reply("404 Not Found", &["Cache-Control: max-age=60"], "a")),
        get("/b").answers(reply("404 Not Found", &["Cache-Control: no-store"], "b")),
        get("/b").answers(reply("404 Not Found", &[], "c")),
    ]);
    let mut client = scene.client();
    client.get("/");
    scene.advance(59);
    assert!(client.get("/").is_hit());
    client.get("/b");
    assert_eq!(client.get("/b").text(), "c");
}
