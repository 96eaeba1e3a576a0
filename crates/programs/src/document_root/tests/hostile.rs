//! Tests of paths that attackers send: none leads to anything.

use super::*;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The content of files beside the root, which must never be served.
const SECRET: &str = "secret";

/// A root with files that an owner may leave in it (dotfiles, backups, sources), and links that lead out of it.
fn tempting() -> Scratch {
    let place = Scratch::new(&[
        "index.html",
        "a.jpg",
        "x.php",
        "lib/config.inc",
        "d/e/index.html",
        ".env",
        ".git/HEAD",
        ".htaccess",
        ".ssh/id_rsa",
        "d/.hidden",
        "x.php~",
        "x.php.bak",
        "x.php.old",
        "x.php.save",
        "x.php.swp",
        "x.php.orig",
        "#x.php#",
        "prog.cgi",
        "UPPER.PHP",
        "script.sh",
    ]);
    let root = place.root();
    fs::write(place.0.join("secret.txt"), SECRET).unwrap();
    fs::create_dir_all(place.0.join("www-private")).unwrap();
    fs::write(place.0.join("www-private/secret.txt"), SECRET).unwrap();
    let links = [
        ("out.txt", "../secret.txt"),
        ("out", ".."),
        ("out2", "d/e/../../../www-private"),
        ("up", "d/../.."),
        ("etc", "/etc"),
        ("passwd.txt", "/etc/passwd"),
        ("proc", "/proc"),
        ("self", "/proc/self/root"),
        ("cwd", "/proc/self/cwd"),
        ("fd", "/proc/self/fd"),
        ("environ.txt", "/proc/self/environ"),
        ("zero.bin", "/dev/zero"),
        ("loop", "loop2"),
        ("loop2", "loop"),
        ("chain", "chain2"),
        ("chain2", "out.txt"),
    ];
    for (link, target) in links {
        symlink(target, root.join(link)).unwrap();
    }
    place
}

/// None of these leads to anything.
const PATHS: [&str; 122] = [
    // Dots, in every encoding that some server once decoded.
    "/..",
    "/../secret.txt",
    "/../www-private/secret.txt",
    "/../../../../../../etc/passwd",
    "/d/../../secret.txt",
    "/d/e/../../../secret.txt",
    "/./../secret.txt",
    "/.//..//secret.txt",
    "//../secret.txt",
    "/%2e%2e/secret.txt",
    "/%2E%2E/secret.txt",
    "/.%2e/secret.txt",
    "/%2e./secret.txt",
    "/%2e%2e%2fsecret.txt",
    "/..%2fsecret.txt",
    "/..%2Fsecret.txt",
    "/d/..%2f..%2fsecret.txt",
    "/%2f..%2fsecret.txt",
    "/..%5csecret.txt",
    "/..%5Csecret.txt",
    "/..\\secret.txt",
    "/d\\..\\..\\secret.txt",
    "/\\../secret.txt",
    "/%252e%252e/secret.txt",
    "/%252e%252e%252fsecret.txt",
    "/..%252fsecret.txt",
    "/..%25%32%66secret.txt",
    "/%25%32%65%25%32%65/secret.txt",
    "/..;/secret.txt",
    "/..;a=b/secret.txt",
    "/;/../secret.txt",
    "/d;/../../secret.txt",
    "/.../secret.txt",
    "/..../secret.txt",
    "/....//secret.txt",
    "/.. /secret.txt",
    "/..%20/secret.txt",
    "/%20../secret.txt",
    "/..%09/secret.txt",
    "/..%00/secret.txt",
    "/..%0d/secret.txt",
    "/..%0a/secret.txt",
    // Dots and slashes in invalid encodings.
    "/%c0%ae%c0%ae/secret.txt",
    "/%c0%2e%c0%2e/secret.txt",
    "/..%c0%afsecret.txt",
    "/..%c1%9csecret.txt",
    "/%e0%80%ae%e0%80%ae/secret.txt",
    "/..%e0%80%afsecret.txt",
    "/%f0%80%80%ae%f0%80%80%ae/secret.txt",
    "/..%f0%80%80%afsecret.txt",
    "/..%f8%80%80%80%afsecret.txt",
    "/%ef%bc%8e%ef%bc%8e/secret.txt",
    "/..%ef%bc%8fsecret.txt",
    "/..%e2%88%95secret.txt",
    "/%u002e%u002e/secret.txt",
    "/..%u2215secret.txt",
    "/%uff0e%uff0e/secret.txt",
    "/&#46;&#46;/secret.txt",
    "/%%32%65%%32%65/secret.txt",
    "/%2%65%2%65/secret.txt",
    "/0x2e0x2e/secret.txt",
    // Absolute names, and those of other systems.
    "//etc/passwd",
    "/%2fetc/passwd",
    "/%2fetc%2fpasswd",
    "///proc/self/environ",
    "/file:///etc/passwd",
    "/C:/secret.txt",
    "/C:%5csecret.txt",
    "/%5c%5clocalhost%5csecret.txt",
    "/~root/secret.txt",
    "/~/secret.txt",
    "/$HOME/secret.txt",
    "/`id`",
    "/|id",
    // Ends that some systems cut off, or seem to.
    "/x.php%00",
    "/x.php%00.jpg",
    "/a.jpg%00.html",
    "/%00",
    "/index.html%00",
    "/x.php%0a",
    "/x.php%0a.jpg",
    "/x.php%0d%0aSet-Cookie:%20a=b",
    "/%0ax.php",
    "/x.php%20",
    "/x.php.",
    "/x.php%2e",
    "/x.php::$DATA",
    "/x.php%3a%3a$DATA",
    "/x.php;.jpg",
    "/x.php%3b.jpg",
    "/x.php%23",
    "/x.php%7f",
    "/a.jpg/x.php",
    "/a.jpg/.php",
    "/a.jpg%00x.php",
    "/a.jpg%0ax.php",
    // Files that lie about: dotfiles, sources, backups.
    "/.env",
    "/%2eenv",
    "/.git/HEAD",
    "/.git",
    "/.git/",
    "/.htaccess",
    "/.ssh/id_rsa",
    "/d/.hidden",
    "/d/%2ehidden",
    "/x.php~",
    "/x.php%7E",
    "/x.php.bak",
    "/x.php.old",
    "/x.php.save",
    "/x.php.swp",
    "/x.php.orig",
    "/%23x.php%23",
    // Links that lead out of the root.
    "/out.txt",
    "/chain",
    "/out/secret.txt",
    "/out2/secret.txt",
    "/up/secret.txt",
    "/etc/passwd",
    "/passwd.txt",
    "/loop/x",
    "/.well-known/../../secret.txt",
];

/// Links that lead out of the root, into /proc or to a device: they lead to nothing, even where links may leave the root.
const THROUGH_PROC: [&str; 8] = [
    "/self/etc/passwd",
    "/cwd/Cargo.toml",
    "/fd/0",
    "/fd/3",
    "/proc/self/root/etc/passwd",
    "/proc/self/cwd/Cargo.toml",
    "/proc/self/fd/0",
    "/zero.bin",
];

fn is_nothing(place: &Scratch, path: &str, rules: &Rules<'_>) {
    let found = place.find(path, rules);
    assert!(matches!(found, ResolvedPath::Missing | ResolvedPath::Forbidden), "{path} leads to {found:?}");
}

#[test]
fn no_hostile_path_leads_to_anything() {
    let place = tempting();
    let try_path =
        |rules: &mut OwnedRules| rules.gateway.try_files = strings(&["{path}", "{path}/", "{path}.txt", "/d/{path}"]);
    for path in PATHS.iter().chain(&THROUGH_PROC) {
        plain(|rules| is_nothing(&place, path, rules));
        with_rules(|rules| rules.gateway.files.symlinks = Symlinks::Never, |rules| is_nothing(&place, path, rules));
        with_rules(php, |rules| is_nothing(&place, path, rules));
        with_rules(try_path, |rules| is_nothing(&place, path, rules));
        with_rules(|rules| rules.scripts = Scripts::Programs, |rules| is_nothing(&place, path, rules));
    }
    // The tables would also hold if the search never found anything.
    plain(|rules| place.expect(rules, &[("/a.jpg", "file /a.jpg"), ("/d/e/", "file /d/e/index.html")]));
    with_rules(php, |rules| place.expect(rules, &[("/x.php", "script /x.php ")]));
}

#[test]
fn links_of_proc_lead_nowhere_even_where_links_may_leave_the_root() {
    let place = tempting();
    with_rules(
        |rules| rules.gateway.files.symlinks = Symlinks::Anywhere,
        |rules| {
            for path in THROUGH_PROC {
                is_nothing(&place, path, rules);
            }
            for path in PATHS.iter().filter(|path| path.starts_with("/..") || path.contains('%') || path.contains("/."))
            {
                is_nothing(&place, path, rules);
            }
        },
    );
}

/// Another thread swaps a directory for a link out of the root and back, while its name is looked up.
#[test]
fn a_link_that_is_swapped_in_while_we_look_leads_nowhere() {
    const LOOK_UPS: usize = 20_000;
    let place = tempting();
    let root = place.root();
    fs::create_dir_all(root.join("inside")).unwrap();
    fs::write(root.join("inside/secret.txt"), "harmless").unwrap();
    symlink("../www-private", root.join("bad")).unwrap();
    symlink("inside", root.join("good")).unwrap();
    fs::create_dir_all(root.join("swapped")).unwrap();
    fs::write(root.join("swapped/secret.txt"), "harmless").unwrap();
    let ends = Arc::new(AtomicBool::new(false));
    let swapper = std::thread::spawn({
        let (ends, root) = (ends.clone(), root.clone());
        move || {
            use rustix::fs::{CWD, RenameFlags, renameat_with};
            while !ends.load(Ordering::Relaxed) {
                renameat_with(CWD, root.join("swapped"), CWD, root.join("bad"), RenameFlags::EXCHANGE).unwrap();
                renameat_with(CWD, root.join("good"), CWD, root.join("bad"), RenameFlags::EXCHANGE).unwrap();
            }
        }
    });
    let mut seen = [0_usize; 2];
    plain(|rules| {
        for look_up in 0..LOOK_UPS {
            let path = if look_up % 2 == 0 { "/swapped/secret.txt" } else { "/good/secret.txt" };
            match place.find(path, rules) {
                ResolvedPath::File(mut file) => {
                    let mut text = String::new();
                    file.file.read_to_string(&mut text).unwrap();
                    assert_eq!(text, "harmless", "{path}");
                    seen[0] += 1;
                }
                ResolvedPath::Missing | ResolvedPath::Forbidden => seen[1] += 1,
                other => panic!("{other:?}"),
            }
        }
    });
    ends.store(true, Ordering::Relaxed);
    swapper.join().unwrap();
    assert!(seen.iter().all(|count| *count > 0), "there was no race: {seen:?}");
}
