//! The disk tier as its owner sees it. All tests run twice: where io_uring makes the reads that wait for the disk, if there is one, and where
//! threads make them (`tests_by_threads` in disk.rs).

#[path = "tests/additions.rs"]
mod additions;
#[path = "tests/large.rs"]
mod large;

use super::*;
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;

/// An owner that remembers what it was told, with a clock that stands still.
#[derive(Default)]
struct TestOwner {
    now_ms: AtomicU64,
    recovered: Mutex<Vec<Option<Marks>>>,
    marks: Mutex<Vec<u8>>,
    in_memory: Mutex<Vec<String>>,
}

impl Owner for TestOwner {
    fn now_ms(&self) -> u64 {
        self.now_ms.load(Ordering::Relaxed)
    }

    fn recover(&self, marks: Option<Marks>) {
        self.recovered.lock().unwrap().push(marks);
    }

    fn for_each_in_memory(&self, each: &mut dyn FnMut(&[u8])) {
        self.in_memory.lock().unwrap().iter().for_each(|key| each(key.as_bytes()));
    }

    fn renewed(&self, mark: Vec<u8>) -> Vec<u8> {
        let recovered = self.recovered.lock().unwrap().len();
        [&mark[..], format!(" after {recovered}").as_bytes()].concat()
    }

    fn marks(&self) -> Vec<u8> {
        self.marks.lock().unwrap().clone()
    }
}

fn owner() -> Arc<TestOwner> {
    let owner = TestOwner::default();
    owner.now_ms.store(1_700_000_000_000, Ordering::Relaxed);
    Arc::new(owner)
}

fn options(path: &Path, size_bytes: u64) -> DiskOptions {
    DiskOptions { path: path.to_owned(), size_bytes, admission: Admission::Always }
}

fn start_with(options: DiskOptions, owner: Arc<dyn Owner>) -> io::Result<Disk> {
    if module_path!().ends_with("by_threads") {
        return Disk::start_with(options, owner, None);
    }
    Disk::start(options, owner)
}

fn start(path: &Path) -> Disk {
    loaded(start_with(options(path, 64 * MIB), owner()).unwrap())
}

/// Waits until everything that an earlier process left is known.
fn loaded(disk: Disk) -> Disk {
    until(|| disk.status().state == DiskState::Serving { is_loading: false, paused: None });
    disk
}

fn until(mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(20), "it never happened");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn object(key: &str, variant: u64, body: &[u8]) -> NewObject {
    let chunk = |(number, bytes): (usize, &[u8])| ((number << 16) as u64, Bytes::copy_from_slice(bytes));
    NewObject {
        key: key.as_bytes().into(),
        variant,
        description: format!("of {key}").into_bytes().into(),
        chunks: body.chunks(1 << 16).enumerate().map(chunk).collect(),
        stored_ms: 1_700_000_000_000,
        is_proven: false,
        keeps: None,
    }
}

/// Has an object written, and waits for that.
fn put(disk: &Disk, object: NewObject) {
    let finished = |counts: DiskCounts| counts.stored_objects + counts.refused_objects + counts.unproven_objects;
    let before = finished(disk.status().counts);
    assert!(disk.put(object));
    until(|| finished(disk.status().counts) > before);
}

/// What is found for a key, whether or not the disk is waited for: variant, body, and whether it is confirmed.
fn found(disk: &Disk, key: &str) -> Vec<(u64, Vec<u8>, bool)> {
    let now = match disk.find(key.as_bytes()) {
        Finding::Objects(objects) => Some(contents(key, &objects)),
        Finding::OnDisk => None,
    };
    let after_a_wait = contents(key, &block_on(disk.retrieve(key.as_bytes())).unwrap());
    assert!(now.is_none_or(|now| now == after_a_wait), "{key}");
    after_a_wait
}

fn contents(key: &str, objects: &[StoredObject]) -> Vec<(u64, Vec<u8>, bool)> {
    let mut all: Vec<_> = objects
        .iter()
        .filter_map(|object| {
            assert_eq!((&*object.key, &*object.description), (key.as_bytes(), format!("of {key}").as_bytes()));
            let chunks: Result<Vec<Bytes>, _> = object.chunks.iter().map(|chunk| block_on(chunk.bytes())).collect();
            Some((object.variant, chunks.ok()?.concat(), !object.is_unconfirmed))
        })
        .collect();
    all.sort();
    all
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn body(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed | 1;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}

/// The files as they are at this moment: what a process that is killed now would leave.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() { copy(&entry.path(), &to) } else { drop(fs::copy(entry.path(), to)) }
    }
}

/// Waits until so many objects are in the logs of a directory: then they survive the end of the process.
fn logged(path: &Path, objects: u64) {
    let bytes = || {
        let files = fs::read_dir(path).unwrap().map(|file| file.unwrap());
        let logs = files.filter(|file| file.file_name().to_string_lossy().starts_with("log-"));
        logs.map(|log| log.metadata().unwrap().len()).sum::<u64>()
    };
    until(|| bytes() >= objects * super::log::FRAME_BYTES as u64);
}

/// The generation of the newest checkpoint.
fn newest_checkpoint(path: &Path) -> u64 {
    let names = fs::read_dir(path).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    names.filter_map(|name| name.strip_prefix("checkpoint-")?.parse().ok()).max().unwrap_or(0)
}

#[test]
fn what_was_stored_is_found_and_is_found_again_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let disk = start(folder.path());
    let large = body(3, 3 << 20);
    put(&disk, object("a", 1, b"one"));
    put(&disk, object("a", 2, b"two"));
    put(&disk, object("empty", 1, b""));
    put(&disk, object("large", 1, &large));
    put(&disk, object("a", 1, b"newer"));
    let check = |disk: &Disk| {
        assert_eq!(found(disk, "a"), [(1, b"newer".to_vec(), true), (2, b"two".to_vec(), true)]);
        assert_eq!(found(disk, "empty"), [(1, vec![], true)]);
        assert!(found(disk, "large") == [(1, large.clone(), true)]);
        assert_eq!(found(disk, "b"), []);
        assert_eq!(disk.status().objects, 4);
    };
    check(&disk);
    disk.stop();
    let disk = start(folder.path());
    check(&disk);
    drop(disk);
    check(&start(folder.path()));
}

#[test]
fn what_was_stored_a_moment_ago_survives_the_end_of_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let (running, left) = (folder.path().join("running"), folder.path().join("left"));
    let disk = start(&running);
    put(&disk, object("a", 1, b"one"));
    put(&disk, object("b", 1, b"two"));
    block_on(disk.remove(b"b", Removal::Key).wait()).unwrap();
    logged(&running, 2);
    copy(&running, &left);
    let after = start(&left);
    assert_eq!(found(&after, "a"), [(1, b"one".to_vec(), true)]);
    assert_eq!(found(&after, "b"), []);
}

#[test]
fn a_disk_that_does_not_answer_takes_no_large_body() {
    let folder = tempfile::tempdir().unwrap();
    let disk = start(folder.path());
    assert_eq!(disk.large_bytes_max(), 16 * MIB);
    (0..breaker::TIMEOUTS_MAX).for_each(|_| disk.timed_out());
    assert_eq!(disk.large_bytes_max(), 0);
}

#[test]
fn what_was_removed_does_not_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let (running, left) = (folder.path().join("running"), folder.path().join("left"));
    let disk = start(&running);
    for key in ["kept", "removed", "again"] {
        put(&disk, object(key, 1, b"old"));
        put(&disk, object(key, 2, b"old"));
    }
    block_on(disk.remove(b"removed", Removal::Key).wait()).unwrap();
    block_on(disk.remove(b"kept", Removal::Variant(2)).wait()).unwrap();
    block_on(disk.remove(b"again", Removal::Key).wait()).unwrap();
    put(&disk, object("again", 2, b"new"));
    block_on(disk.remove(b"never", Removal::Key).wait()).unwrap();
    let check = |disk: &Disk| {
        assert_eq!(found(disk, "removed"), []);
        assert_eq!(found(disk, "kept"), [(1, b"old".to_vec(), true)]);
        assert_eq!(found(disk, "again"), [(2, b"new".to_vec(), true)]);
    };
    check(&disk);
    logged(&running, 7);
    copy(&running, &left);
    check(&start(&left));
    disk.stop();
    check(&start(&running));
}

#[test]
fn a_removal_holds_also_where_the_index_has_forgotten_the_object() {
    let folder = tempfile::tempdir().unwrap();
    let (running, left) = (folder.path().join("running"), folder.path().join("left"));
    let disk = start(&running);
    put(&disk, object("a", 1, b"one"));
    logged(&running, 1);
    // The log has it, as after an eviction.
    disk.hide(b"a", 1);
    block_on(disk.remove(b"a", Removal::Key).wait()).unwrap();
    copy(&running, &left);
    assert_eq!(found(&start(&left), "a"), []);
}

#[test]
fn removals_that_wait_when_the_tier_stops_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let disk = start(folder.path());
    for number in 0..500 {
        put(&disk, object(&format!("{number}"), 1, b"one"));
    }
    let waiting: Vec<_> = (0..499).map(|number| disk.remove(format!("{number}").as_bytes(), Removal::Key)).collect();
    disk.stop();
    let written: Vec<_> = waiting.into_iter().map(|waits| block_on(waits.wait())).collect();
    assert!(written.iter().all(Result::is_ok));
    let disk = start(folder.path());
    assert_eq!(disk.status().objects, 1);
    assert_eq!(found(&disk, "499"), [(1, b"one".to_vec(), true)]);
}

#[test]
fn more_removals_at_once_than_a_journal_has_room_for_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let disk = start(folder.path());
    put(&disk, object("kept", 1, b"one"));
    put(&disk, object("removed", 1, b"one"));
    let mut last = disk.remove(b"removed", Removal::Key);
    for number in 0..60_000 {
        last = disk.remove(format!("{number}").as_bytes(), Removal::Key);
    }
    block_on(last.wait()).unwrap();
    let check = |disk: &Disk| {
        assert_eq!(found(disk, "kept"), [(1, b"one".to_vec(), true)]);
        assert_eq!(found(disk, "removed"), []);
    };
    check(&disk);
    disk.stop();
    check(&start(folder.path()));
}

#[test]
fn a_size_that_was_lowered_is_kept_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let disk = loaded(start_with(options(folder.path(), 160 * MIB), owner()).unwrap());
    (0..20).for_each(|number| put(&disk, object(&format!("{number}"), 1, &body(number, 5 << 20))));
    assert!(disk.status().used_bytes > 90 * MIB);
    disk.stop();
    let disk = start(folder.path());
    until(|| disk.status().used_bytes <= 64 * MIB);
    assert_eq!(found(&disk, "19"), [(1, body(19, 5 << 20), true)]);
}

#[test]
fn what_was_requested_again_stays_where_the_size_is_lowered() {
    let folder = tempfile::tempdir().unwrap();
    let disk = loaded(Disk::start(options(folder.path(), 160 * MIB), owner()).unwrap());
    let key = |number: u64| format!("{number}");
    (0..2000).for_each(|number| put(&disk, object(&key(number), 1, &body(number, 60_000))));
    assert!(disk.status().used_bytes > 110 * MIB);
    // One in ten, so that each segment has some of them. A checkpoint has their hits.
    let hot = || (0..2000).step_by(10);
    for number in hot() {
        let Finding::Objects(objects) = disk.find(key(number).as_bytes()) else { continue };
        objects.iter().for_each(|object| disk.count_hit(object));
    }
    disk.stop();
    let disk = start(folder.path());
    until(|| disk.status().used_bytes <= 64 * MIB);
    let lost: Vec<u64> = hot().filter(|number| found(&disk, &key(*number)).is_empty()).collect();
    assert_eq!(lost, []);
}

#[test]
fn marks_are_found_with_what_came_after_the_last_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let (running, left) = (folder.path().join("running"), folder.path().join("left"));
    let first = owner();
    *first.marks.lock().unwrap() = b"all so far".to_vec();
    let disk = loaded(start_with(options(&running, 64 * MIB), first.clone()).unwrap());
    assert_eq!(*first.recovered.lock().unwrap(), [Some(Marks::default())]);
    block_on(disk.mark(b"before".to_vec()).wait()).unwrap();
    disk.stop();
    let second = owner();
    let disk = loaded(start_with(options(&running, 64 * MIB), second.clone()).unwrap());
    let then = |since: &[&[u8]]| {
        Some(Marks { then: b"all so far".to_vec(), since: since.iter().map(|mark| mark.to_vec()).collect() })
    };
    assert_eq!(*second.recovered.lock().unwrap(), [then(&[])]);
    block_on(disk.mark(b"one".to_vec()).wait()).unwrap();
    block_on(disk.mark(b"two".to_vec()).wait()).unwrap();
    copy(&running, &left);
    let third = owner();
    let _disk = start_with(options(&left, 64 * MIB), third.clone()).unwrap();
    assert_eq!(*third.recovered.lock().unwrap(), [then(&[b"one", b"two"])]);
}

#[test]
fn the_size_is_kept_and_what_is_requested_again_stays() {
    let folder = tempfile::tempdir().unwrap();
    let disk = start(folder.path());
    let hot: Vec<String> = (0..50).map(|number| format!("hot{number}")).collect();
    hot.iter().for_each(|key| put(&disk, object(key, 1, &body(1, 4000))));
    let hit = |key: &str| {
        let Finding::Objects(objects) = disk.find(key.as_bytes()) else { return };
        objects.iter().for_each(|object| disk.count_hit(object));
    };
    let mut used_max = 0;
    for number in 0..3000 {
        if number % 100 == 0 {
            hot.iter().for_each(|key| hit(key));
        }
        put(&disk, object(&format!("once{number}"), 1, &body(number, 60_000)));
        let files = fs::read_dir(folder.path().join("segments")).unwrap().filter_map(|file| file.ok()?.metadata().ok());
        let names = fs::read_dir(folder.path()).unwrap().filter_map(|file| file.ok()?.metadata().ok());
        used_max = used_max.max(files.chain(names).filter(fs::Metadata::is_file).map(|file| file.len()).sum());
    }
    let status = disk.status();
    assert!(used_max <= 64 * MIB && used_max > 40 * MIB, "{used_max}");
    assert!(status.counts.evicted_objects > 1000, "{status:?}");
    assert_eq!(status.counts.refused_objects, 0);
    let check = |disk: &Disk| {
        for key in &hot {
            assert_eq!(found(disk, key), [(1, body(1, 4000), true)], "{key}");
        }
        let last = "once2999";
        assert_eq!(found(disk, last), [(1, body(2999, 60_000), true)]);
        assert_eq!(found(disk, "once0"), []);
    };
    check(&disk);
    disk.stop();
    check(&start(folder.path()));
}

#[test]
fn what_the_owner_has_in_memory_stays_without_a_hit_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let owner = owner();
    let disk = loaded(start_with(options(folder.path(), 64 * MIB), owner.clone()).unwrap());
    let (small, large) = (body(1, 4000), body(1, 2 << 20));
    for number in 0..100 {
        put(&disk, object(&format!("hot{number}"), 1, &small));
        put(&disk, object(&format!("cold{number}"), 1, &small));
    }
    put(&disk, object("hot100", 1, &large));
    put(&disk, object("cold100", 1, &large));
    *owner.in_memory.lock().unwrap() = (0..=100).map(|number| format!("hot{number}")).collect();
    (0..3000).for_each(|number| put(&disk, object(&format!("once{number}"), 1, &body(number, 60_000))));
    for number in 0..=100 {
        let stored = if number == 100 { &large } else { &small };
        assert_eq!(found(&disk, &format!("hot{number}")), [(1, stored.clone(), true)], "hot{number}");
        assert_eq!(found(&disk, &format!("cold{number}")), [], "cold{number}");
    }
}

#[test]
fn of_a_segment_whose_objects_are_all_wanted_those_in_memory_are_kept_first() {
    let folder = tempfile::tempdir().unwrap();
    let owner = owner();
    let disk = loaded(start_with(options(folder.path(), 64 * MIB), owner.clone()).unwrap());
    for number in 0..40 {
        put(&disk, object(&format!("hit{number}"), 1, &body(1, 50_000)));
        put(&disk, object(&format!("hot{number}"), 1, &body(1, 5000)));
        let Finding::Objects(objects) = disk.find(format!("hit{number}").as_bytes()) else { panic!("just written") };
        objects.iter().for_each(|object| disk.count_hit(object));
    }
    *owner.in_memory.lock().unwrap() = (0..40).map(|number| format!("hot{number}")).collect();
    (0..2000).for_each(|number| put(&disk, object(&format!("once{number}"), 1, &body(number, 60_000))));
    for number in 0..40 {
        assert_eq!(found(&disk, &format!("hot{number}")), [(1, body(1, 5000), true)], "hot{number}");
    }
    let hit = (0..40).filter(|number| !found(&disk, &format!("hit{number}")).is_empty()).count();
    assert!((20..40).contains(&hit), "{hit}");
}

#[test]
fn what_is_replaced_again_and_again_drives_nothing_out() {
    let folder = tempfile::tempdir().unwrap();
    let disk = start(folder.path());
    // A seventh of the room, in segments that stay full, and nothing of it is requested again.
    for number in 0..300 {
        put(&disk, object(&format!("kept{number}"), 1, &body(number, 30_000)));
    }
    // Three times the room, and most of it is replaced soon.
    for number in 0..3000 {
        put(&disk, object(&format!("replaced{}", number % 100), 1, &body(number, 60_000)));
        if number % 100 == 99 {
            put(&disk, object(&format!("kept too {number}"), 1, &body(number, 30_000)));
        }
    }
    let DiskStatus { objects, counts, used_bytes, .. } = disk.status();
    assert_eq!((objects, counts.evicted_objects, counts.refused_objects), (430, 0, 0));
    assert!(used_bytes <= 64 * MIB);
    let check = |disk: &Disk| {
        let is = |key: String, body: Vec<u8>| assert!(found(disk, &key) == [(1, body, true)], "{key}");
        (0..300).for_each(|number| is(format!("kept{number}"), body(number, 30_000)));
        (2900..3000).for_each(|number| is(format!("replaced{}", number % 100), body(number, 60_000)));
    };
    check(&disk);
    disk.stop();
    check(&start(folder.path()));
}

#[test]
fn segments_are_filled_where_some_objects_come_back_and_others_are_moved() {
    let folder = tempfile::tempdir().unwrap();
    let disk = start(folder.path());
    // Twice as many as there is room for. All come back after they were evicted, and one in ten is requested in between.
    for number in (0..2000).chain(0..2000) {
        put(&disk, object(&format!("{number}"), 1, &body(number, 60_000)));
        if number % 10 == 0 {
            let Finding::Objects(objects) = disk.find(format!("{number}").as_bytes()) else {
                panic!("it is in memory")
            };
            objects.iter().for_each(|object| disk.count_hit(object));
        }
    }
    let DiskStatus { objects, used_bytes, .. } = disk.status();
    assert!(objects * 60_000 > used_bytes * 85 / 100, "{objects} objects in {used_bytes} bytes");
}

#[test]
fn a_large_object_is_evicted_as_a_whole_and_stays_if_it_is_requested_again() {
    let folder = tempfile::tempdir().unwrap();
    let disk = start(folder.path());
    put(&disk, object("wanted", 1, &body(1, 5 << 20)));
    for number in 0..30 {
        let Finding::Objects(objects) = disk.find(b"wanted") else { panic!("it was written a moment ago") };
        objects.iter().for_each(|object| disk.count_hit(object));
        put(&disk, object(&format!("once{number}"), 1, &body(number, 5 << 20)));
        assert!(disk.status().used_bytes <= 64 * MIB);
    }
    assert_eq!(found(&disk, "wanted"), [(1, body(1, 5 << 20), true)]);
    assert_eq!(found(&disk, "once0"), []);
    assert!(disk.status().counts.evicted_objects > 10);
    assert_eq!(disk.status().counts.hit_objects, 30);
}

#[test]
fn a_reader_goes_on_after_its_object_was_evicted() {
    let folder = tempfile::tempdir().unwrap();
    let disk = start(folder.path());
    put(&disk, object("read", 1, &body(1, 3 << 20)));
    let Finding::Objects(objects) = disk.find(b"read") else { panic!("it was written a moment ago") };
    (0..30).for_each(|number| put(&disk, object(&format!("once{number}"), 1, &body(number, 5 << 20))));
    assert_eq!(found(&disk, "read"), []);
    let read: Vec<Bytes> = objects[0].chunks.iter().map(|chunk| block_on(chunk.bytes()).unwrap()).collect();
    assert_eq!(read.concat(), body(1, 3 << 20));
}

#[test]
fn an_object_is_written_on_its_second_request_where_that_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let options = DiskOptions { admission: Admission::SecondRequest, ..options(folder.path(), 64 * MIB) };
    let disk = loaded(start_with(options, owner()).unwrap());
    put(&disk, object("a", 1, b"one"));
    assert_eq!(found(&disk, "a"), []);
    put(&disk, object("a", 1, b"two"));
    assert_eq!(found(&disk, "a"), [(1, b"two".to_vec(), true)]);
    put(&disk, object("a", 1, b"three"));
    assert_eq!(found(&disk, "a"), [(1, b"three".to_vec(), true)]);
    // What its owner knows to have been requested again.
    put(&disk, NewObject { is_proven: true, ..object("b", 1, b"one") });
    assert_eq!(found(&disk, "b"), [(1, b"one".to_vec(), true)]);
    assert_eq!(disk.status().counts.unproven_objects, 1);
}

#[test]
fn a_clock_that_was_set_back_makes_nothing_fresher() {
    let folder = tempfile::tempdir().unwrap();
    let disk = start(folder.path());
    put(&disk, object("a", 1, b"one"));
    disk.stop();
    let later = owner();
    later.now_ms.store(1_700_000_000_000 - 60_000, Ordering::Relaxed);
    let disk = loaded(start_with(options(folder.path(), 64 * MIB), later).unwrap());
    assert_eq!(found(&disk, "a"), [(1, b"one".to_vec(), false)]);
}

#[test]
fn a_directory_in_use_is_taken_over_when_it_is_free() {
    let folder = tempfile::tempdir().unwrap();
    let first = start(folder.path());
    put(&first, object("a", 1, b"one"));
    let second = start_with(options(folder.path(), 64 * MIB), owner()).unwrap();
    let DiskState::Failed(message) = second.status().state else { panic!("{:?}", second.status()) };
    assert!(message.contains("in use by another process"), "{message}");
    assert!(!second.put(object("b", 1, b"two")));
    assert_eq!(found(&second, "a"), []);
    first.stop();
    assert_eq!(first.status().state, DiskState::Stopped);
    let second = loaded(second);
    assert_eq!(found(&second, "a"), [(1, b"one".to_vec(), true)]);
}

#[test]
fn what_is_removed_before_the_directory_is_open_is_gone_when_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let first = start(folder.path());
    ["a", "b"].iter().for_each(|key| put(&first, object(key, 1, b"one")));
    // This one can't open the directory yet.
    let owner_of_second = owner();
    let second = start_with(options(folder.path(), 64 * MIB), owner_of_second).unwrap();
    let (removed, marked) = (second.remove(b"a", Removal::Key), second.mark(b"mark".to_vec()));
    first.stop();
    let second = loaded(second);
    block_on(removed.wait()).unwrap();
    block_on(marked.wait()).unwrap();
    let check = |disk: &Disk| {
        assert_eq!(found(disk, "a"), []);
        assert_eq!(found(disk, "b"), [(1, b"one".to_vec(), true)]);
    };
    check(&second);
    let left = tempfile::tempdir().unwrap();
    copy(folder.path(), left.path());
    let third = owner();
    let disk = loaded(start_with(options(left.path(), 64 * MIB), third.clone()).unwrap());
    check(&disk);
    let marks = third.recovered.lock().unwrap();
    assert_eq!(marks[0].as_ref().unwrap().since, [b"mark after 1".to_vec()]);
}

#[test]
fn too_many_removals_before_the_directory_is_open_empty_it() {
    let folder = tempfile::tempdir().unwrap();
    let first = start(folder.path());
    put(&first, object("kept", 1, b"one"));
    let second = start_with(options(folder.path(), 64 * MIB), owner()).unwrap();
    let removals: Vec<_> =
        (0..5000).map(|number| second.remove(format!("{number}").as_bytes(), Removal::Key)).collect();
    assert!(matches!(removals.last(), Some(Durability::Failed(_))));
    first.stop();
    let second = loaded(second);
    assert_eq!(found(&second, "kept"), []);
}

/// A directory that another tier uses, and a tier that waits for it.
fn handed_over(path: &Path, before: impl Fn(&Disk)) -> (Disk, Disk) {
    let first = start(path);
    before(&first);
    let second = start_with(options(path, 64 * MIB), owner()).unwrap();
    assert!(matches!(second.status().state, DiskState::Failed(_)));
    (first, second)
}

#[test]
fn what_a_newer_response_replaced_before_the_directory_is_open_is_not_found_when_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let keys = ["stored", "refreshed", "hidden", "forgotten"];
    let (first, second) = handed_over(folder.path(), |disk| {
        for key in keys.iter().chain(&["kept"]) {
            put(disk, object(key, 1, b"old"));
            put(disk, object(key, 2, b"of the other variant"));
        }
    });
    let Finding::Objects(objects) = first.find(b"refreshed") else { panic!("it was just written") };
    let body = objects.iter().find(|object| object.variant == 1).unwrap().stored_body().unwrap();
    for _ in 0..3 {
        assert!(!second.put(object("stored", 1, b"new")));
        assert!(!second.refresh(object("refreshed", 1, b""), body.clone()));
        second.hide(b"hidden", 1);
        second.forget(b"forgotten", Removal::Variant(1));
    }
    first.stop();
    let second = loaded(second);
    for key in keys {
        assert!(found(&second, key).iter().all(|(variant, ..)| *variant == 2), "{key}");
        assert!(!second.may_have(key.as_bytes(), 1), "what memory evicts is written: {key}");
    }
    assert_eq!(found(&second, "kept").len(), 2);
    put(&second, object("stored", 1, b"newer"));
    assert_eq!(found(&second, "stored")[0], (1, b"newer".to_vec(), true));
    second.stop();
    let third = start(folder.path());
    assert_eq!(found(&third, "stored")[0], (1, b"newer".to_vec(), true));
    for key in keys.iter().skip(1) {
        assert!(found(&third, key).iter().all(|(variant, ..)| *variant == 2), "{key}");
    }
}

#[test]
fn what_was_forgotten_before_the_directory_is_open_does_not_come_back_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let (running, left) = (folder.path().join("running"), folder.path().join("left"));
    let (first, second) = handed_over(&running, |disk| {
        ["forgotten", "kept"].iter().for_each(|key| put(disk, object(key, 1, b"old")));
    });
    second.forget(b"forgotten", Removal::Key);
    first.stop();
    let second = loaded(second);
    // The journal is written in order.
    block_on(second.remove(b"another", Removal::Key).wait()).unwrap();
    copy(&running, &left);
    let after = start(&left);
    assert_eq!(found(&after, "forgotten"), []);
    assert_eq!(found(&after, "kept"), [(1, b"old".to_vec(), true)]);
}

#[test]
fn where_more_was_stored_before_the_directory_is_open_than_is_remembered_the_origin_must_confirm_all() {
    let folder = tempfile::tempdir().unwrap();
    let (running, left) = (folder.path().join("running"), folder.path().join("left"));
    let (first, second) = handed_over(&running, |disk| put(disk, object("a", 1, b"old")));
    let long = "x".repeat(1000);
    for number in 0..10_000 {
        assert!(!second.put(object(&format!("{long}{number}"), 1, b"new")));
    }
    let before = newest_checkpoint(&running);
    first.stop();
    let second = loaded(second);
    assert_eq!(found(&second, "a"), [(1, b"old".to_vec(), false)]);
    // Also after a kill, as soon as the second tier has taken a checkpoint. The first one took one at its end.
    until(|| newest_checkpoint(&running) >= before + 2);
    copy(&running, &left);
    assert_eq!(found(&start(&left), "a"), [(1, b"old".to_vec(), false)]);
    put(&second, object("a", 1, b"new"));
    assert_eq!(found(&second, "a"), [(1, b"new".to_vec(), true)]);
}

#[test]
fn who_removes_waits_for_no_disk_where_the_directory_has_to_be_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let (running, left) = (folder.path().join("running"), folder.path().join("left"));
    let disk = start(&running);
    put(&disk, object("removed", 1, b"old"));
    logged(&running, 1);
    let store = disk.shared.store().unwrap();
    // The thread that writes removals stands still, as with a disk that hangs.
    let journal = store.journal();
    let mut marked = vec![disk.mark(b"first".to_vec())];
    until(|| disk.shared.removals.is_empty());
    marked.extend((0..200).map(|_| disk.mark(vec![b'x'; MARK_BYTES_MAX])));
    let removed = disk.remove(b"removed", Removal::Key);
    marked.push(disk.mark(vec![b'x'; MARK_BYTES_MAX + 1]));
    assert_eq!(found(&disk, "removed"), []);
    assert!(disk.shared.store().is_some(), "what else is stored is used until the directory is invalid");
    copy(&running, &left);
    assert_eq!(found(&start(&left), "removed"), [(1, b"old".to_vec(), true)], "nothing is written yet");
    let mut waits = std::pin::pin!(removed.wait());
    let is_pending = std::future::poll_fn(|context| std::task::Poll::Ready(waits.as_mut().poll(context).is_pending()));
    assert!(block_on(is_pending), "so it is not answered");
    drop(journal);
    block_on(waits).unwrap();
    fs::remove_dir_all(&left).unwrap();
    copy(&running, &left);
    assert_eq!(found(&start(&left), "removed"), []);
    for waits in marked {
        block_on(waits.wait()).unwrap();
    }
    until(|| disk.shared.store().is_some_and(|other| !Arc::ptr_eq(&other, &store)));
    let disk = loaded(disk);
    put(&disk, object("later", 1, b"one"));
    disk.stop();
    assert_eq!(found(&start(&running), "later"), [(1, b"one".to_vec(), true)], "the next directory is valid");
}

#[test]
fn a_directory_that_vanishes_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cache");
    let disk = start(&path);
    put(&disk, object("a", 1, b"one"));
    fs::remove_dir_all(&path).unwrap();
    // Until a new segment is needed, the open files serve. While the directory is made anew, nothing is taken.
    until(|| {
        let _ = disk.put(object("large", 1, &body(1, 1 << 20)));
        path.join("directory").exists()
    });
    let disk = loaded(disk);
    assert!(disk.put(object("b", 1, b"two")));
    // It may be written at any moment, also between the two looks of `found`.
    until(|| block_on(disk.retrieve(b"b")).is_ok_and(|objects| !objects.is_empty()));
    assert_eq!(found(&disk, "b"), [(1, b"two".to_vec(), true)]);
    assert_eq!(found(&disk, "a"), []);
}

#[test]
fn two_journals_of_zeros_are_no_empty_journal() {
    let folder = tempfile::tempdir().unwrap();
    let (running, left) = (folder.path().join("running"), folder.path().join("left"));
    let disk = start(&running);
    put(&disk, object("removed", 1, b"old"));
    block_on(disk.remove(b"removed", Removal::Key).wait()).unwrap();
    put(&disk, object("later", 1, b"one"));
    logged(&running, 2);
    copy(&running, &left);
    let journals = fs::read_dir(&left).unwrap().map(|file| file.unwrap().path());
    let journals = journals.filter(|file| file.file_name().unwrap().to_string_lossy().starts_with("purges-"));
    journals.for_each(|file| fs::write(&file, vec![0; fs::metadata(&file).unwrap().len() as usize]).unwrap());
    let after = start(&left);
    for key in ["removed", "later"] {
        assert!(found(&after, key).iter().all(|(_, _, is_confirmed)| !is_confirmed), "{key}");
    }
}

/// Damages the files of a directory in a way that a number chooses. `early` is the same directory some time before.
fn damage(path: &Path, early: &Path, mut random: impl FnMut(usize) -> usize) -> String {
    let list = |folder: &Path| -> Vec<PathBuf> {
        let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|file| file.is_file() && fs::metadata(file).unwrap().len() > 0).collect()
    };
    let mut files = list(path);
    files.extend(list(&path.join("segments")));
    files.sort();
    let file = &files[random(files.len())];
    let mut bytes = fs::read(file).unwrap();
    // Most of a file may be empty.
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(bytes.len(), |last| last + 1);
    let page = |random: &mut dyn FnMut(usize) -> usize| random(used.div_ceil(4096)) * 4096;
    let what = match random(6) {
        0 => {
            let bit = random(used * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
            format!("bit {bit}")
        }
        1 => {
            let length = random(used);
            bytes.truncate(length);
            format!("cut to {length}")
        }
        2 => {
            let at = page(&mut random);
            let end = (at + 4096).min(bytes.len());
            bytes[at..end].fill(0);
            format!("zeros at {at}")
        }
        3 => {
            let (one, other) = (page(&mut random), page(&mut random));
            let length = 4096.min(bytes.len() - one).min(bytes.len() - other);
            let copied = bytes[one..one + length].to_vec();
            bytes.copy_within(other..other + length, one);
            bytes[other..other + length].copy_from_slice(&copied);
            format!("swapped {one} and {other}")
        }
        4 => {
            // A write that the disk has lost.
            let then = fs::read(early.join(file.strip_prefix(path).unwrap())).unwrap_or_default();
            let at = page(&mut random);
            let end = (at + 4096).min(bytes.len());
            bytes[at..end].fill(0);
            if let Some(block) = then.get(at..end.min(then.len())) {
                bytes[at..at + block.len()].copy_from_slice(block);
            }
            format!("an old block at {at}")
        }
        _ => {
            // A block of another file, as after a write that went astray.
            let from = fs::read(&files[random(files.len())]).unwrap();
            let at = page(&mut random);
            let length = from.len().min(4096).min(bytes.len() - at);
            bytes[at..at + length].copy_from_slice(&from[..length]);
            format!("a foreign block at {at}")
        }
    };
    fs::write(file, bytes).unwrap();
    format!("{}: {what}", file.display())
}

#[test]
fn damaged_files_cost_objects_and_never_a_wrong_byte() {
    let faults: u64 = std::env::var("KASOKU_DISK_FAULTS").ok().and_then(|text| text.parse().ok()).unwrap_or(200);
    let folder = tempfile::tempdir().unwrap();
    let [clean, early, left, tried] = ["clean", "early", "left", "tried"].map(|name| folder.path().join(name));
    let mut current = HashMap::new();
    let disk = start(&clean);
    let mut write = |disk: &Disk, number: u64, generation: u64| {
        let (key, length) = (format!("key{number}"), (number * 977 % 9000) as usize + 1);
        let bytes = body(number << 8 | generation, length);
        put(disk, object(&key, 1, &bytes));
        current.insert(key, bytes);
    };
    (0..60).for_each(|number| write(&disk, number, 0));
    write(&disk, 1000 * 1000, 0);
    disk.stop();
    let disk = start(&clean);
    (30..80).for_each(|number| write(&disk, number, 1));
    logged(&clean, 61 + 50);
    copy(&clean, &early);
    let removed: Vec<String> = (0..80).step_by(4).map(|number| format!("key{number}")).collect();
    for key in &removed {
        block_on(disk.remove(key.as_bytes(), Removal::Key).wait()).unwrap();
        current.remove(key);
    }
    copy(&clean, &left);
    let mut lost = 0;
    let mut state = 1_u64;
    for fault in 0..faults {
        let _ = fs::remove_dir_all(&tried);
        copy(&left, &tried);
        let what = damage(&tried, &early, |below| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below.max(1)
        });
        let after = start(&tried);
        for key in &removed {
            assert!(found(&after, key).iter().all(|(_, _, is_confirmed)| !is_confirmed), "{fault}, {what}: {key}");
        }
        for (key, bytes) in &current {
            let found = found(&after, key);
            let is_right = |found: &(u64, Vec<u8>, bool)| found.0 == 1 && (found.1 == *bytes || !found.2);
            assert!(found.len() <= 1 && found.iter().all(is_right), "{fault}, {what}: {key}");
            lost += usize::from(found.is_empty());
        }
        put(&after, object("new", 1, b"after"));
        assert_eq!(found(&after, "new"), [(1, b"after".to_vec(), true)], "{fault}, {what}");
    }
    assert!(lost > 0, "no fault had any effect");
    let each = lost as f64 / faults as f64;
    println!("{faults} faults: {each:.1} of {} objects lost by each", current.len());
}
