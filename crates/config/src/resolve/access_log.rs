//! Resolves the access log: its target and its format.

use crate::bounds;
use crate::issue::Issue;
use crate::raw::RawAccessLog;
use crate::table::{self, SettingScope};
use kasoku_options::{AccessLogOptions, LogFormat, LogTarget};
use std::path::PathBuf;

/// The formats in the order of the table's words.
const FORMATS: [LogFormat; 4] = [LogFormat::Combined, LogFormat::CombinedCache, LogFormat::Common, LogFormat::Json];

/// Does not open the file: the program does so at its start, as the user that serves.
pub(super) fn access_log(raw: &RawAccessLog, issues: &mut Vec<Issue>) -> AccessLogOptions {
    AccessLogOptions { target: target(raw, issues), format: format(raw, issues) }
}

fn target(raw: &RawAccessLog, issues: &mut Vec<Issue>) -> Option<LogTarget> {
    let path = raw.path.as_ref()?;
    match path.value.as_str() {
        "-" => Some(LogTarget::StandardOutput),
        text if text.is_empty() || text.ends_with('/') || text.contains('\0') => {
            let issue = Issue::error("the access log needs the path of a file").at(&path.place);
            issues.push(issue.help("like \"/var/log/kasoku/access.log\", or \"-\" for standard output"));
            None
        }
        text => Some(LogTarget::File(PathBuf::from(text))),
    }
}

fn format(raw: &RawAccessLog, issues: &mut Vec<Issue>) -> LogFormat {
    let row = table::find(SettingScope::Top, "access-log.format");
    let written = raw.format.as_ref().zip(row).map(|(text, row)| bounds::one_of(row, text));
    match written.transpose() {
        Ok(index) => index.and_then(|index| FORMATS.get(index)).copied().unwrap_or_default(),
        Err(issue) => {
            issues.push(issue);
            LogFormat::default()
        }
    }
}
