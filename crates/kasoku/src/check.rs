//! `kasoku check`: reports what is wrong with a configuration file.
//!
//! For people: problems on standard error, as `kasoku serve` reports them, and a summary of the configuration (`summary`) on standard
//! output. With `--json`: one object on standard output.

mod summary;

use crate::wants_colour;
use clap::Args;
use kasoku_config::{ConfigReport, Loaded, ServeFlags};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The file name that stands for standard input.
const STANDARD_INPUT: &str = "-";

/// The arguments of `kasoku check`.
#[derive(Clone, Debug, Args)]
pub(crate) struct CheckFlags {
    /// The configuration file (TOML); `-`: standard input
    #[arg(value_name = "FILE")]
    config: PathBuf,
    /// Write the result as JSON: one object on standard output
    #[arg(long)]
    json: bool,
}

pub(crate) fn check(flags: &CheckFlags) -> ExitCode {
    let checked = examine(&flags.config);
    let exit = if checked.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    if flags.json {
        let report = match &checked {
            Ok(loaded) => &loaded.warnings,
            Err(report) => report,
        };
        // The reader may have closed the pipe.
        let _ = io::stdout().write_all(report.to_json().as_bytes());
        return exit;
    }
    match checked {
        Ok(loaded) => {
            eprint!("{}", loaded.warnings.render(wants_colour()));
            let mut text = format!("{}: ok, {}\n", name(&flags.config), counts(&loaded));
            for line in summary::lines(&loaded.options) {
                text += &line;
                text.push('\n');
            }
            // The reader may have closed the pipe.
            let _ = io::stdout().write_all(text.as_bytes());
        }
        Err(report) => eprint!("{}", report.render(wants_colour())),
    }
    exit
}

fn counts(loaded: &Loaded) -> String {
    let count = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    let sites = count(loaded.options.sites.len(), "site");
    match loaded.warnings.issues.len() {
        0 => sites,
        warnings => format!("{sites}, {}", count(warnings, "warning")),
    }
}

fn examine(config: &Path) -> Result<Loaded, ConfigReport> {
    if config == Path::new(STANDARD_INPUT) {
        return kasoku_config::examine_input(&name(config), io::stdin().lock());
    }
    kasoku_config::examine(&ServeFlags { config: Some(config.to_owned()), ..ServeFlags::default() })
}

fn name(config: &Path) -> String {
    if config == Path::new(STANDARD_INPUT) { "standard input".to_owned() } else { config.display().to_string() }
}
