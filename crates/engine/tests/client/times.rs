//! Times in the access log: how long a request took, and how long its origin took. The test sets the clock.

use kasoku_metrics::Counter;
use kasoku_options::{LogFormat, LogTarget};
use kasoku_testkit::unreachable::dead_address;
use kasoku_testkit::{Client, Gate, Scenario, Setup, get, ok, post};
use serde_json::Value;
use std::path::PathBuf;

const FRESH: &str = "Cache-Control: max-age=60";

/// A setup that logs to a file of its own, and that file.
fn logging(name: &str) -> (Setup, PathBuf) {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("times-{name}.log"));
    let _ = std::fs::remove_file(&path);
    let target = Some(LogTarget::File(path.clone()));
    let set = Setup::safe()
        .options(|options| (options.access_log.target, options.access_log.format) = (target, LogFormat::Json));
    (set, path)
}

/// Stops the engine, and returns the lines of its log.
fn lines(scene: Scenario, path: &PathBuf) -> Vec<Value> {
    drop(scene);
    std::fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The seconds of the whole request, until the origin's head, and until the origin's end.
fn times(line: &Value) -> [Option<f64>; 3] {
    ["duration", "origin_head_time", "origin_time"].map(|key| line.get(key).map(|value| value.as_f64().unwrap()))
}

#[test]
fn a_miss_tells_what_its_origin_took_and_a_hit_has_none() {
    let (setup, path) = logging("miss");
    let (head, body) = (Gate::new(), Gate::new());
    let begin = format!("HTTP/1.1 200 OK\r\n{FRESH}\r\nContent-Length: 6\r\n\r\nabc");
    let scene = setup.run([get("/").reads_body().waits(&head).sends(begin).waits(&body).sends("def")]);
    let mut client = scene.client();
    client.ask("GET", "/", &[]);
    scene.origin.arrived(1);
    scene.advance(3);
    head.open();
    client.next_head();
    client.reads("abc");
    scene.advance(2);
    body.open();
    client.reads("def");
    scene.counted(Counter::Requests, 1);
    assert!(client.get("/").is_hit());
    let origin = scene.origin.address().address.to_string();
    let lines = lines(scene, &path);
    assert_eq!(times(&lines[0]), [Some(5.0), Some(3.0), Some(5.0)]);
    assert_eq!(lines[0]["origin"], origin.as_str());
    assert_eq!((times(&lines[1]), lines[1].get("origin")), ([Some(0.0), None, None], None));
}

#[test]
fn a_slow_client_makes_its_request_long_and_not_the_origins_time() {
    // More than the buffers of the sockets hold.
    const BODY: &[u8] = &[b'x'; 24 << 20];
    let (setup, path) = logging("slow-client");
    let scene = setup
        .options(|options| (options.memory_bytes_max, options.object_bytes_max) = (512 << 20, 32 << 20))
        .run([get("/").answers(ok(&[FRESH], BODY))]);
    let mut client = Client::connect_slow(scene.engine.addresses()[0]);
    for number in 0..2 {
        client.ask("GET", "/", &[]);
        // The engine has read the first answer to its end, and the second request is a hit.
        scene.counted(Counter::Stored, 1);
        client.next_head();
        scene.settled();
        scene.advance(7);
        assert_eq!(client.take(BODY.len()).len(), BODY.len(), "{number}");
    }
    let lines = lines(scene, &path);
    let of_page: Vec<&Value> = lines.iter().filter(|line| line["method"] == "GET").collect();
    assert_eq!(times(of_page[0]), [Some(7.0), Some(0.0), Some(0.0)]);
    assert_eq!(times(of_page[1]), [Some(7.0), None, None]);
}

#[test]
fn who_joins_a_fill_tells_how_long_it_has_waited() {
    let (setup, path) = logging("joined");
    let gate = Gate::new();
    let scene = setup.run([get("/").reads_body().waits(&gate).sends(ok(&[FRESH], "page"))]);
    let (mut first, mut second) = (scene.client(), scene.client());
    first.ask("GET", "/", &[]);
    scene.origin.arrived(1);
    scene.advance(3);
    second.ask("GET", "/", &[]);
    scene.settled();
    scene.advance(4);
    gate.open();
    assert_eq!((first.response().text(), second.response().text()), ("page".into(), "page".into()));
    let lines = lines(scene, &path);
    let of = |collapsed: bool| lines.iter().find(|line| line["collapsed"] == collapsed && line["method"] == "GET");
    let (asked, joined) = (of(false).unwrap(), of(true).unwrap());
    assert_eq!((times(asked), asked.get("origin").is_some()), ([Some(7.0); 3], true));
    assert_eq!((times(joined), joined.get("origin")), ([Some(4.0); 3], None), "it has asked no origin");
}

#[test]
fn what_passes_has_times_as_well() {
    let (setup, path) = logging("pass");
    let gate = Gate::new();
    let scene = setup.run([
        post("/").reads_body().waits(&gate).sends(ok(&[], "done")),
        get("/private").answers(ok(&["Cache-Control: no-store"], "mine")),
    ]);
    let mut client = scene.client();
    client.send("POST / HTTP/1.1\r\nHost: example.org\r\nContent-Length: 1\r\n\r\nx");
    scene.origin.arrived(1);
    scene.advance(2);
    gate.open();
    client.response();
    client.get("/private");
    let lines = lines(scene, &path);
    assert_eq!(times(&lines[0]), [Some(2.0); 3]);
    assert_eq!(times(&lines[1]), [Some(0.0); 3]);
}

#[test]
fn an_origin_that_gives_no_answer_is_named_with_the_reason() {
    let (setup, path) = logging("dead");
    let scene = setup.site(&[], |route| route.origins = vec![dead_address()]).run_with_own_origins();
    scene.client().get("/");
    let lines = lines(scene, &path);
    let line = &lines[0];
    assert_eq!((&line["status"], &line["reason"]), (&502.into(), &"origin-unreachable".into()));
    assert!(line["origin"].as_str().unwrap().starts_with("http://"), "{line}");
    assert_eq!(times(line), [Some(0.0), None, None]);
}

#[test]
fn a_visitor_who_leaves_early_knows_nothing_of_the_origins_end() {
    let (setup, path) = logging("left");
    let gate = Gate::new();
    let scene = setup.run([get("/").reads_body().waits(&gate).sends(ok(&[FRESH], "page"))]);
    let mut client = scene.client();
    client.ask("GET", "/", &[]);
    scene.origin.arrived(1);
    scene.advance(3);
    client.reset();
    scene.counted(Counter::Requests, 1);
    gate.open();
    scene.counted(Counter::Stored, 1);
    let counted = |counter| scene.engine.metrics().total(counter);
    assert_eq!((counted(Counter::Misses), counted(Counter::Passes)), (1, 0), "it was meant for the cache");
    let lines = lines(scene, &path);
    assert_eq!(lines[0]["status"], 499);
    assert_eq!(times(&lines[0]), [Some(3.0), None, None]);
}
