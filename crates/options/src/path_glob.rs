//! Paths below which no program runs: uploads, caches, and other directories to which visitors can write.
//!
//! A pattern is a glob over the path of a URL, as a rule has it. It applies to the path of the script itself, however that was
//! found: as it was sent, as an index file, by `try_files` or by a rewrite. `/data` and `/data/*` are the same: both cover the
//! paths that fit and all paths below them. The path behind a script (PATH_INFO) does not count: `/index.php/data/x` runs
//! `/index.php`.
//!
//! ASCII letters are compared without case, as for hidden names and sources: on a file system that ignores case, `/DATA/x.php` is
//! the file `/data/x.php`.

use kasoku_semantics::glob::is_match;
use kasoku_semantics::url_path::percent_decode;

/// A glob over paths of URLs; it covers all paths below, too.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PathGlob {
    /// In lower case, without percent-encoding and without a slash at its end.
    glob: Vec<u8>,
    /// The same with `/*` behind it.
    below: Vec<u8>,
}

impl PathGlob {
    /// Reads a glob as a rule has it: percent-encoded or not. Malformed encoding is taken literally.
    pub fn new(text: &str) -> Self {
        let mut glob = Vec::with_capacity(text.len());
        if percent_decode(text.as_bytes(), &mut glob).is_none() {
            glob = text.as_bytes().to_vec();
        }
        glob.make_ascii_lowercase();
        while glob.last() == Some(&b'/') {
            glob.pop();
        }
        let below = [&*glob, b"/*"].concat();
        Self { glob, below }
    }
    /// Whether one of these covers a path, which begins with `/` and is decoded, without empty segments and dot segments.
    pub fn is_any(globs: &[Self], path: &[u8]) -> bool {
        if globs.is_empty() {
            return false;
        }
        let path = path.to_ascii_lowercase();
        globs.iter().any(|one| is_match(&one.glob, &path) || is_match(&one.below, &path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_covers_what_fits_and_what_lies_below() {
        for (glob, path) in [
            ("/data/*", "/data/x.php"),
            ("/data/*", "/data/file/free/x.php"),
            ("/data", "/data/x.php"),
            ("/data/", "/data/x.php"),
            ("*/data/*", "/data/x.php"),
            ("*/data", "/board/data/a/x.php"),
            ("*.phtml", "/a/x.phtml"),
            ("/data", "/DATA/X.PHP"),
            ("/Data/*", "/data/x.php"),
            ("/caf%C3%A9/*", "/caf\u{e9}/x.php"),
            ("/", "/x.php"),
            ("*", "/x.php"),
        ] {
            assert!(PathGlob::is_any(&[PathGlob::new(glob)], path.as_bytes()), "{glob} {path}");
        }
        for (glob, path) in [
            ("/data/*", "/data.php"),
            ("/data", "/database/x.php"),
            ("/data", "/a/data/x.php"),
            ("*/data", "/metadata/x.php"),
            ("/data/*.php", "/data/x.cgi"),
        ] {
            assert!(!PathGlob::is_any(&[PathGlob::new(glob)], path.as_bytes()), "{glob} {path}");
        }
        assert!(!PathGlob::is_any(&[], b"/data/x.php"));
    }
}
