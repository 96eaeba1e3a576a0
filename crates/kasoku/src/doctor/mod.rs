//! `kasoku doctor`: says what keeps requests from being served from memory, what that costs, and which lines of configuration would
//! help. The running program makes the diagnosis; this command asks for it and writes it for people.

mod render;

use crate::operator::{Operator, OperatorError, OperatorFlags, in_query};
use clap::Args;
use std::process::ExitCode;

/// The arguments of `kasoku doctor`.
#[derive(Clone, Debug, Args)]
pub(crate) struct DoctorFlags {
    /// Only the site that serves this host
    #[arg(long, value_name = "HOST")]
    site: Option<String>,
    /// Write the diagnosis as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    operator: OperatorFlags,
}

pub(crate) fn doctor(flags: &DoctorFlags) -> ExitCode {
    match ask(flags) {
        Ok(said) => {
            print!("{said}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("kasoku doctor: {error}");
            ExitCode::FAILURE
        }
    }
}

fn ask(flags: &DoctorFlags) -> Result<String, OperatorError> {
    let operator = Operator::new(&flags.operator)?;
    let query = flags.site.as_deref().map_or(String::new(), |host| format!("?site={}", in_query(host)));
    let said = operator.ask_for("POST", &format!("/doctor{query}"))?;
    if flags.json {
        return Ok(said);
    }
    let said = serde_json::from_str(&said).map_err(|_| OperatorError::new("the program's answer is not understood"))?;
    Ok(render::render(&said))
}
