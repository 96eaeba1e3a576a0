//! Conditional requests that the cache answers: If-None-Match, If-Modified-Since, and conditions that only the origin can
//! evaluate.

use kasoku_testkit::{BOTH, Gate, Scenario, Setup, get, ok, reply};

const FRESH: &str = "Cache-Control: max-age=60";

#[test]
fn if_none_match_is_answered_from_the_cache() {
    for profile in BOTH {
        let scene = Setup::new(profile).run([get("/")
            .answers(ok(&[FRESH, "ETag: \"1\"", "X-A: b", "Content-Type: text/plain", "Content-Location: /x"], "a"))]);
        let mut client = scene.client();
        client.get("/");
        scene.advance(5);
        for tags in ["\"1\"", "W/\"1\"", "\"0\", \"1\"", "\"a,b\" , W/\"1\"", "*"] {
            let response = client.get_with("/", &[&format!("If-None-Match: {tags}")]);
            assert_eq!((response.status, response.is_hit()), (304, true), "{tags}");
            //= RFC 9110 section 15.4.5
            //# The server generating a 304 response MUST generate any of the following header fields that would have been sent in a 200 (OK) response to the same request
            for field in ["date", "etag", "cache-control", "content-location"] {
                assert!(response.has(field), "{field}");
            }
            assert_eq!(response.field("age"), "5");
            assert!(!response.has("content-length") || response.field("content-length") == "1");
        }
        for tags in ["\"0\"", "\"0\", \"2\"", "\"\"", ""] {
            assert_eq!(client.get_with("/", &[&format!("If-None-Match: {tags}")]).short(), (200, "a".into()), "{tags}");
        }
        assert_eq!(client.get_with("/", &["If-None-Match: \"0\"", "If-None-Match: \"1\""]).status, 304);
    }
}

#[test]
fn a_weak_tag_matches_weakly() {
    let scene = Scenario::safe([get("/").answers(ok(&[FRESH, "ETag: W/\"1\""], "a"))]);
    let mut client = scene.client();
    client.get("/");
    for tag in ["W/\"1\"", "\"1\""] {
        let response = client.get_with("/", &[&format!("If-None-Match: {tag}")]);
        assert_eq!((response.status, response.field("etag").as_str()), (304, "W/\"1\""));
    }
}

#[test]
fn head_gets_304_too() {
    let scene = Scenario::safe([get("/").answers(ok(&[FRESH, "ETag: \"1\""], "a"))]);
    let mut client = scene.client();
    client.get("/");
    assert_eq!(client.head("/", &["If-None-Match: \"1\""]).status, 304);
    assert_eq!(client.head("/", &["If-None-Match: \"2\""]).status, 200);
}

#[test]
fn if_modified_since_is_answered_from_the_cache() {
    for profile in BOTH {
        let setup = Setup::new(profile);
        let modified = format!("Last-Modified: {}", setup.date(-1000));
        let scene = setup.run([get("/").answers(ok(&[FRESH, &modified], "a"))]);
        let mut client = scene.client();
        client.get("/");
        for (seconds, status) in [(-1001, 200), (-1000, 304), (-999, 304), (0, 304)] {
            let field = format!("If-Modified-Since: {}", scene.date(seconds));
            assert_eq!(client.get_with("/", &[&field]).status, status, "{seconds}");
        }
        assert_eq!(client.get_with("/", &["If-Modified-Since: yesterday"]).status, 200);
    }
}

#[test]
fn if_none_match_beats_if_modified_since() {
    let setup = Setup::safe();
    let modified = format!("Last-Modified: {}", setup.date(-1000));
    let scene = setup.run([get("/").answers(ok(&[FRESH, "ETag: \"1\"", &modified], "a"))]);
    let mut client = scene.client();
    client.get("/");
    let since = format!("If-Modified-Since: {}", scene.date(0));
    assert_eq!(client.get_with("/", &["If-None-Match: \"2\"", &since]).status, 200);
    let since = format!("If-Modified-Since: {}", scene.date(-2000));
    assert_eq!(client.get_with("/", &["If-None-Match: \"1\"", &since]).status, 304);
}

#[test]
fn without_last_modified_date_is_compared() {
    //= RFC 9111 section 4.3.2
    //# If a request contains an If-Modified-Since header field and the Last-Modified header field is not present in a stored
    //# response, a cache SHOULD use the stored response's Date field value (or, if no Date field is present, the time that
    //# the stored response was received) to evaluate the conditional.
    let setup = Setup::rfc();
    let date = format!("Date: {}", setup.date(-10));
    let scene = setup.run([get("/").answers(ok(&[FRESH, &date], "a"))]);
    let mut client = scene.client();
    client.get("/");
    assert_eq!(client.get_with("/", &[&format!("If-Modified-Since: {}", scene.date(-9))]).status, 304);
    assert_eq!(client.get_with("/", &[&format!("If-Modified-Since: {}", scene.date(-11))]).status, 200);
}

#[test]
fn conditions_for_the_origin_alone_go_to_it() {
    //= RFC 9111 section 4.3.2
    //# A cache MUST NOT evaluate conditional header fields that only apply to an origin server, occur in a request with
    //# semantics that cannot be satisfied with a cached response, or occur in a request with a target resource for which it
    //# has no stored responses; such preconditions are likely intended for some other (inbound) server.
    for field in ["If-Match: \"0\"", "If-Unmodified-Since: Sat, 01 Jan 2000 00:00:00 GMT"] {
        let scene = Scenario::safe([
            get("/").answers(ok(&[FRESH, "ETag: \"1\""], "a")),
            get("/").answers(reply("412 Precondition Failed", &[FRESH], "no")),
        ]);
        let mut client = scene.client();
        client.get("/");
        let response = client.get_with("/", &[field]);
        assert_eq!((response.status, response.detail().as_str()), (412, "origin-condition"));
        assert_eq!(
            scene.origin.request(1).field(field.split(':').next().unwrap()).as_deref(),
            field.split_once(": ").map(|(_, v)| v)
        );
        assert_eq!(client.get("/").short(), (200, "a".into()), "the 412 was for that client alone");
    }
}

#[test]
fn a_condition_of_an_unsafe_method_goes_to_the_origin() {
    let scene = Scenario::safe([
        get("/").answers(ok(&[FRESH, "ETag: \"1\""], "a")),
        kasoku_testkit::on("PUT", "/").answers(reply("412 Precondition Failed", &[], "no")),
    ]);
    let mut client = scene.client();
    client.get("/");
    assert_eq!(client.send_body("PUT", "/", &["If-None-Match: *"], "x").status, 412);
    assert_eq!(scene.origin.request(1).field("if-none-match").as_deref(), Some("*"));
    assert!(client.get("/").is_hit(), "a failure invalidates nothing");
}

#[test]
fn a_condition_does_not_turn_an_error_into_304() {
    let scene = Scenario::rfc([get("/").answers(reply("404 Not Found", &[FRESH, "ETag: \"1\""], "gone"))]);
    let mut client = scene.client();
    client.get("/");
    let response = client.get_with("/", &["If-None-Match: \"1\""]);
    assert_eq!((response.short(), response.is_hit()), ((404, "gone".into()), true));
}

#[test]
fn a_304_of_ours_has_no_field_of_the_origins_connection() {
    // A response that sets a cookie is not stored. The cache has removed the condition from the origin's request, and evaluates
    // it on the answer.
    let lines =
        ["ETag: \"1\"", "Set-Cookie: a=1", "Connection: keep-alive, X-Hop", "X-Hop: 1", "Keep-Alive: timeout=5"];
    let scene = Scenario::safe([get("/").answers(ok(&lines, "a"))]);
    let answer = scene.client().get_with("/", &["If-None-Match: \"1\""]);
    assert_eq!(answer.status, 304, "{answer:?}");
    assert!(
        !["connection", "x-hop", "keep-alive", "transfer-encoding"].iter().any(|name| answer.has(name)),
        "{answer:?}"
    );
}

#[test]
fn a_client_that_joins_a_fill_gets_its_304_at_once() {
    let gate = Gate::new();
    let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nETag: \"1\"\r\nContent-Length: 6\r\n\r\nabc";
    let scene = Scenario::safe([get("/").answers(head).waits(&gate).sends("def")]);
    let mut first = scene.client();
    first.ask("GET", "/", &[]);
    first.next_head();
    assert_eq!(scene.client().get_with("/", &["If-None-Match: \"1\""]).status, 304);
    gate.open();
    first.reads("abcdef");
}

#[test]
fn a_client_that_leaves_with_a_304_does_not_end_the_fill_that_it_began() {
    let gate = Gate::new();
    let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nETag: \"1\"\r\nContent-Length: 6\r\n\r\nabc";
    let scene = Scenario::safe([get("/").answers(head).waits(&gate).sends("def")]);
    let mut client = scene.client();
    assert_eq!(client.get_with("/", &["If-None-Match: \"1\""]).status, 304);
    gate.open();
    assert_eq!(client.get("/").text(), "abcdef");
}
