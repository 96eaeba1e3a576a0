//! Tests the warnings of `kasoku check` about directories of uploads: those that any user may write to and in which programs run.

use kasoku_config::{ServeFlags, examine, load};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory with a document root, `www`; it is removed on drop. Any user may write to `www/data` and `www/shop/files`.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let scratch = Self(std::env::temp_dir().join(format!("kasoku-writable-{}-{number}", std::process::id())));
        for (below, mode) in
            [("", 0o755), ("www", 0o555), ("www/data", 0o777), ("www/shop", 0o555), ("www/shop/files", 0o757)]
        {
            scratch.make(below, mode);
        }
        scratch
    }

    fn make(&self, below: &str, mode: u32) {
        let path = self.0.join(below);
        let parent = path.parent().unwrap().to_owned();
        let before = fs::metadata(&parent).unwrap().permissions();
        if !below.is_empty() {
            fs::set_permissions(&parent, fs::Permissions::from_mode(0o755)).unwrap();
        }
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        if !below.is_empty() {
            fs::set_permissions(&parent, before).unwrap();
        }
    }

    /// The warnings about a configuration, in which `ROOT` stands for the document root. Only `kasoku check` looks for such directories.
    fn report(&self, text: &str) -> String {
        let config = self.0.join("kasoku.toml");
        fs::write(&config, text.replace("ROOT", &self.root())).unwrap();
        let flags = ServeFlags { config: Some(config), ..ServeFlags::default() };
        assert_eq!(load(&flags).unwrap().warnings.render(false), "", "only who asks for a check waits for this");
        examine(&flags).unwrap().warnings.render(false).replace(&self.root(), "ROOT")
    }

    fn root(&self) -> String {
        self.0.join("www").display().to_string()
    }

    /// The warnings and their remedies, one string each.
    fn said(&self, text: &str) -> Vec<String> {
        let report = self.report(text);
        let lines = report.lines().map(str::trim);
        let said = |line: &str| line.strip_prefix("warning: ").or(line.strip_prefix("= help: ")).map(str::to_owned);
        lines.filter_map(said).collect()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        for below in ["www/shop", "www"] {
            let _ = fs::set_permissions(self.0.join(below), fs::Permissions::from_mode(0o755));
        }
        let _ = fs::remove_dir_all(&self.0);
    }
}

const PHP: &str = "user = \"nobody\"\n[[site]]\norigin = \"fastcgi://127.0.0.1:9000\"\nroot = \"ROOT\"\n";

const BOTH: &str = "any user may write to `ROOT/data`, `ROOT/shop/files`, and programs run there";
const SHOP: &str = "any user may write to `ROOT/shop/files`, and programs run there";

#[test]
fn directories_that_anybody_may_write_to_are_named_with_the_line_to_add() {
    let scratch = Scratch::new();
    let report = scratch.report(PHP);
    assert!(report.starts_with(&format!("warning: {BOTH}\n --> ")), "{report}");
    assert!(report.contains("kasoku.toml:4:8\n"), "{report}");
    assert_eq!(scratch.said(PHP)[1], "with `no-programs = [\"/data/*\", \"/shop/files/*\"]`, no program runs there");
}

#[test]
fn the_line_that_is_named_is_the_remedy() {
    let scratch = Scratch::new();
    scratch.make("www/a b%*", 0o777);
    let said = scratch.said(PHP);
    let line = said[1].split('`').nth(1).unwrap();
    assert_eq!(line, "no-programs = [\"/a%20b%25%2A/*\", \"/data/*\", \"/shop/files/*\"]".to_owned());
    assert_eq!(scratch.said(&format!("{PHP}{line}\n")), Vec::<String>::new());
}

#[test]
fn what_would_not_run_is_not_named() {
    let scratch = Scratch::new();
    for (added, expected) in [
        ("no-programs = [\"/data/*\"]\n", vec![SHOP, "with \"/shop/files/*\" in `no-programs`, no program runs there"]),
        (
            "refuse-urls = [\"/data/*\"]\n",
            vec![SHOP, "with `no-programs = [\"/shop/files/*\"]`, no program runs there"],
        ),
        ("no-programs = [\"*/files\"]\nrefuse-urls = [\"*/data/*.php*\"]\n", vec![]),
        (
            "[[site.rule]]\npath = \"/data/*\"\norigin = \"file://ROOT\"\n",
            vec![SHOP, "with `no-programs = [\"/shop/files/*\"]`, no program runs there"],
        ),
        ("[[site.rule]]\npath = \"*\"\nno-programs = [\"/\"]\n", vec![]),
    ] {
        assert_eq!(scratch.said(&format!("{PHP}{added}")), expected, "{added}");
    }
    for text in ["[[site]]\norigin = \"file://ROOT\"\n", "[[site]]\norigin = \"fastcgi://127.0.0.1:9000\"\n"] {
        assert_eq!(scratch.said(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn a_rule_that_runs_more_counts_where_it_is_reached() {
    let scratch = Scratch::new();
    let text = "user = \"nobody\"\n[[site]]\norigin = \"file://ROOT\"\n[[site.rule]]\npath = \"/shop/*.cgi\"\n\
                origin = \"fastcgi://127.0.0.1:9000\"\nroot = \"ROOT\"\nscript-suffixes = [\".cgi\"]\n";
    assert_eq!(scratch.said(text)[0], SHOP);
}

#[test]
fn programs_of_cgi_are_named_at_their_origin_and_with_the_prefix_of_their_rule() {
    let scratch = Scratch::new();
    let text = "user = \"nobody\"\n[[site]]\norigin = \"file://ROOT/shop\"\n[[site.rule]]\npath = \"/cgi-bin/*\"\norigin = \"cgi://ROOT\"\n";
    assert!(scratch.report(text).contains("kasoku.toml:6:10\n"));
    let expected =
        [BOTH, "with `no-programs = [\"/cgi-bin/data/*\", \"/cgi-bin/shop/files/*\"]`, no program runs there"];
    assert_eq!(scratch.said(text), expected);
}

#[test]
fn many_directories_are_one_warning_and_a_root_for_everybody_is_another() {
    let scratch = Scratch::new();
    for number in 0..20 {
        scratch.make(&format!("www/d{number:02}"), 0o777);
    }
    let said = scratch.said(PHP);
    assert!(said[0].ends_with(" and 14 more, and programs run there"), "{said:?}");
    fs::set_permissions(scratch.0.join("www"), fs::Permissions::from_mode(0o777)).unwrap();
    let expected = [
        "any user may write to `ROOT`, and programs run there",
        "let another user own it, except directories of uploads; for these, write `no-programs = [\"/data/*\"]`",
    ];
    assert_eq!(scratch.said(PHP), expected);
}

#[test]
fn a_tree_that_is_too_deep_is_said_not_to_have_been_looked_at_as_a_whole() {
    let scratch = Scratch::new();
    let deep = (0..17).map(|_| "d").collect::<Vec<_>>().join("/");
    fs::create_dir_all(scratch.0.join("www/shop/files").join(&deep)).unwrap();
    let said = scratch.said(PHP);
    assert!(!said[1].contains("look at"), "what lies below a directory that is named is not looked at: {said:?}");
    scratch.make("www/deep", 0o755);
    fs::create_dir_all(scratch.0.join("www/deep").join(&deep)).unwrap();
    assert!(scratch.said(PHP)[1].ends_with("; there may be more: Kasoku did not look at everything below the root"));
}

/// The user id of `nobody`.
const NOBODY: u32 = 65_534;

/// Only root can give a directory to another user; for other users this test does nothing.
#[test]
fn what_the_program_s_user_may_write_is_named_as_well() {
    let scratch = Scratch::new();
    let cache = scratch.0.join("www/cache");
    scratch.make("www/cache", 0o755);
    if std::os::unix::fs::chown(&cache, Some(NOBODY), None).is_err() {
        return;
    }
    let said = scratch.said(&format!("{PHP}no-programs = [\"/data\", \"/shop\"]\n"));
    let expected = [
        "Kasoku's user `nobody` may write to `ROOT/cache`, and programs run there",
        "with \"/cache/*\" in `no-programs`, no program runs there",
    ];
    assert_eq!(said, expected);
}
