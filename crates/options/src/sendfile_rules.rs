//! From where applications may have files sent (X-Sendfile).

use crate::file_rules::Symlinks;
use http::StatusCode;
use std::path::PathBuf;

/// From where applications may have files sent, and how their names are read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SendfileRules {
    /// Absolute directories without dot segments, for names that are paths. None: such names are refused.
    pub roots: Vec<PathBuf>,
    /// Prefixes of paths of URIs, with a slash at both ends, and the directories that they stand for. None: URIs are refused. Where
    /// there are roots, what lies outside of them is nobody's.
    pub internal: Vec<(String, PathBuf)>,
    /// What becomes of symbolic links.
    pub symlinks: Symlinks,
    /// Whether paths are percent-encoded. URIs always are. Default true.
    pub unescape: bool,
    /// What the client gets where nothing is. Default 404.
    pub missing: StatusCode,
    /// What the client gets for what may not be sent, or lies elsewhere. Default 403.
    pub denied: StatusCode,
}

impl Default for SendfileRules {
    fn default() -> Self {
        Self {
            roots: Vec::new(),
            internal: Vec::new(),
            symlinks: Symlinks::default(),
            unescape: true,
            missing: StatusCode::NOT_FOUND,
            denied: StatusCode::FORBIDDEN,
        }
    }
}
