//! `kasoku disk`: looks into the directory of a disk tier, whether a program serves from it or not. Nothing in it is changed.

mod export;
mod list;
mod stat;
mod verify;

use crate::operator::CONFIG_DEFAULT;
use clap::{Args, Subcommand};
use export::ExportFlags;
use kasoku_cache::disk::DiskContents;
use kasoku_config::ServeFlags;
use list::ListFlags;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

/// `kasoku disk`: what to do.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum DiskCommand {
    /// Sum up what the directory has
    Stat {
        #[command(flatten)]
        directory: DirectoryFlags,
        /// Write JSON: one object
        #[arg(long)]
        json: bool,
    },
    /// List the stored responses, one a line
    #[command(
        after_help = "The columns: status, size of the body, age, time left, how often it was requested (3: or more often), media \
        type, URL. Purged responses are not listed. A pipe gets no heading."
    )]
    List(ListFlags),
    /// Read every stored response and compare its checksums
    #[command(
        after_help = "Exit status: 0 if all is as it was written; 1 if something is damaged (the program takes it for a miss), or \
        the directory can't be read; 2 if the command line is wrong."
    )]
    Verify {
        #[command(flatten)]
        directory: DirectoryFlags,
        /// Write JSON: one object
        #[arg(long)]
        json: bool,
    },
    /// Write stored responses as HTTP messages, head and body
    Export(ExportFlags),
}

/// Which directory.
#[derive(Clone, Debug, Args)]
pub(crate) struct DirectoryFlags {
    /// The directory, with its size or without, like the flag of `kasoku serve`: /var/cache/kasoku:50GiB
    #[arg(long, value_name = "DIRECTORY[:SIZE]", conflicts_with = "config")]
    disk: Option<String>,
    /// The configuration whose `disk.path` is the directory; by default /etc/kasoku/kasoku.toml
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Why a command did not succeed.
#[derive(Debug, thiserror::Error)]
enum DiskError {
    #[error("{0}")]
    Told(String),
    #[error(transparent)]
    Open(#[from] kasoku_cache::disk::OpenError),
    /// Standard output can't be written.
    #[error("the output can't be written: {0}")]
    Output(#[from] io::Error),
}

/// Whether all was as it should be.
type Outcome = Result<bool, DiskError>;

pub(crate) fn disk(command: &DiskCommand) -> ExitCode {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let done = match command {
        DiskCommand::Stat { directory, json } => stat::stat(directory, *json, &mut out),
        DiskCommand::List(flags) => list::list(flags, &mut out),
        DiskCommand::Verify { directory, json } => verify::verify(directory, *json, &mut out),
        DiskCommand::Export(flags) => export::export(flags, &mut out),
    };
    match done.and_then(|is_good| Ok(out.flush().map(|()| is_good)?)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        // `| head` has seen enough.
        Err(DiskError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kasoku disk: {error}");
            ExitCode::FAILURE
        }
    }
}

impl DirectoryFlags {
    /// The directory, and what it may take on disk, in bytes, where that is known.
    fn find(&self) -> Result<(PathBuf, Option<u64>), DiskError> {
        if let Some(disk) = &self.disk {
            return Ok(kasoku_config::disk_directory(disk));
        }
        let config = self.config.clone().unwrap_or_else(|| CONFIG_DEFAULT.into());
        if self.config.is_none() && !config.exists() {
            let told =
                format!("which directory? --disk DIRECTORY names it, or --config FILE: there is no {CONFIG_DEFAULT}");
            return Err(DiskError::Told(told));
        }
        let flags = ServeFlags { config: Some(config.clone()), ..ServeFlags::default() };
        let loaded =
            kasoku_config::load(&flags).map_err(|report| DiskError::Told(report.render(crate::wants_colour())))?;
        match loaded.options.disk {
            Some(disk) => Ok((disk.path, Some(disk.size_bytes))),
            None => Err(DiskError::Told(format!("{} has no `disk.path`: it has no disk cache", config.display()))),
        }
    }

    fn open(&self) -> Result<DiskContents, DiskError> {
        Ok(DiskContents::open(&self.find()?.0, now_unix_ms())?)
    }
}

fn now_unix_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// A time in at most five characters: `59s`, `119m`, `47h`, `12d`.
fn short_time(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7_200 => format!("{}m", seconds / 60),
        7_200..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// A number with commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let comma = |at: usize| if at > 0 && (digits.len() - at).is_multiple_of(3) { "," } else { "" };
    digits.char_indices().map(|(at, digit)| format!("{}{digit}", comma(at))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times_are_short() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([59, 120, 7_199, 7_200, 172_800].map(short_time), ["59s", "2m", "119m", "2h", "2d"]);
    }
}
