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
//! | `disk` | `kasoku disk`: looks into a directory of the disk tier |
//! | `terminal` | the terminal while `top` draws on it |

mod allocator;
mod application;
mod check;
mod control;
mod disk;
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
use disk::DiskCommand;
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
    /// Say what is wrong with a configuration file, with line, column and the fix; if nothing is wrong, sum it up
    #[command(
        after_help = "Exit status: 0 if the program can start with the file, also with warnings; 1 if something is wrong with it, or it \
        can't be read; 2 if the command line is wrong. No origin is asked: `kasoku explain` and `kasoku top` say whether the \
        origins answer."
    )]
    Check(CheckFlags),
    /// Print the policy that `application = "NAME"` gives to a site, each line with its reason; without a name, list the names
    Application {
        /// The name of an application
        name: Option<String>,
    },
    /// Drop what the running program has stored, or make it stale
    #[command(
        after_help = "Nothing is scanned: a prefix or a site takes as long as one URL. A response that is being fetched \
        meanwhile is not stored."
    )]
    Purge(PurgeFlags),
    /// Show what the running program does: requests, hits, memory, origins, and which URLs are no hits or slow
    #[command(
        after_help = "The URLs are those of visitors, with their queries. `?` shows the keys, `q` or Ctrl-C quits. NO_COLOR \
        turns colours off; in a pipe the output is plain text."
    )]
    Top(TopFlags),
    /// Say what a request gets, why, and what would make it a hit
    #[command(
        after_help = "The command asks the running program, which stores, drops and counts nothing for that. Values of cookies \
        and credentials are not shown. Examples: docs/explain.md."
    )]
    Explain(ExplainFlags),
    /// Say what keeps requests from being served from memory, what that costs, and which lines of configuration would help
    #[command(
        after_help = "The command asks the running program. Before the program proposes a line, it tries the line on an \
        example: it asks the application, and stores nothing. More: docs/doctor.md."
    )]
    Doctor(DoctorFlags),
    /// Look into the directory of a disk cache, also while a program serves from it; nothing is changed
    #[command(
        subcommand,
        after_help = "Without --disk, the directory is that of the configuration. The commands take no lock. What the program stored \
        in the last second may be missing. More: docs/disk.md."
    )]
    Disk(DiskCommand),
    /// Have the running program read its configuration again, and say what that changed; exit status 1 if the configuration is wrong
    #[command(
        after_help = "A configuration that is wrong changes nothing. SIGHUP does the same; the program's log then says what changed."
    )]
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
        Command::Disk(command) => disk::disk(&command),
        Command::Reload(flags) => reload::reload(&flags),
        Command::Generate(wanted) => generate::generate::<Arguments>(&wanted),
    }
}

/// Whether standard error shows colours.
fn wants_colour() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
