//! The origin fails and no stale response exists: a failure that one client's request may have caused is not told to other
//! clients.

use crate::origin_faults::{all_fail, all_get, crowd, fails};
use kasoku_testkit::unreachable::dead_address;
use kasoku_testkit::{BOTH, Gate, Origin, Scenario, Setup, get, ok, reply};

const FRESH: &str = "Cache-Control: max-age=60";

#[test]
fn one_request_that_makes_the_origin_fail_denies_nothing_to_others() {
    for profile in BOTH {
        for fails in [fails(), get("/").answers("").resets(), get("/").answers("nonsense\r\n\r\n")] {
            let scene = Setup::new(profile).run([fails, get("/").answers(ok(&[FRESH], "page"))]);
            assert_eq!(scene.client().get_with("/", &["X-Odd: 1"]).status, 502);
            // A client with the same odd field gets the page as well, since the cache now asks anonymously.
            assert_eq!(scene.client().get_with("/", &["X-Odd: 1"]).text(), "page");
            assert_eq!(scene.origin.request(1).field("x-odd"), None);
            all_get(&scene, "page", "hit");
        }
    }
}

#[test]
fn a_failure_that_is_no_clients_fault_is_told_to_all_for_a_second() {
    for profile in BOTH {
        let scene = Setup::new(profile).run([fails(), fails()]);
        for _ in 0..2 {
            assert_eq!(scene.client().get("/").status, 502);
        }
        all_fail(&scene, 502, "origin-closed-early");
        for _ in 0..3 {
            scene.advance(1);
            scene.origin.then(fails());
            assert_eq!(scene.client().get("/").status, 502);
            all_fail(&scene, 502, "origin-closed-early");
        }
        scene.advance(1);
        scene.origin.then(get("/").answers(ok(&[FRESH], "page")));
        assert_eq!(scene.client().get("/").text(), "page");
        all_get(&scene, "page", "hit");
    }
}

#[test]
fn a_request_that_was_never_sent_says_nothing_about_the_page() {
    let address = dead_address();
    let scene = Setup::safe().site(&[], |route| route.origins = vec![address.clone()]).run_with_own_origins();
    assert_eq!(scene.client().get("/").detail(), "origin-unreachable");
    let back = Origin::start_at(&address, [get("/").answers(ok(&[FRESH], "page"))]);
    assert_eq!(scene.client().get_with("/", &["X-Own: 1"]).text(), "page");
    assert_eq!(back.only_request().field("x-own").as_deref(), Some("1"), "no probe was needed");
}

#[test]
fn a_crowd_before_an_origin_that_closes_costs_two_requests() {
    let (first, second) = (Gate::new(), Gate::new());
    let scene =
        Scenario::safe([get("/").answers("").waits(&first).closes(), get("/").answers("").waits(&second).closes()]);
    let clients = crowd(&scene, crate::origin_faults::CROWD, &[]);
    first.open();
    scene.origin.arrived(2);
    scene.settled();
    second.open();
    for mut client in clients {
        assert_eq!(client.response().status, 502);
    }
    all_fail(&scene, 502, "origin-closed-early");
    assert_eq!(scene.origin.count(), 2);
}

#[test]
fn an_error_is_an_answer_and_goes_to_who_asked() {
    let error = || get("/").answers(reply("503 Service Unavailable", &[], "maintenance"));
    let scene = Scenario::safe([error(), error(), error()]);
    for _ in 0..3 {
        assert_eq!(scene.client().get("/").short(), (503, "maintenance".into()));
    }
}

#[test]
fn where_it_must_not_be_served_stale_a_failure_is_told_instead() {
    let fields = ["Cache-Control: max-age=10, must-revalidate", "ETag: \"1\"", crate::origin_faults::CLOSE];
    let scene = Scenario::safe([get("/").answers(ok(&fields, "old")), fails(), fails()]);
    scene.client().get("/");
    scene.advance(15);
    for _ in 0..2 {
        assert_eq!(scene.client().get("/").status, 502);
    }
    all_fail(&scene, 502, "origin-closed-early");
    scene.advance(1);
    scene.origin.then(get("/").answers(reply("304 Not Modified", &fields, "")));
    assert_eq!(scene.client().get("/").text(), "old");
    assert_eq!(scene.origin.request(3).field("if-none-match").as_deref(), Some("\"1\""));
}

#[test]
fn what_passes_asks_for_itself() {
    let scene = Scenario::safe([fails(), fails(), kasoku_testkit::post("/").answers(ok(&[], "posted"))]);
    for _ in 0..2 {
        scene.client().get("/");
    }
    all_fail(&scene, 502, "origin-closed-early");
    assert_eq!(scene.client().send_body("POST", "/", &[], "x").text(), "posted");
}
