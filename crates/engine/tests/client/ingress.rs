//! The client's side of a connection: keep-alive, pipelining, versions, forms of the target, methods.

use kasoku_testkit::{BOTH, Client, Ending, Scenario, Setup, get, head, ok, on, post, reply};

#[test]
fn a_connection_carries_one_request_after_another() {
    for profile in BOTH {
        let scene = Setup::new(profile).run([get("/a").answers(ok(&[], "a")), get("/b").answers(ok(&[], "b"))]);
        let mut client = scene.client();
        assert_eq!(client.get("/a").short(), (200, "a".into()));
        assert_eq!(client.get("/b").short(), (200, "b".into()));
    }
}

#[test]
fn pipelined_requests_are_answered_in_their_order() {
    //= RFC 9112 section 9.3.2
    //# it MUST send the corresponding responses in the same order that the requests were received.
    let scene = Scenario::safe([
        get("/slow").answers(ok(&["Cache-Control: max-age=60"], "slow")),
        get("/b").answers(ok(&["Cache-Control: no-store"], "b")),
    ]);
    assert_eq!(scene.client().get("/slow").text(), "slow");
    let mut client = scene.client();
    let request = |target| format!("GET {target} HTTP/1.1\r\nHost: example.org\r\n\r\n");
    client.send(request("/b") + &request("/slow") + &request("/slow"));
    assert_eq!(client.response().text(), "b");
    assert_eq!(client.response().text(), "slow");
    assert_eq!(client.response().text(), "slow");
}

#[test]
fn a_pipelined_request_behind_a_body_is_found() {
    let scene = Scenario::safe([post("/a").answers(ok(&[], "a")), get("/b").answers(ok(&[], "b"))]);
    let mut client = scene.client();
    client.send(
        "POST /a HTTP/1.1\r\nHost: example.org\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n\
         GET /b HTTP/1.1\r\nHost: example.org\r\n\r\n",
    );
    assert_eq!(client.response().text(), "a");
    assert_eq!(client.response().text(), "b");
    assert_eq!(scene.origin.request(0).text(), "abc");
}

#[test]
fn a_request_that_arrives_byte_by_byte_is_the_same_request() {
    let scene = Scenario::safe([post("/a").answers(ok(&[], "a"))]);
    let mut client = scene.client();
    for byte in "\r\nPOST /a HTTP/1.1\r\nHost: example.org\r\nContent-Length: 3\r\n\r\nabc".as_bytes() {
        client.send([*byte]);
    }
    assert_eq!(client.response().text(), "a");
    assert_eq!(scene.origin.only_request().text(), "abc");
}

#[test]
fn connection_close_ends_the_connection_after_the_response() {
    //= RFC 9112 section 9.6
    //# A server that receives a "close" connection option MUST initiate closure of the connection
    //= RFC 9112 section 9.6
    //# A server that sends a "close" connection option MUST initiate closure of the connection (see below) after it sends
    //# the response containing the "close" connection option.
    //= RFC 9112 section 9.6
    //# The server MUST NOT process any further requests received on that connection.
    let scene = Scenario::safe([get("/a").answers(ok(&[], "a"))]);
    let mut client = scene.client();
    client.send(
        "GET /a HTTP/1.1\r\nHost: example.org\r\nConnection: Close\r\n\r\nGET /b HTTP/1.1\r\nHost: example.org\r\n\r\n",
    );
    let response = client.response();
    assert_eq!((response.text().as_str(), response.field("connection").as_str()), ("a", "close"));
    client.is_closed();
}

#[test]
fn who_asks_for_the_end_gets_a_long_answer_whole_however_late_they_read() {
    let long = "x".repeat(3 << 20);
    let scene = Scenario::safe([get("/a").answers(ok(&["Cache-Control: max-age=9"], &long))]);
    for _ in 0..2 {
        let mut client = Client::connect_slow(scene.engine.addresses()[0]);
        client.send("GET /a HTTP/1.0\r\nHost: example.org\r\n\r\n");
        // The engine answers other clients meanwhile.
        let mut other = scene.client();
        other.send("GET /a HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\n\r\n");
        assert_eq!(other.response().text().len(), long.len());
        other.is_closed();
        assert_eq!(client.response().text().len(), long.len());
        client.is_closed();
    }
}

#[test]
fn half_a_close_of_the_client_still_gets_the_answer() {
    let scene = Scenario::safe([get("/a").answers(ok(&["Cache-Control: max-age=9"], "a"))]);
    let mut client = scene.client();
    client.ask("GET", "/a", &[]).shutdown_write();
    assert_eq!(client.response().text(), "a");
    client.is_closed();
}

#[test]
fn half_a_close_of_the_client_still_gets_an_answer_that_is_not_shared() {
    let scene = Setup::safe().route(|route| route.pass = true).run([get("/a").answers(ok(&[], "a"))]);
    let mut client = scene.client();
    client.ask("GET", "/a", &[]).shutdown_write();
    assert_eq!(client.response().text(), "a");
    client.is_closed();
}

#[test]
fn a_client_of_http_1_0_gets_a_length_and_a_close() {
    let scene = Scenario::safe([get("/a").answers(ok(&["Cache-Control: max-age=9"], "hello"))]);
    for _ in 0..2 {
        let mut client = scene.client();
        client.send("GET /a HTTP/1.0\r\nHost: example.org\r\n\r\n");
        let response = client.response();
        assert_eq!((response.text().as_str(), response.field("content-length").as_str()), ("hello", "5"));
        assert_eq!(response.field("connection"), "close");
        client.is_closed();
    }
    assert_eq!(scene.origin.only_request().head.line, "GET /a HTTP/1.1");
}

#[test]
fn a_client_of_http_1_0_never_sees_chunks() {
    //= RFC 9112 section 6.1
    //# A server MUST NOT send a response containing Transfer-Encoding unless the corresponding request indicates HTTP/1.1 (or
    //# later minor revisions).
    let chunked =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nCache-Control: no-store\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    for pass in [true, false] {
        let scene = Setup::safe().route(|route| route.pass = pass).run([get("/a").answers(chunked)]);
        let mut client = scene.client();
        client.send("GET /a HTTP/1.0\r\nHost: example.org\r\nConnection: keep-alive\r\n\r\n");
        let response = client.response();
        assert!(!response.has("transfer-encoding") && !response.has("content-length"), "{response:?}");
        assert_eq!((response.text().as_str(), response.ending), ("abc", Ending::Whole));
    }
}

#[test]
fn a_client_of_http_1_0_may_keep_its_connection_if_it_says_so() {
    let scene = Scenario::safe([get("/a").answers(ok(&["Cache-Control: max-age=9"], "a"))]);
    let mut client = scene.client();
    for _ in 0..2 {
        client.send("GET /a HTTP/1.0\r\nHost: example.org\r\nConnection: keep-alive\r\n\r\n");
        let response = client.response();
        assert_eq!((response.text().as_str(), response.field("connection").as_str()), ("a", "keep-alive"));
    }
}

#[test]
fn http_1_0_needs_no_host() {
    let scene = Scenario::safe([get("/a").answers(ok(&[], "a"))]);
    let mut client = scene.client();
    client.send("GET /a HTTP/1.0\r\n\r\n");
    assert_eq!(client.response().text(), "a");
    let own = scene.engine.addresses()[0].to_string();
    assert_eq!(scene.origin.only_request().field("host"), Some(own));
}

#[test]
fn the_host_of_an_absolute_target_beats_the_host_field() {
    //= RFC 9112 section 3.2.2
    //# When an origin server receives a request with an absolute-form of request-target, the origin server MUST ignore the
    //# received Host header field (if any) and instead use the host information of the request-target.
    //= RFC 9112 section 3.2.2
    //# the proxy MUST ignore the received Host header field (if any) and instead replace it with the host information of the
    //# request-target.
    //= RFC 9112 section 3.2.2
    //# A proxy that forwards such a request MUST generate a new Host field value based on the received request-target rather
    //# than forward the received Host field value.
    let scene = Scenario::safe([get("/p?q").answers(ok(&["Cache-Control: max-age=9"], "a"))]);
    let mut client = scene.client();
    client.send("GET http://Example.ORG:80/p?q HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    assert_eq!(client.response().text(), "a");
    assert!(client.get("/p?q").is_hit(), "the same URI in the other form");
    let request = scene.origin.only_request();
    assert_eq!(request.field("host").as_deref(), Some("example.org"));
    assert_eq!(request.head.line, "GET /p?q HTTP/1.1");
}

#[test]
fn an_absolute_target_without_a_path_asks_for_the_root() {
    //= RFC 9112 section 3.2.1
    //# If the target URI's path component is empty, the client MUST send "/" as the path within the origin-form of
    //# request-target.
    //= RFC 9112 section 3.2.1
    //# a client MUST send only the absolute path and query components of the target URI as the request-target.
    let scene = Scenario::safe([get("/").answers(ok(&[], "a")), get("/?q").answers(ok(&[], "b"))]);
    let mut client = scene.client();
    client.send("GET http://example.org HTTP/1.1\r\nHost: example.org\r\n\r\n");
    assert_eq!(client.response().text(), "a");
    client.send("GET http://example.org?q HTTP/1.1\r\nHost: example.org\r\n\r\n");
    assert_eq!(client.response().text(), "b");
}

#[test]
fn the_host_goes_to_the_origin_without_default_port_and_in_lower_case() {
    //= RFC 9112 section 3.2
    //# A client MUST send a Host header field (Section 7.2 of [HTTP]) in all HTTP/1.1 request messages.
    //= RFC 9112 section 3.2
    //# a client MUST send a field value for Host that is identical to that authority component, excluding any userinfo
    let scene = Scenario::safe([get("/").answers(ok(&["Cache-Control: max-age=9"], "a"))]);
    let mut client = scene.client();
    assert!(!client.get_with("/", &["Host: EXAMPLE.org:80"]).is_hit());
    assert!(client.get_with("/", &["Host: example.org"]).is_hit());
    assert_eq!(scene.origin.only_request().field("host").as_deref(), Some("example.org"));
}

#[test]
fn head_gets_the_fields_of_get_and_no_body() {
    let scene = Scenario::safe([
        head("/a").answers("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: 1\r\n\r\n"),
        get("/a").answers(ok(&["Cache-Control: max-age=60"], "hello")),
        get("/z").answers(ok(&[], "z")),
    ]);
    let mut client = scene.client();
    let response = client.head("/a", &[]);
    assert_eq!((response.status, response.field("content-length").as_str()), (200, "5"));
    assert_eq!(response.field("x-a"), "1");
    client.get("/a");
    let response = client.head("/a", &[]);
    assert_eq!((response.is_hit(), response.field("content-length").as_str()), (true, "5"));
    assert_eq!(client.get("/z").text(), "z", "no body has come in between");
}

#[test]
fn options_goes_to_the_origin_and_is_not_stored() {
    let allow = || reply("200 OK", &["Allow: GET", "Cache-Control: max-age=60"], "");
    let scene = Scenario::rfc([on("OPTIONS", "/a").answers(allow()), on("OPTIONS", "/a").answers(allow())]);
    let mut client = scene.client();
    for _ in 0..2 {
        let response = client.ask("OPTIONS", "/a", &[]).response();
        assert_eq!(
            (response.field("allow").as_str(), response.cache_status("fwd").as_deref()),
            ("GET", Some("method"))
        );
    }
}

#[test]
fn options_for_the_whole_server_keeps_its_star() {
    //= RFC 9112 section 3.2.4
    //# the client MUST send only "*" (%x2A) as the request-target.
    let answer = || reply("204 No Content", &["Allow: GET"], "");
    let scene = Scenario::safe([on("OPTIONS", "*").answers(answer()), on("OPTIONS", "*").answers(answer())]);
    let mut client = scene.client();
    assert_eq!(client.ask("OPTIONS", "*", &[]).response().field("allow"), "GET");
    //= RFC 9112 section 3.2.4
    //# then the last proxy on the request chain MUST send a request-target of "*"
    client.send("OPTIONS http://example.org HTTP/1.1\r\nHost: example.org\r\n\r\n");
    assert_eq!(client.response().field("allow"), "GET");
}

#[test]
fn max_forwards_counts_down_and_zero_is_answered_here() {
    //= RFC 9110 section 7.6.2
    //# If the received value is zero, the intermediary MUST NOT forward the request; instead, the intermediary MUST respond as the final recipient.
    let scene = Scenario::safe([on("OPTIONS", "/a").answers(reply("204 No Content", &[], ""))]);
    let mut client = scene.client();
    assert_eq!(client.ask("OPTIONS", "/a", &["Max-Forwards: 0"]).response().status, 200);
    assert_eq!(client.ask("OPTIONS", "/a", &["Max-Forwards: 3"]).response().status, 204);
    assert_eq!(scene.origin.only_request().field("max-forwards").as_deref(), Some("2"));
}

#[test]
fn trace_and_connect_are_refused() {
    let scene = Scenario::safe([]);
    for request in [
        "TRACE /a HTTP/1.1\r\nHost: example.org\r\n\r\n",
        "CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n",
    ] {
        let response = scene.client().send(request).response();
        assert!(matches!(response.status, 405 | 501), "{request}: {response:?}");
    }
}

#[test]
fn a_get_with_a_body_passes_by_the_cache() {
    let answer = || ok(&["Cache-Control: max-age=60"], "a");
    let scene = Scenario::rfc([get("/a").answers(answer()), get("/a").answers(answer())]);
    let mut client = scene.client();
    for _ in 0..2 {
        let response = client.send_body("GET", "/a", &[], "x");
        assert_eq!((response.text().as_str(), response.detail().as_str()), ("a", "request-body-on-get"));
    }
    assert_eq!(scene.origin.request(1).text(), "x");
}
