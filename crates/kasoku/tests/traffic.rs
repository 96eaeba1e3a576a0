//! Tests that metrics and access log of the `kasoku` program agree under mixed traffic: each request is a hit, a miss, a pass or an error,
//! has one line in the log, and the bytes in the log add up to those in the metrics.
//!
//! The functions below send at least one request for each way in which a request can end. The log is moved away in the middle (SIGUSR1),
//! and later written to another file (SIGHUP).

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

#[path = "traffic/origin.rs"]
mod origin;
#[allow(dead_code, reason = "more than one test uses it, each its own part")]
mod support;

use origin::Origin;
use rustix::process::Signal;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;
use support::{Program, connect, exchange, read_until};

/// The program with its configuration and origin, and the number of requests so far.
struct Scene {
    origin: Origin,
    program: Program,
    config: PathBuf,
    requests: u64,
}

fn log(number: usize) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("traffic-{number}.json"))
}

fn configuration(origin: &Origin, log: &Path) -> String {
    format!(
        "listen = [\"127.0.0.1:0\"]\nadmin = \"127.0.0.1:0\"\nworkers = 2\naccess-log.path = \"{}\"\n\
         access-log.format = \"json\"\nlimits.head-timeout = \"1s\"\nlimits.request-body-bytes-max = 1000\n\n\
         [[site]]\nhosts = [\"localhost\"]\norigin = \"{}\"\n\n\
         [[site.rule]]\npath = \"/pass/*\"\npass = true\n\n\
         [[site.rule]]\npath = \"/dead/*\"\norigin = \"http://unix:/nonexistent/app.sock\"\n",
        log.display(),
        origin.url()
    )
}

impl Scene {
    fn start() -> Self {
        (0..3).for_each(|number| drop(std::fs::remove_file(log(number))));
        let origin = Origin::start();
        let config = support::file("traffic.toml", &configuration(&origin, &log(1)));
        let program = Program::serve(&["--config", config.to_str().unwrap()]);
        Self { origin, program, config, requests: 0 }
    }

    fn clients(&self) -> SocketAddr {
        self.program.clients
    }

    /// Sends the request on a new connection; returns the status of the answer.
    fn ask_raw(&mut self, request: &str) -> u16 {
        self.requests += 1;
        exchange(self.clients(), request).status
    }

    /// Sends a request on a new connection; returns the status of the answer.
    fn ask(&mut self, method: &str, target: &str, fields: &[&str], body: &str) -> u16 {
        let fields: String = fields.iter().map(|field| format!("{field}\r\n")).collect();
        self.ask_raw(&format!(
            "{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{fields}\r\n{body}"
        ))
    }

    fn get(&mut self, target: &str, fields: &[&str]) -> u16 {
        self.ask("GET", target, fields, "")
    }

    /// Sends a request for `target`; the caller reads the answer.
    fn begin(&mut self, target: &str) -> TcpStream {
        self.requests += 1;
        let mut stream = connect(self.clients());
        let request = format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    /// Waits until all requests have been counted.
    fn settled(&self) -> HashMap<String, u64> {
        self.program.metrics_after(self.requests)
    }
}

/// Resets the connection.
fn reset(stream: TcpStream) {
    socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
}

fn stored(scene: &mut Scene) {
    assert_eq!([scene.get("/page", &[]), scene.get("/page", &[]), scene.get("/page", &[])], [200; 3]);
    assert_eq!(scene.ask("HEAD", "/page", &[], ""), 200);
    assert_eq!(scene.get("/page", &["If-None-Match: \"1\""]), 304);
    assert_eq!(scene.get("/page", &["Range: bytes=1-2"]), 206);
    assert_eq!(scene.get("/page", &["Range: bytes=0-0,2-3"]), 206);
    assert_eq!(scene.get("/page", &["Range: bytes=10-"]), 416);
    assert_eq!([scene.get("/chunked", &[]), scene.get("/chunked", &[])], [200; 2]);
    assert_eq!([scene.get("/stale", &[]), scene.get("/stale", &[])], [200; 2]);
    assert_eq!(scene.ask_raw("GET /page HTTP/1.0\r\nHost: localhost\r\n\r\n"), 200);
}

fn passing(scene: &mut Scene) {
    assert_eq!([scene.get("/private", &[]), scene.get("/pass/page", &[])], [200; 2]);
    assert_eq!(scene.ask("POST", "/page-form", &["Content-Length: 3"], "a=1"), 200);
    assert_eq!(scene.ask("OPTIONS", "/page", &["Max-Forwards: 0"], ""), 200);
    assert_eq!(scene.ask("HEAD", "/page-of-nobody", &[], ""), 200);
    // Bytes after an upgrade are not HTTP, and not counted.
    assert_eq!(scene.get("/upgrade", &["Connection: upgrade", "Upgrade: websocket"]), 101);
}

fn purging(scene: &mut Scene) {
    assert_eq!(scene.ask("PURGE", "/page", &[], ""), 200);
    assert_eq!(scene.ask("PURGE", "/page", &["X-Forwarded-For: 192.0.2.1"], ""), 403);
    assert_eq!(scene.ask("PURGE", "/page", &["X-Purge-Method: guess"], ""), 501);
}

fn refused(scene: &mut Scene) {
    assert_eq!(scene.get("/dead/page", &[]), 502);
    assert_eq!(scene.get("/garbage", &[]), 502);
    assert_eq!(scene.get("/nothing-stored", &["Cache-Control: only-if-cached"]), 504);
    assert_eq!(scene.ask("POST", "/page", &["Content-Length: 2000"], ""), 413);
    assert_eq!(scene.ask_raw("GET / HTTP/1.1\r\n\r\n"), 400);
    assert_eq!(scene.ask_raw("CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n"), 405);
    assert_eq!(scene.ask_raw("GET / HTTP/1.1\r\nHost: elsewhere.example\r\nConnection: close\r\n\r\n"), 421);
    assert_eq!(scene.ask_raw("this is no request\r\n\r\n"), 400);
    assert_eq!(scene.ask_raw("GET /too-slow HTTP/1.1\r\nHost: loc"), 408);
}

fn several_on_one_connection(scene: &mut Scene) {
    let mut stream = connect(scene.clients());
    let one = |target: &str, fields: &str| format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n");
    let all = [one("/page", ""), one("/private", ""), one("/page", ""), one("/chunked", "Connection: close\r\n")];
    scene.requests += all.len() as u64;
    stream.write_all(all.concat().as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert_eq!(text.matches("HTTP/1.1 200 OK").count(), all.len());
}

fn together(scene: &mut Scene) {
    let first = scene.begin("/think");
    scene.origin.is_asked("/think");
    let others: Vec<TcpStream> = (0..7).map(|_| scene.begin("/think")).collect();
    // Once these requests are answered, each worker has also read the requests above, which join the first one's fill.
    for _ in 0..8 {
        assert_eq!(scene.ask("OPTIONS", "/page", &["Max-Forwards: 0"], ""), 200);
    }
    scene.origin.open("/think");
    for mut stream in std::iter::once(first).chain(others) {
        assert!(read_until(&mut stream, "abcdef").starts_with("HTTP/1.1 200 OK"));
    }
}

fn left_and_cut(scene: &mut Scene) {
    // The client resets before the answer's head, once for a miss and once for a pass.
    for path in ["/think-long", "/pass/think-long"] {
        let stream = scene.begin(path);
        scene.origin.is_asked(path);
        reset(stream);
        scene.settled();
        scene.origin.open(path);
    }
    // The client resets in the middle of the body.
    let mut stream = scene.begin("/half");
    read_until(&mut stream, "abc");
    reset(stream);
    scene.origin.open("/half");
    scene.settled();
    // The origin cuts the answer: the client gets a cut answer, or an error if Kasoku had sent nothing yet.
    let mut stream = scene.begin("/cut");
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    // Neither of these connections sends a complete request.
    drop(connect(scene.clients()));
    connect(scene.clients()).write_all(b"GET /page HT").unwrap();
}

#[test]
fn the_numbers_of_mixed_traffic_add_up() {
    let mut scene = Scene::start();
    let all = [stored, passing, purging, refused, several_on_one_connection, together, left_and_cut];
    for step in all {
        step(&mut scene);
    }
    scene.settled();
    std::fs::rename(log(1), log(0)).unwrap();
    scene.program.signal(Signal::USR1);
    scene.program.says("opening the access log anew");
    several_on_one_connection(&mut scene);
    refused(&mut scene);
    std::fs::write(&scene.config, configuration(&scene.origin, &log(2))).unwrap();
    scene.program.signal(Signal::HUP);
    scene.program.says("the configuration was read again");
    several_on_one_connection(&mut scene);
    stored(&mut scene);

    let metrics = scene.settled();
    let requests = scene.requests;
    scene.program.signal(Signal::TERM);
    assert_eq!(scene.program.exit_code(), Some(0));
    let of = |name: &str| metrics.get(name).copied().unwrap_or_else(|| panic!("{name} is not in {metrics:#?}"));
    let outcomes = ["hits", "misses", "passes", "errors"].map(|name| of(&format!("{name}_total")));
    assert_eq!((of("requests_total"), outcomes.iter().sum()), (requests, requests), "{outcomes:?}");
    assert!(outcomes.iter().all(|count| *count > 0), "{outcomes:?}");
    for name in ["collapsed", "stale_served", "aborted", "purges", "revalidations"] {
        assert!(of(&format!("{name}_total")) > 0, "the traffic has none: {name}");
    }
    let timed: u64 = ["hit", "miss", "pass", "error"]
        .map(|result| of(&format!("request_seconds_count{{result=\"{result}\"}}")))
        .iter()
        .sum();

    let texts: Vec<String> = (0..3).map(|number| std::fs::read_to_string(log(number)).unwrap()).collect();
    assert!(texts.iter().all(|text| !text.is_empty()), "each file has its part");
    let lines: Vec<Value> = texts.concat().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len() as u64, requests, "{:#?}", statuses(&lines));
    assert_eq!(of("log_lines_dropped_total"), 0);
    let ids: HashSet<&str> = lines.iter().map(|line| line["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), lines.len(), "no line is there twice");
    let bytes: u64 = lines.iter().map(|line| line["bytes"].as_u64().unwrap()).sum();
    assert_eq!(of("body_bytes_sent_total"), bytes);
    let count = |is: &dyn Fn(&Value) -> bool| lines.iter().filter(|line| is(line)).count() as u64;
    let results = ["hit", "miss", "pass", "error"].map(|result| count(&|line| line["result"] == result));
    assert_eq!(results, outcomes, "hits, misses, passes, errors");
    assert_eq!(of("aborted_total"), count(&|line| line["aborted"] == true));
    assert_eq!(of("collapsed_total"), count(&|line| line["collapsed"] == true && line["result"] == "miss"));
    assert_eq!(timed, count(&|line| line.get("duration").is_some()), "what was a request has a time");
    assert!(lines.iter().all(|line| line["reason"].is_string() || line["method"] == "PURGE"), "{lines:#?}");
    for (status, result) in [(200, "pass"), (403, "error"), (501, "error")] {
        let is_purge = |line: &Value| line["method"] == "PURGE" && line["status"] == status;
        assert_eq!(count(&|line| is_purge(line) && line["result"] == result), 1, "PURGE: {status}");
    }
    for result in ["miss", "pass"] {
        assert_eq!(count(&|line| line["status"] == 499 && line["result"] == result), 1, "left: a {result}");
    }
}

/// The number of log lines for each status and URL.
fn statuses(lines: &[Value]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    lines.iter().for_each(|line| *counts.entry(format!("{} {}", line["status"], line["uri"])).or_default() += 1);
    counts
}
