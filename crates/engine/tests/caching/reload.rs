//! New settings while the program runs: what a reload changes, what it keeps, and that a failed reload changes nothing.

use kasoku_options::{AccessLogOptions, ListenAddress, Listener, LogFormat, LogTarget, Options, Route, Rule};
use kasoku_semantics::policy::Policy;
use kasoku_testkit::{Client, Gate, Scenario, Setup, get, head, ok};
use std::sync::Arc;

const FRESH: &str = "Cache-Control: max-age=60";

/// Reloads with the current settings, changed by `change`.
fn reload(scene: &mut Scenario, change: impl FnOnce(&mut Options)) {
    let mut options = Options::clone(&scene.engine.handle().options());
    change(&mut options);
    scene.engine.reload(options).unwrap();
}

/// Changes each route.
fn routes(options: &mut Options, change: impl Fn(&mut Route)) {
    for site in &mut options.sites {
        change(Arc::make_mut(&mut site.route));
    }
}

#[test]
fn what_is_stored_and_who_is_connected_stays() {
    let mut scene = Setup::safe().options(|options| options.workers = 2).run([get("/").answers(ok(&[FRESH], "page"))]);
    let mut client = scene.client();
    client.get("/");
    reload(&mut scene, |options| options.hit_headers.x_cache_hit = true);
    let hit = client.get("/");
    assert_eq!((hit.is_hit(), hit.field("X-Cache-Hit").as_str()), (true, "1"));
    assert!(scene.client().get("/").is_hit());
}

#[test]
fn what_other_rules_have_stored_is_a_miss_from_then_on() {
    let mut scene =
        Scenario::safe([get("/").answers(ok(&[FRESH], "old rules")), get("/").answers(ok(&[FRESH], "new rules"))]);
    let mut client = scene.client();
    client.get("/");
    reload(&mut scene, |options| {
        routes(options, |route| {
            let policy = Policy { heuristic_percent: 20, ..(*route.policy).clone() };
            route.policy = Arc::new(policy);
        });
    });
    let miss = client.get("/");
    assert_eq!((miss.text().as_str(), miss.detail().as_str()), ("new rules", "rules-changed"));
    assert!(client.get("/").is_hit());
}

#[test]
fn what_was_refused_meanwhile_is_not_there_again_when_the_old_rules_are() {
    let mut scene = Scenario::safe([
        get("/").answers(ok(&[FRESH], "open to all")),
        get("/").answers("HTTP/1.1 403 Forbidden\r\nCache-Control: no-store\r\nContent-Length: 0\r\n\r\n"),
        get("/").answers("HTTP/1.1 403 Forbidden\r\nCache-Control: no-store\r\nContent-Length: 0\r\n\r\n"),
    ]);
    let mut client = scene.client();
    client.get("/");
    reload(&mut scene, |options| routes(options, |route| route.query.sort = true));
    assert_eq!(client.get("/").status, 403);
    reload(&mut scene, |options| routes(options, |route| route.query.sort = false));
    assert_eq!(client.get("/").status, 403);
}

#[test]
fn an_origin_that_moves_keeps_what_it_has_brought() {
    let mut scene = Scenario::safe([get("/").answers(ok(&[FRESH], "page"))]);
    let mut client = scene.client();
    client.get("/");
    let elsewhere = kasoku_testkit::unreachable::dead_address();
    reload(&mut scene, |options| routes(options, |route| route.origins = vec![elsewhere.clone()]));
    assert!(client.get("/").is_hit());
    assert_eq!(client.get("/other").status, 502);
}

#[test]
fn a_request_that_runs_ends_by_the_rules_that_it_began_with() {
    let gate = Gate::new();
    let mut scene =
        Scenario::safe([get("/").waits(&gate).answers(ok(&[FRESH], "page")), get("/").answers(ok(&[FRESH], "two"))]);
    let mut client = scene.client();
    client.ask("GET", "/", &[]);
    scene.origin.arrived(1);
    reload(&mut scene, |options| {
        routes(options, |route| route.query.sort = true);
        options.hit_headers.x_cache_hit = true;
    });
    gate.open();
    let response = client.response();
    assert_eq!((response.text().as_str(), response.has("X-Cache-Hit")), ("page", false));
    // The first response was stored under the old rules.
    assert_eq!(client.get("/").text(), "two");
}

#[test]
fn what_the_old_rules_would_serve_stale_is_not_served_under_new_ones() {
    let gate = Gate::new();
    let stale = ["Cache-Control: max-age=1, stale-if-error=600", "ETag: \"1\""];
    let mut scene = Scenario::safe([
        get("/").answers(ok(&stale, "old rules")),
        get("/").waits(&gate).answers("HTTP/1.1 500 Broken\r\nContent-Length: 0\r\n\r\n"),
        get("/").answers(ok(&[FRESH], "new rules")),
    ]);
    let mut before = scene.client();
    before.get("/");
    scene.advance(2);
    before.ask("GET", "/", &[]);
    scene.origin.arrived(2);
    reload(&mut scene, |options| routes(options, |route| route.query.sort = true));
    let mut after = scene.client();
    after.ask("GET", "/", &[]);
    scene.origin.arrived(3);
    gate.open();
    assert_eq!(before.response().text(), "old rules");
    assert_eq!(after.response().text(), "new rules");
}

#[test]
fn those_who_come_after_a_reload_share_one_fetch() {
    let gates = [Gate::new(), Gate::new()];
    let mut scene = Scenario::safe([
        get("/").waits(&gates[0]).answers(ok(&[FRESH], "old rules")),
        get("/").waits(&gates[1]).answers(ok(&[FRESH], "new rules")),
    ]);
    let mut before = scene.client();
    before.ask("GET", "/", &[]);
    scene.origin.arrived(1);
    reload(&mut scene, |options| routes(options, |route| route.query.sort = true));
    let mut after: Vec<_> = (0..4).map(|_| scene.client()).collect();
    for client in &mut after {
        client.ask("GET", "/", &[]);
    }
    scene.origin.arrived(2);
    gates[0].open();
    assert_eq!(before.response().text(), "old rules");
    gates[1].open();
    for client in &mut after {
        assert_eq!(client.response().text(), "new rules");
    }
}

#[test]
fn a_proxy_that_is_trusted_no_more_is_not_believed_on_the_connection_that_it_has() {
    let loopback = kasoku_options::AddressRange::loopback();
    let mut scene = Setup::safe()
        .options(|options| options.trusted_proxies = loopback)
        .run([get("/").answers(ok(&[FRESH], "https")), get("/").answers(ok(&[FRESH], "http"))]);
    let mut proxy = scene.client();
    let https = ["X-Forwarded-Proto: https"];
    proxy.get_with("/", &https);
    assert!(proxy.get_with("/", &https).is_hit());
    reload(&mut scene, |options| options.trusted_proxies.clear());
    assert_eq!(proxy.get_with("/", &https).text(), "http");
}

#[test]
fn more_connections_are_allowed_at_once() {
    let mut scene = Setup::safe()
        .options(|options| options.limits.connections_max = 1)
        .run([get("/").answers(ok(&[FRESH], "page"))]);
    let mut first = scene.client();
    first.get("/");
    let mut second = scene.client();
    second.ask("GET", "/", &[]);
    reload(&mut scene, |options| options.limits.connections_max = 2);
    assert!(second.response().is_hit(), "while the first is connected");
    assert!(first.get("/").is_hit());
}

#[test]
fn a_head_that_was_asked_under_the_old_rules_says_nothing_of_what_the_new_ones_have_stored() {
    let gate = Gate::new();
    let long = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nETag: \"1\"\r\nContent-Length: 4\r\n\r\n";
    let mut scene =
        Scenario::safe([head("/").waits(&gate).answers(long), get("/").answers(ok(&[FRESH, "ETag: \"1\""], "page"))]);
    let mut before = scene.client();
    before.ask("HEAD", "/", &[]);
    scene.origin.arrived(1);
    reload(&mut scene, |options| routes(options, |route| route.query.sort = true));
    let mut after = scene.client();
    after.get("/");
    gate.open();
    assert_eq!(before.response_to_head().field("cache-control"), "max-age=600");
    let hit = after.get("/");
    assert_eq!((hit.is_hit(), hit.field("cache-control").as_str()), (true, "max-age=60"));
}

#[test]
fn rules_and_sites_are_those_of_the_new_settings() {
    let mut scene = Scenario::safe([get("/x").answers(ok(&[FRESH], "one")), get("/x").answers(ok(&[FRESH], "two"))]);
    let mut client = scene.client();
    client.get("/x");
    reload(&mut scene, |options| {
        for site in &mut options.sites {
            let route = Arc::new(Route { pass: true, ..(*site.route).clone() });
            site.rules = vec![Rule { path: "/x".into(), route }];
        }
    });
    assert_eq!(client.get("/x").detail(), "pass-rule");
    reload(&mut scene, |options| options.sites.iter_mut().for_each(|site| site.rules.clear()));
    // Under the old rules, the response that was stored under them is a hit again.
    assert_eq!(client.get("/x").text(), "one");
    reload(&mut scene, |options| options.sites.clear());
    assert_eq!(client.get("/x").status, 421);
}

#[test]
fn listeners_come_and_go_and_connections_stay() {
    let mut scene = Setup::safe().options(|options| options.workers = 2).run([get("/").answers(ok(&[FRESH], "page"))]);
    let first = scene.engine.addresses()[0];
    let mut client = scene.client();
    client.get("/");
    let any = ListenAddress::Tcp(([127, 0, 0, 1], 0).into());
    let second = Listener::at(ListenAddress::Tcp(([127, 0, 0, 2], 0).into()));
    reload(&mut scene, |options| options.listeners.push(second.clone()));
    let addresses = scene.engine.addresses();
    assert_eq!((addresses.len(), addresses[0]), (2, first), "the first is the same socket");
    assert!(Client::connect(addresses[1]).get("/").is_hit());
    assert!(Client::connect(first).get("/").is_hit());
    reload(&mut scene, |options| options.listeners.retain(|listener| listener.address != any));
    assert_eq!(scene.engine.addresses(), [addresses[1]]);
    scene.eventually(|| std::net::TcpStream::connect(first).is_err());
    assert!(client.get("/").is_hit(), "its connection was there before");
    assert!(Client::connect(addresses[1]).get("/").is_hit());
}

#[test]
fn who_has_connected_to_a_listener_that_goes_is_served() {
    // The only worker is not busy, but may accept no more connections: new ones wait in the kernel.
    let mut scene = Setup::safe()
        .options(|options| options.limits.connections_max = 1)
        .run([get("/").answers(ok(&[FRESH], "page"))]);
    let mut first = scene.client();
    first.get("/");
    let mut waiting = scene.client();
    waiting.ask("GET", "/", &[]);
    let other = Listener::at(ListenAddress::Tcp(([127, 0, 0, 2], 0).into()));
    reload(&mut scene, |options| {
        options.listeners = vec![other];
        options.limits.connections_max = 2;
    });
    assert_eq!(waiting.response().text(), "page");
}

#[test]
fn a_reload_that_fails_changes_nothing() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut scene = Scenario::safe([get("/").answers(ok(&[FRESH], "page"))]);
    let mut client = scene.client();
    client.get("/");
    let mut options = Options::clone(&scene.engine.handle().options());
    options.hit_headers.x_cache_hit = true;
    let address = ListenAddress::Tcp(taken.local_addr().unwrap());
    options.listeners.push(Listener::at(address));
    let failed = scene.engine.reload(options.clone()).unwrap_err();
    assert!(failed.to_string().ends_with("another process listens there already"), "{failed}");
    options.listeners.pop();
    let target = Some(LogTarget::File("/proc/nothing/can/be/here".into()));
    options.access_log = AccessLogOptions { target, format: LogFormat::Common };
    assert!(scene.engine.reload(options).is_err());
    let hit = client.get("/");
    assert_eq!((hit.is_hit(), hit.has("X-Cache-Hit")), (true, false));
    assert!(!scene.engine.handle().options().hit_headers.x_cache_hit);
}

#[test]
fn the_access_log_goes_where_the_new_settings_say() {
    let directory = std::env::temp_dir().join(format!("kasoku-reload-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let log = |name: &str| {
        let target = Some(LogTarget::File(directory.join(name)));
        AccessLogOptions { target, format: LogFormat::Common }
    };
    let lines = |name: &str| std::fs::read_to_string(directory.join(name)).unwrap_or_default().lines().count();
    let first = log("first");
    let mut scene =
        Setup::safe().options(|options| options.access_log = first).run([get("/").answers(ok(&[FRESH], "page"))]);
    let mut client = scene.client();
    client.get("/");
    reload(&mut scene, |options| options.access_log = log("second"));
    assert_eq!(lines("first"), 1, "it is closed, with all its lines");
    client.get("/");
    client.get("/");
    // The file is moved away, and the log is opened anew.
    scene.eventually(|| lines("second") == 2);
    std::fs::rename(directory.join("second"), directory.join("moved")).unwrap();
    scene.engine.reopen_log();
    scene.eventually(|| directory.join("second").exists());
    client.get("/");
    reload(&mut scene, |options| options.access_log = AccessLogOptions::default());
    assert_eq!((lines("first"), lines("moved"), lines("second")), (1, 2, 1));
    client.get("/");
    drop(scene);
    assert_eq!((lines("first"), lines("moved"), lines("second")), (1, 2, 1));
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_request_that_is_on_its_way_when_the_program_stops_is_answered() {
    let scene = Setup::safe()
        .options(|options| {
            options.limits.drain_idle_timeout = std::time::Duration::from_secs(10);
            options.limits.drain_timeout = std::time::Duration::from_secs(10);
        })
        .run([get("/").answers(ok(&[FRESH], "page"))]);
    let mut kept = scene.client();
    kept.get("/");
    // This client has connected and sent no request yet.
    let mut fresh = scene.client();
    let Scenario { engine, .. } = scene;
    let stopping = std::thread::spawn(move || engine.stop());
    for client in [&mut kept, &mut fresh] {
        // If the stop has not arrived yet, the answer does not say that it is the last on its connection.
        let mut last = || {
            let response = client.get("/");
            assert_eq!(response.text(), "page");
            response.field("connection") == "close"
        };
        while !last() {}
        client.is_closed();
    }
    stopping.join().unwrap();
}
