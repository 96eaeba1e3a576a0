//! When a request is retried at another origin, and when it must not be.

use kasoku_metrics::Counter;
use kasoku_options::OriginOptions as Configured;
use kasoku_testkit::unreachable::dead_address;
use kasoku_testkit::{BOTH, Exchange, Origin, Setup, get, ok, on, reply};
use std::time::Duration;

/// A setup with these origins, in this order.
fn before(origins: Vec<Configured>) -> Setup {
    Setup::safe().route(|route| route.origins = origins)
}

#[test]
fn a_request_that_does_nothing_twice_goes_to_another_origin_when_its_connection_is_lost() {
    for profile in BOTH {
        for method in ["GET", "HEAD", "OPTIONS", "DELETE"] {
            let lost: [fn(&str) -> Exchange; 3] = [
                |method| on(method, "/").answers("").closes(),
                |method| on(method, "/").resets(),
                |method| on(method, "/").answers("HTTP/1.1 200 OK\r\nContent-").closes(),
            ];
            for lost in lost {
                let first = Origin::start([lost(method)]);
                let scene = Setup::new(profile)
                    .route(|route| route.origins = vec![first.address()])
                    .run([on(method, "/").answers(reply("204 No Content", &[], ""))]);
                let mut client = scene.client();
                client.ask(method, "/", &[]);
                let response = if method == "HEAD" { client.response_to_head() } else { client.response() };
                assert_eq!(response.status, 204, "{method}");
                assert_eq!(scene.engine.metrics().total(Counter::OriginFailovers), 1);
            }
        }
    }
}

#[test]
fn each_origin_is_asked_once_at_most() {
    let script = || [get("/").answers("").closes()];
    let (a, b) = (Origin::start(script()), Origin::start(script()));
    let scene = before(vec![a.address(), b.address()]).run(script());
    let response = scene.client().get("/");
    assert_eq!((response.status, response.detail().as_str()), (502, "origin-closed-early"));
    assert_eq!((a.count(), b.count(), scene.origin.count()), (1, 1, 1));
}

#[test]
fn a_body_that_was_begun_is_not_sent_again() {
    //= RFC 9110 section 9.2.2
    //# A proxy MUST NOT automatically retry non-idempotent requests.
    for method in ["PUT", "DELETE", "POST"] {
        let first = Origin::start([on(method, "/").answers("").closes()]);
        let scene = before(vec![first.address()]).run([]);
        let response = scene.client().send_body(method, "/", &[], "x");
        assert_eq!((response.status, response.detail().as_str()), (502, "origin-closed-early"), "{method}");
    }
}

#[test]
fn what_was_surely_not_sent_goes_to_another_origin_whatever_its_method() {
    let scene = before(vec![dead_address()])
        .run([on("POST", "/").answers(ok(&[], "a")), on("PATCH", "/").answers(ok(&[], "b"))]);
    assert_eq!(scene.client().send_body("POST", "/", &[], "once").text(), "a");
    assert_eq!(scene.client().send_body("PATCH", "/", &[], "and whole").text(), "b");
    assert_eq!(scene.origin.request(0).text(), "once");
    assert_eq!(scene.origin.request(1).text(), "and whole");
}

#[test]
fn an_answer_that_does_not_come_in_time_is_not_asked_of_another_origin() {
    let first = Origin::start([get("/").answers("").awaits_end()]);
    let scene = before(vec![first.address()])
        .route(|route| route.origin.first_byte_timeout = Duration::from_millis(100))
        .run([]);
    let response = scene.client().get("/");
    assert_eq!((response.status, response.detail().as_str()), (504, "origin-timeout-first-byte"));
}

#[test]
fn an_answer_is_an_answer_malformed_or_an_error() {
    let down = reply("503 Service Unavailable", &["Cache-Control: no-store"], "down");
    let first = Origin::start([get("/malformed").answers("nonsense\r\n\r\n").closes(), get("/error").answers(down)]);
    let scene = before(vec![first.address()]).run([]);
    let mut client = scene.client();
    assert_eq!(client.get("/malformed").detail(), "origin-malformed");
    assert_eq!(client.get("/error").short(), (503, "down".into()));
}

#[test]
fn once_something_of_an_answer_has_gone_to_the_client_no_other_origin_is_asked() {
    for pass in [true, false] {
        let hints = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n";
        let first = Origin::start([get("/").answers(hints).closes()]);
        let scene = before(vec![first.address()]).route(|route| route.pass = pass).run([]);
        let mut client = scene.client();
        assert_eq!(client.ask("GET", "/", &[]).next_head().word(1), "103");
        assert_eq!(client.response().detail(), "origin-closed-early");
    }
}
