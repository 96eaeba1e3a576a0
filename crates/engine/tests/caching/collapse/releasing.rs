//! Answers that are for one client alone: the waiting requests are released at once, and each asks the origin itself.

use crate::collapse::{FRESH, asking, bodies, waiting};
use kasoku_testkit::{BOTH, Client, Gate, Scenario, Setup, get, ok, reply};
use std::collections::BTreeSet;

#[test]
fn an_answer_that_may_not_be_shared_releases_all_who_wait_at_once() {
    for (profile, field) in [
        (BOTH[0], "Cache-Control: private"),
        (BOTH[1], "Cache-Control: no-store"),
        (BOTH[0], "Set-Cookie: session=1"),
        (BOTH[1], "Vary: *"),
    ] {
        let (first, others) = (Gate::new(), Gate::new());
        let own = |body| get("/").answers("").waits(&others).sends(ok(&["Cache-Control: private"], body));
        let scene = Setup::new(profile).run([
            get("/").answers("").waits(&first).sends(ok(&[field], "first")),
            own("own"),
            own("own"),
            own("own"),
        ]);
        let mut clients = waiting(&scene, 4, &[]);
        first.open();
        assert_eq!(clients.remove(0).response().text(), "first");
        // All three ask the origin before any of them is answered: they don't queue.
        scene.origin.arrived(4);
        others.open();
        for client in &mut clients {
            let response = client.response();
            assert_eq!((response.text().as_str(), response.is_hit()), ("own", false), "{field}");
        }
    }
}

#[test]
fn clients_of_any_core_are_released_by_a_private_answer() {
    let gate = Gate::new();
    let script = (0..12).map(|n| {
        let exchange = get("/").answers("");
        let exchange = if n == 0 { exchange.waits(&gate) } else { exchange };
        exchange.sends(ok(&["Cache-Control: private"], format!("{n}")))
    });
    let scene = Setup::safe().options(|options| options.workers = 3).run(script);
    let clients: Vec<Client> = (0..12).map(|_| asking(&scene, &[])).collect();
    scene.origin.arrived(1);
    gate.open();
    assert_eq!(bodies(clients).len(), 12, "each has an answer of its own");
}

#[test]
fn the_body_of_a_private_answer_delays_no_other_client_either() {
    for profile in BOTH {
        let (head, rest) = (Gate::new(), Gate::new());
        let first = "HTTP/1.1 200 OK\r\nCache-Control: private\r\nContent-Length: 6\r\n\r\nown";
        let scene = Setup::new(profile).run([
            get("/").answers("").waits(&head).sends(first).waits(&rest).sends("-0!"),
            get("/").answers(ok(&["Cache-Control: private"], "own-1")),
            get("/").answers(ok(&["Cache-Control: private"], "own-2")),
        ]);
        let mut clients = waiting(&scene, 3, &[]);
        head.open();
        let mut first = clients.remove(0);
        assert_eq!(bodies(clients), ["own-1".to_owned(), "own-2".to_owned()].into());
        rest.open();
        assert_eq!(first.response().text(), "own-0!");
    }
}

#[test]
fn what_a_released_client_brings_is_stored_if_it_may_be() {
    let gate = Gate::new();
    let scene = Scenario::safe([
        get("/").answers("").waits(&gate).sends(ok(&["Cache-Control: private"], "private")),
        get("/").answers(ok(&[FRESH], "for all")),
    ]);
    let clients = waiting(&scene, 2, &[]);
    gate.open();
    assert_eq!(bodies(clients), ["for all".to_owned(), "private".to_owned()].into());
    let hit = scene.client().get("/");
    assert_eq!((hit.is_hit(), hit.text().as_str()), (true, "for all"));
}

#[test]
fn an_answer_that_must_be_validated_before_each_use_is_not_shared_with_those_who_wait() {
    //= RFC 9111 section 5.2.2.4
    //# The no-cache response directive, in its unqualified form (without an argument), indicates that the response MUST NOT
    //# be used to satisfy any other request without forwarding it for validation and receiving a successful response; see
    //# Section 4.3.
    for profile in BOTH {
        for control in ["no-cache", "max-age=0", "s-maxage=0"] {
            let gate = Gate::new();
            let control = format!("Cache-Control: {control}");
            let fields = [control.as_str(), "ETag: \"1\""];
            let scene = Setup::new(profile).run([
                get("/").answers("").waits(&gate).sends(ok(&fields, "0")),
                get("/").answers(ok(&fields, "1")),
                get("/").answers(ok(&fields, "2")),
            ]);
            let clients = waiting(&scene, 3, &[]);
            gate.open();
            assert_eq!(bodies(clients).len(), 3, "{control}");
        }
    }
}

#[test]
fn an_error_of_the_origin_is_not_shared_unless_it_may_be() {
    let gate = Gate::new();
    let scene = Scenario::safe([
        get("/").answers("").waits(&gate).sends(reply("500 Oops", &[], "first")),
        get("/").answers(reply("500 Oops", &[], "second")),
    ]);
    let mut clients = waiting(&scene, 2, &[]);
    gate.open();
    assert_eq!((clients[0].response().text(), clients[1].response().text()), ("first".into(), "second".into()));
}

#[test]
fn a_visitors_own_answer_is_not_given_to_those_who_waited_for_it() {
    let gate = Gate::new();
    let scene = Scenario::safe([
        get("/").answers("").waits(&gate).sends(ok(&[FRESH], "welcome, Ann")),
        get("/").answers(ok(&[FRESH], "welcome")),
    ]);
    let mut ann = scene.client();
    ann.ask("GET", "/", &["Cookie: name=ann"]);
    scene.origin.arrived(1);
    let mut other = scene.client();
    other.ask("GET", "/", &[]);
    scene.settled();
    gate.open();
    assert_eq!(ann.response().text(), "welcome, Ann");
    assert_eq!(other.response().text(), "welcome");
}

#[test]
fn a_stream_without_an_end_is_neither_stored_nor_joined() {
    for (profile, fields) in [
        (BOTH[0], ["Content-Type: text/event-stream", FRESH]),
        (BOTH[1], ["Content-Type: Text/Event-Stream; charset=utf-8", "Cache-Control: public, s-maxage=60"]),
        (BOTH[0], ["Content-Type: multipart/x-mixed-replace;boundary=a", "Cache-Control: public, s-maxage=60"]),
    ] {
        let gate = Gate::new();
        let endless = |event: &str| {
            let head = format!("HTTP/1.1 200 OK\r\n{}\r\n", fields.map(|field| format!("{field}\r\n")).concat());
            head + event
        };
        let own = |event: &str| get("/").answers("").sends(endless(event)).awaits_end();
        let first = get("/").answers("").waits(&gate).sends(endless("data: 1\n\n")).awaits_end();
        let scene = Setup::new(profile).run([first, own("data: 2\n\n"), own("data: 3\n\n"), own("data: 4\n\n")]);
        let mut clients = waiting(&scene, 3, &[]);
        gate.open();
        // Each client's stream has its own events only.
        let events: BTreeSet<String> = clients.iter_mut().map(event).collect();
        assert_eq!(events, ["1", "2", "3"].map(str::to_owned).into(), "{fields:?}");
        assert_eq!(event(scene.client().ask("GET", "/", &[])), "4", "{fields:?}");
        drop(clients);
    }
}

#[test]
fn a_granted_lifetime_keeps_no_stream_of_events_and_each_client_asks_for_its_own() {
    for profile in BOTH {
        let gate = Gate::new();
        let endless = |event: &str| format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n{event}");
        let own = |event: &str| get("/").answers("").sends(endless(event)).awaits_end();
        let setup = Setup::new(profile).policy(|policy| policy.grant.ttl_seconds = 60);
        let nobodys = get("/").answers("").waits(&gate).sends(endless("data: 0\n\n")).awaits_end();
        let scene = setup.run([nobodys, own("data: 1\n\n"), own("data: 2\n\n"), own("data: 3\n\n")]);
        let mut clients = waiting(&scene, 2, &[]);
        gate.open();
        let events: BTreeSet<String> = clients.iter_mut().map(event).collect();
        assert_eq!(events, ["1", "2"].map(str::to_owned).into());
        // The next request goes to the origin without an anonymous request before it.
        assert_eq!(event(scene.client().ask("GET", "/", &["Last-Event-ID: 8"])), "3");
        let ids: Vec<Option<String>> =
            scene.origin.requests().iter().map(|received| received.field("last-event-id")).collect();
        let told = |id: &str| Some(id.to_owned());
        assert_eq!(ids, [None, None, None, told("8")]);
    }
}

/// The number in the first event that a client gets.
fn event(client: &mut Client) -> String {
    let head = client.next_head();
    assert_eq!(head.word(1), "200");
    assert!(!head.field("cache-status").unwrap_or_default().contains("hit"), "{head:?}");
    let mut text = String::new();
    while !text.ends_with("\n\n") {
        text.push(char::from(client.take(1)[0]));
    }
    let number = text.split("data: ").nth(1).unwrap();
    number.trim_end().to_owned()
}
