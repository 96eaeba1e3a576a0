//! `kasoku application`: what is known of programs, for whoever has the program and not its source.

use kasoku_config::{applications, meant_application};
use std::io::{self, Write};
use std::process::ExitCode;

/// Prints what is known of one, or the names of all.
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
    // Who reads only its beginning wants no more.
    let _ = io::stdout().write_all(text.as_bytes());
    ExitCode::SUCCESS
}
