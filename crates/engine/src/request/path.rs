//! Reads a path as applications read it, for finding the rule: decoded, without doubled slashes and dot segments. Also finds the
//! target for which a short address stands (`rewrite`).
//!
//! The key and the origin get the path as it was sent. Nearly every path reads as it was sent, which one look at it tells. Other
//! paths are written into buffers that the worker reuses, of no more than a few times the longest request-target.

use kasoku_options::{Rewrite, Rewriter};
use percent_encoding::percent_decode_str;
use std::borrow::Cow;
use std::mem;

/// The largest buffer that is kept for the next target, in bytes.
const KEPT_BYTES_MAX: usize = 32 << 10;

/// Reads paths, one at a time.
#[derive(Default)]
pub(crate) struct PathReader {
    bytes: Vec<u8>,
    decoded: String,
    read: String,
    rewriter: Rewriter,
    /// The buffer for the target of the next short address. While a waiting request holds it, the next request makes its own.
    long: String,
}

impl PathReader {
    /// The target for which a short address stands, by the first of these rules that fits. [`PathReader::give_back`] takes its
    /// buffer back.
    pub(crate) fn stands_for(&mut self, rules: &[Rewrite], target: &str) -> Option<String> {
        if rules.is_empty() {
            return None;
        }
        let mut long = mem::take(&mut self.long);
        if self.rewriter.write(rules, target, &mut long) {
            return Some(long);
        }
        self.give_back(long);
        None
    }

    /// Copies the target for which a short address stands, into the buffer for it.
    pub(crate) fn copy(&mut self, stands_for: &str) -> String {
        let mut long = mem::take(&mut self.long);
        long.push_str(stands_for);
        long
    }

    /// Takes the buffer of a target back.
    pub(crate) fn give_back(&mut self, mut used: String) {
        if used.capacity() <= KEPT_BYTES_MAX {
            used.clear();
            self.long = used;
        }
    }

    /// Reads a path; `None`: it reads as it was sent.
    pub(crate) fn read(&mut self, path: &str) -> Option<&str> {
        if reads_as_sent(path.as_bytes()) {
            return None;
        }
        decode(path, &mut self.bytes, &mut self.decoded);
        fold(&self.decoded, &mut self.read);
        Some(&self.read)
    }
}

/// A path as applications read it.
pub(crate) fn as_read(path: &str) -> Cow<'_, str> {
    match PathReader::default().read(path) {
        None => Cow::Borrowed(path),
        Some(read) => Cow::Owned(read.to_owned()),
    }
}

// Without a branch for each byte, so that the compiler can take many bytes at once.
fn reads_as_sent(path: &[u8]) -> bool {
    let followers = path.get(1..).unwrap_or_default();
    let begins_oddly = |slash: &u8, next: &u8| (*slash == b'/') & ((*next == b'/') | (*next == b'.'));
    let has_odd_segment =
        path.iter().zip(followers).fold(false, |found, (slash, next)| found | begins_oddly(slash, next));
    !has_odd_segment && !path.contains(&b'%')
}

/// Writes `path` without percent-encoding; bytes that are not UTF-8 then become U+FFFD.
fn decode(path: &str, bytes: &mut Vec<u8>, decoded: &mut String) {
    bytes.clear();
    bytes.extend(percent_decode_str(path));
    decoded.clear();
    for chunk in bytes.utf8_chunks() {
        decoded.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            decoded.push(char::REPLACEMENT_CHARACTER);
        }
    }
}

/// Writes `decoded` without empty segments and dot segments.
fn fold(decoded: &str, read: &mut String) {
    read.clear();
    for segment in decoded.split('/') {
        match segment {
            "" | "." => {}
            ".." => read.truncate(read.rfind('/').unwrap_or(0)),
            segment => {
                read.push('/');
                read.push_str(segment);
            }
        }
    }
    let is_folder = decoded.ends_with('/') || decoded.ends_with("/.") || decoded.ends_with("/..");
    if is_folder || read.is_empty() {
        read.push('/');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kasoku_options::glob::Path;

    #[test]
    fn rules_see_a_path_as_applications_do() {
        let mut reader = PathReader::default();
        for (sent, seen) in [
            ("/%61dmin/x", "/admin/x"),
            ("//admin//x", "/admin/x"),
            ("/a/../admin/", "/admin/"),
            ("/a/./b/..", "/a/"),
            ("/../..", "/"),
            ("/100%", "/100%"),
            ("/%zz/..%2fadmin", "/admin"),
            ("/%+f", "/%+f"),
            ("/%ff%E5%8A%A0", "/\u{FFFD}\u{52A0}"),
            ("%2e", "/"),
        ] {
            assert_eq!(reader.read(sent), Some(seen), "{sent}");
        }
        assert!(reader.read("/admin/x").is_none());
    }

    #[test]
    fn a_target_is_written_where_the_one_before_was() {
        let rules = [Rewrite::parse("/{b:word} => /board.php?b={b}").unwrap()];
        let mut reader = PathReader::default();
        let first = reader.stands_for(&rules, "/notice").unwrap();
        let place = first.as_ptr();
        assert_eq!(reader.stands_for(&rules, "/free").as_deref(), Some("/board.php?b=free"), "the first is still held");
        reader.give_back(first);
        assert_eq!(reader.stands_for(&rules, "/a-b"), None);
        let again = reader.stands_for(&rules, "/qa").unwrap();
        assert_eq!((again.as_ptr(), &*again), (place, "/board.php?b=qa"));
        reader.give_back(String::with_capacity(KEPT_BYTES_MAX + 1));
        assert_eq!(reader.long.capacity(), 0, "one large request does not make the worker larger for ever");
    }

    #[test]
    fn a_rule_is_read_as_well() {
        let mut reader = PathReader::default();
        let mut fits =
            |path: &str, rule: &str| reader.read(path).is_some_and(|read| Path::new(read).fits_as_read(&rule.into()));
        assert!(fits("/a//caf%C3%a9", "/a/caf%c3%A9"));
        assert!(fits("/a//b", "/a/b"));
        assert!(!fits("/a//b", "/%61"));
    }
}
