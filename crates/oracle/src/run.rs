//! One run: an engine, an origin, clients and crowds, for a given time; then the report.

use crate::governor::{Governor, cpu_seconds};
use crate::origin;
use crate::page::{DISCONNECTED_SECONDS, HEURISTIC_SECONDS, HOSTS, OBJECT_BYTES_MAX};
use crate::random::{Random, hash};
use crate::report::Report;
use crate::traffic::Client;
use crate::world::World;
use kasoku_engine::Engine;
use kasoku_engine::clock::SystemClock;
use kasoku_metrics::Counter;
use kasoku_options::{
    ClientLimits, ControlSocket, HitHeaders, HostPattern, ListenAddress, Listener, Options, OriginAddress,
    OriginLimits, Route, Site,
};
use kasoku_semantics::policy::{Policy, Profile};
use std::collections::HashMap;
use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

const PAGES: u32 = 480;
const WORKERS: usize = 3;
const CLIENTS: u64 = 48;
/// Each crowd is seven clients.
const CROWDS: u64 = 3;
/// A fraction of the length of all pages together, so that something is evicted all the time.
const MEMORY_BYTES_MAX: u64 = 16 << 20;
/// Connections of one worker to the origin, each of which takes a thread of the origin.
const ORIGIN_CONNECTIONS_MAX: usize = 64;
/// All fills must have ended so long after the last client.
const FILLS_END_MAX: Duration = Duration::from_secs(10);

/// How a run went.
pub struct Outcome {
    /// All counts, and the first mistakes in full.
    pub text: String,
    /// The number of mistakes.
    pub mistakes: u64,
    /// The counts of things that never happened, although they should have.
    pub missing: Vec<&'static str>,
}

/// Runs traffic for that long.
pub fn run(seed: u64, duration: Duration) -> Outcome {
    let world = Arc::new(World::new(PAGES));
    let report = Arc::new(Report::default());
    let origin = origin::start(world.clone(), report.clone(), hash(&[seed, 1]));
    let engine = Engine::start(options(origin), Arc::new(SystemClock::new())).unwrap();
    let address = engine.addresses()[0];
    let governor = Governor::new();
    let (begun, cpu) = (Instant::now(), cpu_seconds());
    thread::scope(|scope| {
        let (world, report, governor, engine) = (&*world, &*report, &governor, &engine);
        for number in 0..CLIENTS + CROWDS {
            let random = Random::new(hash(&[seed, 2, number]));
            let client = Client { world, report, governor, engine, address, random, seen: HashMap::new() };
            scope.spawn(move || if number < CLIENTS { client.run() } else { client.run_crowds() });
        }
        governor.run(begun + duration);
        world.end();
    });
    let took = (begun.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    let waited = Instant::now();
    while engine.cache().fills_running() > 0 {
        if waited.elapsed() > FILLS_END_MAX {
            report.mistake(format!("{} fills never end", engine.cache().fills_running()));
            break;
        }
        thread::yield_now();
    }
    let mut text = format!("oracle: seed {seed}, {:.1} s, {:.1} s of processor time\n", took.0, took.1);
    text.push_str(&report.text());
    for counter in Counter::ALL {
        let _ = writeln!(text, "{:>12}  {} (the engine's)", engine.metrics().total(*counter), counter.name());
    }
    let _ = writeln!(text, "{:>12}  bytes stored at the end", engine.cache().used_bytes());
    engine.stop();
    // This connection wakes the origin's listener, which then sees that the run is over.
    let _ = std::net::TcpStream::connect(origin);
    Outcome { text, mistakes: report.mistakes(), missing: report.missing() }
}

fn options(origin: SocketAddr) -> Options {
    let site = |(host, profile): (&str, Profile)| {
        let policy = Policy {
            heuristic_max_seconds: HEURISTIC_SECONDS,
            stale_disconnected_seconds: DISCONNECTED_SECONDS,
            ..Policy::new(profile)
        };
        let limits = OriginLimits { connections_max: ORIGIN_CONNECTIONS_MAX, ..OriginLimits::default() };
        let origins = vec![OriginAddress::http(origin.ip().to_string(), origin.port()).into()];
        let route = Route { policy: Arc::new(policy), origin: limits, ..Route::new(profile, origins) };
        let hosts = vec![HostPattern::Exact(host.to_owned())];
        Site { name: host.to_owned(), hosts, rules: Vec::new(), route: Arc::new(route) }
    };
    let listener = Listener::at(ListenAddress::Tcp(([127, 0, 0, 1], 0).into()));
    Options {
        listeners: vec![listener],
        admin: None,
        admin_token_file: None,
        control_socket: ControlSocket::Off,
        user: None,
        pid_file: None,
        workers: WORKERS,
        memory_bytes_max: MEMORY_BYTES_MAX,
        stores_in_memory: true,
        disk: None,
        shared: None,
        peers: None,
        object_bytes_max: OBJECT_BYTES_MAX,
        limits: ClientLimits { drain_timeout: Duration::from_secs(1), ..ClientLimits::default() },
        request_buffer: kasoku_options::RequestBuffer::default(),
        trusted_proxies: Vec::new(),
        purge_from: Vec::new(),
        hit_headers: HitHeaders::default(),
        access_log: kasoku_options::AccessLogOptions::default(),
        program_log: kasoku_options::ProgramLog::default(),
        traces: kasoku_options::Traces::default(),
        sites: HOSTS.map(site).into(),
    }
}
