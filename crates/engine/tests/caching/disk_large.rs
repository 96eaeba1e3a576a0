//! Large responses: they stay on disk, and reach it while the first client reads.

use crate::disk::{FRESH, again, folder, not_modified, setup, status, written};
use kasoku_cache::Purge;
use kasoku_engine::purge::PurgeTarget;
use kasoku_testkit::{Client, Gate, Response, Scenario, Setup, get, ok, reply};
use std::os::unix::fs::FileExt;
use tempfile::TempDir;

/// A body whose bytes say where they are.
pub(crate) fn body(bytes: usize) -> String {
    let mut body = String::with_capacity(bytes + 16);
    while body.len() < bytes {
        body.push_str(&format!("{:015},", body.len()));
    }
    body.truncate(bytes);
    body
}

/// More than memory takes: `object-bytes-max` is 256 KiB.
pub(crate) fn small_memory(folder: &TempDir) -> Setup {
    setup(folder).options(|options| options.object_bytes_max = 256 << 10)
}

pub(crate) fn range(client: &mut Client, first: usize, last: usize) -> Response {
    client.get_with("/", &[&format!("Range: bytes={first}-{last}")])
}

/// Waits until so many bytes of a body have come.
fn has_come(scene: &Scenario, bytes: usize) {
    let mut client = scene.client();
    client.ask("GET", "/", &[]);
    let head = client.next_head();
    assert!(head.line.contains("200"));
    client.take(bytes);
}

fn is_hit_from_disk(scene: &Scenario, body: &str) {
    let mut client = scene.client();
    let hit = client.get("/");
    assert!(hit.is_hit() && hit.text() == body, "{} {}", hit.field("Cache-Status"), hit.text().len());
    for (first, last) in [(0, 0), (1, 300_000), (262_143, 262_144), (500_000, body.len() - 1)] {
        let part = range(&mut client, first, last);
        assert_eq!(part.status, 206);
        assert!(part.is_hit() && part.text() == body[first..=last], "{first} {last}");
    }
    let parts = client.get_with("/", &["Range: bytes=5-9,600000-600009"]);
    assert_eq!(parts.status, 206);
    assert!(parts.text().contains(&body[5..=9]) && parts.text().contains(&body[600_000..=600_009]));
    assert!(parts.text().ends_with("--\r\n"), "{}", parts.text());
    assert_eq!(range(&mut client, body.len(), body.len()).status, 416);
    let head = client.head("/", &[]);
    assert_eq!((head.is_hit(), head.field("Content-Length")), (true, body.len().to_string()));
    assert_eq!(client.get_with("/", &["If-None-Match: \"one\""]).status, 304);
}

#[test]
fn a_body_that_is_too_large_for_memory_is_stored_on_disk() {
    for has_length in [true, false] {
        for verify in [true, false] {
            let (folder, body) = (folder(), body(3_000_000));
            let fields = [FRESH, "ETag: \"one\""];
            let answer = if has_length {
                ok(&fields, &body)
            } else {
                let chunks = body
                    .as_bytes()
                    .chunks(70_000)
                    .map(|chunk| [format!("{:x}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat());
                let head = format!("HTTP/1.1 200 OK\r\n{FRESH}\r\nETag: \"one\"\r\nTransfer-Encoding: chunked\r\n\r\n");
                [head.into_bytes(), chunks.collect::<Vec<_>>().concat(), b"0\r\n\r\n".to_vec()].concat()
            };
            let verified = move |options: &mut kasoku_options::Options| {
                options.disk.iter_mut().for_each(|disk| disk.verify = verify);
            };
            let scene = small_memory(&folder).options(verified).run([get("/").answers(answer)]);
            assert_eq!(scene.client().get("/").text(), body);
            written(&scene, 1);
            is_hit_from_disk(&scene, &body);
            drop(scene);
            let scene = again(small_memory(&folder).options(verified), []);
            is_hit_from_disk(&scene, &body);
            assert!(scene.engine.cache().used_bytes() < 20_000, "only its head came into memory");
        }
    }
}

#[test]
fn who_joins_later_gets_what_has_come_from_disk() {
    let (folder, body, gate) = (folder(), body(4_000_000), Gate::new());
    let answer = ok(&[FRESH], &body);
    let (first, rest) = answer.split_at(3_000_000);
    let scene = small_memory(&folder).run([get("/").sends(first).waits(&gate).answers(rest)]);
    std::thread::scope(|scope| {
        let client = scope.spawn(|| scene.client().get("/").text());
        has_come(&scene, 2_500_000);
        let joined = [0, 1].map(|_| scope.spawn(|| scene.client().get("/").text()));
        let part = scope.spawn(|| range(&mut scene.client(), 1_000_000, 1_999_999).text());
        let late = scope.spawn(|| range(&mut scene.client(), 3_900_000, 3_999_999).text());
        // The part is complete before the fill is.
        assert!(part.join().unwrap() == body[1_000_000..2_000_000]);
        gate.open();
        assert!(client.join().unwrap() == body);
        assert!(joined.into_iter().all(|joined| joined.join().unwrap() == body));
        assert!(late.join().unwrap() == body[3_900_000..]);
    });
    assert_eq!(scene.origin.count(), 1);
}

#[test]
fn what_is_not_complete_is_not_stored() {
    let (folder, body) = (folder(), body(2_000_000));
    let mut cut = ok(&[FRESH], &body);
    cut.truncate(1_500_000);
    let scene = small_memory(&folder).run([get("/").answers(cut).closes(), get("/").answers(ok(&[FRESH], &body))]);
    scene.client().ask("GET", "/", &[]).cut_response();
    scene.eventually(|| std::fs::read_dir(folder.path().join("segments")).unwrap().count() == 0);
    assert_eq!(scene.client().get("/").text(), body);
    assert!(scene.client().get("/").is_hit());
}

#[test]
fn what_was_purged_while_it_came_is_not_stored() {
    let (folder, body, gate) = (folder(), body(2_000_000), Gate::new());
    let answer = ok(&[FRESH], &body);
    let (first, rest) = answer.split_at(1_000_000);
    let scene = small_memory(&folder)
        .run([get("/").sends(first).waits(&gate).answers(rest), get("/").answers(ok(&[FRESH], "new"))]);
    let mut client = scene.client();
    client.ask("GET", "/", &[]);
    assert!(client.next_head().line.contains("200"));
    let begun = client.take(500_000);
    crate::disk::purge(&scene, &PurgeTarget::Url("http://example.org/".to_owned()), Purge::Hard);
    gate.open();
    assert!([begun, client.take(1_500_000)].concat() == body.as_bytes(), "it was asked before the purge");
    assert_eq!(scene.client().get("/").text(), "new");
}

#[test]
fn a_purge_and_a_304_reach_what_stays_on_disk() {
    let (folder, body) = (folder(), body(2_000_000));
    let old = ["Cache-Control: max-age=0", "ETag: \"one\""];
    let scene = small_memory(&folder).run([
        get("/").answers(ok(&old, &body)),
        get("/").answers(not_modified(&[FRESH, "ETag: \"one\"", "X-Checked: yes"])),
    ]);
    let mut client = scene.client();
    assert!(client.get("/").text() == body);
    let confirmed = client.get("/");
    assert!(confirmed.text() == body && confirmed.field("X-Checked") == "yes");
    assert!(client.get("/").is_hit());
    scene.eventually(|| status(&scene).objects == 1);
    drop((client, scene));
    let scene = again(small_memory(&folder), [get("/").answers(ok(&[FRESH], "new"))]);
    let hit = scene.client().get("/");
    assert!(hit.is_hit() && hit.text() == body && hit.field("X-Checked") == "yes");
    crate::disk::purge(&scene, &PurgeTarget::Url("http://example.org/".to_owned()), Purge::Hard);
    assert_eq!(scene.client().get("/").text(), "new");
}

/// Changes a byte of the body on disk, in each copy that is there: what was written anew may stand behind the damaged one.
fn damage(folder: &TempDir, of: &str) {
    let mut count = 0;
    for file in std::fs::read_dir(folder.path().join("segments")).unwrap() {
        let path = file.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
        let copies = bytes.windows(of.len()).enumerate().filter(|(_, window)| *window == of.as_bytes());
        for (at, _) in copies {
            file.write_all_at(b"X", at as u64).unwrap();
            count += 1;
        }
    }
    assert!(count > 0);
}

#[test]
fn damage_at_the_beginning_is_a_miss_and_damage_later_cuts_the_connection() {
    let (folder, body) = (folder(), body(2_000_000));
    let answer = || get("/").answers(ok(&[FRESH], &body));
    let scene = small_memory(&folder).run([answer(), answer(), answer()]);
    assert!(scene.client().get("/").text() == body);
    written(&scene, 1);
    damage(&folder, &format!("{:015},", 16_000));
    let again = scene.client().get("/");
    assert!(!again.is_hit() && again.text() == body);
    assert_eq!(status(&scene).counts.damaged_objects, 1);
    written(&scene, 2);
    let hit = scene.client().get("/");
    assert!(hit.is_hit() && hit.text() == body);
    damage(&folder, &format!("{:015},", 1_600_000));
    let cut = scene.client().ask("GET", "/", &[]).cut_response();
    assert!(body.starts_with(&cut.text()) && cut.text().len() < 1_600_000, "{}", cut.text().len());
    let again = scene.client().get("/");
    assert!(!again.is_hit() && again.text() == body);
}

#[test]
fn where_the_disk_takes_nothing_a_large_body_passes_through() {
    let (folder, body) = (folder(), body(2_000_000));
    std::fs::write(folder.path().join("thesis.txt"), "x").unwrap();
    let answer = || get("/").answers(ok(&[FRESH], &body));
    let scene = small_memory(&folder).run([answer(), answer()]);
    for _ in 0..2 {
        assert!(scene.client().get("/").text() == body);
    }
    // A body that is too large for the store.
    let (folder, body) = (crate::disk::folder(), crate::disk_large::body(20 << 20));
    let chunked = reply("200 OK", &[FRESH], &body);
    let scene = small_memory(&folder).run([get("/").answers(chunked)]);
    assert!(scene.client().get("/").text() == body);
}
