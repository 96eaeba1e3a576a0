//! What an origin is asked with, whichever kind it is.

use crate::Limits;
use crate::document_root::{FileRules, OpenFiles, PathGlob};
use crate::rewrite::Rewrite;
use kasoku_wire::RequestHead;
use std::net::SocketAddr;
use std::path::PathBuf;

/// A request for an origin.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// As it goes there: the target is path and query, Host is there, the fields frame the body. Where the answer may be shared,
    /// it holds nothing that is not in the key.
    pub head: &'a RequestHead,
    /// What else a program may be told.
    pub circumstances: &'a Circumstances,
    /// How the route's URLs become scripts and files.
    pub gateway: &'a Gateway,
    /// Deadlines and bounds.
    pub limits: &'a Limits,
    /// Files that are open already.
    pub open_files: &'a OpenFiles,
}

/// What a gateway protocol tells a program besides the request itself.
///
/// It becomes a part of the answer as easily as a field, so where the answer may be shared (profile safe) it tells no more
/// than the key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Circumstances {
    /// Whether the client's side is encrypted, as the listener or a trusted proxy says. It is in the key.
    pub is_https: bool,
    /// Where the client has reached us; `None` where the answer may be shared, or for Unix sockets. (Name and port that the
    /// client has asked for are in Host.)
    pub local: Option<SocketAddr>,
    /// The client, as the connection, the PROXY protocol or a trusted proxy says (then with port 0); `None` where the answer
    /// may be shared, or where nobody knows.
    pub remote: Option<SocketAddr>,
    /// For our own log. It is never told to the program.
    pub request_id: String,
}

/// How URLs become scripts and files, for origins that need to know.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Gateway {
    /// The document root, where the address does not name one (FastCGI, SCGI).
    pub root: Option<PathBuf>,
    /// What of the path stands before the root's own: `/mt` for `/mt/*.cgi`. Empty or without a slash at its end.
    pub url_prefix: String,
    /// What answers for a directory, the first that is there. Default `index.html`, `index.php`.
    pub index: Vec<String>,
    /// What is looked for, the first that is there: `{path}`, `{path}/`, `/index.php`.
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
