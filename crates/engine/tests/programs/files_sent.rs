//! Files that go to clients by sendfile(2): each client gets every byte and not one more, however slowly it reads and whatever
//! happens to the file meanwhile. Nothing is stored here: the requests pass.

use kasoku_metrics::Counter;
use kasoku_options::{LogFormat, LogTarget, OriginAddress};
use kasoku_testkit::client::request;
use kasoku_testkit::{Client, Ending, Folder, Scenario, Setup};
use rustix::fs::{Advice, fadvise};
use rustix::io::{ReadWriteFlags, preadv2};
use std::fs::{self, File};
use std::io::{IoSliceMut, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest file that shares a buffer with its head, and the longest window, in bytes (`outgoing/file.rs`, `files/body.rs`).
const COPIED: usize = 32 << 10;
const WINDOW: usize = 2 << 20;

/// A client that has taken so many bytes of files counts as fast (`socket_buffer.rs`).
const EAGER_FROM: usize = 4 << 20;

/// More bytes than all buffers between two sockets hold.
const LONG: usize = 16 << 20;

/// Bytes of which no two windows are alike.
fn content(length: usize) -> Vec<u8> {
    (0..length as u64).map(|number| (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}

/// The engine keeps no file open after it has sent it, so the tests notice one that stays open.
fn setup(folder: &Folder) -> Setup {
    keeping_files_open(folder).options(|options| options.limits.open_files_max = 0)
}

fn keeping_files_open(folder: &Folder) -> Setup {
    Setup::safe().site(&[], |route| {
        route.pass = true;
        // A download that does not give its place back would hold up the next ones.
        route.origin.connections_max = 2;
        route.origins = vec![OriginAddress::Files(folder.path().to_owned()).into()];
    })
}

fn serve(folder: &Folder) -> Scenario {
    setup(folder).run_with_own_origins()
}

/// How often this process has that file open.
fn times_open(path: &Path) -> usize {
    let open = fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    open.filter(|target| target == path).count()
}

#[test]
fn files_of_all_lengths_arrive_as_they_are() {
    let folder = Folder::new();
    let scene = serve(&folder);
    let mut client = scene.client();
    let around = |bound: usize| [bound - 1, bound, bound + 1];
    let bounds = [1, COPIED, 64 << 10, WINDOW, 2 * WINDOW, 3 * WINDOW + (100 << 10)];
    for length in bounds.into_iter().flat_map(around).chain([10_000_000]) {
        let content = content(length);
        folder.write("a.bin", &content);
        // All on one connection, so that a missing or excess byte shows at the next answer.
        let whole = client.get("/a.bin");
        assert_eq!((whole.status, whole.field("content-length")), (200, length.to_string()));
        assert!(whole.body == content, "{length}");
        assert_eq!(client.head("/a.bin", &[]).field("content-length"), length.to_string());
    }
    assert_eq!(times_open(&folder.join("a.bin")), 0);
}

#[test]
fn ranges_of_a_long_file_are_cut_where_they_were_asked_for() {
    let folder = Folder::new();
    let content = content(4 * WINDOW + 3);
    folder.write("a.bin", &content);
    let scene = serve(&folder);
    let mut client = scene.client();
    for first in [0, 1, COPIED - 1, WINDOW - 1, WINDOW, 3 * WINDOW + 1] {
        for length in [1, 2, COPIED, COPIED + 1, WINDOW - 1, WINDOW, WINDOW + 1] {
            let last = first + length - 1;
            let part = client.get_with("/a.bin", &[&format!("Range: bytes={first}-{last}")]);
            assert_eq!(part.status, 206);
            assert!(part.body == content[first..=last], "{first}-{last}");
        }
    }
    let tail = client.get_with("/a.bin", &["Range: bytes=-7"]);
    assert!(tail.body == content[content.len() - 7..]);
}

#[test]
fn requests_that_are_sent_ahead_are_answered_behind_the_file() {
    let folder = Folder::new();
    let (long, short) = (content(5_000_000), content(1000));
    folder.write("long.bin", &long);
    folder.write("short.bin", &short);
    let scene = serve(&folder);
    let mut client = scene.client();
    let ask = |method, target| request(method, target, &[]);
    let ahead = [ask("GET", "/long.bin"), ask("GET", "/short.bin"), ask("HEAD", "/long.bin"), ask("GET", "/long.bin")];
    client.send(ahead.concat());
    assert!(client.response().body == long);
    assert!(client.response().body == short);
    assert_eq!(client.response_to_head().field("content-length"), "5000000");
    assert!(client.response().body == long);
}

#[test]
fn a_slow_reader_gets_all_of_it_and_delays_no_other() {
    let folder = Folder::new();
    let content = content(LONG);
    folder.write("long.bin", &content);
    folder.write("short.bin", "short");
    let scene = serve(&folder);
    let mut slow = Client::connect_slow(scene.engine.addresses()[0]);
    let mut other = scene.client();
    slow.ask("GET", "/long.bin", &[]).next_head();
    let mut taken = 0;
    while taken < LONG {
        let piece = slow.take((LONG - taken).min(1 << 20));
        assert!(piece == content[taken..taken + piece.len()], "{taken}");
        taken += piece.len();
        assert_eq!(other.get("/short.bin").text(), "short");
    }
    // The connection stays open.
    assert_eq!(slow.get("/short.bin").text(), "short");
}

#[test]
fn a_reader_that_leaves_gives_the_file_back_and_its_place() {
    let folder = Folder::new();
    let path = folder.write("long.bin", content(LONG));
    folder.write("short.bin", "short");
    let scene = serve(&folder);
    for number in 1..=5 {
        let mut leaves = Client::connect_slow(scene.engine.addresses()[0]);
        leaves.ask("GET", "/long.bin", &[]).next_head();
        assert_eq!(times_open(&path), 1);
        leaves.reset();
        scene.counted(Counter::Aborted, number);
        assert_eq!(times_open(&path), 0);
    }
    assert_eq!(scene.client().get("/short.bin").text(), "short");
}

#[test]
fn readers_of_the_same_file_share_what_is_open_until_it_is_replaced() {
    let folder = Folder::new();
    let path = folder.write("long.bin", content(LONG));
    let scene = keeping_files_open(&folder).run_with_own_origins();
    let readers = [(); 2].map(|()| {
        let mut reader = Client::connect_slow(scene.engine.addresses()[0]);
        reader.ask("GET", "/long.bin", &[]).next_head();
        reader
    });
    assert_eq!(times_open(&path), 1);
    readers.into_iter().for_each(Client::reset);
    scene.counted(Counter::Aborted, 2);
    assert_eq!(times_open(&path), 1);
    let new = folder.write("new.bin", "new");
    fs::rename(new, &path).unwrap();
    assert_eq!(scene.client().get("/long.bin").text(), "new");
    fs::remove_file(&path).unwrap();
    assert_eq!(scene.client().get("/long.bin").status, 404);
}

#[test]
fn a_reader_that_takes_nothing_is_cut() {
    let folder = Folder::new();
    let path = folder.write("long.bin", content(LONG));
    let scene = setup(&folder)
        .options(|options| options.limits.send_timeout = Duration::from_millis(100))
        .run_with_own_origins();
    let mut slow = Client::connect_slow(scene.engine.addresses()[0]);
    slow.ask("GET", "/long.bin", &[]);
    scene.counted(Counter::Aborted, 1);
    assert_eq!(times_open(&path), 0);
    let cut = slow.cut_response();
    assert!(cut.ending == Ending::Cut && cut.body.len() < LONG);
    let told = scene.engine.metrics().total(Counter::BodyBytesSent) as usize;
    assert!(cut.body.len() <= told && told < LONG, "{} of {told}", cut.body.len());
}

#[test]
fn the_log_tells_how_much_was_sent() {
    let folder = Folder::new();
    folder.write("a.bin", content(3_000_000));
    let log = folder.join("access.log");
    let target = Some(LogTarget::File(log.clone()));
    let scene = setup(&folder)
        .options(|options| (options.access_log.target, options.access_log.format) = (target, LogFormat::Json))
        .run_with_own_origins();
    let mut client = scene.client();
    client.get("/a.bin");
    client.get_with("/a.bin", &["Range: bytes=5-1000004"]);
    client.get_with("/a.bin", &["Range: bytes=5-9"]);
    client.head("/a.bin", &[]);
    drop(scene);
    let text = fs::read_to_string(log).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let bytes: Vec<_> = lines.map(|line| (line["status"].as_u64().unwrap(), line["bytes"].as_u64().unwrap())).collect();
    assert_eq!(bytes, [(200, 3_000_000), (206, 1_000_000), (206, 5), (200, 0)]);
}

/// The bytes that are sent of a download during which `change` changes the file, and how the download ends.
fn changed_meanwhile(change: impl FnOnce(&Folder, PathBuf)) -> (usize, Ending) {
    let folder = Folder::new();
    let content = content(LONG);
    let path = folder.write("a.bin", &content);
    let scene = serve(&folder);
    let mut client = Client::connect_slow(scene.engine.addresses()[0]);
    let head = client.ask("GET", "/a.bin", &[]).next_head();
    assert_eq!(head.field("content-length"), Some(LONG.to_string()));
    change(&folder, path);
    let response = client.rest_of(head);
    // A client that gets the announced length has the announced version.
    assert!(response.body.len() < LONG || response.body == content);
    let metrics = scene.engine.metrics().clone();
    drop(scene);
    (metrics.total(Counter::BodyBytesSent) as usize, response.ending)
}

#[test]
fn a_file_that_shrinks_is_cut_where_it_ends() {
    let (length, ending) = changed_meanwhile(|_, path| {
        File::options().write(true).open(path).unwrap().set_len(LONG as u64 / 2).unwrap();
    });
    assert!(ending == Ending::Cut && length <= LONG / 2, "{length}");
}

#[test]
fn a_file_that_grows_is_cut_before_its_last_window() {
    let (length, ending) = changed_meanwhile(|_, path| {
        File::options().append(true).open(path).unwrap().write_all(b"more").unwrap();
    });
    assert!(ending == Ending::Cut && length < LONG, "{length}");
}

#[test]
fn a_file_that_is_written_anew_in_its_place_is_cut_before_its_last_window() {
    let (length, ending) = changed_meanwhile(|_, path| {
        let mut file = File::options().write(true).open(path).unwrap();
        file.seek(SeekFrom::Start(LONG as u64 - 1)).unwrap();
        file.write_all(b"!").unwrap();
    });
    assert!(ending == Ending::Cut && length < LONG, "{length}");
}

#[test]
fn a_file_that_another_one_takes_the_place_of_is_read_to_its_end() {
    let (length, ending) = changed_meanwhile(|folder, path| {
        let new = folder.write("new.bin", "new");
        fs::rename(new, path).unwrap();
    });
    assert_eq!((length, ending), (LONG, Ending::Whole));
}

#[test]
fn a_file_that_is_not_in_memory_is_read_first() {
    let folder = Folder::below(Path::new(env!("CARGO_TARGET_TMPDIR")));
    let content = content(8 * WINDOW + 5);
    for name in ["long.bin", "short.bin"] {
        let length = if name == "long.bin" { content.len() } else { COPIED };
        let file = File::open(folder.write(name, &content[..length])).unwrap();
        // The kernel can't drop pages from memory that are not on the disk yet.
        file.sync_all().unwrap();
        fadvise(&file, 0, None, Advice::DontNeed).unwrap();
        if preadv2(&file, &mut [IoSliceMut::new(&mut [0])], 0, ReadWriteFlags::NOWAIT).is_ok() {
            eprintln!("\n*** {name} stays in memory on this file system: this test shows nothing here ***\n");
        }
    }
    let scene = serve(&folder);
    let mut client = scene.client();
    assert!(client.get("/long.bin").body == content);
    assert!(client.get("/short.bin").body == content[..COPIED]);
}

#[test]
fn a_rate_that_is_set_is_kept_and_delays_no_other_client() {
    const RATE: usize = 4 << 20;
    let folder = Folder::new();
    let content = content(RATE + RATE / 2);
    folder.write("long.bin", &content);
    folder.write("short.bin", "short");
    let scene = setup(&folder).options(|options| {
        for site in &mut options.sites {
            Arc::make_mut(&mut site.route).file_rate_max = RATE as u64;
        }
    });
    let scene = scene.run_with_own_origins();
    let (mut client, mut other) = (scene.client(), scene.client());
    let begun = Instant::now();
    let head = client.ask("GET", "/long.bin", &[]).next_head();
    assert!(client.take(RATE) == content[..RATE]);
    assert_eq!(other.get("/short.bin").text(), "short");
    assert!(client.take(RATE / 2) == content[RATE..]);
    // It may take longer, but not less: the bytes of the first second go at once.
    assert!(begun.elapsed() >= Duration::from_millis(500), "{:?} {head:?}", begun.elapsed());
    // A client that leaves ends its download at once.
    client.ask("GET", "/long.bin", &[]).next_head();
    client.reset();
    scene.counted(Counter::Aborted, 1);
    assert_eq!(times_open(&folder.join("long.bin")), 0);
}

/// The bytes that wait in the sockets of connections to that port, once the number no longer changes.
fn waiting_in_sockets(port: u16) -> usize {
    let now = || {
        let table = fs::read_to_string("/proc/net/tcp").unwrap();
        let of_port = table.lines().filter_map(|line| {
            let mut columns = line.split_whitespace().skip(1);
            let (local, sent) = (columns.next()?, columns.nth(2)?);
            local.ends_with(&format!(":{port:04X}")).then(|| usize::from_str_radix(sent.split(':').next()?, 16).ok())?
        });
        of_port.sum::<usize>()
    };
    let (mut before, mut same) = (0, 0);
    while same < 50 {
        std::thread::sleep(Duration::from_millis(2));
        let waiting = now();
        same = if waiting == before { same + 1 } else { 0 };
        before = waiting;
    }
    before
}

#[test]
fn who_has_taken_a_file_fast_gets_no_more_room_for_what_is_in_memory() {
    let folder = Folder::new();
    folder.write("long.bin", content(EAGER_FROM + (1 << 20)));
    // A compressible file is stored, however long it is.
    folder.write("stored.txt", content(LONG / 2));
    let scene = Setup::safe()
        .site(&[], |route| {
            route.origins = vec![OriginAddress::Files(folder.path().to_owned()).into()];
        })
        .options(|options| {
            options.memory_bytes_max = 1 << 30;
            options.object_bytes_max = LONG as u64;
        })
        .run_with_own_origins();
    let address = scene.engine.addresses()[0];
    let stored = scene.client().get("/stored.txt");
    assert_eq!(
        (stored.body.len(), stored.cache_status("stored").as_deref()),
        (LONG / 2, Some("")),
        "{}",
        stored.detail()
    );
    let waited = [false, true].map(|is_eager| {
        let mut client = Client::connect_slow(address);
        if is_eager {
            assert!(client.get("/long.bin").body.len() > EAGER_FROM);
        }
        client.ask("GET", "/stored.txt", &[]).next_head();
        let waiting = waiting_in_sockets(address.port());
        client.reset();
        waiting
    });
    assert!(waited.iter().all(|waiting| *waiting < 1 << 20), "{waited:?}");
}
