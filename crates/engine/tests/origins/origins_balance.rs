//! Several origins of one site: which of them is asked.

use kasoku_options::OriginHealth;
use kasoku_options::{Balance, OriginOptions as Configured};
use kasoku_origin::group::{Attempts, NextOrigin, key_hash};
use kasoku_origin::{Group, OriginRegistry};
use kasoku_testkit::unreachable::dead_address;
use kasoku_testkit::{Gate, Origin, Setup, get, ok};

const NOT_STORED: &str = "Cache-Control: no-store";

fn weighted(origin: &Origin, weight: u32) -> Configured {
    Configured { weight, ..origin.address() }
}

fn backup(origin: Configured) -> Configured {
    Configured { is_backup: true, ..origin }
}

#[test]
fn round_robin_gives_each_origin_its_weight_in_turn() {
    let answer = |target: &str, name: &str| get(target).answers(ok(&[NOT_STORED], name));
    let a = Origin::start(["/1", "/3", "/4", "/6"].map(|target| answer(target, "a")));
    let b = Origin::start(["/2", "/5"].map(|target| answer(target, "b")));
    let scene = Setup::safe()
        .site(&[], |route| {
            (route.balance, route.origins) = (Balance::RoundRobin, vec![weighted(&a, 2), weighted(&b, 1)]);
        })
        .run_with_own_origins();
    let mut client = scene.client();
    let names: String = (1..=6).map(|number| client.get(&format!("/{number}")).text()).collect();
    assert_eq!(names, "abaaba");
}

#[test]
fn by_hash_the_same_url_always_goes_to_the_same_origin() {
    let origins = [Origin::start([]), Origin::start([]), Origin::start([])];
    let configured: Vec<_> = origins.iter().map(Origin::address).collect();
    let scene = Setup::safe()
        .site(&[], |route| (route.balance, route.origins) = (Balance::Hash, configured.clone()))
        .run_with_own_origins();
    let group = Group::new(Balance::Hash, &configured, 1, &OriginRegistry::default(), 0);
    let mut client = scene.client();
    for number in 0..60 {
        // The cookie makes it another variant, or a request for one visitor. The hash depends on the URL only.
        for fields in [&["Host: example.org"][..], &["Host: example.org", "Cookie: a=1"]] {
            let url = format!("http://example.org/{number}?q");
            let mut attempts = Attempts::new(key_hash(url.as_bytes()), true);
            let chosen = group.choose(&mut attempts, &OriginHealth::default(), 0);
            let NextOrigin::Ask(choice) = chosen else { panic!("nothing speaks against them") };
            let at = configured.iter().position(|origin| origin.address == choice.origin.address).unwrap();
            origins[at].then(get(&format!("/{number}?q")).answers(ok(&[NOT_STORED], at.to_string())));
            assert_eq!(client.get_with(&format!("/{number}?q"), fields).text(), at.to_string());
        }
    }
    assert!(origins.iter().all(|origin| origin.count() > 0), "sixty URLs, and one origin had none of them");
}

#[test]
fn a_backup_is_asked_only_when_the_others_cannot_be() {
    let spare = Origin::start([get("/2").answers(ok(&[], "spare"))]);
    let scene = Setup::safe()
        .route(|route| route.origins = vec![backup(spare.address())])
        .run([get("/1").answers(ok(&[], "main"))]);
    assert_eq!(scene.client().get("/1").text(), "main");
    let scene = Setup::safe()
        .site(&[], |route| route.origins = vec![backup(spare.address()), dead_address()])
        .run_with_own_origins();
    assert_eq!(scene.client().get("/2").text(), "spare");
}

#[test]
fn an_origin_at_its_limit_of_connections_is_passed_over() {
    let gate = Gate::new();
    let narrow = Origin::start([get("/1").answers("").waits(&gate).sends(ok(&[], "narrow"))]);
    let scene = Setup::safe()
        .route(|route| route.origins = vec![Configured { connections_max: Some(1), ..narrow.address() }])
        .run([get("/2").answers(ok(&[], "wide"))]);
    let mut first = scene.client();
    first.ask("GET", "/1", &[]);
    narrow.arrived(1);
    assert_eq!(scene.client().get("/2").text(), "wide");
    gate.open();
    assert_eq!(first.response().text(), "narrow");
}

#[test]
fn an_origin_at_its_limit_of_connections_is_no_reason_to_ask_a_backup() {
    let gate = Gate::new();
    let main =
        Origin::start([get("/1").answers("").waits(&gate).sends(ok(&[], "main")), get("/2").answers(ok(&[], "main"))]);
    let spare = Origin::start([]);
    let scene = Setup::safe()
        .site(&[], |route| {
            let main = Configured { connections_max: Some(1), ..main.address() };
            route.origins = vec![main, backup(spare.address())];
        })
        .run_with_own_origins();
    let (mut first, mut second) = (scene.client(), scene.client());
    first.ask("GET", "/1", &[]);
    main.arrived(1);
    second.ask("GET", "/2", &[]);
    scene.eventually(|| scene.engine.origins().numbers().iter().any(|origin| origin.queue == 1));
    gate.open();
    assert_eq!((first.response().text(), second.response().text()), ("main".into(), "main".into()));
}
