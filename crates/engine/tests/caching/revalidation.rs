//! Validation of stored responses: how the origin is asked, and what a 304, a full response, a HEAD or an error changes in the
//! stored response.

use kasoku_testkit::{BOTH, Scenario, Setup, get, head, ok, reply};

const FRESH: &str = "Cache-Control: max-age=10";

fn not_modified(fields: &[&str]) -> Vec<u8> {
    reply("304 Not Modified", fields, "")
}

#[test]
fn a_stale_response_is_validated_with_all_its_validators() {
    //= RFC 9111 section 4.3.1
    //# MUST send the relevant entity tags (using If-Match, If-None-Match, or If-Range) if the entity tags were provided in
    //# the stored response(s) being validated.
    for profile in BOTH {
        let setup = Setup::new(profile);
        let modified = setup.date(-1000);
        let scene = setup.run([
            get("/").answers(ok(&[FRESH, "ETag: \"1\"", &format!("Last-Modified: {modified}")], "a")),
            get("/").answers(not_modified(&[FRESH])),
        ]);
        let mut client = scene.client();
        client.get("/");
        scene.advance(10);
        let response = client.get("/");
        assert_eq!(response.short(), (200, "a".into()));
        assert_eq!((response.is_hit(), response.cache_status("fwd").as_deref()), (false, Some("stale")));
        assert_eq!(response.cache_status("fwd-status").as_deref(), Some("304"));
        let request = scene.origin.request(1);
        assert_eq!(request.field("if-none-match").as_deref(), Some("\"1\""));
        assert_eq!(request.field("if-modified-since"), Some(modified));
        assert!(client.get("/").is_hit(), "fresh again");
    }
}

#[test]
fn a_304_begins_a_new_lifetime_and_a_new_age() {
    let scene = Scenario::safe([
        get("/").answers(ok(&["Cache-Control: max-age=10", "ETag: \"1\""], "a")),
        get("/").answers(not_modified(&["Cache-Control: max-age=100", "ETag: \"1\"", "Age: 5"])),
    ]);
    let mut client = scene.client();
    client.get("/");
    scene.advance(10);
    client.get("/");
    assert_eq!(client.get("/").field("age"), "5");
    scene.advance(94);
    assert_eq!(client.get("/").field("age"), "99");
    assert!(client.get("/").is_hit());
}

#[test]
fn an_age_of_the_stored_response_does_not_outlive_its_validation() {
    let scene = Scenario::safe([
        get("/").answers(ok(&["Cache-Control: max-age=10", "ETag: \"1\"", "Age: 9"], "a")),
        get("/").answers(not_modified(&["ETag: \"1\""])),
    ]);
    let mut client = scene.client();
    client.get("/");
    scene.advance(5);
    client.get("/");
    let hit = client.get("/");
    assert_eq!((hit.is_hit(), hit.field("age").as_str()), (true, "0"));
}

#[test]
fn a_304_updates_the_stored_fields() {
    //= RFC 9111 section 4.3.4
    //# For each stored response identified, the cache MUST update its header fields with the header fields provided in the
    //# 304 (Not Modified) response, as per Section 3.2.
    //= RFC 9111 section 3.2
    //# When doing so, the cache MUST add each header field in the provided response to the stored response, replacing field
    //# values that are already present, with the following exceptions:
    for profile in BOTH {
        let scene = Setup::new(profile).run([
            get("/").answers(ok(
                &[FRESH, "ETag: \"1\"", "X-A: 1", "X-A: 2", "X-B: 1", "Content-Type: text/plain"],
                "hello",
            )),
            get("/").answers(not_modified(&[
                FRESH,
                "ETag: \"1\"",
                "X-A: 3",
                "X-C: 1",
                "Content-Length: 99",
                "Content-Encoding: gzip",
                "Connection: X-D",
                "X-D: 1",
            ])),
        ]);
        let mut client = scene.client();
        client.get("/");
        scene.advance(10);
        let validated = client.get("/");
        let hit = client.get("/");
        for response in [&validated, &hit] {
            let all: Vec<&str> = response.head.all("x-a").collect();
            assert_eq!(all, ["3"]);
            assert_eq!((response.field("x-b").as_str(), response.field("x-c").as_str()), ("1", "1"));
            assert_eq!((response.field("content-length").as_str(), response.text().as_str()), ("5", "hello"));
            assert!(!response.has("content-encoding") && !response.has("x-d"));
        }
        assert!(hit.is_hit());
    }
}

#[test]
fn a_304_with_other_validators_updates_nothing() {
    //= RFC 9111 section 4.3.4
    //# If none of the initial set contains at least one of the same strong validators, then the cache MUST NOT use the new
    //# response to update any stored responses.
    let scene = Scenario::rfc([
        get("/").answers(ok(&[FRESH, "ETag: \"1\"", "X-A: old"], "hello")),
        get("/").answers(not_modified(&[FRESH, "ETag: \"2\"", "X-A: new"])),
        get("/").answers(ok(&[FRESH], "other")),
    ]);
    let mut client = scene.client();
    client.get("/");
    scene.advance(10);
    client.get("/");
    scene.advance(3);
    let next = client.get("/");
    assert!(!next.field("x-a").contains("new"), "{next:?}");
    if next.text() == "hello" {
        assert_eq!(next.field("etag"), "\"1\"");
        // The script's third answer is for a cache that drops the stored response instead.
        scene.advance(10);
        client.get("/");
    }
}

#[test]
fn a_full_response_to_a_validation_replaces_what_is_stored() {
    //= RFC 9111 section 4.3.3
    //# Instead, the cache MUST use the full response to satisfy the request.
    for profile in BOTH {
        let scene = Setup::new(profile).run([
            get("/").answers(ok(&[FRESH, "ETag: \"1\"", "X-Old: 1"], "old")),
            get("/").answers(ok(&[FRESH, "ETag: \"2\""], "new")),
        ]);
        let mut client = scene.client();
        client.get("/");
        scene.advance(10);
        assert_eq!(client.get("/").text(), "new");
        let hit = client.get("/");
        assert_eq!((hit.is_hit(), hit.text().as_str(), hit.has("x-old")), (true, "new", false));
    }
}

#[test]
fn a_full_response_that_may_not_be_stored_still_ends_what_is_stored() {
    let scene = Scenario::rfc([
        get("/").answers(ok(&[FRESH, "ETag: \"1\""], "old")),
        get("/").answers(ok(&["Cache-Control: no-store"], "mine")),
        get("/").answers(ok(&["Cache-Control: no-store"], "yours")),
    ]);
    let mut client = scene.client();
    client.get("/");
    scene.advance(10);
    assert_eq!(client.get("/").text(), "mine");
    assert_eq!(client.get("/").text(), "yours");
}

#[test]
fn no_cache_is_validated_at_each_use() {
    //= RFC 9111 section 5.2.2.4
    //# The no-cache response directive, in its unqualified form (without an argument), indicates that the response MUST NOT
    //# be used to satisfy any other request without forwarding it for validation and receiving a successful response; see
    //# Section 4.3.
    for profile in BOTH {
        let fields = ["Cache-Control: max-age=100, no-cache", "ETag: \"1\""];
        let scene = Setup::new(profile).run([
            get("/").answers(ok(&fields, "a")),
            get("/").answers(not_modified(&fields)),
            get("/").answers(not_modified(&fields)),
        ]);
        let mut client = scene.client();
        for _ in 0..3 {
            assert_eq!(client.get("/").short(), (200, "a".into()));
        }
        assert_eq!(scene.origin.request(2).field("if-none-match").as_deref(), Some("\"1\""));
    }
}

#[test]
fn fields_named_by_no_cache_are_not_replayed_without_validation() {
    //= RFC 9111 section 5.2.2.4
    //# a cache MAY use the response to satisfy a subsequent request, subject to any other restrictions on caching, if the
    //# listed header fields are excluded from the subsequent response
    let scene = Scenario::rfc([get("/")
        .answers(ok(&["Cache-Control: max-age=100, no-cache=\"X-Mine, X-Other\"", "X-Mine: 1", "X-All: 2"], "a"))]);
    let mut client = scene.client();
    assert_eq!(client.get("/").text(), "a");
    let hit = client.get("/");
    assert_eq!((hit.is_hit(), hit.has("x-mine"), hit.field("x-all").as_str()), (true, false, "2"));
}

#[test]
fn the_clients_own_conditions_are_not_what_the_origin_is_asked() {
    //= RFC 9111 section 4.3.2
    //# If the response to the forwarded request is 304 (Not Modified) and has an ETag field value with an entity tag that is
    //# not in the client's list, the cache MUST generate a 200 (OK) response for the client by reusing its corresponding
    //# stored response, as updated by the 304 response metadata (Section 4.3.4).
    let scene = Scenario::safe([
        get("/").answers(ok(&[FRESH, "ETag: \"1\""], "a")),
        get("/").answers(not_modified(&[FRESH, "ETag: \"1\""])),
    ]);
    let mut client = scene.client();
    client.get("/");
    scene.advance(10);
    let response = client.get_with("/", &["If-None-Match: \"0\"", "If-Modified-Since: Sat, 01 Jan 2000 00:00:00 GMT"]);
    assert_eq!(response.short(), (200, "a".into()));
    let request = scene.origin.request(1);
    assert!(request.field("if-none-match").is_some_and(|tags| tags.contains("\"1\"")));
    assert_eq!(request.field("if-modified-since"), None);
}

#[test]
fn a_304_for_the_clients_own_tag_reaches_it() {
    let scene = Scenario::safe([
        get("/").answers(ok(&[FRESH, "ETag: \"1\""], "a")),
        get("/").answers(not_modified(&[FRESH, "ETag: \"1\""])),
    ]);
    let mut client = scene.client();
    client.get("/");
    scene.advance(10);
    let response = client.get_with("/", &["If-None-Match: \"1\""]);
    assert_eq!((response.status, response.field("etag").as_str()), (304, "\"1\""));
    assert!(client.get("/").is_hit());
}

#[test]
fn a_condition_on_what_is_not_stored_is_kept_from_the_origin_or_its_304_reaches_the_client() {
    let scene = Scenario::safe([get("/").answers(ok(&[FRESH, "ETag: \"1\""], "a"))]);
    let mut client = scene.client();
    // A miss: the cache may ask the origin for the whole response, so that other clients get it too. This client already has it.
    let response = client.get_with("/", &["If-None-Match: \"1\""]);
    assert_eq!(response.status, 304);
    assert_eq!(client.get("/").short(), (200, "a".into()));
}

#[test]
fn a_304_to_a_request_without_a_condition_is_the_origins_fault() {
    // A miss, one for a client that has a condition, a HEAD, and what passes.
    for (method, fields) in [
        ("GET", &[][..]),
        ("GET", &["If-None-Match: \"1\""]),
        ("HEAD", &[]),
        ("GET", &["Authorization: Basic dG9tOng="]),
        ("GET", &["Range: bytes=0-1", "If-Range: \"1\""]),
    ] {
        let asked = if method == "HEAD" { head("/") } else { get("/") };
        let scene =
            Scenario::safe([asked.answers(not_modified(&[FRESH, "ETag: \"1\""])), get("/").answers(ok(&[FRESH], "a"))]);
        let mut client = scene.client();
        let refused = if method == "HEAD" { client.head("/", fields) } else { client.get_with("/", fields) };
        assert_eq!((refused.status, refused.detail().as_str()), (502, "origin-malformed"), "{method} {fields:?}");
        assert_eq!(client.get("/").short(), (200, "a".into()), "{method} {fields:?}");
    }
}

#[test]
fn a_304_that_says_no_store_ends_what_is_stored() {
    for directive in ["no-store", "private"] {
        let scene = Scenario::rfc([
            get("/").answers(ok(&[FRESH, "ETag: \"1\""], "a")),
            get("/").answers(not_modified(&["ETag: \"1\"", &format!("Cache-Control: {directive}")])),
            get("/").answers(ok(&[FRESH], "b")),
        ]);
        let mut client = scene.client();
        client.get("/");
        scene.advance(10);
        assert_eq!(client.get("/").text(), "a", "it has just been confirmed");
        assert_eq!(client.get("/").text(), "b", "{directive}");
    }
}

#[test]
fn a_response_without_a_validator_is_fetched_anew() {
    let scene = Scenario::safe([get("/").answers(ok(&[FRESH], "a")), get("/").answers(ok(&[FRESH], "b"))]);
    let mut client = scene.client();
    client.get("/");
    scene.advance(10);
    assert_eq!(client.get("/").text(), "b");
    let request = scene.origin.request(1);
    assert_eq!((request.field("if-none-match"), request.field("if-modified-since")), (None, None));
}

#[test]
fn an_error_to_a_validation_reaches_the_client_and_leaves_what_is_stored() {
    let scene = Scenario::rfc([
        get("/").answers(ok(&[FRESH, "ETag: \"1\""], "a")),
        get("/").answers(reply("503 Service Unavailable", &[], "down")),
        get("/").answers(not_modified(&[FRESH, "ETag: \"1\""])),
    ]);
    let mut client = scene.client();
    client.get("/");
    scene.advance(10);
    assert_eq!(client.get("/").short(), (503, "down".into()));
    assert_eq!(client.get("/").short(), (200, "a".into()));
}

#[test]
fn a_head_updates_what_is_stored_for_get() {
    //= RFC 9111 section 4.3.5
    //# If a cache updates a stored response with the metadata provided in a HEAD response, the cache MUST use the header
    //# fields provided in the HEAD response to update the stored response (see Section 3.2).
    for profile in BOTH {
        let scene = Setup::new(profile).run([
            get("/").answers(ok(&[FRESH, "ETag: \"1\"", "X-A: old"], "hello")),
            head("/").answers(
                "HTTP/1.1 200 OK\r\nCache-Control: max-age=50\r\nETag: \"1\"\r\nContent-Length: 5\r\nX-A: new\r\n\r\n",
            ),
        ]);
        let mut client = scene.client();
        client.get("/");
        scene.advance(10);
        assert_eq!(client.head("/", &[]).field("x-a"), "new");
        scene.advance(40);
        let hit = client.get("/");
        assert_eq!((hit.is_hit(), hit.text().as_str(), hit.field("x-a").as_str()), (true, "hello", "new"));
    }
}

#[test]
fn a_head_of_another_representation_ends_what_is_stored_for_get() {
    for fields in ["ETag: \"2\"\r\nContent-Length: 5", "ETag: \"1\"\r\nContent-Length: 6"] {
        let scene = Scenario::rfc([
            get("/").answers(ok(&["Cache-Control: max-age=100", "ETag: \"1\""], "hello")),
            head("/").answers(format!("HTTP/1.1 200 OK\r\nCache-Control: max-age=50\r\n{fields}\r\n\r\n")),
            get("/").answers(ok(&[FRESH, "ETag: \"2\""], "second")),
        ]);
        let mut client = scene.client();
        client.get("/");
        client.head("/", &["Cache-Control: no-cache"]);
        assert_eq!(client.get("/").text(), "second", "{fields}");
    }
}

#[test]
fn a_head_stores_nothing() {
    let scene = Scenario::rfc([
        head("/").answers("HTTP/1.1 200 OK\r\nCache-Control: max-age=50\r\nContent-Length: 5\r\n\r\n"),
        get("/").answers(ok(&[], "hello")),
    ]);
    let mut client = scene.client();
    client.head("/", &[]);
    assert_eq!(client.get("/").text(), "hello");
}
