//! Stale responses: one validation for all requests that wait, one in the background for all that don't.

use crate::collapse::{FRESH, all_get, waiting};
use kasoku_metrics::Counter;
use kasoku_testkit::{BOTH, Gate, Scenario, Setup, get, ok, reply};

#[test]
fn a_stale_response_is_validated_once_for_all_who_wait() {
    let gate = Gate::new();
    let fields = ["Cache-Control: max-age=10", "ETag: \"1\""];
    let scene = Scenario::safe([
        get("/x").answers(ok(&[], "")),
        get("/").answers(ok(&fields, "a")),
        get("/").answers("").waits(&gate).sends(reply("304 Not Modified", &fields, "")),
    ]);
    scene.client().get("/x");
    scene.client().get("/");
    scene.advance(10);
    let mut clients = waiting(&scene, 5, &[]);
    scene.origin.arrived(3);
    gate.open();
    for client in &mut clients {
        assert_eq!(client.response().short(), (200, "a".into()));
    }
}

#[test]
fn what_must_be_validated_once_stale_is_validated_once_for_all_who_wait() {
    for profile in BOTH {
        for control in ["s-maxage=60", "max-age=60, must-revalidate", "max-age=60, proxy-revalidate"] {
            let gate = Gate::new();
            let control = format!("Cache-Control: {control}");
            let fields = [control.as_str(), "ETag: \"1\""];
            let scene = Setup::new(profile).run([
                get("/").answers(ok(&fields, "hello")),
                get("/").answers("").waits(&gate).sends(reply("304 Not Modified", &fields, "")),
            ]);
            scene.client().get("/");
            scene.advance(60);
            let clients = waiting(&scene, 5, &[]);
            assert_eq!(scene.origin.count(), 2, "{control}");
            gate.open();
            all_get(clients, 200, "hello");
            assert!(scene.client().get("/").is_hit());
        }
    }
}

#[test]
fn a_validation_that_brings_a_new_response_brings_it_to_all_who_wait() {
    let gate = Gate::new();
    let scene = Scenario::safe([
        get("/").answers(ok(&[FRESH, "ETag: \"1\""], "old")),
        get("/").answers("").waits(&gate).sends(ok(&[FRESH, "ETag: \"2\""], "new")),
    ]);
    scene.client().get("/");
    scene.advance(60);
    let clients = waiting(&scene, 5, &[]);
    gate.open();
    all_get(clients, 200, "new");
    assert_eq!(scene.client().get("/").field("etag"), "\"2\"");
}

#[test]
fn stale_while_revalidate_asks_once_in_the_background() {
    for profile in BOTH {
        let gate = Gate::new();
        let control = "Cache-Control: max-age=5, stale-while-revalidate=60";
        let scene = Setup::new(profile).run([
            get("/").answers(ok(&[control], "old")),
            get("/").answers("").waits(&gate).sends(ok(&[control], "new")),
        ]);
        scene.client().get("/");
        scene.advance(10);
        for _ in 0..6 {
            let response = scene.client().get("/");
            assert_eq!((response.is_hit(), response.text().as_str()), (true, "old"), "no client waits");
        }
        scene.origin.arrived(2);
        gate.open();
        scene.counted(Counter::Stored, 2);
        assert_eq!(scene.client().get("/").text(), "new");
        assert_eq!(scene.origin.count(), 2);
    }
}

#[test]
fn a_request_in_the_background_that_fails_leaves_what_is_stored_and_is_tried_again() {
    let gate = Gate::new();
    let control = "Cache-Control: max-age=5, stale-while-revalidate=60";
    let scene = Scenario::safe([
        get("/").answers(ok(&[control, "Connection: close"], "old")).closes(),
        get("/").answers("").waits(&gate).closes(),
        get("/").answers(ok(&[control], "new")),
    ]);
    let mut client = scene.client();
    client.get("/");
    scene.advance(10);
    assert_eq!(client.get("/").text(), "old");
    scene.origin.arrived(2);
    gate.open();
    scene.eventually(|| scene.engine.cache().fills_running() == 0);
    assert_eq!(client.get("/").text(), "old");
    assert_eq!(scene.origin.count(), 2, "the back-off runs");
    scene.advance(1);
    assert_eq!(client.get("/").text(), "old");
    scene.counted(Counter::Stored, 2);
    assert_eq!(client.get("/").text(), "new");
}
