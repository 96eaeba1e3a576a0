//! Checks that each configuration in the documents is valid: it reads the `toml` blocks of the pages as `kasoku check` reads a file.
//!
//! docs/configuration.md is left out: its examples are single settings, which the tests of the settings' table read.

use kasoku_config::{Issue, check_text, render};
use std::fs;
use std::path::{Path, PathBuf};

fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let pages = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let is_page = |path: &PathBuf| {
        path.extension().is_some_and(|extension| extension == "md") && !path.ends_with("configuration.md")
    };
    let mut pages: Vec<_> = pages.filter(is_page).chain([root.join("README.md")]).collect();
    pages.sort();
    pages
}

/// The blocks of a page, each with the number of its first line.
fn blocks(page: &str) -> Vec<(usize, String)> {
    let mut blocks: Vec<(usize, String)> = Vec::new();
    let mut is_inside = false;
    for (number, line) in page.lines().enumerate() {
        match line.trim() {
            "```toml" => {
                is_inside = true;
                blocks.push((number + 2, String::new()));
            }
            "```" => is_inside = false,
            _ if is_inside => {
                let block = &mut blocks.last_mut().unwrap().1;
                block.push_str(line);
                block.push('\n');
            }
            _ => {}
        }
    }
    blocks
}

/// The block as a whole configuration: where a page shows no site, or a part of one, this adds the rest.
fn completed(block: &str) -> String {
    const SITE: &str = "[[site]]\norigin = \"http://127.0.0.1:8000\"\n";
    let has = |start: &str| block.lines().any(|line| line.starts_with(start));
    match (has("[[site]]"), has("[site.") || has("[[site.")) {
        (true, _) if has("origin") => block.to_owned(),
        (true, _) => block.replacen("[[site]]", SITE, 1),
        (false, true) => format!("{SITE}{block}"),
        (false, false) => format!("{block}\n{SITE}"),
    }
}

#[test]
fn each_configuration_of_a_document_is_valid() {
    let (mut count, mut faults) = (0, String::new());
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for (line, block) in blocks(&text) {
            let block = completed(&block);
            count += 1;
            let (_, issues) = check_text(&block);
            let errors: Vec<Issue> = issues.into_iter().filter(Issue::is_error).collect();
            if !errors.is_empty() {
                faults.push_str(&format!("{}:{line}\n{}\n", page.display(), render("block", &block, &errors, false)));
            }
        }
    }
    assert!(faults.is_empty(), "{faults}");
    assert!(count >= 8, "{count}");
}

#[test]
fn the_pages_for_those_who_come_from_elsewhere_name_settings_that_exist() {
    let reference = kasoku_config::reference_markdown();
    let known = |key: &str| reference.contains(&format!("### `{key}`\n")) || reference.contains(&format!(".{key}`\n"));
    for page in pages().iter().filter(|page| page.file_name().unwrap().to_string_lossy().starts_with("from-")) {
        let text = fs::read_to_string(page).unwrap();
        // The second column holds Kasoku's settings.
        let columns = text.lines().filter(|line| line.starts_with("| ")).filter_map(|line| line.split(" | ").nth(1));
        for column in columns {
            for piece in column.split('`').skip(1).step_by(2) {
                let key = piece.split_whitespace().next().unwrap_or_default();
                let is_key =
                    !key.starts_with('-') && key.chars().all(|c| c.is_ascii_lowercase() || matches!(c, '-' | '.'));
                let is_word =
                    ["safe", "rfc", "kasoku", "kasoku explain", "origin", "remove", "hit-headers"].contains(&key);
                assert!(!is_key || is_word || known(key), "{}: `{piece}`: no such setting", page.display());
            }
        }
    }
}
