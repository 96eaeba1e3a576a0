//! How URLs become scripts and files.

use crate::file_rules::FileRules;
use crate::path_glob::PathGlob;
use crate::rewrite::Rewrite;
use std::path::PathBuf;

/// What stands for the path of a URL in [`Gateway::try_files`].
pub const PATH_PLACEHOLDER: &str = "{path}";

/// How URLs become scripts and files, for origins that need to know.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Gateway {
    /// The document root, where the address does not name one (FastCGI, SCGI).
    pub root: Option<PathBuf>,
    /// What of the path stands before the root's own: `/mt` for `/mt/*.cgi`. Empty or without a slash at its end.
    pub url_prefix: String,
    /// What answers for a directory, the first that is there. Default `index.html`, `index.php`.
    pub index: Vec<String>,
    /// The candidates, of which the first that exists is used: `{path}`, `{path}/`, `/index.php`.
    pub try_files: Vec<String>,
    /// Short addresses, and what stands for them where neither a file nor a directory is there; the first that fits. At most
    /// [`REWRITES_MAX`](crate::REWRITES_MAX).
    pub rewrites: Vec<Rewrite>,
    /// Paths of URLs below which nothing is run: a script there is forbidden, like a source.
    pub no_programs: Vec<PathGlob>,
    /// The ends of the names of scripts; default `.php`. Other files below the root are served as they are.
    pub script_suffixes: Vec<String>,
    /// What is sent of the files below the root, and how.
    pub files: FileRules,
    /// Whether programs get Authorization, as HTTP_AUTHORIZATION. None: as is usual for the kind, which is no for CGI, where other
    /// users of the machine may read a process's environment, and yes for FastCGI and SCGI.
    pub passes_authorization: Option<bool>,
    /// Further variables for programs.
    pub environment: Vec<(String, String)>,
    /// Variables that programs get with the values that they have in our own environment, where they have one.
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
