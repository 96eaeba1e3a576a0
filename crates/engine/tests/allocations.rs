//! Checks that a hit allocates nothing. It counts the allocations of this whole process: the engine, its threads, the scripted
//! origin and the client.
//!
//! Each case stores a page and asks for it until all buffers have grown to their size. Then it asks a thousand times more and
//! counts what the allocator was asked for meanwhile: there must be no allocation, no reallocation and no release. The client has
//! its buffer on the stack and the origin has nothing to do, so all that is counted is the engine's.
//!
//! The cases run one after the other in a single test, since the test harness allocates as well, whenever a test begins or ends.
//! `cargo test -p kasoku-engine --test allocations -- --nocapture` prints the table; `KASOKU_TEST_CASES` selects the cases whose
//! names contain its value.
//!
//! The engine logs the last request of a round after its answer, so that request may count in the next round: this changes
//! nothing where all rounds must count 0. The cases that are allowed to allocate are in the table as well, and must do so: they
//! show that the counter sees the worker's thread.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

#[path = "allocations/boards.rs"]
mod boards;

use kasoku_engine::explain::Question;
use kasoku_metrics::Counter;
use kasoku_options::{
    AccessLogOptions, AddressRange, BeaconRules, HitHeaders, LogFormat, LogTarget, OtherCookies, QueryKey,
};
use kasoku_testkit::{Exchange, Scenario, Setup, get, ok};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::alloc::System;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Requests before the counting starts, on all connections together. Each connection sends at least two.
const WARM_UP: usize = 200;

/// The least number of requests in a round that counts.
const MEASURED: usize = 1_000;

/// On a busy machine, a thread that a scene has started may run its first instructions late, and these allocate. Such allocations
/// are not in each round; those of a hit are.
const ROUNDS_MAX: usize = 3;

/// The number of requests after which the simulated time advances by one second.
const REQUESTS_PER_SECOND: usize = 100;

/// Long enough for the work that a worker does once a second, by the real clock: it flushes the log and checks idle connections.
const TWO_ROUNDS: Duration = Duration::from_millis(2_200);

/// The time limit of an answer: a later one counts as hanging.
const WAIT_MAX: Duration = Duration::from_secs(10);

const FRESH: &str = "Cache-Control: max-age=3600";
const MODIFIED: &str = "Last-Modified: Sat, 01 Aug 2026 10:00:00 GMT";
const BODY: [u8; 4096] = [b'x'; 4096];
static LONG_BODY: [u8; 100_000] = [b'x'; 100_000];

/// The fields that a browser sends with each request for a page.
const BROWSER: &str = "Connection: keep-alive\r\n\
    Cache-Control: max-age=3600\r\n\
    sec-ch-ua: \"Chromium\";v=\"140\", \"Not=A?Brand\";v=\"24\"\r\n\
    sec-ch-ua-mobile: ?0\r\n\
    sec-ch-ua-platform: \"Linux\"\r\n\
    Upgrade-Insecure-Requests: 1\r\n\
    User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36\r\n\
    Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\n\
    Sec-Fetch-Site: same-origin\r\n\
    Sec-Fetch-Mode: navigate\r\n\
    Sec-Fetch-User: ?1\r\n\
    Sec-Fetch-Dest: document\r\n\
    Referer: http://example.org/from/somewhere?else=1\r\n";

/// The codings that browsers accept over TLS.
const CODINGS: &str = "Accept-Encoding: gzip, deflate, br, zstd\r\n";

/// Whether a case may allocate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Nothing,
    Some,
}

/// The settings, the stored page, and the hits that are counted.
struct Case {
    name: &'static str,
    setup: Setup,
    /// The requests that the origin gets, in the order of `fills`, and its answers.
    script: Vec<Exchange>,
    /// The requests that fill the cache.
    fills: Vec<String>,
    /// The requests that are sent in turn, and counted.
    hits: Vec<String>,
    status: u16,
    /// The number of responses to each of `hits`.
    responses: usize,
    connections: usize,
    /// The age of the stored page when it is requested, in seconds.
    age: i64,
    lasts: Duration,
    /// The number of content codings that the hits cause to be made: the counting starts when they are stored.
    codings: u64,
    /// The cookies of the session that the hits carry: the counting starts when that session is known to be anonymous.
    anonymous: Option<String>,
    expected: Expected,
}

impl Case {
    /// A page `/page` in profile safe, and a plain GET for it.
    fn new(name: &'static str) -> Self {
        Self::of(name, Setup::safe(), "/page")
    }

    fn of(name: &'static str, setup: Setup, target: &str) -> Self {
        let fields = [FRESH, MODIFIED, "ETag: \"1\"", "Content-Type: text/html", "Server: origin"];
        Self {
            name,
            setup,
            script: vec![get(target).answers(ok(&fields, BODY))],
            fills: vec![request("GET", target, "")],
            hits: vec![request("GET", target, "")],
            status: 200,
            responses: 1,
            connections: 1,
            age: 0,
            lasts: Duration::ZERO,
            codings: 0,
            anonymous: None,
            expected: Expected::Nothing,
        }
    }

    fn set(mut self, change: impl FnOnce(Setup) -> Setup) -> Self {
        self.setup = change(self.setup);
        self
    }

    fn hit(mut self, method: &str, target: &str, fields: &str) -> Self {
        self.hits = vec![request(method, target, fields)];
        self
    }

    fn codings(mut self, codings: u64) -> Self {
        self.codings = codings;
        self
    }

    fn with(self, fields: &str) -> Self {
        self.hit("GET", "/page", fields)
    }

    fn variants(mut self, vary: &str, variants: &[&str]) -> Self {
        let page = || get("/page").answers(ok(&[FRESH, vary, "Content-Type: text/html"], BODY));
        let request = |fields: &&str| request("GET", "/page", &format!("{BROWSER}{fields}"));
        self.script = variants.iter().map(|_| page()).collect();
        self.fills = variants.iter().map(request).collect();
        self.hits = self.fills.clone();
        self
    }

    fn logging(mut self, format: LogFormat) -> Self {
        let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("allocations-{format:?}.log"));
        let _ = std::fs::remove_file(&file);
        self.lasts = TWO_ROUNDS;
        self.set(|setup| {
            setup.options(|options| {
                options.access_log = AccessLogOptions { target: Some(LogTarget::File(file)), format }
            })
        })
        .with(BROWSER)
    }

    fn behind_a_proxy(self, fields: &str) -> Self {
        let proxy = AddressRange::Ip { address: [127, 0, 0, 1].into(), prefix_bits: 32 };
        let mut case = self.set(|setup| setup.options(|options| options.trusted_proxies = vec![proxy])).with(fields);
        case.fills = case.hits.clone();
        case
    }
}

fn request(method: &str, target: &str, fields: &str) -> String {
    format!("{method} {target} HTTP/1.1\r\nHost: example.org\r\n{fields}\r\n")
}

fn with_rules(setup: Setup) -> Setup {
    setup
        .rule("/admin/*", |route| route.pass = true)
        .rule("*.css", |_| {})
        .rule("/caf%C3%A9/*", |_| {})
        .rule("/page*", |_| {})
}

fn normalising(setup: Setup) -> Setup {
    setup.route(|route| {
        route.query = QueryKey { sort: true, ignore: vec!["utm_*".into(), "fbclid".into()], ..QueryKey::default() }
    })
}

fn cases() -> Vec<Case> {
    vec![
        Case::new("GET"),
        Case { lasts: TWO_ROUNDS, ..Case::new("GET, for two seconds") },
        Case::of("GET, profile rfc", Setup::rfc(), "/page"),
        Case::new("GET, as a browser sends it").with(BROWSER),
        Case::new("GET with a cookie").with("Cookie: _ga=GA1.1.1234567890.1234567890; theme=dark\r\n"),
        Case::new("GET with an absolute target").hit("GET", "http://example.org/page", ""),
        Case::new("GET with Connection: TE").with("Connection: TE\r\nTE: trailers\r\n"),
        Case::new("HEAD").hit("HEAD", "/page", ""),
        Case { connections: 64, ..Case::new("GET on 64 connections in turn") },
        coded("GET, coded: gzip", 1).with("Accept-Encoding: gzip\r\n"),
        coded("GET, coded, as a browser asks", 1).with(&format!("{BROWSER}{CODINGS}")),
        coded("GET that accepts no coding of what has some", 0).with("Accept-Encoding: gzip;q=0, deflate\r\n"),
        coded("HEAD, coded", 1).hit("HEAD", "/page", CODINGS),
        Case {
            status: 304,
            ..coded("If-None-Match of a coding: 304", 0).with(&format!("{CODINGS}If-None-Match: \"x\", \"1-gzip\"\r\n"))
        },
        Case {
            status: 206,
            ..coded("a range of what has codings: 206", 0).with(&format!("{CODINGS}Range: bytes=9-99\r\n"))
        },
        Case {
            script: vec![get("/page").answers(ok(&[FRESH, "Content-Type: text/css", "Content-Encoding: x"], BODY))],
            ..Case::new("GET that accepts codings of what has one")
        }
        .with(CODINGS),
        Case::new("Vary: Accept-Encoding")
            .codings(1)
            .variants("Vary: Accept-Encoding", &["Accept-Encoding: gzip, deflate, br\r\n", ""]),
        Case::new("Vary: Accept-Encoding, Accept-Language").codings(2).variants(
            "Vary: Accept-Encoding, Accept-Language",
            &[
                "Accept-Encoding: gzip, deflate, br\r\nAccept-Language: en-GB,en;q=0.9\r\n",
                "Accept-Encoding: gzip, deflate, br\r\nAccept-Language: ja,en;q=0.5\r\n",
            ],
        ),
        Case::of("Vary: Accept-Language, profile rfc", Setup::rfc(), "/page").variants(
            "Vary: Accept-Language",
            &["Accept-Language: en-GB,en;q=0.9\r\n", "Accept-Language: ja,en;q=0.5\r\n"],
        ),
        Case::of("query sorted, utm_* ignored", normalising(Setup::safe()), "/page?a=1&b=2").hit(
            "GET",
            "/page?b=2&utm_source=mail&a=1&utm_campaign=x&fbclid=7",
            BROWSER,
        ),
        Case::new("rules").set(with_rules),
        Case::of("a percent-encoded path", Setup::safe(), "/page/%E5%8A%A0%E9%80%9F"),
        Case::of("a percent-encoded path, with rules", with_rules(Setup::safe()), "/page/%E5%8A%A0%E9%80%9F"),
        Case::of(
            "a percent-encoded path that is not UTF-8, with rules",
            with_rules(Setup::safe()),
            "/page/%89%c1%91%ac",
        ),
        Case::of("dot segments, with rules", with_rules(Setup::safe()), "/page//a/./b/../c"),
        Case { status: 304, ..Case::new("If-None-Match: 304").with("If-None-Match: \"0\", W/\"1\"\r\n") },
        Case {
            status: 304,
            ..Case::new("If-Modified-Since: 304").with("If-Modified-Since: Sat, 01 Aug 2026 10:00:00 GMT\r\n")
        },
        Case::new("If-Modified-Since that is no date").with("If-Modified-Since: yesterday\r\n"),
        Case { status: 206, ..Case::new("a range: 206").with("Range: bytes=100-199\r\n") },
        Case {
            status: 206,
            ..Case::new("a range, with If-Range: 206").with("Range: bytes=100-199\r\nIf-Range: \"1\"\r\n")
        },
        Case { status: 416, ..Case::new("a range beyond the end: 416").with("Range: bytes=5000-\r\n") },
        Case { age: 4_000, ..Case::new("stale, by max-stale").with("Cache-Control: max-stale=1000\r\n") },
        Case::new("Cache-Control: max-age in the request").with("Cache-Control: max-age=3600\r\n"),
        Case::new("X-Cache-Hit, X-Cache-Status and X-Request-Id").set(|setup| {
            let all = HitHeaders { cache_status: true, x_cache_hit: true, x_cache_status: true, request_id: true };
            setup.options(|options| options.hit_headers = all)
        }),
        Case::new("access log, combined").logging(LogFormat::Combined),
        Case::new("access log, combined-cache").logging(LogFormat::CombinedCache),
        Case::new("access log, JSON").logging(LogFormat::Json),
        Case::new("a trusted proxy: X-Forwarded-*").behind_a_proxy(
            "X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: www.example.org\r\n\
             X-Request-Id: 9f2c3d1e-0000-4000-8000-123456789abc\r\n",
        ),
        Case::new("a trusted proxy: Forwarded")
            .behind_a_proxy("Forwarded: for=192.0.2.7;proto=https;host=\"www.example.org:8443\"\r\n"),
        Case::new("traces, of which one in a billion is recorded").set(traced),
        Case::new("a trusted proxy's trace, which is not recorded")
            .set(traced)
            .behind_a_proxy("traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00\r\n"),
        granted("a granted lifetime, as a browser asks", &[], "Cookie: _ga=GA1.1.1234567890.1234567890\r\n"),
        granted(
            "a granted lifetime, by a cookie",
            &["lang", "cur*"],
            "Cookie: lang=de; _ga=1; currency=EUR; sid=2\r\n",
        ),
        counted(),
        long(),
        negotiated(),
        without_host(),
        pipelined(),
        Case {
            status: 206,
            expected: Expected::Some,
            ..Case::new("several ranges: 206").with("Range: bytes=0-9,100-109\r\n")
        },
    ]
}

fn traced(setup: Setup) -> Setup {
    setup.options(|options| {
        options.traces.collector = Some("http://127.0.0.1:1/v1/traces".to_owned());
        options.traces.sample_one_in = 1_000_000_000;
    })
}

/// A page of which the cache may store codings.
fn coded(name: &'static str, codings: u64) -> Case {
    Case::new(name).codings(codings)
}

/// A page that states no expiry, and varies by fields that Kasoku does not forward to the origin.
fn granted(name: &'static str, key_cookies: &[&str], fields: &str) -> Case {
    let key_cookies = key_cookies.iter().map(|name| (*name).to_owned()).collect();
    let setup = Setup::safe().policy(|policy| {
        policy.grant.ttl_seconds = 3600;
        policy.grant.key_cookies = key_cookies;
        policy.grant.key_fields = vec!["upgrade-insecure-requests".to_owned()];
    });
    let setup = setup.route(|route| route.cookies.others = Some(OtherCookies::Remove));
    let fields = format!("{BROWSER}{fields}");
    let script = vec![get("/page").answers(ok(&["Vary: Accept, HX-Request"], BODY))];
    let fills = vec![request("GET", "/page", &fields)];
    Case { script, fills, ..Case::of(name, setup, "/page") }.with(&fields)
}

/// The application has already heard of the page's visitor through the beacon.
fn counted() -> Case {
    let fields = "X-Forwarded-For: 198.51.100.7\r\n";
    let case = granted("a visitor who has been told of (beacon)", &[], fields);
    let proxy = AddressRange::Ip { address: [127, 0, 0, 1].into(), prefix_bits: 32 };
    let mut case = case.set(|setup| {
        let rules = BeaconRules { visitor: Some("/count".to_owned()), ..BeaconRules::default() };
        setup.route(|route| route.beacons = Arc::new(rules)).options(|options| options.trusted_proxies = vec![proxy])
    });
    let page = ok(&["Content-Type: text/html", "Vary: Accept, HX-Request"], BODY);
    case.script = vec![get("/page").answers(page), get("/count").answers(ok(&["Content-Type: text/html"], ""))];
    case
}

/// A body in more than one piece.
fn long() -> Case {
    Case { script: vec![get("/page").answers(ok(&[FRESH], LONG_BODY))], ..Case::new("GET of 100 KB") }
}

/// The client asks for languages that no stored variant was requested with. It gets the stored variant in the language that it
/// prefers.
fn negotiated() -> Case {
    let fields = [FRESH, "Vary: Accept-Language", "Content-Language: en"];
    let script = vec![get("/page").answers(ok(&fields, BODY))];
    let case = Case { script, ..Case::of("a language chosen, profile rfc", Setup::rfc(), "/page") };
    let mut case = case.with("Accept-Language: de;q=0.5, en\r\n");
    case.fills = vec![request("GET", "/page", "Accept-Language: en\r\n")];
    case
}

/// HTTP/1.0 allows a request without Host: the address that the client connected to stands for the host.
fn without_host() -> Case {
    let mut case = Case::new("HTTP/1.0 without Host");
    case.fills = vec!["GET /page HTTP/1.0\r\nConnection: keep-alive\r\n\r\n".to_owned()];
    case.hits = case.fills.clone();
    case
}

/// The second request waits in the connection's own buffer, which is allocated for it.
fn pipelined() -> Case {
    let two = request("GET", "/page", "").repeat(2);
    Case { hits: vec![two], responses: 2, expected: Expected::Some, ..Case::new("two requests in one packet") }
}

#[test]
fn a_hit_allocates_nothing() {
    let wanted = std::env::var("KASOKU_TEST_CASES").unwrap_or_default();
    let mut mistakes = Vec::new();
    for case in cases().into_iter().chain(boards::cases()).filter(|case| case.name.contains(&wanted)) {
        let (name, expected) = (case.name, case.expected);
        let (counted, requests) = measure(case);
        println!("{name:55} {counted:>6} in {requests} requests");
        if (counted == 0) != (expected == Expected::Nothing) {
            mistakes.push(format!("{name}: {counted} in {requests} requests, expected: {expected:?}"));
        }
    }
    assert!(mistakes.is_empty(), "{mistakes:#?}");
}

/// Plays a case. Returns the number of allocations, reallocations and releases, and the number of responses in that round.
fn measure(case: Case) -> (usize, usize) {
    let scene = case.setup.run(case.script);
    let mut connections: Vec<TcpStream> = (0..case.connections).map(|_| connect(&scene)).collect();
    for fill in &case.fills {
        exchange(&mut connections[0], fill, 200, "", 1);
    }
    if let Some(cookies) = &case.anonymous {
        is_found_anonymous(&scene, cookies);
    }
    scene.advance(case.age);
    let mut ask = |number: usize| {
        let connection = number % connections.len();
        let hit = &case.hits[number % case.hits.len()];
        exchange(&mut connections[connection], hit, case.status, "kasoku; hit", case.responses);
        if number.is_multiple_of(REQUESTS_PER_SECOND) {
            scene.advance(1);
        }
    };
    (0..WARM_UP).for_each(&mut ask);
    scene.counted(Counter::Compressions, case.codings);
    (0..WARM_UP).for_each(&mut ask);

    let mut round = || {
        let begun = Instant::now();
        let before = ALLOCATOR.stats();
        let mut requests = 0;
        while requests < MEASURED || begun.elapsed() < case.lasts {
            ask(requests);
            requests += 1;
        }
        let after = ALLOCATOR.stats();
        let counted = (after.allocations - before.allocations)
            + (after.reallocations - before.reallocations)
            + (after.deallocations - before.deallocations);
        (counted, requests * case.responses)
    };
    let mut told = round();
    for _ in 1..ROUNDS_MAX {
        if told.0 > 0 && case.expected == Expected::Nothing {
            told = round();
        }
    }
    told
}

/// Waits until the session is known to be anonymous. Asking for an explanation changes nothing.
fn is_found_anonymous(scene: &Scenario, cookies: &str) {
    let question = Question { fields: vec![format!("Cookie: {cookies}")], ..Question::get("http://example.org/") };
    let handle = scene.engine.handle();
    scene.eventually(|| handle.explain(&question).unwrap().cache_status().contains("session=anonymous"));
}

fn connect(scene: &Scenario) -> TcpStream {
    let connection = TcpStream::connect(scene.engine.addresses()[0]).unwrap();
    connection.set_nodelay(true).unwrap();
    connection.set_read_timeout(Some(WAIT_MAX)).unwrap();
    connection
}

/// Sends these bytes, and reads that many responses, each with that status and with `words` in its head. Allocates nothing.
fn exchange(connection: &mut TcpStream, request: &str, status: u16, words: &str, responses: usize) {
    connection.write_all(request.as_bytes()).unwrap();
    let mut buffer = [0; 128 << 10];
    let (mut start, mut end) = (0, 0);
    for _ in 0..responses {
        let head_end = loop {
            match find(&buffer[start..end], b"\r\n\r\n") {
                Some(at) => break start + at + 4,
                None => end += read(connection, &mut buffer[end..]),
            }
        };
        let head = std::str::from_utf8(&buffer[start..head_end]).unwrap();
        assert!(head[9..].starts_with(written(status, &mut [0; 3])), "{head}");
        assert!(head.contains(words), "{words:?} is not in {head}");
        let has_body = !request.starts_with("HEAD") && status != 304;
        start = head_end + if has_body { content_length(head) } else { 0 };
        while end < start {
            end += read(connection, &mut buffer[end..]);
        }
    }
    assert_eq!(start, end, "more came than the responses");
}

fn read(connection: &mut TcpStream, buffer: &mut [u8]) -> usize {
    let count = connection.read(buffer).unwrap();
    assert_ne!(count, 0, "the connection was closed");
    count
}

fn content_length(head: &str) -> usize {
    let value = head.split("\r\n").find_map(|line| line.strip_prefix("Content-Length: "));
    value.unwrap_or_else(|| panic!("no length: {head}")).parse().unwrap()
}

/// Writes the status as three digits.
fn written(status: u16, digits: &mut [u8; 3]) -> &str {
    *digits = [status / 100, status / 10 % 10, status % 10].map(|digit| b'0' + digit as u8);
    std::str::from_utf8(digits).unwrap()
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}
