//! Tests that no failure of servers reaches a client: traffic goes on while each fault is switched on and off, for one server and for all.
//! Each answer has the right bytes and is not older than it may be, and soon after a fault all servers are used again. How long answers took (half of
//! them, 99 of 100, and all) is printed (`--nocapture`).

use crate::fleet::{Fleet, Kind, RETURN_BOUND, Setup, Tls};
use crate::traffic::Traffic;
use crate::{seed, setting};
use kasoku_testkit::Fault;
use std::time::Duration;

/// What happens to servers.
#[derive(Clone, Copy, Debug)]
enum Failure {
    /// The way to them.
    Way(Fault),
    /// They stop and go on (SIGSTOP, SIGCONT).
    Stop,
    /// They start again empty.
    Restart,
    /// Each one gets what another one should get.
    Swap,
}

const FAILURES: [Failure; 13] = [
    Failure::Way(Fault::Latency(Duration::from_millis(15))),
    Failure::Way(Fault::Latency(Duration::from_millis(200))),
    Failure::Way(Fault::Bandwidth(64 << 10)),
    Failure::Way(Fault::SlowClose(Duration::from_millis(300))),
    Failure::Way(Fault::Timeout),
    Failure::Way(Fault::Reset),
    Failure::Way(Fault::Slices(3)),
    Failure::Way(Fault::Cut(700)),
    Failure::Way(Fault::Damage(300)),
    Failure::Way(Fault::Down),
    Failure::Stop,
    Failure::Restart,
    Failure::Swap,
];

/// How often the traffic runs until it uses the shared tier.
const ROUNDS_MAX: usize = 10;

/// How often a page is asked for.
const TRIES_MAX: usize = 5;

impl Failure {
    fn begin(self, fleet: &Fleet, servers: &[usize]) {
        for (number, &server) in servers.iter().enumerate() {
            match self {
                Self::Way(fault) => fleet.servers[server].proxy().set(fault),
                Self::Stop => fleet.servers[server].store.stop(),
                Self::Restart => fleet.servers[server].store.restart_empty(),
                Self::Swap => {
                    // One server alone gets what is meant for its neighbour.
                    let other = match servers {
                        [one] => (one + 1) % fleet.servers.len(),
                        _ => servers[(number + 1) % servers.len()],
                    };
                    fleet.servers[server].proxy().swap(fleet.servers[other].store.address().unwrap());
                }
            }
        }
    }

    fn end(self, fleet: &Fleet, servers: &[usize]) {
        for &server in servers {
            let server = &fleet.servers[server];
            match self {
                Self::Way(_) => server.proxy().set(Fault::None),
                Self::Stop => server.store.go_on(),
                Self::Restart => {}
                Self::Swap => server.proxy().swap(server.store.address().unwrap()),
            }
        }
    }
}

/// Sends traffic while each failure comes and goes twice, for one server after the other or for all.
fn withstands(kind: Kind, all: bool) {
    let requests = setting("KASOKU_SHARED_REQUESTS").unwrap_or(300);
    let seed = seed();
    let servers = if kind == Kind::Memcached { 3 } else { 1 };
    let fleet = Fleet::start(Setup { kind, servers, memory: "16MiB", ..Setup::PLAIN });
    let traffic = Traffic::of(&fleet, seed);
    // On a machine that does other work, servers answer late at first, and count as failing for a while.
    let mut taken = 0;
    for _ in 0..ROUNDS_MAX {
        traffic.run(requests);
        taken += traffic.shared();
        if taken * 20 > requests {
            break;
        }
    }
    println!("without a failure: {:?}", traffic.times());
    assert!(taken * 20 > requests, "only {taken} of {requests} answers came from the shared tier");
    for (number, failure) in FAILURES.into_iter().enumerate() {
        if servers == 1 && matches!(failure, Failure::Swap) {
            continue;
        }
        let failing: Vec<_> = if all { (0..fleet.servers.len()).collect() } else { vec![number % fleet.servers.len()] };
        for _ in 0..2 {
            if all {
                traffic.cut_off();
            }
            failure.begin(&fleet, &failing);
            traffic.run(requests / 3);
            failure.end(&fleet, &failing);
            if all {
                traffic.joined();
            }
            traffic.run(requests / 6);
        }
        println!("{failure:?} of {failing:?}: {:?}", traffic.times());
        fleet.settle(RETURN_BOUND);
        let mistakes = traffic.mistakes();
        assert!(mistakes.is_empty(), "KASOKU_SHARED_SEED={seed}, {failure:?} of {failing:?}: {mistakes:#?}");
    }
    traffic.run(requests);
    assert!(traffic.shared() > 0);
    let mistakes = traffic.mistakes();
    assert!(mistakes.is_empty(), "KASOKU_SHARED_SEED={seed}, afterwards: {mistakes:#?}");
}

#[test]
fn no_client_sees_that_one_server_fails() {
    withstands(Kind::Memcached, false);
}

#[test]
fn no_client_sees_that_all_servers_fail() {
    withstands(Kind::Memcached, true);
}

/// A front end that keeps nothing in memory asks the server for an item that it knows. When that fails, the fill that follows asks no other one.
#[test]
fn a_request_waits_for_one_failing_server_only() {
    let fleet = Fleet::start(Setup { keeps_in_memory: false, servers: 3, ..Setup::PLAIN });
    let front_end = &fleet.front_ends[1];
    let asked = (0..TRIES_MAX).map(|_| {
        let (target, _) = fleet.shared_page("page", 300);
        assert!((0..TRIES_MAX).any(|_| front_end.get(&target).is_shared()), "{target}");
        let before = front_end.counted_of_servers("gets");
        fleet.servers.iter().for_each(|server| server.proxy().set(Fault::Timeout));
        assert_eq!(front_end.get(&target).version(&target, ""), 1);
        let asked = front_end.counted_of_servers("gets") - before;
        fleet.servers.iter().for_each(|server| server.proxy().set(Fault::None));
        fleet.settle(RETURN_BOUND);
        assert!(asked <= 1, "{asked} servers were asked for {target}");
        asked
    });
    // None is asked where the failure of its log was noticed before.
    assert_eq!(asked.max(), Some(1));
}

/// Redis can't prove who it is. The front ends ask the origin, and say why.
#[test]
fn no_client_sees_that_redis_is_not_trusted() {
    let fleet = Fleet::start_unsettled(Setup { kind: Kind::Redis, tls: Tls::OfAStranger, servers: 1, ..Setup::PLAIN });
    for number in 1..=5 {
        let target = fleet.fresh("page", 300);
        for (asked, front_end) in (1..).zip(&fleet.front_ends) {
            let answer = front_end.get(&target);
            assert_eq!(answer.version(&target, ""), 1);
            assert!(!answer.is_shared(), "{number}");
            assert_eq!(fleet.origin.asked(&target), asked);
        }
    }
    assert_eq!(fleet.servers[0].store.names(), Vec::<String>::new());
    for front_end in &fleet.front_ends {
        let program = front_end.program();
        program.said_at("Redis can't be asked address=127.0.0.1:");
        program.said_at("failure=cannot connect: invalid peer certificate: UnknownIssuer");
        let metrics = program.metrics_after(5);
        let of_server = |name: &str| {
            let found = metrics.iter().find(|(series, _)| series.starts_with(&format!("shared_server_{name}{{")));
            *found.unwrap().1
        };
        assert_eq!((of_server("up"), of_server("hits_total"), of_server("gets_total")), (0, 0, 0));
        assert!(of_server("errors_total") > 0);
    }
}

#[test]
fn no_client_sees_that_redis_fails() {
    withstands(Kind::Redis, true);
}
