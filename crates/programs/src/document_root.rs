//! Finds the file or the script that the path of a URL leads to, below a directory.
//!
//! Static files, CGI programs and the scripts of application servers share one search. nginx, Apache and Caddy spread it over several
//! settings, each of which the operator has to get right.
//!
//! 1. The path is decoded once and its dot segments are resolved (`url_path`).
//! 2. Names of dotfiles, backups and sources are not served (`names`).
//! 3. The rest is opened below the root, which the kernel enforces (`open`). No decision rests on a name that is looked up again
//!    later: what was found is open. (A script's interpreter opens it by its name once more. A user who may write below the root
//!    could swap the script meanwhile, but could as well have written it.)
//! 4. If a segment before the last is a file, that file is a script or the path leads to nothing: `/a.php/b` is `/a.php` with the
//!    PATH_INFO `/b`, `/a.jpg/b.php` is nothing, whatever php.ini sets for cgi.fix_pathinfo.
//! 5. A directory stands for its first index file. Without the slash at its end the path is redirected to itself with one; a
//!    directory without an index file is forbidden. There are no listings.
//! 6. With `try_files`, its names are tried in order instead, and a directory without an index file counts as missing.
//! 7. A short address ([`Rewrite`](kasoku_options::Rewrite)) leads to its script if neither a file nor a directory is at the path.
//!    This comes before `try_files`.
//! 8. No script runs below a path of `no_programs`, however it was found.
//!
//! The path of the root is looked up anew each time: it may be a link that a deployment turns to another release. An open file is
//! used again only while the whole path, the root's part included, leads to it (`open_files`).

mod medium;
mod names;
mod open;
mod open_files;
mod search;
#[cfg(test)]
pub(crate) mod tests;
mod waiting;

use crate::Limits;
use kasoku_options::{Gateway, PATH_PLACEHOLDER, Symlinks, rewritten};
use kasoku_origin::Error;
use kasoku_semantics::url_path::UrlPath;
pub(crate) use medium::Medium;
pub use open::is_shortage;
use open::{OpenPurpose, open, open_root};
pub(crate) use open::{OpenResult, Wait};
pub(crate) use open_files::FileHandle;
pub use open_files::OpenFiles;
use rustix::fs::Stat;
use search::{MissingIndexPolicy, Search, expanded, relative};
use std::cell::OnceCell;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
#[cfg(test)]
pub(crate) use waiting::all_who_may_wait;
pub(crate) use waiting::may_wait;

/// Which files are scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scripts {
    /// No file is a script.
    None,
    /// Files whose names have a script's suffix. Case counts: php-fpm would not run `.PHP`, so such a file is a source.
    BySuffix,
    /// All files; one that isn't executable is forbidden.
    Programs,
}

/// How a path is searched for.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    /// Prefix, index files, `try_files`, links, sources. The search ignores the root that it may name.
    pub gateway: &'a Gateway,
    /// Which files are scripts.
    pub scripts: Scripts,
    /// Files that are open already.
    pub open_files: &'a OpenFiles,
}

/// What a path leads to.
#[derive(Debug)]
pub enum ResolvedPath {
    /// A file to send.
    File(OpenFile),
    /// A script to run.
    Script(Script),
    /// A directory that was requested without its slash: the path with it, encoded. It begins with exactly one slash.
    Redirect(String),
    /// Nothing is there, or a name that is hidden from clients.
    Missing,
    /// It exists, and clients may not have it.
    Forbidden,
    /// It exists, and can't be read from the disk.
    Broken,
}

/// See [`OpenFile::identity`].
pub type FileIdentity = [u64; 7];

/// A regular file, open for reading.
#[derive(Debug)]
pub struct OpenFile {
    /// Positioned at its beginning. It is open with O_NONBLOCK.
    pub file: Arc<File>,
    pub(crate) stat: Stat,
    pub(crate) medium: Medium,
    /// Its name below the root, beginning with `/`.
    pub name: Vec<u8>,
}

impl OpenFile {
    /// When it was last modified, in nanoseconds of Unix time.
    pub(crate) fn modified_ns(&self) -> i128 {
        i128::from(self.stat.st_mtime) * 1_000_000_000 + i128::from(self.stat.st_mtime_nsec)
    }

    /// The same in whole seconds.
    pub(crate) fn modified_seconds(&self) -> i64 {
        self.stat.st_mtime
    }

    /// The file's state when it was opened: device, inode, size in bytes, and the times of its last modification and of its last
    /// change (ctime), each in seconds and nanoseconds. While all of them stay the same, it is the same file and nothing was written
    /// to it, except for writes within the same tick of the kernel's clock (some milliseconds).
    pub fn identity(&self) -> FileIdentity {
        identity(&self.stat)
    }

    /// The length when it was opened, in bytes.
    pub fn length(&self) -> u64 {
        u64::try_from(self.stat.st_size).unwrap_or(0)
    }
}

/// See [`OpenFile::identity`].
fn identity(stat: &Stat) -> FileIdentity {
    let Stat { st_dev, st_ino, st_size, st_mtime, st_mtime_nsec, st_ctime, st_ctime_nsec, .. } = *stat;
    // The values are only compared, so casts may change their signs.
    #[allow(clippy::cast_sign_loss, clippy::unnecessary_cast, reason = "their types differ between systems")]
    [
        st_dev as u64,
        st_ino as u64,
        st_size as u64,
        st_mtime as u64,
        st_mtime_nsec as u64,
        st_ctime as u64,
        st_ctime_nsec as u64,
    ]
}

/// A script, and how the path of the URL divides at it (RFC 3875 section 4.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// SCRIPT_FILENAME: the root's path as it was given, then the file's below it.
    pub file: PathBuf,
    /// SCRIPT_NAME: the decoded path that leads to it, with the prefix.
    pub script_name: String,
    /// PATH_INFO: what follows in the path, decoded; empty, or it begins with `/`.
    pub path_info: String,
    /// PATH_TRANSLATED: PATH_INFO as a file below the root; `None` without PATH_INFO. It is only a name: the file need not exist or
    /// be readable.
    pub path_translated: Option<PathBuf>,
    /// QUERY_STRING if it differs from the request's own (short addresses).
    pub query: Option<String>,
}

/// Finds what a URL leads to below `root`; `target` is its path and query as they were sent.
///
/// The kernel mostly answers from memory. Otherwise a thread of the runtime's pool waits for the disk, not the worker.
///
/// # Errors
/// Failures that don't come from the path: the root is missing or can't be read, or no descriptors are left.
pub async fn find(root: &Path, target: &str, rules: &Rules<'_>) -> io::Result<ResolvedPath> {
    match DocumentRoot::new(root, rules.open_files).find(target, rules) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
        found => return found,
    }
    let (gateway, scripts) = (rules.gateway.clone(), rules.scripts);
    let (own_root, own_target) = (root.to_owned(), target.to_owned());
    let waited = may_wait(move || {
        let rules = Rules { gateway: &gateway, scripts, open_files: &OpenFiles::default() };
        DocumentRoot::waiting(&own_root).find(&own_target, &rules)
    });
    let found = waited.await?;
    // The kernel now has the names in memory: this look-up does not wait, and keeps the file open for later requests.
    Ok(DocumentRoot::new(root, rules.open_files).find(target, rules).unwrap_or(found))
}

/// Bounds the time of a look-up: a disk that hangs must not hold a request for ever.
///
/// # Errors
/// The look-up's own as [`Error::Unreachable`]; or [`Error::FirstByteTimeout`].
pub(crate) async fn look_up_in_time<T>(
    limits: &Limits,
    look_up: impl Future<Output = io::Result<T>>,
) -> Result<T, Error> {
    let looked_up = tokio::time::timeout(limits.first_byte_timeout, look_up).await;
    looked_up.map_err(|_| Error::FirstByteTimeout)?.map_err(Error::Unreachable)
}

/// A directory whose files are for clients. It is opened at its first use.
#[derive(Debug)]
pub(crate) struct DocumentRoot<'a> {
    path: &'a Path,
    directory: OnceCell<OwnedFd>,
    wait: Wait,
    open_files: Option<&'a OpenFiles>,
}

impl<'a> DocumentRoot<'a> {
    /// For a thread that must not wait. Files that are open already are taken from `open_files`.
    pub(crate) fn new(path: &'a Path, open_files: &'a OpenFiles) -> Self {
        Self { path, directory: OnceCell::new(), wait: Wait::Never, open_files: Some(open_files) }
    }

    /// For a thread that may wait.
    pub(crate) fn waiting(path: &'a Path) -> Self {
        Self { path, directory: OnceCell::new(), wait: Wait::Allowed, open_files: None }
    }

    /// # Errors
    /// The root is missing, or is no directory that Kasoku may search; with [`Wait::Never`] also of kind `WouldBlock`.
    fn directory(&self) -> io::Result<&OwnedFd> {
        if let Some(directory) = self.directory.get() {
            return Ok(directory);
        }
        let opened = open_root(self.path, self.wait).map_err(|error| match error.kind() {
            // The log names the origin, which may be all right, so the error names the directory.
            kind @ (io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::PermissionDenied) => {
                io::Error::new(kind, format!("the directory {}: {error}", self.path.display()))
            }
            _ => error,
        })?;
        Ok(self.directory.get_or_init(|| opened))
    }

    /// Opens what is at that name, which begins with `/`.
    fn open(&self, name: &[u8], links: Symlinks, purpose: OpenPurpose) -> io::Result<OpenResult> {
        let open_files = self.open_files.filter(|_| purpose == OpenPurpose::Read);
        if let Some(file) = open_files.and_then(|files| files.get(self.path, name, links)) {
            return Ok(OpenResult::File(file));
        }
        let opened = open(self.directory()?, relative(name), links, purpose, self.wait)?;
        if let (Some(files), OpenResult::File(file)) = (open_files, &opened) {
            files.keep(self.path, name, links, file);
        }
        Ok(opened)
    }

    /// Finds what a URL leads to; `target` is its path and query as they were sent.
    ///
    /// # Errors
    /// Failures that don't come from the path: no descriptors, no memory; with [`Wait::Never`] also of kind `WouldBlock`.
    pub(crate) fn find(&self, target: &str, rules: &Rules<'_>) -> io::Result<ResolvedPath> {
        let Some(path) = UrlPath::read(path_of(target)) else { return Ok(ResolvedPath::Missing) };
        let Some(below) = path.below(&rules.gateway.url_prefix) else { return Ok(ResolvedPath::Missing) };
        let search = Search { root: self, rules, below };
        if let Some(stands_for) = rewritten(&rules.gateway.rewrites, target)
            && (path.is_ambiguous() || !search.is_there(below)?)
        {
            return self.behind_short_address(&stands_for, rules);
        }
        if rules.gateway.try_files.is_empty() {
            return if path.is_ambiguous() {
                Ok(ResolvedPath::Missing)
            } else {
                search.at(below, MissingIndexPolicy::Forbidden)
            };
        }
        for candidate in &rules.gateway.try_files {
            let is_possible = !(path.is_ambiguous() && candidate.contains(PATH_PLACEHOLDER));
            if is_possible {
                match search.at(&expanded(candidate, below), MissingIndexPolicy::Missing)? {
                    ResolvedPath::Missing => {}
                    found => return Ok(found),
                }
            }
        }
        Ok(ResolvedPath::Missing)
    }

    /// Finds what the target of a short address leads to. Neither `rewrites` nor `try_files` apply to it again.
    fn behind_short_address(&self, target: &str, rules: &Rules<'_>) -> io::Result<ResolvedPath> {
        let Some(path) = UrlPath::read(path_of(target)).filter(|path| !path.is_ambiguous()) else {
            return Ok(ResolvedPath::Missing);
        };
        let Some(below) = path.below(&rules.gateway.url_prefix) else { return Ok(ResolvedPath::Missing) };
        // A redirect to the path with a slash would tell the client what the short address hides, and lose the query.
        let found = Search { root: self, rules, below }.at(below, MissingIndexPolicy::Missing)?;
        Ok(match found {
            ResolvedPath::Script(script) => {
                let query = target.split_once('?').map(|(_, query)| query.to_owned());
                ResolvedPath::Script(Script { query: Some(query.unwrap_or_default()), ..script })
            }
            other => other,
        })
    }

    /// Opens what is at that name, which begins with `/` and has no dot segments. The caller has decided that it may be sent: no name
    /// is hidden, nothing is a script, no index file stands for a directory.
    ///
    /// # Errors
    /// As [`DocumentRoot::find`].
    pub(crate) fn named(&self, name: &[u8], symlinks: Symlinks) -> io::Result<OpenResult> {
        self.open(name, symlinks, OpenPurpose::Read)
    }

    /// The file whose name is that of `file` with `suffix` behind it, if there is one that may be read.
    ///
    /// # Errors
    /// As [`DocumentRoot::find`].
    pub(crate) fn sibling(&self, file: &OpenFile, suffix: &str, symlinks: Symlinks) -> io::Result<Option<OpenFile>> {
        let name = [&file.name, suffix.as_bytes()].concat();
        Ok(match self.open(&name, symlinks, OpenPurpose::Read)? {
            OpenResult::File(file) => Some(file.named(name)),
            _ => None,
        })
    }
}

/// The path of a request-target.
fn path_of(target: &str) -> &str {
    target.split('?').next().unwrap_or_default()
}
