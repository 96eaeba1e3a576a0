//! Requests that join a fill and stream it: at once, on any core, even if other clients leave or lag behind.

use crate::collapse::{FRESH, all_get, asking, in_two_pieces, waiting};
use kasoku_testkit::{BOTH, Client, Ending, Gate, Scenario, Setup, get, ok};

#[test]
fn many_clients_cost_one_request() {
    //= RFC 9111 section 4
    //# A cache can use a response that is stored or storable to satisfy multiple requests, provided that it is allowed to reuse
    //# that response for the requests in question.
    for profile in BOTH {
        let gate = Gate::new();
        let scene = Setup::new(profile).run([get("/").answers("").waits(&gate).sends(ok(&[FRESH], "a"))]);
        let mut clients = waiting(&scene, 20, &[]);
        gate.open();
        for (number, client) in clients.iter_mut().enumerate() {
            let response = client.response();
            assert_eq!(response.short(), (200, "a".into()));
            assert_eq!(response.cache_status("collapsed").is_some(), number > 0);
        }
    }
}

#[test]
fn many_clients_of_several_workers_cost_one_request() {
    let gate = Gate::new();
    let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 6\r\n\r\nabc";
    let scene =
        Setup::safe().options(|options| options.workers = 2).run([get("/").answers(head).waits(&gate).sends("def")]);
    // Sixteen connections all land on one worker once in 32,768 runs; the test passes even then.
    let mut clients: Vec<Client> = (0..16).map(|_| scene.client()).collect();
    for client in &mut clients {
        client.ask("GET", "/", &[]);
        assert_eq!(client.next_head().field("content-length").as_deref(), Some("6"));
        client.reads("abc");
    }
    gate.open();
    for client in &mut clients {
        client.reads("def");
    }
}

#[test]
fn clients_of_any_core_wait_for_one_head() {
    for workers in [2, 3] {
        let gate = Gate::new();
        let script = [get("/").answers("").waits(&gate).sends(ok(&[FRESH], "hello"))];
        let scene = Setup::safe().options(|options| options.workers = workers).run(script);
        let clients: Vec<Client> = (0..24).map(|_| asking(&scene, &[])).collect();
        scene.origin.arrived(1);
        for i in 0..8 {
            eprintln!("round {i} {:?}", scene.origin.connections());
            scene.settled();
        }
        gate.open();
        all_get(clients, 200, "hello");
        assert_eq!(scene.origin.count(), 1);
    }
}

#[test]
fn a_late_client_streams_what_has_arrived_and_what_comes() {
    let gate = Gate::new();
    let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n";
    let scene = Scenario::safe([get("/").answers(head).waits(&gate).sends("3\r\ndef\r\n0\r\nX-Sum: 6\r\n\r\n")]);
    let (mut first, mut late) = (scene.client(), scene.client());
    let mut heads = Vec::new();
    for client in [&mut first, &mut late] {
        heads.push(client.ask("GET", "/", &[]).next_head());
    }
    gate.open();
    for (client, head) in [&mut first, &mut late].into_iter().zip(heads) {
        let response = client.rest_of(head);
        assert_eq!((response.text().as_str(), response.ending), ("abcdef", Ending::Whole));
        assert_eq!(response.trailers, [("X-Sum".to_owned(), "6".to_owned())]);
    }
}

#[test]
fn a_late_client_of_http_1_0_gets_the_same_fill_until_close() {
    let gate = Gate::new();
    let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n";
    let scene = Scenario::safe([get("/").answers(head).waits(&gate).sends("3\r\ndef\r\n0\r\n\r\n")]);
    let mut first = scene.client();
    let head = first.ask("GET", "/", &[]).next_head();
    let mut late = scene.client();
    late.send("GET / HTTP/1.0\r\nHost: example.org\r\n\r\n");
    let late_head = late.next_head();
    gate.open();
    assert_eq!(late.rest_of(late_head).text(), "abcdef");
    assert_eq!(first.rest_of(head).text(), "abcdef");
}

#[test]
fn the_condition_of_one_who_waits_is_its_own() {
    let gate = Gate::new();
    let scene = Scenario::safe([get("/").answers("").waits(&gate).sends(ok(&[FRESH, "ETag: \"1\""], "hello"))]);
    let clients = waiting(&scene, 2, &[]);
    let mut has_it = asking(&scene, &["If-None-Match: \"1\""]);
    let mut has_another = asking(&scene, &["If-None-Match: \"0\""]);
    scene.settled();
    gate.open();
    all_get(clients, 200, "hello");
    assert_eq!(has_it.response().status, 304);
    assert_eq!(has_another.response().short(), (200, "hello".into()));
    assert_eq!(scene.origin.count(), 1);
}

#[test]
fn the_clients_own_condition_holds_for_an_answer_that_is_its_own() {
    for field in ["If-None-Match: \"1\"", "If-Modified-Since: Sat, 01 Jan 2000 00:00:00 GMT"] {
        let fields = ["Cache-Control: private", "ETag: \"1\"", "Last-Modified: Sat, 01 Jan 2000 00:00:00 GMT"];
        let scene = Scenario::safe([get("/").answers(ok(&fields, "mine"))]);
        assert_eq!(scene.client().get_with("/", &[field]).status, 304, "{field}");
    }
}

#[test]
fn the_first_client_can_leave_while_others_wait_for_the_head() {
    let gate = Gate::new();
    let scene = Scenario::safe([get("/").answers("").waits(&gate).sends(ok(&[FRESH], "a"))]);
    let mut clients = waiting(&scene, 3, &[]);
    clients.remove(0).reset();
    scene.settled();
    gate.open();
    for client in &mut clients {
        assert_eq!(client.response().short(), (200, "a".into()));
    }
}

#[test]
fn the_first_client_can_leave_while_others_read_the_body() {
    let gate = Gate::new();
    let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 6\r\n\r\nabc";
    let scene = Scenario::safe([get("/").answers(head).waits(&gate).sends("def")]);
    let (mut first, mut second) = (scene.client(), scene.client());
    for client in [&mut first, &mut second] {
        client.ask("GET", "/", &[]).next_head();
        client.reads("abc");
    }
    first.reset();
    scene.settled();
    gate.open();
    second.reads("def");
    assert_eq!(scene.client().get("/").text(), "abcdef");
}

#[test]
fn any_client_can_leave_in_the_middle_of_the_body() {
    for leaving in 0..3 {
        let gate = Gate::new();
        let scene = Scenario::safe([in_two_pieces(&[FRESH], &gate)]);
        let mut clients = waiting(&scene, 3, &[]);
        for client in &mut clients {
            client.next_head();
            client.reads("first");
        }
        clients.remove(leaving).reset();
        scene.settled();
        gate.open();
        for client in &mut clients {
            client.reads("after");
        }
        assert!(scene.client().get("/").is_hit());
    }
}

#[test]
fn who_comes_after_the_only_client_has_left_still_joins() {
    let gate = Gate::new();
    let scene = Scenario::safe([get("/").answers("").waits(&gate).sends(ok(&[FRESH], "hello"))]);
    waiting(&scene, 1, &[]).remove(0).reset();
    scene.settled();
    let late = asking(&scene, &[]);
    scene.settled();
    gate.open();
    all_get(vec![late], 200, "hello");
}

#[test]
fn a_slow_client_never_slows_the_store() {
    let body = vec![b'x'; 7 << 20];
    let scene = Scenario::safe([get("/").answers(ok(&[FRESH], &body))]);
    let mut slow = Client::connect_slow(scene.engine.addresses()[0]);
    slow.ask("GET", "/", &[]).next_head();
    // The slow client began the fill and has read almost nothing; another client gets the whole body.
    assert!(scene.client().get("/").body == body);
    assert!(scene.client().get("/").is_hit());
    assert!(slow.take(body.len()) == body);
}
