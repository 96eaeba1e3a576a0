//! The rate at which a named file is sent: the configured one, or the one that the application states.
//!
//! The tests measure the least time that the bytes beyond the first second's take. It may take longer, but not less: the bytes of
//! the first second go at once, and the engine sends the rest in steps of a quarter of a second.

use super::{allow, with_large_file};
use kasoku_testkit::{Client, Folder, Response, Setup, get, ok};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

const RATE: usize = 400_000;
const WAIT_MAX: Duration = Duration::from_secs(10);

/// A quarter more than the bytes of one second.
const BYTES: usize = RATE + RATE / 4;
const LEAST: Duration = Duration::from_millis(250);

/// The answer to a request for `range` and the time that it takes, with `set` bytes per second configured and these fields of the
/// application.
fn sent(set: usize, fields: &[&str], range: &str) -> (Response, Duration) {
    let folder = Folder::new();
    folder.write("a.bin", vec![b'x'; BYTES]);
    let setup = Setup::safe().route(|route| (allow(&folder, route), route.file_rate_max = set as u64).0);
    let scene = setup.run([get("/").answers(ok(fields, ""))]);
    let begun = Instant::now();
    let (mut client, range, (sender, came)) = (scene.client(), range.to_owned(), channel());
    std::thread::spawn(move || sender.send(client.get_with("/", &[&range])));
    let response = came.recv_timeout(WAIT_MAX).unwrap_or_else(|_| panic!("a rate that makes it take for ever"));
    assert_eq!(response.field("content-length"), response.body.len().to_string());
    assert!(response.body.len() >= BYTES - 1 && !response.has("x-accel-limit-rate"));
    (response, begun.elapsed())
}

#[test]
fn the_rate_that_an_application_says_is_kept_whichever_field_names_the_file() {
    let rate = format!("X-Accel-Limit-Rate: {RATE}");
    for named in ["X-Sendfile: a.bin", "X-LIGHTTPD-send-file: a.bin", "X-Accel-Redirect: /protected/a.bin"] {
        let (response, took) = sent(0, &[named, &rate], "Range: bytes=0-");
        assert!(response.status == 206 && took >= LEAST, "{named}: {took:?}");
    }
    let (response, took) = sent(0, &["X-Sendfile: a.bin", &rate], "Range: bytes=0-0, 2-");
    assert!(response.field("content-type").starts_with("multipart/byteranges") && took >= LEAST, "{took:?}");
}

#[test]
fn a_decision_that_is_stored_keeps_its_rate() {
    let folder = Folder::new();
    folder.write("a.bin", vec![b'x'; BYTES]);
    let rate = format!("X-Accel-Limit-Rate: {RATE}");
    let named = ok(&["X-Sendfile: a.bin", "Cache-Control: max-age=60", &rate], "");
    let scene = Setup::safe().route(|route| allow(&folder, route)).run([get("/").answers(named)]);
    scene.client().get_with("/", &["Range: bytes=0-0"]);
    let begun = Instant::now();
    let hit = scene.client().get("/");
    assert!(hit.is_hit() && hit.body.len() == BYTES && !hit.has("x-accel-limit-rate"));
    assert!(begun.elapsed() >= LEAST, "{:?}", begun.elapsed());
}

#[test]
fn it_stands_for_the_rate_that_is_set_be_it_higher_or_none() {
    // At the configured rate it would take days.
    for rate in ["off", "0", "1000000000"] {
        for range in ["Range: bytes=0-", "Range: bytes=0-0, 2-"] {
            let (response, _) = sent(1, &["X-Sendfile: a.bin", &format!("X-Accel-Limit-Rate: {rate}")], range);
            assert_eq!(response.status, 206);
        }
    }
}

#[test]
fn what_is_no_rate_leaves_the_one_that_is_set() {
    for lines in [["X-Accel-Limit-Rate: 1m", "A: b"], ["X-Accel-Limit-Rate: off", "X-Accel-Limit-Rate: off"]] {
        let (_, took) = sent(RATE, &[&["X-Sendfile: a.bin"], &lines[..]].concat(), "A: b");
        assert!(took >= LEAST, "{took:?}");
    }
}

#[test]
fn a_client_that_waits_for_its_turn_delays_no_other_and_may_leave() {
    let (folder, line) = with_large_file();
    let setup = Setup::safe().route(|route| allow(&folder, route));
    let named = get("/").answers(ok(&[&line, "X-Accel-Limit-Rate: 1"], ""));
    let scene = setup.run([named, get("/page").answers(ok(&["Cache-Control: private"], "page"))]);
    let mut waits = Client::connect_slow(scene.engine.addresses()[0]);
    waits.ask("GET", "/", &[]).next_head();
    assert_eq!(waits.take(1), b"x");
    assert_eq!(scene.client().get("/page").text(), "page");
    waits.reset();
    scene.counted(kasoku_metrics::Counter::Aborted, 1);
}
