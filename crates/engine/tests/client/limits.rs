//! Limits on the client's side: 431, 414, 413, 408; bodies that are not read to their end; clients that do not read their answer.

use kasoku_metrics::Counter;
use kasoku_options::HostPattern;
use kasoku_testkit::{Client, Ending, Gate, Scenario, Setup, get, ok, post, reply};
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(100);

/// The length of a body in bytes: so long that the origin is asked before the body has ended.
const LONG: usize = 20_000;

#[test]
fn a_connection_ends_after_its_largest_number_of_requests() {
    let scene = Setup::safe()
        .options(|options| options.limits.requests_per_connection_max = 2)
        .run([get("/a").answers(ok(&["Cache-Control: max-age=9"], "a"))]);
    let mut client = scene.client();
    assert!(!client.get("/a").has("connection"));
    assert_eq!(client.get("/a").field("connection"), "close");
    client.is_closed();
}

#[test]
fn an_idle_connection_is_closed_without_a_word() {
    let scene = Setup::safe()
        .options(|options| options.limits.idle_timeout = SHORT)
        .run([get("/a").answers(ok(&["Cache-Control: max-age=9"], "a"))]);
    let mut client = scene.client();
    client.get("/a");
    client.is_closed();
}

#[test]
fn a_head_over_its_limit_is_431() {
    let scene = Setup::safe().options(|options| options.limits.head.head_bytes_max = 500).run([]);
    let mut client = scene.client();
    let response = client.ask("GET", "/a", &[&format!("X-Long: {}", "x".repeat(600))]).response();
    assert_eq!((response.status, response.field("connection").as_str()), (431, "close"));
    client.is_closed();

    let scene = Setup::safe().options(|options| options.limits.head.fields_max = 3).run([]);
    let mut client = scene.client();
    assert_eq!(client.ask("GET", "/a", &["A: 1", "B: 1", "C: 1"]).response().status, 431);
    client.is_closed();
}

#[test]
fn a_head_without_end_is_431_before_it_ends() {
    let scene = Setup::safe().options(|options| options.limits.head.head_bytes_max = 500).run([]);
    let mut client = scene.client();
    client.send(format!("GET /a HTTP/1.1\r\nHost: example.org\r\nX-Long: {}", "x".repeat(600)));
    assert_eq!(client.response().status, 431);
    client.is_closed();
}

#[test]
fn a_target_over_its_limit_is_414() {
    let scene = Setup::safe().options(|options| options.limits.head.target_bytes_max = 100).run([]);
    let mut client = scene.client();
    let response = client.ask("GET", &format!("/{}", "x".repeat(100)), &[]).response();
    assert_eq!((response.status, response.field("connection").as_str()), (414, "close"));
    client.is_closed();
}

#[test]
fn a_body_over_its_limit_is_413_by_its_length() {
    let scene = Setup::safe().options(|options| options.limits.request_body_bytes_max = 10).run([]);
    let mut client = scene.client();
    let response = client.ask("POST", "/a", &["Content-Length: 11"]).response();
    assert_eq!((response.status, response.field("connection").as_str()), (413, "close"));
    client.is_closed();
}

#[test]
fn a_chunked_body_over_its_limit_is_413_midway() {
    let scene = Setup::safe()
        .options(|options| options.limits.request_body_bytes_max = LONG as u64)
        .run([post("/a").answers("").closes()]);
    let mut client = scene.client();
    let chunk = format!("4000\r\n{}\r\n", "a".repeat(0x4000));
    client.ask("POST", "/a", &["Transfer-Encoding: chunked"]).send(format!("{chunk}{chunk}0\r\n\r\n"));
    assert_eq!(client.response().status, 413);
    client.is_closed();
    assert!(!scene.origin.request(0).is_whole, "the origin must not take a part for the whole");
}

#[test]
fn a_body_of_exactly_the_limit_passes() {
    let scene = Setup::safe()
        .options(|options| options.limits.request_body_bytes_max = 10)
        .run([post("/a").answers(ok(&[], "a")), post("/a").answers(ok(&[], "a"))]);
    let mut client = scene.client();
    assert_eq!(client.send_body("POST", "/a", &[], "0123456789").status, 200);
    client.ask("POST", "/a", &["Transfer-Encoding: chunked"]).send("a\r\n0123456789\r\n0\r\n\r\n");
    assert_eq!(client.response().status, 200);
}

#[test]
fn a_head_that_does_not_arrive_in_time_is_408() {
    let scene = Setup::safe().options(|options| options.limits.head_timeout = SHORT).run([]);
    let mut client = scene.client();
    client.send("GET /a HTTP/1.1\r\nHost: exam");
    let response = client.response();
    assert_eq!((response.status, response.field("connection").as_str()), (408, "close"));
    client.is_closed();
}

#[test]
fn long_heads_that_do_not_end_have_a_small_part_of_memory_and_are_503_beyond_it() {
    const HEADS: usize = 40;
    let scene = Setup::safe()
        .options(|options| (options.memory_bytes_max, options.object_bytes_max) = (8 << 20, 1 << 20))
        .run([get("/a").answers(ok(&["Cache-Control: max-age=60"], "a"))]);
    assert_eq!(scene.client().get("/a").text(), "a");
    scene.settled();
    let begun = format!("GET /a HTTP/1.1\r\nHost: example.org\r\nX-Long: {}", "x".repeat(40_000));
    let before = held(&scene);
    let mut clients: Vec<_> = (0..HEADS).map(|_| scene.client()).collect();
    for client in &mut clients {
        client.send(&begun);
    }
    // A sixteenth of the memory is half a MiB: there is room for at most 12 heads, whose buffers grow in steps.
    scene.counted(Counter::Errors, HEADS as u64 - 12);
    scene.eventually(|| held(&scene) > before + (8 * 40_000));
    scene.settled();
    assert!(held(&scene) <= before + (8 << 20) / 16, "{} bytes", held(&scene));
    let (mut served, mut refused) = (0, 0);
    for mut client in clients {
        let response = client.send("\r\n\r\n").response();
        match response.status {
            200 => served += 1,
            _ => {
                assert_eq!((response.status, response.field("connection").as_str()), (503, "close"));
                assert!(response.text().contains("no memory left for such heads"), "{response:?}");
                client.is_closed();
                refused += 1;
            }
        }
    }
    assert!(served >= 8 && refused >= HEADS - 12, "{served} served, {refused} refused");
    scene.eventually(|| held(&scene) == before);
}

fn held(scene: &Scenario) -> u64 {
    scene.engine.cache().held_bytes()
}

#[test]
fn what_is_sent_behind_a_request_is_charged_and_where_there_is_no_room_the_connection_ends() {
    let scene = Setup::safe()
        .options(|options| (options.memory_bytes_max, options.object_bytes_max) = (64 << 10, 8 << 10))
        .run([get("/a").answers(ok(&["Cache-Control: max-age=60"], "a"))]);
    let request = "GET /a HTTP/1.1\r\nHost: example.org\r\n\r\n";
    let mut client = scene.client();
    // A few requests fit into the buffer that each connection may have.
    client.send(request.repeat(20));
    (0..20).for_each(|_| assert_eq!(client.response().text(), "a"));
    // These do not fit: the request in progress is answered with `Connection: close`, so the client repeats the others.
    client.send(request.repeat(300));
    let last = std::iter::from_fn(|| Some(client.response())).take(300).find(|response| {
        assert_eq!(response.text(), "a");
        response.has("connection")
    });
    assert_eq!(last.map(|response| response.field("connection")).as_deref(), Some("close"));
}

#[test]
fn what_a_client_sends_while_it_waits_for_its_answer_is_read_ahead_once_and_a_little() {
    let gate = Gate::new();
    let scene = Scenario::safe([get("/a").waits(&gate).answers(ok(&["Cache-Control: no-store"], "a"))]);
    let mut client = scene.client();
    client.ask("GET", "/a", &[]);
    scene.origin.arrived(1);
    let before = scene.engine.cache().held_bytes();
    for _ in 0..4 {
        client.send(format!("GET /b HTTP/1.1\r\nX: {}", "x".repeat(16 << 10)));
        scene.settled();
    }
    // A head longer than usual would be charged to the memory.
    assert_eq!(scene.engine.cache().held_bytes(), before);
    gate.open();
    assert_eq!(client.response().text(), "a");
}

#[test]
fn a_body_that_does_not_arrive_in_time_is_408() {
    let setup = || Setup::safe().options(|options| options.limits.body_timeout = SHORT);
    let scene = setup().run([]);
    let mut client = scene.client();
    client.ask("POST", "/a", &["Content-Length: 10"]).send("01234");
    assert_eq!(client.response().status, 408);
    client.is_closed();

    let scene = setup().run([post("/a").answers("").closes()]);
    let mut client = scene.client();
    client.ask("POST", "/a", &["Content-Length: 30000"]).send("a".repeat(LONG));
    assert_eq!(client.response().status, 408);
    client.is_closed();
    assert!(!scene.origin.request(0).is_whole);
}

#[test]
fn a_body_in_bursts_of_small_chunks_is_read_to_its_end_if_the_client_keeps_the_rate() {
    const BURSTS: usize = 30;
    let pause = Duration::from_millis(100);
    // A burst of 2,000 bytes earns 200 ms, each of its chunks 10 ms.
    let scene = Setup::safe()
        .options(|options| (options.limits.body_timeout, options.limits.body_rate_min) = (20 * pause, 10_000))
        .run([post("/a").answers(ok(&[], "done"))]);
    let mut client = scene.client();
    client.ask("POST", "/a", &["Transfer-Encoding: chunked"]);
    let burst = format!("64\r\n{}\r\n", "a".repeat(100)).repeat(20);
    for _ in 0..BURSTS {
        std::thread::sleep(pause);
        client.send(&burst);
    }
    assert_eq!(client.send("0\r\n\r\n").response().text(), "done");
    assert_eq!(scene.origin.request(0).body.len(), BURSTS * 2_000);
}

#[test]
fn a_client_that_leaves_within_its_body_takes_its_request_back() {
    let scene = Scenario::safe([post("/a").answers("").closes()]);
    let mut client = scene.client();
    client.ask("POST", "/a", &["Content-Length: 30000"]).send("a".repeat(LONG));
    scene.origin.arrived(1);
    client.reset();
    assert!(!scene.origin.request(0).is_whole);
}

#[test]
fn a_body_that_is_not_read_to_its_end_closes_the_connection_after_the_answer() {
    //= RFC 9112 section 9.3
    //# A server MUST read the entire request message body or close the connection after sending its response;
    let scene = Scenario::safe([post("/a").sends(reply("403 Forbidden", &["Connection: close"], "no")).closes()]);
    let mut client = scene.client();
    client.ask("POST", "/a", &["Content-Length: 30000"]).send("a".repeat(LONG));
    let response = client.response();
    assert_eq!((response.status, response.text().as_str()), (403, "no"));
    assert_eq!(response.field("connection"), "close");
    client.send("GET /smuggled HTTP/1.1\r\nHost: example.org\r\n\r\n");
    client.is_closed();
}

#[test]
fn a_body_that_an_own_answer_did_not_wait_for_closes_the_connection() {
    let scene = Setup::safe()
        .route(|route| route.origin.connect_timeout = SHORT)
        .site(&[HostPattern::Exact("other.org".into())], |_| {})
        .run([]);
    let mut client = scene.client();
    client.ask("POST", "/a", &["Content-Length: 100"]).send("GET /smuggled HTTP/1.1\r\nHost: other.org\r\n\r\n");
    let response = client.response();
    assert_eq!((response.status, response.field("connection").as_str()), (421, "close"));
    client.is_closed();
}

#[test]
fn a_client_that_takes_nothing_is_cut() {
    let big = vec![b'x'; 7 << 20];
    let scene = Setup::safe()
        .options(|options| options.limits.send_timeout = SHORT)
        .run([get("/big").answers(ok(&["Cache-Control: max-age=60"], &big)), get("/b").answers(ok(&[], "b"))]);
    assert_eq!(scene.client().get("/big").body.len(), big.len());
    let mut slow = Client::connect_slow(scene.engine.addresses()[0]);
    slow.ask("GET", "/big", &[]);
    // The client can still read the bytes that the kernel buffered; the engine has given up the rest.
    scene.counted(Counter::Aborted, 1);
    assert_eq!(slow.cut_response().ending, Ending::Cut);
    assert_eq!(scene.client().get("/b").text(), "b");
}

#[test]
fn while_memory_is_short_who_takes_nothing_of_what_was_evicted_is_cut() {
    const PAGES: usize = 16;
    let body = vec![b'x'; 900 << 10];
    let script = |number: usize| get(&format!("/{number}")).answers(ok(&["Cache-Control: max-age=60"], &body));
    let scene = Setup::safe()
        .options(|options| (options.memory_bytes_max, options.object_bytes_max) = (8 << 20, 1 << 20))
        .run([script(0)]);
    let mut other = scene.client();
    // Each page gets a client that reads the head and then nothing: an evicted page stays in memory for it.
    let mut slow = Vec::new();
    for number in 0..PAGES {
        let page = other.get(&format!("/{number}"));
        assert_eq!(page.body.len(), body.len());
        if page.detail() == "memory-full" {
            break;
        }
        scene.origin.then(script(number + 1));
        let mut client = Client::connect_slow(scene.engine.addresses()[0]);
        client.ask("GET", &format!("/{number}"), &[]).next_head();
        slow.push(client);
    }
    let evicted = slow.len() - scene.engine.cache().len();
    assert!(evicted > 0 && slow.len() < PAGES, "{evicted} of {} evicted", slow.len());
    // A client that reads a page that is still stored costs nothing and may stay.
    scene.counted(Counter::SlowReadersCut, 1);
    scene.eventually(|| !scene.engine.cache().is_short());
    assert!(scene.engine.metrics().total(Counter::SlowReadersCut) <= evicted as u64);
}
