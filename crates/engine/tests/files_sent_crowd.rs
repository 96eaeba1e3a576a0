//! Many slow downloads at a time: how much memory each one holds, and that other clients don't wait for them.
//!
//! It is alone in its program, whose memory it measures.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use kasoku_metrics::Counter;
use kasoku_options::OriginAddress;
use kasoku_testkit::{Client, Folder, Setup};
use std::fs;

const DOWNLOADS: usize = 200;

/// The bytes that a slow client reads: so many that the kernel makes room in the socket behind it.
const TAKEN: usize = 1 << 20;

/// The memory that a download may hold, client and connection included, in bytes. A buffer of a window would take more.
const HELD_BYTES_MAX: usize = 24 << 10;

/// The anonymous memory of this process in bytes, without mapped files.
fn anonymous_bytes() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
}

#[test]
fn two_hundred_slow_downloads_hold_no_buffers_and_others_are_served() {
    let folder = Folder::new();
    let long = vec![b'x'; 32 << 20];
    folder.write("long.bin", &long);
    folder.write("short.bin", "short");
    let setup = Setup::safe().site(&[], |route| {
        route.pass = true;
        route.origin.connections_max = DOWNLOADS + 1;
        route.origins = vec![OriginAddress::Files(folder.path().to_owned()).into()];
    });
    let scene = setup.run_with_own_origins();
    let mut other = scene.client();
    let mut first = Client::connect_slow(scene.engine.addresses()[0]);
    first.ask("GET", "/long.bin", &[]).next_head();
    assert_eq!(other.get("/short.bin").text(), "short");
    let before = anonymous_bytes();
    let mut slow: Vec<Client> = (0..DOWNLOADS - 1)
        .map(|_| {
            let mut client = Client::connect_slow(scene.engine.addresses()[0]);
            client.ask("GET", "/long.bin", &[]).next_head();
            assert_eq!(other.get("/short.bin").text(), "short");
            client
        })
        .collect();
    slow.push(first);
    let held = anonymous_bytes().saturating_sub(before) / DOWNLOADS;
    println!("{held} bytes per download");
    assert!(held < HELD_BYTES_MAX, "{held} bytes per download");
    // The slow downloads go on as soon as their clients read.
    for client in slow.iter_mut().step_by(10) {
        assert!(client.take(TAKEN) == long[..TAKEN]);
        assert_eq!(other.get("/short.bin").text(), "short");
    }
    assert_eq!(scene.engine.metrics().total(Counter::Aborted), 0);
}
