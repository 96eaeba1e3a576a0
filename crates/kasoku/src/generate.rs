//! `kasoku generate`: makes manual pages and shell completions for packages, from the same table as `--help`. The command is hidden,
//! since an operator needs it once at most.

use clap::{CommandFactory, Subcommand};
use clap_complete::Shell;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// What `kasoku generate` makes.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Generated {
    /// Manual pages (section 1), a file for each command
    Man {
        /// The directory for the pages; it must exist
        #[arg(value_name = "DIRECTORY")]
        directory: PathBuf,
    },
    /// Completions for a shell, to standard output
    Completions {
        /// The shell
        #[arg(value_name = "SHELL")]
        shell: Shell,
    },
}

pub(crate) fn generate<Arguments: CommandFactory>(wanted: &Generated) -> ExitCode {
    let mut command = Arguments::command().disable_help_subcommand(true);
    let made = match wanted {
        // Writes `kasoku.1`, `kasoku-serve.1` and so on.
        Generated::Man { directory } => clap_mangen::generate_to(command, directory),
        Generated::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(*shell, &mut command, "kasoku", &mut text);
            io::stdout().write_all(&text)
        }
    };
    match made {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kasoku generate: {error}");
            ExitCode::FAILURE
        }
    }
}
