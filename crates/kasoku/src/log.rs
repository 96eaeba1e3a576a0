//! The program's own log, on standard error: lines for people, or JSON objects (`log.format`).
//!
//! What is said before the configuration has been read is text, and so is what is wrong with it at the start: nobody knows yet how it is
//! wanted. From then on each line of the log is an object where that is set, reports of a reload as well.

use crate::wants_colour;
use kasoku_config::{ConfigReport, Severity};
use kasoku_options::ProgramLog;
use std::fmt::Display;
use std::io::{self, Write};
use std::sync::OnceLock;
use tracing_subscriber::EnvFilter;

/// How it looks, from the start of the log to the end of the program.
static FORMAT: OnceLock<ProgramLog> = OnceLock::new();

/// Starts it. Only the first time counts.
pub(crate) fn start(format: ProgramLog) {
    if FORMAT.set(format).is_err() {
        return;
    }
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        // Where nobody reads standard error any more, nothing is said; else saying that would end the thread.
        .log_internal_errors(false);
    match format {
        ProgramLog::Text => log.with_ansi(wants_colour()).init(),
        ProgramLog::Json => log.json().flatten_event(true).with_current_span(false).with_span_list(false).init(),
    }
}

fn is_json() -> bool {
    FORMAT.get() == Some(&ProgramLog::Json)
}

/// Tells what is wrong with a configuration, or may be; nothing where nothing is.
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

/// Tells why the program does not start.
pub(crate) fn failed(error: &dyn Display) {
    if is_json() { tracing::error!("{error}") } else { say(&format!("kasoku: {error}\n")) }
}

/// Says it on standard error, if anybody reads that still: a program that serves does not end for want of a reader.
fn say(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}
