//! A disk that is slow, silent or fails must not hold up the other requests of its worker: for files of a directory, and for
//! files that an application names. The disk is a file system of the test's own. If it can't be mounted (that takes root and
//! /dev/fuse), the tests say so and check nothing.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

#[path = "files_slow_disk/disk.rs"]
mod disk;

use disk::{NAME, Question, SlowDisk};
use kasoku_metrics::Counter;
use kasoku_options::{HostPattern, OriginAddress, Route, SendfileRules};
use kasoku_testkit::{Client, Ending, Folder, Origin, Scenario, Setup, get, ok};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// The longest window, in bytes (`files/body.rs`).
const WINDOW: usize = 2 << 20;

/// The length of the file in bytes: three windows and a bit.
const LONG: usize = 3 * WINDOW + 12_345;

/// The time limit in the tests of timeouts.
const SHORT: Duration = Duration::from_millis(100);

/// The number of times that others are served while a request waits for the disk.
const TURNS: usize = 5;

/// How a client's request leads to the file on the slow disk.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// The file is below a directory that is an origin.
    Directory,
    /// An application names the file.
    Named,
}

const BOTH_WAYS: [Way; 2] = [Way::Directory, Way::Named];

/// One worker, a slow disk, and origins that don't use that disk. The disk is dropped first: it releases the engine, which then
/// ends.
struct Scene {
    disk: SlowDisk,
    scene: Scenario,
    application: Origin,
    _files: Folder,
    content: Vec<u8>,
}

/// Bytes of which no two windows are alike.
fn content() -> Vec<u8> {
    (0..LONG as u64).map(|number| (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}

impl Scene {
    fn new() -> Option<Self> {
        Self::with(|_| {})
    }

    /// `change` applies to the routes of all sites.
    fn with(change: impl Fn(&mut Route)) -> Option<Self> {
        let content = content();
        let (disk, files) = (SlowDisk::mount(&content)?, Folder::new());
        files.write("short.txt", "a short file");
        let application = Origin::start([get("/stored").answers(ok(&["Cache-Control: max-age=600"], "a stored page"))]);
        let host = |name: &str| [HostPattern::Exact(name.into())];
        let directory = |route: &mut Route, folder: &std::path::Path| {
            route.pass = true;
            route.origins = vec![OriginAddress::Files(folder.to_owned()).into()];
        };
        let scene = Setup::safe()
            .route(change)
            .site(&host("disk.test"), |route| directory(route, disk.path()))
            .site(&host("files.test"), |route| directory(route, files.path()))
            .site(&host("example.org"), |route| {
                route.origins = vec![application.address()];
                route.sendfile =
                    Arc::new(SendfileRules { roots: vec![disk.path().to_owned()], ..SendfileRules::default() });
            })
            .run_with_own_origins();
        assert_eq!(scene.client().get("/stored").text(), "a stored page");
        Some(Self { disk, scene, application, _files: files, content })
    }

    /// A client that has asked for the long file.
    fn asks(&self, way: Way) -> Client {
        self.asks_with(way, &[])
    }

    fn asks_with(&self, way: Way, fields: &[&str]) -> Client {
        let mut client = self.scene.client();
        match way {
            Way::Directory => client.ask("GET", &format!("/{NAME}"), &[&["Host: disk.test"], fields].concat()),
            Way::Named => {
                let named = format!("X-Sendfile: {}", self.disk.file().display());
                self.application.then(get("/download").answers(ok(&[&named], "")));
                client.ask("GET", "/download", fields)
            }
        };
        client
    }

    /// Checks that a hit, a file of another disk and a page of the application are served as usual.
    #[track_caller]
    fn serves_others(&self) {
        // The worker has handled all events that could hold it up.
        self.scene.settled();
        let hit = self.scene.client().get("/stored");
        assert!(hit.is_hit() && hit.text() == "a stored page");
        let file = self.scene.client().get_with("/short.txt", &["Host: files.test"]);
        assert_eq!(file.short(), (200, "a short file".to_owned()));
        self.application.then(get("/page").answers(ok(&["Cache-Control: private"], "a page")));
        assert_eq!(self.scene.client().get("/page").short(), (200, "a page".to_owned()));
        assert_eq!(self.disk.asked_by_workers(), []);
    }
}

#[test]
fn while_a_read_waits_for_the_disk_others_are_served() {
    for way in BOTH_WAYS {
        // The first bytes of the file; then bytes behind the first window.
        for from in [0, WINDOW, WINDOW + (1 << 20)] {
            let Some(scene) = Scene::new() else { return };
            scene.disk.holds(Question::ReadFrom(from as u64));
            let mut client = scene.asks(way);
            // The head doesn't wait for the disk.
            let head = client.next_head();
            assert_eq!((head.word(1), head.field("content-length")), ("200", Some(LONG.to_string())), "{way:?}");
            let response = thread::scope(|threads| {
                let response = threads.spawn(move || client.rest_of(head));
                scene.disk.is_asked();
                // These requests alternate with the download, which gets to the held bytes meanwhile if it isn't there yet.
                for _ in 0..TURNS {
                    scene.serves_others();
                }
                scene.disk.lets_go();
                response.join().unwrap()
            });
            assert!(response.ending == Ending::Whole && response.body == scene.content, "{way:?} {from}");
            scene.serves_others();
        }
    }
}

#[test]
fn while_several_ranges_wait_for_the_disk_others_are_served() {
    let Some(scene) = Scene::new() else { return };
    let last = WINDOW + (100 << 10);
    scene.disk.holds(Question::ReadFrom(WINDOW as u64));
    let mut client = scene.asks_with(Way::Named, &[&format!("Range: bytes=0-9,{WINDOW}-{last}")]);
    scene.disk.is_asked();
    scene.serves_others();
    scene.disk.lets_go();
    let response = client.response();
    assert_eq!(response.status, 206);
    let parts = [&scene.content[..10], &scene.content[WINDOW..=last]];
    let has = |part: &[u8]| response.body.windows(part.len()).any(|bytes| bytes == part);
    assert!(parts.iter().all(|part| has(part)) && response.field("content-type").starts_with("multipart/byteranges"));
    scene.serves_others();
}

#[test]
fn while_a_look_up_waits_for_the_disk_others_are_served() {
    for way in BOTH_WAYS {
        for question in [Question::LookUp, Question::Open, Question::Attributes] {
            let Some(scene) = Scene::new() else { return };
            scene.disk.holds(question);
            let mut client = scene.asks(way);
            scene.disk.is_asked();
            scene.serves_others();
            scene.disk.lets_go();
            let response = client.response();
            assert!(response.status == 200 && response.body == scene.content, "{way:?} {question:?}");
        }
    }
}

#[test]
fn a_read_that_never_comes_ends_its_answer_in_time() {
    for way in BOTH_WAYS {
        for from in [0, WINDOW] {
            let Some(scene) = Scene::with(|route| route.origin.between_bytes_timeout = SHORT) else { return };
            scene.disk.holds(Question::ReadFrom(from as u64));
            let response = scene.asks(way).cut_response();
            assert_eq!((response.status, response.ending), (200, Ending::Cut), "{way:?}");
            assert!(response.body.len() <= from && scene.content.starts_with(&response.body), "{way:?}");
            scene.scene.counted(Counter::Aborted, 1);
            assert_eq!(scene.scene.engine.metrics().total(Counter::OriginErrors), 1, "{way:?}");
            scene.serves_others();
        }
    }
}

#[test]
fn a_look_up_that_never_comes_is_504_in_time() {
    for way in BOTH_WAYS {
        for question in [Question::LookUp, Question::Open] {
            let Some(scene) = Scene::with(|route| route.origin.first_byte_timeout = SHORT) else { return };
            scene.disk.holds(question);
            let response = scene.asks(way).response();
            assert_eq!(response.status, 504, "{way:?} {question:?}");
            scene.serves_others();
        }
    }
}

#[test]
fn a_read_that_fails_cuts_its_answer_and_is_the_disks_fault() {
    for way in BOTH_WAYS {
        let Some(scene) = Scene::new() else { return };
        scene.disk.fails_from(WINDOW as u64 + 1);
        let response = scene.asks(way).cut_response();
        assert_eq!((response.status, response.ending), (200, Ending::Cut), "{way:?}");
        assert!(response.body.len() <= WINDOW && scene.content.starts_with(&response.body), "{way:?}");
        scene.scene.counted(Counter::Aborted, 1);
        assert_eq!(scene.scene.engine.metrics().total(Counter::OriginErrors), 1, "{way:?}");
        scene.serves_others();
    }
}

#[test]
fn a_name_that_the_kernel_knows_is_opened_elsewhere_too() {
    for way in BOTH_WAYS {
        let Some(scene) = Scene::new() else { return };
        scene.disk.kernel_caches_for(Duration::from_secs(3600));
        assert!(scene.asks(way).response().body == scene.content);
        scene.disk.holds(Question::Open);
        let mut client = scene.asks(way);
        scene.disk.is_asked();
        scene.serves_others();
        scene.disk.lets_go();
        let response = client.response();
        assert!(response.status == 200 && response.body == scene.content, "{way:?}");
        scene.serves_others();
    }
}

#[test]
fn whether_a_file_was_changed_meanwhile_is_asked_elsewhere_too() {
    for way in BOTH_WAYS {
        let Some(scene) = Scene::new() else { return };
        let mut client = scene.asks(way);
        let head = client.next_head();
        scene.disk.holds(Question::Attributes);
        let response = thread::scope(|threads| {
            let response = threads.spawn(move || client.rest_of(head));
            scene.disk.is_asked();
            scene.serves_others();
            scene.disk.lets_go();
            response.join().unwrap()
        });
        assert!(response.ending == Ending::Whole && response.body == scene.content, "{way:?}");
        scene.serves_others();
    }
}
