//! What is sent of the files below a root, and how.

/// What a script's name ends with, unless the operator says otherwise.
pub const SOURCE_SUFFIXES: [&str; 24] = [
    ".php", ".phtml", ".pht", ".phar", ".phps", ".php3", ".php4", ".php5", ".php7", ".php8", ".inc", ".pl", ".pm",
    ".cgi", ".fcgi", ".py", ".rb", ".sh", ".bash", ".lua", ".tcl", ".asp", ".aspx", ".jsp",
];

/// What becomes of symbolic links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Symlinks {
    /// They are followed as long as they stay below the root. An absolute link leaves it, wherever it leads.
    #[default]
    Beneath,
    /// They are followed to wherever they lead: then whoever may make a link below the root may publish any file.
    Anywhere,
    /// Nothing is found through one.
    Never,
}

/// What is sent of the files below a root, and how.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FileRules {
    /// What becomes of symbolic links.
    pub symlinks: Symlinks,
    /// What the names of files end with that hold source, in whatever case: they are never sent. The suffixes of scripts count
    /// as well.
    pub source_suffixes: Vec<String>,
    /// Whether `a.js.br`, `a.js.zst` and `a.js.gz` are sent in the place of `a.js` to those who accept them.
    pub precompressed: bool,
    /// The charset of texts; empty: none is said.
    pub charset: String,
}

impl Default for FileRules {
    fn default() -> Self {
        let source_suffixes = SOURCE_SUFFIXES.map(str::to_owned).to_vec();
        Self { symlinks: Symlinks::default(), source_suffixes, precompressed: true, charset: "utf-8".to_owned() }
    }
}
