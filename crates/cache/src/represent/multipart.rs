//! Several ranges in one body: multipart/byteranges (RFC 9110 section 14.6).

use crate::Body;
use bytes::Bytes;
use kasoku_semantics::range::ByteRange;
use kasoku_wire::field::content_range::ContentRange;
use std::hash::{BuildHasher, Hasher, RandomState};

/// The parts, ready to be sent.
pub struct Multipart {
    /// The media type with its boundary.
    pub content_type: String,
    /// The body.
    pub pieces: Vec<Bytes>,
}

impl Multipart {
    /// The ranges of `body`, which has all of them, each with the whole's media type.
    pub fn new(body: &Body, ranges: &[ByteRange], content_type: Option<&[u8]>) -> Self {
        // Random, so that no body can be written to contain it.
        let random = || RandomState::new().build_hasher().finish();
        let boundary = format!("{:016x}{:016x}", random(), random());
        let mut pieces = Vec::new();
        for range in ranges {
            let mut head = format!("\r\n--{boundary}\r\n").into_bytes();
            if let Some(content_type) = content_type {
                head.extend_from_slice(b"Content-Type: ");
                head.extend_from_slice(content_type);
                head.extend_from_slice(b"\r\n");
            }
            let complete = body.complete_length();
            let content_range = ContentRange::Part { first: range.first, last: range.last, complete };
            head.extend_from_slice(format!("Content-Range: {content_range}\r\n\r\n").as_bytes());
            pieces.push(Bytes::from(head));
            pieces.extend(body.slice(*range));
        }
        pieces.push(Bytes::from(format!("\r\n--{boundary}--\r\n")));
        Self { content_type: format!("multipart/byteranges; boundary={boundary}"), pieces }
    }
}
