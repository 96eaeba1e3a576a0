//! Health of origins: when another origin is asked instead, which requests test one that is down, and what clients get meanwhile.

use kasoku_engine::Engine;
use kasoku_metrics::Counter;
use kasoku_options::{Balance, Route};
use kasoku_testkit::unreachable::{dead_address, leaving_at};
use kasoku_testkit::{Client, Gate, Origin, Scenario, Setup, get, ok, on, post, reply};
use std::time::Duration;

const LOST: &str = "origin-closed-early";

fn detail(client: &mut Client, target: &str) -> (u16, String) {
    let response = client.get(target);
    (response.status, response.detail())
}

fn is_up(engine: &Engine, number: usize) -> bool {
    engine.origins().numbers()[number].is_up
}

/// The origin is checked at `/up`; one check changes its state.
fn checked(route: &mut Route) {
    route.health.path = Some("/up".to_owned());
    (route.health.rise, route.health.fall) = (1, 1);
    (route.health.interval, route.health.timeout) = (Duration::from_millis(1), Duration::from_secs(60));
}

#[test]
fn an_origin_that_is_back_gets_the_first_request() {
    let address = dead_address();
    let scene = Setup::safe().site(&[], |route| route.origins = vec![address.clone()]).run_with_own_origins();
    let mut client = scene.client();
    for path in ["/1", "/2", "/3", "/4"] {
        assert_eq!(detail(&mut client, path), (502, "origin-unreachable".into()), "it is asked");
    }
    assert!(!is_up(&scene.engine, 0));
    let back = Origin::start_at(&address, [get("/").answers(ok(&["Cache-Control: no-store"], "back"))]);
    assert_eq!(client.get("/").text(), "back");
    assert!(is_up(&scene.engine, 0));
    assert_eq!(back.count(), 1);
}

#[test]
fn while_another_origin_answers_one_request_a_second_tries_the_one_that_is_down() {
    let all = (0..6).flat_map(|second| (0..5).map(move |number| format!("/{second}/{number}")));
    let scene = Setup::safe()
        .route(|route| route.origins = vec![dead_address()])
        .run(all.map(|target| get(&target).answers(ok(&[], "page"))));
    let mut asked = Vec::new();
    for second in 0..6 {
        for number in 0..5 {
            assert_eq!(scene.client().get(&format!("/{second}/{number}")).text(), "page");
        }
        asked.push(scene.engine.metrics().total(Counter::OriginErrors));
        scene.advance(1);
    }
    assert_eq!(asked, [3, 4, 5, 6, 7, 8]);
}

#[test]
fn two_origins_restarted_one_after_the_other_lose_nothing() {
    for method in ["GET", "POST"] {
        let (first, second) = (dead_address(), dead_address());
        let origins = vec![first.clone(), second.clone()];
        let scene = Setup::safe()
            .site(&[], |route| (route.origins, route.health.failures) = (origins, 1))
            .run_with_own_origins();
        // The first origin is down, so the second answers.
        leaving_at(&second, ok(&["Cache-Control: no-store", "Connection: close"], "second"));
        let mut client = scene.client();
        assert_eq!(client.get("/1").text(), "second");
        assert!(!scene.engine.origins().of(&first.address).health.is_up());
        // Now the first is back and the second is down, before a request has noticed either.
        let _back = Origin::start_at(&first, [on(method, "/2").answers(ok(&[], "first"))]);
        let response = if method == "GET" { client.get("/2") } else { client.send_body("POST", "/2", &[], "body") };
        assert_eq!(response.text(), "first", "{method}");
    }
}

#[test]
fn of_those_that_are_down_the_one_that_failed_longest_ago_is_asked_first() {
    let (first, second) = (dead_address(), dead_address());
    let origins = vec![first.clone(), second.clone()];
    let scene = Setup::safe()
        .site(&[], |route| {
            (route.origins, route.balance) = (origins, Balance::RoundRobin);
            (route.health.failures, route.health.back_off) = (1, Duration::from_secs(3600));
        })
        .run_with_own_origins();
    // The second origin answers once, so it fails later than the first.
    leaving_at(&second, ok(&["Cache-Control: no-store", "Connection: close"], "second"));
    let mut client = scene.client();
    while client.get("/").text() != "second" {}
    scene.advance(1);
    let (mut client, errors) = (scene.client(), || scene.engine.metrics().total(Counter::OriginErrors));
    let before = errors();
    let _back = Origin::start_at(&first, [get("/2").answers(ok(&[], "first"))]);
    assert_eq!(client.get("/2").text(), "first");
    assert_eq!(errors() - before, 1, "the second, which was up, and then the first");
}

#[test]
fn a_request_lost_on_a_kept_connection_goes_to_the_next_origin_when_the_first_listens_no_more() {
    let gone = dead_address();
    leaving_at(&gone, ok(&["Cache-Control: no-store"], "first"));
    let scene =
        Setup::safe().route(|route| route.origins = vec![gone.clone()]).run([get("/2").answers(ok(&[], "second"))]);
    let mut client = scene.client();
    assert_eq!(client.get("/1").text(), "first");
    assert_eq!(client.get("/2").text(), "second");
}

#[test]
fn when_all_origins_are_down_what_is_stored_is_served_and_no_origin_is_asked() {
    let gate = Gate::new();
    let scene = Setup::safe().route(checked).run([
        get("/").answers(ok(&["Cache-Control: max-age=10", "ETag: \"1\""], "stored")),
        get("/up").answers(ok(&[], "")).closes(),
        get("/up").answers("").waits(&gate).sends(reply("503 Service Unavailable", &[], "")).closes(),
        get("/up").answers("").awaits_end(),
    ]);
    let mut client = scene.client();
    assert_eq!(client.get("/").text(), "stored");
    gate.open();
    scene.eventually(|| !is_up(&scene.engine, 0));
    scene.advance(15);
    for _ in 0..3 {
        assert_eq!(detail(&mut client, "/"), (200, "hit-stale-disconnected".into()));
    }
    assert_eq!(detail(&mut client, "/other"), (503, "origin-down".into()));
    assert_eq!(client.send_body("POST", "/", &[], "x").detail(), "origin-down");
    scene.origin.arrived(4);
}

#[test]
fn what_was_wanted_while_the_origin_was_down_is_fetched_as_soon_as_it_is_back() {
    // While the origin was down, the page was not requested, so no fetch of the page has failed.
    let gates = [Gate::new(), Gate::new()];
    let fields = ["Cache-Control: max-age=10", "ETag: \"1\""];
    let scene = Setup::safe().route(checked).run([
        get("/").answers(ok(&fields, "old")),
        get("/up").answers("").waits(&gates[0]).sends(reply("503 Service Unavailable", &[], "")),
        get("/up").answers("").waits(&gates[1]).sends(reply("204 No Content", &[], "")),
        get("/up").answers("").awaits_end(),
        get("/").answers(ok(&fields, "new")),
    ]);
    let mut client = scene.client();
    client.get("/");
    gates[0].open();
    scene.eventually(|| !is_up(&scene.engine, 0));
    scene.advance(15);
    for _ in 0..8 {
        assert_eq!(client.get("/").text(), "old");
        scene.advance(1);
    }
    gates[1].open();
    scene.eventually(|| is_up(&scene.engine, 0));
    assert_eq!(client.get("/").text(), "new");
    scene.origin.arrived(5);
}

#[test]
fn an_origin_that_loses_connections_is_asked_after_the_others_and_tried_again_later() {
    let first = Origin::start((0..4).map(|number| get(&format!("/{number}")).answers("").closes()));
    let second = |target: &str| get(target).answers(ok(&["Cache-Control: no-store"], "second"));
    let mut script: Vec<_> = (0..6).map(|number| second(&format!("/{number}"))).collect();
    script.push(post("/").answers(ok(&[], "second")));
    let scene = Setup::safe().route(|route| route.origins = vec![first.address()]).run(script);
    let mut client = scene.client();
    for number in ["/0", "/1", "/2"] {
        assert_eq!(client.get(number).text(), "second");
    }
    assert_eq!(client.get("/4").text(), "second");
    assert_eq!(first.count(), 3, "not asked any more");
    scene.advance(1);
    assert_eq!(client.send_body("POST", "/", &[], "x").text(), "second");
    assert_eq!(first.count(), 3, "what can't be sent again is no trial");
    assert_eq!(client.get("/3").text(), "second");
    assert_eq!(first.count(), 4, "one trial");
    assert_eq!(client.get("/5").text(), "second");
    assert_eq!(first.count(), 4, "the next comes a second later");
    scene.advance(1);
    first.then(get("/6").answers(ok(&["Cache-Control: no-store"], "first")));
    first.then(get("/7").answers(ok(&["Cache-Control: no-store"], "first")));
    assert_eq!((client.get("/6").text(), client.get("/7").text()), ("first".into(), "first".into()));
}

#[test]
fn a_visitor_cannot_take_the_only_origin_away_with_requests_that_crash_it() {
    let crashes = (0..6).map(|number| get(&format!("/crash/{number}")).answers("").closes());
    let scene = Scenario::safe(crashes.chain([get("/").answers(ok(&[], "fine"))]));
    let mut client = scene.client();
    for number in 0..6 {
        assert_eq!(detail(&mut client, &format!("/crash/{number}")), (502, LOST.into()));
    }
    assert_eq!(client.get("/").text(), "fine");
}

#[test]
fn a_failure_does_not_count_when_others_were_answered_while_it_ran() {
    let slow = ["/slow/0", "/slow/1", "/slow/2"];
    let gate = Gate::new();
    let first = Origin::start(
        slow.map(|target| get(target).answers("").waits(&gate).closes())
            .into_iter()
            .chain(["/1", "/2"].map(|target| get(target).answers(ok(&[], "first")))),
    );
    let scene = Setup::safe()
        .route(|route| route.origins = vec![first.address()])
        .run(slow.map(|target| get(target).answers(ok(&[], "second"))));
    let mut clients = slow.map(|target| {
        let mut client = scene.client();
        client.ask("GET", target, &[]);
        client
    });
    first.arrived(3);
    assert_eq!(scene.client().get("/1").text(), "first");
    gate.open();
    for client in &mut clients {
        assert_eq!(client.response().text(), "second");
    }
    assert_eq!(scene.client().get("/2").text(), "first", "three failures, but it answered meanwhile");
}

#[test]
fn errors_that_the_application_sends_do_not_count() {
    let error = |number| get(&format!("/{number}")).answers(reply("500 Internal Server Error", &[], "oops"));
    let scene = Scenario::safe((0..6).map(error));
    let mut client = scene.client();
    for number in 0..6 {
        assert_eq!(client.get(&format!("/{number}")).short(), (500, "oops".into()));
    }
    assert!(is_up(&scene.engine, 0));
}

#[test]
fn with_failures_0_an_origin_is_always_asked() {
    let scene = Setup::safe()
        .site(&[], |route| (route.health.failures, route.origins) = (0, vec![dead_address()]))
        .run_with_own_origins();
    // Another URL each time: a URL whose fetch has just failed is not asked for again, whatever the state of the origin.
    for number in 0..9 {
        assert_eq!(detail(&mut scene.client(), &format!("/{number}")), (502, "origin-unreachable".into()));
    }
}

#[test]
fn what_one_worker_finds_out_counts_for_all() {
    let scene = Setup::safe()
        .options(|options| options.workers = 3)
        .route(|route| route.origins = vec![dead_address()])
        .run((0..12).map(|number| get(&format!("/{number}")).answers(ok(&[], "page"))));
    for number in 0..12 {
        assert_eq!(scene.client().get(&format!("/{number}")).text(), "page");
    }
    assert_eq!(scene.engine.metrics().total(Counter::OriginErrors), 3);
}

#[test]
fn checks_take_an_origin_away_and_bring_it_back() {
    let gate = Gate::new();
    let scene = Setup::safe().route(checked).run([
        get("/up").answers(reply("500 Internal Server Error", &[], "")),
        get("/up").answers("").waits(&gate).sends(reply("204 No Content", &[], "")),
        get("/up").answers("").awaits_end(),
        get("/").answers(ok(&[], "works")),
    ]);
    scene.eventually(|| !is_up(&scene.engine, 0));
    assert_eq!(detail(&mut scene.client(), "/"), (503, "origin-down".into()));
    gate.open();
    scene.eventually(|| is_up(&scene.engine, 0));
    assert_eq!(scene.client().get("/").text(), "works");
    let check = scene.origin.request(0);
    assert_eq!(check.field("connection").as_deref(), Some("close"));
    assert_eq!(check.field("host"), Some(format!("127.0.0.1:{}", scene.origin.port())));
    assert!(check.field("user-agent").unwrap().starts_with("kasoku/"));
    scene.origin.arrived(4);
}

#[test]
fn the_first_check_that_passes_brings_an_origin_back() {
    let gate = Gate::new();
    let scene = Setup::safe()
        .route(|route| {
            (route.health.path, route.health.fall) = (Some("/up".to_owned()), 1);
            route.health.interval = Duration::from_millis(1);
        })
        .run([
            get("/up").answers(reply("500 Internal Server Error", &[], "")),
            get("/up").answers("").waits(&gate).sends(reply("204 No Content", &[], "")),
            get("/up").answers("").awaits_end(),
        ]);
    scene.eventually(|| !is_up(&scene.engine, 0));
    gate.open();
    scene.eventually(|| is_up(&scene.engine, 0));
    scene.origin.arrived(3);
}

#[test]
fn where_checks_got_no_connection_a_request_still_tries() {
    let address = dead_address();
    let scene = Setup::safe()
        .site(&[], |route| {
            (route.origins, route.health.path, route.health.fall) = (vec![address.clone()], Some("/up".to_owned()), 1);
            (route.health.interval, route.health.back_off) = (Duration::from_secs(3600), Duration::from_secs(3600));
        })
        .run_with_own_origins();
    scene.eventually(|| !is_up(&scene.engine, 0));
    let answer = |target: &str| get(target).answers(ok(&[], "back"));
    let _back = Origin::start_at(&address, [answer("/1"), answer("/2")]);
    assert_eq!(scene.client().get("/1").text(), "back");
    assert_eq!(scene.client().get("/2").text(), "back");
    assert!(!is_up(&scene.engine, 0), "whether it works is for its check to say");
}

#[test]
fn a_check_asks_for_the_host_of_the_origin() {
    let scene = Setup::safe()
        .route(|route| route.origin_host = Some("app.internal".to_owned()))
        .route(checked)
        .run([get("/up").answers("").awaits_end()]);
    assert_eq!(scene.origin.request(0).field("host").as_deref(), Some("app.internal"));
}

#[test]
fn a_check_that_takes_too_long_has_failed() {
    let scene = Setup::safe()
        .route(checked)
        .route(|route| route.health.timeout = Duration::from_millis(50))
        .route(|route| {
            (route.health.interval, route.health.back_off) = (Duration::from_secs(3600), Duration::from_secs(3600));
        })
        .run([get("/up").answers("").awaits_end()]);
    scene.origin.arrived(1);
    scene.eventually(|| !is_up(&scene.engine, 0));
}

#[test]
fn a_check_does_not_wait_for_a_permit() {
    let (gate, second_check) = (Gate::new(), Gate::new());
    let scene = Setup::safe().route(checked).route(|route| route.origin.connections_max = 1).run([
        get("/up").answers("").waits(&second_check).sends(ok(&[], "")).closes(),
        get("/").answers("").waits(&gate).sends(ok(&[], "page")),
        get("/up").answers("").awaits_end(),
    ]);
    let mut client = scene.client();
    client.ask("GET", "/", &[]);
    scene.origin.arrived(2);
    second_check.open();
    scene.origin.arrived(3);
    gate.open();
    assert_eq!(client.response().text(), "page");
}
