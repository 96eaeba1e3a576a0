//! Every reason why the rest of a body cannot be read.

use super::head::HeadError;
use http::StatusCode;

/// Why the rest of a body cannot be read. The fault lies with the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum BodyError {
    /// A chunk size that is not 1 to 16 hexadecimal digits.
    #[error("a chunk's size is not 1 to 16 hexadecimal digits")]
    ChunkSize,
    /// A CR or LF alone in a chunk's line.
    #[error("a CR or LF stands alone in a chunk's line")]
    ChunkLine,
    /// A chunk's line longer than the limit.
    #[error("a chunk's line is longer than the limit")]
    ChunkLineTooLong,
    /// Chunk extensions that do not follow the grammar.
    #[error("a chunk's extensions are malformed")]
    ChunkExtension,
    /// Far more bytes of chunk extensions than of content.
    #[error("chunk extensions exceed the content")]
    ChunkExtensionsTooLong,
    /// No CRLF where a chunk's data end.
    #[error("a chunk's data does not end in CRLF")]
    ChunkEnd,
    /// The trailer section is malformed or too long.
    #[error("in the trailer section: {0}")]
    Trailer(HeadError),
    /// The peer closed before the body's end.
    #[error("the connection was closed before the end of the body")]
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
        match self {
            Self::ChunkSize => "chunk-size",
            Self::ChunkLine => "chunk-line",
            Self::ChunkLineTooLong => "chunk-line-too-long",
            Self::ChunkExtension => "chunk-extension",
            Self::ChunkExtensionsTooLong => "chunk-extensions-too-long",
            Self::ChunkEnd => "chunk-end",
            Self::Trailer(_) => "trailer",
            Self::Truncated => "truncated",
        }
    }
}
