//! The effect of each setting of granted lifetimes: which responses get one, which do not, what clients are told, and what
//! happens when it ends.

use super::{grant, names, policy, ttl};
use kasoku_semantics::grant::{Ignored, StatusTtl};
use kasoku_testkit::{BOTH, Response, Scenario, Setup, get, head, ok, post, reply};
use std::sync::Arc;

const ETAG: &str = "ETag: \"1\"";

fn overriding(ignore: &[Ignored]) -> Setup {
    grant(Setup::safe(), |grant| {
        grant.ttl_override_seconds = 60;
        grant.ignore = ignore.to_vec();
    })
}

#[test]
fn a_search_that_states_no_expiry_is_a_hit_for_as_long_as_granted() {
    for profile in BOTH {
        let scene = ttl(Setup::new(profile)).run([
            get("/mt-search.cgi?tag=x").answers(ok(&[], "old")),
            get("/mt-search.cgi?tag=x").answers(ok(&[], "new")),
        ]);
        let mut client = scene.client();
        let first = client.get("/mt-search.cgi?tag=x");
        let told =
            |response: &Response| (response.field("cache-control"), response.field("vary"), response.has("expires"));
        assert_eq!(
            (first.text(), told(&first)),
            ("old".to_owned(), ("no-cache".to_owned(), "Cookie".to_owned(), false))
        );
        scene.advance(59);
        let hit = client.get("/mt-search.cgi?tag=x");
        assert!(hit.is_hit() && told(&hit) == told(&first) && hit.field("age") == "59", "{hit:?}");
        scene.advance(1);
        assert_eq!(client.get("/mt-search.cgi?tag=x").text(), "new");
    }
}

#[test]
fn a_granted_lifetime_counts_from_arrival_whatever_the_clock_of_the_origin_says() {
    for announces in [false, true] {
        let setup = grant(ttl(Setup::safe()), |grant| grant.announce_ttl = announces);
        let date = format!("Date: {}", setup.date(-300));
        let scene = setup.run([get("/").answers(ok(&[&date], "old")), get("/").answers(ok(&[], "new"))]);
        let mut client = scene.client();
        assert_eq!(client.get("/").text(), "old");
        scene.advance(59);
        let hit = client.get("/");
        assert!(hit.is_hit() && hit.field("age") == "359", "{hit:?}");
        // A browser reckons with Date and Age, as RFC 9111 says: a second is left.
        let told = if announces { "max-age=360" } else { "no-cache" };
        assert_eq!(hit.field("cache-control"), told);
        scene.advance(1);
        assert_eq!(client.get("/").text(), "new");
    }
}

#[test]
fn what_the_response_states_comes_first() {
    let scene = ttl(Setup::safe()).run([
        get("/").answers(ok(&["Cache-Control: max-age=5"], "1")),
        get("/").answers(ok(&["Cache-Control: no-store"], "2")),
        get("/").answers(ok(&["Cache-Control: private"], "3")),
        get("/").answers(ok(&["Set-Cookie: a=b"], "4")),
        get("/").answers(ok(&[], "5")),
    ]);
    let mut client = scene.client();
    client.get("/");
    assert!(client.get("/").is_hit());
    scene.advance(6);
    assert_eq!([(); 3].map(|()| client.get("/").detail()), ["no-store", "private", "set-cookie"]);
    client.get("/");
    assert!(client.get("/").is_hit());
}

#[test]
fn a_lifetime_of_the_applications_own_is_neither_shortened_nor_lengthened() {
    let in_five_minutes = format!("Expires: {}", Setup::safe().date(300));
    for (said, seconds) in
        [(in_five_minutes.as_str(), 300), ("Cache-Control: max-age=5", 5), ("Cache-Control: s-maxage=90", 90)]
    {
        let scene = ttl(Setup::safe()).run([get("/").answers(ok(&[said], "1")), get("/").answers(ok(&[said], "2"))]);
        let mut client = scene.client();
        client.get("/");
        scene.advance(seconds - 1);
        assert!(client.get("/").is_hit(), "{said}");
        scene.advance(1);
        assert_eq!(client.get("/").text(), "2", "{said}");
    }
}

#[test]
fn pragma_in_a_response_means_nothing() {
    for profile in BOTH {
        let scene = ttl(Setup::new(profile)).run([get("/").answers(ok(&["Pragma: no-cache"], "page"))]);
        let mut client = scene.client();
        client.get("/");
        assert!(client.get("/").is_hit(), "{profile:?}");
    }
}

#[test]
fn what_is_overruled_is_kept_and_browsers_hear_what_the_application_said() {
    let php = [
        "Cache-Control: no-store, no-cache, must-revalidate",
        "Expires: Thu, 19 Nov 1981 08:52:00 GMT",
        "Pragma: no-cache",
        "Set-Cookie: PHPSESSID=victim; path=/",
    ];
    let ignore = [Ignored::NoStore, Ignored::NoCache, Ignored::MustRevalidate, Ignored::Expires, Ignored::SetCookie];
    let scene = overriding(&ignore).run([get("/").answers(ok(&php, "page"))]);
    let mut client = scene.client();
    for is_hit in [false, true] {
        let response = client.get("/");
        assert_eq!(response.is_hit(), is_hit, "{response:?}");
        assert_eq!(response.field("cache-control"), "no-store, no-cache, must-revalidate");
        assert_eq!(response.field("expires"), "Thu, 19 Nov 1981 08:52:00 GMT");
        assert!(!response.has("set-cookie"), "a session that two visitors would share: {response:?}");
    }
}

#[test]
fn a_cookie_that_is_not_ignored_keeps_the_page_from_being_stored_and_reaches_its_visitor() {
    let scene = overriding(&[Ignored::NoStore]).run([
        get("/").answers(ok(&["Cache-Control: no-store", "Set-Cookie: id=1"], "1")),
        get("/").answers(ok(&["Cache-Control: no-store", "Set-Cookie: id=2"], "2")),
    ]);
    let mut client = scene.client();
    for id in ["id=1", "id=2"] {
        let response = client.get("/");
        assert_eq!((response.field("set-cookie").as_str(), response.detail().as_str()), (id, "set-cookie"));
    }
}

#[test]
fn an_ignored_cookie_reaches_its_visitor_where_something_else_keeps_the_page_from_being_stored() {
    let scene = overriding(&[Ignored::SetCookie])
        .run([get("/").answers(ok(&["Cache-Control: private", "Set-Cookie: id=1"], "page"))]);
    let response = scene.client().get("/");
    assert_eq!((response.field("set-cookie").as_str(), response.detail().as_str()), ("id=1", "private"));
}

/// The application has not seen the client's cookie, and sets its default: Rhymix, the device's version with a 404.
#[test]
fn an_answer_that_is_not_stored_replaces_no_cookie_that_its_request_went_without() {
    let setup = ttl(Setup::safe()).route(|route| route.cookies.noise = names(&["version"]));
    let missing =
        |id: &str| reply("404 Not Found", &["Cache-Control: no-store", "Set-Cookie: version=desktop", id], "none");
    let scene = setup.run([get("/a").answers(missing("Set-Cookie: id=1")), get("/b").answers(missing("X-Id: 2"))]);
    let chosen = scene.client().get_with("/a", &["Cookie: version=mobile"]);
    assert_eq!((chosen.status, chosen.field("set-cookie")), (404, "id=1".to_owned()), "{chosen:?}");
    let first_visit = scene.client().get("/b");
    assert_eq!(first_visit.field("set-cookie"), "version=desktop", "{first_visit:?}");
}

#[test]
fn those_who_wait_for_a_page_with_an_ignored_cookie_do_not_get_it_either() {
    let gate = kasoku_testkit::Gate::new();
    let setup = overriding(&[Ignored::SetCookie]);
    let scene = setup.run([get("/").waits(&gate).answers(ok(&["Set-Cookie: id=1"], "page"))]);
    let [mut first, mut second] = [(); 2].map(|()| scene.client());
    first.ask("GET", "/", &[]);
    scene.origin.arrived(1);
    second.ask("GET", "/", &[]);
    scene.settled();
    gate.open();
    for client in [&mut first, &mut second] {
        let response = client.response();
        assert!(!response.has("set-cookie") && response.text() == "page", "{response:?}");
    }
}

#[test]
fn vary_that_is_ignored_makes_one_page_for_all() {
    let scene = overriding(&[Ignored::Vary])
        .run([get("/").answers(ok(&["Vary: Accept-Language, Cookie, X-Anything"], "page"))]);
    let mut client = scene.client();
    client.get_with("/", &["Accept-Language: de"]);
    let hit = client.get_with("/", &["Accept-Language: fr"]);
    assert!(hit.is_hit() && hit.field("vary") == "Accept-Language, Cookie, X-Anything", "{hit:?}");
}

#[test]
fn vary_by_what_no_shared_request_has_or_kasoku_sees_to_makes_no_variants() {
    let scene = ttl(Setup::safe()).run([get("/").answers(ok(&["Vary: Accept-Encoding, HX-Request, Cookie"], "page"))]);
    let mut client = scene.client();
    client.get_with("/", &["Accept-Encoding: gzip, br", "User-Agent: one"]);
    for fields in [&["Accept-Encoding: identity", "User-Agent: two"][..], &[]] {
        assert!(client.get_with("/", fields).is_hit(), "{fields:?}");
    }
    assert_eq!(scene.origin.request(0).field("accept-encoding"), None);
}

#[test]
fn a_status_has_the_lifetime_that_it_is_given() {
    let by_status = |grant: &mut kasoku_semantics::grant::Grant| {
        let of = |first, last, seconds| StatusTtl { first, last, seconds };
        grant.ttl_status = vec![of(404, 404, 5), of(300, 399, 10), of(500, 599, 2)];
    };
    for (status, seconds) in [("404 Not Found", 5), ("302 Found", 10), ("503 Service Unavailable", 2)] {
        let scene = grant(Setup::safe(), by_status)
            .run([get("/").answers(reply(status, &[], "old")), get("/").answers(reply(status, &[], "new"))]);
        let mut client = scene.client();
        client.get("/");
        scene.advance(seconds - 1);
        assert!(client.get("/").is_hit(), "{status}");
        scene.advance(1);
        assert_eq!(client.get("/").text(), "new", "{status}");
    }
    let scene = ttl(Setup::safe())
        .run([get("/").answers(reply("404 Not Found", &[], "1")), get("/").answers(reply("404 Not Found", &[], "2"))]);
    scene.client().get("/");
    assert_eq!(scene.client().get("/").text(), "2", "an error that `ttl-status` does not name");
}

#[test]
fn a_post_is_granted_nothing_and_drops_what_is_stored() {
    for profile in BOTH {
        let scene = ttl(Setup::new(profile)).run([
            get("/").answers(ok(&[], "old")),
            post("/").answers(ok(&["Content-Location: /", "Cache-Control: max-age=60"], "posted")),
            get("/").answers(ok(&[], "new")),
        ]);
        let mut client = scene.client();
        client.get("/");
        client.send_body("POST", "/", &[], "x=1");
        assert_eq!(client.get("/").text(), "new");
    }
}

#[test]
fn a_head_does_not_make_an_old_page_young() {
    for profile in BOTH {
        let scene = ttl(Setup::new(profile)).run([
            get("/").answers(ok(&[], "old")),
            head("/").answers("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"),
            get("/").answers(ok(&[], "new")),
        ]);
        let mut client = scene.client();
        client.get("/");
        assert!(client.head("/", &[]).is_hit());
        scene.advance(61);
        client.head("/", &["Cookie: _ga=1"]);
        assert_eq!(client.get("/").text(), "new");
    }
}

#[test]
fn a_confirmed_page_is_granted_its_lifetime_anew() {
    let scene = ttl(Setup::safe())
        .run([get("/").answers(ok(&[ETAG], "page")), get("/").answers(reply("304 Not Modified", &[ETAG], ""))]);
    let mut client = scene.client();
    client.get("/");
    scene.advance(61);
    assert_eq!(client.get_with("/", &["Cache-Control: no-cache"]).detail(), "revalidated");
    let asked = scene.origin.request(1);
    assert_eq!((asked.field("if-none-match").as_deref(), asked.field("cache-control")), (Some("\"1\""), None));
    scene.advance(59);
    assert!(client.get("/").is_hit());
}

#[test]
fn clients_are_told_the_lifetime_where_the_operator_says_so() {
    let setup = grant(ttl(Setup::safe()), |grant| {
        grant.announce_ttl = true;
        grant.key_fields = names(&["accept-language"]);
    });
    let scene = setup.run([
        get("/").answers(ok(&[ETAG, "Pragma: x"], "page")),
        get("/").answers(reply("304 Not Modified", &[ETAG], "")),
    ]);
    let mut client = scene.client();
    for (advance, is_hit) in [(0, false), (10, true), (60, false), (0, true)] {
        scene.advance(advance);
        let response = client.get("/");
        assert_eq!(response.is_hit(), is_hit, "{response:?}");
        assert_eq!(response.field("cache-control"), "max-age=60");
        assert_eq!(response.field("vary"), "accept-language");
        assert!(!response.has("pragma"));
    }
}

#[test]
fn a_range_is_cut_from_the_whole_that_all_get() {
    let scene = ttl(Setup::safe()).run([get("/").answers(ok(&[], "0123456789"))]);
    let mut client = scene.client();
    let part = client.get_with("/", &["Range: bytes=2-4"]);
    assert_eq!((part.status, part.text().as_str()), (206, "234"));
    assert_eq!(scene.origin.request(0).field("range"), None);
    scene.eventually(|| client.get("/").is_hit());
    assert_eq!(client.get_with("/", &["Range: bytes=-1"]).text(), "9");
}

#[test]
fn parts_of_what_is_too_large_to_be_kept_are_asked_for_as_parts() {
    let film = [b'x'; 50_000];
    let part = reply("206 Partial Content", &["Content-Range: bytes 100-199/50000"], &film[..100]);
    let scene = ttl(Setup::safe()).options(|options| options.object_bytes_max = 20_000).run([
        get("/film").answers(ok(&[], film)),
        get("/film").answers(&part),
        get("/film").answers(ok(&[], film)),
    ]);
    let mut client = scene.client();
    assert_eq!(client.get("/film").body.len(), film.len());
    let response = client.get_with("/film", &["Range: bytes=100-199"]);
    assert_eq!((response.status, response.body.len(), response.detail().as_str()), (206, 100, "object-too-large"));
    assert_eq!(scene.origin.request(1).field("range").as_deref(), Some("bytes=100-199"));
    scene.advance(3_600);
    // The file may have become smaller.
    client.get_with("/film", &["Range: bytes=100-199"]);
    assert_eq!(scene.origin.request(2).field("range"), None);
}

#[test]
fn grace_stands_in_while_the_page_is_refreshed_and_when_the_application_fails() {
    let setup = ttl(Setup::safe()).policy(|policy| policy.grace_seconds = 100);
    let scene = setup.run([get("/").answers(ok(&[], "old")), get("/").answers(ok(&[], "new"))]);
    let mut client = scene.client();
    client.get("/");
    scene.advance(61);
    let stale = client.get("/");
    assert_eq!((stale.text().as_str(), stale.detail().as_str()), ("old", "hit-stale-while-revalidate"));
    scene.eventually(|| client.get("/").text() == "new");

    let setup = ttl(Setup::safe()).policy(|policy| policy.grace_seconds = 100);
    let scene = setup.run([
        get("/").answers(ok(&[], "old")),
        get("/").answers(reply("500 Internal Server Error", &[], "")),
        get("/").answers(ok(&[], "new")),
    ]);
    let mut client = scene.client();
    client.get("/");
    scene.advance(61);
    assert_eq!(client.get("/").text(), "old");
    scene.origin.done(2);
    assert_eq!(client.get("/").text(), "old", "it failed a moment ago");
    scene.advance(101);
    assert_eq!(client.get("/").text(), "new");
}

#[test]
fn what_is_kept_too_long_is_not_even_confirmed() {
    let setup = ttl(Setup::safe()).policy(|policy| (policy.grace_seconds, policy.keep_seconds) = (10, Some(30)));
    let scene = setup.run([get("/").answers(ok(&[ETAG], "old")), get("/").answers(ok(&[ETAG], "new"))]);
    let mut client = scene.client();
    client.get("/");
    scene.advance(60 + 10 + 30);
    let response = client.get("/");
    assert_eq!((response.text().as_str(), response.detail().as_str()), ("new", "keep-exceeded"));
    assert_eq!(scene.origin.request(1).field("if-none-match"), None);
}

#[test]
fn a_bound_holds_for_what_the_application_states() {
    let scene = Setup::safe().policy(|policy| policy.ttl_max_seconds = 10).run([
        get("/").answers(ok(&["Cache-Control: max-age=1000"], "old")),
        get("/").answers(ok(&["Cache-Control: max-age=1000"], "new")),
    ]);
    let mut client = scene.client();
    client.get("/");
    scene.advance(10);
    assert_eq!(client.get("/").text(), "new");
}

#[test]
fn fields_that_the_operator_strips_are_not_stored() {
    let scene = ttl(Setup::safe())
        .policy(|policy| policy.strip_fields = names(&["x-request-of"]))
        .run([get("/").answers(ok(&["X-Request-Of: somebody", "X-Kept: 1"], "page"))]);
    let mut client = scene.client();
    assert_eq!(client.get("/").field("x-request-of"), "somebody", "it is this request's own");
    let hit = client.get("/");
    assert!(hit.is_hit() && hit.has("x-kept") && !hit.has("x-request-of"), "{hit:?}");
}

#[test]
fn parameters_of_the_path_and_a_sites_hosts_are_one_in_the_key() {
    let setup = ttl(Setup::safe()).route(|route| {
        route.key.host = Some("shop.example".to_owned());
        route.key.path_parameters = names(&["jsessionid"]);
    });
    let scene = setup.rule("*.do", |_| {}).run([get("/list.do?p=1").answers(ok(&[], "page"))]);
    let mut client = scene.client();
    client.get_with("/list.do;jsessionid=1?p=1", &["Host: www.shop.example"]);
    assert_eq!(scene.origin.request(0).field("host").as_deref(), Some("shop.example"));
    for (target, host) in [
        ("/list.do;jsessionid=2?p=1", "Host: shop.example"),
        ("/list.do?p=1", "Host: WWW.shop.example:80"),
        ("/list.do;jsessionid=3?p=1", "Host: anything.example"),
    ] {
        assert!(client.get_with(target, &[host]).is_hit(), "{target} {host}");
    }
    let purged = client.ask("PURGE", "/list.do;jsessionid=9?p=1", &["Host: other.example"]).response();
    assert_eq!((purged.status, scene.engine.cache().is_empty()), (200, true), "{purged:?}");
}

#[test]
fn a_parameter_of_the_path_hides_no_page_from_its_rule() {
    let strip = |setup: Setup| setup.route(|route| route.key.path_parameters = names(&["jsessionid"]));
    let scene = ttl(strip(Setup::safe()))
        .rule("/admin", |route| route.pass = true)
        .run([get("/admin").answers(ok(&[], "1")), get("/admin").answers(ok(&[], "2"))]);
    let mut client = scene.client();
    assert_eq!(client.get("/admin;jsessionid=1").detail(), "pass-rule");
    assert_eq!(client.get("/admin").text(), "2");
}

#[test]
fn what_was_granted_by_other_rules_is_not_used() {
    let mut scene = ttl(Setup::safe()).run([get("/").answers(ok(&[], "old")), get("/").answers(ok(&[], "new"))]);
    scene.client().get("/");
    let mut options = (*scene.engine.handle().options()).clone();
    let route = Arc::make_mut(&mut options.sites[0].route);
    policy(route).grant.key_fields = names(&["accept-language"]);
    scene.engine.reload(options).unwrap();
    let response = scene.client().get("/");
    assert_eq!((response.text().as_str(), response.detail().as_str()), ("new", "rules-changed"));
}

#[test]
fn a_client_still_decides_what_it_wants_of_the_cache() {
    let scene = ttl(Setup::safe()).run([get("/").answers(ok(&[], "1")), get("/").answers(ok(&[], "2"))]);
    let mut client = scene.client();
    assert_eq!(client.get_with("/", &["Cache-Control: only-if-cached"]).status, 504);
    assert_eq!(client.get_with("/", &["Cache-Control: no-store"]).detail(), "request-no-store");
    client.get("/");
    assert!(client.get_with("/", &["Cache-Control: no-cache"]).is_hit(), "not that the application works for it");
}

/// Shows that the tests above can fail: without a grant, the origin is asked for the same search each time.
#[test]
fn without_a_grant_nothing_is_kept() {
    let scene = Scenario::safe([get("/s?q=1").answers(ok(&[], "1")), get("/s?q=1").answers(ok(&[], "2"))]);
    scene.client().get("/s?q=1");
    assert_eq!(scene.client().get("/s?q=1").text(), "2");
}
