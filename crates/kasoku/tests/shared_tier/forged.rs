//! Tests that what somebody else has written into the servers is never served: with a secret nothing of it, without one nothing that breaks the
//! rules for shared pages. (Without a secret, a writer may replace a page. docs/shared-format.md says so.)

use crate::client::Answer;
use crate::fleet::{Fleet, PURGE_BOUND, RETURN_BOUND, SECRET, Setup, name_of};
use crate::forgery::{FORBIDDEN, Genuine, forge};
use crate::front_end::Scope;
use crate::item::{Response, Seal, content};
use crate::page::{self, uri};
use crate::{seed, setting};
use kasoku_oracle::random::Random;
use std::collections::BTreeMap;

/// How often an item is tried that should be used: on a machine with much to do, a server may not be usable just then.
const TRIES: usize = 5;

/// Pages that are longer than an item are in chunks.
const SMALL_ITEMS: Setup = Setup { item_bytes_max: ["1m", "64KiB"], ..Setup::PATIENT };

/// Writes altered items for pages that a front end does not have yet, asks it for them, and looks at what it serves. A front end that keeps nothing
/// in memory has judged the genuine item before.
fn are_refused(setup: Setup) {
    let Setup { has_secret, keeps_in_memory, .. } = setup;
    let count = setting("KASOKU_SHARED_FORGED").unwrap_or(if keeps_in_memory { 1000 } else { 500 });
    let seed = seed();
    let mut random = Random::new(seed);
    let fleet = Fleet::start(setup);
    let (other, holder) = fleet.shared_page("page", 400);
    let other = fleet.servers[holder].store.get(&name_of(&uri(&other))).unwrap();
    let mut made = BTreeMap::new();
    for number in 0..count {
        let bytes = if random.percent(20) { 150_000 } else { 200 + random.below(500) as usize };
        let (target, holder) = fleet.shared_page("page", bytes);
        let store = &fleet.servers[holder].store;
        let name = name_of(&uri(&target));
        let item = store.get(&name).unwrap();
        let chunks = chunks(&name, &item, |name| store.get(name).unwrap());
        let seal = match has_secret {
            false => Seal::Checksum,
            true => random.of(&[Seal::Checksum, Seal::Secret("another secret of the forger")]),
        };
        let front_end = &fleet.front_ends[1 + number as usize % 2];
        if !keeps_in_memory {
            for _ in 0..2 {
                assert_eq!(front_end.get(&target).version(&target, ""), 1);
            }
        }
        let genuine = Genuine { target: &target, name: &name, item: &item, chunks: &chunks, other: &other, seal };
        let forgery = forge(&genuine, &mut random);
        for (name, item) in &forgery.items {
            store.set(name, item);
        }
        *made.entry(forgery.how).or_insert(0) += 1;
        let answer = front_end.get(&target);
        let context = || {
            format!(
                "KASOKU_SHARED_SEED={seed}, {number}, {}: {:?}",
                forgery.how,
                forgery
                    .items
                    .first()
                    .map(|(_, item)| String::from_utf8_lossy(&item[..item.len().min(1500)]).into_owned())
            )
        };
        check(&answer, &target, forgery.may_be_meant && !has_secret, &context);
    }
    assert!(made.len() > 30 || count < 500, "{made:?}");
    // Nothing of it has hurt the tier.
    fleet.settle(RETURN_BOUND);
}

fn check(answer: &Answer, target: &str, may_be_meant: bool, context: &dyn Fn() -> String) {
    assert_eq!(answer.status, 200, "{}", context());
    for field in FORBIDDEN {
        let name = field.split(':').next().unwrap();
        // Kasoku adds its own Age, and ends this connection.
        let is_own = ["age", "connection"].contains(&&*name.to_lowercase());
        assert!(is_own || !answer.fields.has(name), "{field}: {}", context());
    }
    assert!(may_be_meant || !answer.is_shared(), "served: {:?}: {}", answer.fields, context());
    if !answer.is_shared() {
        let version = page::version_of(&answer.body, target, "");
        assert_eq!(version, Ok(1), "{}", context());
    }
}

/// The names and bytes of the chunks that a manifest names; none if the item is whole.
fn chunks(name: &str, item: &[u8], get: impl Fn(&str) -> Vec<u8>) -> Vec<(String, Vec<u8>)> {
    if !item.starts_with(b"KASOKU/1 chunks ") {
        return Vec::new();
    }
    let text = String::from_utf8(content(item).to_vec()).unwrap();
    let id = text.lines().next().unwrap().strip_prefix("Id: ").unwrap();
    let count = text.lines().skip_while(|line| !line.is_empty()).skip(1).count();
    (0..count).map(|number| format!("{name}:{id}:{number}")).map(|name| (name.clone(), get(&name))).collect()
}

#[test]
fn no_forged_item_that_breaks_a_rule_is_served() {
    are_refused(SMALL_ITEMS);
}

#[test]
fn no_forged_item_that_breaks_a_rule_is_served_in_the_place_of_one_that_was() {
    are_refused(Setup { keeps_in_memory: false, workers: 1, ..SMALL_ITEMS });
}

#[test]
fn no_forged_item_is_served_where_a_secret_is_set() {
    are_refused(Setup { has_secret: true, ..SMALL_ITEMS });
}

#[test]
fn what_is_put_back_after_a_purge_is_not_served() {
    for has_secret in [false, true] {
        let fleet = Fleet::start(Setup { has_secret, ..SMALL_ITEMS });
        let [first, second, third] = &*fleet.front_ends else { panic!("three front ends") };
        let mut kept = Vec::new();
        for number in 0..40 {
            let bytes = if number % 5 == 0 { 150_000 } else { 300 };
            let (target, holder) = fleet.shared_page("page", bytes);
            let item = fleet.servers[holder].store.get(&name_of(&uri(&target))).unwrap();
            kept.push((target, holder, item));
        }
        for (number, (target, ..)) in kept.iter().enumerate() {
            fleet.origin.change(target);
            if number % 2 == 0 {
                first.purge(Scope::Key(target), number % 4 == 0);
            }
        }
        first.purge(Scope::Tag("group-fresh"), false);
        std::thread::sleep(PURGE_BOUND);
        for (number, (target, holder, item)) in kept.iter().enumerate() {
            fleet.servers[*holder].store.set(&name_of(&uri(target)), item);
            let front_end = if number % 2 == 0 { second } else { third };
            assert_eq!(front_end.get(target).version(target, ""), 2, "{target}");
        }
    }
}

/// A program that knows the secret, or where there is none, makes an item that is used: the forger of these tests could, if it kept the rules.
#[test]
fn an_item_that_keeps_the_rules_is_served() {
    for (has_secret, seal) in [(false, Seal::Checksum), (true, Seal::Secret(SECRET))] {
        let fleet = Fleet::start(Setup { has_secret, ..SMALL_ITEMS });
        let is_served = |_| {
            let (target, holder) = fleet.shared_page("page", 300);
            let store = &fleet.servers[holder].store;
            let name = name_of(&uri(&target));
            let mut response = Response::of(content(&store.get(&name).unwrap()));
            response.body = b"replaced".to_vec();
            response.set("Body-Length", 8);
            response.set_field("Content-Length", 8);
            response.set_field("X-Field", "kept");
            store.set(&name, &seal.sealed("whole", &response.content()));
            let answer = fleet.front_ends[1].get(&target);
            answer.is_shared() && answer.body == b"replaced" && answer.fields.only("x-field") == Some("kept")
        };
        assert!((0..TRIES).any(is_served), "{seal:?}");
    }
}

/// The counter and the identity have no seal. Whatever they are, purges are heard of by the other server. When they are gone, a log begins anew.
#[test]
fn a_log_that_somebody_else_has_written_hides_no_purge() {
    let fleet = Fleet::start(Setup { has_secret: true, ..Setup::PATIENT });
    let store = &fleet.servers[0].store;
    let [first, second, third] = &*fleet.front_ends else { panic!("three front ends") };
    let counters = ["", "99999999999999999999999", "18446744073709551615", "1"];
    let identities =
        ["x 1", "00000000000000000000000000000000 0", "5d9e8c1f0a3b47629fd0c4b1e6a27538 18446744073709551615"];
    let counters = counters.map(|counter| ("kasoku:purges", counter));
    let identities = identities.map(|identity| ("kasoku:log", identity));
    for (name, value) in counters.into_iter().chain(identities) {
        let targets: Vec<_> = (0..10).map(|_| fleet.shared_page("page", 300).0).collect();
        for target in &targets {
            second.get(target).version(target, "");
        }
        store.set(name, value.as_bytes());
        for target in &targets {
            fleet.origin.change(target);
            first.purge(Scope::Key(target), false);
        }
        std::thread::sleep(PURGE_BOUND);
        for target in &targets {
            for front_end in [first, second, third] {
                assert_eq!(front_end.get(target).version(target, ""), 2, "{name} {value:?}: {target}");
            }
        }
        store.delete("kasoku:purges");
        store.delete("kasoku:log");
        fleet.settle(RETURN_BOUND);
    }
}
