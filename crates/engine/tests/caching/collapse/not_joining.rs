//! Requests that don't join a fill, or don't wait for one any longer: directives, unsafe methods, deadlines.

use crate::collapse::{FRESH, all_get, asking, waiting};
use kasoku_testkit::{Gate, Scenario, Setup, get, ok, post};
use std::time::Duration;

#[test]
fn a_client_that_wants_its_own_validation_does_not_join() {
    let gate = Gate::new();
    let scene = Scenario::rfc([
        get("/").answers("").waits(&gate).sends(ok(&[FRESH], "old")),
        get("/").answers(ok(&[FRESH], "new")),
    ]);
    let mut first = scene.client();
    first.ask("GET", "/", &[]);
    scene.origin.arrived(1);
    assert_eq!(scene.client().get_with("/", &["Cache-Control: no-cache"]).text(), "new");
    gate.open();
    assert_eq!(first.response().text(), "old");
}

#[test]
fn in_profile_safe_no_client_gets_past_a_running_fill_by_no_cache() {
    let gate = Gate::new();
    let scene = Scenario::safe([get("/").answers("").waits(&gate).sends(ok(&[FRESH], "hello"))]);
    let mut clients = waiting(&scene, 2, &[]);
    for field in ["Cache-Control: no-cache", "Cache-Control: max-age=0", "Pragma: no-cache"] {
        clients.push(asking(&scene, &[field]));
    }
    scene.settled();
    gate.open();
    all_get(clients, 200, "hello");
}

#[test]
fn one_who_waits_does_not_get_a_response_that_is_older_than_it_accepts() {
    let gate = Gate::new();
    let scene = Scenario::rfc([
        get("/").answers("").waits(&gate).sends(ok(&[FRESH, "Age: 20"], "old")),
        get("/").answers(ok(&[FRESH], "young")),
    ]);
    let clients = waiting(&scene, 2, &[]);
    let mut picky = asking(&scene, &["Cache-Control: max-age=10"]);
    scene.settled();
    gate.open();
    all_get(clients, 200, "old");
    assert_eq!(picky.response().text(), "young");
}

#[test]
fn a_client_that_wants_nothing_stored_does_not_join() {
    let gate = Gate::new();
    let scene = Scenario::safe([
        get("/").answers("").waits(&gate).sends(ok(&[FRESH], "a")),
        get("/").answers(ok(&[FRESH], "mine")),
    ]);
    let mut first = scene.client();
    first.ask("GET", "/", &[]);
    scene.origin.arrived(1);
    assert_eq!(scene.client().get_with("/", &["Cache-Control: no-store"]).text(), "mine");
    gate.open();
    first.response();
}

#[test]
fn requests_with_unsafe_methods_never_wait_for_each_other() {
    let gate = Gate::new();
    let own = || post("/").answers("").waits(&gate).sends(ok(&[FRESH], "own"));
    let scene = Scenario::safe([own(), own()]);
    let (mut first, mut second) = (scene.client(), scene.client());
    first.ask("POST", "/", &["Content-Length: 0"]);
    second.ask("POST", "/", &["Content-Length: 0"]);
    scene.origin.arrived(2);
    gate.open();
    assert_eq!((first.response().text(), second.response().text()), ("own".into(), "own".into()));
}

#[test]
fn who_has_waited_for_too_long_asks_for_itself() {
    let gate = Gate::new();
    let scene = Setup::safe()
        .options(|options| options.limits.fill_wait_max = Duration::from_millis(50))
        .run([get("/").answers("").waits(&gate).sends(ok(&[FRESH], "slow")), get("/").answers(ok(&[FRESH], "quick"))]);
    let mut first = scene.client();
    first.ask("GET", "/", &[]);
    scene.origin.arrived(1);
    assert_eq!(scene.client().get("/").text(), "quick");
    gate.open();
    assert_eq!(first.response().text(), "slow");
}

#[test]
fn only_if_cached_does_not_wait() {
    let gate = Gate::new();
    let scene = Scenario::rfc([get("/").answers("").waits(&gate).sends(ok(&[FRESH], "a"))]);
    let mut first = scene.client();
    first.ask("GET", "/", &[]);
    scene.origin.arrived(1);
    assert_eq!(scene.client().get_with("/", &["Cache-Control: only-if-cached"]).status, 504);
    gate.open();
    first.response();
}
