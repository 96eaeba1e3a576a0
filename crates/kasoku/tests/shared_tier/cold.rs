//! Tests that a page that nobody has costs the origin one request, however many front ends are asked for it at once.

use crate::fleet::{Fleet, Kind, PURGE_BOUND, Setup};
use crate::front_end::Scope;
use crate::page::HOST;
use rustix::process::Signal;
use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// How often it is tried: on a machine with much to do, the log of a server may not be read in time, and then no lease is had.
const TRIES: usize = 5;

/// Clients of each front end; 100 in the long form.
fn clients() -> u64 {
    crate::setting("KASOKU_SHARED_COLD_CLIENTS").unwrap_or(20)
}

#[test]
fn a_cold_page_is_fetched_once_for_all_front_ends() {
    is_fetched_once(Kind::Memcached);
}

#[test]
fn a_cold_page_is_fetched_once_with_redis() {
    is_fetched_once(Kind::Redis);
}

fn is_fetched_once(kind: Kind) {
    let fleet = Fleet::start(Setup { kind, ..Setup::PATIENT });
    let is_fetched_once = |_| {
        let target = fleet.fresh("slow", 3000);
        std::thread::scope(|scope| {
            for front_end in &fleet.front_ends {
                for _ in 0..clients() {
                    scope.spawn(|| assert_eq!(front_end.get(&target).version(&target, ""), 1));
                }
            }
        });
        fleet.origin.asked(&target) == 1
    };
    assert!((0..TRIES).any(is_fetched_once), "each time by several front ends");
}

/// The item from before the purge stays in the server until the new one takes its place. Who finds it waits all the same.
#[test]
fn a_purged_page_is_fetched_once_for_all_front_ends() {
    let fleet = Fleet::start(Setup { shared: "timeout = \"300ms\"", ..Setup::PLAIN });
    let is_fetched_once = |_| {
        let (target, _) = fleet.shared_page("slow", 3000);
        let asked = fleet.origin.asked(&target);
        fleet.origin.change(&target);
        fleet.front_ends[0].purge(Scope::Key(&target), false);
        std::thread::sleep(PURGE_BOUND);
        std::thread::scope(|scope| {
            for front_end in &fleet.front_ends {
                for _ in 0..clients() {
                    scope.spawn(|| assert_eq!(front_end.get(&target).version(&target, ""), 2));
                }
            }
        });
        fleet.origin.asked(&target) == asked + 1
    };
    assert!((0..TRIES).any(is_fetched_once), "each time by several front ends");
}

#[test]
fn a_front_end_that_dies_while_it_fetches_costs_one_more_request() {
    let mut fleet = Fleet::start(Setup::PATIENT);
    let mut tries = 0..TRIES;
    let is_fetched_twice_at_most = tries.any(|_| {
        let target = fleet.fresh("slow", 3000);
        let [first, others @ ..] = &*fleet.front_ends else { panic!("three front ends") };
        let mut dying = TcpStream::connect(first.address()).unwrap();
        dying.write_all(format!("GET {target} HTTP/1.1\r\nHost: {HOST}\r\n\r\n").as_bytes()).unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        while fleet.origin.asked(&target) == 0 {
            assert!(Instant::now() < until, "the origin was not asked");
            std::thread::sleep(Duration::from_millis(5));
        }
        first.signal(Signal::KILL);
        std::thread::scope(|scope| {
            for front_end in others {
                for _ in 0..clients() {
                    scope.spawn(|| assert_eq!(front_end.get(&target).version(&target, ""), 1));
                }
            }
        });
        let asked = fleet.origin.asked(&target);
        if let [first, ..] = &mut *fleet.front_ends {
            first.kill();
            first.start_again();
        }
        fleet.settle(crate::fleet::RETURN_BOUND);
        asked <= 2
    });
    assert!(is_fetched_twice_at_most, "each time more than twice");
}
