//! 1xx responses: `Expect: 100-continue` in all its ways, and interim responses that an origin sends before its answer.

use kasoku_testkit::{Gate, Scenario, Setup, get, ok, post, reply};
use std::time::Duration;

const CONTINUE: &str = "HTTP/1.1 100 Continue\r\n\r\n";

#[test]
fn a_body_waits_for_the_origins_100() {
    //= RFC 9110 section 10.1.1
    //# A proxy MUST, upon receiving an HTTP/1.1 (or later) request that has a valid method, target URI, and complete header section that contains a 100-continue expectation and indicates a request message body will follow, either
    //# send an immediate final status code
    //# or
    //# forward the request toward the origin server
    let gate = Gate::new();
    let scene = Setup::safe()
        .route(|route| route.origin.continue_timeout = Duration::from_secs(60))
        .run([post("/").waits(&gate).sends(CONTINUE).answers(ok(&[], "done"))]);
    let mut client = scene.client();
    client.ask("POST", "/", &["Content-Length: 3", "Expect: 100-continue"]);
    scene.origin.arrived(1);
    gate.open();
    assert_eq!(client.response().status, 100);
    client.send("abc");
    assert_eq!(client.response().text(), "done");
    assert_eq!(scene.origin.requests()[0].field("expect").as_deref(), Some("100-continue"));
}

#[test]
fn a_body_that_came_early_is_held_until_the_origins_100() {
    let gate = Gate::new();
    // The origin must not get a byte of the body before its 100: the bytes that follow it are the answer to the 100.
    let script = post("/").waits(&gate).has_nothing_to_read().sends(CONTINUE).reads("abc").sends(ok(&[], "done"));
    let scene = Setup::safe().route(|route| route.origin.continue_timeout = Duration::from_secs(60)).run([script]);
    let mut client = scene.client();
    client.ask("POST", "/", &["Content-Length: 3", "Expect: 100-continue"]).send("abc");
    scene.origin.arrived(1);
    scene.settled();
    gate.open();
    assert_eq!(client.response().status, 100);
    assert_eq!(client.response().text(), "done");
}

#[test]
fn a_final_status_instead_of_100_goes_to_the_client_and_the_body_does_not_go_to_the_origin() {
    let scene = Setup::safe()
        .route(|route| route.origin.continue_timeout = Duration::from_secs(60))
        .run([post("/").sends(reply("417 Expectation Failed", &[], "no")).awaits_end()]);
    let mut client = scene.client();
    client.ask("POST", "/", &["Content-Length: 3", "Expect: 100-continue"]);
    let response = client.response();
    assert_eq!((response.status, response.text().as_str()), (417, "no"));
    // The client may or may not send the body, so the engine cannot know where the next request begins.
    assert_eq!(response.field("connection"), "close");
    client.is_closed();
}

#[test]
fn an_origin_that_is_silent_gets_the_body_anyway() {
    let scene = Setup::safe()
        .route(|route| route.origin.continue_timeout = Duration::from_millis(50))
        .run([post("/").answers(ok(&[], "done"))]);
    let mut client = scene.client();
    client.ask("POST", "/", &["Content-Length: 3", "Expect: 100-continue"]);
    assert_eq!(client.response().status, 100);
    client.send("abc");
    assert_eq!(client.response().text(), "done");
    assert_eq!(scene.origin.only_request().text(), "abc");
}

#[test]
fn a_client_of_http_1_0_does_not_get_100_and_its_expectation_is_ignored() {
    //= RFC 9110 section 10.1.1
    //# A server that receives a 100-continue expectation in an HTTP/1.0 request MUST ignore that expectation.
    let scene = Scenario::safe([post("/").answers(ok(&[], "done"))]);
    let mut client = scene.client();
    client.send("POST / HTTP/1.0\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\nabc");
    assert_eq!(client.response().short(), (200, "done".into()));
    let request = scene.origin.only_request();
    assert_eq!((request.field("expect"), request.text().as_str()), (None, "abc"));
}

#[test]
fn an_unknown_expectation_is_417_and_no_origin_hears_of_it() {
    //= RFC 9110 section 10.1.1
    //# A server that receives an Expect field value containing a member other than 100-continue MAY respond with a 417
    //# (Expectation Failed) status code
    let scene = Scenario::safe([]);
    let mut client = scene.client();
    assert_eq!(client.send_body("POST", "/", &["Expect: a-miracle"], "x").status, 417);
    client.is_closed();
}

#[test]
fn interim_responses_reach_the_client_whether_the_answer_is_shared_or_not() {
    let hints = "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\nConnection: x-hop\r\nX-Hop: 1\r\n\r\n";
    for cache_control in ["Cache-Control: no-store", "Cache-Control: max-age=60"] {
        for pass in [true, false] {
            let gate = Gate::new();
            let answer = get("/").answers(hints).waits(&gate).sends(ok(&[cache_control], "a"));
            let scene = Setup::safe().route(|route| route.pass = pass).run([answer]);
            let mut client = scene.client();
            client.ask("GET", "/", &[]);
            assert_eq!(client.response().status, 102);
            let hint = client.response();
            assert_eq!((hint.status, hint.field("link").as_str(), hint.has("x-hop")), (103, "</a.css>", false));
            gate.open();
            assert_eq!(client.response().text(), "a");
        }
    }
}

#[test]
fn what_is_set_before_an_answer_that_may_be_shared_is_kept_back() {
    for (pass, has) in [(true, true), (false, false)] {
        let hint = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\nSet-Cookie: id=1\r\n\r\n";
        let answer = get("/").answers(hint).sends(ok(&["Cache-Control: max-age=60"], "a"));
        let scene = Setup::safe().route(|route| route.pass = pass).run([answer]);
        let mut client = scene.client();
        client.ask("GET", "/", &[]);
        let hint = client.response();
        assert_eq!((hint.field("link").as_str(), hint.has("set-cookie")), ("</a.css>", has));
        assert_eq!(client.response().text(), "a");
    }
}

#[test]
fn interim_responses_never_reach_a_client_of_http_1_0() {
    //= RFC 9110 section 15.2
    //# Since HTTP/1.0 did not define any 1xx status codes, a server MUST NOT send a 1xx response to an HTTP/1.0 client.
    for pass in [true, false] {
        let answer = get("/").answers("HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n").sends(ok(&[], "a"));
        let scene = Setup::safe().route(|route| route.pass = pass).run([answer]);
        let mut client = scene.client();
        client.send("GET / HTTP/1.0\r\nHost: a\r\n\r\n");
        assert_eq!(client.response().short(), (200, "a".into()));
    }
}
