//! A path as it was sent, in segments that are compared as they read.
//!
//! The reading is that of [`UrlPath`](crate::document_root::UrlPath), which a test compares. What was sent for each segment is kept beside it, since
//! a capture goes on as it was sent.

use crate::document_root::percent_decode;
use std::borrow::Cow;
use std::ops::Range;

/// A path without empty segments and dot segments.
#[derive(Debug)]
pub(super) struct SentPath<'p> {
    pub(super) names: Vec<Name<'p>>,
    /// Whether it ends in a slash, or in a segment of dots.
    pub(super) is_directory: bool,
}

/// One segment.
#[derive(Debug)]
pub(super) struct Name<'p> {
    sent: &'p str,
    read: Cow<'p, [u8]>,
}

impl<'p> SentPath<'p> {
    /// `None`: it is no path, leads above the root, or has a segment that could be read as two.
    pub(super) fn read(path: &'p str) -> Option<Self> {
        let mut read = Self { names: Vec::new(), is_directory: true };
        for sent in path.strip_prefix('/')?.split('/') {
            let name = Name::of(sent)?;
            read.is_directory = matches!(name.read(), b"" | b"." | b"..");
            match name.read() {
                b"" | b"." => {}
                b".." => drop(read.names.pop()?),
                _ => read.names.push(name),
            }
        }
        Some(read)
    }
}

impl<'p> Name<'p> {
    fn of(sent: &'p str) -> Option<Self> {
        let read = match sent.contains('%') {
            false => Cow::Borrowed(sent.as_bytes()),
            true => {
                let mut read = Vec::with_capacity(sent.len());
                percent_decode(sent.as_bytes(), &mut read)?;
                Cow::Owned(read)
            }
        };
        let is_one = !read.iter().any(|byte| byte.is_ascii_control() || *byte == b'/');
        is_one.then_some(Self { sent, read })
    }

    /// Without percent-encoding.
    pub(super) fn read(&self) -> &[u8] {
        &self.read
    }

    /// What was sent for these bytes of what is read.
    pub(super) fn sent_for(&self, range: Range<usize>) -> &'p str {
        let range = match self.read {
            Cow::Borrowed(_) => range,
            Cow::Owned(_) => self.sent_offset(range.start)..self.sent_offset(range.end),
        };
        self.sent.get(range).unwrap_or_default()
    }

    /// Where the byte of that number begins in what was sent.
    fn sent_offset(&self, number: usize) -> usize {
        let sent = self.sent.as_bytes();
        (0..number).fold(0, |at, _| at + if sent.get(at) == Some(&b'%') { 3 } else { 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document_root::UrlPath;

    proptest::proptest! {
        #[test]
        fn a_path_reads_as_it_does_below_a_document_root(path in "/([a-z%0-9A-F./\\\\;]|%2e|%2f|%41|/\\.\\./){0,40}") {
            // An encoded slash is the one thing that only the document root reads.
            let expected = UrlPath::read(&path).filter(|_| !path.to_ascii_lowercase().contains("%2f"));
            let expected = expected.map(|path| path.text().to_owned());
            let read = SentPath::read(&path).map(|path| {
                let mut text: Vec<u8> = path.names.iter().flat_map(|name| [b"/", name.read()].concat()).collect();
                text.extend_from_slice(if path.is_directory { b"/" } else { b"" });
                text
            });
            proptest::prop_assert_eq!(read, expected);
        }
    }

    #[test]
    fn what_was_sent_for_a_part_is_found_again() {
        let path = SentPath::read("/a%20%EA%B0%80b/plain").unwrap();
        assert_eq!(path.names[0].read(), "a \u{ac00}b".as_bytes());
        assert_eq!(path.names[0].sent_for(1..5), "%20%EA%B0%80");
        assert_eq!(path.names[0].sent_for(0..6), "a%20%EA%B0%80b");
        assert_eq!(path.names[1].sent_for(1..3), "la");
    }
}
