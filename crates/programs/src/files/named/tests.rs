//! Tests of named files: what each name leads to, and that none leads out of the roots.

use super::*;
use crate::document_root::tests::Scratch;
use crate::response::LocalBody;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The content of files beside the roots, which must never be sent.
const SECRET: &str = "SECRET";

/// Two roots, `www` and `second`, with files that an application may keep there, and links that lead out of them; beside the roots,
/// files that must not be sent.
struct Place(Scratch);

impl Place {
    fn new() -> Self {
        let scratch = Scratch::new(&[
            "a.pdf",
            "a b.pdf",
            "a%20b.pdf",
            "d/e/f.zip",
            ".hidden/.env",
            "script.php",
            "old.bak",
            "back\\slash",
            "\u{52a0}\u{901f}.txt",
        ]);
        let place = Self(scratch);
        let root = place.root();
        let outer = place.outer();
        fs::write(root.join(std::ffi::OsStr::from_bytes(b"latin-\xe9.txt")), "latin").unwrap();
        for folder in ["second", "www-private", "outside"] {
            fs::create_dir(outer.join(folder)).unwrap();
            fs::write(outer.join(folder).join("secret.txt"), SECRET).unwrap();
        }
        fs::write(outer.join("second/a.pdf"), "second").unwrap();
        fs::write(outer.join("second/only.pdf"), "only").unwrap();
        fs::remove_file(outer.join("second/secret.txt")).unwrap();
        fs::write(outer.join("secret.txt"), SECRET).unwrap();
        let outside = outer.join("outside").display().to_string();
        for (link, target) in [
            ("in.pdf", "a.pdf"),
            ("absolute.txt", outside.as_str()),
            ("out.txt", "../secret.txt"),
            ("out", ".."),
            ("far", "../outside"),
            ("up", "d/../.."),
            ("etc", "/etc"),
            ("passwd.txt", "/etc/passwd"),
            ("proc", "/proc"),
            ("self", "/proc/self/root"),
            ("cwd", "/proc/self/cwd"),
            ("fd", "/proc/self/fd"),
            ("environ.txt", "/proc/self/environ"),
            ("zero.bin", "/dev/zero"),
            ("shm", "/dev/shm"),
            ("loop", "loop2"),
            ("loop2", "loop"),
            ("chain", "chain2"),
            ("chain2", "out.txt"),
        ] {
            symlink(target, root.join(link)).unwrap();
        }
        let fifo = rustix::fs::mknodat(
            rustix::fs::CWD,
            root.join("fifo"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o644),
            0,
        );
        fifo.unwrap();
        drop(std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap());
        place
    }

    fn root(&self) -> PathBuf {
        self.0.root()
    }

    fn outer(&self) -> PathBuf {
        self.root().parent().unwrap().to_owned()
    }

    fn rules(&self) -> SendfileRules {
        let internal = vec![
            ("/protected/".to_owned(), self.root()),
            ("/protected/deep/".to_owned(), self.root().join("d/e")),
            ("/second/".to_owned(), self.outer().join("second")),
        ];
        SendfileRules { roots: vec![self.root(), self.outer().join("second")], internal, ..SendfileRules::default() }
    }
}

fn look_up(rules: &SendfileRules, named: SendfileName<'_>) -> SendfileTarget {
    match candidates(rules, named) {
        Ok(candidates) => look(&candidates, rules.symlinks, DocumentRoot::waiting).unwrap(),
        Err(unfit) => unfit.into(),
    }
}

fn content(file: &File) -> String {
    let mut text = String::new();
    file.take(100).read_to_string(&mut text).unwrap();
    text
}

/// The content of the file that is found, or a word for another result.
fn shown(rules: &SendfileRules, named: SendfileName<'_>) -> String {
    match look_up(rules, named) {
        SendfileTarget::File(file) => content(&file.file),
        SendfileTarget::Missing => "missing".to_owned(),
        SendfileTarget::Denied(_) => "denied".to_owned(),
        SendfileTarget::Broken(_) => "broken".to_owned(),
        SendfileTarget::Malformed(_) => "malformed".to_owned(),
    }
}

#[test]
fn a_path_is_absolute_or_relative_to_the_first_root_that_has_it() {
    let place = Place::new();
    let (rules, root, second) = (place.rules(), place.root(), place.outer().join("second"));
    let (root, second) = (root.display().to_string(), second.display().to_string());
    for (path, expected) in [
        (format!("{root}/a.pdf"), "a.pdf"),
        (format!("{second}/a.pdf"), "second"),
        (format!("{root}//d/./e/../e/f.zip"), "d/e/f.zip"),
        (format!("{root}/../second/only.pdf"), "only"),
        (format!("{}/./www/a.pdf", place.outer().display()), "a.pdf"),
        (format!("{root}/in.pdf"), "a.pdf"),
        ("a.pdf".to_owned(), "a.pdf"),
        ("./d/e/f.zip".to_owned(), "d/e/f.zip"),
        ("only.pdf".to_owned(), "only"),
        ("none.pdf".to_owned(), "missing"),
        (format!("{root}/none/none.pdf"), "missing"),
        (format!("{root}/a.pdf/"), "missing"),
        (format!("{root}/a.pdf/x"), "missing"),
        // Directories, and what is no regular file.
        (root.clone(), "denied"),
        (format!("{root}/"), "denied"),
        (format!("{root}/d"), "denied"),
        (format!("{root}/fifo"), "denied"),
        (format!("{root}/socket"), "denied"),
        // Names are hidden from URLs only, not from the application.
        (".hidden/.env".to_owned(), ".hidden/.env"),
        ("script.php".to_owned(), "script.php"),
        ("old.bak".to_owned(), "old.bak"),
        ("back\\slash".to_owned(), "back\\slash"),
    ] {
        assert_eq!(shown(&rules, SendfileName::Path(path.as_bytes())), expected, "{path}");
    }
}

#[test]
fn a_path_is_percent_encoded_unless_that_is_off() {
    let place = Place::new();
    let rules = place.rules();
    let literal = SendfileRules { unescape: false, ..place.rules() };
    let rows: [(&[u8], &str, &str); 11] = [
        (b"a%20b.pdf", "a b.pdf", "a%20b.pdf"),
        (b"a b.pdf", "a b.pdf", "a b.pdf"),
        (b"a%2520b.pdf", "a%20b.pdf", "missing"),
        (b"%E5%8A%A0%E9%80%9F.txt", "\u{52a0}\u{901f}.txt", "missing"),
        ("\u{52a0}\u{901f}.txt".as_bytes(), "\u{52a0}\u{901f}.txt", "\u{52a0}\u{901f}.txt"),
        (b"latin-\xe9.txt", "latin", "latin"),
        (b"latin-%e9.txt", "latin", "missing"),
        (b"d%2Fe%2ff.zip", "d/e/f.zip", "missing"),
        (b"100%.pdf", "malformed", "missing"),
        (b"%+1.pdf", "malformed", "missing"),
        (b"a%00.pdf", "malformed", "missing"),
    ];
    for (path, unescaped, as_it_is) in rows {
        let name = String::from_utf8_lossy(path);
        assert_eq!(shown(&rules, SendfileName::Path(path)), unescaped, "{name}");
        assert_eq!(shown(&literal, SendfileName::Path(path)), as_it_is, "{name}");
    }
}

#[test]
fn a_uri_is_looked_up_by_its_longest_prefix() {
    let place = Place::new();
    let rules = place.rules();
    for (uri, expected) in [
        ("/protected/a.pdf", "a.pdf"),
        ("/protected/a%20b.pdf?download=1", "a b.pdf"),
        ("/protected/a%2520b.pdf", "a%20b.pdf"),
        ("/protected/%E5%8A%A0%E9%80%9F.txt", "\u{52a0}\u{901f}.txt"),
        ("/protected/\u{52a0}\u{901f}.txt", "\u{52a0}\u{901f}.txt"),
        ("/protected/d/e/f.zip", "d/e/f.zip"),
        ("/protected/deep/f.zip", "d/e/f.zip"),
        ("/protected/x/../a.pdf", "a.pdf"),
        ("//protected///a.pdf", "a.pdf"),
        ("/second/only.pdf", "only"),
        ("/protected/none", "missing"),
        ("/protected/", "denied"),
        ("/protected/d", "denied"),
        ("/protected", "denied"),
        ("/protectedx/a.pdf", "denied"),
        ("/a.pdf", "denied"),
        ("/protected/%2e%2e/secret.txt", "denied"),
        ("/protected/a%2fb", "denied"),
        ("protected/a.pdf", "malformed"),
        ("@named", "malformed"),
        ("http://example.org/protected/a.pdf", "malformed"),
    ] {
        assert_eq!(shown(&rules, SendfileName::Uri(uri.as_bytes())), expected, "{uri}");
    }
}

#[test]
fn a_prefix_that_leads_out_of_the_roots_leads_nowhere() {
    let place = Place::new();
    let within = SendfileRules { roots: vec![place.root()], ..place.rules() };
    assert_eq!(shown(&within, SendfileName::Uri(b"/protected/a.pdf")), "a.pdf");
    assert_eq!(shown(&within, SendfileName::Uri(b"/second/only.pdf")), "denied");
    let without = SendfileRules { roots: Vec::new(), ..place.rules() };
    assert_eq!(shown(&without, SendfileName::Uri(b"/second/only.pdf")), "only");
}

/// None of these leads to anything: below a root, as a relative path, or behind a prefix.
const HOSTILE: [&str; 83] = [
    // Dots, in every encoding that some server once decoded.
    "..",
    "../secret.txt",
    "../www-private/secret.txt",
    "../outside/secret.txt",
    "../../../../../../../../etc/passwd",
    "d/../../secret.txt",
    "d/e/../../../secret.txt",
    "./../secret.txt",
    ".//..//secret.txt",
    "%2e%2e/secret.txt",
    "%2E%2E/secret.txt",
    ".%2e/secret.txt",
    "%2e./secret.txt",
    "%2e%2e%2fsecret.txt",
    "..%2fsecret.txt",
    "d/..%2f..%2fsecret.txt",
    "%2f..%2fsecret.txt",
    "..%5csecret.txt",
    "..\\secret.txt",
    "d\\..\\..\\secret.txt",
    "%252e%252e/secret.txt",
    "%252e%252e%252fsecret.txt",
    "..%252fsecret.txt",
    "..%25%32%66secret.txt",
    "..;/secret.txt",
    ";/../../secret.txt",
    ".../secret.txt",
    "....//secret.txt",
    ".. /secret.txt",
    "..%20/secret.txt",
    "%20../secret.txt",
    "..%09/secret.txt",
    "..%00/secret.txt",
    "..%0d/secret.txt",
    "..%0a/secret.txt",
    "..?/secret.txt",
    "..#/secret.txt",
    // Dots and slashes in invalid and overlong encodings.
    "%c0%ae%c0%ae/secret.txt",
    "%c0%2e%c0%2e/secret.txt",
    "..%c0%afsecret.txt",
    "..%c1%9csecret.txt",
    "%e0%80%ae%e0%80%ae/secret.txt",
    "..%e0%80%afsecret.txt",
    "%f0%80%80%ae%f0%80%80%ae/secret.txt",
    "..%f8%80%80%80%afsecret.txt",
    "%ef%bc%8e%ef%bc%8e/secret.txt",
    "..%e2%88%95secret.txt",
    "%u002e%u002e/secret.txt",
    "%uff0e%uff0e/secret.txt",
    "&#46;&#46;/secret.txt",
    "%%32%65%%32%65/secret.txt",
    // Ends that some systems cut off, or seem to.
    "../secret.txt%00",
    "../secret.txt%00.pdf",
    "a.pdf%00",
    "a.pdf%00.txt",
    "%00",
    "a.pdf%0a",
    "a.pdf%0d%0aSet-Cookie:%20a=b",
    "a.pdf%7f",
    "a.pdf/../../secret.txt",
    "a.pdf/.",
    // Links that lead out of the roots.
    "out.txt",
    "chain",
    "absolute.txt/secret.txt",
    "out/secret.txt",
    "far/secret.txt",
    "up/secret.txt",
    "etc/passwd",
    "passwd.txt",
    "loop/x",
    "shm/x",
    // Links of /proc, devices, pipes.
    "self/etc/passwd",
    "cwd/Cargo.toml",
    "fd/0",
    "fd/3",
    "environ.txt",
    "proc/self/root/etc/passwd",
    "proc/self/cwd/Cargo.toml",
    "proc/self/fd/0",
    "proc/1/root/etc/passwd",
    "zero.bin",
    "fifo",
    "socket",
];

/// Absolute paths outside of the roots: other places, other spellings of roots, mount points.
const ELSEWHERE: [&str; 19] = [
    "/",
    "/etc/passwd",
    "//etc/passwd",
    "/./etc/passwd",
    "/../etc/passwd",
    "/proc/self/environ",
    "/proc/self/cmdline",
    "/proc/self/root/etc/passwd",
    "/proc/self/fd/0",
    "/proc/self/mounts",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/dev/zero",
    "/dev/stdin",
    "/dev/shm/",
    "/run/",
    "%2fetc%2fpasswd",
    "%2Fproc%2Fself%2Fenviron",
    "file:///etc/passwd",
    "~root/.bashrc",
];

fn is_nothing(rules: &SendfileRules, named: SendfileName<'_>) {
    let found = shown(rules, named);
    assert!(["missing", "denied", "malformed"].contains(&found.as_str()), "{named:?} leads to {found:?}");
}

#[test]
fn no_hostile_name_leads_to_anything() {
    let place = Place::new();
    let root = place.root().display().to_string();
    let ways = [
        place.rules(),
        SendfileRules { symlinks: Symlinks::Never, ..place.rules() },
        SendfileRules { unescape: false, ..place.rules() },
    ];
    for rules in &ways {
        for name in HOSTILE {
            is_nothing(rules, SendfileName::Path(name.as_bytes()));
            is_nothing(rules, SendfileName::Path(format!("{root}/{name}").as_bytes()));
            is_nothing(rules, SendfileName::Path(format!("{root}//{name}").as_bytes()));
            // As a URI, what follows a question mark is no part of the name.
            is_nothing(rules, SendfileName::Uri(format!("/protected/{name}").as_bytes()));
            is_nothing(rules, SendfileName::Uri(format!("/protected/deep/../{name}").as_bytes()));
            is_nothing(rules, SendfileName::Uri(format!("/{name}").as_bytes()));
        }
        for name in ELSEWHERE {
            is_nothing(rules, SendfileName::Path(name.as_bytes()));
            is_nothing(rules, SendfileName::Uri(name.as_bytes()));
        }
        for name in ["www-private/secret.txt", "secret.txt", "outside/secret.txt", "www/../secret.txt", "wwwx/a.pdf"] {
            is_nothing(rules, SendfileName::Path(format!("{}/{name}", place.outer().display()).as_bytes()));
        }
        for long in ["a".repeat(300), "a/".repeat(3000), "../".repeat(3000), "d/../".repeat(3000), "%2e%2e/".repeat(99)]
        {
            is_nothing(rules, SendfileName::Path(long.as_bytes()));
            is_nothing(rules, SendfileName::Path(format!("{root}/{long}").as_bytes()));
            is_nothing(rules, SendfileName::Uri(format!("/protected/{long}").as_bytes()));
        }
        // The tables would also hold if no look-up ever found anything.
        assert_eq!(shown(rules, SendfileName::Path(b"a.pdf")), "a.pdf");
    }
}

#[test]
fn links_of_proc_and_devices_lead_nowhere_even_where_links_may_leave_the_root() {
    let place = Place::new();
    let rules = SendfileRules { symlinks: Symlinks::Anywhere, ..place.rules() };
    assert_eq!(shown(&rules, SendfileName::Path(b"out.txt")), SECRET);
    for name in ["self/etc/passwd", "cwd/Cargo.toml", "fd/0", "proc/self/root/etc/passwd", "zero.bin", "fifo", "loop/x"]
    {
        is_nothing(&rules, SendfileName::Path(name.as_bytes()));
    }
    let never = SendfileRules { symlinks: Symlinks::Never, ..place.rules() };
    assert_eq!(shown(&never, SendfileName::Path(b"in.pdf")), "denied");
}

/// Another thread swaps a directory for a link out of the root and back, while its name is looked up.
#[test]
fn a_link_that_is_swapped_in_while_we_look_leads_nowhere() {
    const LOOK_UPS: usize = 10_000;
    // On a busy machine one of the two threads may not get its turn for a while.
    const LOOK_UPS_MAX: usize = 2_000_000;
    let place = Place::new();
    let root = place.root();
    fs::create_dir(root.join("swapped")).unwrap();
    fs::write(root.join("swapped/secret.txt"), "harmless").unwrap();
    symlink("../outside", root.join("bad")).unwrap();
    let ends = Arc::new(AtomicBool::new(false));
    let swapper = std::thread::spawn({
        let (ends, root) = (ends.clone(), root.clone());
        move || {
            use rustix::fs::{CWD, RenameFlags, renameat_with};
            while !ends.load(Ordering::Relaxed) {
                renameat_with(CWD, root.join("swapped"), CWD, root.join("bad"), RenameFlags::EXCHANGE).unwrap();
            }
        }
    });
    let absolute = format!("{}/swapped/secret.txt", root.display());
    let rules = place.rules();
    let mut seen = [0_usize; 2];
    for look_up in 0..LOOK_UPS_MAX {
        if look_up >= LOOK_UPS && seen.iter().all(|count| *count > 0) {
            break;
        }
        let named = match look_up % 3 {
            0 => SendfileName::Path(absolute.as_bytes()),
            1 => SendfileName::Path(b"swapped/secret.txt"),
            _ => SendfileName::Uri(b"/protected/swapped/secret.txt"),
        };
        match shown(&rules, named).as_str() {
            "harmless" => seen[0] += 1,
            "missing" | "denied" => seen[1] += 1,
            other => panic!("{other}"),
        }
    }
    ends.store(true, Ordering::Relaxed);
    swapper.join().unwrap();
    assert!(seen.iter().all(|count| *count > 0), "there was no race: {seen:?}");
}

#[test]
fn a_root_that_is_gone_is_a_failure_and_nothing_that_the_name_is_to_blame_for() {
    let place = Place::new();
    let rules = SendfileRules { roots: vec![place.outer().join("gone")], ..SendfileRules::default() };
    let candidates = candidates(&rules, SendfileName::Path(b"a.pdf")).unwrap();
    assert!(
        look(&candidates, rules.symlinks, DocumentRoot::waiting).is_err_and(|e| e.kind() == io::ErrorKind::NotFound)
    );
}

/// The head of the response, and how many bytes of the file go with it, for an application's head and a request of that method with
/// those fields.
fn answered(application: ResponseHead, method: Method, fields: &[(&str, &str)]) -> (ResponseHead, Option<u64>) {
    let place = Place::new();
    let path = place.root().join("a.pdf");
    let an_hour_ago = SystemTime::now() - Duration::from_secs(3600);
    File::options().write(true).open(&path).unwrap().set_modified(an_hour_ago).unwrap();
    let SendfileTarget::File(file) = look_up(&place.rules(), SendfileName::Path(b"a.pdf")) else { panic!("no file") };
    let mut asked = RequestHead::new(method, "");
    asked.fields = fields.iter().copied().collect();
    let limits = Limits::default();
    let response = respond(
        file,
        application,
        SendfileContext { asked: &asked, charset: "utf-8", limits: &limits, rate_max: None },
    );
    let sent = matches!(response.body, LocalBody::File(_)).then(|| response.body.length()).flatten();
    (response.head, sent)
}

fn text(head: &ResponseHead, name: &str) -> String {
    head.fields.combined(name).map_or_else(|| "none".to_owned(), |value| String::from_utf8(value).unwrap())
}

#[test]
fn the_application_s_fields_win_and_the_file_s_complete_them() {
    let application = ResponseHead::new(StatusCode::OK)
        .with("Content-Type", "application/x-a")
        .with("Content-Length", "99")
        .with("Content-Encoding", "gzip")
        .with("Content-Disposition", "attachment")
        .with("ETag", "\"app\"")
        .with("Accept-Ranges", "none")
        .with("Set-Cookie", "a=b")
        .with("Date", "Tue, 15 Nov 1994 12:45:26 GMT");
    let (head, sent) = answered(application, Method::GET, &[]);
    for (name, value) in [
        ("content-type", "application/x-a"),
        ("content-length", "5"),
        ("content-encoding", "none"),
        ("content-disposition", "attachment"),
        ("etag", "\"app\""),
        ("accept-ranges", "bytes"),
        ("set-cookie", "a=b"),
        ("date", "none"),
    ] {
        assert_eq!(text(&head, name), value, "{name}");
    }
    assert!(head.fields.contains("last-modified") && sent == Some(5));
    let (head, _) = answered(ResponseHead::new(StatusCode::OK).with("Last-Modified", "yesterday"), Method::GET, &[]);
    assert_eq!(text(&head, "content-type"), "application/pdf");
    assert!(text(&head, "etag").starts_with('"') && text(&head, "last-modified").ends_with("GMT"));
}

#[test]
fn a_tag_of_no_content_is_none_of_the_file() {
    // As Rack::ETag, Express and an MD5 of the body make them; then some that only look like it.
    let of_nothing = [
        "W/\"e3b0c44298fc1c149afbf4c8996fb924\"",
        "W/\"0-2jmj7l5rSw0yVb/vlWAYkK/YBwk\"",
        "\"d41d8cd98f00b204e9800998ecf8427e\"",
    ];
    let own = ["\"0\"", "\"d41d8cd98f\"", "W/\"0-e\""];
    for tag in of_nothing.into_iter().chain(own) {
        let application = ResponseHead::new(StatusCode::OK).with("ETag", tag);
        let (head, _) = answered(application, Method::GET, &[]);
        assert_eq!(text(&head, "etag") == tag, own.contains(&tag), "{tag}");
        assert!(head.fields.contains("etag"));
    }
}

/// A request, the status that it gets, and the bytes of the file that go out with that.
type Row<'a> = (Method, &'a [(&'a str, &'a str)], u16, Option<u64>);

#[test]
fn conditions_and_ranges_are_those_of_the_final_validators() {
    let application = || {
        let head = ResponseHead::new(StatusCode::OK).with("ETag", "\"app\"").with("Set-Cookie", "a=b");
        head.with("Last-Modified", "Tue, 15 Nov 1994 12:45:26 GMT").with("Content-Disposition", "attachment")
    };
    let rows: [Row<'_>; 14] = [
        (Method::GET, &[("If-None-Match", "\"app\"")], 304, None),
        (Method::GET, &[("If-None-Match", "\"other\"")], 200, Some(5)),
        (Method::GET, &[("If-Modified-Since", "Tue, 15 Nov 1994 12:45:26 GMT")], 304, None),
        (Method::GET, &[("If-Match", "\"other\"")], 412, None),
        (Method::GET, &[("If-Unmodified-Since", "Mon, 15 Nov 1993 12:45:26 GMT")], 412, None),
        (Method::GET, &[("Range", "bytes=1-2")], 206, Some(2)),
        (Method::GET, &[("Range", "bytes=1-2"), ("If-Range", "\"app\"")], 206, Some(2)),
        (Method::GET, &[("Range", "bytes=1-2"), ("If-Range", "\"other\"")], 200, Some(5)),
        (Method::GET, &[("Range", "bytes=9-")], 416, None),
        (Method::GET, &[("Range", "bytes=0-0,1-2")], 206, Some(3)),
        (Method::GET, &[("Range", "bytes=0-0,2-2"), ("If-Range", "\"other\"")], 200, Some(5)),
        (Method::HEAD, &[], 200, None),
        (Method::HEAD, &[("If-None-Match", "\"app\"")], 304, None),
        // The conditions are not evaluated: the response to a POST is no representation that its client could have.
        (Method::POST, &[("If-None-Match", "*"), ("Range", "bytes=1-2"), ("If-Match", "\"x\"")], 200, Some(5)),
    ];
    for (method, fields, status, expected) in rows {
        let (head, sent) = answered(application(), method.clone(), fields);
        assert_eq!((head.status.as_u16(), sent), (status, expected), "{method} {fields:?}");
        assert_eq!(text(&head, "set-cookie"), "a=b", "{method} {fields:?}");
    }
    let (head, _) = answered(application(), Method::GET, &[("Range", "bytes=1-2")]);
    assert_eq!(
        (text(&head, "content-range"), text(&head, "content-length")),
        ("bytes 1-2/5".to_owned(), "2".to_owned())
    );
    let (head, _) = answered(application(), Method::GET, &[("Range", "bytes=9-")]);
    assert_eq!(
        (text(&head, "content-range"), text(&head, "content-disposition")),
        ("bytes */5".to_owned(), "none".to_owned())
    );
}

#[test]
fn a_page_of_another_status_has_no_validators_of_the_file() {
    let (head, sent) = answered(ResponseHead::new(StatusCode::GONE), Method::GET, &[("Range", "bytes=1-2")]);
    assert_eq!((head.status.as_u16(), sent, text(&head, "content-length").as_str()), (410, Some(5), "5"));
    assert!(!head.fields.contains("etag") && !head.fields.contains("last-modified"));
}

proptest::proptest! {
    #[test]
    fn what_the_kernel_gets_has_no_dot_segments_and_no_control_characters(
        name in proptest::collection::vec(proptest::sample::select(&b"/.%2eEfF0cCaA\\;?\x01\xc0\xaf "[..]), 0..60),
        unescape: bool,
    ) {
        let internal = vec![("/".to_owned(), PathBuf::from("/srv/b"))];
        let roots = vec![PathBuf::from("/srv/a"), PathBuf::from("/2e")];
        let rules = SendfileRules { roots, internal, unescape, ..SendfileRules::default() };
        for named in [SendfileName::Path(&name), SendfileName::Uri(&name), SendfileName::Path(&[b"/srv/a/", &name[..]].concat())] {
            for (_, name) in candidates(&rules, named).into_iter().flatten() {
                proptest::prop_assert!(name.starts_with(b"/") && !name.iter().any(u8::is_ascii_control));
                let mut segments = name.split(|byte| *byte == b'/').skip(1).peekable();
                while let Some(segment) = segments.next() {
                    let is_last = segments.peek().is_none();
                    proptest::prop_assert!(!matches!(segment, b"." | b"..") && (is_last || !segment.is_empty()));
                }
            }
        }
    }
}
