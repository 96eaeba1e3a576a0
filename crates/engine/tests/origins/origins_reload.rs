//! What a reload keeps of the state of the origins.

use kasoku_options::{Balance, Options, OriginOptions as Configured, Route};
use kasoku_testkit::unreachable::dead_address;
use kasoku_testkit::{Gate, Origin, Scenario, Setup, get, ok, reply};
use std::sync::Arc;
use std::time::Duration;

/// Reloads with the route of each site changed by `change`.
fn reload(scene: &mut Scenario, change: impl Fn(&mut Route)) {
    let mut options = Options::clone(&scene.engine.handle().options());
    for site in &mut options.sites {
        change(Arc::make_mut(&mut site.route));
    }
    scene.engine.reload(options).unwrap();
}

fn addresses(scene: &Scenario) -> Vec<String> {
    scene.engine.origins().numbers().into_iter().map(|origin| origin.address).collect()
}

#[test]
fn an_origin_that_stays_keeps_its_state_and_one_that_goes_is_forgotten() {
    let (dead, other) = (dead_address(), dead_address());
    let origins = vec![dead.clone(), other.clone()];
    let mut scene = Setup::safe().site(&[], |route| route.origins = origins).run_with_own_origins();
    let mut client = scene.client();
    for path in ["/1", "/2", "/3"] {
        assert_eq!(client.get(path).detail(), "origin-unreachable");
    }
    reload(&mut scene, |route| route.origins = vec![dead.clone()]);
    assert!(!scene.engine.origins().numbers()[0].is_up, "it is as dead as before");
    assert_eq!(addresses(&scene), [dead.address.to_string()]);
    reload(&mut scene, |route| route.origins = vec![other.clone()]);
    assert!(scene.engine.origins().numbers()[0].is_up, "what comes back starts anew");
    assert_eq!(addresses(&scene), [other.address.to_string()]);
}

#[test]
fn requests_are_spread_over_the_origins_of_the_new_settings() {
    let answer = |target: &str, name: &str| get(target).answers(ok(&[], name));
    let added = Origin::start([answer("/2", "added"), answer("/4", "added")]);
    let mut scene = Scenario::safe([answer("/0", "first"), answer("/1", "first"), answer("/3", "first")]);
    let mut client = scene.client();
    assert_eq!(client.get("/0").text(), "first");
    reload(&mut scene, |route| {
        route.balance = Balance::RoundRobin;
        route.origins.push(added.address());
    });
    let names: Vec<_> = (1..=4).map(|number| client.get(&format!("/{number}")).text()).collect();
    assert_eq!(names, ["first", "added", "first", "added"]);
}

#[test]
fn a_new_limit_of_connections_holds_for_those_that_come_then() {
    let gate = Gate::new();
    let mut scene =
        Scenario::safe([get("/1").answers("").waits(&gate).sends(ok(&[], "1")), get("/2").answers(ok(&[], "2"))]);
    let (mut first, mut second) = (scene.client(), scene.client());
    first.ask("GET", "/1", &[]);
    scene.origin.arrived(1);
    reload(&mut scene, |route| {
        route.origins = route.origins.iter().map(|o| Configured { connections_max: Some(1), ..o.clone() }).collect();
    });
    second.ask("GET", "/2", &[]);
    scene.eventually(|| scene.engine.origins().numbers()[0].queue == 1);
    gate.open();
    assert_eq!((first.response().text(), second.response().text()), ("1".into(), "2".into()));
}

#[test]
fn checks_begin_and_end_with_a_reload() {
    let mut scene = Scenario::safe([get("/").answers(ok(&[], "page"))]);
    scene.origin.then(get("/up").answers(reply("503 Service Unavailable", &[], "")));
    reload(&mut scene, |route| {
        (route.health.path, route.health.fall) = (Some("/up".to_owned()), 1);
        (route.health.interval, route.health.back_off) = (Duration::from_secs(3600), Duration::from_secs(3600));
    });
    scene.eventually(|| !scene.engine.origins().numbers()[0].is_up);
    assert_eq!(scene.client().get("/").detail(), "origin-down");
    reload(&mut scene, |route| route.health.path = None);
    assert_eq!(scene.client().get("/").text(), "page", "it is no longer known as down");
}
