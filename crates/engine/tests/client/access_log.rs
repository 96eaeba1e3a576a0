//! The access log, through real sockets to a real file: one line for each request, whether it is answered, refused or cut.

use kasoku_metrics::Counter;
use kasoku_options::{AddressRange, ListenAddress, Listener, LogFormat, LogTarget};
use kasoku_testkit::client::request;
use kasoku_testkit::{Client, Ending, Gate, Scenario, Setup, WAIT_MAX, get, ok, on, post, reply};
use serde_json::Value;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const FRESH: &[&str] = &["Cache-Control: max-age=60"];

/// A log file that is removed when the test ends.
struct LogFile(PathBuf);

impl LogFile {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("kasoku-scenario-{name}-{}.log", std::process::id()));
        let _ = std::fs::remove_file(&path);
        Self(path)
    }

    fn setup(&self, format: LogFormat) -> Setup {
        logging_to(LogTarget::File(self.0.clone()), format)
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.0).unwrap()
    }

    /// Stops the engine, which writes all lines, and returns them.
    fn lines(&self, scene: Scenario) -> Vec<String> {
        drop(scene);
        self.text().lines().map(str::to_owned).collect()
    }

    fn objects(&self, scene: Scenario) -> Vec<Value> {
        self.lines(scene).iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Drop for LogFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn logging_to(target: LogTarget, format: LogFormat) -> Setup {
    Setup::safe().options(|options| (options.access_log.target, options.access_log.format) = (Some(target), format))
}

/// The part of each line that follows the time.
fn behind_the_time(lines: &[String]) -> Vec<&str> {
    lines.iter().map(|line| line.split_once("] ").unwrap().1).collect()
}

#[test]
fn each_request_has_one_line_whatever_becomes_of_it() {
    let file = LogFile::new("each");
    let scene = file.setup(LogFormat::Combined).run([
        get("/page?a=1").answers(ok(FRESH, "abcdef")),
        get("/none").answers(reply("404 Not Found", &[], "no")),
        post("/form").answers(reply("204 No Content", &[], "")),
    ]);
    let mut client = scene.client();
    client.get_with("/page?a=1", &["Referer: http://a.example/", "User-Agent: Mozilla/5.0 (X11)"]);
    client.get("/page?a=1");
    client.get_with("http://example.org/page?a=1", &["Range: bytes=0-1"]);
    client.head("/page?a=1", &[]);
    client.get("/none");
    client.send_body("POST", "/form", &[], "x=1");
    let refused = client.ask("CONNECT", "example.org:443", &[]).response();
    let time = scene.date(0); // Sun, 06 Nov 1994 08:49:37 GMT
    let lines = file.lines(scene);
    assert_eq!(
        behind_the_time(&lines),
        [
            "\"GET /page?a=1 HTTP/1.1\" 200 6 \"http://a.example/\" \"Mozilla/5.0 (X11)\"",
            "\"GET /page?a=1 HTTP/1.1\" 200 6 \"-\" \"-\"",
            "\"GET http://example.org/page?a=1 HTTP/1.1\" 206 2 \"-\" \"-\"",
            "\"HEAD /page?a=1 HTTP/1.1\" 200 0 \"-\" \"-\"",
            "\"GET /none HTTP/1.1\" 404 2 \"-\" \"-\"",
            "\"POST /form HTTP/1.1\" 204 0 \"-\" \"-\"",
            &format!("\"-\" 405 {} \"-\" \"-\"", refused.body.len()),
        ]
    );
    let words: Vec<&str> = time.split(' ').collect();
    let expected = format!("127.0.0.1 - - [{}/{}/{}:{} +0000] ", words[1], words[2], words[3], words[4]);
    assert!(lines.iter().all(|line| line.starts_with(&expected)), "{expected}: {lines:#?}");
}

#[test]
fn json_says_whether_it_was_a_hit_and_why() {
    let file = LogFile::new("json");
    let scene = file.setup(LogFormat::Json).run([get("/page").answers(ok(FRESH, "abcdef"))]);
    let mut client = scene.client();
    client.get_with("/page", &["Host: EXAMPLE.org:80", "User-Agent: \"q\"\t\\ \u{e9}"]);
    scene.counted(Counter::Requests, 1);
    scene.advance(10);
    client.get("/page");
    client.get_with("/other", &["Cache-Control: only-if-cached"]);
    let objects = file.objects(scene);
    let [miss, hit, refused] = objects.as_slice() else { panic!("{objects:#?}") };
    assert_eq!(
        (&miss["method"], &miss["protocol"], &miss["client"]),
        (&"GET".into(), &"HTTP/1.1".into(), &"127.0.0.1".into())
    );
    assert_eq!((&miss["uri"], &miss["host"]), (&"http://example.org/page".into(), &"example.org".into()));
    assert_eq!(miss["user_agent"], "\"q\"\t\\ \u{e9}");
    assert_eq!((&miss["status"], &miss["bytes"], &miss["aborted"]), (&200.into(), &6.into(), &false.into()));
    assert_eq!((&miss["hit"], &miss["fwd"], &miss["stored"]), (&false.into(), &"uri-miss".into(), &true.into()));
    assert_eq!((&hit["hit"], &hit["ttl"], &hit["reason"]), (&true.into(), &50.into(), &"hit".into()));
    assert!(hit.get("fwd").is_none() && hit.get("referer").is_none(), "{hit}");
    assert_eq!((&refused["status"], &refused["hit"]), (&504.into(), &false.into()));
    assert_eq!(refused["reason"], "only-if-cached-miss");
    let seconds = |object: &Value| object["time"].as_str().unwrap()[17..19].parse::<u32>().unwrap();
    assert_eq!((seconds(miss) + 10) % 60, seconds(hit), "the worker's clock, not another");
}

#[test]
fn a_cut_answer_has_its_line_too() {
    let (file, gate) = (LogFile::new("cut"), Gate::new());
    let body = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc";
    let scene = file
        .setup(LogFormat::Json)
        .run([get("/short").sends(body).closes(), get("/slow").sends(body).waits(&gate).sends("defghi")]);
    let mut client = scene.client();
    assert_eq!(client.ask("GET", "/short", &[]).cut_response().ending, Ending::Cut);
    let mut client = scene.client();
    client.ask("GET", "/slow", &[]).next_head();
    client.reads("abc");
    client.reset();
    gate.open();
    scene.counted(Counter::Requests, 2);
    let objects = file.objects(scene);
    assert_eq!(objects.len(), 2, "{objects:#?}");
    assert_eq!(
        (&objects[0]["status"], &objects[0]["bytes"], &objects[0]["aborted"]),
        (&200.into(), &3.into(), &true.into())
    );
    assert_eq!((&objects[1]["uri"], &objects[1]["aborted"]), (&"http://example.org/slow".into(), &true.into()));
}

#[test]
fn what_was_cut_is_not_said_to_be_stored() {
    let file = LogFile::new("cut-fill");
    let (short, gate) = (Gate::new(), Gate::new());
    let body = b"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 9\r\n\r\nabc";
    let scene = file
        .setup(LogFormat::Json)
        .run([get("/short").sends(body).waits(&short).closes(), get("/left").sends(body).waits(&gate).sends("defghi")]);
    let mut client = scene.client();
    client.ask("GET", "/short", &[]).next_head();
    client.reads("abc");
    short.open();
    client.rest();
    let mut client = scene.client();
    client.ask("GET", "/left", &[]).next_head();
    client.reads("abc");
    client.reset();
    gate.open();
    scene.counted(Counter::Requests, 2);
    scene.counted(Counter::Misses, 2);
    for line in file.objects(scene) {
        assert_eq!((&line["aborted"], &line["stored"]), (&true.into(), &false.into()), "{line}");
        assert_eq!(line["result"], "miss", "{line}");
    }
}

#[test]
fn what_a_stop_cuts_has_its_line_and_is_counted() {
    let file = LogFile::new("stopped");
    let half = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc";
    let scene = file
        .setup(LogFormat::Json)
        .options(|options| options.limits.drain_timeout = Duration::ZERO)
        .run([get("/half").reads_body().sends(half).awaits_end(), get("/nothing").reads_body().awaits_end()]);
    let (mut half, mut nothing) = (scene.client(), scene.client());
    half.ask("GET", "/half", &[]);
    half.next_head();
    half.reads("abc");
    nothing.ask("GET", "/nothing", &[]);
    scene.origin.arrived(2);
    let metrics = scene.engine.metrics().clone();
    let mut objects = file.objects(scene);
    objects.sort_by_key(|line| line["status"].as_u64());
    let of = |line: &Value| (line["status"].as_u64(), line["bytes"].as_u64(), line["reason"].to_string());
    assert_eq!(
        objects.iter().map(of).collect::<Vec<_>>(),
        [(Some(200), Some(3), "\"shutdown\"".to_owned()), (Some(503), Some(0), "\"shutdown\"".to_owned())]
    );
    assert!(objects.iter().all(|line| line["aborted"] == true));
    let total = |counter| metrics.total(counter);
    assert_eq!((total(Counter::Requests), total(Counter::Errors), total(Counter::BodyBytesSent)), (2, 2, 3));
}

#[test]
fn what_is_no_request_has_a_line_without_one() {
    let file = LogFile::new("refused");
    let scene = file.setup(LogFormat::Combined).run([]);
    for bytes in ["this is \"no\" request\r\n\r\n", "GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n"] {
        scene.client().send(bytes).rest();
    }
    // A client that sends no byte has no line.
    scene.client().shutdown_write().is_closed();
    let sent = scene.engine.metrics().clone();
    let lines = file.lines(scene);
    let [malformed, without_host] = lines.as_slice() else { panic!("{lines:#?}") };
    for line in [malformed, without_host] {
        assert!(line.contains("] \"-\" 400 ") && line.ends_with(" \"-\" \"-\""), "{line}");
    }
    let bytes = |line: &str| line.split_once(" 400 ").unwrap().1.split(' ').next().unwrap().parse::<u64>().unwrap();
    assert!(bytes(malformed) > 0);
    assert_eq!(
        bytes(malformed) + bytes(without_host),
        sent.total(Counter::BodyBytesSent),
        "the log and the metrics agree"
    );
}

#[test]
fn the_client_is_whom_the_proxies_name() {
    let file = LogFile::new("client");
    let path = std::env::temp_dir().join(format!("kasoku-scenario-log-{}.sock", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let scene = file
        .setup(LogFormat::Combined)
        .options(|options| {
            let unix = ListenAddress::Unix(path.clone());
            options.listeners.push(Listener::at(unix));
            let tcp = ListenAddress::Tcp(([127, 0, 0, 1], 0).into());
            options.listeners.push(Listener { proxy_protocol: true, ..Listener::at(tcp) });
            let trusted = AddressRange::Ip { address: "192.0.2.7".parse().unwrap(), prefix_bits: 32 };
            options.trusted_proxies = vec![trusted];
        })
        .run([get("/").answers(ok(FRESH, "a"))]);
    let forged = ["X-Forwarded-For: 6.6.6.6"];
    scene.client().get_with("/", &forged);
    Client::connect_unix(&path).get_with("/", &forged);
    let mut behind_a_balancer = Client::connect(scene.engine.addresses()[1]);
    behind_a_balancer.send("PROXY TCP6 2001:db8::7 2001:db8::1 4000 80\r\n").get_with("/", &forged);
    let mut behind_two = Client::connect(scene.engine.addresses()[1]);
    let fields = ["X-Forwarded-For: 6.6.6.6, 198.51.100.9"];
    behind_two.send("PROXY TCP4 192.0.2.7 192.0.2.1 4000 80\r\n").get_with("/", &fields);
    let lines = file.lines(scene);
    let clients: Vec<&str> = lines.iter().map(|line| line.split_once(' ').unwrap().0).collect();
    assert_eq!(clients, ["127.0.0.1", "-", "2001:db8::7", "198.51.100.9"]);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn two_workers_write_into_one_file_and_count_what_they_write() {
    let file = LogFile::new("workers");
    let scene =
        file.setup(LogFormat::Common).options(|options| options.workers = 2).run([get("/").answers(ok(FRESH, "a"))]);
    scene.client().get("/");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..25 {
                    let mut client = scene.client();
                    assert!((0..4).all(|_| client.get("/").is_hit()));
                }
            });
        }
    });
    let metrics = scene.engine.metrics().clone();
    let lines = file.lines(scene);
    assert_eq!(lines.len(), 801);
    assert!(lines.iter().all(|line| line.starts_with("127.0.0.1 - - [") && line.ends_with(" 200 1")));
    let total = |counter| metrics.total(counter);
    assert_eq!((total(Counter::LogLines), total(Counter::LogLinesDropped), total(Counter::Requests)), (801, 0, 801));
}

#[test]
fn on_an_idle_server_a_line_shows_by_itself() {
    let file = LogFile::new("idle");
    let scene = file.setup(LogFormat::Common).run([get("/").answers(ok(FRESH, "a"))]);
    scene.client().get("/");
    scene.eventually(|| file.text().ends_with("\"GET / HTTP/1.1\" 200 1\n"));
    assert_eq!(file.lines(scene).len(), 1);
}

#[test]
fn a_pipe_without_a_reader_costs_lines_and_delays_no_request() {
    let (mut reads, writes) = std::io::pipe().unwrap();
    let path = PathBuf::from(format!("/proc/self/fd/{}", writes.as_raw_fd()));
    let scene = logging_to(LogTarget::File(path), LogFormat::Combined).run([on("GET", "/").answers(ok(FRESH, "a"))]);
    let mut client = scene.client();
    client.get("/");
    let long = format!("User-Agent: {}", "x".repeat(2000));
    let question = request("GET", &format!("/?{}", "y".repeat(8000)), &[&long]);
    let mut asked = 1;
    let begun = Instant::now();
    // Each request is answered at once and without the origin, although the pipe is full, and then all pages of the log's buffer.
    let question = question.replace("\r\n\r\n", "\r\nCache-Control: only-if-cached\r\n\r\n");
    while scene.engine.metrics().total(Counter::LogLinesDropped) < 10 {
        assert!(begun.elapsed() < 3 * WAIT_MAX, "no line is ever dropped");
        assert_eq!(client.send(&question).response().status, 504);
        asked += 1;
    }
    assert!(client.get("/").is_hit());
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        reads.read_to_string(&mut text).unwrap();
        text
    });
    let metrics = scene.engine.metrics().clone();
    drop(writes);
    drop(scene);
    let text = reader.join().unwrap();
    let (written, dropped) = (metrics.total(Counter::LogLines), metrics.total(Counter::LogLinesDropped));
    assert_eq!(written + dropped, asked + 1);
    assert_eq!(text.lines().count() as u64, written);
    assert!(text.lines().all(|line| line.starts_with("127.0.0.1 - - [") && line.ends_with('"')), "whole lines only");
}

#[test]
fn a_log_is_added_to_and_others_may_not_read_it() {
    let file = LogFile::new("added");
    for round in 1..=2 {
        let scene = file.setup(LogFormat::Common).run([get("/").answers(ok(FRESH, "a"))]);
        scene.client().get("/");
        assert_eq!(file.lines(scene).len(), round);
    }
    let mode = std::fs::metadata(&file.0).unwrap().permissions().mode();
    assert_eq!(mode & 0o137, 0, "{mode:o}: nobody but the owner writes, others read nothing");
}

#[test]
fn a_log_that_cannot_be_opened_is_said_at_the_start() {
    let file = LogFile::new("missing");
    let path = file.0.join("access.log");
    let target = LogTarget::File(path.clone());
    let error = logging_to(target, LogFormat::Common).site(&[], |_| {}).start_engine().err().unwrap();
    assert!(error.to_string().starts_with(&format!("the access log {}: No such file", path.display())), "{error}");
}
