//! Files that lie compressed beside a file: `app.js.br`, `app.js.zst`, `app.js.gz` beside `app.js`.
//!
//! All three are looked for, whatever the client accepts: where one is there, the answer varies by Accept-Encoding also for
//! those who get the plain file, or the cache would give that to all. One that is older than its file is a leftover of an
//! earlier release, and is not there.

use crate::document_root::{DocumentRoot, OpenFile};
use kasoku_options::Symlinks;
use kasoku_semantics::coding::{AcceptedCodings, Coding};
use std::io;

/// Codings, and what their files' names end with; in the order of our preference, which is that of their usual sizes.
const SUFFIXES: [(Coding, &str); 3] = [(Coding::Br, ".br"), (Coding::Zstd, ".zst"), (Coding::Gzip, ".gz")];

/// The files that lie beside one, in the order of [`SUFFIXES`].
pub(super) type Siblings = [Option<OpenFile>; SUFFIXES.len()];

/// What is to be sent.
pub(super) struct Negotiated {
    pub(super) file: OpenFile,
    pub(super) coding: Option<Coding>,
    /// Whether another Accept-Encoding could get another representation.
    pub(super) varies: bool,
    /// When the plain file was last modified, in seconds of Unix time: that is what the URL is about.
    pub(super) modified: i64,
    /// The plain file's name, which tells the type.
    pub(super) name: Vec<u8>,
}

/// What lies beside `file`.
///
/// # Errors
/// Those of [`DocumentRoot::sibling`].
pub(super) fn with_siblings(root: &DocumentRoot<'_>, file: &OpenFile, symlinks: Symlinks) -> io::Result<Siblings> {
    let mut siblings = [const { None }; SUFFIXES.len()];
    for ((_, suffix), place) in SUFFIXES.iter().zip(&mut siblings) {
        let sibling = root.sibling(file, suffix, symlinks)?;
        *place = sibling.filter(|sibling| sibling.modified_ns() >= file.modified_ns());
    }
    Ok(siblings)
}

impl Negotiated {
    /// There is nothing to choose from.
    pub(super) fn alone(file: OpenFile) -> Self {
        let (modified, name) = (file.modified_seconds(), file.name.clone());
        Self { file, coding: None, varies: false, modified, name }
    }

    /// The one that the client likes best; of those that it likes equally the first of [`SUFFIXES`]. One that likes nothing of
    /// what is there gets the plain file (RFC 9110 section 12.5.3 would allow a 415 instead).
    pub(super) fn new(file: OpenFile, siblings: Siblings, accepted: &AcceptedCodings) -> Self {
        let varies = siblings.iter().any(Option::is_some);
        let plain = Self { varies, ..Self::alone(file) };
        let there = siblings.into_iter().zip(SUFFIXES).filter_map(|(sibling, (coding, _))| Some((coding, sibling?)));
        let there: Vec<_> = there.collect();
        let best = accepted.best(there.iter().map(|(coding, _)| *coding));
        match there.into_iter().find(|(coding, _)| Some(*coding) == best) {
            Some((coding, file)) => Self { file, coding: Some(coding), ..plain },
            None => plain,
        }
    }
}
