//! Searches below a document root: what is at a name, which index file stands for a directory, which script a path goes through.

use super::names;
use super::open::{OpenPurpose, OpenResult};
use super::{DocumentRoot, FileHandle, ResolvedPath, Rules, Script, Scripts};
use kasoku_options::{PATH_PLACEHOLDER, PathGlob};
use kasoku_semantics::url_path::encode;
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;

/// How a directory without an index file counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MissingIndexPolicy {
    /// It exists, and clients may not have it.
    Forbidden,
    /// It is missing, so that the next candidate is tried. A directory then counts only if the name ends in a slash.
    Missing,
}

/// What a name says about its file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FileKind {
    Static,
    Script,
    /// A script below a path of `no_programs`.
    NotRun,
    Source,
    Backup,
}

/// One search. Its names begin with `/` or are empty, and hold no empty segment.
pub(super) struct Search<'a> {
    pub(super) root: &'a DocumentRoot<'a>,
    pub(super) rules: &'a Rules<'a>,
    /// The path of the request, without the prefix.
    pub(super) below: &'a [u8],
}

impl Search<'_> {
    /// What is at that name.
    pub(super) fn at(&self, name: &[u8], without_index: MissingIndexPolicy) -> io::Result<ResolvedPath> {
        if let Some(hidden) = names::first_hidden(name) {
            // The PATH_INFO behind a script may hold any name.
            return self.script_before(name, hidden);
        }
        let kind = self.kind(name);
        match self.open(name, if kind == FileKind::Static { OpenPurpose::Read } else { OpenPurpose::Exists })? {
            OpenResult::File(file) => Ok(self.file(kind, file, name, b"")),
            OpenResult::Directory => self.directory(name, without_index),
            OpenResult::Absent => Ok(ResolvedPath::Missing),
            OpenResult::BeyondFile => self.script_before(name, name.len()),
            OpenResult::Denied(why) => Ok(self.forbidden(name, why)),
            OpenResult::Broken(error) => Ok(self.broken(name, error)),
        }
    }

    /// Whether a file or a directory exists, even if clients may not have it, or a script that the path goes through: what nginx's
    /// `-e` tests. Hidden names and backups count as missing.
    pub(super) fn is_there(&self, name: &[u8]) -> io::Result<bool> {
        let is_script_before = |limit| Ok(!matches!(self.script_before(name, limit)?, ResolvedPath::Missing));
        if let Some(hidden) = names::first_hidden(name) {
            return is_script_before(hidden);
        }
        Ok(match self.open(name, OpenPurpose::Exists)? {
            OpenResult::File(_) => !names::is_backup(name),
            OpenResult::Directory | OpenResult::Denied(_) | OpenResult::Broken(_) => true,
            OpenResult::Absent => false,
            OpenResult::BeyondFile => return is_script_before(name.len()),
        })
    }

    fn directory(&self, name: &[u8], without_index: MissingIndexPolicy) -> io::Result<ResolvedPath> {
        let is_meant = name.ends_with(b"/");
        if without_index == MissingIndexPolicy::Missing && !is_meant {
            return Ok(ResolvedPath::Missing);
        }
        let name = name.strip_suffix(b"/").unwrap_or(name);
        for index in &self.rules.gateway.index {
            let index = [name, b"/", index.as_bytes()].concat();
            let kind = self.kind(&index);
            match self.open(&index, if kind == FileKind::Static { OpenPurpose::Read } else { OpenPurpose::Exists })? {
                OpenResult::File(..) if self.below == name => return Ok(self.redirect()),
                OpenResult::File(file) => return Ok(self.file(kind, file, &index, b"")),
                OpenResult::Denied(why) => return Ok(self.forbidden(&index, why)),
                OpenResult::Broken(error) => return Ok(self.broken(&index, error)),
                OpenResult::Absent | OpenResult::BeyondFile | OpenResult::Directory => {}
            }
        }
        Ok(match without_index {
            MissingIndexPolicy::Missing => ResolvedPath::Missing,
            MissingIndexPolicy::Forbidden => self.forbidden(name, "a directory without an index file"),
        })
    }

    /// The script that the path `name` goes through; the script's own name ends at `limit` at the latest.
    ///
    /// At most one of the prefixes of `name` is a file: those before it are directories, those behind it lead nowhere. So a binary
    /// search finds it, which bounds the cost of a path of a thousand segments.
    fn script_before(&self, name: &[u8], limit: usize) -> io::Result<ResolvedPath> {
        if self.rules.scripts == Scripts::None {
            return Ok(ResolvedPath::Missing);
        }
        let ends = name.iter().enumerate().skip(1).filter(|(at, byte)| **byte == b'/' && *at <= limit);
        let ends: Vec<usize> = ends.map(|(at, _)| at).collect();
        let mut ends = &ends[..];
        while let Some((low, [end, high @ ..])) = ends.split_at_checked(ends.len() / 2) {
            let Some((script, info)) = name.split_at_checked(*end) else { break };
            match self.open(script, OpenPurpose::Exists)? {
                OpenResult::Directory => ends = high,
                OpenResult::Absent | OpenResult::BeyondFile => ends = low,
                OpenResult::Denied(why) => return Ok(self.forbidden(script, why)),
                OpenResult::Broken(error) => return Ok(self.broken(script, error)),
                OpenResult::File(file) => {
                    let kind = self.kind(script);
                    let is_script = matches!(kind, FileKind::Script | FileKind::NotRun);
                    return Ok(if is_script { self.file(kind, file, script, info) } else { ResolvedPath::Missing });
                }
            }
        }
        Ok(ResolvedPath::Missing)
    }

    fn open(&self, name: &[u8], purpose: OpenPurpose) -> io::Result<OpenResult> {
        self.root.open(name, self.rules.gateway.files.symlinks, purpose)
    }

    fn kind(&self, name: &[u8]) -> FileKind {
        let suffixes = &self.rules.gateway.script_suffixes;
        let is_script = match self.rules.scripts {
            Scripts::None => false,
            Scripts::BySuffix => suffixes.iter().any(|suffix| name.ends_with(suffix.as_bytes())),
            Scripts::Programs => true,
        };
        if names::is_backup(name) {
            FileKind::Backup
        } else if is_script && PathGlob::is_any(&self.rules.gateway.no_programs, &self.url_path(name)) {
            FileKind::NotRun
        } else if is_script {
            FileKind::Script
        } else if names::is_source(name, suffixes) || names::is_source(name, &self.rules.gateway.files.source_suffixes)
        {
            FileKind::Source
        } else {
            FileKind::Static
        }
    }

    fn file(&self, kind: FileKind, file: FileHandle, name: &[u8], path_info: &[u8]) -> ResolvedPath {
        const EXECUTABLE: u32 = 0o111;
        match kind {
            FileKind::Backup => ResolvedPath::Missing,
            FileKind::Source => self.forbidden(name, "source of a script that nothing runs here"),
            FileKind::NotRun => self.forbidden(name, "a script where no program runs"),
            FileKind::Static => ResolvedPath::File(file.named(name.to_vec())),
            FileKind::Script if self.rules.scripts == Scripts::Programs && file.stat.st_mode & EXECUTABLE == 0 => {
                self.forbidden(name, "a program that is not executable")
            }
            FileKind::Script => self.script(name, path_info).map_or(ResolvedPath::Missing, ResolvedPath::Script),
        }
    }

    /// Clients aren't told the reason. It is logged at level debug only, since scanners request such paths all day.
    fn forbidden(&self, name: &[u8], why: &str) -> ResolvedPath {
        let name = String::from_utf8_lossy(name);
        tracing::debug!(root = %self.root.path.display(), name = name.escape_debug().to_string(), "forbidden: {why}");
        ResolvedPath::Forbidden
    }

    /// A warning for the operator: no request is to blame for a file that can't be read.
    fn broken(&self, name: &[u8], error: Errno) -> ResolvedPath {
        let name = String::from_utf8_lossy(name);
        let name = name.escape_debug().to_string();
        tracing::warn!(root = %self.root.path.display(), name, error = %io::Error::from(error), "a file can't be read");
        ResolvedPath::Broken
    }

    /// `None`: the path is not UTF-8, and a script's variables are text.
    fn script(&self, name: &[u8], path_info: &[u8]) -> Option<Script> {
        let file = |name| self.root.path.join(OsStr::from_bytes(relative(name)));
        Some(Script {
            file: file(name),
            script_name: String::from_utf8(self.url_path(name)).ok()?,
            path_info: std::str::from_utf8(path_info).ok()?.to_owned(),
            path_translated: (!path_info.is_empty()).then(|| file(path_info)),
            query: None,
        })
    }

    fn redirect(&self) -> ResolvedPath {
        ResolvedPath::Redirect(encode(&[&*self.url_path(self.below), b"/"].concat()))
    }

    /// The path of the URL, decoded, for a name below the root.
    fn url_path(&self, name: &[u8]) -> Vec<u8> {
        [self.rules.gateway.url_prefix.trim_end_matches('/').as_bytes(), name].concat()
    }
}

/// A name relative to a directory, as openat2(2) takes it.
pub(super) fn relative(name: &[u8]) -> &[u8] {
    name.strip_prefix(b"/").unwrap_or(name)
}

/// A `try_files` name with the path filled in, which doubles no slash.
pub(super) fn expanded(candidate: &str, below: &[u8]) -> Vec<u8> {
    let mut name = Vec::with_capacity(candidate.len() + below.len());
    for (number, literal) in candidate.split(PATH_PLACEHOLDER).enumerate() {
        if number > 0 {
            name.extend_from_slice(below);
        }
        name.extend_from_slice(literal.as_bytes());
    }
    name.insert(0, b'/');
    name.dedup_by(|one, before| *one == b'/' && *before == b'/');
    name
}
