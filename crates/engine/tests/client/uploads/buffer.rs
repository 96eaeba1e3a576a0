//! Where a request body is kept until it is whole, the bounds on it there, and that it leaves nothing behind.

use super::programs::{Programs, Served};
use super::{COUNTS, nothing_is_left, on_disk, text, upload};
use kasoku_options::Options;
use kasoku_testkit::{Folder, Response, Setup};
use std::fs;
use std::time::Duration;

/// The bytes of a body that a request may keep in memory.
const MEMORY: usize = 64 << 10;

struct Scene {
    served: Served,
    programs: Programs,
    folder: Folder,
}

impl Scene {
    fn kept_bytes(&self) -> u64 {
        self.served.0.engine.handle().request_buffer_bytes()
    }
}

/// A program that counts its input and notes each run. Bodies are buffered in a folder of their own.
fn start(change: impl FnOnce(&mut Options)) -> Scene {
    let programs = Programs::with(&[("up.cgi", &format!("echo >> runs; {COUNTS}"))]);
    let folder = Folder::new();
    let setup = Setup::safe().options(|options| {
        options.request_buffer.directory = Some(folder.path().to_owned());
        change(options);
    });
    Scene { served: programs.serve_by(setup, |_| ()), programs, folder }
}

#[track_caller]
fn is_refused(response: &Response, status: u16, reason: &str) {
    assert_eq!((response.status, response.detail().as_str()), (status, reason), "{response:?}");
    assert_eq!(response.field("retry-after"), if status == 503 { "1" } else { "" });
}

#[test]
fn bodies_of_all_lengths_arrive_whole() {
    let scene = start(|_| ());
    let mut client = scene.served.client();
    for bytes in [1, (16 << 10) - 1, 16 << 10, (16 << 10) + 1, MEMORY - 1, MEMORY, MEMORY + 1, 3 * MEMORY, 1_000_003] {
        let (body, counted) = (text(bytes), format!("{bytes} {bytes}\n"));
        assert_eq!(client.send_body("POST", "/up.cgi", &[], &body).text(), counted);
        client.ask("POST", "/up.cgi", &["Transfer-Encoding: chunked"]);
        for chunk in body.as_bytes().chunks(10_007) {
            client.send(format!("{:x}\r\n", chunk.len())).send(chunk).send("\r\n");
        }
        assert_eq!(client.send("0\r\n\r\n").response().text(), counted);
    }
    nothing_is_left(&scene.served.0);
}

#[test]
fn whatever_the_request_its_own_body_arrives_and_the_next_request_is_not_touched() {
    let scene = start(|_| ());
    scene.programs.write("on.cgi", "#!/bin/sh\nprintf 'Location: /up.cgi\\n\\n'\n");
    let long = text(100_000);
    let mut client = scene.served.client();
    let next = "GET /up.cgi HTTP/1.1\r\nHost: a\r\n\r\n";
    // Two requests with bodies and two without, all sent at once on one connection.
    client.send(format!("POST /up.cgi HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n{long}{next}"));
    client.send(format!(
        "GET /up.cgi HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n186a0\r\n{long}\r\n0\r\n\r\n{next}"
    ));
    for counted in ["100000 100000\n", " 0\n", "100000 100000\n", " 0\n"] {
        assert_eq!(client.response().text(), counted);
    }
    client.ask("POST", "/up.cgi", &["Transfer-Encoding: chunked"]).send("0\r\n\r\n");
    assert_eq!(client.response().text(), "0 0\n", "an empty body is one");
    assert_eq!(client.send_body("POST", "/on.cgi", &[], &long).text(), " 0\n", "a local redirect is a GET");
    client.send(format!(
        "POST /up.cgi HTTP/1.0\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 100000\r\n\r\n{long}"
    ));
    assert_eq!(client.response().text(), "100000 100000\n");
    nothing_is_left(&scene.served.0);
}

#[test]
fn what_a_request_keeps_in_memory_is_charged_and_what_is_longer_goes_to_disk() {
    let scene = start(|_| ());
    let (mut short, mut long) = (scene.served.client(), scene.served.client());
    upload(&mut short, "/up.cgi", 50_000, &text(20_000));
    scene.served.0.eventually(|| scene.served.0.engine.cache().held_bytes() == 50_000);
    assert_eq!(scene.kept_bytes(), 0);
    upload(&mut long, "/up.cgi", 1_000_000, &text(900_000));
    scene.served.0.eventually(|| scene.kept_bytes() > 800_000);
    assert_eq!(scene.served.0.engine.cache().held_bytes(), 50_000 + MEMORY as u64);
    assert_eq!(fs::read_dir(scene.folder.path()).unwrap().count(), 0, "the file has no name");
    assert_eq!(short.send(text(30_000)).response().text(), "50000 50000\n");
    assert_eq!(long.send(text(100_000)).response().text(), "1000000 1000000\n");
    nothing_is_left(&scene.served.0);
}

#[test]
fn while_memory_is_short_more_goes_to_disk() {
    let scene = start(|options| options.memory_bytes_max = 32 << 10);
    let mut client = scene.served.client();
    upload(&mut client, "/up.cgi", 40_000, &text(39_999));
    scene.served.0.eventually(|| scene.kept_bytes() > 16_000);
    assert_eq!(scene.served.0.engine.cache().held_bytes(), 0);
    assert_eq!(client.send("x").response().text(), "40000 40000\n");
    nothing_is_left(&scene.served.0);
}

#[test]
fn a_body_that_does_not_end_is_408_and_one_that_is_left_half_way_leaves_nothing() {
    let scene = start(|options| options.limits.body_timeout = Duration::from_millis(200));
    let mut client = scene.served.client();
    upload(&mut client, "/up.cgi", 1_000_000, &text(500_000));
    is_refused(&client.response(), 408, "body-timeout");
    nothing_is_left(&scene.served.0);

    assert_eq!(scene.programs.lines("runs"), 0, "a program has run");

    let scene = start(|_| ());
    for leaves_politely in [true, false] {
        let mut client = scene.served.client();
        upload(&mut client, "/up.cgi", 1_000_000, &text(500_000));
        scene.served.0.eventually(|| scene.kept_bytes() > 400_000);
        if leaves_politely {
            is_refused(&client.shutdown_write().response(), 400, "client-closed");
        } else {
            client.reset();
        }
        nothing_is_left(&scene.served.0);
    }
    assert_eq!(scene.programs.lines("runs"), 0, "a program has run");
}

#[test]
fn a_byte_now_and_then_does_not_keep_a_body_from_its_end() {
    let scene = start(|options| {
        // No client sends at that rate.
        (options.limits.body_timeout, options.limits.body_rate_min) = (Duration::from_secs(1), 1 << 40);
    });
    let mut client = scene.served.client();
    upload(&mut client, "/up.cgi", 100_000, "");
    let refused = || scene.served.0.engine.metrics().total(kasoku_metrics::Counter::Errors);
    while refused() == 0 {
        client.send("x");
        scene.served.0.settled();
    }
    is_refused(&client.response(), 408, "body-timeout");
}

#[test]
fn all_files_together_have_a_bound() {
    let scene = start(|options| options.request_buffer.bytes_max = 200_000);
    // A body that can never fit is refused before the client sends it.
    let mut client = scene.served.client();
    client.ask("POST", "/up.cgi", &["Content-Length: 200001", "Expect: 100-continue"]);
    is_refused(&client.response(), 413, "body-too-large");
    let mut client = scene.served.client();
    client.ask("POST", "/up.cgi", &["Transfer-Encoding: chunked"]).send("493e0\r\n").send(text(300_000));
    is_refused(&client.response(), 413, "body-too-large");
    on_disk(&scene.served.0, 0);

    let mut first = scene.served.client();
    upload(&mut first, "/up.cgi", 180_000, &text(179_999));
    scene.served.0.eventually(|| scene.kept_bytes() > 100_000);
    let mut second = scene.served.client();
    second.ask("POST", "/up.cgi", &["Content-Length: 150000", "Expect: 100-continue"]);
    is_refused(&second.response(), 503, "request-buffer-full");
    let mut third = scene.served.client();
    third.ask("POST", "/up.cgi", &["Transfer-Encoding: chunked"]).send("30d40\r\n").send(text(200_000));
    is_refused(&third.response(), 503, "request-buffer-full");
    assert_eq!(scene.programs.lines("runs"), 0);
    assert_eq!(first.send("x").response().text(), "180000 180000\n");
    on_disk(&scene.served.0, 0);
    assert_eq!(scene.served.client().send_body("POST", "/up.cgi", &[], &text(150_000)).text(), "150000 150000\n");
}

#[test]
fn what_fits_into_memory_asks_for_no_room_on_disk() {
    let scene = start(|options| options.request_buffer.bytes_max = 150_000);
    let mut first = scene.served.client();
    upload(&mut first, "/up.cgi", 140_000, &text(139_999));
    scene.served.0.eventually(|| scene.kept_bytes() > 95_000);
    assert_eq!(scene.served.client().send_body("POST", "/up.cgi", &[], &text(60_000)).text(), "60000 60000\n");
    assert_eq!(first.send("x").response().text(), "140000 140000\n");
    nothing_is_left(&scene.served.0);
}

#[test]
fn where_nothing_can_be_written_long_bodies_are_503_and_short_ones_go_through() {
    let scene = start(|_| ());
    fs::remove_dir(scene.folder.path()).unwrap();
    let mut client = scene.served.client();
    assert_eq!(client.send_body("POST", "/up.cgi", &[], &text(60_000)).text(), "60000 60000\n");
    let long = client.send_body("POST", "/up.cgi", &[], &text(100_000));
    is_refused(&long, 503, "request-buffer-failed");
    assert!(long.text().contains("request-buffer-failed"), "{long:?}");
    nothing_is_left(&scene.served.0);
}
