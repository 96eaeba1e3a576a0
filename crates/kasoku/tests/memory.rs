//! Tests that the resident memory of the `kasoku` program is bounded: under any traffic, with slow readers, and with idle connections.
//!
//! The program runs as a process of its own, and the kernel tells how much of its memory is resident. The bounds are 1.15 times the
//! memory tier's size plus 64 MiB for everything that depends on traffic, and 4 kB for an idle connection. The memory that the kernel
//! holds for sockets is not included.
//!
//! `KASOKU_TEST_MEMORY_MIB` sets the tier's size (default 64), `KASOKU_TEST_SLOW_READERS` the number of slow readers; `-- --nocapture`
//! prints the figures. `KASOKU_TEST_PROGRAM` names another build than the tests' own; `make test` runs the tests a second time with the
//! release program, since allocations differ.
//!
//! These tests measure no speed. Only the pace of the slow readers depends on a clock.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

#[path = "memory/churn.rs"]
mod churn;
#[path = "memory/clients.rs"]
mod clients;
#[path = "memory/objects.rs"]
mod objects;
#[path = "memory/resident.rs"]
mod resident;
#[allow(dead_code, reason = "more than one test uses it, each its own part")]
mod support;

use churn::Until;
use clients::{Client, Ending, SlowReader};
use objects::{Object, start_origin};
use resident::{Resident, Sampler, descriptors_max, mib};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use support::Program;

const MIB: u64 = 1 << 20;

/// How often the traffic transfers the tier's size.
const TURNOVERS: u64 = 10;

/// Clients that read at once.
const CLIENTS: usize = 8;

/// How often a trickling reader reads a little: about 4 kB a second.
const SIP_EVERY: Duration = Duration::from_millis(250);

/// The first number of the objects that only slow readers request; those of the other clients are lower.
const SLOW_NUMBERS: u64 = 1 << 32;

/// Makes the tests run one at a time: each measures the memory of a whole process and opens many descriptors.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

/// The program with that `memory.size`, in bytes, in front of that origin.
fn serve(memory_bytes: u64, origin: SocketAddr) -> Program {
    serve_with(2, memory_bytes, origin)
}

fn serve_with(workers: usize, memory_bytes: u64, origin: SocketAddr) -> Program {
    let config = format!(
        "listen = [\"127.0.0.1:0\"]\nadmin = \"127.0.0.1:0\"\nworkers = {workers}\nmemory.size = \"{}MiB\"\n\
         limits.idle-timeout = \"10m\"\n\n[[site]]\norigin = \"http://{origin}\"\n",
        memory_bytes / MIB
    );
    Program::serve(&["--config", support::file("memory.toml", &config).to_str().unwrap()])
}

/// The bound: 1.15 times the tier's size plus 64 MiB.
fn bound(memory_bytes: u64) -> u64 {
    memory_bytes * 115 / 100 + 64 * MIB
}

#[test]
fn ten_turnovers_of_mixed_sizes_stay_within_the_bound() {
    let memory = setting("KASOKU_TEST_MEMORY_MIB", 64) * MIB;
    turn_over(memory, 0);
}

#[test]
fn ten_turnovers_with_slow_readers_stay_within_the_bound() {
    let memory = setting("KASOKU_TEST_MEMORY_MIB", 64) * MIB;
    turn_over(memory, setting("KASOKU_TEST_SLOW_READERS", 200) as usize);
}

/// Sends ten times the tier's size through the program while that many slow readers download objects of 1 to 5 MB, which the tier evicts
/// meanwhile. Asserts the bound from the end of the first turnover on.
fn turn_over(memory: u64, slow_readers: usize) {
    let _alone = alone();
    descriptors_max();
    let program = serve(memory, start_origin());
    let resident = Resident(program.id());
    let mut report =
        format!("memory {}, slow readers {slow_readers}: RSS at the start {}", mib(memory), mib(resident.now()));

    let traffic = Traffic::new(program.clients, memory, slow_readers);
    traffic.run(memory);
    resident.forget_peak();
    let sampler = Sampler::start(resident);
    std::thread::scope(|scope| {
        scope.spawn(|| traffic.sip());
        traffic.run(TURNOVERS * memory);
        traffic.has_ended.store(true, Relaxed);
    });
    let (at_end, peak, mean) = (resident.now(), resident.peak(), sampler.mean());

    let slow = traffic.slow.into_inner().unwrap();
    assert_eq!(slow.len(), slow_readers);
    let held: BTreeSet<Object> = slow.iter().filter_map(SlowReader::waits_for).collect();
    let held_bytes = held.iter().map(|object| object.size as u64).sum();
    let metrics = program.metrics_after(0);
    let _ = write!(
        report,
        ", mean {}, peak {}, at the end {}, bound {}; the tier says {} in {} objects; slow readers wait for {} objects of {} \
         together, and the metrics say of memory {:?}",
        mib(mean),
        mib(peak),
        mib(at_end),
        mib(bound(memory)),
        mib(metrics["stored_bytes"]),
        metrics["stored_objects"],
        held.len(),
        mib(held_bytes),
        metrics.iter().filter(|(name, _)| name.contains("memory")).collect::<Vec<_>>(),
    );
    let endings = finish_all(slow);
    let whole = endings.iter().filter(|(ending, _)| *ending == Ending::Whole).count();
    let cut = endings.len() - whole;
    let _ = write!(report, "; in the end {whole} slow readers got all, {cut} a cut; RSS then {}", mib(resident.now()));
    eprintln!("{report}");
    assert!(metrics["stored_bytes"] <= memory, "the tier is fuller than it may be: {report}");
    assert!(peak <= bound(memory), "{report}");
    assert!(at_end <= bound(memory), "{report}");
}

/// The traffic of one test: fast clients and slow readers.
struct Traffic {
    to: SocketAddr,
    /// The tier's size in bytes.
    memory: u64,
    slow_readers: usize,
    next: AtomicU64,
    /// Bytes of bodies that the fast clients have read so far.
    sent: AtomicU64,
    slow: Mutex<Vec<SlowReader>>,
    has_ended: AtomicBool,
}

impl Traffic {
    fn new(to: SocketAddr, memory: u64, slow_readers: usize) -> Self {
        let (next, sent, slow, has_ended) = Default::default();
        Self { to, memory, slow_readers, next, sent, slow, has_ended }
    }

    /// Requests objects of mixed sizes, each a new one, until `bytes` have been read since the start.
    fn run(&self, bytes: u64) {
        let read = || {
            let mut client = Client::connect(self.to);
            while self.sent.load(Relaxed) < bytes {
                let object = Object::mixed(self.next.fetch_add(1, Relaxed));
                client.get(object);
                let sent = self.sent.fetch_add(object.size as u64, Relaxed) + object.size as u64;
                self.join_slowly(sent, object);
            }
        };
        std::thread::scope(|scope| (0..CLIENTS).for_each(|_| drop(scope.spawn(read))));
    }

    /// Adds the slow readers that are due: they come one after the other, from the end of the first turnover to the beginning of the last.
    /// Half of them read a little now and then, the others nothing. Half of each kind request a new object; the others request the object
    /// that a client has just read, if it is large.
    fn join_slowly(&self, sent: u64, just_read: Object) {
        let share = sent.saturating_sub(self.memory) as f64 / ((TURNOVERS - 2) * self.memory) as f64;
        let due = (share.min(1.0) * self.slow_readers as f64) as usize;
        let mut slow = self.slow.lock().unwrap();
        while slow.len() < due {
            let number = slow.len();
            let is_stored = number % 2 == 1 && just_read.size >= 1_000_000;
            let object = if is_stored { just_read } else { Object::large(SLOW_NUMBERS + number as u64) };
            slow.push(SlowReader::ask(self.to, object, number % 4 < 2));
        }
    }

    /// Lets the trickling readers read a little at a time until the traffic has ended.
    fn sip(&self) {
        while !self.has_ended.load(Relaxed) {
            self.slow.lock().unwrap().iter_mut().for_each(SlowReader::sip);
            std::thread::sleep(SIP_EVERY);
        }
    }
}

/// Lets all slow readers read the rest, [`CLIENTS`] at a time. Returns how each answer ended, and how many bytes of its body came.
fn finish_all(readers: Vec<SlowReader>) -> Vec<(Ending, usize)> {
    let left = Mutex::new(readers);
    let next = || left.lock().unwrap().pop();
    let finish = || std::iter::from_fn(next).map(SlowReader::finish).collect::<Vec<_>>();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(finish)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

/// The tier must also account for an object's cost besides its body, or a tier full of small objects would exceed its size. Here the tier
/// is large enough that the bound's 64 MiB for other memory cannot hide such an error.
#[test]
fn a_tier_full_of_small_objects_stays_within_the_bound() {
    const ROUND: u64 = 8_000;
    let _alone = alone();
    let memory = 2 * setting("KASOKU_TEST_MEMORY_MIB", 64) * MIB;
    let program = serve(memory, start_origin());
    let resident = Resident(program.id());
    let at_start = resident.now();
    let mut clients: Vec<Client> = (0..CLIENTS).map(|_| Client::connect(program.clients)).collect();
    let mut first = 0;
    // Stored responses get seven eighths of the memory.
    while program.metrics_after(0)["stored_bytes"] < memory / 8 * 7 / 100 * 97 {
        assert!(first < memory / 100, "it is never full");
        let read = |client: &mut Client, begin: u64| {
            (begin..first + ROUND).step_by(CLIENTS).for_each(|number| client.get(Object::small(number)));
        };
        std::thread::scope(|scope| {
            for (client, begin) in clients.iter_mut().zip(first..) {
                scope.spawn(move || read(client, begin));
            }
        });
        first += ROUND;
    }
    let (peak, metrics) = (resident.peak(), program.metrics_after(0));
    let (says, objects) = (metrics["stored_bytes"], metrics["stored_objects"]);
    let report = format!(
        "memory {} full of small objects: RSS at the start {}, peak {}, bound {}; the tier says {} in {objects} objects, {} bytes \
         each; resident are {}",
        mib(memory),
        mib(at_start),
        mib(peak),
        mib(bound(memory)),
        mib(says),
        says / objects,
        peak.saturating_sub(at_start) / objects,
    );
    eprintln!("{report}");
    assert!(peak <= bound(memory), "{report}");
}

/// Resident memory must follow the tier's account for all sizes of objects. This uses one worker: with glibc's allocator, 10-byte bodies in
/// a tier of 256 MiB took most memory with one. This tests the mixes that differ most. `make bench-memory` runs all mixes for a given time,
/// each in a process of its own and then one after the other in the same process.
#[test]
fn what_is_resident_follows_the_account_at_each_mix() {
    let _alone = alone();
    let memory = setting("KASOKU_TEST_CHURN_MIB", 24) * MIB;
    for (number, mix) in (1..).zip(churn::MIXES).take(3) {
        let program = serve_with(1, memory, start_origin());
        let resident = Resident(program.id());
        let (report, peak) = churn(&program, number, mix, memory, Until::Turnovers(2));
        // Half of the 64 MiB are enough, because there is hardly any other traffic than that of the mix; and of that half, a quarter besides the
        // program's file.
        let own = resident.peak_without_the_file();
        assert!(own <= bound(memory) - 56 * MIB, "without the program's file: {}; {report}", mib(own));
        eprintln!("{:>17}: peak {} without the program's file, of {}", mix.name, mib(own), mib(peak));
    }
}

/// This asserts nothing about the run in which sizes change from mix to mix, because no bound is promised for it.
#[test]
#[ignore = "it takes as long as one likes: make bench-memory"]
fn hours_of_churn() {
    let minutes = std::env::var("KASOKU_CHURN_MINUTES").unwrap_or_else(|_| "60".to_owned());
    let _alone = alone();
    let memory = setting("KASOKU_TEST_CHURN_MIB", 256) * MIB;
    let each = Duration::from_secs_f64(minutes.parse::<f64>().unwrap() * 60.0 / (2 * churn::MIXES.len()) as f64);
    let mut worst = 0;
    for (number, mix) in (1..).zip(churn::MIXES) {
        let program = serve_with(2, memory, start_origin());
        worst = worst.max(churn(&program, number, mix, memory, Until::Elapsed(each)).1);
    }
    eprintln!("one after the other:");
    let program = serve_with(2, memory, start_origin());
    for (number, mix) in (1..).zip(churn::MIXES) {
        churn(&program, number, mix, memory, Until::Elapsed(each));
    }
    assert!(worst <= bound(memory), "{}", mib(worst));
}

/// Runs a mix. Returns a report of the resident memory, and its peak in bytes.
fn churn(program: &Program, number: u64, mix: churn::Mix, memory: u64, until: Until) -> (String, u64) {
    let resident = Resident(program.id());
    resident.forget_peak();
    let sampler = Sampler::start(resident);
    mix.run(number, program.clients, CLIENTS, memory, until);
    let (metrics, peak, mean) = (program.metrics_after(0), resident.peak(), sampler.mean());
    let report = format!(
        "{:>17}: peak {}, mean {}, at the end {}, bound {}; the tier says {} in {} objects",
        mix.name,
        mib(peak),
        mib(mean),
        mib(resident.now()),
        mib(bound(memory)),
        mib(metrics["stored_bytes"]),
        metrics["stored_objects"]
    );
    eprintln!("{report}");
    (report, peak)
}

/// An unfinished head costs the client nothing, but occupies memory of the program.
#[test]
fn thousands_of_unfinished_heads_stay_within_the_bound() {
    const HEAD_BYTES: usize = 64_000;
    let _alone = alone();
    let count = 4_000.min(descriptors_max().saturating_sub(300));
    let program = serve(64 * MIB, start_origin());
    let resident = Resident(program.id());
    let at_start = resident.now();
    let mut heads: Vec<_> = (0..count).map(|_| Client::small(program.clients)).collect();
    heads.iter_mut().for_each(|client| client.begin_head(HEAD_BYTES));
    // Heads get a sixteenth of the memory, which has room for 64; the program answers the other clients with an error.
    let metrics = program.metrics_after(count as u64 - 64);
    assert!(metrics["memory_used_bytes"] <= 4 * MIB, "a sixteenth is for heads: {metrics:?}");
    let peak = resident.peak();
    drop(heads);
    eprintln!(
        "{count} unfinished heads: RSS at the start {}, peak {}, bound {}",
        mib(at_start),
        mib(peak),
        mib(bound(64 * MIB))
    );
    assert!(peak <= bound(64 * MIB), "{}", mib(peak));
}

#[test]
fn ten_thousand_idle_connections_cost_at_most_40_mb() {
    const BYTES_PER_CONNECTION_MAX: u64 = 4_000;
    let _alone = alone();
    // This process and the program need some descriptors for other purposes.
    let count = 10_000.min(descriptors_max().saturating_sub(300));
    if count < 10_000 {
        eprintln!("the hard limit of descriptors allows only {count} connections");
    }
    let program = serve(64 * MIB, start_origin());
    let resident = Resident(program.id());
    let page = Object { number: 1, size: 4096, head: 0 };
    let connected = |count: usize| -> Vec<Client> {
        let mut clients: Vec<Client> = (0..count).map(|_| Client::small(program.clients)).collect();
        clients.iter_mut().for_each(|client| client.get(page));
        clients
    };
    drop(connected(100));
    let before = resident.now();
    let mut clients = connected(count);
    let after = resident.now();
    let cost = after.saturating_sub(before);
    let each = cost / count as u64;
    // The connections were idle, not closed.
    clients.iter_mut().step_by(100).for_each(|client| client.get(page));
    drop(clients);
    eprintln!(
        "{count} idle connections: RSS before {}, after {}: {:.1} MB, {each} bytes each; once they have left {}",
        mib(before),
        mib(after),
        cost as f64 / 1e6,
        mib(resident.now()),
    );
    assert!(cost <= BYTES_PER_CONNECTION_MAX * count as u64, "{each} bytes for a connection");
}
