//! Which files below a root are sent, and how.

/// The endings of script names, unless the operator sets others.
pub const SOURCE_SUFFIXES: [&str; 24] = [
    ".php", ".phtml", ".pht", ".phar", ".phps", ".php3", ".php4", ".php5", ".php7", ".php8", ".inc", ".pl", ".pm",
    ".cgi", ".fcgi", ".py", ".rb", ".sh", ".bash", ".lua", ".tcl", ".asp", ".aspx", ".jsp",
];

/// How symbolic links are treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Symlinks {
    /// Links are followed as long as they stay below the root. An absolute link always leaves it, wherever it leads.
    #[default]
    Beneath,
    /// Links are followed wherever they lead, so a user who can make a link below the root can publish any file.
    Anywhere,
    /// Links are not followed.
    Never,
}

/// Which files below a root are sent, and how.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FileRules {
    /// How symbolic links are treated.
    pub symlinks: Symlinks,
    /// The endings, in any case, of names of files that hold source: they are never sent. The suffixes of scripts count as well.
    pub source_suffixes: Vec<String>,
    /// Whether `a.js.br`, `a.js.zst` and `a.js.gz` are sent in place of `a.js` to clients that accept them.
    pub precompressed: bool,
    /// The charset of texts; empty: the response names none.
    pub charset: String,
}

impl Default for FileRules {
    fn default() -> Self {
        let source_suffixes = SOURCE_SUFFIXES.map(str::to_owned).to_vec();
        Self { symlinks: Symlinks::default(), source_suffixes, precompressed: true, charset: "utf-8".to_owned() }
    }
}
