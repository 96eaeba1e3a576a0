//! Reads TOML and flags into the engine's options, and reports every fault where it stands.
//!
//! ```text
//! text -> document -> raw ----> resolve -> Options, Issues -> report
//!         (TOML)      (places)     ^
//! flags ---------------------------'
//! ```
//!
//! `table` is the one list of all settings: reading checks types and bounds by it, flags take their help from it, and
//! docs/configuration.md is made from it. Checks collect every fault instead of the first; options come out only if there is no
//! error. Operators also paste and generate configurations, so the file's size, the length of lists and reports are bounded, and
//! reports show no credentials.
//!
//! Keys of earlier versions are in `gone`: each is an error that says what holds in its place.
//!
//! `changes` compares two configurations, for a reload that says what it changes.
//!
//! This crate opens no sockets and resolves no names, so an address that is in use is found only at start. It looks at the disk
//! only when a configuration is loaded, and only to warn (`on_disk`).

mod address;
mod applications;
mod bounds;
mod changes;
mod document;
#[cfg(test)]
mod drift;
mod flags;
mod glob;
mod gone;
mod host;
mod issue;
mod line_numbers;
mod on_disk;
mod raw;
mod reader;
mod reference;
mod report;
mod resolve;
mod schema;
mod secrets;
mod suggest;
mod table;
mod value;

pub use applications::{applications, meant_application};
pub use changes::{CHANGES_MAX, ChangedSetting, changes};
pub use flags::{Loaded, ServeFlags, examine, examine_input, load};
pub use issue::{Issue, SettingsSource, Severity, SourceLocation};
pub use reference::{SAMPLE, reference_markdown};
pub use report::{ConfigReport, render};
pub use schema::schema_json;

use kasoku_options::{ListenAddress, Options};
use std::path::PathBuf;

/// Checks a configuration's text: its options, unless there is an error, and all errors and warnings in the order of
/// their places. Show them with [`render`] and the same text.
pub fn check_text(text: &str) -> (Option<Options>, Vec<Issue>) {
    let mut issues = Vec::new();
    let look = flags::CheckScope::Text;
    let options = flags::check("kasoku.toml", text, &ServeFlags::default(), look, &mut String::new(), &mut issues);
    (options, issues)
}

/// A directory of the disk tier as `--disk` names it, with a size or without.
pub fn disk_directory(text: &str) -> (PathBuf, Option<u64>) {
    let with_size = text.rsplit_once(':').and_then(|(path, size)| Some((path, value::parse_size(size).ok()?)));
    match with_size {
        Some((path, size)) => (path.into(), Some(size)),
        None => (text.into(), None),
    }
}

/// Where a running program's admin listener is, as it is written in a configuration.
///
/// # Errors
/// What is wrong with it, in one sentence.
pub fn admin_address(text: &str) -> Result<ListenAddress, String> {
    address::parse_listen(text).map_err(|fault| format!("{}: {}", fault.message, fault.help))
}
