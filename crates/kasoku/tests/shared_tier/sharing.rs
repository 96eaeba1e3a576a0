//! Tests that a page that one front end has fetched costs the origin nothing at the others.

use crate::client::{Answer, in_language};
use crate::fleet::{Fleet, Kind, Setup, WRITTEN_MAX, hex, name_of};
use crate::page::{self, LANGUAGES, uri};
use kasoku_testkit::Fault;
use sha2::{Digest, Sha256};
use std::time::Duration;

/// How often a page is tried that some front end has not taken from the shared tier: on a machine with much to do, the log of a server may not
/// be read in time, and then the server is not used.
const TRIES: usize = 5;

/// One front end fetches pages of all sizes. The others take them from the shared tier, and then from their memory.
fn are_shared(setup: Setup) {
    let fleet = Fleet::start(setup);
    for bytes in [100, 5_000, 70_000, 1_000_000, 1_100_000, 1_500_000, 3 << 20] {
        assert!((0..TRIES).any(|_| is_shared(&fleet, bytes)), "{bytes} bytes");
    }
}

fn is_shared(fleet: &Fleet, bytes: usize) -> bool {
    let target = fleet.fresh("page", bytes);
    let [first, second, third] = &*fleet.front_ends else { panic!("three front ends") };
    assert_eq!(first.get(&target).version(&target, ""), 1);
    if fleet.holder(&name_of(&uri(&target)), WRITTEN_MAX).is_none() {
        return false;
    }
    for front_end in [second, third] {
        let answer = front_end.get(&target);
        assert_eq!(answer.version(&target, ""), 1);
        if !answer.is_shared() {
            return false;
        }
        is_served_from_memory(&target, |method, fields| front_end.ask(method, &target, fields));
    }
    assert_eq!(fleet.origin.asked(&target), 1, "{target}");
    true
}

/// A page that came from the shared tier answers HEAD, conditional requests and ranges like any other.
fn is_served_from_memory(target: &str, ask: impl Fn(&str, &str) -> Answer) {
    let whole = ask("GET", "");
    assert!(whole.is_from_own_tiers(), "{target}: {}", whole.cache_status());
    assert_eq!(whole.version(target, ""), 1);
    let head = ask("HEAD", "");
    assert!(head.is_from_own_tiers(), "HEAD {target}: {}", head.cache_status());
    assert_eq!(head.fields.only("content-length"), Some(&*page::length(target).to_string()));
    let tag = whole.fields.only("etag").unwrap().to_owned();
    assert_eq!(ask("GET", &format!("If-None-Match: {tag}\r\n")).status, 304, "{target}");
    let (first, last) = (page::length(target) / 3, page::length(target) * 2 / 3);
    let range = ask("GET", &format!("Range: bytes={first}-{last}\r\n"));
    assert_eq!(range.status, 206, "{target}");
    assert!(range.body == page::body(target, "", 1)[first..=last], "{target}");
}

#[test]
fn what_one_front_end_fetches_the_others_take_from_the_shared_tier() {
    are_shared(Setup::PATIENT);
}

/// A front end that keeps nothing in memory knows the item, and reads it for each request: none waits for another one's fill.
#[test]
fn requests_for_an_item_that_is_known_begin_no_fill() {
    const CLIENTS: usize = 8;
    let fleet = Fleet::start(Setup { keeps_in_memory: false, ..Setup::PATIENT });
    let front_end = &fleet.front_ends[1];
    let is_read_by_each = || {
        let (target, holder) = fleet.shared_page("page", 300);
        front_end.get(&target);
        let before = front_end.counted_of_servers("gets");
        fleet.servers[holder].proxy().set(Fault::Latency(Duration::from_millis(100)));
        let all_are_shared = std::thread::scope(|scope| {
            let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(|| front_end.get(&target))).collect();
            let answers = clients.into_iter().map(|client| client.join().unwrap());
            answers.fold(true, |all, answer| {
                assert_eq!(answer.version(&target, ""), 1);
                all && answer.is_shared()
            })
        });
        fleet.servers[holder].proxy().set(Fault::None);
        all_are_shared && front_end.counted_of_servers("gets") - before == CLIENTS as u64
    };
    assert!((0..TRIES).any(|_| is_read_by_each()));
}

#[test]
fn items_with_a_secret_are_shared() {
    are_shared(Setup { has_secret: true, workers: 1, ..Setup::PATIENT });
}

#[test]
fn servers_on_unix_sockets_share() {
    are_shared(Setup { is_unix: true, servers: 3, ..Setup::PATIENT });
}

#[test]
fn a_redis_primary_with_a_replica_shares() {
    are_shared(Setup { kind: Kind::Redis, has_secret: true, ..Setup::PATIENT });
}

#[test]
fn a_redis_cluster_shares() {
    are_shared(Setup { kind: Kind::Cluster, ..Setup::PATIENT });
}

#[test]
fn one_server_shares() {
    are_shared(Setup {
        servers: 1,
        shared: "ring = \"ketama\"\nserver-down = \"origin\"\ntimeout = \"5s\"",
        ..Setup::PATIENT
    });
}

#[test]
fn larger_items_are_whole_where_the_servers_take_them() {
    let setup = Setup { item_bytes_max: ["2m", "2MiB"], ..Setup::PATIENT };
    are_shared(setup);
    let fleet = Fleet::start(setup);
    for (bytes, is_whole) in [(1_900_000, true), (2_200_000, false)] {
        let (target, holder) = fleet.shared_page("page", bytes);
        let store = &fleet.servers[holder].store;
        let name = name_of(&uri(&target));
        let first_line = if is_whole { "KASOKU/1 whole xxh3-128 " } else { "KASOKU/1 chunks xxh3-128 " };
        assert!(store.get(&name).unwrap().starts_with(first_line.as_bytes()));
        // The lease may be there for a moment after the item.
        let (of_item, lease) = (format!("{name}:"), format!("{name}:lease"));
        let is_chunk = |other: &String| other.starts_with(&of_item) && *other != lease;
        assert_eq!(store.names().iter().any(is_chunk), !is_whole);
    }
}

#[test]
fn each_variant_is_shared() {
    variants_are_shared(Kind::Memcached);
}

#[test]
fn each_variant_is_shared_in_a_redis_cluster() {
    variants_are_shared(Kind::Cluster);
}

fn variants_are_shared(kind: Kind) {
    let fleet = Fleet::start(Setup { kind, ..Setup::PATIENT });
    for bytes in [200, 1_500_000] {
        assert!((0..TRIES).any(|_| are_variants_shared(&fleet, bytes)), "{bytes} bytes");
    }
}

fn are_variants_shared(fleet: &Fleet, bytes: usize) -> bool {
    let target = fleet.fresh("vary", bytes);
    for language in LANGUAGES {
        let ask = |front_end: usize| fleet.front_ends[front_end].ask("GET", &target, &in_language(language));
        let fetched = ask(0);
        assert_eq!(fetched.version(&target, language), 1);
        assert!(!fetched.is_shared() && !fetched.is_from_own_tiers());
        let names = [variant_name(&target, language), name_of(&uri(&target))];
        if names.iter().any(|name| fleet.holder(name, WRITTEN_MAX).is_none()) {
            return false;
        }
        for front_end in [1, 2] {
            let answer = ask(front_end);
            assert_eq!(answer.version(&target, language), 1);
            if !answer.is_shared() {
                return false;
            }
            assert!(ask(front_end).is_from_own_tiers());
        }
    }
    assert_eq!(fleet.origin.asked(&target), 2);
    true
}

/// The name of a variant by its language.
fn variant_name(target: &str, language: &str) -> String {
    let length = u32::try_from(language.len()).unwrap().to_be_bytes();
    let variant = [b"accept-language\x01", &length[..], language.as_bytes()].concat();
    let hashed = [uri(target).as_bytes(), b"\0", &variant].concat();
    format!("kasoku:{}", hex(&Sha256::digest(hashed)))
}
