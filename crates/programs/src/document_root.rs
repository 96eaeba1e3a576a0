//! From the path of a URL to a file or a script below a directory.
//!
//! What nginx, Apache and Caddy spread over settings that each of them has to get right is one search here, for static files,
//! CGI programs and what php-fpm runs alike:
//!
//! 1. The path is decoded once and its dot segments are resolved (`url_path`).
//! 2. Names that nobody means to serve are left alone (`names`).
//! 3. The rest is opened below the root, which the kernel sees to (`open`). Nothing is decided on a name that is looked up
//!    again later: what was found is open. (A script's interpreter opens it by its name once more; who may write below the
//!    root could swap it meanwhile, and could as well have written the script.)
//! 4. Where a segment before the last is a file, that file is a script or there is nothing: `/a.php/b` is `/a.php` with the
//!    PATH_INFO `/b`, `/a.jpg/b.php` is nothing, whatever php.ini says of fix_pathinfo.
//! 5. A directory is its first index file. Without the slash at its end it is a redirect to itself with one; without an index
//!    file it is forbidden. There are no listings.
//! 6. With `try_files`, its names are tried in order instead, and a directory without an index file counts as nothing.
//! 7. A short address ([`Rewrite`](kasoku_options::Rewrite)) leads to its script where neither a file nor a directory is there, before `try_files`.
//! 8. No script runs below a path of `no_programs`, however it was found.
//!
//! The root is a path, and looked up anew each time: it may be a link that a deployment turns to another release. A file that is open
//! already counts only while the whole path, the root's part as well, leads to it (`open_files`).

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
use search::{Search, WithoutIndex, expanded, relative};
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
    /// None.
    None,
    /// Those whose names end as the gateway says. `.php` is not `.PHP`, which php-fpm would not run; that one is source then.
    BySuffix,
    /// All of them; one that isn't executable is forbidden.
    Programs,
}

/// How a path is searched for.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    /// Prefix, index files, what is tried, links, sources. The root that it may name is not looked at.
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
    /// A directory whose slash is missing: the path with it, encoded, which always begins with exactly one slash.
    Redirect(String),
    /// Nothing that is there for clients.
    Missing,
    /// Something that is not for clients.
    Forbidden,
    /// Something that is there, and that the disk does not give.
    Broken,
}

/// See [`OpenFile::identity`].
pub type FileIdentity = [u64; 7];

/// A regular file, open for reading.
#[derive(Debug)]
pub struct OpenFile {
    /// At its beginning; reads never wait for a writer.
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

    /// What it was when it was opened: device, inode, size in bytes, and the times of its last modification and of its last change
    /// (ctime), each in seconds and nanoseconds. While all of them stay the same, it is the same file and nobody has written to it;
    /// but for what is written in the same tick of the kernel's clock, some milliseconds.
    pub fn identity(&self) -> FileIdentity {
        identity(&self.stat)
    }

    /// How long it was when it was opened, in bytes.
    pub fn length(&self) -> u64 {
        u64::try_from(self.stat.st_size).unwrap_or(0)
    }
}

/// See [`OpenFile::identity`].
fn identity(stat: &Stat) -> FileIdentity {
    let Stat { st_dev, st_ino, st_size, st_mtime, st_mtime_nsec, st_ctime, st_ctime_nsec, .. } = *stat;
    // As bits: they are compared, nothing more.
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
    /// SCRIPT_FILENAME: where it is, below the root as that was given.
    pub file: PathBuf,
    /// SCRIPT_NAME: the decoded path that leads to it, with the prefix.
    pub script_name: String,
    /// PATH_INFO: what follows in the path, decoded; empty, or it begins with `/`.
    pub path_info: String,
    /// PATH_TRANSLATED: PATH_INFO as a file below the root; none without PATH_INFO. It is only a name: nothing says that it is
    /// there or may be read.
    pub path_translated: Option<PathBuf>,
    /// QUERY_STRING where it is another than the request's own: behind a short address.
    pub query: Option<String>,
}

/// What a URL leads to below `root`; `target` is its path and query as they were sent.
///
/// The answer mostly comes from the kernel's memory. Where it doesn't, a thread of the runtime's pool waits for the disk, not
/// the worker.
///
/// # Errors
/// The root isn't there or can't be read, there are no descriptors left: nothing that the path is to blame for.
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
    // Now that it is in memory, it is found again without a wait, and stays open.
    Ok(DocumentRoot::new(root, rules.open_files).find(target, rules).unwrap_or(found))
}

/// A look-up, for as long as an answer may take: a disk that hangs must not hold a request for ever.
///
/// # Errors
/// Its own, as the origin's; or [`Error::FirstByteTimeout`].
pub(crate) async fn in_time<T>(limits: &Limits, look_up: impl Future<Output = io::Result<T>>) -> Result<T, Error> {
    let looked_up = tokio::time::timeout(limits.first_byte_timeout, look_up).await;
    looked_up.map_err(|_| Error::FirstByteTimeout)?.map_err(Error::Unreachable)
}

/// A directory whose files are for clients. It is opened when something below it is to be.
#[derive(Debug)]
pub(crate) struct DocumentRoot<'a> {
    path: &'a Path,
    directory: OnceCell<OwnedFd>,
    wait: Wait,
    open_files: Option<&'a OpenFiles>,
}

impl<'a> DocumentRoot<'a> {
    /// For a thread that must not wait; what is open already is taken from there.
    pub(crate) fn new(path: &'a Path, open_files: &'a OpenFiles) -> Self {
        Self { path, directory: OnceCell::new(), wait: Wait::Never, open_files: Some(open_files) }
    }

    /// For a thread that may wait.
    pub(crate) fn waiting(path: &'a Path) -> Self {
        Self { path, directory: OnceCell::new(), wait: Wait::Allowed, open_files: None }
    }

    /// # Errors
    /// It isn't there, or is no directory that we may search; where nobody waits, of kind `WouldBlock`.
    fn directory(&self) -> io::Result<&OwnedFd> {
        if let Some(directory) = self.directory.get() {
            return Ok(directory);
        }
        let opened = open_root(self.path, self.wait).map_err(|error| match error.kind() {
            // The log names the origin beside it, which may be well.
            kind @ (io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::PermissionDenied) => {
                io::Error::new(kind, format!("the directory {}: {error}", self.path.display()))
            }
            _ => error,
        })?;
        Ok(self.directory.get_or_init(|| opened))
    }

    /// What is at that name, which begins with `/`.
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

    /// What a URL leads to; `target` is its path and query as they were sent.
    ///
    /// # Errors
    /// Something other than what is at that path: no descriptors, no memory; where nobody waits also of kind `WouldBlock`.
    pub(crate) fn find(&self, target: &str, rules: &Rules<'_>) -> io::Result<ResolvedPath> {
        let Some(path) = UrlPath::read(path_of(target)) else { return Ok(ResolvedPath::Missing) };
        let Some(below) = path.below(&rules.gateway.url_prefix) else { return Ok(ResolvedPath::Missing) };
        let search = Search { root: self, rules, below };
        if let Some(stands_for) = rewritten(&rules.gateway.rewrites, target)
            && (path.is_odd() || !search.is_there(below)?)
        {
            return self.behind_short_address(&stands_for, rules);
        }
        if rules.gateway.try_files.is_empty() {
            return if path.is_odd() { Ok(ResolvedPath::Missing) } else { search.at(below, WithoutIndex::Forbidden) };
        }
        for candidate in &rules.gateway.try_files {
            let is_possible = !(path.is_odd() && candidate.contains(PATH_PLACEHOLDER));
            if is_possible {
                match search.at(&expanded(candidate, below), WithoutIndex::Missing)? {
                    ResolvedPath::Missing => {}
                    found => return Ok(found),
                }
            }
        }
        Ok(ResolvedPath::Missing)
    }

    /// What the path and the query lead to that a short address stands for. They are looked for once, as they are.
    fn behind_short_address(&self, target: &str, rules: &Rules<'_>) -> io::Result<ResolvedPath> {
        let Some(path) = UrlPath::read(path_of(target)).filter(|path| !path.is_odd()) else {
            return Ok(ResolvedPath::Missing);
        };
        let Some(below) = path.below(&rules.gateway.url_prefix) else { return Ok(ResolvedPath::Missing) };
        // A redirect to the path with a slash would tell the client what the short address hides, and lose the query.
        let found = Search { root: self, rules, below }.at(below, WithoutIndex::Missing)?;
        Ok(match found {
            ResolvedPath::Script(script) => {
                let query = target.split_once('?').map(|(_, query)| query.to_owned());
                ResolvedPath::Script(Script { query: Some(query.unwrap_or_default()), ..script })
            }
            other => other,
        })
    }

    /// What is at that name, which begins with `/` and has no dot segments: for whoever has decided already that it is to be sent. No
    /// name hides from him, nothing is a script, no index file stands for a directory.
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
