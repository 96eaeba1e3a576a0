//! Resolves the format of the program's own log. The parent process decides where the log goes, and `RUST_LOG` how much it says.

use crate::bounds;
use crate::issue::Issue;
use crate::raw::RawLog;
use crate::table::{self, SettingScope};
use kasoku_options::ProgramLog;

/// The formats in the order of the table's words.
const FORMATS: [ProgramLog; 2] = [ProgramLog::Text, ProgramLog::Json];

pub(super) fn program_log(raw: &RawLog, issues: &mut Vec<Issue>) -> ProgramLog {
    let row = table::find(SettingScope::Top, "log.format");
    match raw.format.as_ref().zip(row).map(|(text, row)| bounds::one_of(row, text)).transpose() {
        Ok(index) => index.and_then(|index| FORMATS.get(index)).copied().unwrap_or_default(),
        Err(issue) => {
            issues.push(issue);
            ProgramLog::default()
        }
    }
}
