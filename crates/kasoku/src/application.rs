//! `kasoku application`: prints the policy of an application (what `application = "…"` sets), for operators who have the program
//! without its source.

use kasoku_config::{applications, meant_application};
use std::io::{self, Write};
use std::process::ExitCode;

/// Prints the policy of the application `name`, or the names of all applications.
pub(crate) fn application(name: Option<&str>) -> ExitCode {
    let text = match name {
        None => applications().map(|(name, _)| format!("{name}\n")).collect(),
        Some(name) => match applications().find(|(one, _)| *one == name) {
            Some((_, text)) => text.to_owned(),
            None => {
                let meant =
                    meant_application(name).map_or(String::new(), |meant| format!(" (did you mean `{meant}`?)"));
                eprintln!("kasoku: there is no application `{name}`{meant}: `kasoku application` lists them");
                return ExitCode::FAILURE;
            }
        },
    };
    // A closed pipe is no error: a reader such as `head` may stop early.
    let _ = io::stdout().write_all(text.as_bytes());
    ExitCode::SUCCESS
}
