//! Tests of the listener over real sockets.

mod explain;
mod top;

use super::*;
use kasoku_cache::Purge;
use kasoku_engine::Engine;
use kasoku_engine::purge::PurgeTarget;
use kasoku_metrics::histogram::BOUNDS_US;
use kasoku_metrics::{Counter, Outcome, StatusClass, Timer};
use kasoku_options::{HostPattern, Options, OriginAddress, OriginEndpoint, OriginHealth};
use kasoku_options::{PeerAddress, Peers, SharedEndpoint, SharedServer, SharedServers, SharedTier};
use kasoku_origin::health::CheckResult;
use kasoku_semantics::Reason;
use kasoku_testkit::{Folder, Setup};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

/// The longest wait for bytes, so that a hang is a failure.
const PATIENCE: Duration = Duration::from_secs(10);

fn loopback() -> ListenAddress {
    ListenAddress::Tcp(SocketAddr::from(([127, 0, 0, 1], 0)))
}

/// An engine of two workers that listens nowhere and has counted nothing.
fn engine() -> Engine {
    let nowhere = |options: &mut Options| {
        options.listeners.clear();
        options.workers = 2;
    };
    let hosts = [HostPattern::Exact("a.example".to_owned())];
    Setup::safe().options(nowhere).site(&hosts, |_| {}).run_without_origin()
}

/// An admin listener, and its engine.
fn started() -> (Admin, Engine) {
    started_with(None)
}

fn started_with(token: Option<AdminToken>) -> (Admin, Engine) {
    let engine = engine();
    let handle = AdminHandle::new(engine.handle().clone(), token);
    (Admin::start(&loopback(), handle).unwrap(), engine)
}

/// A handle and its engine, for tests that open the sockets themselves.
fn handle() -> (AdminHandle, Engine) {
    let engine = engine();
    (AdminHandle::new(engine.handle().clone(), None), engine)
}

fn door() -> AdminSocket {
    AdminSocket::admin(open(&loopback()).unwrap(), &loopback())
}

fn connect(admin: &Admin) -> TcpStream {
    let stream = TcpStream::connect(admin.address().unwrap()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Sends `request` and reads until the listener closes. It may close before it has read all of a refused request.
fn exchange(mut stream: impl Read + Write, request: &str) -> String {
    let _ = stream.write_all(request.as_bytes());
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
        Err(error) => panic!("{error}"),
    }
    String::from_utf8(answer).unwrap()
}

fn get(admin: &Admin, path: &str) -> String {
    exchange(connect(admin), &format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"))
}

fn status(answer: &str) -> u16 {
    answer.get(9..12).and_then(|code| code.parse().ok()).unwrap_or_else(|| panic!("no response: {answer:?}"))
}

fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").unwrap().1
}

#[test]
fn healthz_says_ok() {
    let (admin, _) = started();
    let answer = get(&admin, "/healthz");
    assert_eq!((status(&answer), body(&answer)), (200, "ok\n"));
}

#[test]
fn metrics_has_each_counter_and_gauge_with_help_and_type() {
    let (admin, engine) = started();
    let metrics = engine.metrics().clone();
    metrics.cells(0).add(Counter::Hits, 3);
    metrics.cells(1).add(Counter::Hits, 4);
    let answer = get(&admin, "/metrics");
    assert!(answer.to_ascii_lowercase().contains("\r\ncontent-type: text/plain; version=0.0.4; charset=utf-8\r\n"));
    let lines: Vec<&str> = body(&answer).lines().collect();
    assert!(lines.contains(&"kasoku_hits_total 7"), "{lines:#?}");
    assert!(lines.contains(&"kasoku_workers 2"), "{lines:#?}");
    assert!(lines.contains(&"kasoku_stored_objects 0"), "{lines:#?}");
    assert!(lines.contains(&concat!("kasoku_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"} 1")));
    // Each metric has three lines, help, type and value, all of the same name. Histograms and metrics with labels have more values.
    let has_labels = |line: &&str| line.contains("kasoku_responses_total") || line.contains("kasoku_not_hits_total");
    let (labelled, lines): (Vec<&str>, Vec<&str>) = lines.into_iter().partition(has_labels);
    let (times, lines): (Vec<&str>, Vec<&str>) = lines
        .into_iter()
        .partition(|line| line.contains("kasoku_") && line.contains("_seconds") && !line.contains("uptime"));
    for metric in lines.chunks(3) {
        let [help, kind, value] = metric else { panic!("{metric:?}") };
        let name = help.strip_prefix("# HELP ").unwrap().split(' ').next().unwrap();
        let expected = if name.ends_with("_total") { "counter" } else { "gauge" };
        assert_eq!(*kind, format!("# TYPE {name} {expected}"));
        assert_eq!(value.split([' ', '{']).next(), Some(name));
    }
    let read = snapshot::GAUGES.len() + snapshot::EXTERNAL_COUNTERS.len() + process::OF_PROCESS.len();
    assert_eq!(lines.len(), 3 * (Counter::ALL.len() + read + 1));
    let sites = 2;
    assert_eq!(labelled.len(), 2 * 2 + sites * 24);
    let names = 2;
    assert_eq!(times.len(), 2 * names + Timer::ALL.len() * (BOUNDS_US.len() + 1 + 2));
}

#[test]
fn metrics_has_histograms_whose_buckets_grow_to_the_count() {
    let (admin, engine) = started();
    for (worker, us) in [(0, 900), (1, 70_000), (0, 60_000_000)] {
        engine.metrics().cells(worker).observe(Timer::Miss, us);
    }
    engine.metrics().cells(0).observe(Timer::Origin, 2_000_000);
    let answer = get(&admin, "/metrics");
    for line in [
        "# TYPE kasoku_request_seconds histogram",
        "kasoku_request_seconds_bucket{result=\"miss\",le=\"0.001\"} 1",
        "kasoku_request_seconds_bucket{result=\"miss\",le=\"0.05\"} 1",
        "kasoku_request_seconds_bucket{result=\"miss\",le=\"0.1\"} 2",
        "kasoku_request_seconds_bucket{result=\"miss\",le=\"10\"} 2",
        "kasoku_request_seconds_bucket{result=\"miss\",le=\"+Inf\"} 3",
        "kasoku_request_seconds_sum{result=\"miss\"} 60.0709",
        "kasoku_request_seconds_count{result=\"miss\"} 3",
        "kasoku_request_seconds_count{result=\"hit\"} 0",
        "kasoku_origin_head_seconds_bucket{le=\"2.5\"} 1",
        "kasoku_origin_head_seconds_sum 2",
        "kasoku_origin_head_seconds_count 1",
    ] {
        assert_eq!(body(&answer).lines().filter(|written| *written == line).count(), 1, "{line}");
    }
}

#[test]
fn stats_is_json_with_the_same_numbers_and_the_hit_ratio() {
    let (admin, engine) = started();
    let metrics = engine.metrics().clone();
    for (counter, count) in
        [(Counter::Requests, 9), (Counter::Hits, 6), (Counter::Misses, 1), (Counter::Passes, 1), (Counter::Errors, 1)]
    {
        metrics.cells(0).add(counter, count);
    }
    let answer = get(&admin, "/stats");
    assert!(answer.to_ascii_lowercase().contains("\r\ncontent-type: application/json\r\n"));
    let stats: serde_json::Value = serde_json::from_str(body(&answer)).unwrap();
    assert_eq!(stats["hit_ratio"], 0.75);
    assert_eq!(stats["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!((&stats["workers"], &stats["requests"]), (&2.into(), &9.into()));
    assert!(stats["uptime_seconds"].is_u64());
    // As many members as rows: no two numbers have the same name.
    let read = snapshot::GAUGES.len() + snapshot::EXTERNAL_COUNTERS.len();
    assert_eq!(stats.as_object().unwrap().len(), 10 + Counter::ALL.len() + read);
    assert_eq!((&stats["memory_limit_bytes"], &stats["evictions"]), (&(64 << 20).into(), &0.into()));
    assert_eq!(stats["stored_limit_bytes"], 56 << 20);
    assert!(stats["process"]["resident_memory_bytes"].as_u64().unwrap() > 100_000, "{}", stats["process"]);
    assert!(stats["process"]["cpu_seconds"].is_number() && stats["process"]["open_fds"].is_u64());
}

#[test]
fn what_was_answered_has_labels_in_both_formats() {
    let (admin, engine) = started();
    let metrics = engine.metrics();
    for worker in [0, 1] {
        metrics.of_site("site 0", worker).count(Outcome::Hit, StatusClass::Successful);
        metrics.cells(worker).count_reason(Outcome::Pass, Some(Reason::Method));
    }
    metrics.of_no_site(0).count(Outcome::Error, StatusClass::ClientError);
    metrics.cells(0).count_reason(Outcome::Pass, None);
    let answer = get(&admin, "/metrics");
    for line in [
        "kasoku_responses_total{site=\"site 0\",result=\"hit\",class=\"2xx\"} 2",
        "kasoku_responses_total{site=\"site 0\",result=\"miss\",class=\"5xx\"} 0",
        "kasoku_responses_total{site=\"(none)\",result=\"error\",class=\"4xx\"} 1",
        "kasoku_not_hits_total{result=\"pass\",reason=\"method\"} 2",
        "kasoku_not_hits_total{result=\"pass\",reason=\"none\"} 1",
    ] {
        assert_eq!(body(&answer).lines().filter(|written| *written == line).count(), 1, "{line}");
    }
    let stats: serde_json::Value = serde_json::from_str(body(&get(&admin, "/stats"))).unwrap();
    assert_eq!(stats["classes"], serde_json::json!({"1xx": 0, "2xx": 2, "3xx": 0, "4xx": 1, "5xx": 0, "none": 0}));
    let [site, none] = stats["sites"].as_array().unwrap().as_slice() else { panic!("{}", stats["sites"]) };
    assert_eq!((&site["site"], &site["hit"]["2xx"]), (&"site 0".into(), &2.into()));
    assert_eq!((&none["site"], &none["error"]["4xx"]), (&"(none)".into(), &1.into()));
    assert_eq!(stats["not_hits"][1], serde_json::json!({"result": "pass", "reason": "method", "count": 2}));
}

#[test]
fn each_origin_has_its_numbers_in_both_formats() {
    let (admin, engine) = started();
    let origins = engine.origins();
    let tcp = origins.of(&OriginAddress::http("10.0.0.1".to_owned(), 80));
    tcp.count_request();
    tcp.count_request();
    tcp.count_failure();
    for _ in 0..3 {
        tcp.health.checked(CheckResult::Failed, tcp.health.mark(), &OriginHealth::default(), 0);
    }
    origins.of(&OriginAddress::Http(OriginEndpoint::Unix("/run/\"a\\b".into())));
    let answer = get(&admin, "/metrics");
    for line in [
        "# TYPE kasoku_origin_up gauge",
        "# TYPE kasoku_origin_chosen_total counter",
        "kasoku_origin_up{origin=\"http://10.0.0.1:80\"} 0",
        "kasoku_origin_up{origin=\"http://unix:/run/\\\"a\\\\b\"} 1",
        "kasoku_origin_chosen_total{origin=\"http://10.0.0.1:80\"} 2",
        "kasoku_origin_failures_total{origin=\"http://10.0.0.1:80\"} 1",
        "kasoku_origin_connections_in_use{origin=\"http://10.0.0.1:80\"} 0",
        "kasoku_origin_queue{origin=\"http://10.0.0.1:80\"} 0",
    ] {
        assert!(body(&answer).lines().any(|written| written == line), "{line}");
    }
    let stats: serde_json::Value = serde_json::from_str(body(&get(&admin, "/stats"))).unwrap();
    let [tcp, unix] = stats["origins"].as_array().unwrap().as_slice() else { panic!("two origins") };
    assert_eq!((&tcp["origin"], &tcp["origin_up"]), (&"http://10.0.0.1:80".into(), &0.into()));
    assert_eq!((&tcp["origin_chosen"], &tcp["origin_failures"]), (&2.into(), &1.into()));
    assert_eq!(unix["origin"], "http://unix:/run/\"a\\b");
}

#[test]
fn each_server_of_the_shared_tier_has_its_numbers_in_both_formats() {
    // No program listens at either of them.
    let server = |endpoint| SharedServer { endpoint, weight: 1 };
    let tier = SharedTier::of(SharedServers::memcached(vec![
        server(SharedEndpoint::Tcp { host: "127.0.0.1".to_owned(), port: 1 }),
        server(SharedEndpoint::Unix("/nowhere/\"a\\b".into())),
    ]));
    let options = |options: &mut Options| {
        options.listeners.clear();
        options.shared = Some(tier);
    };
    let engine = Setup::safe().options(options).run_without_origin();
    engine.metrics().cells(0).add(Counter::SharedHits, 3);
    let admin_handle = AdminHandle::new(engine.handle().clone(), None);
    let admin = Admin::start(&loopback(), admin_handle.clone()).unwrap();
    let answer = get(&admin, "/metrics");
    for line in [
        "# TYPE kasoku_shared_server_up gauge",
        "# TYPE kasoku_shared_server_reply_seconds_total counter",
        "kasoku_shared_server_up{server=\"127.0.0.1:1\"} 0",
        "kasoku_shared_server_up{server=\"unix:/nowhere/\\\"a\\\\b\"} 0",
        "kasoku_shared_server_gets_total{server=\"127.0.0.1:1\"} 0",
        "kasoku_shared_server_reply_seconds_total{server=\"127.0.0.1:1\"} 0",
        "kasoku_shared_hits_total 3",
        "kasoku_shared_damaged_total 0",
    ] {
        assert!(body(&answer).lines().any(|written| written == line), "{line}\n{answer}");
    }
    let stats: serde_json::Value = serde_json::from_str(body(&get(&admin, "/stats"))).unwrap();
    let [tcp, unix] = stats["shared_servers"].as_array().unwrap().as_slice() else { panic!("two servers: {stats}") };
    assert_eq!((&tcp["server"], &tcp["shared_server_up"]), (&"127.0.0.1:1".into(), &0.into()));
    assert_eq!(unix["server"], "unix:/nowhere/\"a\\b");
    assert!(tcp["shared_server_log_age_seconds"].is_number() && tcp["shared_server_errors"].is_u64(), "{tcp}");
    assert_eq!((&stats["shared_hits"], &stats["shared_purges_received"]), (&3.into(), &0.into()));
    let top: serde_json::Value = serde_json::from_str(&crate::top::text(&admin_handle)).unwrap();
    let [tcp, unix] = top["shared_servers"].as_array().unwrap().as_slice() else { panic!("two servers: {top}") };
    assert_eq!((&tcp["server"], &tcp["is_up"], &tcp["hit_ratio"]), (&"127.0.0.1:1".into(), &false.into(), &().into()));
    assert_eq!(unix["server"], "unix:/nowhere/\"a\\b");
}

#[test]
fn each_peer_has_its_numbers_in_both_formats() {
    let folder = Folder::new();
    let token_file = folder.join("token");
    std::fs::write(&token_file, "0123456789abcdef").unwrap();
    std::fs::set_permissions(&token_file, PermissionsExt::from_mode(0o600)).unwrap();
    // No program listens at either of them.
    let addresses = ["127.0.0.1", "::1"].map(|host| PeerAddress { host: host.to_owned(), port: 1 }).to_vec();
    let peers = Peers { addresses, listen: "127.0.0.1:0".parse().unwrap(), token_file };
    let options = |options: &mut Options| {
        options.listeners.clear();
        options.peers = Some(peers);
    };
    let engine = Setup::safe().options(options).run_without_origin();
    let admin_handle = AdminHandle::new(engine.handle().clone(), None);
    let admin = Admin::start(&loopback(), admin_handle.clone()).unwrap();
    engine.handle().purge(&PurgeTarget::All, Purge::Hard).unwrap();
    let answer = get(&admin, "/metrics");
    for line in [
        "# TYPE kasoku_peer_up gauge",
        "# TYPE kasoku_peer_reply_seconds_total counter",
        "kasoku_peer_up{peer=\"127.0.0.1:1\"} 0",
        "kasoku_peer_up{peer=\"[::1]:1\"} 0",
        "kasoku_peer_timeouts_total{peer=\"127.0.0.1:1\"} 0",
        "kasoku_peer_purges_published_total 1",
        "kasoku_peer_requests_refused_total 0",
    ] {
        assert!(body(&answer).lines().any(|written| written == line), "{line}\n{answer}");
    }
    let stats: serde_json::Value = serde_json::from_str(body(&get(&admin, "/stats"))).unwrap();
    let [first, second] = stats["peers"].as_array().unwrap().as_slice() else { panic!("two peers: {stats}") };
    assert_eq!((&first["peer"], &first["peer_up"]), (&"127.0.0.1:1".into(), &0.into()));
    assert!(first["peer_log_age_seconds"].is_number() && first["peer_errors"].as_u64() > Some(0), "{first}");
    assert_eq!(second["peer"], "[::1]:1");
    let top: serde_json::Value = serde_json::from_str(&crate::top::text(&admin_handle)).unwrap();
    let [first, _] = top["peers"].as_array().unwrap().as_slice() else { panic!("two peers: {top}") };
    assert_eq!((&first["peer"], &first["is_up"]), (&"127.0.0.1:1".into(), &false.into()));
    assert_eq!(first["reply_seconds_mean"], serde_json::Value::Null);
}

#[test]
fn the_histograms_are_in_both_formats() {
    let (admin, engine) = started();
    for us in [900, 3_000, 4_000, 60_000_000] {
        engine.metrics().cells(0).observe(Timer::Hit, us);
    }
    let stats: serde_json::Value = serde_json::from_str(body(&get(&admin, "/stats"))).unwrap();
    let times = stats["times"].as_array().unwrap();
    assert_eq!(times.len(), Timer::ALL.len());
    let hits = times.iter().find(|one| one["name"] == "request_seconds" && one["result"] == "hit").unwrap();
    assert_eq!((&hits["count"], &hits["sum_seconds"]), (&4.into(), &60.0079.into()), "{hits}");
    let buckets = hits["buckets"].as_array().unwrap();
    assert_eq!(buckets[0], serde_json::json!({ "up_to_seconds": 0.001, "count": 1 }));
    assert_eq!(buckets[1], serde_json::json!({ "up_to_seconds": 0.005, "count": 2 }));
    assert_eq!(buckets.last().unwrap(), &serde_json::json!({ "up_to_seconds": null, "count": 1 }));
    let metrics = get(&admin, "/metrics");
    assert!(body(&metrics).contains("kasoku_request_seconds_bucket{result=\"hit\",le=\"0.005\"} 3\n"), "{metrics}");
    let origin = times.iter().find(|one| one["name"] == "origin_head_seconds").unwrap();
    assert!(origin["result"].is_null() && origin["count"] == 0, "{origin}");
}

#[test]
fn before_the_first_request_there_is_no_hit_ratio() {
    let (admin, _) = started();
    let stats: serde_json::Value = serde_json::from_str(body(&get(&admin, "/stats"))).unwrap();
    assert!(stats["hit_ratio"].is_null());
}

#[test]
fn head_is_get_without_the_body() {
    let (admin, _) = started();
    let answer = exchange(connect(&admin), "HEAD /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!((status(&answer), body(&answer)), (200, ""));
    assert!(answer.to_ascii_lowercase().contains("\r\ncontent-length: 3\r\n"));
}

//= RFC 9110 section 15.5.6
//# The origin server MUST generate an Allow header field in a 405 response containing a list of the target resource's currently supported methods.
#[test]
fn what_is_not_a_look_is_405() {
    let (admin, _) = started();
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "PURGE"] {
        let answer = exchange(connect(&admin), &format!("{method} /stats HTTP/1.1\r\nHost: localhost\r\n\r\n"));
        assert_eq!(status(&answer), 405, "{method}");
        assert!(answer.to_ascii_lowercase().contains("\r\nallow: get, head\r\n"));
    }
}

#[test]
fn other_paths_are_404() {
    let (admin, _) = started();
    for path in ["/", "/metrics/", "/healthz/../stats", "/STATS"] {
        assert_eq!(status(&get(&admin, path)), 404, "{path}");
    }
    assert_eq!(status(&get(&admin, "/healthz?from=balancer")), 200);
}

#[test]
fn a_web_page_in_the_operators_browser_is_refused() {
    let (admin, _) = started();
    let rebound = exchange(connect(&admin), "GET /stats HTTP/1.1\r\nHost: evil.example:8081\r\n\r\n");
    let foreign =
        exchange(connect(&admin), "GET /stats HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://evil.example\r\n\r\n");
    let absolute = exchange(connect(&admin), "GET http://evil.example/stats HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let nameless = exchange(connect(&admin), "GET /stats HTTP/1.1\r\n\r\n");
    for answer in [rebound, foreign, absolute, nameless] {
        assert_eq!(status(&answer), 403);
        assert!(!answer.contains("hit_ratio"));
    }
}

#[test]
fn each_connection_carries_one_request() {
    let (admin, _) = started();
    let two = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(2);
    let answer = exchange(connect(&admin), &two);
    assert_eq!(answer.matches("HTTP/1.1 200").count(), 1);
    assert!(answer.to_ascii_lowercase().contains("\r\nconnection: close\r\n"));
}

#[test]
fn a_head_over_its_limit_is_refused() {
    let (admin, _) = started();
    let long = "x".repeat(AdminLimits::default().head_bytes_max);
    let answer = exchange(connect(&admin), &format!("GET /stats HTTP/1.1\r\nHost: localhost\r\nX: {long}\r\n\r\n"));
    assert_eq!(status(&answer), 431);
    let many = "X: y\r\n".repeat(AdminLimits::default().fields_max);
    let answer = exchange(connect(&admin), &format!("GET /stats HTTP/1.1\r\nHost: localhost\r\n{many}\r\n"));
    assert_eq!(status(&answer), 431);
}

#[test]
fn a_client_that_sends_too_slowly_is_cut() {
    let limits = AdminLimits { connection_timeout: Duration::from_millis(20), ..AdminLimits::default() };
    let admin = Admin::serve_within(limits, vec![door()], handle().0).unwrap();
    assert_eq!(exchange(connect(&admin), "GET /stats HTT"), "");
}

#[test]
fn two_hundred_idle_connections_keep_no_client_from_healthz() {
    // No connection reaches its deadline within this test.
    let limits = AdminLimits { connection_timeout: Duration::from_secs(3600), ..AdminLimits::default() };
    let admin = Admin::serve_within(limits, vec![door()], handle().0).unwrap();
    let mut idle: Vec<_> = (0..200).map(|_| connect(&admin)).collect();
    let half = b"GET /healthz HTTP/1.1\r\nHost: loc";
    idle.iter_mut().step_by(2).for_each(|stream| stream.write_all(half).unwrap_or_default());
    assert_eq!(status(&get(&admin, "/healthz")), 200);
    // The youngest connections keep their places, the oldest have lost theirs.
    let (oldest, youngest) = (idle.remove(1), idle.pop().unwrap());
    assert_eq!(status(&exchange(youngest, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")), 200);
    assert_eq!(exchange(oldest, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"), "");
}

#[test]
fn a_connection_over_the_limit_takes_the_place_of_a_silent_one() {
    let limits =
        AdminLimits { connections_max: 1, connection_timeout: Duration::from_secs(3600), ..AdminLimits::default() };
    let admin = Admin::serve_within(limits, vec![door()], handle().0).unwrap();
    let first = connect(&admin);
    assert_eq!(status(&get(&admin, "/healthz")), 200);
    assert_eq!(exchange(first, ""), "");
}

#[test]
fn a_port_that_is_served_is_an_error_that_says_so() {
    let (first, _) = started();
    let address = ListenAddress::Tcp(first.address().unwrap());
    let error = Admin::start(&address, handle().0).unwrap_err();
    assert_eq!(error.error.kind(), ErrorKind::AddrInUse);
    assert_eq!(
        error.to_string(),
        format!("the admin listener can't use {address}: another process listens there already")
    );
}

#[test]
fn dropping_it_frees_the_port_and_ends_its_connections() {
    let (admin, _) = started();
    let address = ListenAddress::Tcp(admin.address().unwrap());
    let idle = connect(&admin);
    drop(admin);
    assert_eq!(exchange(idle, ""), "");
    Admin::start(&address, handle().0).unwrap();
}

#[test]
fn a_unix_socket_is_served_as_well() {
    let path = socket_path();
    let admin = Admin::start(&ListenAddress::Unix(path.clone()), handle().0).unwrap();
    assert_eq!(admin.address(), None);
    let stream = UnixStream::connect(&path).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let answer = exchange(stream, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!((status(&answer), body(&answer)), (200, "ok\n"));
    drop(admin);
    std::fs::remove_file(&path).unwrap();
}

fn socket_path() -> PathBuf {
    std::env::temp_dir().join(format!("kasoku-admin-{}.sock", std::process::id()))
}

#[test]
fn a_socket_that_was_handed_over_is_refused() {
    let error = Admin::start(&ListenAddress::Descriptor(3), handle().0).unwrap_err();
    assert_eq!(error.error.kind(), ErrorKind::Unsupported);
}

fn ask(admin: &Admin, request: &str, fields: &str) -> String {
    exchange(connect(admin), &format!("{request} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n"))
}

fn token(name: &str) -> AdminToken {
    let path = std::env::temp_dir().join(format!("kasoku-admin-token-{name}-{}", std::process::id()));
    let token = AdminToken::load(&path, None).unwrap();
    std::fs::remove_file(path).unwrap();
    token
}

#[test]
fn on_a_loopback_address_what_changes_something_needs_a_token() {
    let (admin, _engine) = started();
    let refused = ask(&admin, "POST /purge?all", "");
    assert_eq!(status(&refused), 401);
    assert!(body(&refused).contains("admin-token-file"), "{refused}");
    assert_eq!(status(&get(&admin, "/metrics")), 200);
}

#[test]
fn with_a_token_all_but_the_health_needs_it() {
    let token = token("all");
    let shown = format!("Authorization: Bearer {}\r\n", token.secret());
    let (admin, engine) = started_with(Some(token));
    assert_eq!(status(&get(&admin, "/healthz")), 200);
    for request in ["GET /metrics", "GET /stats", "POST /purge?all"] {
        assert_eq!(status(&ask(&admin, request, "")), 401, "{request}");
        assert_eq!(status(&ask(&admin, request, "Authorization: Bearer wrong\r\n")), 401, "{request}");
        assert_eq!(status(&ask(&admin, request, &format!("{shown}{shown}"))), 401, "{request}");
    }
    assert_eq!(engine.metrics().total(Counter::Purges), 0);
    for request in ["GET /metrics", "GET /stats", "POST /purge?all"] {
        assert_eq!(status(&ask(&admin, request, &shown)), 200, "{request}");
    }
    // A web page that got hold of the token is refused all the same.
    assert_eq!(status(&ask(&admin, "POST /purge?all", &format!("{shown}Origin: http://evil.example\r\n"))), 403);
}

#[test]
fn a_purge_says_what_it_was_about() {
    let token = token("purge");
    let shown = format!("Authorization: Bearer {}\r\n", token.secret());
    let (admin, engine) = started_with(Some(token));
    let purge = |query: &str| ask(&admin, &format!("POST /purge?{query}"), &shown);
    let answer = purge("url=http://a.example/x%3Fy&soft");
    assert_eq!(status(&answer), 200);
    let said: serde_json::Value = serde_json::from_str(body(&answer)).unwrap();
    let expected = serde_json::json!({
        "purged": "url", "target": "http://a.example/x?y", "soft": true, "was_stored": false,
    });
    assert_eq!(said, expected);
    for (query, words) in [
        ("", "one of url, prefix, site, tag and all is needed"),
        ("url=http://a/&all", "give only one of url, prefix, site, tag and all"),
        ("ulr=x", "unknown parameter ulr"),
        ("url=/x", "/x has no host: write http://HOST/x "),
        ("prefix=ftp://a/", "not an http or https URL"),
        ("site=", "a site is the name of a host"),
        ("url=nonsense", "not an http or https URL"),
        ("site=nohost", "no site is configured for the host nohost (sites: "),
    ] {
        let answer = purge(query);
        assert_eq!(status(&answer), 400, "{query}");
        assert!(body(&answer).contains(words), "{query}: {answer}");
    }
    assert_eq!(status(&ask(&admin, "GET /purge?all", &shown)), 405);
    assert_eq!(engine.metrics().total(Counter::Purges), 1);
}

#[test]
fn a_reload_is_asked_for_with_the_token_and_its_outcome_is_told() {
    let engine = engine();
    let (reloads, mut asked) = reload::Reloads::new();
    let token =
        AdminToken::load(&std::env::temp_dir().join(format!("kasoku-reload-{}", std::process::id())), None).unwrap();
    let authorization = format!("Authorization: Bearer {}\r\n", token.secret());
    let handle = AdminHandle::new(engine.handle().clone(), Some(token)).with_reloads(reloads);
    let admin = Admin::start(&loopback(), handle).unwrap();
    let post = |more: &str| {
        exchange(
            connect(&admin),
            &format!("POST /reload HTTP/1.1\r\nHost: localhost\r\n{more}Content-Length: 0\r\n\r\n"),
        )
    };
    assert_eq!(status(&post("")), 401);
    let program = std::thread::spawn(move || {
        let done =
            reload::Reloaded { changes: vec!["ttl: \"0s\" (default) -> \"1m\"".to_owned()], ..Default::default() };
        asked.blocking_recv().unwrap().send(Ok(done)).unwrap();
        asked.blocking_recv().unwrap().send(Err("error: no\n".to_owned())).unwrap();
    });
    let answer = post(&authorization);
    assert_eq!(status(&answer), 200);
    let said: serde_json::Value = serde_json::from_str(body(&answer)).unwrap();
    assert_eq!(said["changes"][0], "ttl: \"0s\" (default) -> \"1m\"");
    let answer = post(&authorization);
    assert_eq!((status(&answer), body(&answer)), (422, "error: no\n"));
    program.join().unwrap();
    assert_eq!(status(&post(&authorization)), 503, "the program ends");
}
