//! The disk tier on a disk that is full, fails, may only be read, or hangs. No client gets an error or a wrong byte, and the disk is used
//! again, without a restart, when it works again.

use super::system::{Call, Disk};
use super::world::{World, folder, serve};
use crate::support::Program;
use fuser::Errno;
use rustix::process::Signal;
use std::io::Write;
use std::net::SocketAddr;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest wait for a disk to be used again.
const RECOVERY_MAX: Duration = Duration::from_secs(60);

/// A file system on a loop device. Drop unmounts it; the device goes with it.
struct LoopDisk(PathBuf);

impl LoopDisk {
    /// `None`, with a message, where this is not root.
    fn mount(name: &str, bytes: u64) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            // Not by eprintln!: the test harness hides its output if the test passes.
            let text = "\n*** only root can mount a file system, so this shows nothing here ***\n";
            std::io::stderr().write_all(text.as_bytes()).unwrap();
            return None;
        }
        let (path, image) = (folder(name), folder(&format!("{name}.image")).with_extension("file"));
        std::fs::create_dir_all(&path).unwrap();
        std::fs::File::create(&image).unwrap().set_len(bytes).unwrap();
        run("mkfs.ext4", &["-q", "-F", image.to_str().unwrap()]);
        run("mount", &["-o", "loop", image.to_str().unwrap(), path.to_str().unwrap()]);
        let disk = Self(path);
        // The file lives as long as the device holds it.
        std::fs::remove_file(image).unwrap();
        Some(disk)
    }

    /// Has another file take all room that there is now, but for so many bytes.
    fn fills_all_but(&self, bytes: u64) {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(self.others()).unwrap();
        let system = rustix::fs::statvfs(&self.0).unwrap();
        let mut end = file.metadata().unwrap().len();
        let mut piece = (system.f_bavail * system.f_bsize).saturating_sub(bytes);
        // The list of the file's blocks needs room as well, so pieces get smaller.
        while piece >= 4096 {
            match rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), end, piece) {
                Ok(()) if bytes > 0 => return,
                Ok(()) => end += piece,
                Err(rustix::io::Errno::NOSPC) => piece /= 2,
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn others(&self) -> PathBuf {
        self.0.join("others")
    }
}

impl Drop for LoopDisk {
    fn drop(&mut self) {
        let is_unmounted = |flags: &[&str]| {
            Command::new("umount").args(flags).arg(&self.0).status().is_ok_and(|status| status.success())
        };
        if !is_unmounted(&[]) && !is_unmounted(&["--lazy"]) {
            eprintln!("{} stays mounted", self.0.display());
        }
    }
}

fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output().unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
}

fn metric(program: &Program, name: &str) -> u64 {
    program.metrics_after(0)[name]
}

/// Requests these pages again and again until that is so.
fn asks_until(world: &World, program: &Program, pages: Range<usize>, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    for page in pages.cycle() {
        if is_so() {
            return;
        }
        world.asks(program.clients, page);
        assert!(began.elapsed() < RECOVERY_MAX, "it never happened: {:#?}", program.metrics_after(0));
    }
}

/// Requests these pages; returns how many were hits.
fn ask(world: &World, address: SocketAddr, pages: Range<usize>) -> usize {
    pages.filter(|page| world.asks(address, *page)).count()
}

/// Purges these pages. A purge that can't be kept must be an error that says so; returns how many there were.
fn purge(world: &World, address: SocketAddr, pages: Range<usize>) -> usize {
    let statuses: Vec<u16> = pages.map(|page| world.purges(address, page).unwrap_or(0)).collect();
    assert!(statuses.iter().all(|status| matches!(status, 200 | 500..=599)), "{statuses:?}");
    statuses.iter().filter(|status| **status != 200).count()
}

/// Changes and purges pages until one is stored by the disk again.
fn is_stored_again(world: &World, program: &Program, pages: Range<usize>) {
    let began = Instant::now();
    let before = metric(program, "disk_stored_total");
    for page in pages.cycle() {
        if metric(program, "disk_stored_total") > before && metric(program, "disk_up") == 1 {
            return;
        }
        world.purges(program.clients, page);
        world.asks(program.clients, page);
        assert!(began.elapsed() < RECOVERY_MAX, "nothing is stored again: {:#?}", program.metrics_after(0));
    }
}

#[test]
fn a_full_disk_costs_no_client_an_error_and_is_used_again_when_there_is_room() {
    let Some(disk) = LoopDisk::mount("disk-full", 256 << 20) else { return };
    let world = World::new(2000, 100_000);
    let origin = world.originate();
    let path = disk.0.join("cache");
    let program = serve(&world, origin, &path, "1GiB");
    ask(&world, program.clients, 0..20);
    asks_until(&world, &program, 0..20, || metric(&program, "disk_stored_total") >= 20);
    // The tier evicts what it has when it finds no room, and others take that room as well.
    asks_until(&world, &program, 20..2000, || {
        disk.fills_all_but(0);
        metric(&program, "disk_refused_total") > 0
    });
    program.says("can't be written: nothing is stored");
    assert_eq!(metric(&program, "disk_up"), 0);
    // The room for purges was reserved before.
    assert_eq!(purge(&world, program.clients, 0..100), 0);
    ask(&world, program.clients, 0..300);
    std::fs::remove_file(disk.others()).unwrap();
    is_stored_again(&world, &program, 100..200);
    // All the room of the file system, which is less than the configured size: the tier makes room by eviction.
    disk.fills_all_but(24 << 20);
    let evicted = metric(&program, "disk_evictions_total");
    asks_until(&world, &program, 0..2000, || metric(&program, "disk_evictions_total") > evicted + 100);
    world_is_right_after_a_kill(&world, program, origin, &path, "1GiB");
}

fn world_is_right_after_a_kill(world: &Arc<World>, program: Program, origin: SocketAddr, path: &Path, size: &str) {
    drop(program);
    let program = serve(world, origin, path, size);
    program.said_at("the disk cache is loaded");
    ask(world, program.clients, 0..world.pages.len());
}

#[test]
fn a_disk_that_fails_costs_no_client_an_error_and_is_used_again_when_it_works() {
    for (calls, error) in [
        (&[Call::Write][..], Errno::EIO),
        (&[Call::Sync], Errno::EIO),
        (&[Call::Read], Errno::EIO),
        (&[Call::Read, Call::Write, Call::Sync, Call::Change], Errno::EIO),
        // The kernel does this to a file system whose disk fails.
        (&[Call::Write, Call::Change], Errno::EROFS),
    ] {
        let Some(disk) = Disk::mount(folder("disk-failing")) else { return };
        let world = World::new(300, 60_000);
        let (path, origin) = (disk.path().join("cache"), world.originate());
        let program = serve(&world, origin, &path, "64MiB");
        ask(&world, program.clients, 0..200);
        asks_until(&world, &program, 0..200, || metric(&program, "disk_stored_total") >= 150);
        assert_eq!(purge(&world, program.clients, 0..20), 0);
        let errors = metric(&program, "disk_errors_total");
        disk.fails(calls, error);
        let mut refused_purges = 0;
        for round in 0..2 {
            ask(&world, program.clients, 0..300);
            refused_purges += purge(&world, program.clients, round * 20..round * 20 + 40);
        }
        let failed: Vec<(Call, usize)> = calls.iter().map(|call| (*call, disk.failed(*call))).collect();
        println!("{calls:?} {error:?}: failed {failed:?}, {refused_purges} purges were errors");
        assert!(failed.iter().any(|(_, times)| *times > 0), "{failed:?}");
        assert!(metric(&program, "disk_errors_total") > errors);
        disk.works();
        is_stored_again(&world, &program, 200..300);
        assert_eq!(purge(&world, program.clients, 0..20), 0);
        world_is_right_after_a_kill(&world, program, origin, &path, "64MiB");
    }
}

#[test]
fn a_disk_that_hangs_is_skipped_after_some_timeouts_and_read_again_when_it_answers() {
    let Some(disk) = Disk::mount(folder("disk-hanging")) else { return };
    let world = World::new(400, 20_000);
    let (path, origin) = (disk.path().join("cache"), world.originate());
    let program = serve(&world, origin, &path, "64MiB");
    ask(&world, program.clients, 0..400);
    asks_until(&world, &program, 0..400, || metric(&program, "disk_stored_total") >= 400);
    program.signal(Signal::TERM);
    assert_eq!(program.exit_code(), Some(0));
    // Nothing is in memory now, except one page.
    let program = serve(&world, origin, &path, "64MiB");
    program.said_at("the disk cache is loaded");
    let address = program.clients;
    assert!(world.asks(address, 399), "it is on the disk");
    disk.holds_reads();
    std::thread::scope(|threads| {
        let ask = |page: usize| {
            let world = &world;
            threads.spawn(move || world.asks(address, page))
        };
        let waiting: Vec<_> = (0..8).map(ask).collect();
        // A read that hangs does not keep the others from the disk: four threads read at least.
        let began = Instant::now();
        while disk.held() < 4 {
            assert!(began.elapsed() < RECOVERY_MAX, "only {} reads come to the disk at a time", disk.held());
            std::thread::yield_now();
        }
        assert!(world.asks(address, 399), "what is in memory does not wait");
        assert!(waiting.into_iter().all(|client| !client.join().unwrap()));
    });
    assert!(disk.held() > 0);
    program.says("the disk cache does not answer");
    let skipped = metric(&program, "disk_skipped_reads_total");
    assert_eq!(ask(&world, address, 8..30), 0);
    assert!(metric(&program, "disk_skipped_reads_total") >= skipped + 15);
    // A purge is written, which does not need a read.
    assert_eq!(purge(&world, address, 0..10), 0);
    disk.lets_go();
    let began = Instant::now();
    let mut hits = 0;
    for page in 30..398 {
        hits += usize::from(world.asks(address, page));
        if hits > 10 {
            break;
        }
        assert!(began.elapsed() < RECOVERY_MAX, "the disk is not read again");
        // One page each, since a page that was requested is in memory.
        std::thread::sleep(if hits == 0 { Duration::from_millis(100) } else { Duration::ZERO });
    }
    assert!(hits > 10, "{hits}");
    program.said_at("the disk cache answers, and is read again");
}
