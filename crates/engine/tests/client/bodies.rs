//! Bodies in both directions: chunks and trailers, streaming with back-pressure, and statuses without a body.

use kasoku_testkit::{BOTH, Client, Ending, Gate, Scenario, Setup, get, ok, on, post};

#[test]
fn a_request_body_goes_to_the_origin_in_chunks_with_its_trailers() {
    //= RFC 9112 section 6.2
    //# A sender MUST NOT send a Content-Length header field in any message that contains a Transfer-Encoding header field.
    for profile in BOTH {
        let scene = Setup::new(profile).run([post("/").answers(ok(&[], "done"))]);
        let mut client = scene.client();
        client.ask("POST", "/", &["Transfer-Encoding: Chunked", "Trailer: X-Sum"]);
        client.send("3;name=value\r\nabc\r\n").send("002\r\nde\r\n").send("0\r\nX-Sum: 5\r\nx-two: 6\r\n\r\n");
        assert_eq!(client.response().text(), "done");
        let request = scene.origin.only_request();
        assert_eq!((request.text().as_str(), request.is_whole), ("abcde", true));
        let names: Vec<_> =
            request.trailers.iter().map(|(name, value)| (name.to_lowercase(), value.as_str())).collect();
        assert_eq!(names, [("x-sum".to_owned(), "5"), ("x-two".to_owned(), "6")]);
        assert_eq!(
            (request.field("transfer-encoding").as_deref(), request.field("content-length")),
            (Some("chunked"), None)
        );
    }
}

#[test]
fn a_request_body_of_known_length_never_goes_in_chunks() {
    // A configured origin speaks HTTP/1.1. Even so, the engine sends it chunks only if the client sent chunks.
    //= RFC 9112 section 6.1
    //# A client MUST NOT send a request containing Transfer-Encoding unless it knows the server will handle HTTP/1.1 requests
    //# (or later minor revisions); such knowledge might be in the form of specific user configuration
    //= RFC 9112 section 6.3
    //# A client MUST NOT use the chunked transfer coding unless it knows the server will handle HTTP/1.1 (or later) requests;
    //# such knowledge can be in the form of specific user configuration
    let scene = Scenario::safe([post("/1").answers(ok(&[], "")), post("/2").answers(ok(&[], ""))]);
    let mut client = scene.client();
    client.send_body("POST", "/1", &[], "abc");
    client.send("POST /2 HTTP/1.0\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc").response();
    for number in [0, 1] {
        let request = scene.origin.request(number);
        assert_eq!((request.field("transfer-encoding"), request.field("content-length").as_deref()), (None, Some("3")));
        assert_eq!(request.head.word(2), "HTTP/1.1");
    }
}

#[test]
fn a_response_in_chunks_reaches_the_client_in_chunks_with_its_trailers() {
    //= RFC 9111 section 3.1
    //# Caches MUST NOT combine trailer fields with header fields.
    for cache_control in ["no-store", "max-age=60"] {
        let head = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nCache-Control: {cache_control}\r\n\r\n");
        let scene = Scenario::rfc([get("/").answers(head + "3;x\r\nabc\r\n2\r\nde\r\n0\r\nX-Sum: 5\r\n\r\n")]);
        let mut client = scene.client();
        let response = client.get("/");
        assert_eq!((response.text().as_str(), response.field("transfer-encoding").as_str()), ("abcde", "chunked"));
        assert_eq!(response.trailers, [("X-Sum".to_owned(), "5".to_owned())], "{cache_control}");
        assert!(!response.has("x-sum"));
        if cache_control == "max-age=60" {
            let hit = client.get("/");
            assert_eq!((hit.is_hit(), hit.text().as_str(), hit.has("x-sum")), (true, "abcde", false));
            assert_eq!(hit.field("content-length"), "5");
        }
    }
}

#[test]
fn a_close_delimited_response_is_whole_when_the_origin_closes() {
    let answer = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n\r\nabc";
    let scene = Scenario::rfc([get("/").answers(answer).closes()]);
    let mut client = scene.client();
    assert_eq!(client.get("/").text(), "abc");
    assert!(client.get("/").is_hit());
}

#[test]
fn a_long_request_body_is_streamed_before_it_is_complete() {
    let (first, second) = (Gate::new(), Gate::new());
    let beginning = "a".repeat(20_000);
    let script =
        post("/").reads(&beginning).waits(&first).reads("def").waits(&second).reads("ghi").sends(ok(&[], "ok"));
    let scene = Scenario::safe([script]);
    let mut client = scene.client();
    client.ask("POST", "/", &["Content-Length: 20006"]).send(&beginning);
    scene.origin.arrived(1);
    first.open();
    client.send("def");
    second.open();
    client.send("ghi");
    assert_eq!(client.response().text(), "ok");
}

#[test]
fn a_small_body_that_comes_slowly_takes_no_place_at_the_origin() {
    for framing in ["Content-Length: 6", "Transfer-Encoding: chunked"] {
        let is_chunked = framing.starts_with('T');
        let pieces = if is_chunked { ["3\r\nabc\r\n", "3\r\ndef\r\n0\r\n\r\n"] } else { ["abc", "def"] };
        let scene = Setup::safe()
            .route(|route| route.origin.connections_max = 1)
            .run([get("/a").answers(ok(&[], "a")), post("/").answers(ok(&[], "ok"))]);
        let mut slow = scene.client();
        slow.ask("POST", "/", &[framing]).send(pieces[0]);
        scene.settled();
        assert_eq!(scene.origin.connections(), 0);
        assert_eq!(scene.client().get("/a").text(), "a");
        assert_eq!(slow.send(pieces[1]).response().text(), "ok");
        assert_eq!(scene.origin.request(1).text(), "abcdef");
    }
}

#[test]
fn a_response_body_is_streamed_before_it_is_complete() {
    for cache_control in ["no-store", "max-age=60"] {
        let gate = Gate::new();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: 6\r\nCache-Control: {cache_control}\r\n\r\nabc");
        let scene = Scenario::safe([get("/").answers(head).waits(&gate).sends("def")]);
        let mut client = scene.client();
        client.ask("GET", "/", &[]);
        assert_eq!(client.next_head().field("content-length").as_deref(), Some("6"));
        client.reads("abc");
        gate.open();
        client.reads("def");
    }
}

#[test]
fn the_head_goes_out_before_the_body_begins() {
    for cache_control in ["no-store", "max-age=60"] {
        let gate = Gate::new();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nCache-Control: {cache_control}\r\n\r\n");
        let scene = Scenario::safe([get("/").answers(head).waits(&gate).sends("abc")]);
        let mut client = scene.client();
        client.ask("GET", "/", &[]);
        assert!(client.next_head().line.contains("200"));
        gate.open();
        client.reads("abc");
    }
}

#[test]
fn a_slow_client_slows_an_origin_whose_response_is_its_own() {
    let big = vec![b'x'; 64 << 20];
    let head = format!("HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: {}\r\n\r\n", big.len());
    let script = [get("/big").answers(head).sends_held_up(&big), get("/b").answers(ok(&[], "b"))];
    let scene = Scenario::safe(script);
    let mut slow = Client::connect_slow(scene.engine.addresses()[0]);
    slow.ask("GET", "/big", &[]).next_head();
    // The engine does not buffer 64 MiB for a slow client, and it serves others meanwhile.
    scene.origin.is_held_up();
    assert_eq!(scene.client().get("/b").text(), "b");
    assert_eq!(slow.take(big.len()).len(), big.len());
}

#[test]
fn a_slow_origin_slows_the_client_that_uploads_to_it() {
    let big = vec![b'x'; 64 << 20];
    let gate = Gate::new();
    let scene = Scenario::safe([post("/").waits(&gate).answers(ok(&[], "done")), get("/b").answers(ok(&[], "b"))]);
    let mut client = scene.client();
    client.ask("POST", "/", &[&format!("Content-Length: {}", big.len())]);
    let left = client.send_held_up(&big);
    assert_eq!(scene.client().get("/b").text(), "b");
    gate.open();
    assert_eq!(client.send(left).response().text(), "done");
    assert_eq!(scene.origin.request(0).body.len(), big.len());
}

#[test]
fn other_methods_with_bodies_go_through() {
    for method in ["PUT", "PATCH", "DELETE", "PROPFIND", "X-UNKNOWN"] {
        let scene = Scenario::safe([on(method, "/").answers(ok(&[], "done"))]);
        assert_eq!(scene.client().send_body(method, "/", &[], "abc").text(), "done");
        assert_eq!(scene.origin.only_request().text(), "abc");
    }
}

#[test]
fn an_empty_post_says_so_to_the_origin() {
    let scene = Scenario::safe([post("/").answers(ok(&[], "done"))]);
    assert_eq!(scene.client().ask("POST", "/", &[]).response().text(), "done");
    assert_eq!(scene.origin.only_request().field("content-length").as_deref(), Some("0"));
}

#[test]
fn framing_fields_of_a_status_without_content_are_not_passed_on() {
    //= RFC 9112 section 6.1
    //# A server MUST NOT send a Transfer-Encoding header field in any response with a status code of 1xx (Informational) or
    //# 204 (No Content).
    for pass in [true, false] {
        let fields = "Cache-Control: max-age=60\r\n";
        let scene = Setup::rfc().route(|route| route.pass = pass).run([
            get("/1")
                .answers(format!("HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n{fields}\r\n"))
                .closes(),
            get("/2").answers(format!("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n{fields}\r\n")).closes(),
            get("/3")
                .answers("HTTP/1.1 103 Early Hints\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n")
                .sends(ok(&[], "c")),
        ]);
        let mut client = scene.client();
        for target in ["/1", "/2"] {
            let response = client.get(target);
            assert!(!response.has("transfer-encoding") && !response.has("content-length"), "{response:?}");
        }
        let hint = client.get("/3");
        assert!(!hint.has("transfer-encoding") && !hint.has("content-length"), "{hint:?}");
        assert_eq!(client.response().text(), "c");
    }
}

#[test]
fn identical_repeats_of_content_length_in_a_response_are_not_passed_on() {
    for fields in ["Content-Length: 3, 3", "Content-Length: 3\r\nContent-Length: 3"] {
        let answer = format!("HTTP/1.1 200 OK\r\n{fields}\r\nCache-Control: max-age=60\r\n\r\nabc");
        let scene = Scenario::safe([get("/").answers(answer)]);
        let mut client = scene.client();
        for _ in 0..2 {
            let response = client.get("/");
            assert_eq!(response.text(), "abc");
            assert!(["", "3"].contains(&response.field("content-length").as_str()), "{response:?}");
        }
    }
}

#[test]
fn a_body_behind_a_response_to_head_is_no_response() {
    //= RFC 9112 section 6.3
    //# is always terminated by the first empty line after the header fields, regardless of the header fields present in the
    //# message, and thus cannot contain a message body or trailer section.
    let scene =
        Scenario::safe([on("HEAD", "/").answers(ok(&[], "HTTP/1.1 200 OK\r\n\r\n")), get("/b").answers(ok(&[], "b"))]);
    let mut client = scene.client();
    assert_eq!(client.head("/", &[]).field("content-length"), "19");
    assert_eq!(client.get("/b").text(), "b");
    assert_eq!(scene.origin.request(1).connection, 1);
}

#[test]
fn statuses_without_content_have_none() {
    //= RFC 9112 section 6.1
    //# A server MUST NOT send a Transfer-Encoding header field in any response with a status code of 1xx (Informational) or
    //# 204 (No Content).
    for pass in [true, false] {
        let scene = Setup::rfc().route(|route| route.pass = pass).run([
            get("/204").answers("HTTP/1.1 204 No Content\r\nCache-Control: max-age=60\r\n\r\n"),
            get("/304").answers("HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n"),
            get("/a").answers(ok(&[], "a")),
        ]);
        let mut client = scene.client();
        let response = client.get("/204");
        assert_eq!((response.status, response.has("content-length")), (204, false));
        assert_eq!(response.ending, Ending::Whole);
        // Where the request passes. The request of a fill has no condition, so a 304 to it is the origin's fault.
        let status = client.get_with("/304", &["If-None-Match: \"1\""]).status;
        assert_eq!(status, if pass { 304 } else { 502 });
        assert_eq!(client.get("/a").text(), "a");
    }
}
