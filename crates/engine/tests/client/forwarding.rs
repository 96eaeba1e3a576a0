//! Which fields of a request reach the origin, and which of a response the client: hop-by-hop fields, Via, trailers, directives.

use kasoku_semantics::policy::Profile;
use kasoku_testkit::{BOTH, Gate, Scenario, Setup, get, ok, post};

#[test]
fn fields_of_the_connection_are_removed_on_the_way_to_the_origin() {
    //= RFC 9110 section 7.6.1
    //# Intermediaries MUST parse a received Connection header field before a message is forwarded and, for each connection-option in this field, remove any header or trailer field(s) from the message with the same name as the connection-option, and then remove the Connection header field itself
    for pass in [true, false] {
        let scene = Setup::safe().route(|route| route.pass = pass).run([get("/").answers(ok(&[], "a"))]);
        let fields = [
            "Connection: X-Hop, x-other",
            "connection: keep-alive, TE",
            "X-Hop: 1",
            "X-Other: 1",
            "Keep-Alive: timeout=5",
            "Proxy-Connection: keep-alive",
            "TE: trailers, chunked",
            "Upgrade: h2c",
            "X-End: 1",
        ];
        assert_eq!(scene.client().get_with("/", &fields).text(), "a");
        let request = scene.origin.only_request();
        for gone in ["x-hop", "x-other", "keep-alive", "proxy-connection", "upgrade", "connection"] {
            assert_eq!(request.field(gone), None, "{gone}");
        }
        //= RFC 9112 section 7.4
        //# A client MUST NOT send the chunked transfer coding name in TE; chunked is always acceptable for HTTP/1.1 recipients.
        //= RFC 9112 section 7.4
        //# Since the TE header field only applies to the immediate connection, a sender of TE MUST also send a "TE" connection
        //# option within the Connection header field
        assert_eq!(request.field("te"), None);
        assert_eq!(request.field("x-end").as_deref(), Some("1"));
    }
}

#[test]
fn fields_of_the_connection_are_removed_on_the_way_to_the_client() {
    for cache_control in ["no-store", "max-age=60"] {
        let cache_control = format!("Cache-Control: {cache_control}");
        let fields = [
            "Connection: X-Hop",
            "X-Hop: 1",
            "Keep-Alive: timeout=5",
            "Proxy-Connection: keep-alive",
            "Proxy-Authenticate: Basic",
            "Upgrade: h2c",
            "X-End: 1",
            &cache_control,
        ];
        let script = [get("/").answers(ok(&fields, "a")), get("/").answers(ok(&fields, "a"))];
        let scene = if cache_control.contains("no-store") {
            Scenario::safe(script)
        } else {
            Scenario::safe(script.into_iter().take(1))
        };
        for _ in 0..2 {
            let response = scene.client().get("/");
            for gone in ["x-hop", "keep-alive", "proxy-connection", "upgrade", "connection"] {
                assert!(!response.has(gone), "{gone}: {response:?}");
            }
            assert_eq!(response.field("x-end"), "1");
        }
    }
}

#[test]
fn a_connection_option_cannot_remove_what_frames_or_routes_a_request() {
    let scene = Scenario::safe([post("/").answers(ok(&[], "a"))]);
    let fields = ["Connection: Host, Content-Length, Cache-Control", "Cache-Control: no-cache"];
    assert_eq!(scene.client().send_body("POST", "/", &fields, "abc").text(), "a");
    let request = scene.origin.only_request();
    assert_eq!(request.field("host").as_deref(), Some("example.org"));
    assert_eq!((request.field("content-length").as_deref(), request.text().as_str()), (Some("3"), "abc"));
}

#[test]
fn via_is_added_in_both_directions() {
    //= RFC 9110 section 7.6.3
    //# A proxy MUST send an appropriate Via header field, as described below, in each message that it forwards.
    for cache_control in ["Cache-Control: no-store", "Cache-Control: max-age=60"] {
        for profile in BOTH {
            let scene = Setup::new(profile).run([get("/").answers(ok(&[cache_control, "Via: 1.0 inner"], "a"))]);
            let mut client = scene.client();
            client.send("GET / HTTP/1.0\r\nHost: example.org\r\nVia: 1.1 outer\r\n\r\n");
            assert_eq!(client.response().field("via"), "1.0 inner, 1.1 kasoku");
            // In profile safe, where the answer may be shared, the origin gets only the fields that are in the key.
            let told = if profile == Profile::Safe { "1.1 kasoku" } else { "1.1 outer, 1.0 kasoku" };
            assert_eq!(scene.origin.only_request().field("via").as_deref(), Some(told));
        }
    }
}

#[test]
fn via_tells_how_often_a_request_has_been_here_also_where_its_answer_may_be_shared() {
    let scene = Scenario::safe([get("/").answers(ok(&["Cache-Control: max-age=60"], "a"))]);
    scene.client().get_with("/", &["Via: 1.1 kasoku, 1.1 outer", "Via: 1.0 kasoku"]);
    assert_eq!(scene.origin.only_request().field("via").as_deref(), Some("1.1 kasoku, 1.1 kasoku, 1.1 kasoku"));
}

#[test]
fn via_names_the_version_of_the_origins_response() {
    //= RFC 9110 section 7.6.3
    //# A proxy MUST send an appropriate Via header field, as described below, in each message that it forwards.
    let scene = Scenario::safe([get("/").answers("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na").closes()]);
    assert_eq!(scene.client().get("/").field("via"), "1.0 kasoku");
}

#[test]
fn a_request_that_goes_in_a_circle_is_508() {
    let scene = Scenario::safe([]);
    let via = format!("Via: {}", ["1.1 kasoku"; 8].join(", "));
    assert_eq!(scene.client().get_with("/", &[&via]).status, 508);
}

#[test]
fn cache_directives_are_passed_on() {
    //= RFC 9111 section 5.2
    //# A proxy, whether or not it implements a cache, MUST pass cache directives through in forwarded messages, regardless of
    //# their significance to that application, since the directives might apply to all recipients along the
    //# request/response chain.
    let sent = "max-age=60, s-maxage=70, x-unknown=\"a, b\", stale-if-error=5";
    for profile in BOTH {
        let scene = Setup::new(profile).run([get("/").answers(ok(&[&format!("Cache-Control: {sent}")], "a"))]);
        let mut client = scene.client();
        let asked = "max-age=5, x-mine, min-fresh=3";
        assert_eq!(client.get_with("/", &[&format!("Cache-Control: {asked}")]).field("cache-control"), sent);
        assert_eq!(scene.origin.only_request().field("cache-control").as_deref(), Some(asked));
        assert_eq!(client.get("/").field("cache-control"), sent);
    }
}

#[test]
fn content_is_never_transformed() {
    //= RFC 9111 section 5.2.2.6
    //# The no-transform response directive indicates that an intermediary (regardless of whether it implements a cache) MUST
    //# NOT transform the content, as defined in Section 7.7 of [HTTP].
    let body: Vec<u8> = (0..=255).collect();
    let fields = ["Cache-Control: max-age=60, no-transform", "Content-Type: text/html", "Content-Encoding: x-made-up"];
    let scene = Scenario::safe([get("/").answers(ok(&fields, &body))]);
    let mut client = scene.client();
    for _ in 0..2 {
        let response = client.get_with("/", &["Accept-Encoding: gzip"]);
        assert_eq!((response.field("content-encoding").as_str(), &response.body), ("x-made-up", &body));
    }
}

#[test]
fn unknown_fields_and_obs_text_pass_both_ways() {
    let scene =
        Scenario::safe([get("/").answers(b"HTTP/1.1 200 Gut so\r\nContent-Length: 0\r\nX-B: \xe4\r\nX-B: 2\r\n\r\n")]);
    let mut client = scene.client();
    client.send(b"GET / HTTP/1.1\r\nHost: a\r\nX-A: \xe4\r\nX-A: 2\r\n\r\n");
    let response = client.response();
    assert_eq!(response.head.line, "HTTP/1.1 200 Gut so");
    assert_eq!(response.field("x-b"), "\u{fffd}, 2");
    assert_eq!(scene.origin.only_request().field("x-a").as_deref(), Some("\u{fffd}, 2"));
}

#[test]
fn trailers_of_the_connection_are_removed_in_both_directions() {
    //= RFC 9110 section 7.6.1
    //# for each connection-option in this field, remove any header or trailer field(s) from the message with the same name as the connection-option
    let answer = "HTTP/1.1 200 OK\r\nConnection: X-Hop\r\nTransfer-Encoding: chunked\r\nCache-Control: max-age=9\r\n\r\n1\r\na\r\n0\r\nX-Hop: 1\r\nX-End: 2\r\n\r\n";
    let scene = Scenario::safe([post("/").answers(answer), get("/").answers(answer)]);
    let mut client = scene.client();
    client.ask("POST", "/", &["Connection: X-Hop", "Transfer-Encoding: chunked"]);
    let posted = client.send("1\r\na\r\n0\r\nX-Hop: 1\r\nX-End: 2\r\n\r\n").response();
    let only_end = [("X-End".to_owned(), "2".to_owned())];
    assert_eq!(scene.origin.request(0).trailers, only_end, "towards the origin");
    assert_eq!(posted.trailers, only_end, "alone");
    assert_eq!(client.get("/").trailers, only_end, "into a fill");
}

#[test]
fn an_origins_trailers_set_no_cookies_for_those_who_share_them() {
    let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nCache-Control: max-age=9\r\n\r\n1\r\na\r\n0\r\nSet-Cookie: session=1\r\n\r\n";
    let scene = Scenario::safe([get("/").answers(answer)]);
    assert_eq!(scene.client().get("/").trailers, []);
}

#[test]
fn a_pipelined_request_behind_one_that_passes_is_kept() {
    let gate = Gate::new();
    let scene = Setup::safe()
        .route(|route| route.pass = true)
        .run([get("/a").answers("").waits(&gate).sends(ok(&[], "a")), get("/b").answers(ok(&[], "b"))]);
    let mut client = scene.client();
    client.ask("GET", "/a", &[]);
    scene.origin.arrived(1);
    client.ask("GET", "/b", &[]);
    scene.settled();
    gate.open();
    assert_eq!((client.response().text(), client.response().text()), ("a".into(), "b".into()));
}
