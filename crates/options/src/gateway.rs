//! How URLs map to scripts and files.

use crate::file_rules::FileRules;
use crate::path_glob::PathGlob;
use crate::rewrite::Rewrite;
use std::path::PathBuf;

/// Stands for the path of a URL in [`Gateway::try_files`].
pub const PATH_PLACEHOLDER: &str = "{path}";

/// How URLs map to scripts and files, for origins that need it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Gateway {
    /// The document root, where the address does not name one (FastCGI, SCGI).
    pub root: Option<PathBuf>,
    /// The part of a URL's path that is removed before the root is searched: `/mt` for `/mt/*.cgi`. Empty or without a slash at its
    /// end.
    pub url_prefix: String,
    /// The files that answer for a directory; the first that exists does. Default `index.html`, `index.php`.
    pub index: Vec<String>,
    /// The candidates, of which the first that exists is used: `{path}`, `{path}/`, `/index.php`.
    pub try_files: Vec<String>,
    /// Short addresses, with their targets: used where neither a file nor a directory exists; the first that fits. At most
    /// [`REWRITES_MAX`](crate::REWRITES_MAX).
    pub rewrites: Vec<Rewrite>,
    /// Paths of URLs below which no program runs: a script there is forbidden, like a source.
    pub no_programs: Vec<PathGlob>,
    /// The endings of script names; default `.php`. Other files below the root are served as they are.
    pub script_suffixes: Vec<String>,
    /// Which files below the root are sent, and how.
    pub files: FileRules,
    /// Whether programs get Authorization, as HTTP_AUTHORIZATION. None: as is usual for the kind. That is no for CGI, since other
    /// users of the machine may read a process's environment, and yes for FastCGI and SCGI.
    pub passes_authorization: Option<bool>,
    /// Further variables for programs.
    pub environment: Vec<(String, String)>,
    /// Variables that programs get with their values from Kasoku's own environment, if they are set there.
    pub inherited_environment: Vec<String>,
}

impl Default for Gateway {
    fn default() -> Self {
        Self {
            root: None,
            url_prefix: String::new(),
            index: ["index.html", "index.php"].map(str::to_owned).to_vec(),
            try_files: Vec::new(),
            rewrites: Vec::new(),
            no_programs: Vec::new(),
            script_suffixes: vec![".php".to_owned()],
            files: FileRules::default(),
            passes_authorization: None,
            environment: Vec::new(),
            inherited_environment: Vec::new(),
        }
    }
}
