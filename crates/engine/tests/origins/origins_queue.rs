//! Requests that wait for a connection to an origin that has its largest number of connections.

use kasoku_metrics::Counter;
use kasoku_testkit::{Exchange, Gate, Scenario, Setup, get, ok};
use std::time::Duration;

/// At most one connection at a time, and a queue of that length.
fn narrow(queue_requests_max: usize) -> Setup {
    Setup::safe().route(|route| {
        (route.origin.connections_max, route.origin.queue_requests_max) = (1, queue_requests_max);
        route.origin.queue_timeout = Duration::from_secs(60);
    })
}

fn held(target: &str, gate: &Gate) -> Exchange {
    get(target).answers("").waits(gate).sends(ok(&["Cache-Control: no-store"], target))
}

fn waits(scene: &Scenario, count: usize) {
    scene.eventually(|| scene.engine.origins().numbers()[0].queue == count);
}

#[test]
fn who_waits_goes_on_in_the_order_of_coming_whichever_worker_it_came_to() {
    let targets = ["/0", "/1", "/2", "/3", "/4", "/5"];
    let gates = targets.map(|_| Gate::new());
    let script = targets.iter().zip(&gates).map(|(target, gate)| held(target, gate));
    let scene = narrow(8).options(|options| options.workers = 3).run(script);
    let mut clients: Vec<_> = targets
        .iter()
        .enumerate()
        .map(|(number, target)| {
            let mut client = scene.client();
            client.ask("GET", target, &[]);
            if number == 0 {
                scene.origin.arrived(1)
            } else {
                waits(&scene, number)
            }
            client
        })
        .collect();
    assert_eq!(scene.origin.count(), 1, "one at a time, over all workers");
    for (number, (client, gate)) in clients.iter_mut().zip(&gates).enumerate() {
        assert_eq!(scene.origin.request(number).head.word(1), targets[number]);
        gate.open();
        assert_eq!(client.response().text(), targets[number]);
    }
    let connections = scene.engine.metrics().total(Counter::Connections);
    assert!((0..3).all(|worker| scene.engine.metrics().of_worker(worker, Counter::Connections) < connections));
}

#[test]
fn when_as_many_wait_as_may_the_next_is_refused_at_once() {
    let gates = [Gate::new(), Gate::new()];
    let scene = narrow(1).run([held("/1", &gates[0]), held("/2", &gates[1])]);
    let (mut first, mut second) = (scene.client(), scene.client());
    first.ask("GET", "/1", &[]);
    scene.origin.arrived(1);
    second.ask("GET", "/2", &[]);
    waits(&scene, 1);
    let response = scene.client().get("/3");
    assert_eq!((response.status, response.detail().as_str()), (503, "origin-queue-full"));
    assert_eq!(response.cache_status("fwd"), None, "no origin was asked");
    gates.iter().for_each(Gate::open);
    assert_eq!((first.response().text(), second.response().text()), ("/1".into(), "/2".into()));
}

#[test]
fn who_leaves_the_queue_makes_room_in_it() {
    let gate = Gate::new();
    let scene = narrow(1).route(|route| route.pass = true).run([held("/1", &gate), held("/3", &gate)]);
    let (mut first, mut leaver, mut third) = (scene.client(), scene.client(), scene.client());
    first.ask("GET", "/1", &[]);
    scene.origin.arrived(1);
    leaver.ask("GET", "/2", &[]);
    waits(&scene, 1);
    leaver.reset();
    waits(&scene, 0);
    third.ask("GET", "/3", &[]);
    waits(&scene, 1);
    gate.open();
    assert_eq!((first.response().text(), third.response().text()), ("/1".into(), "/3".into()));
}

#[test]
fn a_rule_with_a_smaller_limit_leaves_the_rest_to_the_others() {
    let gate = Gate::new();
    let scene = Setup::safe()
        .route(|route| route.origin.connections_max = 2)
        .rule("/slow/*", |route| route.origin.connections_max = 1)
        .run([held("/slow/1", &gate), held("/slow/2", &gate), get("/fast").answers(ok(&[], "fast"))]);
    let (mut first, mut second) = (scene.client(), scene.client());
    first.ask("GET", "/slow/1", &[]);
    scene.origin.arrived(1);
    second.ask("GET", "/slow/2", &[]);
    waits(&scene, 1);
    assert_eq!(scene.client().get("/fast").text(), "fast");
    gate.open();
    assert_eq!((first.response().text(), second.response().text()), ("/slow/1".into(), "/slow/2".into()));
}
