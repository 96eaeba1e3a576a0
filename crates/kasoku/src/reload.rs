//! `kasoku reload`: has the running program read its configuration again, and says what that changed or what is wrong.

use crate::operator::{Operator, OperatorError, OperatorFlags};
use clap::Args;
use std::process::ExitCode;

/// The arguments of `kasoku reload`.
#[derive(Clone, Debug, Args)]
pub(crate) struct ReloadFlags {
    #[command(flatten)]
    operator: OperatorFlags,
}

pub(crate) fn reload(flags: &ReloadFlags) -> ExitCode {
    match ask(flags) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kasoku reload: {error}");
            ExitCode::FAILURE
        }
    }
}

fn ask(flags: &ReloadFlags) -> Result<(), OperatorError> {
    let said = Operator::new(&flags.operator)?.ask_for("POST", "/reload")?;
    let not_understood = || OperatorError::new("the program's answer is not understood");
    let said: serde_json::Value = serde_json::from_str(&said).map_err(|_| not_understood())?;
    let changes = said.get("changes").and_then(|changes| changes.as_array()).ok_or_else(not_understood)?;
    eprint!("{}", said.get("warnings").and_then(|warnings| warnings.as_str()).unwrap_or_default());
    if changes.is_empty() {
        println!("the configuration was read again: nothing has changed");
        return Ok(());
    }
    println!("the configuration was read again:");
    for change in changes.iter().filter_map(|change| change.as_str()) {
        println!("  {change}");
    }
    match said.get("more").and_then(|more| more.as_u64()) {
        None | Some(0) => {}
        Some(more) => println!("  and {more} more"),
    }
    Ok(())
}
