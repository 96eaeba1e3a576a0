//! Several ranges in one body: multipart/byteranges (RFC 9110 section 14.6).

use crate::Body;
use bytes::Bytes;
use kasoku_semantics::range::ByteRange;
use kasoku_wire::field::content_range::ContentRange;
use std::hash::{BuildHasher, Hasher, RandomState};

/// The parts of the body, ready to be sent.
pub struct Multipart {
    /// The media type, with the boundary.
    pub content_type: String,
    /// The body, in order.
    pub pieces: Vec<Bytes>,
}

impl Multipart {
    /// A body with these ranges of `body`, which must hold all of them. Each part gets the media type of the whole.
    pub fn new(body: &Body, ranges: &[ByteRange], content_type: Option<&[u8]>) -> Self {
        // The boundary is random, so that no author can write a body that contains it.
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
