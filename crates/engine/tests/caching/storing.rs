//! Which responses are stored, as far as the response and its size decide. Cookies and credentials have a file of their own.

use kasoku_testkit::{BOTH, Scenario, Setup, get, ok, reply};

/// Asks twice, and checks that the origin answers each time.
#[track_caller]
fn is_not_reused(setup: Setup, first: &[u8]) {
    let scene = setup.run([get("/").answers(first), get("/").answers(ok(&["Cache-Control: no-store"], "second"))]);
    let mut client = scene.client();
    let response = client.get("/");
    assert!(!response.is_hit(), "{response:?}");
    assert_eq!(client.get("/").text(), "second", "{:?}", String::from_utf8_lossy(first));
}

#[test]
fn what_may_not_be_stored_is_not() {
    //= RFC 9111 section 5.2.2.5
    //# The no-store response directive indicates that a cache MUST NOT store any part of either the immediate request or the
    //# response and MUST NOT use the response to satisfy any other request.
    //= RFC 9111 section 5.2.2.7
    //# The unqualified private response directive indicates that a shared cache MUST NOT store the response (i.e., the
    //# response is intended for a single user).
    for profile in BOTH {
        for directive in ["no-store", "No-Store", "private", "s-maxage=0, private", "no-cache, no-store"] {
            let field = format!("Cache-Control: max-age=100, {directive}");
            is_not_reused(Setup::new(profile), &ok(&[&field], "first"));
            is_not_reused(
                Setup::new(profile),
                &ok(&["Cache-Control: max-age=100", &format!("Cache-Control: {directive}")], "first"),
            );
        }
    }
}

#[test]
fn what_was_not_stored_leaves_nothing_behind() {
    //= RFC 9111 section 5.2.2.5
    //# "MUST NOT store" in this context means that the cache MUST NOT intentionally store the information in non-volatile
    //# storage and MUST make a best-effort attempt to remove the information from volatile storage as promptly as possible
    //# after forwarding it.
    //= RFC 9111 section 5.2.1.5
    //# "MUST NOT store" in this context means that the cache MUST NOT intentionally store the information in non-volatile
    //# storage and MUST make a best-effort attempt to remove the information from volatile storage as promptly as possible
    //# after forwarding it.
    let scene = Scenario::rfc([
        get("/a").answers(ok(&["Cache-Control: no-store"], "a")),
        get("/b").answers(ok(&["Cache-Control: max-age=60"], "b")),
    ]);
    let mut client = scene.client();
    client.get("/a");
    client.get_with("/b", &["Cache-Control: no-store"]);
    scene.settled();
    let cache = scene.engine.cache();
    assert_eq!((cache.len(), cache.fills_running()), (0, 0));
}

#[test]
fn a_request_with_no_store_is_answered_but_its_answer_is_not_kept() {
    //= RFC 9111 section 5.2.1.5
    //# The no-store request directive indicates that a cache MUST NOT store any part of either this request or any response
    //# to it.
    for profile in BOTH {
        let answer = || ok(&["Cache-Control: max-age=60"], "a");
        let scene = Setup::new(profile).run([get("/").answers(answer()), get("/").answers(answer())]);
        let mut client = scene.client();
        assert_eq!(client.get_with("/", &["Cache-Control: no-store"]).text(), "a");
        assert!(!client.get("/").is_hit());
        assert!(client.get("/").is_hit());
    }
}

#[test]
fn must_understand_is_stored_only_with_a_status_that_is_understood() {
    for profile in BOTH {
        let scene = Setup::new(profile).run([
            get("/200").answers(ok(&["Cache-Control: max-age=60, must-understand, no-store"], "a")),
            get("/599").answers(reply("599 Odd", &["Cache-Control: max-age=60, must-understand"], "a")),
            get("/599").answers(reply("599 Odd", &["Cache-Control: max-age=60, must-understand"], "b")),
        ]);
        let mut client = scene.client();
        client.get("/200");
        assert!(client.get("/200").is_hit(), "must-understand lifts no-store");
        client.get("/599");
        assert_eq!(client.get("/599").text(), "b");
    }
}

#[test]
fn a_status_with_an_explicit_lifetime_is_stored_whatever_it_is() {
    for status in ["404 Not Found", "500 Internal Server Error", "299 Odd", "599 Odd", "302 Found"] {
        let scene = Scenario::rfc([get("/").answers(reply(status, &["Cache-Control: max-age=60"], "a"))]);
        let mut client = scene.client();
        client.get("/");
        let hit = client.get("/");
        assert!(hit.is_hit(), "{status}");
        assert_eq!(hit.head.line, format!("HTTP/1.1 {status}"));
    }
}

#[test]
fn a_post_with_content_location_of_its_target_answers_a_later_get() {
    let scene = Scenario::rfc([
        kasoku_testkit::post("/a").answers(ok(&["Cache-Control: max-age=60", "Content-Location: /a"], "posted"))
    ]);
    let mut client = scene.client();
    assert_eq!(client.send_body("POST", "/a", &[], "x").text(), "posted");
    let hit = client.get("/a");
    assert_eq!((hit.text().as_str(), hit.is_hit()), ("posted", true));
}

#[test]
fn a_post_with_a_field_that_is_not_in_the_key_answers_no_later_get() {
    let fields = ["Cache-Control: max-age=60", "Content-Location: /a"];
    let scene = Scenario::rfc([
        kasoku_testkit::post("/a").answers(ok(&fields, "of another page")),
        get("/a").answers(ok(&fields, "page")),
    ]);
    let mut client = scene.client();
    client.send_body("POST", "/a", &["X-Original-URL: /another"], "x");
    assert_eq!(scene.origin.request(0).field("x-original-url").as_deref(), Some("/another"));
    assert_eq!(client.get("/a").text(), "page");
}

#[test]
fn a_response_that_is_too_large_is_served_and_not_stored() {
    let big = vec![b'x'; 100_000];
    let chunked = [
        b"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n186a0\r\n".as_slice(),
        &big,
        b"\r\n0\r\n\r\n",
    ]
    .concat();
    for answer in [ok(&["Cache-Control: max-age=60"], &big), chunked] {
        let scene = Setup::safe()
            .options(|options| options.object_bytes_max = 50_000)
            .run([get("/").answers(&answer), get("/").answers(&answer)]);
        let mut client = scene.client();
        for _ in 0..2 {
            let response = client.get("/");
            assert_eq!((response.body.len(), response.is_hit()), (big.len(), false));
        }
    }
}

#[test]
fn the_memory_tier_stays_within_its_bytes() {
    let body = vec![b'x'; 100_000];
    let script: Vec<_> =
        (0..100).map(|n| get(&format!("/{n}")).answers(ok(&["Cache-Control: max-age=60"], &body))).collect();
    let scene = Setup::safe().options(|options| options.memory_bytes_max = 2 << 20).run(script);
    let mut client = scene.client();
    for n in 0..100 {
        assert_eq!(client.get(&format!("/{n}")).body.len(), body.len());
        assert!(scene.engine.cache().used_bytes() <= 2 << 20);
    }
    assert!(!scene.engine.cache().is_empty());
}
