//! Tests that a page that one front end has fetched costs the origin nothing at the others.

use crate::client::{Answer, in_language};
use crate::fleet::{Fleet, Setup, hex, name_of};
use crate::page::{self, LANGUAGES, uri};
use crate::support::PATIENCE;
use sha2::{Digest, Sha256};

/// One front end fetches pages of all sizes. The others take them from the shared tier, and then from their memory.
fn are_shared(setup: Setup) {
    let fleet = Fleet::start(setup);
    for bytes in [100, 5_000, 70_000, 1_000_000, 1_100_000, 1_500_000, 3 << 20] {
        let target = fleet.fresh("page", bytes);
        let [first, second, third] = &*fleet.front_ends else { panic!("three front ends") };
        assert_eq!(first.get(&target).version(&target, ""), 1);
        fleet.is_written(&target);
        for front_end in [second, third] {
            let answer = front_end.get(&target);
            assert!(answer.is_shared(), "{target}: {}", answer.cache_status());
            assert_eq!(answer.version(&target, ""), 1);
            is_served_from_memory(&target, |method, fields| front_end.ask(method, &target, fields));
        }
        assert_eq!(fleet.origin.asked(&target), 1, "{target}");
    }
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
    are_shared(Setup::PLAIN);
}

#[test]
fn items_with_a_secret_are_shared() {
    are_shared(Setup { has_secret: true, workers: 1, ..Setup::PLAIN });
}

#[test]
fn servers_on_unix_sockets_share() {
    are_shared(Setup { is_unix: true, servers: 3, ..Setup::PLAIN });
}

#[test]
fn one_server_shares() {
    are_shared(Setup { servers: 1, shared: "ring = \"ketama\"\nserver-down = \"origin\"", ..Setup::PLAIN });
}

#[test]
fn larger_items_are_whole_where_the_servers_take_them() {
    let setup = Setup { item_bytes_max: ["2m", "2MiB"], ..Setup::PLAIN };
    are_shared(setup);
    let fleet = Fleet::start(setup);
    for (bytes, is_whole) in [(1_900_000, true), (2_200_000, false)] {
        let target = fleet.fresh("page", bytes);
        fleet.front_ends[0].get(&target);
        let memcached = &fleet.servers[fleet.is_written(&target)].memcached;
        let name = name_of(&uri(&target));
        let first_line = if is_whole { "KASOKU/1 whole xxh3-128 " } else { "KASOKU/1 chunks xxh3-128 " };
        assert!(memcached.get(&name).unwrap().starts_with(first_line.as_bytes()));
        assert_eq!(memcached.names().iter().any(|other| other.starts_with(&format!("{name}:"))), !is_whole);
    }
}

#[test]
fn each_variant_is_shared() {
    let fleet = Fleet::start(Setup::PLAIN);
    for bytes in [200, 1_500_000] {
        let target = fleet.fresh("vary", bytes);
        for language in LANGUAGES {
            let ask = |front_end: usize| fleet.front_ends[front_end].ask("GET", &target, &in_language(language));
            let fetched = ask(0);
            assert_eq!(fetched.version(&target, language), 1);
            assert!(!fetched.is_shared() && !fetched.is_from_own_tiers());
            let variant = variant_name(&target, language);
            assert!(fleet.holder(&variant, PATIENCE).is_some());
            fleet.is_written(&target);
            for front_end in [1, 2] {
                let answer = ask(front_end);
                assert!(answer.is_shared(), "{target} {language}: {}", answer.cache_status());
                assert_eq!(answer.version(&target, language), 1);
                assert!(ask(front_end).is_from_own_tiers());
            }
        }
        assert_eq!(fleet.origin.asked(&target), 2);
    }
}

/// The name of a variant by its language.
fn variant_name(target: &str, language: &str) -> String {
    let length = u32::try_from(language.len()).unwrap().to_be_bytes();
    let variant = [b"accept-language\x01", &length[..], language.as_bytes()].concat();
    let hashed = [uri(target).as_bytes(), b"\0", &variant].concat();
    format!("kasoku:{}", hex(&Sha256::digest(hashed)))
}
