//! Strict framing: bytes that are not one request in exactly one way are refused, the connection is closed, and no origin gets
//! any of them.

use kasoku_testkit::{Scenario, get, ok, post};

/// Sends `bytes` and a second request behind them, which must never be served: the script is empty.
#[track_caller]
fn is_refused(bytes: &str, status: u16) {
    let scene = Scenario::safe([]);
    let mut client = scene.client();
    client.send(format!("{bytes}GET /smuggled HTTP/1.1\r\nHost: example.org\r\n\r\n"));
    let response = client.response();
    assert_eq!((response.status, response.field("connection").as_str()), (status, "close"), "{bytes:?}");
    client.is_closed();
}

#[test]
fn content_length_together_with_transfer_encoding_is_400() {
    //= RFC 9112 section 6.1
    //# A server MAY reject a request that contains both Content-Length and Transfer-Encoding or process such a request in
    //# accordance with the Transfer-Encoding alone.
    let chunked = "3\r\nabc\r\n0\r\n\r\n";
    is_refused(
        &format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n{chunked}"),
        400,
    );
    is_refused(
        &format!("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n{chunked}"),
        400,
    );
}

#[test]
fn differing_or_malformed_content_lengths_are_400() {
    for fields in [
        "Content-Length: 3\r\nContent-Length: 4",
        "Content-Length: 3, 4",
        "Content-Length: +3",
        "Content-Length: -3",
        "Content-Length: 0x3",
        "Content-Length: 3 3",
        "Content-Length:",
        "Content-Length: 99999999999999999999999",
    ] {
        is_refused(&format!("POST / HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\nabc"), 400);
    }
}

#[test]
fn unknown_codings_are_501_and_misplaced_chunked_is_400() {
    //= RFC 9112 section 6.1
    //# A server that receives a request message with a transfer coding it does not understand SHOULD respond with 501 (Not
    //# Implemented).
    let with = |coding: &str| format!("POST / HTTP/1.1\r\nHost: a\r\n{coding}\r\n\r\n0\r\n\r\n");
    is_refused(&with("Transfer-Encoding: gzip, chunked"), 501);
    is_refused(&with("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked"), 501);
    for coding in [
        "Transfer-Encoding: identity",
        "Transfer-Encoding: chunked, gzip",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
        "Transfer-Encoding: chunked, chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding:",
    ] {
        let scene = Scenario::safe([]);
        let response = scene.client().send(with(coding)).response();
        assert!(matches!(response.status, 400 | 501), "{coding}: {response:?}");
    }
}

#[test]
fn transfer_encoding_in_http_1_0_is_400() {
    //= RFC 9112 section 6.1
    //# A server or client that receives an HTTP/1.0 message containing a Transfer-Encoding header field MUST treat the
    //# message as if the framing is faulty, even if a Content-Length is present, and close the connection after processing
    //# the message.
    is_refused(
        "POST / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
    );
}

#[test]
fn a_missing_doubled_or_invalid_host_is_400() {
    //= RFC 9112 section 3.2
    //# A server MUST respond with a 400 (Bad Request) status code to any HTTP/1.1 request message that lacks a Host header
    //# field and to any request message that contains more than one Host header field line or a Host header field with an
    //# invalid field value.
    for fields in
        ["X: y", "Host: a\r\nHost: a", "Host: a\r\nhost: b", "Host: a b", "Host: a/b", "Host: u@a", "Host: a:b"]
    {
        is_refused(&format!("GET / HTTP/1.1\r\n{fields}\r\n\r\n"), 400);
    }
}

#[test]
fn a_malformed_head_is_400() {
    for head in [
        "GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n", // obs-fold
        "GET / HTTP/1.1\r\nHost: a\r\n X: a\r\n\r\n",      // white space before the name
        "GET / HTTP/1.1\r\n Host: a\r\n\r\n",              // and right behind the request line
        "GET / HTTP/1.1\r\nHost: a\r\nX : a\r\n\r\n",      // space before the colon
        "GET / HTTP/1.1\r\nHost: a\r\nX\t: a\r\n\r\n",     // tab before the colon
        "GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n",    // bare CR
        "GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n",    // NUL
        "GET / HTTP/1.1\r\nHost: a\nX: a\r\n\r\n",         // bare LF
        "GET / HTTP/1.1\nHost: a\n\n",                     // only LF
        "GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n",   // no field
        "GET / HTTP/1.1\r\nHost: a\r\n: a\r\n\r\n",        // no name
        "GET / HTTP/1.1\r\nHost: a\r\nX[]: a\r\n\r\n",     // no token
        "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",              // two spaces
        "GET / a HTTP/1.1\r\nHost: a\r\n\r\n",             // a space in the target
        "GET\t/\tHTTP/1.1\r\nHost: a\r\n\r\n",             // tabs
        "GET / HTTP/1.1 \r\nHost: a\r\n\r\n",              // a space behind the version
        "GET /\r\nHost: a\r\n\r\n",                        // HTTP/0.9
        "GET / http/1.1\r\nHost: a\r\n\r\n",               // the version's case
        "G(T / HTTP/1.1\r\nHost: a\r\n\r\n",               // the method is no token
        "GET /\u{e4} HTTP/1.1\r\nHost: a\r\n\r\n",         // bytes beyond ASCII in the target
    ] {
        is_refused(head, 400);
    }
}

#[test]
fn a_target_without_a_form_is_400() {
    is_refused("GET a HTTP/1.1\r\nHost: a\r\n\r\n", 400);
    is_refused("GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400); // the asterisk is for OPTIONS only
    is_refused("GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400);
}

#[test]
fn another_major_version_is_refused() {
    for version in ["HTTP/2.0", "HTTP/3.0", "HTTP/0.9"] {
        let scene = Scenario::safe([]);
        let mut client = scene.client();
        let response = client.send(format!("GET / {version}\r\nHost: a\r\n\r\n")).response();
        assert!(matches!(response.status, 400 | 505), "{version}: {response:?}");
        client.is_closed();
    }
}

#[test]
fn the_preface_of_http_2_is_refused() {
    let scene = Scenario::safe([]);
    let mut client = scene.client();
    let response = client.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").response();
    assert!(matches!(response.status, 400 | 505), "{response:?}");
    client.is_closed();
}

#[test]
fn a_later_minor_version_is_served_as_1_1() {
    //= RFC 9112 section 2.3
    //# Intermediaries that process HTTP messages (i.e., all intermediaries other than those acting as tunnels) MUST send
    //# their own HTTP-version in forwarded messages
    let scene = Scenario::safe([get("/").answers(ok(&[], "a"))]);
    assert_eq!(scene.client().send("GET / HTTP/1.2\r\nHost: a\r\n\r\n").response().text(), "a");
    assert_eq!(scene.origin.only_request().head.line, "GET / HTTP/1.1");
}

#[test]
fn a_body_whose_chunks_are_broken_is_400_and_never_complete_at_the_origin() {
    for body in [
        "x\r\nabc\r\n0\r\n\r\n",
        "3 \r\nabc\r\n0\r\n\r\n",
        "0x3\r\nabc\r\n0\r\n\r\n",
        "-3\r\nabc\r\n0\r\n\r\n",
        "+3\r\nabc\r\n0\r\n\r\n",
        "\r\nabc\r\n0\r\n\r\n",
        "3\nabc\r\n0\r\n\r\n",
        "3\r\nabcd\r\n0\r\n\r\n",
        "3\r\nab\r\n0\r\n\r\n",
        "11111111111111111\r\nabc\r\n0\r\n\r\n",
        "3;a=\"\n\"\r\nabc\r\n0\r\n\r\n",
        "0\r\nX : y\r\n\r\n",
        "0\r\nX: y\n\r\n",
    ] {
        // The origin never hears of a short body; a long one has begun to go there.
        for beginning in [String::new(), format!("4e20\r\n{}\r\n", "a".repeat(20_000))] {
            let is_long = !beginning.is_empty();
            let scene = Scenario::safe(is_long.then(|| post("/").answers("").closes()));
            let mut client = scene.client();
            client.send(format!("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{beginning}{body}GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"));
            let response = client.response();
            assert_eq!((response.status, response.field("connection").as_str()), (400, "close"), "{body:?}");
            client.is_closed();
            assert!(!is_long || !scene.origin.only_request().is_whole, "{body:?}");
        }
    }
}

#[test]
fn an_overlong_chunk_extension_is_400() {
    let scene = Scenario::safe([]);
    let mut client = scene.client();
    client
        .ask("POST", "/", &["Transfer-Encoding: chunked"])
        .send(format!("3;{}\r\nabc\r\n0\r\n\r\n", "x".repeat(5000)));
    assert_eq!(client.response().status, 400);
    client.is_closed();
}

#[test]
fn a_folded_field_of_the_origin_never_reaches_a_client_folded() {
    //= RFC 9112 section 5.2
    //# A sender MUST NOT generate a message that includes line folding
    let answer = "HTTP/1.1 200 OK\r\nX-A: one\r\n two\r\nContent-Length: 0\r\n\r\n";
    let scene = Scenario::safe([get("/").answers(answer).closes()]);
    let response = scene.client().get("/");
    match response.status {
        200 => assert_eq!(response.field("x-a").split_whitespace().collect::<Vec<_>>(), ["one", "two"]),
        status => assert_eq!(status, 502),
    }
}

#[test]
fn targets_that_could_be_read_in_two_ways_are_400() {
    for target in ["/a#b", "http://user@example.org/", "http://example.org:port/", "http:///a", "http://", "/a\\ b"] {
        let scene = Scenario::safe([]);
        let response = scene.client().send(format!("GET {target} HTTP/1.1\r\nHost: example.org\r\n\r\n")).response();
        assert_eq!(response.status, 400, "{target}");
    }
}
