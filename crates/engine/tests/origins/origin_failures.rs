//! What clients see when the origin fails: 502, 503 or 504 with a short page and the reason, or a cut connection.

use kasoku_testkit::unreachable::{FullListener, dead_address};
use kasoku_testkit::{BOTH, Client, Ending, Gate, Response, Scenario, Setup, get, ok, post, reply};
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(100);

#[track_caller]
fn is_failure(response: &Response, status: u16, reason: &str) {
    assert_eq!((response.status, response.detail().as_str()), (status, reason), "{response:?}");
    assert!(response.text().len() < 500 && response.text().contains(reason), "a short page: {:?}", response.text());
    assert!(response.field("content-type").starts_with("text/plain") && response.has("date"));
    assert_eq!(response.field("cache-control"), "no-store");
}

/// What a client gets when the origin answers a GET like this: once as a pass, once as a miss.
fn answered(setup: impl Fn() -> Setup, exchange: &kasoku_testkit::Exchange) -> [Response; 2] {
    [true, false].map(|pass| {
        let scene = setup().route(|route| route.pass = pass).run([exchange.clone()]);
        scene.client().ask("GET", "/", &[]).cut_response()
    })
}

#[test]
fn an_origin_that_cannot_be_reached_is_502() {
    for pass in [true, false] {
        let engine = Setup::safe()
            .site(&[], |route| {
                (route.pass, route.origins) = (pass, vec![dead_address()]);
                // So that the origin never counts as down.
                route.health.failures = 100;
            })
            .run_without_origin();
        let mut client = Client::connect(engine.addresses()[0]);
        is_failure(&client.get("/"), 502, "origin-unreachable");
        is_failure(&client.get("/"), 502, "origin-unreachable");
        assert_eq!(client.send_body("POST", "/", &[], "x").status, 502);
        let response = client.send_body("POST", "/", &[], &"x".repeat(100_000));
        assert_eq!((response.status, response.field("connection").as_str()), (502, "close"), "its body was not read");
    }
}

#[test]
fn the_next_origin_is_asked_when_the_first_cannot_be_reached() {
    let scene = Setup::safe()
        .route(|route| route.origins = vec![dead_address(), dead_address()])
        .run([get("/").answers(ok(&[], "a")), post("/").answers(ok(&[], "b"))]);
    let mut client = scene.client();
    assert_eq!(client.get("/").text(), "a");
    assert_eq!(client.send_body("POST", "/", &[], "body").text(), "b");
    assert_eq!(scene.origin.request(1).text(), "body");
}

#[test]
fn an_origin_that_does_not_accept_in_time_is_504() {
    let deaf = FullListener::start();
    for pass in [true, false] {
        let engine = Setup::safe()
            .site(&[], |route| {
                route.pass = pass;
                route.origins = vec![deaf.address()];
                route.origin.connect_timeout = SHORT;
            })
            .run_without_origin();
        is_failure(&Client::connect(engine.addresses()[0]).get("/"), 504, "origin-timeout-connect");
    }
}

#[test]
fn an_origin_that_takes_too_long_to_begin_is_504() {
    let gate = Gate::new();
    for response in answered(
        || Setup::safe().route(|route| route.origin.first_byte_timeout = SHORT),
        &get("/").answers("").awaits_end(),
    ) {
        is_failure(&response, 504, "origin-timeout-first-byte");
    }
    gate.open();
}

#[test]
fn half_a_head_in_time_is_504_too() {
    for response in answered(
        || Setup::safe().route(|route| route.origin.first_byte_timeout = SHORT),
        &get("/").answers("HTTP/1.1 200 OK\r\nContent-").awaits_end(),
    ) {
        is_failure(&response, 504, "origin-timeout-first-byte");
    }
}

#[test]
fn an_origin_that_closes_without_an_answer_is_502() {
    for exchange in
        [get("/").answers("").closes(), get("/").answers("HTTP/1.1 200 OK\r\nContent-").closes(), get("/").resets()]
    {
        for response in answered(Setup::safe, &exchange) {
            is_failure(&response, 502, "origin-closed-early");
        }
    }
}

#[test]
fn an_answer_that_is_not_http_is_502() {
    //= RFC 9112 section 6.3
    //# If it is in a response message received by a proxy, the proxy MUST close the connection to the server, discard the
    //# received response, and send a 502 (Bad Gateway) response to the client.
    let chunked_twice = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    for answer in [
        "hello\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 OK\r\n\r\n",
        "HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX : y\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: a\rb\r\nContent-Length: 0\r\n\r\n",
        chunked_twice,
    ] {
        for response in answered(Setup::safe, &get("/").answers(answer).closes()) {
            is_failure(&response, 502, "origin-malformed");
        }
    }
}

#[test]
fn a_response_with_both_lengths_is_never_forwarded_with_both() {
    //= RFC 9112 section 6.3
    //# An intermediary that chooses to forward the message MUST first remove the received Content-Length field and process the
    //# Transfer-Encoding (as described below) prior to forwarding the message downstream.
    let both = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n";
    for response in answered(Setup::safe, &get("/").answers(both).closes()) {
        match response.status {
            200 => assert_eq!((response.text().as_str(), response.has("content-length")), ("abcde", false)),
            status => assert_eq!(status, 502),
        }
    }
}

#[test]
fn a_head_of_the_origin_over_its_limit_is_502() {
    let long = format!("HTTP/1.1 200 OK\r\nX: {}\r\nContent-Length: 0\r\n\r\n", "x".repeat(600));
    for response in answered(
        || Setup::safe().route(|route| route.origin.head.head_bytes_max = 500),
        &get("/").answers(&long).closes(),
    ) {
        is_failure(&response, 502, "origin-malformed");
    }
}

#[test]
fn endless_interim_responses_are_502() {
    let hints = "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(1000);
    for pass in [true, false] {
        let scene = Setup::safe().route(|route| route.pass = pass).run([get("/").answers(&hints).closes()]);
        let mut client = scene.client();
        client.send("GET / HTTP/1.0\r\nHost: a\r\n\r\n");
        is_failure(&client.response(), 502, "origin-malformed");
    }
}

#[test]
fn a_body_that_the_origin_cuts_short_is_never_stored_and_reaches_the_client_as_a_cut() {
    //= RFC 9111 section 3.3
    //# A cache MUST NOT use an incomplete response to answer requests unless the response has been made complete, or the
    //# request is partial and specifies a range wholly within the incomplete response.
    let length = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nETag: \"1\"\r\nContent-Length: 10\r\n\r\n01234";
    let chunked = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nETag: \"1\"\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n";
    let within =
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nETag: \"1\"\r\nTransfer-Encoding: chunked\r\n\r\na\r\n01234";
    for profile in BOTH {
        for cut in [length, chunked, within] {
            for is_reset in [false, true] {
                let gate = Gate::new();
                let begins = get("/").answers(cut).waits(&gate);
                let cut_there = if is_reset { begins.resets() } else { begins.closes() };
                let whole = get("/").answers(ok(&["Cache-Control: max-age=60"], "whole"));
                let scene = Setup::new(profile).run([cut_there, whole]);
                let mut client = scene.client();
                let head = client.ask("GET", "/", &[]).next_head();
                gate.open();
                let response = client.rest_of(head);
                assert_eq!((response.status, response.ending), (200, Ending::Cut), "{cut:?}");
                assert!("01234".starts_with(&response.text()));
                assert!(!scene.client().get("/").is_hit());
                assert_eq!(scene.client().get("/").text(), "whole");
            }
        }
    }
}

#[test]
fn a_cut_response_is_a_cut_for_a_client_that_gets_it_alone_too() {
    for cut in ["Content-Length: 10\r\n\r\n01234", "Transfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n"] {
        let answer = format!("HTTP/1.1 200 OK\r\nCache-Control: no-store\r\n{cut}");
        for response in answered(Setup::safe, &get("/").answers(answer).closes()) {
            assert_eq!((response.status, response.ending), (200, Ending::Cut), "{cut:?}");
        }
    }
}

#[test]
fn a_body_that_is_broken_from_the_start_is_502_as_long_as_nothing_was_sent() {
    let answer = "HTTP/1.1 200 OK\r\nCache-Control: private\r\nTransfer-Encoding: chunked\r\n\r\nnot a size\r\n";
    for response in answered(Setup::safe, &get("/").answers(answer).awaits_end()) {
        is_failure(&response, 502, "origin-malformed");
    }
}

#[test]
fn a_body_that_is_cut_before_its_first_byte_is_never_a_reset_without_an_answer() {
    for framing in ["Content-Length: 10", "Transfer-Encoding: chunked"] {
        let answer = format!("HTTP/1.1 200 OK\r\nCache-Control: private\r\n{framing}\r\n\r\n");
        for response in answered(Setup::safe, &get("/").answers(answer).closes()) {
            // The kernel decides whether the worker reads the end together with the head or after it.
            match response.ending {
                Ending::Whole => is_failure(&response, 502, "origin-closed-early"),
                Ending::Cut => assert_eq!((response.status, response.text().as_str()), (200, "")),
            }
        }
    }
}

#[test]
fn a_cut_response_is_a_reset_for_a_client_of_http_1_0() {
    // A client of HTTP/1.0 takes a clean end of the connection for the end of the body; a reset is not one.
    for pass in [true, false] {
        let gate = Gate::new();
        let answer = "HTTP/1.1 200 OK\r\nCache-Control: max-age=9\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n";
        let scene =
            Setup::safe().route(|route| route.pass = pass).run([get("/").answers(answer).waits(&gate).closes()]);
        let mut client = scene.client();
        client.send("GET / HTTP/1.0\r\nHost: a\r\n\r\n");
        client.next_head();
        client.reads("01234");
        gate.open();
        client.is_reset();
    }
}

#[test]
fn a_broken_chunk_of_the_origin_cuts_the_response() {
    let answer = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n01234\r\nnot a size\r\n";
    for response in answered(Setup::safe, &get("/").answers(answer).awaits_end()) {
        // If the worker sees the fault before it has sent the head, it answers with an error, which is better than a cut.
        assert!(response.ending == Ending::Cut || response.status == 502, "{response:?}");
    }
}

#[test]
fn an_origin_that_stops_taking_an_upload_is_504() {
    let big = vec![b'x'; 64 << 20];
    let gate = Gate::new();
    let scene =
        Setup::safe()
            .route(|route| route.origin.between_bytes_timeout = Duration::from_secs(1))
            .run([post("/").waits(&gate).answers("").closes()]);
    let mut client = scene.client();
    client.ask("POST", "/", &[&format!("Content-Length: {}", big.len())]);
    client.send_held_up(&big);
    is_failure(&client.response(), 504, "origin-timeout-between-bytes");
    gate.open();
    assert!(!scene.origin.request(0).is_whole);
}

#[test]
fn an_origin_that_pauses_for_too_long_cuts_the_response() {
    let answer = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 10\r\n\r\n01234";
    for response in answered(
        || Setup::safe().route(|route| route.origin.between_bytes_timeout = SHORT),
        &get("/").answers(answer).awaits_end(),
    ) {
        assert_eq!((response.status, response.text().as_str(), response.ending), (200, "01234", Ending::Cut));
    }
}

#[test]
fn an_early_answer_to_an_unfinished_upload_reaches_the_client() {
    let beginning = "a".repeat(20_000);
    let scene = Scenario::safe([post("/")
        .reads(&beginning)
        .sends(reply("413 Content Too Large", &["Connection: close"], "too much"))
        .awaits_end()]);
    let mut client = scene.client();
    client.ask("POST", "/", &["Content-Length: 1000000"]).send(&beginning);
    assert_eq!(client.response().short(), (413, "too much".into()));
    client.is_closed();
}

#[test]
fn a_failure_that_may_be_due_to_one_request_is_not_told_to_others() {
    let scene =
        Scenario::safe([get("/").answers("").closes(), get("/").answers(ok(&["Cache-Control: max-age=60"], "a"))]);
    let mut client = scene.client();
    assert_eq!(client.get("/").status, 502);
    assert_eq!(client.get("/").text(), "a");
}
