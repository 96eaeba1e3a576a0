//! Tests that what is purged at one front end is gone at all of them within the bound, and at one that was away once it is back.

use crate::fleet::{FRONT_ENDS, Fleet, PURGE_BOUND, RETURN_BOUND, Setup};
use crate::front_end::{FrontEnd, Scope};
use kasoku_testkit::Fault;
use rustix::process::Signal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The pages that are purged in each way.
const PAGES: usize = 3;

/// How the pages of a batch are purged. `true` is a soft purge.
#[derive(Clone, Copy, Debug)]
enum Way {
    Key(bool),
    Prefix(bool),
    Tag(bool),
    Post,
}

const WAYS: [Way; 7] = [
    Way::Key(false),
    Way::Key(true),
    Way::Prefix(false),
    Way::Prefix(true),
    Way::Tag(false),
    Way::Tag(true),
    Way::Post,
];

struct Page {
    way: Way,
    group: String,
    target: String,
    /// The first version that may be seen after the purge.
    version: u64,
}

/// Pages that all front ends have.
struct Batch(Vec<Page>);

impl Batch {
    fn fetched(fleet: &Fleet) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mut pages = Vec::new();
        for (way_number, way) in WAYS.into_iter().enumerate() {
            for page in 0..PAGES {
                let group = format!("{number}-{way_number}");
                let target = format!("/page/300/{group}/{page}?group={group}");
                pages.push(Page { way, group, target, version: 1 });
            }
        }
        let batch = Self(pages);
        for front_end in &fleet.front_ends {
            batch.0.iter().for_each(|page| assert_eq!(page.ask(front_end), 1, "{}", page.target));
        }
        batch
    }

    /// Changes the pages at the origin and purges them at a front end. Returns when that was done.
    fn purged(&mut self, fleet: &Fleet, at: usize) -> Instant {
        let front_end = &fleet.front_ends[at];
        let mut last = None;
        for page in &mut self.0 {
            page.version = match page.way {
                // The origin changes the page when it is told so.
                Way::Post => fleet.origin.version(&page.target) + 1,
                _ => fleet.origin.change(&page.target),
            };
        }
        for page in &self.0 {
            let is_new = last.replace(&page.group) != Some(&page.group);
            match page.way {
                Way::Key(is_soft) => front_end.purge(Scope::Key(&page.target), is_soft),
                Way::Post => assert_eq!(front_end.ask("POST", &page.target, "Content-Length: 0\r\n").status, 200),
                Way::Prefix(is_soft) if is_new => {
                    front_end.purge(Scope::Prefix(&format!("/page/300/{}/", page.group)), is_soft);
                }
                Way::Tag(is_soft) if is_new => front_end.purge(Scope::Tag(&format!("group-{}", page.group)), is_soft),
                Way::Prefix(_) | Way::Tag(_) => {}
            }
        }
        let done = Instant::now();
        self.are_new(front_end, "where it was purged, at once");
        done
    }

    /// Checks that a front end gives no page from before the purge.
    fn are_new(&self, front_end: &FrontEnd, when: &str) {
        for page in &self.0 {
            let version = page.ask(front_end);
            let Page { way, target, version: wanted, .. } = page;
            assert!(version >= *wanted, "{when}: version {version} of {target}, purged ({way:?}) was {}", wanted - 1);
        }
    }

    /// The same within a time.
    fn become_new(&self, front_end: &FrontEnd, within: Duration, when: &str) {
        let end = Instant::now() + within;
        while Instant::now() < end && self.0.iter().any(|page| page.ask(front_end) < page.version) {}
        self.are_new(front_end, when);
    }
}

impl Page {
    /// The version that a front end gives.
    fn ask(&self, front_end: &FrontEnd) -> u64 {
        front_end.get(&self.target).version(&self.target, "")
    }
}

fn wait_until(end: Instant) {
    std::thread::sleep(end.saturating_duration_since(Instant::now()));
}

/// What one front end purges, the others have purged within the bound.
fn holds_everywhere(fleet: &Fleet, at: usize) {
    let mut batch = Batch::fetched(fleet);
    wait_until(batch.purged(fleet, at) + PURGE_BOUND);
    fleet.front_ends.iter().for_each(|front_end| batch.are_new(front_end, "after the bound"));
}

#[test]
fn a_purge_holds_at_all_front_ends() {
    let fleet = Fleet::start(Setup::PLAIN);
    (0..FRONT_ENDS).for_each(|at| holds_everywhere(&fleet, at));
    for scope in [Scope::Site, Scope::All] {
        let mut batch = Batch::fetched(&fleet);
        batch.0.iter_mut().for_each(|page| page.version = fleet.origin.change(&page.target));
        fleet.front_ends[1].purge(scope, false);
        wait_until(Instant::now() + PURGE_BOUND);
        fleet.front_ends.iter().for_each(|front_end| batch.are_new(front_end, "all of it"));
    }
    for number in 0..FRONT_ENDS {
        assert!(fleet.number(number, "kasoku_peer_purges_published_total") > 0);
        assert!(fleet.number(number, "kasoku_peer_purges_received_total") > 0);
        assert_eq!(fleet.number(number, "kasoku_peer_purges_missing_total"), 0);
        assert_eq!(fleet.number(number, "kasoku_peer_dropped_everything_total"), 0);
    }
}

#[test]
fn a_purge_holds_at_once_where_it_was_waited_for() {
    let fleet = Fleet::start(Setup::PLAIN);
    // The purge stands in the log of each front end when it is answered, and that wakes it.
    let target = "/page/300/at-once";
    for _ in 0..20 {
        let before: Vec<u64> = fleet.front_ends.iter().map(|it| it.get(target).version(target, "")).collect();
        let version = fleet.origin.change(target);
        assert!(before.iter().all(|before| *before == version - 1));
        let begun = Instant::now();
        fleet.front_ends[0].purge(Scope::Key(target), false);
        while fleet.front_ends[1..].iter().any(|it| it.get(target).version(target, "") < version) {
            assert!(begun.elapsed() < PURGE_BOUND, "the purge is not heard of");
        }
    }
}

#[test]
fn a_purge_reaches_a_front_end_that_its_sender_can_not_reach() {
    let fleet = Fleet::start(Setup::PLAIN);
    let mut batch = Batch::fetched(&fleet);
    fleet.cut(0, 2, Fault::Timeout);
    let done = batch.purged(&fleet, 0);
    batch.become_new(&fleet.front_ends[2], PURGE_BOUND, "by the third one");
    wait_until(done + PURGE_BOUND);
    batch.are_new(&fleet.front_ends[1], "by its own log");
}

#[test]
fn a_front_end_that_was_cut_off_hears_of_purges_when_it_is_back() {
    for fault in [Fault::Timeout, Fault::Down] {
        let fleet = Fleet::start(Setup::PLAIN);
        let (mut batch, mut own) = (Batch::fetched(&fleet), Batch::fetched(&fleet));
        fleet.cut_off(2, fault);
        // Both sides purge, and neither hears of the other.
        batch.purged(&fleet, 0);
        own.purged(&fleet, 2);
        wait_until(Instant::now() + PURGE_BOUND);
        batch.are_new(&fleet.front_ends[1], "which is not cut off");
        fleet.cut_off(2, Fault::None);
        batch.become_new(&fleet.front_ends[2], RETURN_BOUND, "back");
        own.become_new(&fleet.front_ends[0], RETURN_BOUND, "of the one that is back");
        own.become_new(&fleet.front_ends[1], RETURN_BOUND, "of the one that is back");
        fleet.settle(&[0, 1, 2], RETURN_BOUND);
        assert_eq!(fleet.number(2, "kasoku_peer_dropped_everything_total"), 0, "it has heard of each purge");
    }
}

#[test]
fn a_front_end_that_was_stopped_hears_of_purges_when_it_goes_on() {
    let fleet = Fleet::start(Setup::PLAIN);
    let mut batch = Batch::fetched(&fleet);
    fleet.front_ends[1].signal(Signal::STOP);
    batch.purged(&fleet, 0);
    fleet.front_ends[1].signal(Signal::CONT);
    wait_until(Instant::now() + PURGE_BOUND);
    batch.are_new(&fleet.front_ends[1], "in memory");
    fleet.settle(&[0, 1, 2], RETURN_BOUND);
}

#[test]
fn a_front_end_that_was_stopped_drops_everything_if_the_purge_is_lost_meanwhile() {
    let mut fleet = Fleet::start(Setup::PLAIN);
    let mut batch = Batch::fetched(&fleet);
    fleet.front_ends[1].signal(Signal::STOP);
    batch.purged(&fleet, 0);
    wait_until(Instant::now() + Duration::from_millis(2500));
    // Those who know of the purge end, all together.
    [0, 2].into_iter().for_each(|number| fleet.front_ends[number].kill());
    [0, 2].into_iter().for_each(|number| fleet.front_ends[number].start_again());
    fleet.front_ends[1].signal(Signal::CONT);
    batch.become_new(&fleet.front_ends[1], RETURN_BOUND, "in memory");
    fleet.settle(&[0, 1, 2], RETURN_BOUND);
}

/// A front end with a disk is away for the time of a purge. Returns the fleet, and pages that were not purged.
fn away_with_a_disk(end: fn(&mut FrontEnd)) -> (Fleet, Batch) {
    let mut fleet = Fleet::start(Setup { has_disk: true, ..Setup::PLAIN });
    let (mut batch, kept) = (Batch::fetched(&fleet), Batch::fetched(&fleet));
    // What was stored a second ago is on disk.
    wait_until(Instant::now() + Duration::from_millis(1500));
    let dropped = |fleet: &Fleet| [0, 1].map(|number| fleet.number(number, "kasoku_peer_dropped_everything_total"));
    let before = dropped(&fleet);
    end(&mut fleet.front_ends[2]);
    batch.purged(&fleet, 0);
    fleet.front_ends[2].start_again();
    batch.are_new(&fleet.front_ends[2], "on disk, at once: its start has waited");
    fleet.settle(&[0, 1, 2], RETURN_BOUND);
    assert_eq!(dropped(&fleet), before, "the others have seen it end, and lack nothing");
    (fleet, kept)
}

#[test]
fn a_front_end_with_a_disk_hears_of_purges_that_were_made_while_it_was_away() {
    let (fleet, kept) = away_with_a_disk(FrontEnd::end);
    let asked = || kept.0.iter().map(|page| fleet.origin.asked(&page.target)).sum::<u64>();
    let before = asked();
    kept.0.iter().for_each(|page| assert_eq!(page.ask(&fleet.front_ends[2]), 1));
    assert_eq!(asked(), before, "what was not purged is on disk");
    assert_eq!(fleet.number(2, "kasoku_peer_dropped_everything_total"), 0);
    holds_everywhere(&fleet, 2);
}

#[test]
fn a_front_end_with_a_disk_that_was_killed_has_nothing_from_before_a_purge() {
    let (fleet, _) = away_with_a_disk(FrontEnd::kill);
    holds_everywhere(&fleet, 0);
    holds_everywhere(&fleet, 2);
}

#[test]
fn what_is_on_disk_is_dropped_if_the_peers_have_begun_anew_as_well() {
    let mut fleet = Fleet::start(Setup { has_disk: true, ..Setup::PLAIN });
    let mut batch = Batch::fetched(&fleet);
    wait_until(Instant::now() + Duration::from_millis(1500));
    fleet.front_ends[2].kill();
    batch.purged(&fleet, 0);
    [0, 1].into_iter().for_each(|number| fleet.front_ends[number].kill());
    [0, 1, 2].into_iter().for_each(|number| fleet.front_ends[number].start_again());
    batch.become_new(&fleet.front_ends[2], RETURN_BOUND, "on disk");
}

#[test]
fn a_process_that_takes_over_answers_the_peers() {
    let fleet = Fleet::start(Setup::PLAIN);
    let successor = fleet.hand_over(1);
    fleet.settle(&[0, 2], RETURN_BOUND);
    holds_everywhere(&fleet, 0);
    holds_everywhere(&fleet, 1);
    fleet.settle(&[0, 2], RETURN_BOUND);
    assert_eq!([0, 2].map(|number| fleet.number(number, "kasoku_peer_dropped_everything_total")), [0; 2]);
    drop(successor);
}
