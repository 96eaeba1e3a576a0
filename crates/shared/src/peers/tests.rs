//! Front ends that host their logs themselves: they are cut off from each other, and end together with their logs. Whatever happened: once all
//! can reach each other again, no front end has a page from before a purge of which somebody still knows.

use super::hosted::{Log, Store};
use crate::names::{Name, Namespace};
use crate::purge_log::tests::{Cache, KEYS, World};
use crate::purge_log::{LogServer, PurgeLog};
use crate::sealed::Sealer;
use crate::{Failure, History};
use bytes::Bytes;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

/// The way from a front end to a log.
struct Link<'w> {
    world: &'w World,
    log: &'w Mutex<Log>,
    /// Why it can't be asked.
    failure: Option<Failure>,
}

impl Link<'_> {
    fn ask<T, E>(&self, carry_out: impl FnOnce(&mut Log, u64) -> Result<T, E>) -> Result<T, Failure> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let done = carry_out(&mut self.log.lock().unwrap(), self.world.now());
        done.map_err(|_| Failure::Refused("an operation of a log".to_owned()))
    }
}

impl LogServer for Link<'_> {
    async fn history(&self, _log: &Name) -> Result<Option<History>, Failure> {
        Ok(None)
    }

    async fn get(&self, name: &Name, _touched: Option<u32>) -> Result<Option<Bytes>, Failure> {
        self.ask(|log, now| log.get(now, name.as_str()))
    }

    async fn add(&self, name: &Name, value: Bytes, seconds: Option<u32>) -> Result<bool, Failure> {
        self.ask(|log, now| log.store(now, name.as_str(), value, seconds, Store::Add))
    }

    async fn set(&self, name: &Name, value: Bytes, seconds: Option<u32>) -> Result<(), Failure> {
        self.ask(|log, now| log.store(now, name.as_str(), value, seconds, Store::Set)).map(drop)
    }

    async fn increment(&self, name: &Name) -> Result<Option<u64>, Failure> {
        self.ask(|log, _| log.increment(name.as_str()))
    }
}

/// A front end with its log, and whether it runs.
struct FrontEnd {
    log: PurgeLog,
    hosted: Mutex<Log>,
    cache: Cache,
    runs: bool,
    is_stopped: bool,
    /// The positions of the process before.
    resumed: Vec<Option<u64>>,
}

impl FrontEnd {
    fn new(all: usize) -> Self {
        let sealer = Arc::new(Sealer::new(Some(b"0123456789abcdef")).unwrap());
        Self {
            log: PurgeLog::of_front_ends(Namespace::default(), sealer, all - 1),
            hosted: Mutex::new(Log::new(Namespace::default())),
            cache: Cache::default(),
            runs: true,
            is_stopped: false,
            resumed: vec![None; all],
        }
    }

    fn page(&self, key: u8) -> Option<u64> {
        self.cache.0.lock().unwrap().pages.get(&key).copied()
    }

    /// Begins anew, with what it had on disk or without.
    fn restart(&mut self, all: usize, has_disk: bool) {
        let old = std::mem::replace(self, Self::new(all));
        if has_disk {
            let positions = old.log.positions().into_iter().map(|position| position.map(|position| position.number));
            let positions: Vec<_> = positions.zip(&old.resumed).map(|(read, before)| read.or(*before)).collect();
            self.resumed.clone_from(&positions);
            self.log.resume(move |log, _| if log == 0 { None } else { positions[log] });
            self.cache = old.cache;
        }
    }
}

/// All of them, and which pairs can't reach each other.
struct Fleet {
    world: World,
    front_ends: Vec<FrontEnd>,
    cut: Vec<Vec<bool>>,
}

impl Fleet {
    fn new(all: usize) -> Self {
        let world = World::default();
        world.0.store(1_000_000, Ordering::Relaxed);
        Self { world, front_ends: (0..all).map(|_| FrontEnd::new(all)).collect(), cut: vec![vec![false; all]; all] }
    }

    /// The front end whose log has that number for another one.
    fn host(&self, of: usize, log: usize) -> usize {
        match log {
            0 => of,
            log if log <= of => log - 1,
            log => log,
        }
    }

    async fn follow(&self, of: usize) {
        let front_end = &self.front_ends[of];
        if !front_end.runs || front_end.is_stopped {
            return;
        }
        for log in 0..self.front_ends.len() {
            let host = self.host(of, log);
            let hosting = &self.front_ends[host];
            let failure = match () {
                () if self.cut[of][host] || hosting.is_stopped => Some(Failure::Timeout),
                () if !hosting.runs => Some(Failure::Closed),
                () => None,
            };
            let link = Link { world: &self.world, log: &hosting.hosted, failure };
            let _ = front_end.log.follow(log, &link, &front_end.cache, || self.world.clock()).await;
        }
    }

    /// All follow their logs several times.
    async fn settle(&self, times: usize) {
        for _ in 0..times {
            for of in 0..self.front_ends.len() {
                self.follow(of).await;
            }
            self.world.0.fetch_add(250, Ordering::Relaxed);
        }
    }

    fn purge(&self, of: usize, key: u8) {
        let front_end = &self.front_ends[of];
        let purge = || Ok::<_, ()>((front_end.cache.purge(Some(key)), vec![key]));
        let _ = front_end.log.publish(self.world.now(), purge).unwrap();
    }

    fn cut(&mut self, one: usize, other: usize, is_cut: bool) {
        self.cut[one][other] = is_cut;
        self.cut[other][one] = is_cut;
    }

    fn store(&self, of: usize, key: u8, version: u64) {
        self.front_ends[of].cache.0.lock().unwrap().pages.insert(key, version);
    }

    fn pages(&self, key: u8) -> Vec<Option<u64>> {
        self.front_ends.iter().map(|front_end| front_end.page(key)).collect()
    }
}

#[tokio::test]
async fn a_purge_reaches_all_also_one_that_was_cut_off() {
    let mut fleet = Fleet::new(3);
    fleet.settle(2).await;
    (0..3).for_each(|of| [0, 1].into_iter().for_each(|key| fleet.store(of, key, 1)));
    fleet.purge(0, 0);
    fleet.settle(1).await;
    assert_eq!((fleet.pages(0), fleet.pages(1)), (vec![None; 3], vec![Some(1); 3]));
    fleet.cut(0, 2, true);
    fleet.cut(1, 2, true);
    fleet.purge(0, 1);
    fleet.store(2, 0, 2);
    fleet.settle(8).await;
    assert_eq!(fleet.pages(1), [None, None, Some(1)]);
    fleet.cut(1, 2, false);
    fleet.settle(2).await;
    assert_eq!((fleet.pages(1), fleet.pages(0)), (vec![None; 3], vec![None, None, Some(2)]), "by the other one");
}

#[tokio::test]
async fn front_ends_that_end_and_begin_anew_cost_the_others_nothing() {
    let mut fleet = Fleet::new(3);
    fleet.settle(2).await;
    fleet.purge(0, 1);
    fleet.settle(1).await;
    (0..3).for_each(|of| [0, 1].into_iter().for_each(|key| fleet.store(of, key, 1)));
    for (number, ms) in [250, 20_000, 400_000].into_iter().enumerate() {
        fleet.front_ends[number].runs = false;
        fleet.settle(ms / 250).await;
        fleet.front_ends[number].restart(3, true);
        fleet.settle(8).await;
        assert_eq!(fleet.pages(0), [Some(1); 3], "{number} was away for {ms} ms");
        assert_eq!(fleet.pages(1), [Some(1); 3], "an old purge is not carried out again ({number})");
    }
    // One that has nothing yet brings no old purge back either.
    fleet.front_ends[2].restart(3, false);
    fleet.settle(8).await;
    assert_eq!((fleet.pages(0), fleet.pages(1)), (vec![Some(1), Some(1), None], vec![Some(1), Some(1), None]));
    fleet.purge(1, 0);
    fleet.settle(2).await;
    assert_eq!(fleet.pages(0), [None; 3]);
}

#[tokio::test]
async fn an_old_purge_is_not_passed_on_by_a_front_end_that_catches_up() {
    let mut fleet = Fleet::new(3);
    fleet.settle(2).await;
    fleet.store(2, 0, 1);
    fleet.front_ends[2].runs = false;
    fleet.purge(0, 0);
    // Until the others have forgotten it.
    fleet.settle(11 * 60 * 4).await;
    fleet.front_ends[1].restart(3, false);
    fleet.settle(2).await;
    [0, 1].into_iter().for_each(|of| fleet.store(of, 0, 1));
    fleet.front_ends[2].restart(3, true);
    fleet.settle(12).await;
    assert_eq!(fleet.front_ends[2].log.counts().dropped_everything.value(), 1, "a log that is not the one of before");
    assert_eq!(fleet.pages(0), [Some(1), Some(1), None]);
}

#[tokio::test]
async fn what_was_on_disk_is_gone_at_once_if_a_log_does_not_go_back_far_enough() {
    let mut fleet = Fleet::new(2);
    fleet.settle(2).await;
    fleet.store(1, 0, 1);
    fleet.front_ends[1].runs = false;
    fleet.purge(0, 0);
    fleet.settle(1).await;
    fleet.world.0.fetch_add(25 * 60 * 60 * 1000, Ordering::Relaxed);
    fleet.purge(0, 1);
    fleet.settle(1).await;
    fleet.front_ends[1].restart(2, true);
    fleet.follow(1).await;
    assert_eq!(fleet.pages(0), [None; 2]);
}

#[tokio::test]
async fn what_was_on_disk_is_gone_if_a_peer_has_begun_anew_meanwhile() {
    let mut fleet = Fleet::new(2);
    fleet.settle(2).await;
    fleet.store(1, 0, 1);
    fleet.front_ends[1].runs = false;
    fleet.purge(0, 0);
    fleet.settle(2).await;
    fleet.front_ends[0].restart(2, false);
    fleet.settle(2).await;
    fleet.front_ends[1].restart(2, true);
    fleet.settle(2).await;
    assert_eq!(fleet.pages(0), [None; 2]);
}

#[tokio::test]
async fn a_front_end_that_was_cut_off_drops_everything_if_its_peer_has_begun_anew_meanwhile() {
    for is_stopped in [false, true] {
        let mut fleet = Fleet::new(2);
        fleet.settle(2).await;
        fleet.store(1, 0, 1);
        fleet.cut(0, 1, !is_stopped);
        fleet.front_ends[1].is_stopped = is_stopped;
        fleet.purge(0, 0);
        fleet.settle(12).await;
        // The purge is known to nobody any more.
        fleet.front_ends[0].restart(2, false);
        fleet.cut(0, 1, false);
        fleet.front_ends[1].is_stopped = false;
        fleet.settle(2).await;
        assert_eq!(fleet.pages(0), [None; 2], "stopped: {is_stopped}");
    }
}

#[tokio::test]
async fn records_that_are_gone_drop_everything_and_are_not_looked_for_one_by_one() {
    let mut fleet = Fleet::new(2);
    fleet.settle(2).await;
    fleet.store(1, 0, 1);
    fleet.cut(0, 1, true);
    fleet.purge(0, 0);
    fleet.settle(1).await;
    // Longer than a record lives.
    for _ in 0..2 * 86_400 / 200 {
        fleet.world.0.fetch_add(200_000, Ordering::Relaxed);
        fleet.follow(0).await;
    }
    fleet.cut(0, 1, false);
    fleet.follow(1).await;
    assert_eq!(fleet.pages(0), [None; 2]);
    assert_eq!(fleet.front_ends[1].log.counts().missing.value(), 0);
    let newcomer = FrontEnd::new(2);
    fleet.front_ends[1] = newcomer;
    fleet.settle(1).await;
    assert_eq!(fleet.front_ends[1].log.counts().dropped_everything.value(), 0, "it has nothing yet");
}

async fn history(seed: u64, all: usize) -> (usize, usize) {
    fastrand::seed(seed);
    let mut fleet = Fleet::new(all);
    let mut versions = [0_u64; KEYS as usize];
    let mut purges = 0;
    fleet.settle(2).await;
    for _ in 0..150 {
        let (of, other) = (fastrand::usize(..all), fastrand::usize(..all));
        let key = fastrand::u8(..KEYS);
        match fastrand::u32(..20) {
            0..4 if fleet.front_ends[of].runs && !fleet.front_ends[of].is_stopped => {
                versions[key as usize] += 1;
                fleet.purge(of, key);
                purges += 1;
            }
            4..12 if fleet.front_ends[of].runs && !fleet.front_ends[of].is_stopped => {
                fleet.store(of, key, versions[key as usize]);
            }
            12..14 if of != other => {
                let is_cut = fleet.cut[of][other];
                fleet.cut(of, other, !is_cut);
            }
            14 if fleet.front_ends[of].runs => {
                // What happens in a shorter stop is as good as seen.
                fleet.world.0.fetch_add(if fleet.front_ends[of].is_stopped { 2000 } else { 0 }, Ordering::Relaxed);
                fleet.front_ends[of].is_stopped ^= true;
            }
            // It ends when it has been able to tell somebody what it knows.
            15 if fleet.front_ends[of].runs && !fleet.front_ends[of].is_stopped => {
                fleet.follow(of).await;
                fleet.front_ends[of].runs = false;
            }
            // One that begins where nobody sees it, purges, and ends there, is the gap that docs/decisions/0043 leaves.
            16 | 17 if !fleet.front_ends[of].runs => {
                (0..all).for_each(|other| fleet.cut(of, other, false));
                fleet.front_ends[of].restart(all, fastrand::bool());
                fleet.settle(1).await;
            }
            _ => {}
        }
        let ms = match fastrand::u32(..60) {
            0 => 240_000 + fastrand::u64(..120_000),
            1 => 900_000,
            _ => fastrand::u64(..400),
        };
        fleet.world.0.fetch_add(ms, Ordering::Relaxed);
        for of in 0..all {
            fleet.follow(of).await;
        }
    }
    for of in 0..all {
        fleet.front_ends[of].is_stopped = false;
        if !fleet.front_ends[of].runs {
            fleet.front_ends[of].restart(all, true);
        }
        (0..all).for_each(|other| fleet.cut(of, other, false));
    }
    fleet.settle(12).await;
    let mut kept = 0;
    for key in 0..KEYS {
        for (of, page) in fleet.pages(key).into_iter().enumerate() {
            let oldest = versions[key as usize];
            assert!(page.is_none_or(|page| page >= oldest), "seed {seed}: {of} has {page:?} of {key}, purged {oldest}");
            kept += usize::from(page.is_some());
        }
    }
    (kept, purges)
}

#[tokio::test]
async fn what_was_purged_does_not_come_back_whatever_front_ends_do() {
    // More of them: PURGE_HISTORIES=20000 cargo test -p kasoku-shared purge.
    let histories = std::env::var("PURGE_HISTORIES").map_or(200, |histories| histories.parse().unwrap());
    let (mut kept, mut purges) = (0, 0);
    for seed in 0..histories {
        let (pages, made) = history(seed, 2 + (seed % 3) as usize).await;
        kept += pages;
        purges += made;
    }
    // The histories are of use only if pages are kept at all.
    assert!(kept > histories as usize / 8 && purges > histories as usize, "{kept} {purges}");
}
