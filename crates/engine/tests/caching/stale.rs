//! When a stale response may be served: stale-while-revalidate, stale-if-error, max-stale, an origin that is down; and what
//! forbids it.

use kasoku_testkit::{BOTH, Gate, Scenario, Setup, get, ok, reply};

const TAG: &str = "ETag: \"1\"";

fn failing() -> Vec<u8> {
    reply("503 Service Unavailable", &["Cache-Control: no-store"], "down")
}

#[test]
fn a_stale_response_is_served_while_it_is_refreshed() {
    for profile in BOTH {
        let gate = Gate::new();
        let fields = ["Cache-Control: max-age=10, stale-while-revalidate=20"];
        let scene = Setup::new(profile)
            .run([get("/").answers(ok(&fields, "old")), get("/").answers("").waits(&gate).sends(ok(&fields, "new"))]);
        let mut client = scene.client();
        client.get("/");
        scene.advance(29);
        // The cache serves all of these before the origin answers.
        for _ in 0..3 {
            let response = client.get("/");
            assert_eq!((response.text().as_str(), response.field("age").as_str()), ("old", "29"));
            assert_eq!((response.is_hit(), response.detail().as_str()), (true, "hit-stale-while-revalidate"));
            assert_eq!(response.cache_status("ttl").as_deref(), Some("-19"));
        }
        gate.open();
        scene.origin.done(2);
        scene.eventually(|| client.get("/").text() == "new");
        assert_eq!(client.get("/").detail(), "hit");
    }
}

#[test]
fn a_refresh_is_a_validation() {
    let fields = ["Cache-Control: max-age=10, stale-while-revalidate=20", TAG];
    let scene =
        Scenario::safe([get("/").answers(ok(&fields, "a")), get("/").answers(reply("304 Not Modified", &fields, ""))]);
    let mut client = scene.client();
    client.get("/");
    scene.advance(15);
    assert_eq!(client.get("/").detail(), "hit-stale-while-revalidate");
    scene.eventually(|| client.get("/").detail() == "hit");
    assert_eq!(scene.origin.request(1).field("if-none-match").as_deref(), Some("\"1\""));
}

#[test]
fn beyond_its_window_a_stale_response_is_validated_first() {
    let fields = ["Cache-Control: max-age=10, stale-while-revalidate=20"];
    let scene = Scenario::safe([get("/").answers(ok(&fields, "old")), get("/").answers(ok(&fields, "new"))]);
    let mut client = scene.client();
    client.get("/");
    scene.advance(30);
    assert_eq!(client.get("/").text(), "new");
}

#[test]
fn a_refresh_that_fails_leaves_the_stale_response() {
    let fields = ["Cache-Control: max-age=10, stale-while-revalidate=20", "Connection: close"];
    let scene = Scenario::safe([
        get("/").answers(ok(&fields, "old")),
        get("/").answers("").closes(),
        get("/").answers(ok(&fields, "new")),
    ]);
    let mut client = scene.client();
    client.get("/");
    scene.advance(15);
    assert_eq!(client.get("/").text(), "old");
    scene.origin.done(2);
    scene.eventually(|| scene.engine.cache().fills_running() == 0);
    assert_eq!(client.get("/").text(), "old", "the origin is not asked while the back-off runs");
    scene.advance(1);
    scene.eventually(|| client.get("/").text() == "new");
}

#[test]
fn the_operator_can_grant_grace() {
    let scene = Setup::safe().policy(|policy| policy.grace_seconds = 20).run([
        get("/").answers(ok(&["Cache-Control: max-age=10"], "old")),
        get("/").answers(ok(&["Cache-Control: max-age=10"], "new")),
    ]);
    let mut client = scene.client();
    client.get("/");
    scene.advance(15);
    assert_eq!(client.get("/").text(), "old");
    scene.eventually(|| client.get("/").text() == "new");
}

#[test]
fn a_stale_response_stands_in_for_an_error() {
    for status in ["500 Oops", "502 Bad Gateway", "503 Service Unavailable", "504 Gateway Timeout"] {
        for profile in BOTH {
            let fields = ["Cache-Control: max-age=10, stale-if-error=20", TAG];
            let scene = Setup::new(profile).run([
                get("/").answers(ok(&fields, "old")),
                get("/").answers(reply(status, &[], "down")),
                get("/").answers(reply(status, &[], "down")),
            ]);
            let mut client = scene.client();
            client.get("/");
            scene.advance(29);
            let response = client.get("/");
            assert_eq!((response.short(), response.detail().as_str()), ((200, "old".into()), "hit-stale-error"));
            assert_eq!(response.field("age"), "29");
            scene.advance(1);
            assert_eq!(client.get("/").text(), "down");
        }
    }
}

#[test]
fn other_errors_are_not_what_stale_if_error_speaks_of() {
    for status in ["404 Not Found", "501 Not Implemented", "403 Forbidden"] {
        let fields = ["Cache-Control: max-age=10, stale-if-error=20", TAG];
        let scene = Scenario::rfc([
            get("/").answers(ok(&fields, "old")),
            get("/").answers(reply(status, &["Cache-Control: no-store"], "down")),
        ]);
        let mut client = scene.client();
        client.get("/");
        scene.advance(15);
        assert_eq!(client.get("/").text(), "down", "{status}");
    }
}

#[test]
fn a_client_can_ask_for_stale_if_error() {
    let scene = Scenario::rfc([
        get("/").answers(ok(&["Cache-Control: max-age=10", TAG], "old")),
        get("/").answers(failing()),
        get("/").answers(failing()),
    ]);
    let mut client = scene.client();
    client.get("/");
    scene.advance(15);
    assert_eq!(client.get("/").text(), "down");
    assert_eq!(client.get_with("/", &["Cache-Control: stale-if-error=20"]).text(), "old");
}

#[test]
fn a_stale_response_is_served_while_the_origin_is_away() {
    //= RFC 9111 section 4.2.4
    //# A cache MUST NOT generate a stale response unless it is disconnected or doing so is explicitly permitted by the client
    //# or origin server
    for profile in BOTH {
        let scene = Setup::new(profile).run([
            get("/").answers(ok(&["Cache-Control: max-age=10", TAG], "old")),
            get("/").answers("").closes(),
            get("/").answers("").closes(),
        ]);
        let mut client = scene.client();
        client.get("/");
        scene.advance(15);
        let response = client.get("/");
        assert_eq!((response.text().as_str(), response.detail().as_str()), ("old", "hit-stale-disconnected"));
    }
}

#[test]
fn how_long_an_origin_may_be_away_is_a_setting() {
    let scene = Setup::safe().policy(|policy| policy.stale_disconnected_seconds = 0).run([
        get("/").answers(ok(&["Cache-Control: max-age=10", TAG], "old")),
        get("/").answers("").closes(),
        get("/").answers("").closes(),
    ]);
    let mut client = scene.client();
    client.get("/");
    scene.advance(15);
    assert_eq!(client.get("/").status, 502);
}

#[test]
fn what_must_be_revalidated_is_never_served_stale() {
    //= RFC 9111 section 4.2.4
    //# A cache MUST NOT generate a stale response if it is prohibited by an explicit in-protocol directive (e.g., by a
    //# no-cache response directive, a must-revalidate response directive, or an applicable s-maxage or proxy-revalidate
    //# response directive; see Section 5.2.2).
    //= RFC 9111 section 5.2.2.2
    //# In all circumstances, a cache MUST NOT ignore the must-revalidate directive; in particular, if a cache is disconnected,
    //# the cache MUST generate an error response rather than reuse the stale response.
    //= RFC 9111 section 5.2.2.8
    //# The proxy-revalidate response directive indicates that once the response has become stale, a shared cache MUST NOT
    //# reuse that response to satisfy another request until it has been successfully validated by the origin
    //= RFC 9111 section 5.2.2.10
    //# A shared cache MUST NOT reuse a stale response with s-maxage to satisfy another request until it has been successfully
    //# validated by the origin, as defined by Section 4.3.
    for directive in
        ["max-age=10, must-revalidate", "max-age=10, proxy-revalidate", "s-maxage=10", "max-age=10, no-cache"]
    {
        for profile in BOTH {
            let fields = format!("Cache-Control: {directive}, stale-while-revalidate=100, stale-if-error=100");
            let scene = Setup::new(profile).run([
                get("/").answers(ok(&[&fields, TAG], "old")),
                get("/").answers(failing()),
                get("/").answers("").closes(),
                get("/").answers("").closes(),
            ]);
            let mut client = scene.client();
            client.get("/");
            scene.advance(15);
            let stale = ["Cache-Control: max-stale, stale-if-error=100"];
            assert_eq!(client.get_with("/", &stale).short(), (503, "down".into()), "{directive}");
            let response = client.get_with("/", &stale);
            assert_eq!((response.status, response.detail().as_str()), (502, "origin-closed-early"), "{directive}");
        }
    }
}

#[test]
fn a_client_can_accept_a_stale_response() {
    for (asked, is_served) in [("max-stale", true), ("max-stale=5", true), ("max-stale=4", false)] {
        for profile in BOTH {
            let answer = |body| get("/").answers(ok(&["Cache-Control: max-age=10"], body));
            let scene = Setup::new(profile).run([answer("old"), answer("new")]);
            let mut client = scene.client();
            client.get("/");
            scene.advance(15);
            let response = client.get_with("/", &[&format!("Cache-Control: {asked}")]);
            assert_eq!((response.is_hit(), response.text() == "old"), (is_served, is_served), "{asked}");
            if is_served {
                assert_eq!(response.detail(), "hit-max-stale");
                assert_eq!(client.get("/").text(), "new");
            }
        }
    }
}

#[test]
fn a_stale_hit_says_so_for_people_from_nginx() {
    let fields = ["Cache-Control: max-age=10, stale-while-revalidate=20, stale-if-error=100", TAG];
    let scene = Setup::safe().options(|options| options.hit_headers.x_cache_status = true).run([
        get("/").answers(ok(&fields, "old")),
        get("/").answers(reply("304 Not Modified", &fields, "")),
        get("/").answers(reply("304 Not Modified", &fields, "")),
        get("/").answers(failing()),
    ]);
    let mut client = scene.client();
    assert_eq!(client.get("/").field("x-cache-status"), "MISS");
    assert_eq!(client.get("/").field("x-cache-status"), "HIT");
    scene.advance(15);
    assert_eq!(client.get("/").field("x-cache-status"), "UPDATING");
    scene.eventually(|| client.get("/").field("x-cache-status") == "HIT");
    scene.advance(30);
    assert_eq!(client.get("/").field("x-cache-status"), "REVALIDATED");
    scene.advance(30);
    assert_eq!(client.get("/").field("x-cache-status"), "STALE");
}
