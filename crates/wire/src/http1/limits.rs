//! Limits on everything whose length a peer chooses in HTTP/1.
//!
//! A message that exceeds a limit is an error, even if the parser could still read it. Two fixed limits are in `request.rs` (the
//! method's length, empty lines before a request); the deadline for a head is `head_timeout` in `options/src/limits.rs`.

/// How much head a peer may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadLimits {
    /// The whole head in bytes, from the first byte of the first line to the empty line, both included. More is 431.
    pub head_bytes_max: usize,
    /// The request-target in bytes. More is 414 (RFC 9112 section 3). RFC 9112 recommends at least 8000 for the line.
    pub target_bytes_max: usize,
    /// The number of field lines. More is 431.
    pub fields_max: usize,
}

impl Default for HeadLimits {
    /// 64 KiB of head, 16 KiB of target, 200 fields.
    fn default() -> Self {
        Self { head_bytes_max: 64 * 1024, target_bytes_max: 16 * 1024, fields_max: 200 }
    }
}

/// How much a peer may send around the content of a chunked body. The caller bounds the content itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyLimits {
    /// The line of a chunk's size, extensions and CRLF included, in bytes.
    pub chunk_line_bytes_max: usize,
    /// The whole trailer section, its empty line included, in bytes.
    pub trailer_bytes_max: usize,
    /// The number of trailer field lines.
    pub trailer_fields_max: usize,
}

impl Default for BodyLimits {
    /// 4 KiB of chunk line, 16 KiB of trailers, 64 trailer fields.
    fn default() -> Self {
        Self { chunk_line_bytes_max: 4 * 1024, trailer_bytes_max: 16 * 1024, trailer_fields_max: 64 }
    }
}
