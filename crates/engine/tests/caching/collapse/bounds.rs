//! Responses larger than the largest object, fills beyond their share of the memory, and clients that lag behind.

use crate::collapse::{FRESH, waiting};
use kasoku_testkit::{Client, Ending, Gate, Setup, get, ok, post};

#[test]
fn a_response_too_large_to_store_is_not_waited_for() {
    let gate = Gate::new();
    let body = vec![b'x'; 100_000];
    let answer = || get("/").answers("").waits(&gate).sends(ok(&[FRESH], &body));
    let scene = Setup::safe().options(|options| options.object_bytes_max = 50_000).run([answer(), answer()]);
    let mut clients = waiting(&scene, 2, &[]);
    gate.open();
    for client in &mut clients {
        assert_eq!(client.response().body.len(), body.len());
    }
}

#[test]
fn a_response_that_turns_out_too_large_reaches_all_who_read_it() {
    let gate = Gate::new();
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    let head = format!("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}");
    let script = get("/").answers(head).waits(&gate).sends(chunk.repeat(20)).sends("0\r\n\r\n");
    let scene = Setup::safe().options(|options| options.object_bytes_max = 200_000).run([script]);
    let (mut first, mut second) = (scene.client(), scene.client());
    let heads = [&mut first, &mut second].map(|client| client.ask("GET", "/", &[]).next_head());
    gate.open();
    let [first_head, second_head] = heads;
    let reading = std::thread::spawn(move || first.rest_of(first_head).body.len());
    assert_eq!(second.rest_of(second_head).body.len(), 21 * 0x10000);
    assert_eq!(reading.join().unwrap(), 21 * 0x10000);
    assert!(scene.engine.cache().is_empty());
}

#[test]
fn a_body_that_has_grown_too_large_reaches_its_readers_whole_and_who_comes_then_asks_for_itself() {
    let gate = Gate::new();
    let half: Vec<u8> = (0..1_u32 << 19).flat_map(u32::to_be_bytes).collect();
    let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n\r\n";
    let scene = Setup::safe().options(|options| options.object_bytes_max = 1 << 20).run([
        get("/").answers(head).sends(&half).waits(&gate).sends(&half).closes(),
        get("/").answers(ok(&["Cache-Control: no-store"], "small by now")),
    ]);
    let mut first = scene.client();
    first.send("GET / HTTP/1.0\r\nHost: example.org\r\n\r\n").next_head();
    assert!(first.take(half.len()) == half);
    assert_eq!(scene.client().get("/").text(), "small by now");
    gate.open();
    assert!(first.take(half.len()) == half);
    first.is_closed();
}

#[test]
fn a_fill_that_cannot_be_stored_ends_when_its_last_reader_leaves() {
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n";
    let script = get("/").answers(head).sends_held_up(chunk.repeat(1000)).awaits_end();
    let scene = Setup::safe().options(|options| options.object_bytes_max = 200_000).run([script]);
    let mut client = Client::connect_slow(scene.engine.addresses()[0]);
    client.ask("GET", "/", &[]).next_head();
    scene.origin.is_held_up();
    client.reset();
    scene.origin.done(1);
    assert_eq!(scene.engine.cache().fills_running(), 0);
}

#[test]
fn a_slow_reader_of_what_is_not_stored_gets_right_bytes_or_is_cut_and_delays_no_other() {
    // 16 MiB of ascending numbers, so that a gap would show.
    let gate = Gate::new();
    let body: Vec<u8> = (0..4_u32 << 20).flat_map(u32::to_be_bytes).collect();
    let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunks = [format!("{:x}\r\n", body.len()).as_bytes(), &body, b"\r\n0\r\n\r\n"].concat();
    let scene = Setup::safe()
        .options(|options| options.object_bytes_max = 1 << 20)
        .run([get("/").answers(head).waits(&gate).sends(chunks)]);
    let mut laggard = Client::connect_slow(scene.engine.addresses()[0]);
    let laggards_head = laggard.ask("GET", "/", &[]).next_head();
    let mut fast = scene.client();
    let fast_head = fast.ask("GET", "/", &[]).next_head();
    gate.open();
    let response = fast.rest_of(fast_head);
    assert!(response.body == body, "{} bytes of {}", response.body.len(), body.len());
    let late = laggard.rest_of(laggards_head);
    assert!(body.starts_with(&late.body), "{} bytes, of which some are wrong", late.body.len());
    assert_eq!(late.ending == Ending::Whole, late.body.len() == body.len());
    assert!(scene.engine.cache().is_empty());
}

#[test]
fn clients_get_their_answers_when_running_fills_have_used_up_their_share_of_the_memory() {
    let gate = Gate::new();
    let (head, piece) =
        ("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 800000\r\n\r\n", "x".repeat(400_000));
    let large = |target: &str| get(target).answers(head).sends(&piece).waits(&gate).sends(&piece);
    let targets = ["/1", "/2", "/3", "/4"];
    // While nothing is stored, fills may use the whole memory: it has room for two. The other requests pass.
    let scene = Setup::safe()
        .options(|options| (options.memory_bytes_max, options.object_bytes_max) = (2 << 20, 1 << 20))
        .run(targets.map(large));
    let mut clients = targets.map(|target| {
        let mut client = scene.client();
        client.ask("GET", target, &[]).next_head();
        client.take(400_000);
        client
    });
    gate.open();
    for client in &mut clients {
        client.take(400_000);
    }
    scene.origin.then(get("/small").answers(ok(&[FRESH], "hello")));
    let mut later = scene.client();
    later.get("/small");
    assert!(later.get("/small").is_hit(), "it has become free again");
}

#[test]
fn a_fill_gives_its_memory_back_however_it_ends() {
    let body = "x".repeat(300_000);
    let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n";
    let too_short = format!("{head}Content-Length: 300001\r\n\r\n{body}");
    let too_large = format!("{head}\r\n{}", body.repeat(4));
    let scene = Setup::safe()
        .options(|options| (options.memory_bytes_max, options.object_bytes_max) = (4 << 20, 1 << 20))
        .run([]);
    for _ in 0..8 {
        scene.origin.then(get("/cut").answers(&too_short).closes());
        // If the worker sees the end of the origin's connection before it has sent a byte, it can still answer 502.
        let cut = scene.client().ask("GET", "/cut", &[]).cut_response();
        assert!(cut.status == 502 || cut.ending == Ending::Cut, "{}", cut.status);
        scene.eventually(|| scene.engine.cache().fills_running() == 0);
        scene.advance(1);
        scene.origin.then(get("/large").answers(&too_large).closes());
        assert_eq!(scene.client().get("/large").body.len(), 1_200_000);
        scene.origin.then(get("/poisoned").answers(ok(&["Cache-Control: max-age=60"], &body)));
        scene.origin.then(post("/poisoned").answers(ok(&[], "")));
        scene.client().get("/poisoned");
        scene.client().send_body("POST", "/poisoned", &[], "x");
        scene.origin.then(get("/private").answers(ok(&["Cache-Control: private"], &body)));
        scene.client().get("/private");
    }
    scene.eventually(|| scene.engine.cache().fills_running() == 0);
    scene.origin.then(get("/").answers(ok(&[FRESH], &body)));
    scene.client().get("/");
    assert!(scene.client().get("/").is_hit());
}
