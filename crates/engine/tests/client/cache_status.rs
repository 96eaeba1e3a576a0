//! Cache-Status (RFC 9211): what the cache did, and which rule decided.

use kasoku_options::{HostPattern, OriginAddress, OriginOptions};
use kasoku_testkit::{Client, Gate, Response, Scenario, Setup, get, ok, post, reply};
use std::time::Duration;

const FRESH: &str = "Cache-Control: max-age=10";

#[test]
fn a_miss_and_a_hit() {
    let scene = Scenario::safe([get("/").answers(ok(&[FRESH], "a"))]);
    let mut client = scene.client();
    assert_eq!(client.get("/").field("cache-status"), "kasoku; fwd=uri-miss; stored; detail=uri-miss");
    scene.advance(3);
    assert_eq!(client.get("/").field("cache-status"), "kasoku; hit; ttl=7; detail=hit");
}

#[test]
fn a_response_that_is_not_stored_says_why() {
    for (fields, reason) in [
        (&["Cache-Control: no-store"][..], "no-store"),
        (&["Cache-Control: private"], "private"),
        (&[FRESH, "Set-Cookie: a=b"], "set-cookie"),
        (&[FRESH, "Vary: *"], "vary-star"),
        (&[], "no-expiry-no-validator"),
    ] {
        let scene = Scenario::safe([get("/").answers(ok(fields, "a"))]);
        let response = scene.client().get("/");
        assert_eq!((response.detail().as_str(), response.cache_status("stored")), (reason, None));
        assert_eq!(response.cache_status("fwd").as_deref(), Some("uri-miss"));
    }
}

#[test]
fn why_a_request_went_to_the_origin() {
    let scene = Setup::rfc().rule("/pass", |route| route.pass = true).run([
        post("/").answers(ok(&[], "")),
        get("/pass").answers(ok(&[FRESH], "")),
        get("/").answers(ok(&[FRESH, "ETag: \"1\""], "")),
        get("/").answers(reply("304 Not Modified", &[FRESH, "ETag: \"1\""], "")),
        get("/").answers(reply("304 Not Modified", &[FRESH, "ETag: \"1\""], "")),
        get("/").answers(ok(&[FRESH], "")),
        get("/vary").answers(ok(&[FRESH, "Vary: X-A"], "")),
        get("/vary").answers(ok(&[FRESH, "Vary: X-A"], "")),
    ]);
    let mut client = scene.client();
    let of = |response: Response| (response.cache_status("fwd").unwrap_or_default(), response.detail());
    let is = |fwd: &str, detail: &str| (fwd.to_owned(), detail.to_owned());
    assert_eq!(of(client.send_body("POST", "/", &[], "")), is("method", "method"));
    assert_eq!(of(client.get("/pass")), is("bypass", "pass-rule"));
    client.get("/");
    assert_eq!(of(client.get_with("/", &["Cache-Control: no-cache"])), is("request", "revalidated"));
    scene.advance(10);
    assert_eq!(of(client.get("/")), is("stale", "revalidated"));
    assert_eq!(of(client.get_with("/", &["If-Match: \"1\""])), is("request", "origin-condition"));
    client.get("/vary");
    assert_eq!(of(client.get_with("/vary", &["X-A: 1"])).0, "vary-miss");
}

#[test]
fn a_collapsed_request_says_so() {
    let gate = Gate::new();
    let scene = Scenario::safe([get("/").answers("").waits(&gate).sends(ok(&[FRESH], "a"))]);
    let (mut first, mut second) = (scene.client(), scene.client());
    first.ask("GET", "/", &[]);
    scene.origin.arrived(1);
    second.ask("GET", "/", &[]);
    scene.settled();
    gate.open();
    assert_eq!(first.response().cache_status("collapsed"), None);
    let collapsed = second.response();
    assert_eq!(collapsed.cache_status("collapsed").as_deref(), Some(""));
    assert!(collapsed.cache_status("fwd").is_some() && collapsed.cache_status("hit").is_none());
}

#[test]
fn caches_further_in_come_first() {
    // RFC 9211 section 2: each cache appends its member, so the last member is nearest to the client.
    for cache_control in [FRESH, "Cache-Control: no-store"] {
        let scene = Scenario::safe([get("/").answers(ok(&[cache_control, "Cache-Status: inner; hit"], "a"))]);
        let response = scene.client().get("/");
        assert!(response.field("cache-status").starts_with("inner; hit, kasoku; fwd="), "{response:?}");
    }
}

#[test]
fn an_error_of_our_own_about_the_request_alone_has_none() {
    let scene = Scenario::safe([]);
    assert!(!scene.client().send("GET / HTTP/1.1\r\n\r\n").response().has("cache-status"));
}

/// The value of the field, unparsed.
fn line(response: &Response) -> String {
    response.field("cache-status")
}

#[test]
fn every_kind_of_hit_is_one() {
    let scene = Scenario::safe([get("/").answers(ok(&[FRESH, "ETag: \"1\""], "hello"))]);
    let mut client = scene.client();
    client.get("/");
    let hit = "kasoku; hit; ttl=10; detail=hit";
    assert_eq!(line(&client.head("/", &[])), hit);
    let not_modified = client.get_with("/", &["If-None-Match: \"1\""]);
    assert_eq!((not_modified.status, line(&not_modified).as_str()), (304, hit));
    let part = client.get_with("/", &["Range: bytes=0-1"]);
    assert_eq!((part.status, line(&part).as_str()), (206, hit));
    let beyond = client.get_with("/", &["Range: bytes=9-"]);
    assert_eq!((beyond.status, line(&beyond)), (416, "kasoku; hit; ttl=10; detail=range-unsatisfiable".into()));
}

#[test]
fn a_stale_hit_has_a_negative_ttl() {
    // RFC 9211 section 2.5: "The ttl parameter's value is an integer [...] can be negative, to indicate staleness".
    let gate = Gate::new();
    let scene = Scenario::rfc([
        get("/swr").answers(ok(&["Cache-Control: max-age=10, stale-while-revalidate=60"], "a")),
        get("/error").answers(ok(&["Cache-Control: max-age=10, stale-if-error=60"], "a")),
        get("/max").answers(ok(&[FRESH], "a")),
        get("/away").answers(ok(&[FRESH, "Connection: close"], "a")).closes(),
        get("/swr").answers("").waits(&gate).sends(ok(&[], "b")),
        get("/error").answers(reply("500 Oops", &[], "down")),
        get("/away").answers("").closes(),
    ]);
    let mut client = scene.client();
    for target in ["/swr", "/error", "/max", "/away"] {
        client.get(target);
    }
    scene.advance(15);
    assert_eq!(line(&client.get("/swr")), "kasoku; hit; ttl=-5; detail=hit-stale-while-revalidate");
    assert_eq!(line(&client.get("/error")), "kasoku; hit; ttl=-5; detail=hit-stale-error");
    let accepts = ["Cache-Control: max-stale=60"];
    assert_eq!(line(&client.get_with("/max", &accepts)), "kasoku; hit; ttl=-5; detail=hit-max-stale");
    scene.origin.arrived(6);
    assert_eq!(line(&client.get("/away")), "kasoku; hit; ttl=-5; detail=hit-stale-disconnected");
    gate.open();
}

#[test]
fn a_miss_says_what_was_missing() {
    let part = |range: &str, body: &str| {
        reply("206 Partial Content", &[FRESH, "ETag: \"1\"", &format!("Content-Range: bytes {range}/10")], body)
    };
    let scene = Scenario::safe([
        get("/vary").answers(ok(&[FRESH, "Vary: X-A"], "")),
        get("/vary").answers(ok(&[FRESH, "Vary: X-A"], "")),
        get("/part").answers(part("0-4", "first")),
        get("/part").answers(part("5-9", "after")),
    ]);
    let mut client = scene.client();
    client.get("/vary");
    let other = client.get_with("/vary", &["X-A: 1"]);
    assert_eq!(line(&other), "kasoku; fwd=vary-miss; stored; detail=vary-miss");
    let first = client.get_with("/part", &["Range: bytes=0-4"]);
    assert_eq!(line(&first), "kasoku; fwd=uri-miss; stored; detail=uri-miss");
    let second = client.get_with("/part", &["Range: bytes=5-9"]);
    assert_eq!(line(&second), "kasoku; fwd=partial; stored; detail=partial-miss");
    assert!(client.get("/part").is_hit());
}

#[test]
fn a_validation_says_what_came_of_it() {
    let scene = Scenario::safe([
        get("/").answers(ok(&[FRESH, "ETag: \"1\""], "old")),
        get("/").answers(reply("304 Not Modified", &[FRESH, "ETag: \"1\""], "")),
        get("/").answers(ok(&[FRESH, "ETag: \"2\""], "new")),
        get("/").answers(ok(&["Cache-Control: private"], "mine")),
    ]);
    let mut client = scene.client();
    client.get("/");
    scene.advance(10);
    assert_eq!(line(&client.get("/")), "kasoku; fwd=stale; fwd-status=304; stored; detail=revalidated");
    scene.advance(10);
    assert_eq!(line(&client.get("/")), "kasoku; fwd=stale; stored; detail=stale");
    scene.advance(10);
    assert_eq!(line(&client.get("/")), "kasoku; fwd=stale; detail=private");
}

#[test]
fn requests_that_pass_say_which_rule_sends_them_past() {
    let scene = Setup::safe().rule("/admin/*", |route| route.pass = true).run([
        get("/admin/").answers(ok(&[FRESH], "")),
        post("/").answers(ok(&[], "")),
        get("/no-store").answers(ok(&[FRESH], "")),
    ]);
    let mut client = scene.client();
    assert_eq!(line(&client.get("/admin/")), "kasoku; fwd=bypass; detail=pass-rule");
    assert_eq!(line(&client.send_body("POST", "/", &[], "x")), "kasoku; fwd=method; detail=method");
    let own = client.get_with("/no-store", &["Cache-Control: no-store"]);
    assert_eq!(line(&own), "kasoku; fwd=request; detail=request-no-store");
}

#[test]
fn only_if_cached_is_not_forwarded() {
    // RFC 9211 section 2.2: fwd "indicates that the request went forward towards the origin", and this request did not.
    let scene = Scenario::rfc([]);
    let response = scene.client().get_with("/", &["Cache-Control: only-if-cached"]);
    assert_eq!((response.status, line(&response).as_str()), (504, "kasoku; detail=only-if-cached-miss"));
}

#[test]
fn a_collapsed_miss_is_a_miss_of_the_uri_and_a_collapsed_validation_one_of_what_is_stale() {
    // RFC 9211 section 2.2: "The most specific reason known to the cache SHOULD be used".
    let (first, second) = (Gate::new(), Gate::new());
    let scene = Scenario::safe([
        get("/").answers("").waits(&first).sends(ok(&[FRESH, "ETag: \"1\""], "a")),
        get("/").answers("").waits(&second).sends(reply("304 Not Modified", &[FRESH, "ETag: \"1\""], "")),
    ]);
    let both = |gate: &Gate, count: usize| {
        let (mut one, mut two) = (scene.client(), scene.client());
        one.ask("GET", "/", &[]);
        scene.origin.arrived(count);
        two.ask("GET", "/", &[]);
        scene.settled();
        gate.open();
        one.response();
        two.response()
    };
    let miss = both(&first, 1);
    assert_eq!(miss.cache_status("fwd").as_deref(), Some("uri-miss"), "{miss:?}");
    assert!(miss.cache_status("collapsed").is_some());
    scene.advance(10);
    let validated = both(&second, 2);
    assert_eq!(validated.cache_status("fwd").as_deref(), Some("stale"), "{validated:?}");
    assert!(validated.cache_status("collapsed").is_some());
}

#[test]
fn what_the_origin_did_wrong_is_the_detail() {
    for (exchange, status, detail) in [
        (get("/").answers("").closes(), 502, "origin-closed-early"),
        (get("/").answers("HTTP/1.1 200 OK\r\nCont").closes(), 502, "origin-closed-early"),
        (get("/").answers("220 mail.example.org ESMTP\r\n\r\n").closes(), 502, "origin-malformed"),
        (get("/").answers(ok(&["Content-Length: 5"], "abc")).closes(), 502, "origin-malformed"),
        (get("/").awaits_end(), 504, "origin-timeout-first-byte"),
    ] {
        let scene =
            Setup::safe().route(|route| route.origin.first_byte_timeout = Duration::from_millis(100)).run([exchange]);
        let response = scene.client().get("/");
        let expected = format!("kasoku; fwd=uri-miss; detail={detail}");
        assert_eq!((response.status, line(&response)), (status, expected));
        assert!(response.text().contains(detail), "the page says it as well: {}", response.text());
    }
}

#[test]
fn an_origin_where_nothing_listens_is_the_detail() {
    // No test listens at this loopback address.
    let address = OriginOptions::from(OriginAddress::http("127.0.0.77", 1));
    for (method, line) in [("GET", "fwd=uri-miss"), ("POST", "fwd=method")] {
        let address = address.clone();
        let engine = Setup::safe().site(&[], |route| route.origins = vec![address]).run_without_origin();
        let mut client = Client::connect(engine.addresses()[0]);
        let response = client.ask(method, "/", &["Content-Length: 0"]).response();
        let expected = format!("kasoku; {line}; detail=origin-unreachable");
        // A GET with Content-Length, even 0, has no body and its answer may be stored.
        assert_eq!((response.status, response.field("cache-status")), (502, expected));
    }
}

#[test]
fn which_visitors_own_an_answer_is_is_the_detail() {
    let modified = format!("Last-Modified: {}", Setup::safe().date(-1000));
    for (asked, answer, detail) in [
        (&["Cookie: a=1"][..], ok(&[FRESH], ""), "cookie"),
        (&["Authorization: Basic x"], ok(&[FRESH], ""), "authorization"),
        (&[], ok(&["Cache-Control: public, max-age=10", "Set-Cookie: a=1"], ""), "set-cookie"),
        (&[], ok(&["Cache-Control: private, max-age=10"], ""), "private"),
        (&[], ok(&["Cache-Control: no-store, max-age=10"], ""), "no-store"),
        (&[], ok(&[FRESH, "Vary: X-A, *"], ""), "vary-star"),
        (&[], reply("302 Found", &["Location: /x"], ""), "not-cacheable"),
        (&[], reply("500 Oops", &[&modified], ""), "not-cacheable"),
        (&[], reply("599 Odd", &["Cache-Control: max-age=10, must-understand"], ""), "must-understand"),
        (&[], ok(&[FRESH], vec![b'x'; 70_000]), "object-too-large"),
    ] {
        let scene =
            Setup::safe().options(|options| options.object_bytes_max = 64 << 10).run([get("/").answers(answer)]);
        let response = scene.client().get_with("/", asked);
        let name = if detail == "set-cookie" { "; cookie=\"a\"" } else { "" };
        assert_eq!(line(&response), format!("kasoku; fwd=uri-miss; detail={detail}{name}"));
    }
}

#[test]
fn one_who_was_released_learns_why_its_own_answer_is_its_own() {
    let gate = Gate::new();
    let scene = Scenario::safe([
        get("/").answers("").waits(&gate).sends(ok(&["Cache-Control: private"], "")),
        get("/").answers(ok(&["Cache-Control: no-store"], "")),
    ]);
    let (mut first, mut second) = (scene.client(), scene.client());
    first.ask("GET", "/", &[]);
    scene.origin.arrived(1);
    second.ask("GET", "/", &[]);
    scene.settled();
    gate.open();
    assert_eq!(line(&first.response()), "kasoku; fwd=uri-miss; detail=private");
    assert_eq!(line(&second.response()), "kasoku; fwd=uri-miss; detail=no-store");
}

#[test]
fn what_an_inner_cache_said_is_kept_with_what_is_stored() {
    // RFC 9211 section 2: the first member is the cache closest to the origin, the last the one closest to the user.
    let scene =
        Scenario::safe([get("/").answers(ok(&[FRESH, "Cache-Status: origin-cdn; fwd=miss, \"inner\"; hit"], "a"))]);
    let mut client = scene.client();
    client.get("/");
    let response = client.get("/");
    let members: Vec<&str> = response.head.all("cache-status").flat_map(|line| line.split(", ")).collect();
    assert_eq!(members, ["origin-cdn; fwd=miss", "\"inner\"; hit", "kasoku; hit; ttl=10; detail=hit"]);
}

#[test]
fn no_site_and_no_request_are_not_the_caches_business() {
    let scene = Setup::safe().site(&[HostPattern::Exact("one.org".into())], |_| {}).run([]);
    let response = scene.client().get("/");
    assert_eq!((response.status, response.has("cache-status")), (421, false));
    let refused = scene.client().ask("TRACE", "/", &["Host: one.org"]).response();
    assert_eq!((refused.status, refused.has("cache-status")), (405, false));
}
