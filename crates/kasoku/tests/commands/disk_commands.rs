//! `kasoku disk`: a directory is looked into while the program serves from it, and after it was killed. Nothing in it may change.

use super::support::{Origin, PATIENCE, Program, get, kasoku, try_ask};
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Instant;

fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    folder
}

fn serve(origin: &Origin, folder: &Path) -> Program {
    let disk = format!("{}:64MiB", folder.display());
    let socket = control_socket(folder);
    let _ = fs::remove_file(&socket);
    let arguments = ["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--workers", "1", "--disk", &disk];
    Program::serve(&[&arguments[..], &["--origin", &origin.url(), "--control-socket", &socket]].concat())
}

fn control_socket(folder: &Path) -> String {
    folder.with_extension("sock").display().to_string()
}

/// Waits until the directory is open.
fn is_up(program: &Program) {
    let begun = Instant::now();
    while program.metrics_after(0)["disk_up"] == 0 {
        assert!(begun.elapsed() < PATIENCE, "the directory is never open");
    }
}

/// Stores these pages once the directory is open.
fn store(program: &Program, paths: &[&str]) {
    is_up(program);
    paths.iter().for_each(|path| assert_eq!(get(program.clients, path).body, "abcdef"));
}

fn disk(command: &str, folder: &Path, more: &[&str]) -> Output {
    kasoku(&[&["disk", command, "--disk", folder.to_str().unwrap()], more].concat())
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn error(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The paths of the listed URLs.
fn paths(folder: &Path, more: &[&str]) -> Vec<String> {
    let listed = text(&disk("list", folder, &[&["--json"], more].concat()));
    let urls = listed.lines().map(|line| {
        let said: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!((&said["status"], &said["body_bytes"]), (&200.into(), &6.into()), "{said}");
        assert!(said["fresh_for"].as_i64().unwrap() <= 60, "{said}");
        let url = said["url"].as_str().unwrap().to_owned();
        url.split_once("localhost").unwrap().1.to_owned()
    });
    let mut paths: Vec<String> = urls.collect();
    paths.sort_unstable();
    paths
}

/// Waits until these are listed: a log is written a moment after its objects.
fn listed(folder: &Path, expected: &[&str]) {
    let begun = Instant::now();
    while paths(folder, &[]) != expected {
        assert!(begun.elapsed() < PATIENCE, "{:?}", paths(folder, &[]));
    }
}

/// All files with their bytes.
fn snapshot(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = [folder.to_owned(), folder.join("segments")].into_iter().flat_map(|of| fs::read_dir(of).unwrap());
    let files = files.map(|file| file.unwrap().path()).filter(|path| path.is_file());
    files.map(|path| (path.clone(), fs::read(&path).unwrap())).collect()
}

#[test]
fn what_is_stored_is_shown_while_the_program_runs_and_after_a_kill_and_what_was_purged_is_not() {
    let (folder, origin) = (folder("disk-looked-into"), Origin::start());
    let program = serve(&origin, &folder);
    store(&program, &["/one", "/two", "/blog/1", "/blog/2"]);
    listed(&folder, &["/blog/1", "/blog/2", "/one", "/two"]);
    assert_eq!(try_ask(program.clients, "PURGE", "/two").unwrap().status, 200);
    assert_eq!(paths(&folder, &[]), ["/blog/1", "/blog/2", "/one"], "purged by its URL");
    let prefix = "http://localhost/blog/";
    let admin = format!("unix:{}", control_socket(&folder));
    assert_eq!(paths(&folder, &["--prefix", prefix]), ["/blog/1", "/blog/2"]);
    assert_eq!(paths(&folder, &["--limit", "2"]).len(), 2);
    text(&kasoku(&["purge", "--admin", &admin, "--prefix", "http://localhost/blog/1"]));
    assert_eq!(paths(&folder, &[]), ["/blog/2", "/one"], "purged by a mark");
    let said = json(&disk("verify", &folder, &["--json"]));
    assert_eq!((&said["good"], &said["damaged"], &said["purged"]), (&2.into(), &0.into(), &1.into()), "{said}");
    drop(program);
    let before = snapshot(&folder);
    assert_eq!(paths(&folder, &[]), ["/blog/2", "/one"]);
    let line = text(&disk("list", &folder, &["--prefix", "http://localhost/one"]));
    assert!(line.contains("200") && line.ends_with(" http://localhost/one\n"), "{line}");
    let stat = text(&kasoku(&["disk", "stat", "--disk", &format!("{}:64MiB", folder.display())]));
    assert!(stat.contains(" of 64 MiB [") && stat.contains("unconfirmed  0\n"), "{stat}");
    assert!(stat.lines().all(|line| line.len() <= 80 || line.starts_with("directory")), "{stat}");
    let said = json(&disk("stat", &folder, &["--json"]));
    assert_eq!((&said["format"], &said["objects"], &said["unconfirmed"]), (&1.into(), &3.into(), &0.into()), "{said}");
    assert_eq!(said["limit_bytes"], serde_json::Value::Null);
    let message = text(&disk("export", &folder, &["http://localhost/one"]));
    assert!(message.starts_with("HTTP/1.1 200 OK\r\n") && message.ends_with("\r\n\r\nabcdef"), "{message}");
    assert_eq!(message.matches("Content-Length: 6\r\n").count(), 1, "{message}");
    let to = folder.with_extension("exported");
    let _ = fs::remove_dir_all(&to);
    let names = text(&disk("export", &folder, &["--prefix", "http://", "--to", to.to_str().unwrap()]));
    assert_eq!((names.lines().count(), fs::read_dir(&to).unwrap().count()), (2, 2), "{names}");
    let again = error(&disk("export", &folder, &["--prefix", "http://", "--to", to.to_str().unwrap()]));
    assert!(again.contains("exists"), "{again}");
    for gone in ["http://localhost/two", "http://localhost/blog/1"] {
        assert!(error(&disk("export", &folder, &[gone])).contains("nothing is stored"), "{gone}");
    }
    assert_eq!(snapshot(&folder), before, "something was written");
}

#[test]
fn a_flipped_bit_is_found_and_changes_nothing() {
    let (folder, origin) = (folder("disk-flipped"), Origin::start());
    let program = serve(&origin, &folder);
    store(&program, &["/one", "/two"]);
    listed(&folder, &["/one", "/two"]);
    drop(program);
    assert!(text(&disk("verify", &folder, &[])).starts_with("good        2 (12 B of bodies)\ndamaged     0\n"));
    let (segment, whole) =
        snapshot(&folder).into_iter().find(|(path, _)| path.starts_with(folder.join("segments"))).unwrap();
    let at = |words: &[u8]| whole.windows(words.len()).position(|bytes| bytes == words).unwrap();
    // A bit of a body, and one of a head.
    for (offset, says) in [(at(b"abcdef"), "http://localhost/one"), (at(b"http://localhost/one"), "head is damaged")] {
        let mut bytes = whole.clone();
        bytes[offset] ^= 1;
        fs::write(&segment, &bytes).unwrap();
        let before = snapshot(&folder);
        let found = disk("verify", &folder, &[]);
        let told = String::from_utf8(found.stdout.clone()).unwrap();
        assert_eq!(found.status.code(), Some(1), "{told}");
        assert!(
            told.starts_with("good        1 ") && told.contains("damaged     1\n") && told.contains(says),
            "{told}"
        );
        let said = json(&disk("verify", &folder, &["--json"]));
        assert_eq!((&said["good"], &said["damaged"]), (&1.into(), &1.into()), "{said}");
        assert_eq!(snapshot(&folder), before);
    }
}

#[test]
fn damaged_files_cause_no_panic() {
    let (folder, origin) = (folder("disk-damaged"), Origin::start());
    let program = serve(&origin, &folder);
    store(&program, &["/one", "/two"]);
    listed(&folder, &["/one", "/two"]);
    drop(program);
    for (path, whole) in snapshot(&folder) {
        let length = whole.len();
        let flip = |from: usize, to: usize| {
            let mut bytes = whole.clone();
            bytes[from.min(length)..to.min(length)].iter_mut().for_each(|byte| *byte = !*byte);
            bytes
        };
        for bytes in [flip(0, 64), flip(64, 4096), whole[..length / 2].to_vec(), Vec::new()] {
            fs::write(&path, bytes).unwrap();
            for command in ["stat", "list", "verify"] {
                let output = disk(command, &folder, &[]);
                assert!(matches!(output.status.code(), Some(0 | 1)), "{} {command}: {output:?}", path.display());
                assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"), "{output:?}");
            }
        }
        fs::write(&path, whole).unwrap();
    }
    assert_eq!(paths(&folder, &[]), ["/one", "/two"]);
}

#[test]
fn what_is_no_directory_of_this_format_is_refused() {
    let folder = folder("disk-of-something-else");
    assert!(error(&disk("stat", &folder, &[])).contains("No such file"));
    fs::create_dir(&folder).unwrap();
    assert!(error(&disk("list", &folder, &[])).contains("no cache in it"));
    fs::write(folder.join("letter.txt"), "").unwrap();
    assert!(error(&disk("verify", &folder, &[])).contains("is no cache of Kasoku, and is not empty"));
    fs::remove_file(folder.join("letter.txt")).unwrap();
    let origin = Origin::start();
    drop(serve(&origin, &folder));
    assert_eq!(text(&disk("list", &folder, &[])), "");
    let header = folder.join("directory");
    let whole = fs::read(&header).unwrap();
    // Both copies with format 2, and a checksum that fits.
    let mut newer = whole.clone();
    for begin in [0, 4096] {
        newer[begin + 8] = 2;
        let checksum = xxhash_rust::xxh3::xxh3_64(&newer[begin..begin + 56]).to_le_bytes();
        newer[begin + 56..begin + 64].copy_from_slice(&checksum);
    }
    fs::write(&header, newer).unwrap();
    for command in ["stat", "list", "verify"] {
        assert!(error(&disk(command, &folder, &[])).contains("has format 2"), "{command}");
    }
    fs::write(&header, whole).unwrap();
    // Root may read all files.
    fs::set_permissions(&header, Permissions::from_mode(0o000)).unwrap();
    if fs::read(&header).is_err() {
        assert!(error(&disk("stat", &folder, &[])).contains("can't be read"));
    }
}

#[test]
fn an_explanation_tells_what_is_only_on_disk() {
    let (folder, origin) = (folder("disk-explained"), Origin::start());
    let program = serve(&origin, &folder);
    store(&program, &["/one"]);
    listed(&folder, &["/one"]);
    drop(program);
    let program = serve(&origin, &folder);
    is_up(&program);
    let admin = format!("unix:{}", control_socket(&folder));
    let explain = |path: &str, more: &[&str]| {
        let url = format!("http://localhost{path}");
        text(&kasoku(&[&["explain", &url, "--admin", &admin], more].concat()))
    };
    // The second time, the first explanation has not brought it into memory.
    for _ in 0..2 {
        let said = explain("/one", &[]);
        assert!(said.contains("\ndisk      6 bytes, ") && said.contains("\nverdict   hit: "), "{said}");
    }
    assert!(explain("/two", &[]).contains("\nmemory    nothing\n"));
    assert!(get(program.clients, "/one").is_hit());
    let said: serde_json::Value = serde_json::from_str(&explain("/one", &["--json"])).unwrap();
    assert_eq!(said["stored"]["entry"]["tier"], "memory", "{said}");
    assert_eq!(text(&kasoku(&["purge", "--admin", &admin, "--all"])), "purged: everything\n");
    assert!(!explain("/one", &[]).contains("\nverdict   hit: "));
}
