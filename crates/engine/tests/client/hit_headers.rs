//! Response fields in the style of other caches (X-Cache-Hit, X-Cache-Status), and the switch for Cache-Status.

use kasoku_options::{HitHeaders, Options};
use kasoku_testkit::{Gate, Response, Scenario, Setup, get, ok, post, reply};

const FRESH: &str = "Cache-Control: max-age=10";

#[test]
fn cache_status_alone_is_the_default() {
    let scene = Scenario::safe([get("/").answers(ok(&[FRESH], "a"))]);
    let response = scene.client().get("/");
    assert_eq!(
        (response.has("cache-status"), response.has("x-cache-hit"), response.has("x-cache-status")),
        (true, false, false)
    );
}

#[test]
fn cache_status_can_be_switched_off() {
    let scene = Setup::safe()
        .options(|options| options.hit_headers.cache_status = false)
        .run([get("/").answers(ok(&[FRESH], "a"))]);
    let mut client = scene.client();
    for _ in 0..2 {
        assert!(!client.get("/").has("cache-status"));
    }
}

#[test]
fn x_cache_hit_is_1_or_0() {
    let scene = Setup::safe()
        .options(|options| options.hit_headers.x_cache_hit = true)
        .run([get("/").answers(ok(&[FRESH], "a"))]);
    let mut client = scene.client();
    assert_eq!((client.get("/").field("x-cache-hit"), client.get("/").field("x-cache-hit")), ("0".into(), "1".into()));
}

#[test]
fn x_cache_status_speaks_nginx() {
    let scene = Setup::safe()
        .options(|options| options.hit_headers.x_cache_status = true)
        .rule("/pass", |route| route.pass = true)
        .run([
            get("/").answers(ok(&[FRESH], "a")),
            get("/").answers(ok(&[FRESH, "ETag: \"1\""], "b")),
            get("/").answers(reply("304 Not Modified", &[FRESH, "ETag: \"1\""], "")),
            get("/pass").answers(ok(&[FRESH], "")),
            post("/").answers(ok(&[], "")),
        ]);
    let mut client = scene.client();
    assert_eq!(client.get("/").field("x-cache-status"), "MISS");
    assert_eq!(client.get("/").field("x-cache-status"), "HIT");
    scene.advance(10);
    assert_eq!(client.get("/").field("x-cache-status"), "EXPIRED");
    scene.advance(10);
    assert_eq!(client.get("/").field("x-cache-status"), "REVALIDATED");
    assert_eq!(client.get("/pass").field("x-cache-status"), "BYPASS");
    assert_eq!(client.send_body("POST", "/", &[], "").field("x-cache-status"), "BYPASS");
}

#[test]
fn what_an_inner_cache_wrote_under_our_names_is_not_doubled() {
    let scene = Setup::safe()
        .options(|options| (options.hit_headers.x_cache_hit, options.hit_headers.x_cache_status) = (true, true))
        .run([get("/").answers(ok(&[FRESH, "X-Cache-Hit: 1", "X-Cache-Status: HIT"], "a"))]);
    let response = scene.client().get("/");
    assert_eq!((response.field("x-cache-hit").as_str(), response.field("x-cache-status").as_str()), ("0", "MISS"));
}

#[test]
fn all_three_can_be_on_and_say_the_same() {
    let all = |options: &mut Options| {
        options.hit_headers = HitHeaders { x_cache_hit: true, x_cache_status: true, ..HitHeaders::default() };
    };
    let scene = Setup::safe().options(all).run([get("/").answers(ok(&[FRESH], "a"))]);
    let mut client = scene.client();
    let seen = |response: Response| {
        (response.field("cache-status"), response.field("x-cache-hit"), response.field("x-cache-status"))
    };
    let miss = ("kasoku; fwd=uri-miss; stored; detail=uri-miss".into(), "0".into(), "MISS".into());
    assert_eq!(seen(client.get("/")), miss);
    assert_eq!(seen(client.get("/")), ("kasoku; hit; ttl=10; detail=hit".into(), "1".into(), "HIT".into()));
    assert_eq!(seen(client.head("/", &[])).2, "HIT");
}

#[test]
fn cache_status_off_hides_ours_and_not_what_an_inner_cache_said() {
    let scene = Setup::safe().options(|options| options.hit_headers.cache_status = false).run([
        get("/").answers(ok(&[FRESH, "Cache-Status: inner; hit"], "a")),
        post("/").answers(ok(&["Connection: close"], "")).closes(),
        get("/x").closes(),
    ]);
    let mut client = scene.client();
    for _ in 0..2 {
        assert_eq!(client.get("/").field("cache-status"), "inner; hit");
    }
    assert!(!client.send_body("POST", "/", &[], "x").has("cache-status"));
    let failed = client.get("/x");
    assert_eq!((failed.status, failed.has("cache-status")), (502, false));
}

#[test]
fn a_stale_answer_says_stale_and_one_that_is_being_refreshed_updating() {
    let gate = Gate::new();
    let scene = Setup::safe().options(|options| options.hit_headers.x_cache_status = true).run([
        get("/swr").answers(ok(&["Cache-Control: max-age=10, stale-while-revalidate=60"], "a")),
        get("/error").answers(ok(&["Cache-Control: max-age=10, stale-if-error=60"], "a")),
        get("/max-stale").answers(ok(&[FRESH], "a")),
        get("/away").answers(ok(&[FRESH, "Connection: close"], "a")).closes(),
        get("/error").answers(reply("503 Down", &[], "down")),
        get("/swr").answers("").waits(&gate).sends(ok(&[FRESH], "b")),
        get("/away").answers("").closes(),
    ]);
    let mut client = scene.client();
    for target in ["/swr", "/error", "/max-stale", "/away"] {
        assert_eq!(client.get(target).field("x-cache-status"), "MISS");
    }
    scene.advance(15);
    assert_eq!(client.get("/error").field("x-cache-status"), "STALE");
    assert_eq!(client.get_with("/max-stale", &["Cache-Control: max-stale"]).field("x-cache-status"), "STALE");
    assert_eq!(client.get("/swr").field("x-cache-status"), "UPDATING");
    scene.origin.arrived(6);
    assert_eq!(client.get("/away").field("x-cache-status"), "STALE");
    gate.open();
}

#[test]
fn a_stale_hit_is_a_hit_and_a_confirmed_response_is_none() {
    let scene = Setup::safe().options(|options| options.hit_headers.x_cache_hit = true).run([
        get("/").answers(ok(&[FRESH, "ETag: \"1\""], "a")),
        get("/").answers(reply("304 Not Modified", &[FRESH, "ETag: \"1\""], "")),
    ]);
    let mut client = scene.client();
    client.get("/");
    scene.advance(15);
    assert_eq!(client.get_with("/", &["Cache-Control: max-stale"]).field("x-cache-hit"), "1");
    assert_eq!(client.get("/").field("x-cache-hit"), "0", "the origin was asked");
    assert_eq!(client.get_with("/", &["If-None-Match: \"1\""]).field("x-cache-hit"), "1");
}

#[test]
fn every_kind_of_request_that_passes_is_a_bypass() {
    let scene = Setup::rfc()
        .options(|options| (options.hit_headers.x_cache_hit, options.hit_headers.x_cache_status) = (true, true))
        .rule("/pass", |route| route.pass = true)
        .run([
            get("/pass").answers(ok(&[FRESH], "")),
            get("/").answers(ok(&[FRESH], "")),
            get("/").answers(ok(&[FRESH], "")),
            post("/").answers(ok(&[], "")),
        ]);
    let mut client = scene.client();
    let word = |response: Response| (response.field("x-cache-status"), response.field("x-cache-hit"));
    let bypass = ("BYPASS".to_owned(), "0".to_owned());
    assert_eq!(word(client.get("/pass")), bypass);
    client.get("/");
    assert_eq!(word(client.get_with("/", &["Cache-Control: no-cache"])), bypass, "what is stored is fresh");
    assert_eq!(word(client.send_body("POST", "/", &[], "x")), bypass);
}

#[test]
fn who_waited_for_another_ones_answer_missed_and_who_waited_for_a_confirmation_has_it() {
    let (first, second) = (Gate::new(), Gate::new());
    let scene = Setup::safe().options(|options| options.hit_headers.x_cache_status = true).run([
        get("/").answers("").waits(&first).sends(ok(&[FRESH, "ETag: \"1\""], "a")),
        get("/").answers("").waits(&second).sends(reply("304 Not Modified", &[FRESH, "ETag: \"1\""], "")),
    ]);
    for (count, gate, word) in [(1, first, "MISS"), (2, second, "REVALIDATED")] {
        let (mut one, mut two) = (scene.client(), scene.client());
        one.ask("GET", "/", &[]);
        scene.origin.arrived(count);
        two.ask("GET", "/", &[]);
        scene.settled();
        gate.open();
        assert_eq!(one.response().field("x-cache-status"), word);
        assert_eq!(two.response().field("x-cache-status"), word);
        scene.advance(10);
    }
}

#[test]
fn without_the_settings_the_origins_fields_of_these_names_are_its_own() {
    let scene = Scenario::safe([get("/").answers(ok(&[FRESH, "X-Cache-Hit: 7", "X-Cache-Status: HIT"], "a"))]);
    let mut client = scene.client();
    for _ in 0..2 {
        let response = client.get("/");
        assert_eq!((response.field("x-cache-hit"), response.field("x-cache-status")), ("7".into(), "HIT".into()));
    }
}
