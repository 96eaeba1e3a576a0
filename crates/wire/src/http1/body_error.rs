//! Every reason why the rest of a body cannot be read.

use super::head::HeadError;
use http::StatusCode;
use std::fmt;

/// Why the rest of a body cannot be read. The fault lies with the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BodyError {
    /// A chunk size that is not 1 to 16 hexadecimal digits.
    ChunkSize,
    /// A CR or LF alone in a chunk's line.
    ChunkLine,
    /// A chunk's line longer than the limit.
    ChunkLineTooLong,
    /// Chunk extensions that do not follow the grammar.
    ChunkExtension,
    /// Far more bytes of chunk extensions than of content.
    ChunkExtensionsTooLong,
    /// No CRLF where a chunk's data end.
    ChunkEnd,
    /// The trailer section is malformed or too long.
    Trailer(HeadError),
    /// The peer closed before the body's end.
    Truncated,
}

impl BodyError {
    /// The status to answer with if a client sent the body and no answer has begun.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Trailer(error) => error.status(),
            _ => StatusCode::BAD_REQUEST,
        }
    }

    /// A stable word for logs and metrics.
    pub fn name(&self) -> &'static str {
        self.row().0
    }

    fn row(&self) -> (&'static str, &'static str) {
        match self {
            Self::ChunkSize => ("chunk-size", "a chunk's size is not 1 to 16 hexadecimal digits"),
            Self::ChunkLine => ("chunk-line", "a CR or LF stands alone in a chunk's line"),
            Self::ChunkLineTooLong => ("chunk-line-too-long", "a chunk's line is longer than the limit"),
            Self::ChunkExtension => ("chunk-extension", "a chunk's extensions are malformed"),
            Self::ChunkExtensionsTooLong => ("chunk-extensions-too-long", "chunk extensions exceed the content"),
            Self::ChunkEnd => ("chunk-end", "a chunk's data does not end in CRLF"),
            Self::Trailer(_) => ("trailer", "the trailer section is malformed"),
            Self::Truncated => ("truncated", "the connection was closed before the end of the body"),
        }
    }
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trailer(error) => write!(f, "in the trailer section: {error}"),
            _ => f.write_str(self.row().1),
        }
    }
}

impl std::error::Error for BodyError {}
