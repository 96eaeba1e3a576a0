//! Tests of the search, each in a directory of its own.

mod hostile;
mod no_programs;
mod short_addresses;

use super::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicU32, Ordering};

/// A temporary directory that is removed with its test. The root is `www` in it.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new(files: &[&str]) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let place = Self(std::env::temp_dir().join(format!("kasoku-root-{}-{number}", std::process::id())));
        fs::create_dir_all(place.root()).unwrap();
        for file in files {
            place.write(file);
        }
        place
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.0.join("www")
    }

    /// Writes a file whose content is its name.
    pub(crate) fn write(&self, file: &str) {
        let path = self.root().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, file).unwrap();
    }

    fn make_executable(&self, file: &str) {
        fs::set_permissions(self.root().join(file), fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub(super) fn find(&self, path: &str, rules: &Rules<'_>) -> ResolvedPath {
        DocumentRoot::waiting(&self.root()).find(path, rules).unwrap()
    }

    /// The result of a search, as a word and a name.
    fn shown(&self, path: &str, rules: &Rules<'_>) -> String {
        match self.find(path, rules) {
            ResolvedPath::File(file) => format!("file {}", String::from_utf8_lossy(&file.name)),
            ResolvedPath::Script(script) => {
                assert_eq!(script.path_translated.is_some(), !script.path_info.is_empty());
                let query = script.query.map(|query| format!("?{query}")).unwrap_or_default();
                format!("script {} {}{query}", script.script_name, script.path_info)
            }
            ResolvedPath::Redirect(to) => format!("redirect {to}"),
            ResolvedPath::Missing => "missing".to_owned(),
            ResolvedPath::Forbidden => "forbidden".to_owned(),
            ResolvedPath::Broken => "broken".to_owned(),
        }
    }

    fn expect(&self, rules: &Rules<'_>, rows: &[(&str, &str)]) {
        for (path, expected) in rows {
            assert_eq!(&self.shown(path, rules), expected, "{path}");
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// [`Rules`] that a test can change.
struct OwnedRules {
    gateway: Gateway,
    scripts: Scripts,
}

/// Calls `f` with rules: those of a plain root, after `change`.
fn with_rules<T>(change: impl FnOnce(&mut OwnedRules), f: impl FnOnce(&Rules<'_>) -> T) -> T {
    let gateway = Gateway { index: strings(&["index.html"]), ..Gateway::default() };
    let mut rules = OwnedRules { gateway, scripts: Scripts::None };
    change(&mut rules);
    f(&Rules { gateway: &rules.gateway, scripts: rules.scripts, open_files: &OpenFiles::default() })
}

fn plain<T>(f: impl FnOnce(&Rules<'_>) -> T) -> T {
    with_rules(|_| {}, f)
}

fn php(rules: &mut OwnedRules) {
    rules.scripts = Scripts::BySuffix;
    rules.gateway.script_suffixes = strings(&[".php"]);
    rules.gateway.index = strings(&["index.php", "index.html"]);
}

#[test]
fn a_path_leads_to_its_file() {
    let place = Scratch::new(&["index.html", "a.css", "b/c d.png", "b/index.html", "caf\u{e9}.html"]);
    plain(|rules| {
        place.expect(
            rules,
            &[
                ("/", "file /index.html"),
                ("/a.css", "file /a.css"),
                ("/b/c%20d.png", "file /b/c d.png"),
                ("/b/", "file /b/index.html"),
                ("//b//", "file /b/index.html"),
                ("/b/../a.css", "file /a.css"),
                ("/caf%C3%A9.html", "file /café.html"),
                ("/d.css", "missing"),
                ("/a.css/", "missing"),
                ("/a.css/d", "missing"),
            ],
        );
    });
}

#[test]
fn a_directory_without_its_slash_is_redirected_and_one_without_an_index_is_forbidden() {
    let place = Scratch::new(&["b/index.html", "c/d.html", "x y/index.html"]);
    plain(|rules| {
        place.expect(
            rules,
            &[
                ("/b", "redirect /b/"),
                ("//b", "redirect /b/"),
                ("/x%20y", "redirect /x%20y/"),
                ("/c", "forbidden"),
                ("/c/", "forbidden"),
            ],
        );
    });
}

#[test]
fn a_redirect_never_names_another_host() {
    let place = Scratch::new(&["evil.example/index.html", "@evil.example/index.html"]);
    plain(|rules| {
        place.expect(
            rules,
            &[
                ("//evil.example", "redirect /evil.example/"),
                ("///evil.example/.", "file /evil.example/index.html"),
                ("/./%2e//evil.example", "redirect /evil.example/"),
                ("/%5cevil.example", "missing"),
                ("/%2fevil.example", "missing"),
                ("/@evil.example", "redirect /@evil.example/"),
            ],
        );
    });
}

#[test]
fn path_info_is_what_follows_a_script_that_is_there() {
    let place = Scratch::new(&["x.php", "d/y.php", "a.jpg", "dir.php/index.html", "z.PHP"]);
    with_rules(php, |rules| {
        place.expect(
            rules,
            &[
                ("/x.php", "script /x.php "),
                ("/x.php/", "script /x.php /"),
                ("/x.php/y", "script /x.php /y"),
                ("/x.php//a/./b/../c/.env/e~", "script /x.php /a/c/.env/e~"),
                ("/d/y.php/a.jpg", "script /d/y.php /a.jpg"),
                ("/a.jpg/x.php", "missing"),
                ("/none.php", "missing"),
                ("/none.php/x", "missing"),
                ("/dir.php", "redirect /dir.php/"),
                ("/dir.php/", "file /dir.php/index.html"),
                ("/z.PHP", "forbidden"),
                ("/z.PHP/x", "missing"),
                ("/x.php/%ff", "missing"),
            ],
        );
        let long = format!("/x.php{}", "/a".repeat(3000));
        assert_eq!(place.shown(&long, rules), format!("script /x.php {}", "/a".repeat(3000)));
    });
}

#[test]
fn a_script_knows_where_it_is() {
    let place = Scratch::new(&["d/x.php"]);
    with_rules(php, |rules| {
        let ResolvedPath::Script(script) = place.find("/d/x.php/e/f", rules) else { panic!() };
        assert_eq!(script.file, place.root().join("d/x.php"));
        assert_eq!(script.path_translated, Some(place.root().join("e/f")));
    });
}

#[test]
fn a_prefix_of_the_url_is_not_the_roots() {
    let place = Scratch::new(&["search.cgi", "index.cgi", "d/index.cgi"]);
    for file in ["search.cgi", "index.cgi", "d/index.cgi"] {
        place.make_executable(file);
    }
    let change = |rules: &mut OwnedRules| {
        rules.gateway.url_prefix = "/mt".to_owned();
        rules.scripts = Scripts::Programs;
        rules.gateway.index = strings(&["index.cgi"]);
    };
    with_rules(change, |rules| {
        place.expect(
            rules,
            &[
                ("/mt/search.cgi/a", "script /mt/search.cgi /a"),
                ("/mt/", "script /mt/index.cgi "),
                ("/mt", "redirect /mt/"),
                ("/mt/d", "redirect /mt/d/"),
                ("/search.cgi", "missing"),
                ("/mtx/search.cgi", "missing"),
                ("/mt/../search.cgi", "missing"),
            ],
        );
    });
}

#[test]
fn a_program_that_is_not_executable_is_forbidden_and_never_a_file() {
    let place = Scratch::new(&["a.cgi", "readme.txt", "d/b"]);
    place.make_executable("d/b");
    with_rules(
        |rules| rules.scripts = Scripts::Programs,
        |rules| {
            place.expect(
                rules,
                &[
                    ("/a.cgi", "forbidden"),
                    ("/a.cgi/x", "forbidden"),
                    ("/readme.txt", "forbidden"),
                    ("/d/b/c", "script /d/b /c"),
                    ("/d/", "forbidden"),
                ],
            );
        },
    );
}

#[test]
fn sources_and_files_that_are_not_meant_for_clients_are_not_served() {
    let place = Scratch::new(&[
        "a.php",
        "b.INC",
        "c.pl",
        ".env",
        ".git/config",
        "a.php~",
        "a.php.bak",
        "#a.php#",
        "a.php.swp",
        ".well-known/security.txt",
        ".well-known/.htpasswd",
        "install.sh",
        "a.php.gz",
        "c.pl.ZST",
        "a.html.gz",
    ]);
    let rows = [
        ("/a.php", "forbidden"),
        ("/a.php.gz", "forbidden"),
        ("/c.pl.ZST", "forbidden"),
        ("/a.html.gz", "file /a.html.gz"),
        ("/b.INC", "forbidden"),
        ("/c.pl", "forbidden"),
        ("/missing.php", "missing"),
        ("/.env", "missing"),
        ("/.git/config", "missing"),
        ("/%2egit/config", "missing"),
        ("/a.php~", "missing"),
        ("/a.php.bak", "missing"),
        ("/%23a.php%23", "missing"),
        ("/a.php.swp", "missing"),
        ("/.well-known/security.txt", "file /.well-known/security.txt"),
        ("/.well-known/.htpasswd", "missing"),
        ("/install.sh", "forbidden"),
    ];
    plain(|rules| place.expect(rules, &rows));
    with_rules(
        |rules| rules.gateway.files.source_suffixes.clear(),
        |rules| {
            place.expect(rules, &[("/install.sh", "file /install.sh"), ("/.env", "missing")]);
        },
    );
}

#[test]
fn a_front_controller_gets_what_is_no_file() {
    let place = Scratch::new(&["index.php", "a.css", "wp-admin/index.php", "uploads/a.jpg", ".env", "about.html"]);
    let change = |rules: &mut OwnedRules| {
        php(rules);
        rules.gateway.try_files = strings(&["{path}", "{path}/", "{path}.html", "/index.php"]);
    };
    with_rules(change, |rules| {
        place.expect(
            rules,
            &[
                ("/", "script /index.php "),
                ("/a.css", "file /a.css"),
                ("/about", "file /about.html"),
                ("/2026/11/post/", "script /index.php "),
                ("/wp-admin", "redirect /wp-admin/"),
                ("/wp-admin/", "script /wp-admin/index.php "),
                ("/uploads/", "script /index.php "),
                ("/uploads", "script /index.php "),
                ("/index.php/x", "script /index.php /x"),
                ("/a.css/x.php", "script /index.php "),
                ("/.env", "script /index.php "),
                ("/a%2Fb", "script /index.php "),
                ("/%00", "missing"),
                ("/../x", "missing"),
                ("/%ff", "script /index.php "),
            ],
        );
    });
}

#[test]
fn links_are_followed_as_the_operator_says() {
    let place = Scratch::new(&["releases/5/index.html", "a.html"]);
    let root = place.root();
    fs::write(place.0.join("secret.html"), "secret").unwrap();
    symlink("releases/5", root.join("current")).unwrap();
    symlink("../secret.html", root.join("out.html")).unwrap();
    symlink(root.join("a.html"), root.join("absolute.html")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    symlink("nowhere", root.join("dangling")).unwrap();
    let links = |symlinks| move |rules: &mut OwnedRules| rules.gateway.files.symlinks = symlinks;
    let expect = |symlinks, rows: &[(&str, &str)]| with_rules(links(symlinks), |rules| place.expect(rules, rows));
    expect(
        Symlinks::Beneath,
        &[
            ("/current/", "file /current/index.html"),
            ("/out.html", "forbidden"),
            ("/absolute.html", "forbidden"),
            ("/loop", "forbidden"),
            ("/dangling", "missing"),
        ],
    );
    expect(
        Symlinks::Anywhere,
        &[
            ("/current/", "file /current/index.html"),
            ("/out.html", "file /out.html"),
            ("/absolute.html", "file /absolute.html"),
        ],
    );
    expect(Symlinks::Never, &[("/current/", "forbidden"), ("/out.html", "forbidden"), ("/a.html", "file /a.html")]);
}

#[test]
fn pipes_sockets_and_devices_are_forbidden() {
    let place = Scratch::new(&[]);
    let root = place.root();
    rustix::fs::mkfifoat(rustix::fs::CWD, root.join("pipe"), rustix::fs::Mode::from(0o644)).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
    symlink("/dev/zero", root.join("zero")).unwrap();
    with_rules(
        |rules| rules.gateway.files.symlinks = Symlinks::Anywhere,
        |rules| {
            place.expect(rules, &[("/pipe", "forbidden"), ("/socket", "forbidden"), ("/zero", "forbidden")]);
        },
    );
}

#[test]
fn a_root_that_is_turned_to_another_release_is_followed() {
    let place = Scratch::new(&[]);
    fs::create_dir_all(place.0.join("1")).unwrap();
    fs::create_dir_all(place.0.join("2")).unwrap();
    fs::write(place.0.join("2/new.html"), "").unwrap();
    fs::remove_dir(place.root()).unwrap();
    symlink("1", place.root()).unwrap();
    plain(|rules| assert_eq!(place.shown("/new.html", rules), "missing"));
    fs::remove_file(place.root()).unwrap();
    symlink("2", place.root()).unwrap();
    plain(|rules| assert_eq!(place.shown("/new.html", rules), "file /new.html"));
}

#[test]
fn a_root_that_is_not_there_is_an_error() {
    let place = Scratch::new(&[]);
    assert!(DocumentRoot::waiting(&place.root().join("nowhere")).named(b"/a", Symlinks::Never).is_err());
}

#[tokio::test(flavor = "current_thread")]
async fn what_the_kernel_does_not_remember_is_found_all_the_same() {
    let place = Scratch::new(&["a.html"]);
    let rules = Rules { gateway: &Gateway::default(), scripts: Scripts::None, open_files: &OpenFiles::default() };
    assert!(matches!(find(&place.root(), "/a.html", &rules).await.unwrap(), ResolvedPath::File(_)));
    assert!(matches!(find(&place.root(), "/b.html", &rules).await.unwrap(), ResolvedPath::Missing));
    // The kernel now has it in memory that this name is missing.
    let path = place.root();
    assert!(matches!(
        DocumentRoot::new(&path, rules.open_files).find("/b.html", &rules).unwrap(),
        ResolvedPath::Missing
    ));
}

#[tokio::test(flavor = "current_thread")]
async fn a_look_up_that_comes_to_no_end_is_given_up() {
    let limits = Limits { first_byte_timeout: std::time::Duration::from_millis(1), ..Limits::default() };
    let given_up = look_up_in_time(&limits, std::future::pending::<io::Result<()>>()).await;
    assert!(matches!(given_up, Err(Error::FirstByteTimeout)));
    let failed = look_up_in_time(&limits, async { Err::<(), _>(io::Error::from(io::ErrorKind::NotFound)) }).await;
    assert!(matches!(failed, Err(Error::Unreachable(_))));
}
