//! Tests of which origin is chosen.

use super::*;
use crate::health::Blame;
use crate::{Address, Endpoint};
use std::collections::HashMap;

fn address(name: &str) -> Address {
    Address::Http(Endpoint::Tcp { host: name.to_owned(), port: 80 })
}

/// The origins of a test: `"a"`, `"b*3"` with a weight, `"c!"` as a backup.
struct Scene {
    registry: OriginRegistry,
    origins: Vec<OriginOptions>,
}

impl Scene {
    fn new(origins: &[&str]) -> Self {
        let origin = |text: &&str| {
            let (name, is_backup) = text.strip_suffix('!').map_or((*text, false), |name| (name, true));
            let (name, weight) = name.split_once('*').unwrap_or((name, "1"));
            OriginOptions { weight: weight.parse().unwrap(), is_backup, ..OriginOptions::from(address(name)) }
        };
        Self { registry: OriginRegistry::default(), origins: origins.iter().map(origin).collect() }
    }

    fn group(&self, balance: Balance, worker: usize) -> Group {
        Group::new(balance, &self.origins, 8, &self.registry, worker)
    }

    fn fails(&self, name: &str, blame: Blame) {
        self.fails_at(name, blame, 0);
    }

    fn fails_at(&self, name: &str, blame: Blame, now_ms: u64) {
        let health = &self.registry.of(&address(name)).health;
        for _ in 0..3 {
            health.failed(blame, health.mark(), &OriginHealth::default(), now_ms);
        }
    }
}

fn name(choice: ChosenOrigin) -> String {
    match &choice.origin.address {
        Address::Http(Endpoint::Tcp { host, .. }) => host.clone(),
        _ => String::new(),
    }
}

/// The origin that is chosen for one request at this time.
fn chosen_at(group: &Group, key: &str, now_ms: u64) -> Option<String> {
    let mut attempts = Attempts::new(key_hash(key.as_bytes()), true);
    asked(group.choose(&mut attempts, &OriginHealth::default(), now_ms)).map(name)
}

fn asked(chosen: NextOrigin) -> Option<ChosenOrigin> {
    if let NextOrigin::Ask(choice) = chosen { Some(choice) } else { None }
}

fn chosen(group: &Group, key: &str) -> String {
    chosen_at(group, key, 0).unwrap()
}

/// All origins that are asked for one request, in order.
fn asked_in_turn(group: &Group, is_repeatable: bool, now_ms: u64) -> String {
    let mut attempts = Attempts::new(0, is_repeatable);
    let next = || asked(group.choose(&mut attempts, &OriginHealth::default(), now_ms)).map(name);
    std::iter::from_fn(next).collect()
}

#[test]
fn over_a_cycle_each_gets_exactly_its_weight_and_they_take_turns() {
    let scene = Scene::new(&["a*5", "b", "c"]);
    let group = scene.group(Balance::RoundRobin, 0);
    let cycle = |group: &Group| (0..7).map(|_| chosen(group, "")).collect::<String>();
    // The example of nginx's own commit message.
    assert_eq!((cycle(&group), cycle(&group)), ("aabacaa".to_owned(), "aabacaa".to_owned()));
}

#[test]
fn workers_start_elsewhere_in_the_cycle() {
    let scene = Scene::new(&["a*2", "b", "c"]);
    let firsts: Vec<_> = (0..4).map(|worker| chosen(&scene.group(Balance::RoundRobin, worker), "")).collect();
    let count = |name: &str| firsts.iter().filter(|first| *first == name).count();
    assert_eq!((count("a"), count("b"), count("c")), (2, 1, 1), "{firsts:?}");
}

#[test]
fn the_part_of_one_that_is_down_is_spread_by_weight() {
    let scene = Scene::new(&["a", "b*2", "c"]);
    let group = scene.group(Balance::RoundRobin, 0);
    scene.fails("a", Blame::Connection);
    let six: String = (0..6).map(|_| chosen(&group, "")).collect();
    assert_eq!(six.matches('b').count(), 4, "{six}");
    assert_eq!(six.matches('c').count(), 2, "{six}");
}

#[test]
fn a_hash_spreads_by_weight_and_is_the_same_in_all_workers() {
    let scene = Scene::new(&["a", "b*2", "c*3"]);
    let (one, other) = (scene.group(Balance::Hash, 0), scene.group(Balance::Hash, 1));
    let mut counts: HashMap<String, usize> = HashMap::new();
    for number in 0..60_000 {
        let key = format!("http://example.org/page/{number}");
        let origin = chosen(&one, &key);
        assert_eq!(origin, chosen(&other, &key));
        *counts.entry(origin).or_default() += 1;
    }
    for (name, expected) in [("a", 10_000), ("b", 20_000), ("c", 30_000)] {
        assert!(counts[name].abs_diff(expected) < 500, "{counts:?}");
    }
}

#[test]
fn a_hash_is_the_same_after_a_restart() {
    let scene = Scene::new(&["a", "b", "c"]);
    let group = scene.group(Balance::Hash, 0);
    let chosen: String = (0..16).map(|number| chosen(&group, &format!("http://example.org/{number}"))).collect();
    // The expected sequence was computed in another language.
    assert_eq!(chosen, "abbabbabccaccccc");
}

#[test]
fn one_that_goes_moves_its_own_keys_and_no_others() {
    let scene = Scene::new(&["a", "b*2", "c*3"]);
    let group = scene.group(Balance::Hash, 0);
    let keys: Vec<_> = (0..10_000).map(|number| format!("http://example.org/{number}")).collect();
    let before: Vec<_> = keys.iter().map(|key| chosen(&group, key)).collect();
    scene.fails("b", Blame::Connection);
    for (key, was) in keys.iter().zip(before) {
        let is = chosen(&group, key);
        assert!(if was == "b" { is != "b" } else { is == was }, "{key}: {was}, then {is}");
    }
}

#[test]
fn the_first_that_can_be_asked_is() {
    let scene = Scene::new(&["a", "b", "c"]);
    let group = scene.group(Balance::First, 0);
    assert_eq!(chosen(&group, ""), "a");
    scene.fails("a", Blame::Connection);
    assert_eq!(chosen(&group, ""), "b");
    scene.registry.of(&address("a")).health.answered(0);
    assert_eq!(chosen(&group, ""), "a");
}

#[test]
fn no_origin_is_asked_twice_and_backups_come_last() {
    for balance in [Balance::First, Balance::RoundRobin, Balance::Hash] {
        let scene = Scene::new(&["x!", "a", "b", "y!"]);
        let asked = asked_in_turn(&scene.group(balance, 0), true, 0);
        let sorted = |part: &str| {
            let mut part: Vec<_> = part.chars().collect();
            part.sort_unstable();
            String::from_iter(part)
        };
        assert_eq!((sorted(&asked[..2]), sorted(&asked[2..])), ("ab".to_owned(), "xy".to_owned()), "{balance:?}");
    }
}

#[test]
fn suspects_are_asked_after_all_others_backups_included_but_they_are_asked() {
    let scene = Scene::new(&["a", "b", "x!"]);
    let group = scene.group(Balance::First, 0);
    scene.fails("a", Blame::Answer);
    assert_eq!(asked_in_turn(&group, true, 0), "bxa");
    scene.fails("b", Blame::Connection);
    scene.fails("x", Blame::Answer);
    assert_eq!(asked_in_turn(&group, true, 0), "axb");
}

#[test]
fn when_all_are_down_they_are_asked_in_turn_and_the_one_that_failed_longest_ago_first() {
    let scene = Scene::new(&["a", "b", "x!"]);
    let group = scene.group(Balance::First, 0);
    for (name, now_ms) in [("b", 10), ("x", 20), ("a", 30)] {
        scene.fails_at(name, Blame::Connection, now_ms);
    }
    assert_eq!(asked_in_turn(&group, false, 40), "bxa", "whatever the method");
    assert_eq!(asked_in_turn(&group, false, 50), "bxa", "and at any time");
}

#[test]
fn while_one_request_tries_the_only_origin_the_others_wait_for_what_it_finds() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let (rules, scene) = (OriginHealth::default(), Scene::new(&["a"]));
        let group = scene.group(Balance::First, 0);
        let health = &scene.registry.of(&address("a")).health;
        let ask = |attempts: &mut Attempts, now_ms| group.choose(attempts, &rules, now_ms);
        let tries = |now_ms| asked(ask(&mut Attempts::new(0, true), now_ms)).expect("the first tries");
        let waits = |now_ms| {
            let mut attempts = Attempts::new(0, true);
            let NextOrigin::Wait(waiting) = ask(&mut attempts, now_ms) else { panic!("it should wait") };
            (waiting, attempts)
        };
        scene.fails("a", Blame::Connection);

        // The trial finds the origin still down.
        let trial = tries(0);
        let (waiting, mut attempts) = waits(0);
        let failed = async {
            health.failed(Blame::Connection, health.mark(), &rules, 0);
            drop(trial);
        };
        tokio::join!(waiting.wait(&mut attempts), failed);
        assert!(matches!(ask(&mut attempts, 0), NextOrigin::NoneLeft), "it is as good as asked");

        // The client of the trial leaves.
        let trial = tries(0);
        let (waiting, mut attempts) = waits(0);
        tokio::join!(waiting.wait(&mut attempts), async { drop(trial) });
        assert!(ask(&mut attempts, 0).is_a_trial(), "another one tries");

        // The trial takes too long.
        let trial = tries(0);
        let (waiting, mut attempts) = waits(TRIAL_WAIT_MAX.as_millis() as u64);
        waiting.wait(&mut attempts).await;
        assert!(matches!(ask(&mut attempts, 0), NextOrigin::NoneLeft));
        drop(trial);

        // The trial finds the origin up.
        let trial = tries(0);
        let (waiting, mut attempts) = waits(0);
        tokio::join!(waiting.wait(&mut attempts), async { health.connected() });
        assert!(matches!(ask(&mut attempts, 0), NextOrigin::Ask(ChosenOrigin { trial: None, .. })), "as any other");
        drop(trial);
    });
}

impl NextOrigin {
    fn is_a_trial(&self) -> bool {
        matches!(self, Self::Ask(choice) if choice.is_trial())
    }
}

#[test]
fn a_trial_waits_for_its_connection_no_longer_than_a_moment() {
    let scene = Scene::new(&["a", "b"]);
    let group = scene.group(Balance::First, 0);
    let timeout = |now_ms| {
        let choice = asked(group.choose(&mut Attempts::new(0, true), &OriginHealth::default(), now_ms)).unwrap();
        choice.connect_timeout(&Limits::default())
    };
    scene.fails("a", Blame::Connection);
    assert_eq!((timeout(0), timeout(1_000)), (Limits::default().connect_timeout, TRIAL_CONNECT_MAX));
}

#[test]
fn the_trial_of_a_suspect_is_for_what_can_be_sent_once_more() {
    let scene = Scene::new(&["a", "b"]);
    let group = scene.group(Balance::First, 0);
    scene.fails("a", Blame::Answer);
    assert_eq!(asked_in_turn(&group, false, 1000), "ba");
    scene.fails("a", Blame::Answer);
    assert_eq!(asked_in_turn(&group, true, 10_000), "ab");
    assert_eq!(asked_in_turn(&group, true, 10_000), "ba", "one trial in a period");
}

#[test]
fn one_at_its_limit_is_passed_over_while_another_main_one_has_room() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let mut scene = Scene::new(&["a", "b", "x!"]);
        scene.origins[0].connections_max = Some(1);
        scene.origins[1].connections_max = Some(1);
        let group = scene.group(Balance::First, 0);
        let take = async |name: &str| {
            let origin = scene.registry.of(&address(name));
            origin.permits.take(1, 0, std::time::Duration::ZERO).await.unwrap()
        };
        let _held = take("a").await;
        assert_eq!(chosen(&group, ""), "b");
        let _held = take("b").await;
        assert_eq!(chosen(&group, ""), "a", "not the backup: the main ones work");
    });
}

#[test]
fn more_than_can_be_counted_are_not_looked_at() {
    let names: Vec<_> = (0..70).map(|number| format!("o{number}")).collect();
    let scene = Scene::new(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let mut attempts = Attempts::new(0, true);
    let group = scene.group(Balance::First, 0);
    let next = || asked(group.choose(&mut attempts, &OriginHealth::default(), 0));
    assert_eq!(std::iter::from_fn(next).count(), ORIGINS_MAX);
}
