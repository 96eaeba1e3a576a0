//! The `kasoku` program: arguments, signals, the operator's commands.
//!
//! | file | job |
//! |---|---|
//! | `serve` | `kasoku serve`: starts everything in its order, and acts on signals |
//! | `identity` | the user that the program becomes, and the pid file |
//! | `log` | what the program says on standard error |
//! | `signals`, `systemd` | signals to the program, and its messages to systemd |
//! | `control` | the control socket: where commands find the running program |
//! | `upgrade` | a new process takes over from this one |
//! | `check`, `application` | `kasoku check`, `kasoku application` |
//! | `allocator` | the allocator, and how fast it returns memory |
//! | `generate` | manual pages and completions, for packages |
//! | `operator` | how the other commands ask the running program |
//! | `purge`, `explain`, `top`, `doctor`, `reload` | those commands |
//! | `terminal` | the terminal while `top` draws on it |

mod allocator;
mod application;
mod check;
mod control;
mod doctor;
mod explain;
mod generate;
mod identity;
mod log;
mod operator;
mod purge;
mod reload;
mod serve;
mod signals;
mod systemd;
mod terminal;
mod top;
mod upgrade;

use check::CheckFlags;
use clap::{Parser, Subcommand};
use doctor::DoctorFlags;
use explain::ExplainFlags;
use generate::Generated;
use kasoku_config::ServeFlags;
use purge::PurgeFlags;
use reload::ReloadFlags;
use std::io::IsTerminal;
use std::process::ExitCode;
use top::TopFlags;

/// The version, and the commit that the program was built from, if it is known.
const VERSION: &str = env!("KASOKU_VERSION");

/// An HTTP accelerator: keeps what may be kept, and says why the rest may not.
#[derive(Parser)]
#[command(name = "kasoku", version = VERSION, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Stand in front of a site and serve it
    #[command(after_help = "Everything else is set in the configuration file: docs/configuration.md.\n\
        RUST_LOG=debug shows each request on standard error.")]
    Serve(Box<ServeFlags>),
    /// Say what is wrong with a configuration file: line, column and the fix; else what it comes to
    #[command(
        after_help = "Exit status: 0 where the program can start with it, warnings included; 1 where something is wrong with it, or it \
        can't be read; 2 where the command line is wrong. No origin is asked: `kasoku explain` and `kasoku top` say whether they \
        answer."
    )]
    Check(CheckFlags),
    /// Print what `application = "NAME"` lays under a site: each line with its reason; without a name, list them
    Application {
        /// One of the names
        name: Option<String>,
    },
    /// Drop what the running program has stored, or make it stale
    #[command(
        after_help = "Nothing is scanned: a prefix or a site takes as long as one URL. What is being fetched meanwhile is \
        not stored."
    )]
    Purge(PurgeFlags),
    /// Show what the running program does: requests, hits, memory, origins, and which URLs are no hits or slow
    #[command(
        after_help = "URLs are those of visitors, with their queries. `?` shows the keys, `q` or Ctrl-C ends it. NO_COLOR \
        is respected; in a pipe it is plain text."
    )]
    Top(TopFlags),
    /// Say what a request gets, why, and what would make it a hit
    #[command(
        after_help = "The running program is asked; nothing is stored, dropped or counted by it. Values of cookies and \
        credentials are not shown. Examples: docs/explain.md."
    )]
    Explain(ExplainFlags),
    /// Say what keeps requests from being served from memory, what that costs, and which lines would help
    #[command(
        after_help = "The running program is asked; it tries each line on an example before it proposes it, which asks the \
        application, and stores nothing. More: docs/doctor.md."
    )]
    Doctor(DoctorFlags),
    /// Have the running program read its configuration again, and say what that changed; exit status 1 if something is wrong with it
    #[command(after_help = "What is wrong changes nothing. SIGHUP does the same, and says so in the program's log.")]
    Reload(ReloadFlags),
    /// Make manual pages, or completions for a shell
    #[command(subcommand, hide = true)]
    Generate(Generated),
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Serve(flags) => serve::serve(&flags),
        Command::Check(flags) => check::check(&flags),
        Command::Application { name } => application::application(name.as_deref()),
        Command::Purge(flags) => purge::purge(&flags),
        Command::Top(flags) => top::top(&flags),
        Command::Explain(flags) => explain::explain(&flags),
        Command::Doctor(flags) => doctor::doctor(&flags),
        Command::Reload(flags) => reload::reload(&flags),
        Command::Generate(wanted) => generate::generate::<Arguments>(&wanted),
    }
}

/// Whether standard error shows colours.
fn wants_colour() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
