//! What is added to large objects.

#![allow(clippy::single_range_in_vec_init, reason = "a list of parts may have one")]

use super::large::{finished, segments};
use super::*;
use std::ops::Range;

const BODY_BYTES: usize = 3_000_000;

/// The description of object `a`.
fn description(of: &str) -> Box<[u8]> {
    format!("of {of}").into_bytes().into()
}

/// Stores this range of a body as a large object.
fn stored(disk: &Disk, key: &str, body: &[u8], range: Range<usize>) -> StoredBody {
    let bytes = &body[range.clone()];
    let mut large = block_on(disk.begin(key.as_bytes(), range.start as u64, Some(bytes.len() as u64))).unwrap();
    append(&mut large, bytes).unwrap();
    let large = block_on(large.finish(key.as_bytes().into(), 1, description(key), 1_700_000_000_000)).unwrap();
    let stored = large.stored_body();
    assert!(large.publish());
    stored
}

fn append(large: &mut LargeWriter, bytes: &[u8]) -> Result<Vec<StoredChunk>, LargeError> {
    bytes.chunks(256 << 10).map(|chunk| block_on(large.append(Bytes::copy_from_slice(chunk)))).collect()
}

/// Begins to add this range, and writes its bytes.
fn adding(disk: &Disk, to: &StoredBody, body: &[u8], range: Range<usize>) -> Result<LargeWriter, LargeError> {
    let bytes = &body[range.clone()];
    let mut large = block_on(disk.extend(b"a", 1, to, (range.start as u64, bytes.len() as u64)))?;
    append(&mut large, bytes)?;
    Ok(large)
}

fn finish(large: LargeWriter) -> Result<FinishedLarge, LargeError> {
    block_on(large.finish(b"a".as_slice().into(), 1, description("a"), 1_700_000_000_000))
}

fn add(disk: &Disk, to: &StoredBody, body: &[u8], range: Range<usize>) -> StoredBody {
    let large = finish(adding(disk, to, body, range).unwrap()).unwrap();
    let stored = large.stored_body();
    assert!(large.publish());
    stored
}

fn objects(disk: &Disk) -> Vec<StoredObject> {
    match disk.find(b"a") {
        Finding::Objects(objects) => objects,
        Finding::OnDisk => block_on(disk.retrieve(b"a")).unwrap(),
    }
}

/// The ranges of the one object that is found; each byte is compared. Empty where none is found.
fn ranges(disk: &Disk, body: &[u8]) -> Vec<Range<usize>> {
    let objects = objects(disk);
    assert!(objects.len() <= 1);
    let Some(object) = objects.first() else { return Vec::new() };
    assert!(object.is_part_of(BODY_BYTES as u64));
    for chunk in &object.chunks {
        let first = chunk.first() as usize;
        assert!(block_on(chunk.bytes()).unwrap() == body[first..first + chunk.length() as usize]);
    }
    let parts = object.stored_body().unwrap().parts();
    parts.into_iter().map(|(first, length)| first as usize..(first + length) as usize).collect()
}

#[test]
fn parts_of_an_object_join_and_survive() {
    let folder = tempfile::tempdir().unwrap();
    let disk = start(folder.path());
    let body = body(1, BODY_BYTES);
    let mut stored = stored(&disk, "a", &body, 1_000_000..1_500_000);
    assert_eq!(ranges(&disk, &body), [1_000_000..1_500_000]);
    logged(folder.path(), 1);
    for (number, (added, expected)) in [
        (2_000_000..2_000_001, vec![1_000_000..1_500_000, 2_000_000..2_000_001]),
        (0..1_000_000, vec![0..1_500_000, 2_000_000..2_000_001]),
        (1_500_000..2_000_000, vec![0..2_000_001]),
        (2_000_001..BODY_BYTES, vec![0..BODY_BYTES]),
    ]
    .into_iter()
    .enumerate()
    {
        stored = add(&disk, &stored, &body, added);
        assert_eq!(ranges(&disk, &body), expected);
        logged(folder.path(), number as u64 + 2);
        let killed = tempfile::tempdir().unwrap();
        copy(folder.path(), killed.path());
        assert_eq!(ranges(&start(killed.path()), &body), expected);
    }
    assert_eq!(segments(folder.path()).len(), 1);
    disk.stop();
    let again = start(folder.path());
    assert_eq!(ranges(&again, &body), [0..BODY_BYTES]);
    // Without a checksum: in runs of the file, each of which has the next bytes of the body.
    let open = objects(&again)[0].stored_body().unwrap().open().unwrap();
    let (mut at, mut runs) = (0, 0);
    while let Some((file, position, length)) = open.run_at(at as u64) {
        let mut bytes = vec![0; length as usize];
        std::os::unix::fs::FileExt::read_exact_at(&*file, &mut bytes, position).unwrap();
        assert!(bytes == body[at..at + bytes.len()]);
        (at, runs) = (at + bytes.len(), runs + 1);
    }
    assert_eq!((at, runs), (BODY_BYTES, 5));
}

#[test]
fn a_crash_while_bytes_are_added_leaves_the_object_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let disk = start(folder.path());
    let body = body(1, BODY_BYTES);
    let stored = stored(&disk, "a", &body, 0..1_000_000);
    logged(folder.path(), 1);
    let before = segments(folder.path());
    let large = adding(&disk, &stored, &body, 1_000_000..2_000_000).unwrap();
    let in_the_middle = tempfile::tempdir().unwrap();
    copy(folder.path(), in_the_middle.path());
    let large = finish(large).unwrap();
    assert_eq!(ranges(&disk, &body), [0..1_000_000]);
    let before_publication = tempfile::tempdir().unwrap();
    copy(folder.path(), before_publication.path());
    // What is damaged: nothing; the checkpoint; the log as well.
    for damage in 0..3 {
        for (path, scanned) in [(&in_the_middle, vec![]), (&before_publication, vec![0..2_000_000])] {
            let killed = tempfile::tempdir().unwrap();
            copy(path.path(), killed.path());
            for file in fs::read_dir(killed.path()).unwrap().map(|file| file.unwrap()) {
                let name = file.file_name().into_string().unwrap();
                if damage >= 1 && name.starts_with("checkpoint") || damage == 2 && name.starts_with("log") {
                    fs::write(file.path(), "damaged").unwrap();
                }
            }
            let after = start(killed.path());
            let expected = if damage == 2 { scanned } else { vec![0..1_000_000] };
            assert_eq!(ranges(&after, &body), expected, "{damage}");
            if path.path() == in_the_middle.path() {
                let left = if damage == 2 { vec![0] } else { before.clone() };
                until(|| segments(killed.path()) == left);
            }
            // It can be extended, whatever the crash has left behind it.
            if let Some(found) = objects(&after).first() {
                let stored = found.stored_body().unwrap();
                add(&after, &stored, &body, 2_500_000..BODY_BYTES);
                assert_eq!(ranges(&after, &body), [expected, vec![2_500_000..BODY_BYTES]].concat());
            }
        }
    }
    assert!(large.publish());
    assert_eq!(ranges(&disk, &body), [0..2_000_000]);
}

#[test]
fn a_head_that_was_lost_with_the_power_costs_the_object_and_shows_no_other_byte() {
    let folder = tempfile::tempdir().unwrap();
    let disk = start(folder.path());
    let body = body(1, BODY_BYTES);
    let stored = stored(&disk, "a", &body, 0..1_000_000);
    let before = segments(folder.path());
    add(&disk, &stored, &body, 1_000_000..2_000_000);
    logged(folder.path(), 2);
    let killed = tempfile::tempdir().unwrap();
    copy(folder.path(), killed.path());
    let file = fs::read_dir(killed.path().join("segments")).unwrap().next().unwrap().unwrap();
    fs::OpenOptions::new().write(true).open(file.path()).unwrap().set_len(before[0]).unwrap();
    let after = start(killed.path());
    assert!(ranges(&after, &body).is_empty());
    assert_eq!(after.status().counts.damaged_objects, 1);
}

#[test]
fn one_addition_at_a_time_and_no_byte_twice() {
    let folder = tempfile::tempdir().unwrap();
    let disk = start(folder.path());
    let body = body(1, BODY_BYTES);
    let stored = stored(&disk, "a", &body, 0..1_000_000);
    let first = adding(&disk, &stored, &body, 1_000_000..1_500_000).unwrap();
    assert!(matches!(adding(&disk, &stored, &body, 2_000_000..2_500_000), Err(LargeError::Refused)));
    let first = finish(first).unwrap();
    assert!(adding(&disk, &stored, &body, 2_000_000..2_500_000).is_err(), "it is not published yet");
    assert!(first.publish());
    // By where the object was when it was found first.
    add(&disk, &stored, &body, 2_000_000..2_500_000);
    assert_eq!(ranges(&disk, &body), [0..1_500_000, 2_000_000..2_500_000]);
    let overlapping = adding(&disk, &stored, &body, 1_400_000..1_600_000).unwrap();
    assert!(finish(overlapping).is_err());
    until(|| adding(&disk, &stored, &body, 1_500_000..1_500_001).is_ok());
    assert_eq!(ranges(&disk, &body), [0..1_500_000, 2_000_000..2_500_000]);
}

#[test]
fn what_is_given_up_is_given_back_when_its_last_reader_has_left() {
    let folder = tempfile::tempdir().unwrap();
    let disk = start(folder.path());
    let body = body(1, BODY_BYTES);
    let stored = stored(&disk, "a", &body, 0..1_000_000);
    let (before, used) = (segments(folder.path()), disk.status().used_bytes);
    let mut large = block_on(disk.extend(b"a", 1, &stored, (1_000_000, 500_000))).unwrap();
    let chunks = append(&mut large, &body[1_000_000..1_400_000]).unwrap();
    assert!(append(&mut large, &body[1_400_000..1_600_000]).is_err(), "it has no more room");
    drop(large);
    let read: Vec<Bytes> = chunks.iter().map(|chunk| block_on(chunk.bytes()).unwrap()).collect();
    assert!(read.concat() == body[1_000_000..1_400_000]);
    assert!(disk.status().used_bytes > used);
    assert!(adding(&disk, &stored, &body, 2_000_000..2_000_001).is_err(), "it is still read");
    drop(chunks);
    until(|| segments(folder.path()) == before);
    until(|| disk.status().used_bytes == used);
    add(&disk, &stored, &body, 1_000_000..2_000_000);
    assert_eq!(ranges(&disk, &body), [0..2_000_000]);
}

/// Something that happens to the object while bytes are added to it.
type Change<'c> = &'c dyn Fn(&Disk, &StoredBody);

#[test]
fn what_changes_the_object_meanwhile_outweighs_the_addition() {
    let refresh = |disk: &Disk, stored: &StoredBody| {
        let object = NewObject { chunks: Vec::new(), ..object("a", 1, b"") };
        assert!(disk.refresh(object, stored.clone()));
        until(|| objects(disk).len() == 1);
    };
    let purge = |disk: &Disk, _: &StoredBody| block_on(disk.remove(b"a", Removal::Key).wait()).unwrap();
    let replace = |disk: &Disk, _: &StoredBody| put(disk, object("a", 1, b"newer"));
    let hide = |disk: &Disk, _: &StoredBody| disk.hide(b"a", 1);
    let changes: [(Change<'_>, bool); 4] = [(&refresh, true), (&purge, false), (&replace, false), (&hide, false)];
    for (number, (change, stays)) in changes.into_iter().enumerate() {
        for moment in 0..3 {
            let folder = tempfile::tempdir().unwrap();
            let disk = start(folder.path());
            let body = body(1, BODY_BYTES);
            let stored = stored(&disk, "a", &body, 0..1_000_000);
            let range = 1_000_000..1_200_000;
            let mut large = block_on(disk.extend(b"a", 1, &stored, (range.start as u64, range.len() as u64))).unwrap();
            if moment == 0 {
                change(&disk, &stored);
            }
            append(&mut large, &body[range]).unwrap();
            if moment == 1 {
                change(&disk, &stored);
            }
            let finished = finish(large);
            if moment == 2 {
                change(&disk, &stored);
            }
            assert!(!finished.is_ok_and(FinishedLarge::publish), "{number} {moment}");
            let after = |disk: &Disk| match (stays, number) {
                (true, _) => assert_eq!(ranges(disk, &body), [0..1_000_000]),
                (false, 2) => assert_eq!(found(disk, "a"), [(1, b"newer".to_vec(), true)]),
                _ => assert!(objects(disk).is_empty()),
            };
            after(&disk);
            if stays {
                until(|| adding(&disk, &stored, &body, 2_000_000..2_000_001).is_ok());
                until(|| adding(&disk, &stored, &body, 2_000_000..2_000_002).is_ok());
            }
            disk.stop();
            drop(disk);
            after(&start(folder.path()));
        }
    }
}

#[test]
fn a_purge_after_the_publication_holds() {
    let folder = tempfile::tempdir().unwrap();
    let disk = start(folder.path());
    let body = body(1, BODY_BYTES);
    let stored = stored(&disk, "a", &body, 0..1_000_000);
    add(&disk, &stored, &body, 1_000_000..2_000_000);
    block_on(disk.remove(b"a", Removal::Key).wait()).unwrap();
    put(&disk, object("later", 1, b"one"));
    logged(folder.path(), 2);
    let killed = tempfile::tempdir().unwrap();
    copy(folder.path(), killed.path());
    disk.stop();
    for path in [killed.path(), folder.path()] {
        assert!(objects(&start(path)).is_empty());
    }
}

#[test]
fn nothing_is_added_to_an_object_that_was_evicted() {
    let folder = tempfile::tempdir().unwrap();
    let disk = start(folder.path());
    let (body, large) = (body(1, BODY_BYTES), body(2, 10 << 20));
    let stored = stored(&disk, "a", &body, 0..1_000_000);
    let adding_then = adding(&disk, &stored, &body, 1_000_000..2_000_000).unwrap();
    for number in 0..8 {
        assert!(finished(&disk, &format!("{number}"), &large).publish());
    }
    assert!(stored.open().is_none());
    assert!(finish(adding_then).is_err());
    assert!(adding(&disk, &stored, &body, 2_000_000..2_500_000).is_err());
    assert!(objects(&disk).is_empty());
    assert!(disk.status().used_bytes <= 64 * MIB);
}

#[test]
fn who_gave_the_directory_up_writes_nothing_more() {
    let folder = tempfile::tempdir().unwrap();
    let disk = start(folder.path());
    let body = body(1, BODY_BYTES);
    let stored = stored(&disk, "a", &body, 0..1_000_000);
    let mut large = block_on(disk.extend(b"a", 1, &stored, (1_000_000, 1_000_000))).unwrap();
    let chunks = append(&mut large, &body[1_000_000..1_500_000]).unwrap();
    disk.give_up();
    let other = start(folder.path());
    assert_eq!(ranges(&other, &body), [0..1_000_000]);
    let found = objects(&other)[0].stored_body().unwrap();
    let wrong: Vec<u8> = body.iter().map(|byte| !byte).collect();
    let adding_there = adding(&other, &found, &wrong, 1_000_000..1_500_000).unwrap();
    assert!(append(&mut large, &body[1_500_000..2_000_000]).is_err());
    assert!(finish(large).is_err());
    assert!(chunks.iter().all(|chunk| block_on(chunk.bytes()).map_or(true, |bytes| {
        let first = chunk.first() as usize;
        bytes == body[first..first + bytes.len()]
    })));
    drop(chunks);
    assert!(finish(adding_there).unwrap().publish());
    let object = &objects(&other)[0];
    for chunk in &object.chunks {
        let (first, bytes) = (chunk.first() as usize, block_on(chunk.bytes()).unwrap());
        let expected = if first < 1_000_000 { &body } else { &wrong };
        assert!(bytes == expected[first..first + bytes.len()]);
    }
}

#[test]
fn an_object_whose_file_has_too_much_of_no_use_takes_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let disk = start(folder.path());
    let body = body(1, BODY_BYTES);
    let stored = stored(&disk, "a", &body, 0..1);
    let mut count = 0;
    let refused = loop {
        let at = 2 * (count + 1);
        match adding(&disk, &stored, &body, at..at + 1) {
            Ok(large) => assert!(finish(large).unwrap().publish()),
            Err(error) => break error,
        }
        count += 1;
    };
    assert!(matches!(refused, LargeError::Worn), "{refused}");
    assert!((100..400).contains(&count), "{count}");
    assert!(disk.status().used_bytes < 2 * MIB);
    assert_eq!(ranges(&disk, &body).len(), count + 1);
}

#[test]
fn what_is_added_at_a_time_does_not_drive_everything_out() {
    let folder = tempfile::tempdir().unwrap();
    let disk = start(folder.path());
    let body = body(1, BODY_BYTES);
    let kept = stored(&disk, "a", &body, 0..1);
    let coming = block_on(disk.extend(b"a", 1, &kept, (1, 14 << 20))).unwrap();
    let other = block_on(disk.begin(b"b", 0, Some(14 << 20))).unwrap();
    assert!(block_on(disk.begin(b"c", 0, Some(14 << 20))).is_err(), "half of 64 MiB");
    drop(coming);
    until(|| block_on(disk.begin(b"c", 0, Some(14 << 20))).is_ok());
    drop(other);
}
