//! Tests the spans that a collector gets for requests over real sockets, and the trace fields that the origin gets.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test may panic")]

use kasoku_metrics::Counter;
use kasoku_options::{AddressRange, Parents};
use kasoku_testkit::{BOTH, Scenario, Setup, get, ok, post};
use kasoku_traces::Exporter;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use prost::Message;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

const FRESH: &str = "Cache-Control: max-age=60";
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

/// A collector that accepts and keeps all spans.
struct Collector {
    port: u16,
    requests: Arc<Mutex<Vec<ExportTraceServiceRequest>>>,
}

impl Collector {
    fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::<Mutex<Vec<_>>>::default();
        let kept = requests.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut reader = BufReader::new(stream.unwrap());
                let mut lines = Vec::new();
                loop {
                    let mut line = String::new();
                    reader.read_line(&mut line).unwrap();
                    match line.trim_end() {
                        "" => break,
                        line => lines.push(line.to_ascii_lowercase()),
                    }
                }
                assert_eq!(lines[0], "post /v1/traces http/1.1");
                assert!(lines.contains(&"content-type: application/x-protobuf".to_owned()), "{lines:?}");
                let length = lines.iter().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
                let mut body = vec![0; length.parse().unwrap()];
                reader.read_exact(&mut body).unwrap();
                kept.lock().unwrap().push(ExportTraceServiceRequest::decode(&body[..]).unwrap());
                reader.get_mut().write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
            }
        });
        Self { port, requests }
    }

    fn spans(&self) -> Vec<Span> {
        let requests = self.requests.lock().unwrap();
        let resources = requests.iter().flat_map(|request| &request.resource_spans);
        resources.flat_map(|resource| &resource.scope_spans).flat_map(|scope| scope.spans.clone()).collect()
    }

    /// The spans of that kind, in the order in which they ended: `Server` for requests of clients, `Client` for requests to origins.
    fn of_kind(&self, kind: SpanKind) -> Vec<Span> {
        self.spans().into_iter().filter(|span| span.kind == kind as i32).collect()
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn attribute(span: &Span, name: &str) -> String {
    let found = span.attributes.iter().find(|attribute| attribute.key == name);
    match found.and_then(|attribute| attribute.value.clone()?.value) {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        other => panic!("{name}: {other:?} in {span:#?}"),
    }
}

/// The parts of `traceparent`: the trace, the span and the flags.
fn parts(traceparent: &str) -> [&str; 3] {
    let parts: Vec<_> = traceparent.split('-').collect();
    assert_eq!((parts.len(), parts[0]), (4, "00"), "{traceparent}");
    [parts[1], parts[2], parts[3]]
}

fn tracing(setup: Setup, port: u16) -> Setup {
    setup.options(|options| {
        options.traces.collector = Some(format!("http://127.0.0.1:{port}/v1/traces"));
        options.traces.sample_one_in = 1;
        options.trusted_proxies = AddressRange::loopback();
    })
}

fn exporting(scene: &mut Scenario) -> Exporter {
    let spans = scene.engine.take_spans().unwrap();
    let handle = scene.engine.handle();
    Exporter::start(&handle.options().traces, spans, handle.cells()).unwrap().unwrap()
}

fn from_proxy(flags: &str) -> String {
    format!("traceparent: 00-{TRACE}-{PARENT}-{flags}")
}

#[test]
fn a_fill_is_asked_for_in_a_trace_of_its_own_and_a_pass_in_its_clients() {
    for profile in BOTH {
        let collector = Collector::start();
        let script = [get("/page").answers(ok(&[FRESH], "page")), post("/form").answers(ok(&[], ""))];
        let mut scene = tracing(Setup::new(profile), collector.port).run(script);
        let exporter = exporting(&mut scene);
        let mut client = scene.client();
        let theirs = [from_proxy("01"), "tracestate: a=b".to_owned(), "Content-Length: 0".to_owned()];
        let theirs: Vec<&str> = theirs.iter().map(String::as_str).collect();
        client.get_with("/page", &theirs[..2]);
        scene.counted(Counter::Requests, 1);
        drop(exporter);
        assert_eq!(collector.spans().len(), 2, "{profile:?}");
        let ([server], [fill]) = (&collector.of_kind(SpanKind::Server)[..], &collector.of_kind(SpanKind::Client)[..])
        else {
            panic!("{:#?}", collector.spans())
        };
        assert_eq!((hexadecimal(&server.trace_id), hexadecimal(&server.parent_span_id)), (TRACE.into(), PARENT.into()));
        assert_eq!((server.name.as_str(), server.trace_state.as_str()), ("GET", "a=b"));
        for (name, value) in [
            ("http.request.method", "GET"),
            ("http.response.status_code", "200"),
            ("kasoku.result", "miss"),
            ("kasoku.reason", "uri-miss"),
            ("kasoku.site", "default"),
            ("url.path", "/page"),
            ("url.scheme", "http"),
        ] {
            assert_eq!(attribute(server, name), value, "{name}");
        }
        assert_eq!(attribute(fill, "server.address"), scene.origin.address().address.to_string());
        // The spans link to each other but belong to different traces, since other clients may join the fill.
        assert_ne!(fill.trace_id, server.trace_id);
        assert!(fill.parent_span_id.is_empty() && fill.trace_state.is_empty());
        assert_eq!((&fill.links[0].trace_id, &fill.links[0].span_id), (&server.trace_id, &server.span_id));
        assert_eq!((&server.links[0].trace_id, &server.links[0].span_id), (&fill.trace_id, &fill.span_id));
        let asked = scene.origin.request(0);
        let told = asked.field("traceparent").unwrap();
        assert_eq!(parts(&told), [&hexadecimal(&fill.trace_id), &hexadecimal(&fill.span_id), "01"]);
        assert!(!asked.text().contains(TRACE) && asked.field("tracestate").is_none(), "{}", asked.text());
        // A pass is for one client, so it continues the client's trace.
        client.ask("POST", "/form", &theirs).response();
        let asked = scene.origin.request(1);
        assert_eq!(parts(&asked.field("traceparent").unwrap())[0], TRACE);
        assert_ne!(parts(&asked.field("traceparent").unwrap())[1], PARENT);
        assert_eq!(asked.field("tracestate").unwrap(), "a=b");
    }
}

#[test]
fn a_pass_has_a_span_for_its_origin_within_its_own_and_a_hit_has_none() {
    let collector = Collector::start();
    let script = [
        get("/page?hidden=1").answers(ok(&[FRESH], "page")),
        post("/form").answers("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n"),
    ];
    let mut scene = tracing(Setup::safe(), collector.port).run(script);
    let exporter = exporting(&mut scene);
    let mut client = scene.client();
    client.get("/page?hidden=1");
    assert!(client.get("/page?hidden=1").is_hit());
    client.ask("POST", "/form", &["Content-Length: 0"]).response();
    scene.counted(Counter::Requests, 3);
    drop(exporter);
    let (servers, origins) = (collector.of_kind(SpanKind::Server), collector.of_kind(SpanKind::Client));
    let results: Vec<_> = servers.iter().map(|span| attribute(span, "kasoku.result")).collect();
    assert_eq!((results, origins.len()), (vec!["miss".to_owned(), "hit".to_owned(), "pass".to_owned()], 2));
    assert!(servers.iter().all(|span| span.parent_span_id.is_empty()), "each begins a trace");
    let [_, hit, pass] = &servers[..] else { panic!("three") };
    assert!(hit.links.is_empty() && origins.iter().all(|origin| origin.trace_id != hit.trace_id));
    assert_eq!((&origins[1].trace_id, &origins[1].parent_span_id), (&pass.trace_id, &pass.span_id));
    assert_eq!((pass.status.as_ref().unwrap().code, attribute(pass, "error.type")), (2, "500".to_owned()));
    let said = format!("{:?}", collector.requests.lock().unwrap());
    assert!(!said.contains("hidden") && said.contains("service.name") && said.contains("\"kasoku\""), "{said}");
    assert_eq!(scene.engine.metrics().total(Counter::Spans), 5);
}

#[test]
fn who_is_recorded_is_for_a_trusted_parent_to_say_or_for_one_in_so_many() {
    let collector = Collector::start();
    let unsampled = from_proxy("00");
    for (parents, is_trusted, one_in, goes_on, flags) in [
        (Parents::Trusted, true, 1, true, "00"),
        (Parents::Trusted, true, 0, true, "00"),
        (Parents::Trusted, false, 1, false, "01"),
        (Parents::Trusted, false, 0, false, "00"),
        (Parents::Any, false, 1, true, "00"),
        (Parents::None, true, 1, false, "01"),
    ] {
        let setup = tracing(Setup::safe(), collector.port).options(|options| {
            options.traces.parents = parents;
            options.traces.sample_one_in = one_in;
            if !is_trusted {
                options.trusted_proxies.clear();
            }
        });
        let scene = setup.run([post("/").answers(ok(&[], ""))]);
        let fields = [unsampled.as_str(), "tracestate: a=b", "Content-Length: 0"];
        scene.client().ask("POST", "/", &fields).response();
        let asked = scene.origin.only_request();
        let [trace, _, told] = parts(&asked.field("traceparent").unwrap()).map(str::to_owned);
        assert_eq!((trace == TRACE, told.as_str()), (goes_on, flags), "{parents:?} {is_trusted} {one_in}");
        assert_eq!(asked.field("tracestate").is_some(), goes_on, "{parents:?} {is_trusted} {one_in}");
    }
}

#[test]
fn a_collector_that_is_away_costs_its_spans_and_nothing_else() {
    let nowhere = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let mut scene = tracing(Setup::safe(), nowhere).run([get("/").answers(ok(&[FRESH], "page"))]);
    let exporter = exporting(&mut scene);
    let mut client = scene.client();
    client.get("/");
    assert!(client.get("/").is_hit());
    scene.counted(Counter::Requests, 2);
    drop(exporter);
    assert_eq!([Counter::Spans, Counter::SpansDropped].map(|one| scene.engine.metrics().total(one)), [0, 3]);
}

#[test]
fn spans_that_find_no_room_are_dropped_and_no_request_waits() {
    let scene = tracing(Setup::safe(), 1).run([get("/").answers(ok(&[FRESH], "page"))]);
    let mut client = scene.client();
    client.get("/");
    // No exporter empties the queue: it holds two spans now, and each hit adds one.
    let more = 10;
    for _ in 0..kasoku_engine::trace::SPANS_WAITING_MAX - 2 + more {
        assert!(client.get("/").is_hit());
    }
    scene.counted(Counter::SpansDropped, more as u64);
    assert_eq!(scene.engine.metrics().total(Counter::SpansDropped), more as u64);
}

#[test]
fn the_end_of_the_program_does_not_wait_for_a_collector_that_hangs() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, connected) = std::sync::mpsc::channel();
    // Each batch comes on a new connection, and the collector never answers.
    std::thread::spawn(move || listener.incoming().map_while(Result::ok).try_for_each(|stream| sender.send(stream)));
    let mut scene = tracing(Setup::safe(), port).run([get("/page").answers(ok(&[FRESH], "page"))]);
    let mut client = scene.client();
    (0..1200).for_each(|_| assert_eq!(client.get("/page").text(), "page"));
    scene.counted(Counter::Requests, 1200);
    let exporter = exporting(&mut scene);
    let first = connected.recv().unwrap();
    drop(exporter);
    assert!(connected.try_recv().is_err(), "it has gone on with the second of three batches");
    drop(first);
}
