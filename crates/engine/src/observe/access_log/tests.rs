//! Tests of the lines, and of their way through the pages to the writer.

use super::format::LINE_BYTES_MAX;
use super::pages::PAGE_BYTES;
use super::*;
use crate::observe::timing::OriginTime;
use crate::request::request_id::RequestId;
use http::{StatusCode, Version};
use kasoku_metrics::Metrics;
use kasoku_semantics::cache_status::{CacheStatus, Fwd};
use kasoku_semantics::reason::Reason;
use std::io::Write;
use std::sync::Mutex;

const NOW: Now = Now { unix_ms: 971_186_136_007, mono_ms: 0 };

fn asked<'r>() -> LoggedRequest<'r> {
    LoggedRequest {
        method: "GET",
        target: "/apache_pb.gif?a=1",
        version: Version::HTTP_10,
        uri: "http://example.org/apache_pb.gif?a=1",
        host: Some(b"EXAMPLE.org:80"),
        referer: Some(b"http://www.example.com/start.html"),
        user_agent: Some(b"Mozilla/4.08 [en] (Win98; I ;Nav)"),
    }
}

fn record(asked: LoggedRequest<'_>) -> Record<'_> {
    Record {
        id: RequestId::Made(0x0123_4567_89ab_cdef_0011_2233_4455_6677),
        client: "192.0.2.1".parse().ok(),
        asked: Some(asked),
        status: StatusCode::OK,
        body_bytes: 2326,
        is_whole: true,
        result: "hit",
        cache: None,
        reason: None,
        duration_us: Some(1_234),
        origin: None,
    }
}

/// A record as a line, without its line feed.
fn line(format: LogFormat, record: &Record<'_>) -> String {
    let mut page = LogPage { bytes: Vec::new(), lines: 0 };
    let mut stamp = Stamp::default();
    stamp.set(NOW);
    assert!(add(&mut page, format, record, &stamp));
    assert_eq!(page.bytes.iter().filter(|byte| **byte == b'\n').count(), 1);
    assert!(page.bytes.len() <= LINE_BYTES_MAX, "{} bytes", page.bytes.len());
    String::from_utf8(page.bytes).unwrap().strip_suffix('\n').unwrap().to_owned()
}

fn json(record: &Record<'_>) -> serde_json::Value {
    serde_json::from_str(&line(LogFormat::Json, record)).unwrap()
}

#[test]
fn combined_is_what_apache_and_nginx_write() {
    let expected = "192.0.2.1 - - [10/Oct/2000:13:55:36 +0000] \"GET /apache_pb.gif?a=1 HTTP/1.0\" 200 2326";
    assert_eq!(line(LogFormat::Common, &record(asked())), expected);
    assert_eq!(
        line(LogFormat::Combined, &record(asked())),
        format!("{expected} \"http://www.example.com/start.html\" \"Mozilla/4.08 [en] (Win98; I ;Nav)\"")
    );
}

#[test]
fn what_is_not_there_is_a_dash() {
    let bare = LoggedRequest { referer: None, user_agent: None, ..asked() };
    let record = Record { client: None, body_bytes: 0, ..record(bare) };
    let begin = "- - - [10/Oct/2000:13:55:36 +0000] ";
    let expected = format!("{begin}\"GET /apache_pb.gif?a=1 HTTP/1.0\" 200 0 \"-\" \"-\"");
    assert_eq!(line(LogFormat::Combined, &record), expected);
    let refused = Record { asked: None, status: StatusCode::BAD_REQUEST, ..record };
    assert_eq!(line(LogFormat::Combined, &refused), format!("{begin}\"-\" 400 0 \"-\" \"-\""));
}

#[test]
fn json_says_what_the_cache_did() {
    let status = CacheStatus { hit: true, ttl: Some(-3), ..CacheStatus::default() };
    let hit = Record { cache: Some(&status), reason: Some(Reason::HitStaleError), ..record(asked()) };
    assert_eq!(
        line(LogFormat::Json, &hit),
        "{\"time\":\"2000-10-10T13:55:36.007Z\",\"id\":\"0123456789abcdef0011223344556677\",\
         \"client\":\"192.0.2.1\",\"method\":\"GET\",\
         \"uri\":\"http://example.org/apache_pb.gif?a=1\",\"scheme\":\"http\",\"host\":\"example.org\",\"protocol\":\"HTTP/1.0\",\
         \"status\":200,\"bytes\":2326,\"aborted\":false,\"result\":\"hit\",\"hit\":true,\"stored\":false,\"collapsed\":false,\"ttl\":-3,\
         \"reason\":\"hit-stale-error\",\"duration\":0.001234,\"referer\":\"http://www.example.com/start.html\",\
         \"user_agent\":\"Mozilla/4.08 [en] (Win98; I ;Nav)\"}"
    );
    let status = CacheStatus {
        fwd: Some(Fwd::UriMiss),
        fwd_status: Some(200),
        stored: true,
        collapsed: true,
        ..CacheStatus::default()
    };
    let miss = json(&Record { cache: Some(&status), is_whole: false, ..record(asked()) });
    assert_eq!((&miss["fwd"], &miss["fwd_status"], &miss["hit"]), (&"uri-miss".into(), &200.into(), &false.into()));
    assert_eq!((&miss["stored"], &miss["collapsed"], &miss["aborted"]), (&true.into(), &true.into(), &true.into()));
}

#[test]
fn json_leaves_out_what_does_not_apply() {
    let keys = |record: &Record<'_>| json(record).as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let refused = Record { client: None, asked: None, duration_us: None, ..record(asked()) };
    assert_eq!(keys(&refused), ["aborted", "bytes", "id", "result", "status", "time"]);
    let lost = LoggedRequest { uri: "/lost", ..asked() };
    assert_eq!(json(&record(lost))["host"], "EXAMPLE.org:80", "no better name is known");
    assert!(!keys(&record(lost)).contains(&"scheme".to_owned()));
}

#[test]
fn combined_cache_is_combined_and_what_the_cache_did() {
    let plain = line(LogFormat::Combined, &record(asked()));
    let behind = |record: &Record<'_>| {
        let text = line(LogFormat::CombinedCache, record);
        text.strip_prefix(plain.as_str()).unwrap_or_else(|| panic!("{text}")).to_owned()
    };
    let status = CacheStatus { hit: true, ttl: Some(50), detail: Some(Reason::Hit), ..CacheStatus::default() };
    let hit = Record { cache: Some(&status), reason: status.detail, ..record(asked()) };
    let id = "0123456789abcdef0011223344556677";
    assert_eq!(behind(&hit), format!(" \"kasoku; hit; ttl=50; detail=hit\" 0.001234 - {id}"));
    let origin = OriginTime::begin(1_000_000);
    origin.has_head(3_500_000);
    origin.has_ended(4_000_000);
    origin.has_ended(9_000_000);
    let status = CacheStatus { fwd: Some(Fwd::UriMiss), stored: true, ..CacheStatus::default() };
    let told = RequestId::Told(b"from-the-proxy");
    let miss = Record { cache: Some(&status), origin: Some(&origin), id: told, ..record(asked()) };
    assert_eq!(behind(&miss), " \"kasoku; fwd=uri-miss; stored\" 0.001234 2.500000 from-the-proxy");
    let refused = Record { reason: Some(Reason::NoSite), ..record(asked()) };
    assert_eq!(behind(&refused), format!(" \"kasoku; detail=no-site\" 0.001234 - {id}"));
}

#[test]
fn json_says_which_origin_took_how_long() {
    let origin = OriginTime::begin(1_000_000);
    let told = |origin: &OriginTime| json(&Record { origin: Some(origin), ..record(asked()) });
    assert_eq!(told(&origin).get("origin_head_time"), None, "there is none yet");
    let address = kasoku_options::OriginAddress::Http(kasoku_options::OriginEndpoint::Unix("/run/\"app\".sock".into()));
    origin.asked(Arc::new(kasoku_origin::OriginState::new(address)));
    origin.has_head(1_000_007);
    let object = told(&origin);
    assert_eq!(
        (&object["origin"], &object["origin_head_time"]),
        (&"http://unix:/run/\"app\".sock".into(), &0.000007.into())
    );
    assert_eq!(object.get("origin_time"), None, "the client left before its end");
}

#[test]
fn nothing_that_a_client_sends_makes_a_line_of_its_own_or_ends_a_field() {
    let forged = b"x\" 200 1\r\n6.6.6.6 - - [\\\x1b]0;owned\x07\x00\xff\xe3\x81\x8b";
    let hostile = LoggedRequest { referer: Some(forged), user_agent: Some(forged), host: Some(forged), ..asked() };
    let hostile = LoggedRequest { method: "X\"Y", target: "/\"\\", uri: "/\"\\", ..hostile };
    let text = line(LogFormat::Combined, &record(hostile));
    let field = "x\\\" 200 1\\r\\n6.6.6.6 - - [\\\\\\x1b]0;owned\\x07\\x00\\xff\\xe3\\x81\\x8b";
    let expected = format!("\"X\\\"Y /\\\"\\\\ HTTP/1.0\" 200 2326 \"{field}\" \"{field}\"");
    assert!(text.ends_with(&expected), "{text}");
    let object = json(&record(hostile));
    let read = String::from_utf8_lossy(forged).into_owned();
    assert_eq!((&object["referer"], &object["host"]), (&read.clone().into(), &read.into()));
    assert_eq!((&object["method"], &object["uri"]), (&"X\"Y".into(), &"/\"\\".into()));
}

#[test]
fn the_longest_line_stays_within_its_bound() {
    let long = "\u{1}".repeat(64 << 10);
    let bytes = Some(long.as_bytes());
    let all = LoggedRequest {
        method: &long,
        target: &long,
        uri: &long,
        host: bytes,
        referer: bytes,
        user_agent: bytes,
        ..asked()
    };
    let status =
        CacheStatus { fwd: Some(Fwd::UriMiss), fwd_status: Some(999), ttl: Some(i64::MIN), ..CacheStatus::default() };
    for reason in Reason::all() {
        let longest = Record {
            id: RequestId::Told(&[b'9'; 128]),
            client: "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff".parse().ok(),
            body_bytes: u64::MAX,
            cache: Some(&status),
            reason: Some(*reason),
            ..record(all)
        };
        let text = line(LogFormat::Combined, &longest);
        assert_eq!(text.matches("\\x01...").count(), 4, "each is shortened for itself");
        assert!(line(LogFormat::CombinedCache, &longest).starts_with(&text));
        let object = json(&longest);
        assert!(["method", "uri", "host", "referer", "user_agent"].iter().all(|key| {
            let value = object[key].as_str().unwrap();
            value.starts_with('\u{1}') && value.ends_with("\u{1}...")
        }));
    }
}

/// A target that keeps what was written. A test can block it, or make it full.
#[derive(Clone, Default)]
struct Disk(Arc<Mutex<State>>, Arc<std::sync::Condvar>);

#[derive(Default)]
struct State {
    bytes: Vec<u8>,
    writes: usize,
    is_held: bool,
    bytes_max: Option<usize>,
}

impl Disk {
    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.0.lock().unwrap());
        self.1.notify_all();
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().bytes.clone()).unwrap()
    }

    fn writes(&self) -> usize {
        self.0.lock().unwrap().writes
    }

    /// Waits until `until` is true of what was written.
    fn wait(&self, until: impl Fn(&State) -> bool) {
        let waiting = self.1.wait_timeout_while(self.0.lock().unwrap(), Duration::from_secs(10), |state| !until(state));
        assert!(!waiting.unwrap().1.timed_out());
    }
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.0.lock().unwrap();
        state.writes += 1;
        self.1.notify_all();
        let mut state = self.1.wait_while(state, |state| state.is_held).unwrap();
        let room = state.bytes_max.map_or(bytes.len(), |max| max - state.bytes.len());
        if room == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let written = &bytes[..bytes.len().min(room)];
        state.bytes.extend_from_slice(written);
        Ok(written.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A log of one worker that writes to a disk. The counters of the worker are row 0, those of the writer row 1.
struct Fixture {
    disk: Disk,
    metrics: Metrics,
    log: AccessLog,
    worker: WorkerLog,
}

impl Fixture {
    fn new(disk: &Disk, pages: usize) -> Self {
        let metrics = Metrics::new(2);
        let sink = Box::new(disk.clone());
        let log = AccessLog::writing_to(sink, None, LogFormat::Common, pages, metrics.cells(1)).unwrap();
        let worker = log.of_worker(metrics.cells(0));
        Self { disk: disk.clone(), metrics, log, worker }
    }

    /// Logs a line with this number.
    fn tell(&self, number: usize) {
        let target = format!("/{number}");
        self.worker.line(NOW, &record(LoggedRequest { target: &target, ..asked() }));
    }

    /// Logs more lines of about 1 KiB than a page holds, and returns their number.
    fn tell_more_than_a_page(&self) -> usize {
        let target = format!("/{}", "x".repeat(1024));
        let count = PAGE_BYTES / 1024;
        for _ in 0..count {
            self.worker.line(NOW, &record(LoggedRequest { target: &target, ..asked() }));
        }
        count
    }

    /// Stops as the engine does: workers first. Returns the written text, and how many lines were written and dropped.
    fn stop(self) -> (String, u64, u64) {
        drop(self.worker);
        self.log.finish();
        let total = |counter| self.metrics.total(counter);
        (self.disk.text(), total(Counter::LogLines), total(Counter::LogLinesDropped))
    }
}

#[test]
fn a_line_stays_with_its_worker_until_it_is_flushed() {
    let log = Fixture::new(&Disk::default(), 2);
    log.tell(1);
    log.tell(2);
    assert!(log.log.pages.is_idle(), "no page is with the writer");
    log.worker.flush();
    log.disk.wait(|state| state.bytes.ends_with(b"2326\n"));
    assert_eq!((log.disk.text().lines().count(), log.disk.writes()), (2, 1), "both lines in one system call");
    log.stop();
}

#[test]
fn a_stop_writes_what_is_there() {
    let log = Fixture::new(&Disk::default(), 4);
    let count = log.tell_more_than_a_page();
    log.tell(7);
    let (text, written, dropped) = log.stop();
    assert!(text.contains("\"GET /7 HTTP/1.0\"") && text.ends_with('\n'));
    assert_eq!((text.lines().count(), written, dropped), (count + 1, count as u64 + 1, 0));
}

#[test]
fn a_writer_that_is_held_up_costs_lines_and_never_holds_up_a_worker() {
    let disk = Disk::default();
    disk.change(|state| state.is_held = true);
    let log = Fixture::new(&disk, 3);
    // Lines of three pages find room. The test is that this loop ends although the writer is blocked.
    let told: usize = (0..6).map(|_| log.tell_more_than_a_page()).sum();
    let dropped = log.metrics.total(Counter::LogLinesDropped);
    assert!(dropped > 0 && (dropped as usize) < told);
    assert_eq!(log.metrics.total(Counter::LogLines), 0);
    disk.change(|state| state.is_held = false);
    let (text, written, dropped_at_the_end) = log.stop();
    assert_eq!(dropped_at_the_end, dropped);
    assert_eq!((written + dropped) as usize, told);
    assert_eq!(text.lines().count() as u64, written);
}

#[test]
fn a_log_that_was_held_up_goes_on() {
    let disk = Disk::default();
    disk.change(|state| state.is_held = true);
    let log = Fixture::new(&disk, 1);
    log.tell(1);
    log.worker.flush();
    log.tell(2);
    disk.change(|state| state.is_held = false);
    disk.wait(|state| !state.bytes.is_empty());
    let begun = std::time::Instant::now();
    while log.log.pages.is_starved() {
        assert!(begun.elapsed() < Duration::from_secs(10), "the page never comes back");
        std::thread::yield_now();
    }
    log.tell(3);
    let (text, written, dropped) = log.stop();
    assert!(text.contains("GET /1 ") && !text.contains("GET /2 ") && text.contains("GET /3 "), "{text}");
    assert_eq!((written, dropped), (2, 1));
}

#[test]
fn pages_are_recycled_and_never_grow() {
    let log = Fixture::new(&Disk::default(), 2);
    let mut told = 0;
    for _ in 0..20 {
        told += log.tell_more_than_a_page() as u64;
        log.worker.flush();
    }
    log.log.pages.close();
    assert!(log.log.pages.wait_for_end(Duration::from_secs(10)));
    let pages: Vec<LogPage> = std::iter::from_fn(|| log.log.pages.empty()).collect();
    assert_eq!(pages.len(), 2, "as many as at the start");
    assert!(pages.iter().all(|page| page.bytes.is_empty() && page.bytes.capacity() == PAGE_BYTES));
    assert_eq!(log.metrics.total(Counter::LogLines) + log.metrics.total(Counter::LogLinesDropped), told);
}

#[test]
fn lines_of_two_workers_never_mix() {
    let disk = Disk::default();
    let log = Fixture::new(&disk, 64);
    let others: Vec<WorkerLog> = (0..2).map(|_| log.log.of_worker(log.metrics.cells(0))).collect();
    std::thread::scope(|scope| {
        for (at, worker) in others.into_iter().enumerate() {
            scope.spawn(move || {
                let target = format!("/{}", if at == 0 { "a" } else { "b" }.repeat(3_000));
                for _ in 0..200 {
                    worker.line(NOW, &record(LoggedRequest { target: &target, ..asked() }));
                }
            });
        }
    });
    let (text, written, dropped) = log.stop();
    assert_eq!((text.lines().count(), written, dropped), (400, 400, 0));
    let is_one_workers = |line: &str| line.len() == text.lines().next().unwrap().len() && !line.contains("ab");
    assert!(text.lines().all(is_one_workers));
}

#[test]
fn a_full_disk_loses_lines_that_are_counted_and_leaves_no_line_run_into_another() {
    let disk = Disk::default();
    let one_line = line(LogFormat::Common, &record(LoggedRequest { target: "/1", ..asked() })).len() + 1;
    // There is room for the first line and half of the second.
    disk.change(|state| state.bytes_max = Some(one_line + one_line / 2));
    let log = Fixture::new(&disk, 4);
    for number in 1..=3 {
        log.tell(number);
    }
    log.worker.flush();
    disk.wait(|state| state.writes == 2);
    log.tell(4);
    log.worker.flush();
    disk.wait(|state| state.writes == 3);
    disk.change(|state| state.bytes_max = None);
    log.tell(5);
    let (text, written, dropped) = log.stop();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(lines[0].contains("GET /1 ") && lines[0].ends_with("2326"), "{text}");
    assert_eq!(lines[1].len(), one_line / 2, "what there was room for");
    assert!(lines[2].contains("GET /5 ") && lines[2].ends_with("2326"), "{text}");
    assert_eq!((written, dropped), (2, 3));
}
