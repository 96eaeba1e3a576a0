//! Connections to origins: the engine keeps and reuses them, retries once on a dead one, and never reuses one with excess bytes.

use kasoku_testkit::{Client, Gate, Response, Scenario, Setup, get, ok, on, post};
use std::time::Duration;

#[track_caller]
fn is_failure(response: &Response, status: u16, reason: &str) {
    assert_eq!((response.status, response.detail().as_str()), (status, reason), "{response:?}");
    assert!(response.text().len() < 500 && response.text().contains(reason), "a short page: {:?}", response.text());
    assert!(response.field("content-type").starts_with("text/plain") && response.has("date"));
    assert_eq!(response.field("cache-control"), "no-store");
}

#[test]
fn a_client_that_leaves_takes_its_own_request_back() {
    let scene = Setup::safe().route(|route| route.pass = true).run([get("/").answers("").awaits_end()]);
    let mut client = scene.client();
    client.ask("GET", "/", &[]);
    scene.origin.arrived(1);
    client.reset();
    scene.origin.done(1);
}

#[test]
fn a_connection_to_the_origin_is_used_again() {
    let answer = |target| get(target).answers(ok(&["Cache-Control: no-store"], "a"));
    let scene = Scenario::safe([answer("/1"), answer("/2"), answer("/3")]);
    for target in ["/1", "/2", "/3"] {
        // From several clients: a connection to an origin does not belong to a client.
        assert_eq!(Client::connect(scene.engine.addresses()[0]).get(target).text(), "a");
    }
    assert_eq!(scene.origin.connections(), 1);
}

#[test]
fn a_connection_that_the_origin_wants_closed_is_not_used_again() {
    //= RFC 9112 section 9.6
    //# A client that receives a "close" connection option MUST cease sending requests on that connection
    let scene = Scenario::safe([
        get("/1").answers(ok(&["Cache-Control: no-store", "Connection: close"], "a")),
        get("/2").answers(ok(&[], "a")),
    ]);
    let mut client = scene.client();
    client.get("/1");
    client.get("/2");
    assert_eq!((scene.origin.request(0).connection, scene.origin.request(1).connection), (0, 1));
}

#[test]
fn a_connection_is_not_used_again_after_a_body_that_its_origin_may_have_ignored() {
    // An origin that ignores the body of a GET reads it as the next request, and the next client would get its answer.
    let hidden = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n";
    for (method, is_used_again) in
        [("GET", false), ("HEAD", false), ("OPTIONS", false), ("DELETE", false), ("POST", true), ("PUT", true)]
    {
        for framing in [format!("Content-Length: {}", hidden.len()), "Transfer-Encoding: chunked".to_owned()] {
            let first =
                on(method, "/1").answers(ok(&["Cache-Control: no-store"], if method == "HEAD" { "" } else { "1" }));
            let scene = Scenario::safe([first, get("/2").answers(ok(&["Cache-Control: no-store"], "2"))]);
            let mut client = scene.client();
            let body = match framing.contains("chunked") {
                true => format!("{:x}\r\n{hidden}\r\n0\r\n\r\n", hidden.len()),
                false => hidden.to_owned(),
            };
            client.send(format!("{method} /1 HTTP/1.1\r\nHost: example.org\r\n{framing}\r\n\r\n{body}"));
            match method {
                "HEAD" => client.response_to_head(),
                _ => client.response(),
            };
            assert_eq!(client.get("/2").text(), "2");
            let connections = (scene.origin.request(0).connection, scene.origin.request(1).connection);
            assert_eq!(connections.0 == connections.1, is_used_again, "{method} {framing}");
        }
    }
}

#[test]
fn a_kept_connection_found_dead_is_retried_once() {
    let first = || get("/1").answers(ok(&["Cache-Control: no-store"], "1"));
    for method in ["GET", "HEAD", "OPTIONS", "DELETE"] {
        let scene = Scenario::safe([
            first(),
            on(method, "/2").closes(),
            on(method, "/2").answers(ok(&["X: y"], "").as_slice()),
        ]);
        let mut client = scene.client();
        client.get("/1");
        let response = if method == "HEAD" { client.head("/2", &[]) } else { client.ask(method, "/2", &[]).response() };
        assert_eq!((response.status, response.field("x").as_str()), (200, "y"), "{method}");
        assert_eq!([0, 1, 2].map(|number| scene.origin.request(number).connection), [0, 0, 1]);
    }
}

#[test]
fn a_kept_connection_found_reset_is_retried_once() {
    let scene = Scenario::safe([
        get("/1").answers(ok(&["Cache-Control: no-store"], "1")),
        get("/2").resets(),
        get("/2").answers(ok(&[], "2")),
    ]);
    let mut client = scene.client();
    client.get("/1");
    assert_eq!(client.get("/2").text(), "2");
}

#[test]
fn a_request_that_may_not_be_repeated_is_not_retried() {
    //= RFC 9110 section 9.2.2
    //# A proxy MUST NOT automatically retry non-idempotent requests.
    let scene = Scenario::safe([get("/1").answers(ok(&["Cache-Control: no-store"], "1")), post("/2").closes()]);
    let mut client = scene.client();
    client.get("/1");
    is_failure(&client.ask("POST", "/2", &[]).response(), 502, "origin-closed-early");
}

#[test]
fn a_request_with_a_body_is_not_retried() {
    let scene = Scenario::safe([
        get("/1").answers(ok(&["Cache-Control: no-store"], "1")),
        on("PUT", "/2").answers("").closes(),
    ]);
    let mut client = scene.client();
    client.get("/1");
    is_failure(&client.send_body("PUT", "/2", &[], "x"), 502, "origin-closed-early");
}

#[test]
fn a_fresh_connection_that_dies_is_not_retried() {
    let scene = Scenario::safe([get("/").closes()]);
    is_failure(&scene.client().get("/"), 502, "origin-closed-early");
}

#[test]
fn it_is_retried_once_and_not_twice() {
    let scene = Scenario::safe([
        get("/1").answers(ok(&["Cache-Control: no-store"], "1")),
        get("/2").closes(),
        get("/2").closes(),
    ]);
    let mut client = scene.client();
    client.get("/1");
    is_failure(&client.get("/2"), 502, "origin-closed-early");
}

#[test]
fn an_answer_that_has_begun_is_not_retried() {
    let scene = Scenario::safe([
        get("/1").answers(ok(&["Cache-Control: no-store"], "1")),
        get("/2").answers("HTTP/1.1 2").closes(),
    ]);
    let mut client = scene.client();
    client.get("/1");
    is_failure(&client.get("/2"), 502, "origin-closed-early");
}

#[test]
fn what_an_origin_says_without_being_asked_belongs_to_no_request() {
    //= RFC 9112 section 6.3
    //# A client MUST NOT process, cache, or forward such extra data as a separate response, since such behavior would be
    //# vulnerable to cache poisoning.
    //= RFC 9112 section 9.2
    //# If a client receives data on a connection that doesn't have outstanding requests, the client MUST NOT consider that
    //# data to be a valid response;
    let poison = ok(&["Cache-Control: max-age=60"], "poison");
    let scene = Scenario::safe([
        get("/1").answers([ok(&["Cache-Control: max-age=60"], "1"), poison].concat()),
        get("/2").answers(ok(&["Cache-Control: max-age=60"], "2")),
    ]);
    let mut client = scene.client();
    assert_eq!(client.get("/1").text(), "1");
    assert_eq!(client.get("/2").text(), "2");
    assert_eq!(scene.origin.request(1).connection, 1);
}

#[test]
fn a_response_body_that_no_client_reads_ends_the_connection_to_the_origin() {
    //= RFC 9112 section 9.3
    //# Likewise, a client MUST read the entire response message body if it intends to reuse the same connection for a
    //# subsequent request.
    let gate = Gate::new();
    let answer = "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 10\r\n\r\n01234";
    let scene = Setup::safe()
        .route(|route| route.origin.between_bytes_timeout = Duration::from_millis(300))
        .run([get("/1").answers(answer).waits(&gate).sends("56789"), get("/2").answers(ok(&[], "2"))]);
    let mut client = scene.client();
    client.ask("GET", "/1", &[]);
    client.next_head();
    client.reset();
    assert_eq!(scene.client().get("/2").text(), "2");
    assert_eq!(scene.origin.request(1).connection, 1);
    gate.open();
}

/// At most one connection to the origin at a time.
fn narrow(queue_timeout: Duration) -> Setup {
    Setup::safe().route(|route| {
        (route.origin.connections_max, route.origin.queue_timeout) = (1, queue_timeout);
    })
}

#[test]
fn a_request_waits_for_a_permit_for_a_connection_to_the_origin() {
    let gate = Gate::new();
    let scene = narrow(Duration::from_secs(60))
        .run([get("/1").answers("").waits(&gate).sends(ok(&[], "1")), get("/2").answers(ok(&[], "2"))]);
    let (mut first, mut second) = (scene.client(), scene.client());
    first.ask("GET", "/1", &[]);
    scene.origin.arrived(1);
    second.ask("GET", "/2", &[]);
    scene.settled();
    assert_eq!(scene.origin.count(), 1, "the second waits");
    gate.open();
    assert_eq!((first.response().text(), second.response().text()), ("1".into(), "2".into()));
}

#[test]
fn when_no_permit_becomes_free_in_time_it_is_503() {
    for pass in [true, false] {
        let gate = Gate::new();
        let scene = narrow(Duration::from_millis(50))
            .route(|route| route.pass = pass)
            .run([get("/1").answers("").waits(&gate).sends(ok(&[], "1"))]);
        let mut first = scene.client();
        first.ask("GET", "/1", &[]);
        scene.origin.arrived(1);
        let response = scene.client().get("/2");
        assert_eq!((response.status, response.detail().as_str()), (503, "origin-busy"));
        assert!(response.text().contains("origin-busy"));
        gate.open();
        assert_eq!(first.response().text(), "1");
    }
}

#[test]
fn a_permit_becomes_free_however_its_request_ends() {
    let switch = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    let cut = "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 9\r\n\r\nabc";
    let scene = narrow(Duration::from_secs(60)).run([
        get("/cut").answers(cut).closes(),
        get("/left").answers("").awaits_end(),
        get("/bad").answers("nonsense\r\n\r\n").closes(),
        get("/ws").sends(switch).awaits_end(),
        get("/end").answers(ok(&[], "end")),
    ]);
    scene.client().ask("GET", "/cut", &[]).rest();
    let mut leaver = scene.client();
    leaver.ask("GET", "/left", &["Cache-Control: no-store"]);
    scene.origin.arrived(2);
    leaver.reset();
    assert_eq!(scene.client().get("/bad").status, 502);
    let mut tunnel = scene.client();
    assert_eq!(tunnel.ask("GET", "/ws", &["Connection: Upgrade", "Upgrade: websocket"]).response().status, 101);
    drop(tunnel);
    assert_eq!(scene.client().get("/end").text(), "end");
}

#[test]
fn a_kept_connection_is_not_used_again_after_its_idle_time() {
    let scene = Setup::safe()
        .route(|route| route.origin.idle_timeout = Duration::ZERO)
        .run([get("/1").answers(ok(&[], "1")), get("/2").answers(ok(&[], "2"))]);
    let mut client = scene.client();
    client.get("/1");
    client.get("/2");
    assert_eq!(scene.origin.request(1).connection, 1);
}

#[test]
fn no_more_idle_connections_are_kept_than_allowed() {
    let gates = [Gate::new(), Gate::new()];
    let held = |target, gate: &Gate| get(target).answers("").waits(gate).sends(ok(&[], ""));
    let script = [held("/1", &gates[0]), held("/2", &gates[0]), held("/3", &gates[1]), held("/4", &gates[1])];
    let scene = Setup::safe().route(|route| route.origin.idle_connections_max = 1).run(script);
    for (targets, arrived, gate) in [(["/1", "/2"], 2, &gates[0]), (["/3", "/4"], 4, &gates[1])] {
        let mut clients = [scene.client(), scene.client()];
        for (client, target) in clients.iter_mut().zip(targets) {
            client.ask("GET", target, &[]);
        }
        scene.origin.arrived(arrived);
        gate.open();
        for client in &mut clients {
            client.response();
        }
    }
    assert_eq!(scene.origin.connections(), 3, "one of the two was kept");
}
