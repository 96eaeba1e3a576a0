//! Tests the messages about mistakes: each file in `tests/mistakes/` makes one typical mistake, and the report beside it is the exact
//! text that `kasoku check` shows for it.
//!
//! `KASOKU_REWRITE_REPORTS=1 cargo test -p kasoku-config --test configuration mistakes` rewrites the reports; read the difference.

use kasoku_config::{check_text, render};
use std::path::{Path, PathBuf};
use std::{env, fs};

fn mistakes() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mistakes");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|extension| extension == "toml")).collect();
    files.sort();
    files
}

fn report_of(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    let (_, issues) = check_text(&text);
    render("kasoku.toml", &text, &issues, false)
}

#[test]
fn each_mistake_is_reported_in_these_words() {
    let rewrite = env::var_os("KASOKU_REWRITE_REPORTS").is_some();
    let mut different = String::new();
    for file in mistakes() {
        let (report, expected_file) = (report_of(&file), file.with_extension("txt"));
        if rewrite {
            fs::write(&expected_file, &report).unwrap();
        }
        let expected = fs::read_to_string(&expected_file).unwrap_or_default();
        if report != expected {
            different.push_str(&format!("{}\n--- expected\n{expected}--- is\n{report}\n", file.display()));
        }
    }
    assert!(different.is_empty(), "{different}");
}

#[test]
fn each_report_has_a_way_out() {
    assert!(mistakes().len() >= 20);
    for file in mistakes() {
        let report = report_of(&file);
        assert!(
            ["= help: ", "did you mean"].iter().any(|words| report.contains(words)),
            "{}\n{report}",
            file.display()
        );
    }
}

#[test]
fn a_mistake_gives_no_options_and_a_warning_does() {
    for file in mistakes() {
        let (options, issues) = check_text(&fs::read_to_string(&file).unwrap());
        assert!(!issues.is_empty(), "{}", file.display());
        assert_eq!(options.is_none(), issues.iter().any(kasoku_config::Issue::is_error), "{}", file.display());
    }
}

#[test]
fn no_report_shows_a_password() {
    for file in mistakes() {
        assert!(!report_of(&file).contains("hunter2"), "{}", file.display());
    }
}

#[test]
fn colour_comes_only_when_asked_for() {
    let (_, issues) = check_text("listn = 1");
    assert!(render("a", "listn = 1", &issues, true).contains('\u{1b}'));
    assert!(!render("a", "listn = 1", &issues, false).contains('\u{1b}'));
}

#[test]
fn deep_nesting_is_an_error_and_not_a_full_stack() {
    for text in ["a = ".to_owned() + &"[".repeat(100_000), "a = ".to_owned() + &"{ a = ".repeat(100_000)] {
        let (options, issues) = check_text(&text);
        assert!(options.is_none());
        assert!(render("a", &text, &issues, false).contains("not TOML"));
    }
}

#[test]
fn a_list_that_is_too_long_is_refused_and_not_cut() {
    let list = vec!["\"10.0.0.1\""; 10_001].join(",\n");
    let text = format!("trusted-proxies = [{list}]\n[[site]]\norigin = \"http://a\"");
    let (options, issues) = check_text(&text);
    assert!(options.is_none());
    let report = render("a", &text, &issues, false);
    assert!(report.contains("the list is longer than 10000\n") && report.contains("--> a:10001:1\n"), "{report}");
}

#[test]
fn a_long_report_ends_with_a_count() {
    let text: String = (0..1000).map(|number| format!("unknown-{number} = 1\n")).collect();
    let (_, issues) = check_text(&text);
    let report = render("a", &text, &issues, false);
    assert_eq!(report.matches("error: ").count(), 50);
    assert!(report.ends_with("\n\nand 951 more\n\n1001 errors\n"), "{report}");
}

proptest::proptest! {
    #[test]
    fn no_change_of_a_configuration_makes_the_check_or_the_report_panic(
        start in 0..kasoku_config::SAMPLE.len(),
        removed in 0..20_usize,
        inserted in "(.|\\PC|[\\[\\]{}\"'=.,\n*@:/-]){0,8}",
    ) {
        let mut text: Vec<char> = kasoku_config::SAMPLE.chars().collect();
        let end = (start + removed).min(text.len());
        text.splice(start..end, inserted.chars());
        let text = String::from_iter(text);
        let (options, issues) = check_text(&text);
        proptest::prop_assert!(options.is_some() || !issues.is_empty());
        let report = render("kasoku.toml", &text, &issues, true);
        proptest::prop_assert_eq!(report.is_empty(), issues.is_empty());
    }
}
