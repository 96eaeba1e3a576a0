//! The pages of the corpus, as files of `corpus/pages`. `corpus/pages/README.md` tells how they are written.

use crate::corpus::rendering::OF_ONE_VISITOR;
use std::path::{Path, PathBuf};

/// A page as it is written: who asks decides what becomes of its places.
pub(crate) struct Page {
    /// The file's name, without its ending.
    pub(crate) name: String,
    /// The path and query at which it is asked.
    pub(crate) target: String,
    /// `200 OK`, or what it says instead.
    pub(crate) status: String,
    /// Its field lines.
    pub(crate) fields: Vec<String>,
    pub(crate) body: String,
}

impl Page {
    /// All pages of a folder, by name. `KASOKU_PAGE` names the only one that is run.
    pub(crate) fn all(folder: &str) -> Vec<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/visitors/corpus/pages").join(folder);
        let only = std::env::var("KASOKU_PAGE").ok();
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut pages: Vec<Self> = entries.map(|path| Self::read(&path)).collect();
        pages.retain(|page| only.as_ref().is_none_or(|only| *only == page.name));
        pages.sort_by(|one, other| one.name.cmp(&other.name));
        pages
    }

    fn read(path: &PathBuf) -> Self {
        let text = std::fs::read_to_string(path).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let (head, body) = text.split_once("\n\n").unwrap_or_else(|| panic!("{name} has no head"));
        let mut lines = head.lines().filter(|line| !line.starts_with('#')).peekable();
        let target = lines.next_if(|line| line.starts_with("GET "));
        let target = target.map_or_else(|| format!("/{name}?id=5"), |line| line["GET ".len()..].to_owned());
        let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 ")).unwrap().to_owned();
        Self { name, target, status, fields: lines.map(str::to_owned).collect(), body: body.to_owned() }
    }

    /// The name of the cookie that holds the visitor's session, if the page sets one.
    pub(crate) fn session_cookie(&self) -> Option<&str> {
        let line = self.fields.iter().find(|line| line.contains("@{sid "))?;
        line.strip_prefix("Set-Cookie: ")?.split('=').next()
    }

    /// Whether it has values that another [`Values`](crate::corpus::rendering::Values) would write otherwise.
    pub(crate) fn has_tokens(&self) -> bool {
        OF_ONE_VISITOR.iter().any(|tag| self.body.contains(&format!("@{{{tag} ")))
    }

    /// The target of its harmless twin, of the same pattern.
    pub(crate) fn harmless_target(&self) -> String {
        self.target.replace("id=5", "id=999")
    }
}
