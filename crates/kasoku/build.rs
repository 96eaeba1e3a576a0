//! Tells the program which commit it is built from, for `kasoku --version`.
//!
//! In this order: the variable `KASOKU_COMMIT`, which a package sets that is built without the repository; the note that `cargo package` leaves;
//! the commit that is checked out. Without any of them the version stands alone. Changes that are not committed are not seen.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// So many hexadecimal digits name a commit.
const SHOWN_DIGITS: usize = 12;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=KASOKU_COMMIT");
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let commit = env::var("KASOKU_COMMIT").ok().or_else(packaged).or_else(checked_out);
    let commit = commit.filter(|commit| commit.len() >= SHOWN_DIGITS && commit.bytes().all(|b| b.is_ascii_hexdigit()));
    let shown = commit.and_then(|commit| commit.get(..SHOWN_DIGITS).map(|commit| format!("{version} ({commit})")));
    println!("cargo:rustc-env=KASOKU_VERSION={}", shown.unwrap_or(version));
}

/// Of a crate that was unpacked: what `cargo package` noted.
fn packaged() -> Option<String> {
    let note = fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, commit) = note.split_once("\"sha1\"")?;
    commit.split('"').nth(1).map(str::to_owned)
}

/// Of a working copy, if this is one: an unpacked archive may lie in a repository that is not ours.
fn checked_out() -> Option<String> {
    let is_ours = git(&["rev-parse", "--show-prefix"])? == "crates/kasoku/";
    let commit = git(&["rev-parse", "HEAD"]).filter(|_| is_ours)?;
    // Built anew when another commit is checked out, or one is made.
    let branch = git(&["rev-parse", "--symbolic-full-name", "HEAD"]);
    for name in ["HEAD", "logs/HEAD"].into_iter().chain(branch.as_deref()) {
        let path = git(&["rev-parse", "--git-path", name]).filter(|path| Path::new(path).exists());
        path.into_iter().for_each(|path| println!("cargo:rerun-if-changed={path}"));
    }
    Some(commit)
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
