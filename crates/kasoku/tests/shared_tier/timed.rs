//! Tests how long a purge takes until two other front ends comply: again and again, for a key, a prefix and a tag, while servers are cut off,
//! stop, start again empty or fail over. The times are printed (`--nocapture`).

use crate::fleet::{Fleet, Kind, PURGE_BOUND, RETURN_BOUND, Setup};
use crate::front_end::{FrontEnd, Scope};
use crate::setting;
use kasoku_testkit::Fault;
use std::time::{Duration, Instant};

/// Purges for each kind of servers; 1,000 in the long form.
fn purges() -> usize {
    setting("KASOKU_SHARED_PURGES").and_then(|number| number.try_into().ok()).unwrap_or(24)
}

/// The pause between two looks.
const ASKED_EVERY: Duration = Duration::from_millis(5);

/// What is wrong with the servers while pages are purged.
#[derive(Clone, Copy, Debug)]
struct Disturbance {
    name: &'static str,
    begin: fn(&Fleet),
    end: fn(&Fleet),
    /// From the end of the purge until all comply.
    bound: Duration,
}

const NOTHING: Disturbance = Disturbance { name: "nothing", begin: |_| {}, end: |_| {}, bound: PURGE_BOUND };

const RING: [Disturbance; 6] = [
    NOTHING,
    Disturbance {
        name: "one is cut off",
        begin: |fleet| fleet.servers[0].proxy().set(Fault::Down),
        end: |fleet| fleet.servers[0].proxy().set(Fault::None),
        bound: PURGE_BOUND,
    },
    Disturbance {
        name: "one is stopped",
        begin: |fleet| fleet.servers[1].store.stop(),
        end: |fleet| fleet.servers[1].store.go_on(),
        bound: PURGE_BOUND,
    },
    Disturbance {
        name: "one starts again empty",
        begin: |fleet| fleet.servers[2].store.restart_empty(),
        end: |_| {},
        bound: PURGE_BOUND,
    },
    Disturbance {
        name: "all but one are cut off",
        begin: |fleet| fleet.servers[..2].iter().for_each(|server| server.proxy().set(Fault::Timeout)),
        end: |fleet| fleet.servers[..2].iter().for_each(|server| server.proxy().set(Fault::None)),
        bound: PURGE_BOUND,
    },
    Disturbance {
        name: "all are too slow for clients",
        begin: |fleet| {
            let slow = Fault::Latency(Duration::from_millis(60));
            fleet.servers.iter().for_each(|server| server.proxy().set(slow));
        },
        end: |fleet| fleet.servers.iter().for_each(|server| server.proxy().set(Fault::None)),
        bound: PURGE_BOUND,
    },
];

/// While there is no primary, nobody hears of a purge. So the bound is that of the return.
const REDIS: [Disturbance; 4] = [
    NOTHING,
    Disturbance {
        name: "it starts again empty",
        begin: |fleet| fleet.primary().restart_empty(),
        end: |_| {},
        bound: RETURN_BOUND,
    },
    Disturbance { name: "failover", begin: |fleet| fleet.fail_over(), end: |_| {}, bound: RETURN_BOUND },
    Disturbance {
        name: "each request takes longer",
        begin: |fleet| {
            fleet.servers.iter().for_each(|server| server.proxy().set(Fault::Latency(Duration::from_millis(5))))
        },
        end: |fleet| fleet.servers.iter().for_each(|server| server.proxy().set(Fault::None)),
        bound: PURGE_BOUND,
    },
];

/// Purges pages at the first front end, and measures when the others comply.
fn holds_in_time(setup: Setup, disturbances: &[Disturbance]) {
    let fleet = Fleet::start(setup);
    let each = purges().div_ceil(disturbances.len());
    let mut times = Vec::new();
    for disturbance in disturbances {
        (disturbance.begin)(&fleet);
        for number in 0..each {
            let time = until_all_comply(&fleet, number, *disturbance);
            assert!(time <= disturbance.bound, "{}, purge {number}: {time:?}", disturbance.name);
            times.push(time);
        }
        (disturbance.end)(&fleet);
        fleet.settle(RETURN_BOUND);
    }
    times.sort_unstable();
    let of = |percent: usize| times[(times.len() - 1) * percent / 100];
    println!("{} purges: {:?} half of the time, {:?} at 99 of 100, {:?} at most", times.len(), of(50), of(99), of(100));
}

/// Has one page at all front ends, purges it, and returns after how long no front end gives it any more: the time of the last answer from before.
fn until_all_comply(fleet: &Fleet, number: usize, Disturbance { name, bound, .. }: Disturbance) -> Duration {
    let target = fleet.fresh("page", 300).replace("?group=fresh", &format!("?group=timed-{number}"));
    let [first, others @ ..] = &*fleet.front_ends else { panic!("three front ends") };
    for front_end in &fleet.front_ends {
        front_end.get(&target).version(&target, "");
    }
    let version = fleet.origin.change(&target);
    match number % 3 {
        0 => first.purge(Scope::Key(&target), false),
        1 => first.purge(Scope::Prefix(target.split_once('?').unwrap().0), false),
        _ => first.purge(Scope::Tag(&format!("group-timed-{number}")), false),
    }
    let purged = Instant::now();
    let is_old = |front_end: &FrontEnd| front_end.get(&target).version(&target, "") < version;
    let mut last = Duration::ZERO;
    while purged.elapsed() < bound + ASKED_EVERY {
        let asked = purged.elapsed();
        if !others.iter().any(is_old) {
            break;
        }
        last = asked;
        std::thread::sleep(ASKED_EVERY);
    }
    assert!(!others.iter().any(is_old), "{name}, purge {number}: still old after {:?}", purged.elapsed());
    assert!(!is_old(first));
    last
}

#[test]
fn a_purge_is_heard_of_in_time_with_a_ring() {
    holds_in_time(Setup { servers: 3, ..Setup::PLAIN }, &RING);
}

#[test]
fn a_purge_is_heard_of_in_time_with_redis() {
    holds_in_time(Setup { kind: Kind::Redis, servers: 3, ..Setup::PLAIN }, &REDIS);
}

#[test]
fn a_purge_is_heard_of_in_time_with_a_redis_cluster() {
    holds_in_time(Setup { kind: Kind::Cluster, ..Setup::PLAIN }, &[NOTHING]);
}
