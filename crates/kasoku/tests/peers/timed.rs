//! Tests how long a purge takes until the other front ends comply: again and again, for a key, a prefix and a tag, while front ends can't reach each
//! other, or one of them stands still. The times are printed (`--nocapture`).

use crate::fleet::{Fleet, PURGE_BOUND, RETURN_BOUND, Setup};
use crate::front_end::Scope;
use crate::support::setting;
use kasoku_testkit::Fault;
use rustix::process::Signal;
use std::time::{Duration, Instant};

/// The pause between two looks.
const ASKED_EVERY: Duration = Duration::from_millis(2);

/// What is wrong while the first front end purges pages.
struct Disturbance {
    name: &'static str,
    begin: fn(&Fleet),
    end: fn(&Fleet),
    /// Whether the last front end hears of no purge before the end.
    is_one_away: bool,
}

const DISTURBANCES: [Disturbance; 4] = [
    Disturbance { name: "nothing", begin: |_| {}, end: |_| {}, is_one_away: false },
    Disturbance {
        name: "the first can't reach the last",
        begin: |fleet| fleet.cut(0, 2, Fault::Down),
        end: |fleet| fleet.cut(0, 2, Fault::None),
        is_one_away: false,
    },
    Disturbance {
        name: "the last is cut off",
        begin: |fleet| fleet.cut_off(2, Fault::Timeout),
        end: |fleet| fleet.cut_off(2, Fault::None),
        is_one_away: true,
    },
    Disturbance {
        name: "the last stands still",
        begin: |fleet| fleet.front_ends[2].signal(Signal::STOP),
        end: |fleet| fleet.front_ends[2].signal(Signal::CONT),
        is_one_away: true,
    },
];

/// A page that all front ends have.
struct Page {
    number: usize,
    group: String,
    target: String,
}

impl Page {
    fn fetched(fleet: &Fleet, disturbance: usize, number: usize) -> Self {
        let group = format!("timed-{disturbance}-{number}");
        let target = format!("/page/300/{group}/page?group={group}");
        let page = Self { number, group, target };
        (0..fleet.front_ends.len()).for_each(|at| assert_eq!(page.version(fleet, at), 1));
        page
    }

    /// Changes the page at the origin and purges it at the first front end.
    fn purge(&self, fleet: &Fleet) {
        assert_eq!(fleet.origin.change(&self.target), 2);
        let scope = match self.number % 3 {
            0 => Scope::Key(&self.target),
            1 => Scope::Prefix(&format!("/page/300/{}/", self.group)),
            _ => Scope::Tag(&format!("group-{}", self.group)),
        };
        fleet.front_ends[0].purge(scope, false);
    }

    fn version(&self, fleet: &Fleet, at: usize) -> u64 {
        fleet.front_ends[at].get(&self.target).version(&self.target, "")
    }
}

/// Returns the time of the last answer from before the purges of these pages, after which these front ends gave none within the bound.
fn until_all_comply(fleet: &Fleet, at: &[usize], pages: &[Page], bound: Duration, name: &str) -> Duration {
    let begun = Instant::now();
    let is_old = || at.iter().any(|at| pages.iter().any(|page| page.version(fleet, *at) < 2));
    let mut last = Duration::ZERO;
    loop {
        let asked = begun.elapsed();
        if !is_old() {
            return last;
        }
        last = asked;
        assert!(last <= bound, "{name}: still old after {last:?}");
        std::thread::sleep(ASKED_EVERY);
    }
}

#[test]
fn a_purge_is_heard_of_in_time() {
    let count = setting("KASOKU_PEERS_PURGES").and_then(|count| usize::try_from(count).ok()).unwrap_or(24);
    let fleet = Fleet::start(Setup::PLAIN);
    for (number, disturbance) in DISTURBANCES.iter().enumerate() {
        let Disturbance { name, begin, end, is_one_away } = disturbance;
        let pages: Vec<Page> =
            (0..count.div_ceil(DISTURBANCES.len())).map(|page| Page::fetched(&fleet, number, page)).collect();
        begin(&fleet);
        let others: &[usize] = if *is_one_away { &[1] } else { &[1, 2] };
        let mut times = Vec::new();
        for page in &pages {
            page.purge(&fleet);
            times.push(until_all_comply(&fleet, others, std::slice::from_ref(page), PURGE_BOUND, name));
            assert_eq!(page.version(&fleet, 0), 2, "{name}: where it was purged");
        }
        end(&fleet);
        let back = until_all_comply(&fleet, &[1, 2], &pages, RETURN_BOUND, name);
        fleet.settle(&[0, 1, 2], RETURN_BOUND);
        times.sort_unstable();
        let of = |percent: usize| times[(times.len() - 1) * percent / 100];
        println!(
            "{name}: {} purges: {:?} half of the time, {:?} at 99 of 100, {:?} at most; all of them {back:?} after its end",
            times.len(),
            of(50),
            of(99),
            of(100)
        );
    }
}
