//! Hit-for-miss: what the cache remembers of a key whose answer could not be shared, for which requests, and for how long.

use crate::collapse::{FRESH, all_get, asking, bodies, waiting};
use kasoku_testkit::{Gate, Scenario, get, ok, reply};

#[test]
fn a_key_that_was_private_is_not_waited_for() {
    let gate = Gate::new();
    let own = || get("/").answers("").waits(&gate).sends(ok(&["Cache-Control: private"], "own"));
    let scene = Scenario::safe([get("/").answers(ok(&["Cache-Control: private"], "first")), own(), own()]);
    scene.client().get("/");
    let (mut second, mut third) = (scene.client(), scene.client());
    second.ask("GET", "/", &[]);
    third.ask("GET", "/", &[]);
    scene.origin.arrived(3);
    gate.open();
    assert_eq!((second.response().text(), third.response().text()), ("own".into(), "own".into()));
}

#[test]
fn a_key_that_was_private_is_stored_once_it_may_be() {
    let scene = Scenario::safe([
        get("/").answers(ok(&["Cache-Control: private"], "first")),
        get("/").answers(ok(&[FRESH], "for all")),
    ]);
    let mut client = scene.client();
    client.get("/");
    assert_eq!(client.get("/").text(), "for all");
    assert!(client.get("/").is_hit());
}

#[test]
fn a_key_that_was_private_is_waited_for_again_after_a_while() {
    let gate = Gate::new();
    let scene = Scenario::safe([
        get("/x").answers(ok(&[], "x")),
        get("/").answers(ok(&["Cache-Control: private"], "first")),
        get("/").answers("").waits(&gate).sends(ok(&[FRESH], "for all")),
    ]);
    scene.client().get("/x");
    scene.client().get("/");
    scene.advance(60);
    let (mut second, mut third) = (scene.client(), scene.client());
    second.ask("GET", "/", &[]);
    scene.origin.arrived(3);
    third.ask("GET", "/", &[]);
    scene.settled();
    gate.open();
    assert_eq!((second.response().text(), third.response().text()), ("for all".into(), "for all".into()));
}

#[test]
fn a_visitor_with_a_cookie_does_not_make_a_key_private_for_others() {
    for field in ["Cookie: session=1", "Authorization: Basic x"] {
        let gate = Gate::new();
        let scene = Scenario::safe([
            get("/").answers(ok(&["Cache-Control: private"], "mine")),
            get("/").answers("").waits(&gate).sends(ok(&[FRESH], "for all")),
        ]);
        scene.client().get_with("/", &[field]);
        let (mut second, mut third) = (scene.client(), scene.client());
        second.ask("GET", "/", &[]);
        scene.origin.arrived(2);
        third.ask("GET", "/", &[]);
        scene.settled();
        gate.open();
        assert_eq!((second.response().text(), third.response().text()), ("for all".into(), "for all".into()));
    }
}

#[test]
fn an_answer_to_a_no_store_request_does_not_make_its_key_private() {
    let gate = Gate::new();
    let scene = Scenario::safe([
        get("/").answers(ok(&[FRESH], "not kept")),
        get("/").answers("").waits(&gate).sends(ok(&[FRESH], "for all")),
    ]);
    scene.client().get_with("/", &["Cache-Control: no-store"]);
    let clients = waiting(&scene, 4, &[]);
    gate.open();
    all_get(clients, 200, "for all");
}

#[test]
fn an_answer_about_a_range_does_not_make_its_key_private() {
    let gate = Gate::new();
    let scene = Scenario::safe([
        get("/").answers(reply("416 Range Not Satisfiable", &["Content-Range: bytes */5"], "")),
        get("/").answers("").waits(&gate).sends(ok(&[FRESH], "hello")),
    ]);
    assert_eq!(scene.client().get_with("/", &["Range: bytes=99-"]).status, 416);
    let clients = waiting(&scene, 4, &[]);
    gate.open();
    all_get(clients, 200, "hello");
}

#[test]
fn no_anonymous_request_waits_for_a_visitor_with_credentials_but_visitors_do_for_each_other_and_for_all_others() {
    let shared = || ok(&["Cache-Control: public, s-maxage=60"], "for all");
    for credentials in ["Cookie: session=1", "Authorization: Basic eDp5"] {
        let gate = Gate::new();
        let scene = Scenario::safe([get("/").answers("").waits(&gate).sends(shared()), get("/").answers(shared())]);
        let visitors = waiting(&scene, 3, &[credentials]);
        assert_eq!(scene.client().get("/").text(), "for all", "at once, although the visitors' answer is not there");
        gate.open();
        all_get(visitors, 200, "for all");
        assert_eq!(scene.origin.count(), 2, "{credentials}");

        let gate = Gate::new();
        let scene = Scenario::safe([get("/").answers("").waits(&gate).sends(shared())]);
        let mut clients = waiting(&scene, 2, &[]);
        clients.push(asking(&scene, &[credentials]));
        scene.settled();
        gate.open();
        all_get(clients, 200, "for all");
    }
}

#[test]
fn in_profile_rfc_cookies_do_not_set_visitors_apart() {
    let gate = Gate::new();
    let scene = Scenario::rfc([get("/").answers("").waits(&gate).sends(ok(&[FRESH], "hello"))]);
    let mut clients = waiting(&scene, 2, &["Cookie: session=1"]);
    clients.push(asking(&scene, &[]));
    scene.settled();
    gate.open();
    all_get(clients, 200, "hello");
}

#[test]
fn visitors_of_a_page_that_is_private_to_each_do_not_wait_for_each_other() {
    let gate = Gate::new();
    let own = |body: &str| get("/").answers("").waits(&gate).sends(ok(&["Cache-Control: private"], body));
    let scene = Scenario::safe([get("/").answers(ok(&["Cache-Control: private"], "0")), own("1"), own("2")]);
    scene.client().get_with("/", &["Cookie: session=0"]);
    let clients = vec![asking(&scene, &["Cookie: session=1"]), asking(&scene, &["Cookie: session=2"])];
    scene.origin.arrived(3);
    gate.open();
    assert_eq!(bodies(clients).len(), 2);
}
