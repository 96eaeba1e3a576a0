//! An origin that hangs: a client that waits for another client's request does not wait for ever, and gets an answer.

use crate::origin_faults::{PAGE, all_get, crowd, first};
use kasoku_testkit::{Gate, Scenario, Setup, get, ok};
use std::time::Duration;

const FRESH: &str = "Cache-Control: max-age=60";

/// Clients wait for another client's fill for 100 ms only.
fn impatient() -> Setup {
    Setup::safe().options(|options| options.limits.fill_wait_max = Duration::from_millis(100))
}

/// The first client of a crowd, whose request hangs at the origin, and the other clients.
fn hanging(scene: &Scenario, fields: &[&str]) -> (kasoku_testkit::Client, Vec<kasoku_testkit::Client>) {
    let before = scene.origin.count();
    let mut first = scene.client();
    first.ask("GET", "/", fields);
    scene.origin.arrived(before + 1);
    (first, crowd(scene, crate::origin_faults::CROWD, &[]))
}

#[test]
fn a_stale_response_answers_when_the_origin_hangs() {
    let gate = Gate::new();
    let scene = impatient().run([first(), get("/").answers("").waits(&gate).sends(ok(&PAGE, "new"))]);
    scene.client().get("/");
    scene.advance(15);
    let (mut begun, waiting) = hanging(&scene, &[]);
    for mut client in waiting {
        assert_eq!(client.response().detail(), "hit-stale-error");
    }
    all_get(&scene, "old", "hit-stale-error");
    assert_eq!(scene.origin.count(), 2);
    gate.open();
    assert_eq!(begun.response().text(), "new");
    all_get(&scene, "new", "hit");
}

#[test]
fn one_request_that_hangs_is_not_everybodys() {
    let gate = Gate::new();
    let scene = impatient().run([get("/").answers("").waits(&gate).closes(), get("/").answers(ok(&[FRESH], "page"))]);
    let (mut odd, waiting) = hanging(&scene, &["X-Odd: 1"]);
    for mut client in waiting {
        assert_eq!(client.response().text(), "page");
    }
    assert_eq!(scene.origin.request(1).field("x-odd"), None);
    all_get(&scene, "page", "hit");
    assert_eq!(scene.origin.count(), 2);
    gate.open();
    assert_eq!(odd.response().status, 502);
    all_get(&scene, "page", "hit");
}

#[test]
fn where_nothing_is_stored_a_crowd_before_an_origin_that_hangs_costs_two_requests() {
    let gate = Gate::new();
    let hangs = || get("/").answers("").waits(&gate).closes();
    let scene = impatient().run([hangs(), hangs()]);
    let (mut begun, waiting) = hanging(&scene, &[]);
    for mut client in waiting {
        let response = client.response();
        assert_eq!((response.status, response.detail().as_str()), (504, "origin-timeout-first-byte"));
    }
    crate::origin_faults::all_fail(&scene, 504, "origin-timeout-first-byte");
    assert_eq!(scene.origin.count(), 2);
    gate.open();
    assert_eq!(begun.response().status, 502);
}
