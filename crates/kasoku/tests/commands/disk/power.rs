//! The disk tier when the power is lost: what was not synced is gone, or a part of it that chance chooses.
//! `KASOKU_DISK_POWER_LOSSES` sets the number of losses.

use super::number;
use super::system::Disk;
use super::world::{World, folder, scatter, serve};
use std::sync::atomic::Ordering;
use std::time::Duration;

const LOSSES: usize = 10;

#[test]
fn a_loss_of_power_leaves_no_wrong_byte_and_no_purged_page() {
    let losses = number("KASOKU_DISK_POWER_LOSSES", LOSSES);
    let Some(disk) = Disk::mount(folder("disk-power")) else { return };
    let world = World::new(1000, 250_000);
    let (path, origin) = (disk.path().join("cache"), world.originate());
    let (mut lost, mut evicted, mut hits, mut asked) = (0, 0, 0, 0);
    let mut program = serve(&world, origin, &path, "64MiB");
    for loss in 0..losses as u64 {
        let clients = world.begins(loss);
        std::thread::sleep(Duration::from_millis(500 + scatter(loss) % 800));
        evicted += program.metrics_after(0)["disk_evictions_total"];
        world.kills(program, clients);
        lost += disk.loses_power(loss);
        program = serve(&world, origin, &path, "64MiB");
        program.said_at("the disk cache is loaded");
        // Some of the pages, so that not all of memory and disk is filled by these requests.
        for page in (loss as usize % 4..world.pages.len()).step_by(4) {
            let is_purged = world.pages[page].floor.load(Ordering::SeqCst) > 0;
            hits += usize::from(world.asks(program.clients, page));
            asked += usize::from(is_purged);
        }
    }
    assert_eq!(*world.wrong.lock().unwrap(), [""; 0]);
    let (served, purged) = (world.served.load(Ordering::Relaxed), world.purged.load(Ordering::Relaxed));
    println!(
        "{losses} losses of power, {lost} blocks and names lost, {served} answers, {purged} purges, {evicted} evicted; \
         {hits} hits after a loss, {asked} requests for purged pages"
    );
    assert!(lost > 10 * losses && hits > losses && asked > losses && purged > losses);
}
