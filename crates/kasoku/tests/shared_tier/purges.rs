//! Tests that what is purged at one front end is gone at all of them within the bound: from memory, from disk, and from the shared tier, also
//! where servers are away meanwhile and come back with what they had.
//!
//! A [`Batch`] has pages for each way to purge them. The second front end has all of them in memory; the third one has none, so that it asks
//! the servers. After the bound, each page is one that the origin has made after the purge.

use crate::client::in_language;
use crate::fleet::{Fleet, Kind, PURGE_BOUND, RETURN_BOUND, Setup, Tls, WRITTEN_MAX, name_of};
use crate::front_end::{FrontEnd, Scope};
use crate::page::{self, LANGUAGES, uri};
use kasoku_testkit::Fault;
use rustix::process::Signal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How the pages of a batch are purged.
const WAYS: [Way; 7] = [
    Way::Key(false),
    Way::Key(true),
    Way::Prefix(false),
    Way::Prefix(true),
    Way::Tag(false),
    Way::Tag(true),
    Way::Post,
];

/// For how long pages are asked for while servers come back.
const RETURN_TIME: Duration = Duration::from_millis(2500);

/// How often a page is asked for until it has come from the shared tier twice.
const TRIES: usize = 20;

/// The pages that are purged in each way.
const PAGES: usize = 8;

/// `true` is a soft purge.
#[derive(Clone, Copy, Debug)]
enum Way {
    Key(bool),
    Prefix(bool),
    Tag(bool),
    Post,
    Site(bool),
    All(bool),
}

/// Purges a page at a front end.
type PurgePage = fn(&FrontEnd, &str);

struct Page {
    way: Way,
    target: String,
    /// The first version that may be seen after the purge.
    version: u64,
}

struct Batch(Vec<Page>);

impl Batch {
    /// Has pages fetched by the first front end, and taken from the shared tier by the second one.
    fn fetched(fleet: &Fleet, ways: &[Way]) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mut pages = Vec::new();
        for (way_number, way) in ways.iter().enumerate() {
            for page in 0..PAGES {
                let kind = if page % 3 == 1 { "vary" } else { "page" };
                // Some pages are in chunks.
                let bytes = if page == 2 && way_number % 3 == 0 { 1_200_000 } else { 300 };
                let target = format!("/{kind}/{bytes}/{number}-{way_number}/{page}?group={number}-{way_number}");
                pages.push(Page { way: *way, target, version: 1 });
            }
        }
        let batch = Self(pages);
        for page in &batch.0 {
            page.ask(&fleet.front_ends[0]);
        }
        for page in &batch.0 {
            // On a machine with much to do, a page may be in no server. Then it is one that is in memory alone.
            let _ = fleet.holder(&name_of(&uri(&page.target)), WRITTEN_MAX);
            assert_eq!(page.ask(&fleet.front_ends[1]), 1, "{}", page.target);
        }
        batch
    }

    /// Changes the pages at the origin and purges them at the first front end. Returns when that was done.
    fn purged(&mut self, fleet: &Fleet) -> Instant {
        let first = &fleet.front_ends[0];
        for page in &mut self.0 {
            page.version = match page.way {
                // The origin changes the page when it is told so.
                Way::Post => fleet.origin.version(&page.target) + 1,
                _ => fleet.origin.change(&page.target),
            };
        }
        let mut last = None;
        for page in &self.0 {
            let group = group_of(&page.target);
            let (directory, _) = page.target.rsplit_once('/').unwrap();
            let is_new = last != Some(group);
            last = Some(group);
            match page.way {
                Way::Key(is_soft) => first.purge(Scope::Key(&page.target), is_soft),
                Way::Post => assert_eq!(first.ask("POST", &page.target, "Content-Length: 0\r\n").status, 200),
                // The pages are in a few directories, by kind and length.
                Way::Prefix(is_soft) => first.purge(Scope::Prefix(&format!("{directory}/")), is_soft),
                Way::Tag(is_soft) if is_new => first.purge(Scope::Tag(&format!("group-{group}")), is_soft),
                Way::Site(is_soft) if is_new => first.purge(Scope::Site, is_soft),
                Way::All(is_soft) if is_new => first.purge(Scope::All, is_soft),
                Way::Tag(_) | Way::Site(_) | Way::All(_) => {}
            }
        }
        let done = Instant::now();
        self.are_new(first, "the first front end, at once");
        done
    }

    /// Checks that a front end gives no page from before the purge.
    fn are_new(&self, front_end: &FrontEnd, when: &str) {
        self.0.iter().for_each(|page| page.is_new(front_end, when));
    }

    /// The same, with a page now and then over that time.
    fn are_new_over(&self, front_end: &FrontEnd, time: Duration, when: &str) {
        let pause = time / u32::try_from(self.0.len()).unwrap();
        for page in &self.0 {
            page.is_new(front_end, when);
            std::thread::sleep(pause);
        }
    }

    /// Two halves, each with pages of all ways.
    fn halves(self) -> [Self; 2] {
        let mut halves = [Vec::new(), Vec::new()];
        for (number, page) in self.0.into_iter().enumerate() {
            halves[number % 2].push(page);
        }
        halves.map(Self)
    }
}

impl Page {
    /// The version that a front end gives.
    fn ask(&self, front_end: &FrontEnd) -> u64 {
        let languages = if page::varies(&self.target) { &LANGUAGES[..] } else { &[""] };
        let versions = languages
            .iter()
            .map(|language| front_end.ask("GET", &self.target, &in_language(language)).version(&self.target, language));
        versions.min().unwrap()
    }

    fn is_new(&self, front_end: &FrontEnd, when: &str) {
        let version = self.ask(front_end);
        assert!(
            version >= self.version,
            "{when}: version {version} of {}, purged ({:?}) was {}",
            self.target,
            self.way,
            self.version - 1
        );
    }
}

/// Sleeps until the bound is over.
fn wait_until(end: Instant) {
    std::thread::sleep(end.saturating_duration_since(Instant::now()));
}

fn holds_in_all_tiers(setup: Setup) {
    let fleet = Fleet::start(setup);
    let mut batches = vec![Batch::fetched(&fleet, &WAYS)];
    for way in [Way::Site(false), Way::Site(true), Way::All(false), Way::All(true)] {
        let mut batch = Batch::fetched(&fleet, &[way]);
        wait_until(batch.purged(&fleet) + PURGE_BOUND);
        batch.are_new(&fleet.front_ends[1], "in memory");
        batch.are_new(&fleet.front_ends[2], "in the shared tier");
        batches.push(batch);
    }
    batches[0].are_new(&fleet.front_ends[1], "purged with everything");
    let mut batch = Batch::fetched(&fleet, &WAYS);
    wait_until(batch.purged(&fleet) + PURGE_BOUND);
    batch.are_new(&fleet.front_ends[1], "in memory");
    batch.are_new(&fleet.front_ends[2], "in the shared tier");
    // What was fetched after the purges is shared again.
    fleet.settle(RETURN_BOUND);
}

#[test]
fn a_purge_holds_at_all_front_ends_in_memory_and_in_the_shared_tier() {
    holds_in_all_tiers(Setup::PLAIN);
}

#[test]
fn a_purge_holds_at_all_front_ends_that_keep_nothing_in_memory() {
    holds_in_all_tiers(Setup { keeps_in_memory: false, ..Setup::PLAIN });
}

/// The item itself stays in its server: no front end asks the origin for a newer one before the purge counts.
#[test]
fn a_purge_covers_an_item_that_a_front_end_without_memory_has_answered_with() {
    let fleet = Fleet::start(Setup { keeps_in_memory: false, ..Setup::PATIENT });
    let [first, second, _] = &*fleet.front_ends else { panic!("three front ends") };
    let ways: [(&str, PurgePage); 5] = [
        ("key", |at, target| at.purge(Scope::Key(target), false)),
        ("key, softly", |at, target| at.purge(Scope::Key(target), true)),
        ("tag", |at, target| at.purge(Scope::Tag(&format!("group-{}", group_of(target))), false)),
        ("everything", |at, _| at.purge(Scope::All, false)),
        ("POST", |at, target| assert_eq!(at.ask("POST", target, "Content-Length: 0\r\n").status, 200)),
    ];
    for (number, (way, purge)) in ways.iter().enumerate() {
        for (by, at) in [("other", first), ("self", second)] {
            let target = format!("/page/400/purged-by-{by}/{number}?group={by}-{number}");
            assert_eq!(first.get(&target).version(&target, ""), 1);
            assert!(fleet.holder(&name_of(&uri(&target)), WRITTEN_MAX).is_some(), "{target}");
            // The first answer makes the item known, the second one is given because it is known.
            let shared = (0..TRIES).filter(|_| second.get(&target).is_shared());
            assert_eq!(shared.take(2).count(), 2, "{target}");
            fleet.origin.change(&target);
            purge(at, &target);
            wait_until(Instant::now() + if std::ptr::eq(at, second) { Duration::ZERO } else { PURGE_BOUND });
            let version = second.get(&target).version(&target, "");
            assert!(version > 1, "{target}, purged by {way}, is version {version}");
        }
    }
}

fn group_of(target: &str) -> &str {
    target.split_once("?group=").map(|(_, group)| group).unwrap()
}

#[test]
fn a_purge_holds_at_all_front_ends_on_disk_with_a_secret() {
    holds_in_all_tiers(Setup { has_disk: true, has_secret: true, workers: 1, ..Setup::PLAIN });
}

#[test]
fn a_purge_holds_at_all_front_ends_with_redis() {
    holds_in_all_tiers(Setup { kind: Kind::Redis, has_disk: true, ..Setup::PLAIN });
}

#[test]
fn a_purge_holds_at_all_front_ends_with_redis_by_tls() {
    holds_in_all_tiers(Setup { kind: Kind::Redis, tls: Tls::Yes, servers: 1, ..Setup::PLAIN });
}

#[test]
fn a_purge_holds_at_all_front_ends_with_a_redis_cluster() {
    holds_in_all_tiers(Setup { kind: Kind::Cluster, ..Setup::PLAIN });
}

#[test]
fn a_purge_holds_while_redis_is_away_and_when_it_comes_back() {
    at_the_same_time(&[
        ("is stopped", || {
            holds_while(REDIS, None, |fleet| fleet.servers[0].store.stop(), |fleet| fleet.servers[0].store.go_on());
        }),
        ("starts again empty", || {
            holds_while(REDIS, Some(PURGE_BOUND), |fleet| fleet.servers[0].store.restart_empty(), |_| {});
        }),
        ("the replica takes its part", || {
            holds_while(
                Setup { servers: 2, ..REDIS },
                None,
                |fleet| fleet.servers[0].store.kill(),
                |fleet| fleet.servers[1].store.redis().promote(),
            );
        }),
        ("the replica takes its part before", || {
            holds_while(
                Setup { servers: 2, ..REDIS },
                Some(RETURN_BOUND),
                |fleet| {
                    fleet.servers[0].store.kill();
                    fleet.servers[1].store.redis().promote();
                },
                |_| {},
            );
        }),
    ]);
}

const REDIS: Setup = Setup { kind: Kind::Redis, servers: 1, ..Setup::PLAIN };

/// A master of a cluster dies, and its replica takes its part: each of them in turn, so that the one with the log is among them.
#[test]
fn a_purge_holds_where_each_master_of_a_cluster_dies() {
    let fleet = Fleet::start(Setup { kind: Kind::Cluster, ..Setup::PLAIN });
    let primaries: Vec<_> =
        (0..fleet.servers.len()).filter(|server| fleet.servers[*server].store.redis().is_primary()).collect();
    assert_eq!(primaries.len(), 3);
    for primary in primaries {
        let mut batch = Batch::fetched(&fleet, &WAYS);
        let store = &fleet.servers[primary].store;
        store.kill();
        let done = batch.purged(&fleet);
        fleet.settle(Duration::from_secs(20));
        // Where a replica takes its part at once, the others hear of the purge by the same bound as where one is promoted.
        wait_until(done + RETURN_BOUND);
        batch.are_new(&fleet.front_ends[1], "in memory");
        batch.are_new(&fleet.front_ends[2], "in the cluster");
        store.redis().join_again();
    }
}

/// Purges while something is broken, and mends it when the bound is over.
fn holds_while(
    setup: Setup,
    purge_bound: Option<Duration>,
    broken: impl FnOnce(&mut Fleet),
    mended: impl FnOnce(&mut Fleet),
) {
    let mut fleet = Fleet::start(setup);
    let mut batch = Batch::fetched(&fleet, &WAYS);
    broken(&mut fleet);
    let done = batch.purged(&fleet);
    let mut later = None;
    if let Some(bound) = purge_bound {
        wait_until(done + bound);
        batch.are_new(&fleet.front_ends[1], "in memory, while it is broken");
        let [now, other] = batch.halves();
        now.are_new(&fleet.front_ends[2], "in the shared tier, while it is broken");
        (batch, later) = (now, Some(other));
    }
    mended(&mut fleet);
    match later {
        Some(later) => later.are_new_over(&fleet.front_ends[2], RETURN_TIME, "when it comes back"),
        None => {
            let end = Instant::now() + RETURN_BOUND;
            for front_end in &fleet.front_ends[1..] {
                while Instant::now() < end && batch.0.iter().any(|page| page.ask(front_end) < page.version) {}
                batch.are_new(front_end, "after it came back");
            }
        }
    }
    fleet.settle(RETURN_BOUND);
}

/// Runs tests that mostly wait at the same time. The test that fails is known by what it says, and by its thread.
fn at_the_same_time(tests: &[(&str, fn())]) {
    std::thread::scope(|scope| {
        for (name, test) in tests {
            std::thread::Builder::new().name((*name).to_owned()).spawn_scoped(scope, test).unwrap();
        }
    });
}

#[test]
fn a_purge_holds_while_some_servers_are_away_and_when_they_come_back() {
    at_the_same_time(&[
        ("one is down", a_purge_holds_while_one_server_is_down_and_when_it_comes_back),
        ("one is stopped", a_purge_holds_where_a_server_is_stopped_and_goes_on_with_what_it_had),
        ("all but one", a_purge_holds_while_all_servers_but_one_are_down_and_when_they_come_back),
    ]);
}

#[test]
fn a_purge_holds_where_all_servers_were_away_or_are_empty() {
    at_the_same_time(&[
        ("start again empty", a_purge_holds_where_servers_start_again_empty),
        ("all are down", a_purge_that_no_server_gets_holds_when_they_are_back),
        ("all are stopped", a_purge_that_all_stopped_servers_get_late_holds_when_they_go_on),
    ]);
}

fn a_purge_holds_while_one_server_is_down_and_when_it_comes_back() {
    holds_while(
        Setup::PLAIN,
        Some(PURGE_BOUND),
        |fleet| fleet.servers[0].proxy().set(Fault::Down),
        |fleet| fleet.servers[0].proxy().set(Fault::None),
    );
}

fn a_purge_holds_while_all_servers_but_one_are_down_and_when_they_come_back() {
    holds_while(
        Setup { servers: 3, ..Setup::PLAIN },
        Some(PURGE_BOUND),
        |fleet| fleet.servers[1..].iter().for_each(|server| server.proxy().set(Fault::Timeout)),
        |fleet| fleet.servers[1..].iter().for_each(|server| server.proxy().set(Fault::None)),
    );
}

fn a_purge_holds_where_a_server_is_stopped_and_goes_on_with_what_it_had() {
    holds_while(
        Setup::PLAIN,
        Some(PURGE_BOUND),
        |fleet| fleet.servers[0].store.stop(),
        |fleet| fleet.servers[0].store.go_on(),
    );
}

fn a_purge_holds_where_servers_start_again_empty() {
    holds_while(
        Setup { servers: 3, ..Setup::PLAIN },
        Some(PURGE_BOUND),
        |fleet| fleet.servers[0].store.restart_empty(),
        |fleet| fleet.servers[1].store.restart_empty(),
    );
}

fn a_purge_that_no_server_gets_holds_when_they_are_back() {
    holds_while(
        Setup::PLAIN,
        None,
        |fleet| fleet.servers.iter().for_each(|server| server.proxy().set(Fault::Down)),
        |fleet| fleet.servers.iter().for_each(|server| server.proxy().set(Fault::None)),
    );
}

fn a_purge_that_all_stopped_servers_get_late_holds_when_they_go_on() {
    holds_while(
        Setup { has_disk: true, ..Setup::PLAIN },
        None,
        |fleet| fleet.servers.iter().for_each(|server| server.store.stop()),
        |fleet| fleet.servers.iter().for_each(|server| server.store.go_on()),
    );
}

#[test]
fn a_purge_that_was_heard_of_holds_where_its_front_end_is_gone() {
    let mut fleet = Fleet::start(Setup::PLAIN);
    let mut batch = Batch::fetched(&fleet, &WAYS);
    let known = batch.0.pop().unwrap();
    known.ask(&fleet.front_ends[2]);
    fleet.servers[0].store.stop();
    batch.purged(&fleet);
    fleet.origin.change(&known.target);
    fleet.front_ends[0].purge(Scope::Key(&known.target), false);
    let heard = Instant::now();
    while known.ask(&fleet.front_ends[2]) == 1 {
        assert!(heard.elapsed() < RETURN_BOUND, "the purge is not heard of");
    }
    fleet.front_ends[0].kill();
    fleet.servers[0].store.go_on();
    batch.are_new_over(&fleet.front_ends[2], RETURN_TIME, "when the server comes back");
    fleet.front_ends[0].start_again();
    fleet.settle(RETURN_BOUND);
}

#[test]
fn a_front_end_that_starts_anew_takes_nothing_from_before_a_purge() {
    let mut fleet = Fleet::start(Setup { servers: 3, ..Setup::PLAIN });
    let mut batch = Batch::fetched(&fleet, &WAYS);
    batch.purged(&fleet);
    fleet.front_ends[2].kill();
    fleet.front_ends[2].start_again();
    let [now, later] = batch.halves();
    now.are_new(&fleet.front_ends[2], "at its start");
    later.are_new_over(&fleet.front_ends[2], RETURN_TIME / 2, "when it reads the servers");
    fleet.settle(RETURN_BOUND);
}

#[test]
fn a_front_end_with_a_disk_hears_of_purges_that_were_made_while_it_was_away() {
    let mut fleet = Fleet::start(Setup { has_disk: true, ..Setup::PLAIN });
    let mut batch = Batch::fetched(&fleet, &WAYS);
    for page in &batch.0 {
        page.ask(&fleet.front_ends[2]);
    }
    // What was stored a second ago is on disk.
    wait_until(Instant::now() + Duration::from_millis(1500));
    fleet.front_ends[2].kill();
    batch.purged(&fleet);
    fleet.front_ends[2].start_again();
    wait_until(Instant::now() + PURGE_BOUND);
    batch.are_new(&fleet.front_ends[2], "on disk");
}

#[test]
fn a_front_end_that_was_stopped_hears_of_purges_when_it_goes_on() {
    let fleet = Fleet::start(Setup::PLAIN);
    let mut batch = Batch::fetched(&fleet, &WAYS);
    fleet.front_ends[1].signal(Signal::STOP);
    batch.purged(&fleet);
    fleet.front_ends[1].signal(Signal::CONT);
    wait_until(Instant::now() + PURGE_BOUND);
    batch.are_new(&fleet.front_ends[1], "in memory");
}

#[test]
fn a_purge_does_not_say_that_nothing_was_stored_where_another_front_end_had_the_page() {
    let fleet = Fleet::start(Setup { servers: 1, ..Setup::PLAIN });
    let target = fleet.fresh("page", 300);
    let [first, second, ..] = &*fleet.front_ends else { panic!("three front ends") };
    second.get(&target).version(&target, "");
    let said = || first.purged(Scope::Key(&target), false);
    assert!(said().contains("\"was_stored\":null"), "{}", said());
    first.get(&target).version(&target, "");
    let said = said();
    assert!(said.contains("\"was_stored\":true"), "{said}");
}

#[test]
fn a_purge_is_no_error_where_servers_take_long_to_get_it() {
    let fleet = Fleet::start(Setup { servers: 1, ..Setup::PLAIN });
    let target = fleet.fresh("page", 300);
    let front_end = &fleet.front_ends[0];
    // Each request to the server is in time, and all that stand in line are not.
    fleet.servers[0].proxy().set(Fault::Latency(Duration::from_millis(20)));
    std::thread::scope(|scope| {
        for _ in 0..200 {
            scope.spawn(|| front_end.purge(Scope::Key(&target), false));
        }
    });
}
