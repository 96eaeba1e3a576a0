//! Splits a path as it was sent into segments, which are compared in decoded form.
//!
//! The path is read as [`UrlPath`](kasoku_semantics::url_path::UrlPath) reads it; a test compares both. Each segment also keeps the
//! text that was sent for it, since a capture is passed on as it was sent.

use kasoku_semantics::url_path::percent_decode;
use smallvec::SmallVec;
use std::ops::Range;

/// The most segments of a path that is read without a heap allocation.
const NAMES_ON_STACK: usize = 16;

/// A path without empty segments and dot segments.
#[derive(Debug)]
pub(super) struct SentPath<'p> {
    pub(super) names: SmallVec<[PathSegment<'p>; NAMES_ON_STACK]>,
    /// Whether it ends in a slash, or in a segment of dots.
    pub(super) is_directory: bool,
}

/// One segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathSegment<'p> {
    sent: &'p str,
    read: &'p [u8],
}

impl<'p> SentPath<'p> {
    /// Reads a path. `None`: it does not begin with `/`, leads above the root, is malformed, or has a segment that could be read as
    /// two. `memory`: for a path with percent-encoding.
    pub(super) fn read(path: &'p str, memory: &'p mut Vec<u8>) -> Option<Self> {
        let sent = path.strip_prefix('/')?;
        let read = without_encoding(sent, memory)?;
        if read.iter().any(u8::is_ascii_control) {
            return None;
        }
        let mut path = Self { names: SmallVec::new(), is_directory: true };
        let mut segments_read = read.split(|byte| *byte == b'/');
        for sent in sent.split('/') {
            let name = PathSegment { sent, read: segments_read.next()? };
            path.is_directory = matches!(name.read, b"" | b"." | b"..");
            match name.read {
                b"" | b"." => {}
                b".." => drop(path.names.pop()?),
                _ => path.names.push(name),
            }
        }
        // An encoded slash gives one more segment.
        segments_read.next().is_none().then_some(path)
    }
}

fn without_encoding<'p>(sent: &'p str, memory: &'p mut Vec<u8>) -> Option<&'p [u8]> {
    if !sent.as_bytes().contains(&b'%') {
        return Some(sent.as_bytes());
    }
    memory.clear();
    percent_decode(sent.as_bytes(), memory)?;
    Some(memory)
}

impl<'p> PathSegment<'p> {
    /// The segment without percent-encoding.
    pub(super) fn read(&self) -> &'p [u8] {
        self.read
    }

    /// The text that was sent for these bytes of the decoded segment.
    pub(super) fn sent_for(&self, range: Range<usize>) -> &'p str {
        let is_encoded = self.read.len() < self.sent.len();
        let range = if is_encoded { self.sent_offset(range.start)..self.sent_offset(range.end) } else { range };
        self.sent.get(range).unwrap_or_default()
    }

    /// Where the decoded byte of that number begins in the text that was sent.
    fn sent_offset(&self, number: usize) -> usize {
        let sent = self.sent.as_bytes();
        (0..number).fold(0, |at, _| at + if sent.get(at) == Some(&b'%') { 3 } else { 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kasoku_semantics::url_path::UrlPath;

    proptest::proptest! {
        #[test]
        fn a_path_reads_as_it_does_below_a_document_root(path in "/([a-z%0-9A-F./\\\\;]|%2e|%2f|%41|/\\.\\./){0,40}") {
            // An encoded slash is the one thing that only the document root reads.
            let expected = UrlPath::read(&path).filter(|_| !path.to_ascii_lowercase().contains("%2f"));
            let expected = expected.map(|path| path.text().to_owned());
            let mut memory = b"of the path before".to_vec();
            let read = SentPath::read(&path, &mut memory).map(|path| {
                let mut text: Vec<u8> = path.names.iter().flat_map(|name| [b"/", name.read()].concat()).collect();
                text.extend_from_slice(if path.is_directory { b"/" } else { b"" });
                text
            });
            proptest::prop_assert_eq!(read, expected);
        }
    }

    #[test]
    fn what_was_sent_for_a_part_is_found_again() {
        let mut memory = Vec::new();
        let path = SentPath::read("/a%20%EA%B0%80b/plain", &mut memory).unwrap();
        assert_eq!(path.names[0].read(), "a \u{ac00}b".as_bytes());
        assert_eq!(path.names[0].sent_for(1..5), "%20%EA%B0%80");
        assert_eq!(path.names[0].sent_for(0..6), "a%20%EA%B0%80b");
        assert_eq!(path.names[1].sent_for(1..3), "la");
    }
}
