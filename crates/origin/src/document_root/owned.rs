//! What a search takes with it to a thread that may wait for a disk.

use super::{Rules, Scripts, Symlinks};
use std::io;
use tokio::sync::Semaphore;

/// Threads of the whole program that wait for disks at a time. A disk that hangs holds these, and what else the runtime's
/// pools are for (names of hosts) goes on; requests for files wait behind them, for as long as an origin may take.
const WAITING_MAX: usize = 64;

static WAITING: Semaphore = Semaphore::const_new(WAITING_MAX);

/// Does `job` on a thread that may wait.
///
/// # Errors
/// Those of `job`.
pub(crate) async fn may_wait<T: Send + 'static>(job: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    let place = WAITING.acquire().await.map_err(io::Error::other)?;
    let done = tokio::task::spawn_blocking(move || {
        // The place is held until the thread is free, also when nobody waits for it any more.
        let _place = place;
        job()
    });
    done.await.map_err(io::Error::other)?
}

/// [`Rules`] of one's own.
pub(super) struct OwnedRules {
    pub(super) url_prefix: String,
    pub(super) index: Vec<String>,
    pub(super) try_files: Vec<String>,
    pub(super) scripts: OwnedScripts,
    pub(super) source_suffixes: Vec<String>,
    pub(super) symlinks: Symlinks,
}

pub(super) enum OwnedScripts {
    None,
    Suffixes(Vec<String>),
    Programs,
}

impl From<&Rules<'_>> for OwnedRules {
    fn from(rules: &Rules<'_>) -> Self {
        Self {
            url_prefix: rules.url_prefix.to_owned(),
            index: rules.index.to_vec(),
            try_files: rules.try_files.to_vec(),
            scripts: match rules.scripts {
                Scripts::None => OwnedScripts::None,
                Scripts::Suffixes(suffixes) => OwnedScripts::Suffixes(suffixes.to_vec()),
                Scripts::Programs => OwnedScripts::Programs,
            },
            source_suffixes: rules.source_suffixes.to_vec(),
            symlinks: rules.symlinks,
        }
    }
}

impl OwnedRules {
    pub(super) fn borrowed(&self) -> Rules<'_> {
        Rules {
            url_prefix: &self.url_prefix,
            index: &self.index,
            try_files: &self.try_files,
            scripts: match &self.scripts {
                OwnedScripts::None => Scripts::None,
                OwnedScripts::Suffixes(suffixes) => Scripts::Suffixes(suffixes),
                OwnedScripts::Programs => Scripts::Programs,
            },
            source_suffixes: &self.source_suffixes,
            symlinks: self.symlinks,
        }
    }
}
