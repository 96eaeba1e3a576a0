//! Tests two thousand slow downloads of a 100 MB file that an application names (X-Sendfile), through the `kasoku` program.
//!
//! The application has a few processes, as php-fpm has, and must be done with each download before Kasoku has sent the first window of the
//! file. A download costs the program a bounded amount of memory and one descriptor (all share that of the file), and no connection to the
//! origin. The program serves other visitors all the while, and a client that reads on gets every byte.
//!
//! [`HELD_BYTES_MAX`] is the limit that the test checks; `-- --nocapture` prints the measured values. `make test` runs this a second time
//! with the release program (`KASOKU_TEST_PROGRAM`), since allocations differ. This test does not measure how fast other visitors are
//! served; `make bench-xsendfile` does.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

#[path = "downloads/application.rs"]
mod application;
#[path = "downloads/reader.rs"]
mod reader;
#[allow(dead_code, reason = "more than one test uses it, each its own part")]
#[path = "memory/resident.rs"]
mod resident;
#[allow(dead_code, reason = "more than one test uses it, each its own part")]
mod support;

use application::{Application, PAGE};
use reader::{File, Reader, sent_max};
use resident::{Resident, descriptors_max, mib};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};
use support::{PATIENCE, Program, get};

const DOWNLOADS: usize = 2000;
const FILE_BYTES: u64 = 100_000_000;

/// The most that may have been sent of a download when the application is done with it, in bytes: less than a first window (2 MiB,
/// `files/body.rs`).
const SENT_BYTES_MAX: u64 = 512 << 10;

/// Processes of the application: far fewer than there are downloads.
const PROCESSES: usize = 4;

/// The most of the program's memory that a download may hold, in bytes. A useful copy buffer would need more.
const HELD_BYTES_MAX: u64 = 12 << 10;

/// The memory that the kernel counts for the socket of a slow download, in bytes; most of it are pages of the file.
const IN_KERNEL_BYTES_EACH: usize = 400 << 10;

/// Descriptors that the program, or this process, needs for other purposes than connections of downloads.
const DESCRIPTORS_ELSE: usize = 300;

/// The most descriptors that stay open after the downloads: the program keeps those of files for later requests.
const DESCRIPTORS_KEPT_MAX: usize = 4;

/// Downloads that begin at the same time: fewer than the requests that may wait for the application.
const BATCH: usize = 50;

/// Downloads that are read to their end.
const READ_ON: usize = 4;

/// Other visitors during the downloads, and the fewest rounds of each.
const VISITORS: usize = 3;
const ROUNDS_MIN: usize = 100;

/// How often each download reads a little meanwhile, and how long all downloads together may take for that.
const SIP_EVERY: Duration = Duration::from_millis(20);
const SIPPING_MAX: Duration = Duration::from_secs(60);

const SMALL: &str = "a file for one";

#[test]
fn two_thousand_slow_downloads_hold_no_process_and_little_memory_while_others_are_served() {
    let count = downloads_max();
    let directory = directory();
    let file = File::new(FILE_BYTES);
    file.write_to(&directory.join("large.bin"));
    std::fs::write(directory.join("small.txt"), SMALL).unwrap();
    let application = Application::start(PROCESSES, &directory);
    let program = serve(&application, &directory);
    let (address, resident) = (program.clients, Resident(program.id()));
    visit(address, "first");
    visit(address, "second");
    let descriptors_before = descriptors(&program);

    // The first downloads and visits make the program allocate what it allocates only once.
    let mut readers = begin(address, 0..BATCH, &application);
    sip_while_others_visit(address, &mut readers, &file, 0);
    let before = resident.now();
    for first in (BATCH..count).step_by(BATCH) {
        readers.extend(begin(address, first..count.min(first + BATCH), &application));
        visit(address, &format!("beside-{first}"));
    }
    let sent = sent_max(address, &readers);
    assert!(sent <= SENT_BYTES_MAX, "{sent} bytes are sent, and the application was not done before");
    assert_eq!(application.downloads(), count);
    assert_eq!(in_use(&program), 0, "connections to the application");
    let open = descriptors(&program) - descriptors_before;
    assert!((count..=count + DESCRIPTORS_KEPT_MAX).contains(&open), "{open} descriptors");
    let each = resident.now().saturating_sub(before) / (count - BATCH) as u64;

    // The kernel holds at most `sent` bytes of a download, so a reader gets beyond them only if the program sends more.
    let rounds = sip_while_others_visit(address, &mut readers, &file, sent);
    let after = resident.now().saturating_sub(before) / (count - BATCH) as u64;
    let held = program.metrics_after(0)["memory_used_bytes"];
    let report = format!(
        "{count} downloads: resident before {}, {each} bytes for each, {after} once they have gone on; the account says {held} of all \
         responses; {sent} bytes were sent of one at most when the application was done; {rounds} rounds of others",
        mib(before)
    );
    eprintln!("{report}");
    assert!(each.max(after) <= HELD_BYTES_MAX, "{report}");

    // Some downloads from the beginning, the middle and the end.
    let step = count / READ_ON;
    let read_on: Vec<Reader> = (0..READ_ON).rev().map(|number| readers.swap_remove(number * step)).collect();
    drop(readers);
    read_on.into_iter().for_each(|reader| reader.finish(&file));
    let kept = descriptors_before + DESCRIPTORS_KEPT_MAX;
    eventually("the program gives its descriptors back", || descriptors(&program) <= kept);
    visit(address, "last");
    std::fs::remove_dir_all(directory).unwrap();
}

/// The number of downloads: [`DOWNLOADS`], or as many as this machine's limits allow.
fn downloads_max() -> usize {
    let by_descriptors = descriptors_max().saturating_sub(DESCRIPTORS_ELSE);
    let allowed = by_descriptors.min(sockets_memory() / IN_KERNEL_BYTES_EACH);
    if allowed < DOWNLOADS {
        eprintln!(
            "\n*** only {allowed} downloads, not {DOWNLOADS}: this machine's bounds, of descriptors for {by_descriptors}, and of the \
             kernel's memory for sockets (net.ipv4.tcp_mem) ***\n"
        );
    }
    assert!(allowed > 2 * BATCH, "only {allowed} downloads are possible here");
    DOWNLOADS.min(allowed)
}

/// The memory of all sockets from which on the kernel limits each of them, in bytes; `usize::MAX` if it can't be read.
fn sockets_memory() -> usize {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_mem").unwrap_or_default();
    let pages = text.split_whitespace().nth(1).and_then(|word| word.parse::<usize>().ok());
    pages.map_or(usize::MAX, |pages| pages * rustix::param::page_size())
}

fn directory() -> PathBuf {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("downloads");
    std::fs::create_dir_all(&directory).unwrap();
    directory
}

/// Starts the program as an operator configures it for such an application: with as many connections as the application has processes.
fn serve(application: &Application, directory: &std::path::Path) -> Program {
    let config = format!(
        "listen = [\"127.0.0.1:0\"]\nadmin = \"127.0.0.1:0\"\nworkers = 2\n\n[[site]]\norigin = \"fastcgi://{}\"\n\
         origin-limits.connections-max = {PROCESSES}\nsendfile.roots = [\"{}\"]\n",
        application.address,
        directory.display()
    );
    Program::serve(&["--config", support::file("downloads.toml", &config).to_str().unwrap()])
}

/// Starts the downloads with these numbers; returns them once their answers have begun and the application is done with them.
fn begin(address: SocketAddr, numbers: std::ops::Range<usize>, application: &Application) -> Vec<Reader> {
    let end = numbers.end;
    let readers: Vec<Reader> = numbers.map(|number| Reader::ask(address, number)).collect();
    readers.iter().for_each(Reader::begins);
    eventually("the application is done with all downloads", || application.downloads() == end);
    readers
}

/// Requests a stored page, a page that the application makes, and a small file that it names.
fn visit(address: SocketAddr, name: &str) {
    let page = get(address, "/page");
    assert_eq!((page.status, page.body.as_str()), (200, PAGE));
    assert!(page.is_hit() || name == "first", "{}", page.head);
    let path = format!("/made/{name}");
    let made = get(address, &path);
    assert_eq!((made.status, made.body), (200, format!("made for {path}")));
    let small = get(address, &format!("/small/{name}"));
    assert_eq!((small.status, small.body.as_str()), (200, SMALL));
    assert!(small.head.contains("detail=sendfile"), "{}", small.head);
}

/// Lets each download read a little at a time until it has got more than `beyond` bytes of the file. Returns the number of rounds of
/// visits meanwhile.
fn sip_while_others_visit(address: SocketAddr, readers: &mut [Reader], file: &File, beyond: u64) -> usize {
    let (rounds, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for visitor in 0..VISITORS {
            let (rounds, is_over) = (&rounds, &is_over);
            scope.spawn(move || {
                for round in (0..).take_while(|round| *round < ROUNDS_MIN || !is_over.load(Relaxed)) {
                    // The URLs repeat, because the program keeps some state for each new URL for a while.
                    visit(address, &format!("{visitor}-{}", round % ROUNDS_MIN));
                    rounds.fetch_add(1, Relaxed);
                }
            });
        }
        let _over = Over(&is_over);
        let begun = Instant::now();
        while readers.iter().any(|reader| reader.position() <= beyond) {
            let last = readers.iter().map(Reader::position).min();
            assert!(begun.elapsed() < SIPPING_MAX, "the slowest download is at {last:?}");
            readers.iter_mut().for_each(|reader| reader.sip(file));
            std::thread::sleep(SIP_EVERY);
        }
    });
    rounds.into_inner()
}

/// Stops the visitors on drop, also when a download has failed.
struct Over<'f>(&'f AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// The number of descriptors that the program has open.
fn descriptors(program: &Program) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", program.id())).unwrap().count()
}

/// The number of connections that carry a request to the application.
fn in_use(program: &Program) -> u64 {
    let metrics = get(program.admin, "/metrics").body;
    let line = metrics.lines().find(|line| line.starts_with("kasoku_origin_connections_in_use{")).unwrap();
    line.rsplit_once(' ').unwrap().1.parse().unwrap()
}

fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
