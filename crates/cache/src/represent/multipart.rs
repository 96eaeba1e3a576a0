//! Several ranges in one body: multipart/byteranges (RFC 9110 section 14.6).

use crate::Body;
use bytes::Bytes;
use kasoku_semantics::range::ByteRange;
use kasoku_wire::field::content_range::ContentRange;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::iter;

/// The parts of the body, ready to be sent.
pub struct Multipart {
    /// The media type, with the boundary.
    pub content_type: String,
    /// The parts in order: the head of each, and which bytes of the body follow.
    pub parts: Vec<(Bytes, ByteRange)>,
    /// What follows the last part.
    pub end: Bytes,
}

impl Multipart {
    /// A body with these ranges of a body with that complete length. Each part gets the media type of the whole.
    pub fn new(complete: Option<u64>, ranges: &[ByteRange], content_type: Option<&[u8]>) -> Self {
        // The boundary is random, so that no author can write a body that contains it.
        let random = || RandomState::new().build_hasher().finish();
        let boundary = format!("{:016x}{:016x}", random(), random());
        let part = |range: &ByteRange| {
            let mut head = format!("\r\n--{boundary}\r\n").into_bytes();
            if let Some(content_type) = content_type {
                head.extend_from_slice(b"Content-Type: ");
                head.extend_from_slice(content_type);
                head.extend_from_slice(b"\r\n");
            }
            let content_range = ContentRange::Part { first: range.first, last: range.last, complete };
            head.extend_from_slice(format!("Content-Range: {content_range}\r\n\r\n").as_bytes());
            (Bytes::from(head), *range)
        };
        let parts = ranges.iter().map(part).collect();
        let end = Bytes::from(format!("\r\n--{boundary}--\r\n"));
        Self { content_type: format!("multipart/byteranges; boundary={boundary}"), parts, end }
    }

    /// All of it, where `body` is in memory and holds these ranges.
    pub fn pieces(&self, body: &Body) -> Vec<Bytes> {
        let part = |(head, range): &(Bytes, ByteRange)| iter::once(head.clone()).chain(body.slice(*range));
        self.parts.iter().flat_map(part).chain([self.end.clone()]).collect()
    }

    /// The length of all parts, in bytes.
    pub fn length(&self) -> u64 {
        let parts = self.parts.iter().map(|(head, range)| head.len() as u64 + range.length());
        parts.sum::<u64>() + self.end.len() as u64
    }
}
