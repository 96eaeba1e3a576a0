//! The disk tier when the process is killed: under requests, purges and eviction, at moments that chance chooses.
//! `KASOKU_DISK_KILLS` sets the number of kills.

use super::number;
use super::world::{World, folder, scatter, serve};
use crate::operating::eventually;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const KILLS: usize = 10;

/// Kills the program again and again. Returns how many of the pages that should have survived did so; where pages are evicted, none
/// has to. Fails with fewer than `answers_min` answers for each kill.
fn kill_again_and_again(
    name: &str,
    world: &Arc<World>,
    evicts: bool,
    (kills, answers_min): (usize, usize),
) -> (usize, usize) {
    let (folder, origin) = (folder(name), world.originate());
    let mut program = serve(world, origin, &folder, "64MiB");
    let (mut survived, mut evicted) = ((0, 0), 0);
    let (mut hit_after, mut loaded_after) = (Vec::new(), Vec::new());
    for kill in 0..kills {
        let clients = world.begins(kill as u64);
        std::thread::sleep(Duration::from_millis(1200 + scatter(kill as u64) % 800));
        // A machine that does other work needs longer for as many answers.
        eventually("enough answers", || world.served.load(Ordering::Relaxed) > answers_min * (kill + 1));
        let evictions = || program.metrics_after(0)["disk_evictions_total"];
        if evicts && evicted == 0 && kill + 1 == kills {
            eventually("evictions", || evictions() > 0);
        }
        evicted += evictions();
        let killed_ms = world.now_ms();
        world.kills(program, clients);
        let began = Instant::now();
        program = serve(world, origin, &folder, "64MiB");
        for (number, page) in world.pages.iter().enumerate() {
            let stored_ms = page.stored_ms.load(Ordering::SeqCst);
            if !evicts && stored_ms > 0 && stored_ms + 1000 < killed_ms {
                let floor = page.floor.load(Ordering::SeqCst);
                let is_hit = world.get(program.clients, number, floor);
                if is_hit == Some(true) && hit_after.len() <= kill {
                    hit_after.push(began.elapsed());
                }
                survived = (survived.0 + usize::from(is_hit == Some(true)), survived.1 + 1);
            }
        }
        loaded_after.push(program.said_at("the disk cache is loaded").saturating_duration_since(began));
    }
    assert_eq!(*world.wrong.lock().unwrap(), [""; 0]);
    let (served, purged) = (world.served.load(Ordering::Relaxed), world.purged.load(Ordering::Relaxed));
    println!("{kills} kills, {served} answers, {purged} purges, {evicted} evicted; {survived:?} survived");
    let [hit, loaded] = [&mut hit_after, &mut loaded_after].map(|times| {
        times.sort();
        (times.get(times.len() / 2).copied(), times.last().copied())
    });
    println!("from the start to the first hit, median and longest: {hit:.1?}; until all is known: {loaded:.1?}");
    assert_eq!(evicted > 0, evicts, "{evicted} were evicted");
    assert!(served > answers_min * kills && purged > kills, "{served} answers, {purged} purges");
    survived
}

#[test]
fn what_was_stored_survives_a_kill_and_what_was_purged_does_not() {
    let (survived, of) = kill_again_and_again("disk-kills", &World::new(300, 60_000), false, (kills(), 100));
    assert!(of > 100 && survived * 100 >= of * 99, "{survived} of {of} survived");
}

#[test]
fn a_kill_while_responses_are_evicted_leaves_no_wrong_byte() {
    kill_again_and_again("disk-kills-evicting", &World::new(4000, 250_000), true, (kills(), 100));
}

#[test]
fn a_kill_while_large_responses_are_written_leaves_no_wrong_byte() {
    // Memory takes a sixteenth of these: the larger ones go to disk while they come.
    kill_again_and_again("disk-kills-large", &World::new(200, 1_000_000), true, (kills().div_ceil(2), 10));
}

fn kills() -> usize {
    number("KASOKU_DISK_KILLS", KILLS)
}
