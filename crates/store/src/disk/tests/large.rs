//! Large objects, which are written while they come.

use super::*;
use std::collections::HashSet;
use std::sync::mpsc;

/// Writes a large object; returns it before it can be found.
pub(super) fn finished(disk: &Disk, key: &str, body: &[u8]) -> FinishedLarge {
    let mut large = begun(disk, key, body);
    for chunk in body.chunks(256 << 10) {
        block_on(large.append(Bytes::copy_from_slice(chunk))).unwrap();
    }
    let description = format!("of {key}").into_bytes().into();
    block_on(large.finish(key.as_bytes().into(), 1, description, 1_700_000_000_000)).unwrap()
}

fn begun(disk: &Disk, key: &str, body: &[u8]) -> LargeWriter {
    block_on(disk.begin(key.as_bytes(), 0, Some(body.len() as u64))).unwrap()
}

pub(super) fn segments(folder: &Path) -> Vec<u64> {
    let files = fs::read_dir(folder.join("segments")).unwrap();
    // One may be evicted after it was listed.
    files.filter_map(|file| file.unwrap().metadata().ok()).map(|file| file.len()).collect()
}

#[test]
fn it_is_found_when_it_is_published_and_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let disk = start(folder.path());
    let body = body(1, 3_000_000);
    let large = finished(&disk, "a", &body);
    assert_eq!(found(&disk, "a"), []);
    let stored = large.stored_body();
    assert!(large.publish());
    assert_eq!(found(&disk, "a"), [(1, body.clone(), true)]);
    let open = stored.open().unwrap();
    let chunk = open.chunk_at(600_000).unwrap();
    assert_eq!(chunk.first(), 512 << 10);
    assert_eq!(block_on(chunk.bytes()).unwrap(), &body[512 << 10..768 << 10]);
    assert!(open.chunk_at(3_000_000).is_none());
    logged(folder.path(), 1);
    let left = tempfile::tempdir().unwrap();
    copy(folder.path(), left.path());
    disk.stop();
    for path in [folder.path(), left.path()] {
        assert_eq!(found(&start(path), "a"), [(1, body.clone(), true)]);
    }
}

#[test]
fn a_body_of_unknown_length_gets_room_as_it_comes_up_to_a_quarter_of_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let disk = start(folder.path());
    let mut large = block_on(disk.begin(b"a", 0, None)).unwrap();
    let chunk = Bytes::from(body(1, 1 << 20));
    let mut taken = 0;
    while block_on(large.append(chunk.clone())).is_ok() {
        taken += 1;
    }
    assert_eq!(taken, 15, "a quarter of 64 MiB, less the header");
    assert!(disk.status().used_bytes <= 17 * MIB);
    drop(large);
    until(|| segments(folder.path()).is_empty());
    assert!(block_on(disk.begin(b"a", 0, Some(17 * MIB))).is_err());
}

#[test]
fn what_was_not_complete_when_the_process_ended_takes_no_room() {
    let folder = tempfile::tempdir().unwrap();
    let disk = start(folder.path());
    let body = body(1, 3_000_000);
    let mut large = begun(&disk, "a", &body);
    block_on(large.append(Bytes::copy_from_slice(&body[..1 << 20]))).unwrap();
    let left = tempfile::tempdir().unwrap();
    copy(folder.path(), left.path());
    let disk = start(left.path());
    assert_eq!(found(&disk, "a"), []);
    until(|| disk.status().used_bytes == 0);
    let image = DiskImage::open(left.path(), 1_700_000_000_000).unwrap();
    assert_eq!((segments(left.path()), image.summary().damaged_segments), (vec![0], 0), "it is no damage");
}

#[test]
fn a_removal_before_it_is_published_holds() {
    let folder = tempfile::tempdir().unwrap();
    let disk = start(folder.path());
    let large = finished(&disk, "a", &body(1, 2_000_000));
    block_on(disk.remove(b"a", Removal::Key).wait()).unwrap();
    assert!(!large.publish());
    assert_eq!(found(&disk, "a"), []);
    until(|| segments(folder.path()).is_empty());
    disk.stop();
    assert_eq!(found(&start(folder.path()), "a"), []);
}

#[test]
fn what_is_stored_while_it_comes_is_newer() {
    let folder = tempfile::tempdir().unwrap();
    let disk = start(folder.path());
    let body = body(1, 2_000_000);
    put(&disk, object("a", 1, b"older"));
    let mut large = begun(&disk, "a", &body);
    put(&disk, object("a", 1, b"newer"));
    block_on(large.append(Bytes::from(body.clone()))).unwrap();
    let finished_late = block_on(large.finish(b"a".as_slice().into(), 1, b"of a".as_slice().into(), 0)).unwrap();
    let newer = [(1, b"newer".to_vec(), true)];
    assert_eq!(found(&disk, "a"), newer);
    assert!(!finished_late.publish());
    assert_eq!(found(&disk, "a"), newer);
    until(|| segments(folder.path()).len() == 1);
    // Between its completion and its publication.
    let finished_early = finished(&disk, "b", &body);
    put(&disk, object("b", 1, b"newer"));
    assert!(!finished_early.publish());
    disk.stop();
    let disk = start(folder.path());
    for key in ["a", "b"] {
        assert_eq!(found(&disk, key), newer, "{key}");
    }
}

/// An owner whose marks are given only when the test says so: until then, a checkpoint has its log and journal, and no place yet.
struct SlowOwner {
    asked: Mutex<mpsc::Sender<()>>,
    answers: Mutex<mpsc::Receiver<()>>,
}

impl Owner for SlowOwner {
    fn now_ms(&self) -> u64 {
        1_700_000_000_000
    }

    fn recover(&self, _: Option<Marks>) {}

    fn for_each_in_memory(&self, _: &mut dyn FnMut(&[u8])) {}

    fn renewed(&self, mark: Vec<u8>) -> Vec<u8> {
        mark
    }

    fn marks(&self) -> Vec<u8> {
        let _ = self.asked.lock().unwrap().send(());
        // At its end, the test gives all answers at once. A test that fails gives none.
        let _ = self.answers.lock().unwrap().recv_timeout(Duration::from_secs(20));
        Vec::new()
    }
}

#[test]
fn a_removal_holds_where_a_checkpoint_runs_before_the_log_hears_of_the_object() {
    for is_before_checkpoint in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let [running, killed_early, killed] =
            ["running", "killed_early", "killed"].map(|name| folder.path().join(name));
        let ((asked, is_asked), (answer, answers)) = (mpsc::channel(), mpsc::channel());
        let owner = Arc::new(SlowOwner { asked: Mutex::new(asked), answers: Mutex::new(answers) });
        answer.send(()).unwrap();
        let disk = loaded(start_with(options(&running, 64 * MIB), owner).unwrap());
        is_asked.recv().unwrap();
        let large = finished(&disk, "removed", &body(1, 2_000_000));
        let checkpoint = || assert!(disk.shared.jobs.push_first(Job::Checkpoint(mpsc::channel().0)).is_ok());
        let remove = || block_on(disk.remove(b"removed", Removal::Key).wait()).unwrap();
        // The thread that writes objects is held by one checkpoint, and takes another one before it hears of the publication.
        checkpoint();
        is_asked.recv().unwrap();
        assert!(large.publish());
        assert_eq!(found(&disk, "removed").len(), 1);
        if is_before_checkpoint {
            remove();
        }
        checkpoint();
        answer.send(()).unwrap();
        is_asked.recv().unwrap();
        if !is_before_checkpoint {
            remove();
        }
        copy(&running, &killed_early);
        answer.send(()).unwrap();
        put(&disk, object("later", 1, b"one"));
        let log = running.join(format!("log-{}", newest_checkpoint(&running)));
        until(|| fs::metadata(&log).unwrap().len() > 0);
        copy(&running, &killed);
        drop(answer);
        disk.stop();
        for path in [&killed_early, &killed, &running] {
            let after = start(path);
            assert_eq!(found(&after, "removed"), [], "{is_before_checkpoint} {}", path.display());
            assert_eq!(found(&after, "later").len(), usize::from(path != &killed_early));
        }
    }
}

#[test]
fn another_description_leaves_the_body_where_it_is_until_the_descriptions_take_too_much() {
    let folder = tempfile::tempdir().unwrap();
    let disk = start(folder.path());
    let body = body(1, 2_000_000);
    let large = finished(&disk, "a", &body);
    let stored = large.stored_body();
    assert!(large.publish());
    let refresh = |description: &[u8]| {
        let object = NewObject { description: description.into(), chunks: Vec::new(), ..object("a", 1, b"") };
        let before = disk.status().counts;
        assert!(disk.refresh(object, stored.clone()));
        let state = || (disk.status().objects, disk.status().counts.refused_objects);
        until(|| state().0 == 1 || state().1 > before.refused_objects);
        disk.status().objects == 1
    };
    let described = |disk: &Disk| match disk.find(b"a") {
        Finding::Objects(objects) => objects.first().map(|object| object.description.to_vec()),
        Finding::OnDisk => panic!("it was just written"),
    };
    assert!(refresh(b"new"));
    assert_eq!(described(&disk).unwrap(), b"new");
    assert_eq!(segments(folder.path()).len(), 1);
    disk.stop();
    let again = start(folder.path());
    assert_eq!(described(&again).unwrap(), b"new");
    again.stop();
    drop(again);
    let disk = start(folder.path());
    let Finding::Objects(objects) = disk.find(b"a") else { panic!("it was just written") };
    let stored = objects[0].stored_body().unwrap();
    let mut count = 0;
    loop {
        let long = vec![b'x'; 100_000];
        let object = NewObject { description: long.into(), chunks: Vec::new(), ..object("a", 1, b"") };
        assert!(disk.refresh(object, stored.clone()));
        let refused = || disk.status().counts.refused_objects > 0;
        until(|| disk.status().objects == 1 || refused());
        if refused() {
            break;
        }
        count += 1;
    }
    assert!((5..=11).contains(&count), "{count}");
    assert_eq!(disk.status().objects, 0, "it is fetched anew");
}

#[test]
fn a_small_object_whose_body_stays_on_disk_is_written_anew_with_its_description() {
    let folder = tempfile::tempdir().unwrap();
    let disk = start(folder.path());
    put(&disk, object("a", 1, &body(1, 50_000)));
    let Finding::Objects(objects) = disk.find(b"a") else { panic!("it was just written") };
    let stored = objects[0].stored_body().unwrap();
    let object = NewObject { description: b"of a".as_slice().into(), chunks: Vec::new(), ..object("a", 1, b"") };
    assert!(disk.refresh(object, stored));
    until(|| disk.status().counts.stored_objects == 2);
    assert_eq!(found(&disk, "a"), [(1, body(1, 50_000), true)]);
}

#[test]
fn who_holds_a_body_does_not_keep_it_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let disk = start(folder.path());
    let large = finished(&disk, "first", &body(1, 10 << 20));
    let stored = large.stored_body();
    assert!(large.publish());
    let open = stored.open().unwrap();
    for number in 0..8 {
        assert!(finished(&disk, &format!("{number}"), &body(number, 10 << 20)).publish());
    }
    assert!(stored.open().is_none() && !stored.is_there());
    let chunk = open.chunk_at(0).unwrap();
    assert_eq!(block_on(chunk.bytes()).unwrap().len(), 256 << 10, "who has opened it reads on");
    assert!(disk.status().used_bytes <= 64 * MIB);
}

#[test]
fn who_reads_goes_on_after_the_directory_was_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let disk = start(folder.path());
    let large = finished(&disk, "a", &body(1, 2_000_000));
    let open = large.stored_body().open().unwrap();
    assert!(large.publish());
    disk.give_up();
    for file in fs::read_dir(folder.path().join("segments")).unwrap() {
        let file = fs::File::open(file.unwrap().path()).unwrap();
        file.sync_all().unwrap();
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    }
    assert_eq!(block_on(open.chunk_at(1 << 20).unwrap().bytes()).unwrap(), &body(1, 2_000_000)[1 << 20..1280 << 10]);
    let other = start(folder.path());
    assert_eq!(found(&other, "a"), [(1, body(1, 2_000_000), true)]);
}

#[test]
fn large_objects_that_are_all_in_memory_as_well_make_room() {
    let folder = tempfile::tempdir().unwrap();
    let owner = owner();
    let disk = loaded(start_with(options(folder.path(), 64 * MIB), owner.clone()).unwrap());
    for number in 0..20 {
        let key = format!("{number}");
        owner.in_memory.lock().unwrap().push(key.clone());
        assert!(finished(&disk, &key, &body(number, 10 << 20)).publish(), "{number}");
        assert!(disk.status().used_bytes <= 64 * MIB);
    }
    assert_eq!(found(&disk, "19").len(), 1);
}

#[test]
fn what_still_comes_when_the_directory_is_given_up_goes_on_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let disk = start(folder.path());
    let body = body(1, 3 << 20);
    let mut large = begun(&disk, "a", &body);
    let chunk = block_on(large.append(Bytes::copy_from_slice(&body[..1 << 20]))).unwrap();
    disk.give_up();
    let other = start(folder.path());
    assert_eq!(segments(folder.path()), [0_u64; 0]);
    assert_eq!(other.status().used_bytes, 0);
    assert_eq!(block_on(chunk.bytes()).unwrap(), &body[..1 << 20]);
    let next = block_on(large.append(Bytes::copy_from_slice(&body[1 << 20..2 << 20]))).unwrap();
    assert_eq!(block_on(next.bytes()).unwrap(), &body[1 << 20..2 << 20]);
}

#[test]
fn the_segments_of_a_directory_that_was_given_up_lend_no_name_to_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    let names = || -> HashSet<String> {
        let files = fs::read_dir(folder.path().join("segments")).unwrap();
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect()
    };
    let disk = start(folder.path());
    put(&disk, object("small", 1, b"old"));
    let large = finished(&disk, "large", &body(1, 2_000_000));
    let of_first = names();
    assert_eq!(of_first.len(), 2);
    let first = disk.shared.store().unwrap();
    disk.shared.lose(&first).unwrap();
    until(|| disk.shared.store().is_some_and(|store| !Arc::ptr_eq(&store, &first)));
    let disk = loaded(disk);
    put(&disk, object("small", 1, b"new"));
    assert!(finished(&disk, "large", &body(2, 2_000_000)).publish());
    drop(large);
    assert!(names().is_disjoint(&of_first));
    assert_eq!(found(&disk, "small"), [(1, b"new".to_vec(), true)]);
    logged(folder.path(), 2);
    disk.stop();
    assert_eq!(found(&start(folder.path()), "large"), [(1, body(2, 2_000_000), true)]);
}

#[test]
fn what_comes_at_a_time_does_not_drive_everything_out() {
    let folder = tempfile::tempdir().unwrap();
    let disk = start(folder.path());
    assert!(finished(&disk, "kept", &body(1, 5 << 20)).publish());
    let begin = |number: usize| block_on(disk.begin(format!("{number}").as_bytes(), 0, Some(14 << 20)));
    let coming: Vec<_> = (0..5).filter_map(|number| begin(number).ok()).collect();
    assert_eq!(coming.len(), 2, "half of 64 MiB");
    assert_eq!(found(&disk, "kept").len(), 1);
    drop(coming);
    until(|| segments(folder.path()).len() == 1);
    assert!(begin(9).is_ok(), "nothing was paused");
}
