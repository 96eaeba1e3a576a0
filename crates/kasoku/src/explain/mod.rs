//! `kasoku explain`: says why a request gets what it gets. The running program makes the explanation; this command asks for it and
//! writes it for people.

mod render;

use crate::operator::{Operator, OperatorError, OperatorFlags, in_query};
use clap::Args;
pub(crate) use render::{difference_lines, duration, number, printable, text};
use std::io::IsTerminal;
use std::process::ExitCode;

/// The arguments of `kasoku explain`.
#[derive(Clone, Debug, Args)]
pub(crate) struct ExplainFlags {
    /// The URL, as a visitor requests it
    #[arg(value_name = "URL")]
    url: String,
    /// A line of the visitor's request, such as 'Cookie: PHPSESSID=1'; may be given several times
    #[arg(short = 'H', long = "header", value_name = "LINE")]
    fields: Vec<String>,
    /// The method of the visitor's request
    #[arg(long, value_name = "METHOD", default_value = "GET")]
    method: String,
    /// Ask the application as well, without storing its answer
    #[arg(long)]
    live: bool,
    /// Write the explanation as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    operator: OperatorFlags,
}

pub(crate) fn explain(flags: &ExplainFlags) -> ExitCode {
    match ask(flags) {
        Ok(said) => {
            print!("{said}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("kasoku explain: {error}");
            ExitCode::FAILURE
        }
    }
}

fn ask(flags: &ExplainFlags) -> Result<String, OperatorError> {
    let operator = Operator::new(&flags.operator)?;
    let mut query = format!("url={}&method={}", in_query(&flags.url), in_query(&flags.method));
    for line in &flags.fields {
        query.push_str(&format!("&field={}", in_query(line)));
    }
    if flags.live {
        query.push_str("&live");
    }
    let said = operator.ask_for("POST", &format!("/explain?{query}"))?;
    if flags.json {
        return Ok(said);
    }
    let said = serde_json::from_str(&said).map_err(|_| OperatorError::new("the program's answer is not understood"))?;
    Ok(render::render(&said, wants_colour()))
}

/// Whether standard output shows colours.
fn wants_colour() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
