//! While the back-off runs, a stale response answers at once.

use crate::origin_faults::{CLOSE, PAGE, all_get, crowd, errs, fails, first};
use kasoku_metrics::Counter;
use kasoku_options::Options;
use kasoku_testkit::unreachable::dead_address;
use kasoku_testkit::{BOTH, Exchange, Gate, Scenario, Setup, get, ok, reply};
use std::sync::Arc;
use std::time::Duration;

/// Each way in which a fetch fails before its body.
fn faults() -> Vec<Exchange> {
    vec![
        fails(),
        get("/").answers("").resets(),
        get("/").answers("HTTP/1.1 200 O").closes(),
        get("/").answers("this is not HTTP\r\n\r\n"),
        get("/").answers("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"),
        get("/").answers("").awaits_end(),
        errs("500 Oops"),
        errs("502 Bad Gateway"),
        errs("503 Service Unavailable"),
        errs("504 Gateway Timeout"),
    ]
}

#[test]
fn after_each_fault_no_request_asks_again_while_the_back_off_runs() {
    for profile in BOTH {
        for fault in faults() {
            let scene = Setup::new(profile)
                .route(|route| route.origin.first_byte_timeout = Duration::from_millis(200))
                .run([first(), fault]);
            scene.client().get("/");
            scene.advance(15);
            all_get(&scene, "old", "hit-stale-error");
            assert_eq!(scene.origin.count(), 2);
        }
    }
}

#[test]
fn the_reason_is_that_of_the_failure() {
    let fields = ["Cache-Control: max-age=10", "ETag: \"1\"", CLOSE];
    let scene = Scenario::safe([get("/").answers(ok(&fields, "old")), fails()]);
    scene.client().get("/");
    scene.advance(15);
    all_get(&scene, "old", "hit-stale-disconnected");
}

#[test]
fn what_needs_no_body_or_no_origin_is_answered_as_well() {
    let scene = Scenario::safe([first(), fails()]);
    scene.client().get("/");
    scene.advance(15);
    scene.client().get("/");
    let mut client = scene.client();
    assert_eq!(client.head("/", &[]).detail(), "hit-stale-error");
    assert_eq!(client.get_with("/", &["Cache-Control: only-if-cached"]).detail(), "hit-stale-error");
    assert_eq!(client.get_with("/", &["Cache-Control: no-store"]).detail(), "hit-stale-error");
    assert_eq!(client.get_with("/", &["Cookie: a=b"]).detail(), "hit-stale-error");
    assert_eq!(client.get_with("/", &["If-None-Match: \"1\""]).status, 304);
    assert_eq!(client.get_with("/", &["Range: bytes=0-0"]).short(), (206, "o".into()));
    assert_eq!(scene.origin.count(), 2);
}

#[test]
fn the_back_off_doubles_while_failures_go_on() {
    for fault in [fails(), errs("503 Service Unavailable")] {
        let scene = Scenario::safe([first()]);
        scene.client().get("/");
        scene.advance(15);
        for (number, seconds) in [1, 2, 4, 8, 16, 30, 30].into_iter().enumerate() {
            scene.origin.then(fault.clone());
            all_get(&scene, "old", "hit-stale-error");
            scene.advance(seconds - 1);
            all_get(&scene, "old", "hit-stale-error");
            assert_eq!(scene.origin.count(), 2 + number);
            scene.advance(1);
        }
    }
}

#[test]
fn an_answer_ends_it_and_the_next_failure_begins_anew() {
    for (answer, body) in [(reply("304 Not Modified", &PAGE, ""), "old"), (ok(&PAGE, "new"), "new")] {
        let scene = Scenario::safe([first(), fails(), fails(), get("/").answers(answer)]);
        scene.client().get("/");
        scene.advance(15);
        all_get(&scene, "old", "hit-stale-error");
        scene.advance(1);
        all_get(&scene, "old", "hit-stale-error");
        scene.advance(2);
        assert_eq!(scene.client().get("/").text(), body);
        for _ in 0..2 {
            scene.advance(15);
            scene.origin.then(fails());
            all_get(&scene, body, "hit-stale-error");
            scene.advance(1);
            scene.origin.then(get("/").answers(ok(&PAGE, body)));
            assert_eq!(scene.client().get("/").text(), body);
        }
    }
}

#[test]
fn a_page_that_is_gone_meanwhile_is_not_served_stale() {
    let gone = reply("404 Not Found", &["Cache-Control: no-store"], "gone");
    let scene =
        Scenario::safe([first(), fails(), get("/").answers(&gone), get("/").answers(&gone), get("/").answers(&gone)]);
    scene.client().get("/");
    scene.advance(15);
    all_get(&scene, "old", "hit-stale-error");
    scene.advance(1);
    // The first fetch is a probe, whose answer goes to no client.
    for _ in 0..2 {
        assert_eq!(scene.client().get("/").short(), (404, "gone".into()));
    }
}

#[test]
fn a_crowd_that_comes_when_the_back_off_is_over_is_one_request() {
    for profile in BOTH {
        let gate = Gate::new();
        let scene = Setup::new(profile).run([first(), fails(), get("/").answers("").waits(&gate).closes()]);
        scene.client().get("/");
        scene.advance(15);
        all_get(&scene, "old", "hit-stale-error");
        scene.advance(1);
        let clients = crowd(&scene, crate::origin_faults::CROWD, &[]);
        scene.origin.arrived(3);
        gate.open();
        for mut client in clients {
            assert_eq!(client.response().detail(), "hit-stale-error");
        }
        all_get(&scene, "old", "hit-stale-error");
        assert_eq!(scene.origin.count(), 3);
    }
}

#[test]
fn how_long_it_gets_is_a_setting() {
    let scene = Setup::safe().policy(|policy| policy.back_off_max_seconds = 2).run([first()]);
    scene.client().get("/");
    scene.advance(15);
    for seconds in [1, 2, 2, 2] {
        scene.origin.then(fails());
        all_get(&scene, "old", "hit-stale-error");
        scene.advance(seconds);
    }
}

#[test]
fn without_a_back_off_each_request_asks() {
    let scene =
        Setup::safe().policy(|policy| policy.back_off_max_seconds = 0).run([first(), fails(), fails(), fails()]);
    scene.client().get("/");
    scene.advance(15);
    for _ in 0..3 {
        assert_eq!(scene.client().get("/").detail(), "hit-stale-error");
    }
}

#[test]
fn nothing_is_refreshed_in_the_background_while_it_runs() {
    let fields = ["Cache-Control: max-age=10, stale-while-revalidate=1000", CLOSE];
    let scene = Scenario::safe([get("/").answers(ok(&fields, "old")), fails()]);
    scene.client().get("/");
    scene.advance(15);
    assert_eq!(scene.client().get("/").text(), "old");
    scene.origin.done(2);
    scene.eventually(|| scene.engine.cache().fills_running() == 0);
    all_get(&scene, "old", "hit-stale-while-revalidate");
    scene.origin.then(get("/").answers(ok(&fields, "new")));
    scene.advance(1);
    scene.eventually(|| scene.client().get("/").text() == "new");
    assert_eq!(scene.origin.count(), 3);
}

#[test]
fn who_has_a_stale_response_does_not_queue_for_a_connection_again() {
    let gate = Gate::new();
    let scene = Setup::safe()
        .route(|route| {
            route.origin.connections_max = 1;
            route.origin.queue_timeout = Duration::from_millis(100);
        })
        .run([first(), get("/slow").answers("").waits(&gate).sends(ok(&[], "slow"))]);
    scene.client().get("/");
    scene.advance(15);
    let mut slow = scene.client();
    slow.ask("GET", "/slow", &[]);
    scene.origin.arrived(2);
    all_get(&scene, "old", "hit-stale-error");
    assert_eq!(scene.engine.metrics().total(Counter::OriginErrors), 1);
    gate.open();
    assert_eq!(slow.response().text(), "slow");
}

#[test]
fn an_origin_that_cannot_be_reached_is_knocked_at_once_in_a_back_off() {
    let mut scene = Scenario::safe([first()]);
    scene.client().get("/");
    let mut options = Options::clone(&scene.engine.handle().options());
    for site in &mut options.sites {
        Arc::make_mut(&mut site.route).origins = vec![dead_address()];
    }
    scene.engine.reload(options).unwrap();
    scene.advance(15);
    // Once a second, without longer pauses: a refused connection says nothing about the page, and the origin's return must be
    // noticed.
    for errors in 1..6 {
        all_get(&scene, "old", "hit-stale-error");
        assert_eq!(scene.engine.metrics().total(Counter::OriginErrors), errors);
        scene.advance(1);
    }
}

#[test]
fn each_variant_and_each_page_has_its_own() {
    let fields = ["Cache-Control: max-age=10, stale-if-error=1000", "Vary: Accept-Language", CLOSE];
    let answer = |body| get("/").answers(ok(&fields, body));
    let scene = Scenario::safe([answer("ja"), answer("de"), fails()]);
    let (ja, de) = (["Accept-Language: ja"], ["Accept-Language: de"]);
    let mut client = scene.client();
    client.get_with("/", &ja);
    client.get_with("/", &de);
    scene.advance(15);
    assert_eq!(client.get_with("/", &ja).detail(), "hit-stale-error");
    scene.origin.then(answer("neu"));
    assert_eq!(client.get_with("/", &de).text(), "neu");
    assert_eq!(client.get_with("/", &ja).detail(), "hit-stale-error");
    scene.origin.then(get("/other").answers(ok(&[], "other")));
    assert_eq!(client.get("/other").text(), "other");
}
