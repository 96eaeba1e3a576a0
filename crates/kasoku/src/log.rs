//! The program's own log, on standard error: lines for people, or JSON objects (`log.format`).
//!
//! Output before the configuration has been read is text, and so is the report of a configuration that is wrong at the start: the
//! wanted format is not known yet. From then on, if JSON is set, each line is an object, including reports of a reload.

use crate::wants_colour;
use kasoku_config::{ConfigReport, Severity};
use kasoku_options::ProgramLog;
use std::fmt::Display;
use std::io::{self, Write};
use std::sync::OnceLock;
use tracing_subscriber::EnvFilter;

/// The format, from the start of the log to the end of the program.
static FORMAT: OnceLock<ProgramLog> = OnceLock::new();

/// Starts the log. Only the first call counts.
pub(crate) fn start(format: ProgramLog) {
    if FORMAT.set(format).is_err() {
        return;
    }
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        // If standard error is closed, the log stays silent: an attempt to report that would end the thread.
        .log_internal_errors(false);
    match format {
        ProgramLog::Text => log.with_ansi(wants_colour()).init(),
        ProgramLog::Json => log.json().flatten_event(true).with_current_span(false).with_span_list(false).init(),
    }
}

fn is_json() -> bool {
    FORMAT.get() == Some(&ProgramLog::Json)
}

/// Reports the errors and warnings of a configuration, if it has any.
pub(crate) fn report(report: &ConfigReport) {
    if !is_json() {
        return say(&report.render(wants_colour()));
    }
    for (severity, line) in report.to_lines() {
        match severity {
            Severity::Error => tracing::error!("{line}"),
            Severity::Warning => tracing::warn!("{line}"),
        }
    }
}

/// Reports why the program does not start.
pub(crate) fn failed(error: &dyn Display) {
    if is_json() { tracing::error!("{error}") } else { say(&format!("kasoku: {error}\n")) }
}

/// Writes to standard error and ignores failures: a program that serves must not end because its reader has gone.
fn say(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}
