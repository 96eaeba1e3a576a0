//! Tests that a hit makes only two system calls besides waiting: one reads the request, one writes the answer.
//!
//! The `kasoku` program runs under strace, with one worker, and strace records the calls of each thread. Two marks, hits with a special
//! field, surround the hits that count. Each of these may make one read and one write. Waiting is not counted, since under load one wait
//! brings many requests. Wake-ups of other threads come by the clock and not by the hit; they count by themselves. All threads together may make a handful of other calls, and those that hand a page of the access log to the
//! thread that writes it, once a second or when the page is full.
//!
//! Reading the clock through the vDSO is no system call; if a system call read it, these tests would fail.
//!
//! Without strace, or where strace may not trace, the tests fail and say so; `scripts/install-test-deps` installs it.
//! `cargo test -p kasoku --test syscalls -- --nocapture` prints the counts.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

#[allow(dead_code, reason = "more than one test uses it, each its own part")]
mod support;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{Program, connect, get};

/// The number of hits between the marks.
const HITS: usize = 2_000;

/// The number of hits before the first mark, on all connections together.
const WARM_UP: usize = 100;

/// The most calls that belong to no hit, such as those of scheduling and of the allocator.
const STRAY_CALLS_MAX: usize = 10;

/// The most calls that hand a page of the access log over, besides the write: those that wake the log's thread and put it to sleep.
const CALLS_PER_LOG_PAGE_MAX: usize = 6;

/// The most calls that wake another thread. They come with the time and not with the hits, and strace on a busy machine takes its time.
const WAKE_UPS_MAX: usize = HITS / 20;

/// The name under which a write to an eventfd counts, and how strace shows it.
const WAKE_UP: &str = "wake-up";
const WAKE_UP_ARGUMENTS: &str = r#""\1\0\0\0\0\0\0\0", 8)"#;

const READS: [&str; 4] = ["read", "readv", "recvfrom", "recvmsg"];
const WRITES: [&str; 5] = ["write", "writev", "sendto", "sendmsg", "sendfile"];
const WAITS: [&str; 3] = ["epoll_wait", "epoll_pwait", "epoll_pwait2"];

/// The field names of the marks.
const BEGIN: &str = "Mark-Begin";
const END: &str = "Mark-End";

const PAGE: &str = "/page";
const PAGE_BYTES: usize = 4096;

#[test]
fn a_hit_is_one_read_and_one_write() {
    let calls = Scene::new("one", "").hits(1, "");
    calls.are_one_read_and_one_write_for_each_hit();
}

#[test]
fn so_is_each_of_many_connections() {
    let calls = Scene::new("many", "").hits(16, "");
    calls.are_one_read_and_one_write_for_each_hit();
}

#[test]
fn so_it_is_with_an_access_log() {
    let log = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("syscalls-access.log");
    let _ = std::fs::remove_file(&log);
    let settings = format!("access-log.path = \"{}\"\n", log.display());
    let calls = Scene::new("logging", &settings).hits(16, "User-Agent: browser\r\nReferer: http://localhost/\r\n");
    calls.are_one_read_and_one_write_for_each_hit();
    let lines = std::fs::read_to_string(log).unwrap().lines().count();
    assert!(lines >= HITS, "{lines} lines");
}

#[test]
fn so_is_a_304() {
    let calls = Scene::new("304", "").hits(1, "If-None-Match: \"1\"\r\n");
    calls.are_one_read_and_one_write_for_each_hit();
}

#[test]
fn so_is_a_range() {
    let calls = Scene::new("206", "").hits(1, "Range: bytes=100-199\r\n");
    calls.are_one_read_and_one_write_for_each_hit();
}

/// The program under strace.
struct Scene {
    program: Program,
    record: PathBuf,
}

impl Scene {
    fn new(name: &str, settings: &str) -> Self {
        let record = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("syscalls-{name}.strace"));
        let config = format!(
            "listen = [\"127.0.0.1:0\"]\nadmin = \"127.0.0.1:0\"\nworkers = 1\n{settings}\n[[site]]\norigin = \"http://{}\"\n",
            start_origin()
        );
        let config = support::file(&format!("syscalls-{name}.toml"), &config);
        let program = Program::serve_under(strace(&record), &["--config", config.to_str().unwrap()]);
        Self { program, record }
    }

    /// The system calls during [`HITS`] hits, which that many connections request in turn, with these fields.
    fn hits(self, connections: usize, fields: &str) -> Calls {
        let to = self.program.clients;
        let mut connections: Vec<TcpStream> = (0..connections).map(|_| connect(to)).collect();
        let marked = |mark: &str| format!("GET {PAGE} HTTP/1.1\r\n{mark}: 1\r\nHost: localhost\r\n{fields}\r\n");
        assert!(!get(to, PAGE).is_hit());
        let count = connections.len();
        let mut ask = |hits: usize, mark: &str| {
            let request = marked(mark);
            (0..hits).for_each(|number| hit(&mut connections[number % count], &request));
        };
        ask(WARM_UP, "Warm-Up");
        ask(1, BEGIN);
        ask(HITS, "Counts");
        ask(1, END);
        self.program.signal(rustix::process::Signal::TERM);
        // After the program's end, the record holds all calls up to the second mark.
        assert_eq!(self.program.exit_code(), Some(0));
        Calls::between_marks(&std::fs::read_to_string(self.record).unwrap())
    }
}

/// A `strace` command that traces the command after it, with all threads, into that file. With `-D` strace is a grandchild of the traced
/// program, so that signals reach the program, and its exit status is that of the child process.
fn strace(record: &Path) -> Command {
    let may_trace = Command::new("strace").args(["-f", "-o", "/dev/null", "true"]).output();
    match may_trace {
        Err(error) => panic!("strace: {error}; scripts/install-test-deps installs it"),
        Ok(output) if !output.status.success() => {
            panic!("strace may not trace here: {}", String::from_utf8_lossy(&output.stderr))
        }
        Ok(_) => {}
    }
    let mut strace = Command::new("strace");
    strace.args(["-D", "-f", "-q", "-s", "64", "-o"]).arg(record);
    strace
}

/// System calls by name.
#[derive(Debug, Default)]
struct Calls {
    /// The calls of the thread that serves clients.
    worker: BTreeMap<String, usize>,
    /// The calls of all other threads.
    others: BTreeMap<String, usize>,
}

impl Calls {
    /// The calls that began between the reads of the two marks.
    fn between_marks(record: &str) -> Self {
        // A line is `4711  recvfrom(9, …) = 80`. If strace reports another thread during a call, the call has two lines, and the second
        // is `4711  <... recvfrom resumed>…`.
        let lines = record.lines().filter_map(|line| line.split_once(' '));
        let mut lines = lines.skip_while(|(_, call)| !call.contains(BEGIN));
        let (worker, _) = lines.next().unwrap_or_else(|| panic!("nothing was read: {record}"));
        let mut calls = Self::default();
        for (thread, call) in lines.take_while(|(_, call)| !call.contains(END)) {
            if let Some((name, _)) = call.trim_start().split_once('(').filter(|(name, _)| !name.starts_with('<')) {
                let name = if call.contains(WAKE_UP_ARGUMENTS) { WAKE_UP } else { name };
                let calls = if thread == worker { &mut calls.worker } else { &mut calls.others };
                *calls.entry(name.to_owned()).or_default() += 1;
            }
        }
        calls
    }

    #[track_caller]
    fn are_one_read_and_one_write_for_each_hit(&self) {
        println!("{HITS} hits: {self:?}");
        let sum = |calls: &BTreeMap<String, usize>, is_counted: &dyn Fn(&str) -> bool| -> usize {
            calls.iter().filter(|(name, _)| is_counted(name)).map(|(_, count)| count).sum()
        };
        let (reads, writes) =
            (sum(&self.worker, &|name| READS.contains(&name)), sum(&self.worker, &|name| WRITES.contains(&name)));
        assert!((HITS..=HITS + STRAY_CALLS_MAX).contains(&reads), "{reads} reads: {self:?}");
        assert!((HITS..=HITS + STRAY_CALLS_MAX).contains(&writes), "{writes} writes: {self:?}");

        let log_pages = sum(&self.others, &|name| WRITES.contains(&name));
        let wake_ups = sum(&self.worker, &|name| name == WAKE_UP) + sum(&self.others, &|name| name == WAKE_UP);
        assert!(wake_ups <= WAKE_UPS_MAX, "{wake_ups} wake-ups: {self:?}");
        let is_rest = |name: &str| ![&READS[..], &WRITES, &WAITS, &[WAKE_UP]].concat().contains(&name);
        let rest = sum(&self.worker, &is_rest) + sum(&self.others, &is_rest);
        assert!(log_pages <= HITS / 10, "lines are not written by the page: {self:?}");
        assert!(rest <= STRAY_CALLS_MAX + CALLS_PER_LOG_PAGE_MAX * log_pages, "{rest} other calls: {self:?}");
    }
}

/// Sends the request and reads the answer, which must be a hit.
fn hit(connection: &mut TcpStream, request: &str) {
    connection.write_all(request.as_bytes()).unwrap();
    let mut buffer = [0; 2 * PAGE_BYTES];
    let mut end = 0;
    loop {
        let count = connection.read(&mut buffer[end..]).unwrap();
        assert_ne!(count, 0, "the connection was closed");
        end += count;
        let text = String::from_utf8_lossy(&buffer[..end]);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        assert!(head.contains("kasoku; hit"), "{head}");
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        if body.len() == length.map_or(0, |length| length.parse().unwrap()) {
            return;
        }
    }
}

/// An origin that answers all requests with the page, one request for each connection.
fn start_origin() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                if !matches!(stream.read(&mut byte), Ok(1)) {
                    break;
                }
                head.push(byte[0]);
            }
            let fields = "Cache-Control: max-age=3600\r\nETag: \"1\"\r\nConnection: close";
            let page = "x".repeat(PAGE_BYTES);
            let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {PAGE_BYTES}\r\n{fields}\r\n\r\n{page}");
        }
    });
    address
}
