//! Chooses between a file and the compressed copies that lie beside it: `app.js.br`, `app.js.zst`, `app.js.gz` beside `app.js`.
//!
//! All three are looked up whatever the client accepts. If one exists, the response with the plain file varies by Accept-Encoding as
//! well; otherwise the cache would send the plain file to all clients. A copy that is older than its file is a leftover of an earlier
//! release, and is ignored.

use crate::document_root::{DocumentRoot, OpenFile};
use kasoku_options::Symlinks;
use kasoku_semantics::coding::{AcceptedCodings, Coding};
use std::io;

/// Codings, and the suffixes of their files; in order of preference, the usually smallest first.
const SUFFIXES: [(Coding, &str); 3] = [(Coding::Br, ".br"), (Coding::Zstd, ".zst"), (Coding::Gzip, ".gz")];

/// The compressed copies beside a file, in the order of [`SUFFIXES`].
pub(super) type Siblings = [Option<OpenFile>; SUFFIXES.len()];

/// The representation to send.
pub(super) struct Negotiated {
    pub(super) file: OpenFile,
    pub(super) coding: Option<Coding>,
    /// Whether another Accept-Encoding could get another representation.
    pub(super) varies: bool,
    /// When the plain file was last modified, in seconds of Unix time. It is Last-Modified of the copies as well.
    pub(super) modified: i64,
    /// The plain file's name, by which the media type is found.
    pub(super) name: Vec<u8>,
}

/// Looks for the compressed copies beside `file`.
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
    /// The plain file, which has no compressed copies.
    pub(super) fn alone(file: OpenFile) -> Self {
        let (modified, name) = (file.modified_seconds(), file.name.clone());
        Self { file, coding: None, varies: false, modified, name }
    }

    /// The representation that the client prefers; of equal ones the first of [`SUFFIXES`]. A client that accepts none of them gets
    /// the plain file (RFC 9110 section 12.4.1 would allow a 406 instead).
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
