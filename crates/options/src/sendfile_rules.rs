//! The directories from which applications may have files sent (X-Sendfile).

use crate::file_rules::Symlinks;
use http::StatusCode;
use std::path::PathBuf;

/// The directories from which applications may have files sent, and how the names of files are read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SendfileRules {
    /// Absolute directories without dot segments, for names that are paths. None: such names are refused.
    pub roots: Vec<PathBuf>,
    /// Prefixes of URI paths, with a slash at both ends, and the directories that they stand for. None: URIs are refused. If there
    /// are `roots`, directories outside of them are refused.
    pub internal: Vec<(String, PathBuf)>,
    /// How symbolic links are treated.
    pub symlinks: Symlinks,
    /// Whether paths are percent-encoded. URIs always are. Default true.
    pub unescape: bool,
    /// The status for a file that does not exist. Default 404.
    pub missing: StatusCode,
    /// The status for a file that may not be sent, or lies elsewhere. Default 403.
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
