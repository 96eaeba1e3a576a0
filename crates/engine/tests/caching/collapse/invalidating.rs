//! An unsafe method during a fill: the waiting requests get the response, and it is never stored.

use crate::collapse::{FRESH, all_get, asking, in_two_pieces, waiting};
use kasoku_testkit::{BOTH, Gate, Scenario, Setup, get, ok, post, reply};

#[test]
fn an_unsafe_method_during_a_fill_keeps_it_from_being_stored_but_not_from_those_who_wait() {
    //= RFC 9111 section 4.4
    //# A cache MUST invalidate the target URI (Section 7.1 of [HTTP]) when it receives a non-error status code in response
    //# to an unsafe request method (including methods whose safety is unknown).
    for profile in BOTH {
        let gate = Gate::new();
        let scene = Setup::new(profile).run([
            get("/").answers("").waits(&gate).sends(ok(&[FRESH], "before")),
            post("/").answers(reply("204 No Content", &[], "")),
            get("/").answers(ok(&[FRESH], "after")),
        ]);
        let clients = waiting(&scene, 3, &[]);
        assert_eq!(scene.client().send_body("POST", "/", &[], "x").status, 204);
        gate.open();
        all_get(clients, 200, "before");
        let mut later = scene.client();
        assert_eq!(later.get("/").text(), "after");
        assert!(later.get("/").is_hit());
    }
}

#[test]
fn an_unsafe_method_in_the_middle_of_a_body_keeps_it_from_being_stored() {
    let gate = Gate::new();
    let scene = Scenario::safe([
        in_two_pieces(&[FRESH], &gate),
        post("/").answers(ok(&[], "done")),
        get("/").answers(ok(&[FRESH], "new")),
    ]);
    let mut first = asking(&scene, &[]);
    first.next_head();
    assert_eq!(scene.client().send_body("POST", "/", &[], "x").text(), "done");
    gate.open();
    first.reads("firstafter");
    assert_eq!(first.get("/").text(), "new");
}

#[test]
fn who_comes_after_an_unsafe_method_does_not_get_what_was_being_fetched_before_it() {
    let gate = Gate::new();
    let scene = Scenario::safe([
        get("/").answers("").waits(&gate).sends(ok(&[FRESH], "before")),
        post("/").answers(ok(&[], "done")),
        get("/").answers(ok(&[FRESH], "after")),
    ]);
    let early = waiting(&scene, 2, &[]);
    let mut client = scene.client();
    client.send_body("POST", "/", &[], "x");
    assert_eq!(client.get("/").text(), "after");
    gate.open();
    all_get(early, 200, "before");
    let hit = client.get("/");
    assert_eq!((hit.is_hit(), hit.text().as_str()), (true, "after"), "the older answer has not replaced the newer");
}

#[test]
fn an_unsafe_method_that_fails_does_not_touch_a_fill() {
    let gate = Gate::new();
    let scene = Scenario::safe([
        get("/").answers("").waits(&gate).sends(ok(&[FRESH], "hello")),
        post("/").answers(reply("403 Forbidden", &[], "no")),
    ]);
    let clients = waiting(&scene, 2, &[]);
    assert_eq!(scene.client().send_body("POST", "/", &[], "x").status, 403);
    gate.open();
    all_get(clients, 200, "hello");
    assert!(scene.client().get("/").is_hit());
}

#[test]
fn an_unsafe_method_during_a_validation_keeps_the_stored_response_from_coming_back() {
    let gate = Gate::new();
    let scene = Scenario::rfc([
        get("/").answers(ok(&[FRESH, "ETag: \"1\""], "old")),
        get("/").answers("").waits(&gate).sends(reply("304 Not Modified", &[FRESH, "ETag: \"1\""], "")),
        post("/").answers(ok(&[], "done")),
        get("/").answers(ok(&[FRESH], "new")),
    ]);
    scene.client().get("/");
    scene.advance(60);
    let clients = waiting(&scene, 2, &[]);
    assert_eq!(scene.client().send_body("POST", "/", &[], "x").text(), "done");
    gate.open();
    all_get(clients, 200, "old");
    assert_eq!(scene.client().get("/").text(), "new");
}

#[test]
fn an_unsafe_method_while_a_part_is_completed_keeps_the_whole_from_being_stored_but_from_no_client() {
    let gate = Gate::new();
    let part = |range: &str, body: &str| {
        reply("206 Partial Content", &[FRESH, "ETag: \"1\"", &format!("Content-Range: bytes {range}/10")], body)
    };
    let scene = Scenario::safe([
        get("/").answers(part("0-4", "first")),
        get("/").answers("").waits(&gate).sends(part("5-9", "after")),
        post("/").answers(ok(&[], "done")),
        get("/").answers(ok(&[FRESH], "new")),
    ]);
    scene.client().get_with("/", &["Range: bytes=0-4"]);
    let clients = waiting(&scene, 3, &[]);
    assert_eq!(scene.client().send_body("POST", "/", &[], "x").text(), "done");
    gate.open();
    all_get(clients, 200, "firstafter");
    assert_eq!(scene.client().get("/").text(), "new");
}
