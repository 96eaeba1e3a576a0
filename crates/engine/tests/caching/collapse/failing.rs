//! The origin fails, before the head or in the middle of the body.

use crate::collapse::{FRESH, all_get, answers, asking, waiting};
use kasoku_testkit::{BOTH, Client, Ending, Gate, Scenario, Setup, get, ok, reply};
use std::time::Duration;

#[test]
fn an_origin_that_goes_on_failing_fails_all_who_wait() {
    // The first client's request may have caused the failure. So the waiting requests have one more fill together, an anonymous
    // request.
    for profile in BOTH {
        let (first, second) = (Gate::new(), Gate::new());
        let scene = Setup::new(profile)
            .run([get("/").answers("").waits(&first).closes(), get("/").answers("").waits(&second).closes()]);
        let clients = waiting(&scene, 4, &[]);
        first.open();
        scene.origin.arrived(2);
        scene.settled();
        second.open();
        for response in answers(clients) {
            assert_eq!((response.status, response.detail().as_str()), (502, "origin-closed-early"));
        }
        assert_eq!(scene.origin.count(), 2);
    }
}

#[test]
fn requests_that_make_the_origin_fail_do_not_fail_others_even_if_they_wait_as_well() {
    for profile in BOTH {
        let (first, second) = (Gate::new(), Gate::new());
        let scene = Setup::new(profile).run([
            get("/").answers("").waits(&first).closes(),
            get("/").answers("").waits(&second).sends(ok(&[FRESH], "hello")),
        ]);
        // All of the requests carry the odd field. The first one is sent to the origin first; the first of those that wait begins
        // the second fill.
        let mut clients = waiting(&scene, 4, &["X-Odd: 1"]);
        first.open();
        scene.origin.arrived(2);
        assert_eq!(scene.origin.request(0).field("x-odd").as_deref(), Some("1"));
        assert_eq!(scene.origin.request(1).field("x-odd"), None, "it is asked anonymously");
        scene.settled();
        second.open();
        assert_eq!(clients.remove(0).response().status, 502);
        all_get(clients, 200, "hello");
    }
}

#[test]
fn where_there_is_no_back_off_those_who_waited_ask_once_more_and_a_few_then_for_themselves() {
    let (first, second) = (Gate::new(), Gate::new());
    let scene = Setup::safe().policy(|policy| policy.back_off_max_seconds = 0).run([
        get("/").answers("").waits(&first).closes(),
        get("/").answers("").waits(&second).closes(),
        get("/").answers(ok(&[FRESH], "hello")),
        get("/").answers(ok(&[FRESH], "hello")),
    ]);
    let mut clients = waiting(&scene, 4, &[]);
    first.open();
    scene.origin.arrived(2);
    scene.settled();
    second.open();
    for _bad in 0..2 {
        assert_eq!(clients.remove(0).response().status, 502);
    }
    all_get(clients, 200, "hello");
}

#[test]
fn an_origin_that_does_not_answer_in_time_is_not_asked_again_for_those_who_waited() {
    let never = Gate::new();
    let scene = Setup::safe()
        .route(|route| route.origin.first_byte_timeout = Duration::from_secs(1))
        .run([get("/").answers("").waits(&never).closes()]);
    for response in answers(waiting(&scene, 3, &[])) {
        assert_eq!((response.status, response.detail().as_str()), (504, "origin-timeout-first-byte"));
    }
    assert_eq!(scene.origin.count(), 1);
    never.open();
}

#[test]
fn a_request_that_makes_the_origin_fail_does_not_fail_those_who_wait() {
    for profile in BOTH {
        let (first, second) = (Gate::new(), Gate::new());
        let scene = Setup::new(profile).run([
            get("/").answers("").waits(&first).resets(),
            get("/").answers("").waits(&second).sends(ok(&[FRESH], "hello")),
        ]);
        let mut clients = waiting(&scene, 4, &[]);
        first.open();
        scene.origin.arrived(2);
        scene.settled();
        second.open();
        assert_eq!(clients.remove(0).response().status, 502);
        all_get(clients, 200, "hello");
        assert_eq!(scene.origin.count(), 2);
    }
}

#[test]
fn a_body_that_is_cut_is_cut_for_all_and_not_stored() {
    let gate = Gate::new();
    let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 6\r\n\r\nabc";
    let scene = Scenario::safe([get("/").answers(head).waits(&gate).closes(), get("/").answers(ok(&[FRESH], "whole"))]);
    let (mut first, mut second) = (scene.client(), scene.client());
    let heads = [&mut first, &mut second].map(|client| client.ask("GET", "/", &[]).next_head());
    gate.open();
    for (client, head) in [&mut first, &mut second].into_iter().zip(heads) {
        let response = client.rest_of(head);
        assert_eq!(response.ending, Ending::Cut, "{response:?}");
    }
    assert_eq!(scene.client().get("/").text(), "whole");
}

#[test]
fn an_incomplete_body_is_never_taken_for_a_whole_in_any_framing() {
    //= RFC 9111 section 3.3
    //# A cache MUST NOT use an incomplete response to answer requests unless the response has been made complete, or the
    //# request is partial and specifies a range wholly within the incomplete response.
    for profile in BOTH {
        for framing in ["Content-Length: 10\r\n\r\nfirst", "Transfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n"] {
            let gate = Gate::new();
            let scene = Setup::new(profile).run([
                get("/").answers(format!("HTTP/1.1 200 OK\r\n{FRESH}\r\n{framing}")).waits(&gate).closes(),
                get("/").answers(ok(&[FRESH], "whole")),
            ]);
            let mut clients = waiting(&scene, 4, &[]);
            let heads: Vec<_> = clients.iter_mut().map(Client::next_head).collect();
            gate.open();
            for (client, head) in clients.iter_mut().zip(heads) {
                let response = client.rest_of(head);
                assert_eq!((response.text().as_str(), response.ending), ("first", Ending::Cut), "{framing:?}");
            }
            assert_eq!(scene.client().get("/").text(), "whole");
        }
    }
}

#[test]
fn a_failed_validation_serves_the_stale_response_to_all_who_wait() {
    let gate = Gate::new();
    let fields = ["Cache-Control: max-age=10, stale-if-error=100", "ETag: \"1\""];
    let scene = Scenario::safe([
        get("/").answers(ok(&fields, "a")),
        get("/").answers("").waits(&gate).sends(reply("503 Down", &[], "down")),
    ]);
    scene.client().get("/");
    scene.advance(10);
    let mut first = scene.client();
    first.ask("GET", "/", &[]);
    scene.origin.arrived(2);
    let mut second = scene.client();
    second.ask("GET", "/", &[]);
    scene.settled();
    gate.open();
    for client in [&mut first, &mut second] {
        let response = client.response();
        assert_eq!((response.short(), response.detail().as_str()), ((200, "a".into()), "hit-stale-error"));
    }
}

#[test]
fn a_stale_response_stands_in_for_all_who_wait_when_the_origin_is_away() {
    for profile in BOTH {
        let gate = Gate::new();
        let scene = Setup::new(profile).run([
            get("/").answers(ok(&[FRESH, "Connection: close"], "old")).closes(),
            get("/").answers("").waits(&gate).closes(),
        ]);
        scene.client().get("/");
        scene.advance(70);
        let clients = waiting(&scene, 4, &[]);
        gate.open();
        for response in answers(clients) {
            let seen = (response.short(), response.is_hit(), response.field("age"));
            assert_eq!(seen, ((200, "old".into()), true, "70".into()));
        }
        assert_eq!(scene.origin.count(), 2);
    }
}

#[test]
fn where_staleness_is_forbidden_all_who_wait_get_the_failure() {
    //= RFC 9111 section 5.2.2.2
    //# In all circumstances, a cache MUST NOT ignore the must-revalidate directive; in particular, if a cache is
    //# disconnected, the cache MUST generate an error response rather than reuse the stale response.
    for control in ["must-revalidate", "proxy-revalidate", "s-maxage=5"] {
        let (first, second) = (Gate::new(), Gate::new());
        let control = format!("Cache-Control: max-age=5, {control}");
        let scene = Scenario::rfc([
            get("/").answers(ok(&[&control, "Connection: close"], "old")).closes(),
            get("/").answers("").waits(&first).closes(),
            get("/").answers("").waits(&second).closes(),
        ]);
        scene.client().get("/");
        scene.advance(10);
        let clients = waiting(&scene, 3, &[]);
        first.open();
        scene.origin.arrived(3);
        scene.settled();
        second.open();
        for response in answers(clients) {
            assert_eq!(response.status, 502, "{control}");
        }
        assert_eq!(scene.origin.count(), 3);
    }
}

#[test]
fn who_waits_for_a_range_of_a_fill_that_is_cut_before_it_is_told_so() {
    for profile in BOTH {
        let (started, rest) = (Gate::new(), Gate::new());
        let begun = format!("HTTP/1.1 200 OK\r\n{FRESH}\r\nETag: \"1\"\r\nContent-Length: 1000\r\n\r\n0123456789");
        let cut = get("/").answers("").waits(&started).sends(begun).waits(&rest).closes();
        let scene = Setup::new(profile).run([cut]);
        let mut first = asking(&scene, &[]);
        scene.origin.arrived(1);
        let mut part = asking(&scene, &["Range: bytes=500-509"]);
        let mut early = asking(&scene, &["Range: bytes=5-504"]);
        scene.settled();
        started.open();
        assert_eq!(first.next_head().word(1), "200");
        assert_eq!(early.next_head().word(1), "206");
        scene.settled();
        rest.open();
        let told = part.response();
        assert_eq!((told.status, told.detail().as_str()), (502, "origin-closed-early"), "{told:?}");
        assert!(!told.field("cache-status").contains("stored"), "{told:?}");
        assert!(told.ending == Ending::Whole, "the connection goes on");
        for mut client in [first, early] {
            client.rest();
        }
    }
}
