//! Decodes bodies incrementally, for all four ways in which a body can end.
//!
//! The caller reads into a `BytesMut` and calls [`BodyDecoder::decode`] until it asks for more. Content leaves as slices of that
//! same buffer, without a copy; a slice keeps the buffer's memory alive, so code that keeps content for long must copy it. Sizes
//! and extensions of chunks are checked and dropped; trailers are kept apart from the header fields.
//!
//! An error is final: the decoder returns it again, since no later byte can be trusted. A body that the peer cuts short is
//! [`BodyError::Truncated`], never a clean end.

use super::body_error::BodyError;
use super::chunk::chunk_line;
use super::framing::BodyLength;
use super::head::{self, HeadError};
pub use super::limits::BodyLimits;
use crate::Fields;
use bytes::{Buf, Bytes, BytesMut};

/// By how many bytes a body's chunk extensions may exceed its content. Without this limit a peer could send 4 KiB of extensions for
/// each byte of content, without end.
const EXTENSION_EXCESS_BYTES_MAX: u64 = 16 * 1024;

/// What [`BodyDecoder::decode`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecodedBody {
    /// The next piece of content, never empty.
    Data(Bytes),
    /// The buffer does not hold enough to go on.
    NeedMore,
    /// The body is complete. Holds the trailers if any were sent; only the first `End` has them. The bytes left in the buffer
    /// belong to the next message.
    End(Option<Fields>),
}

/// Takes one body from the front of a buffer. See the [module](self).
#[derive(Debug)]
pub struct BodyDecoder {
    state: BodyDecoderState,
    limits: BodyLimits,
    /// By how many bytes the chunk extensions seen exceed the content announced, never below 0.
    extension_excess: u64,
}

/// What stands next in the buffer.
#[derive(Clone, Copy, Debug)]
enum BodyDecoderState {
    /// Content of known length, more than 0 bytes of it.
    Content(u64),
    /// Content, until the peer closes.
    ContentUntilClose,
    /// The line of a chunk's size.
    ChunkLine,
    /// A chunk's data, more than 0 bytes of it.
    ChunkData(u64),
    /// The CRLF after a chunk's data.
    ChunkEnd,
    /// The trailer section.
    Trailers,
    /// The next message.
    Ended,
    /// Bytes that cannot be trusted, after an error.
    Failed(BodyError),
}

impl BodyDecoder {
    /// A decoder for a body of that length. The limits matter to chunked bodies only.
    pub fn new(length: BodyLength, limits: &BodyLimits) -> Self {
        let state = match length {
            BodyLength::None | BodyLength::Length(0) => BodyDecoderState::Ended,
            //= RFC 9112 section 6.3
            //# If a valid Content-Length header field is present without Transfer-Encoding, its decimal value defines
            //# the expected message body length in octets.
            BodyLength::Length(bytes) => BodyDecoderState::Content(bytes),
            BodyLength::Chunked => BodyDecoderState::ChunkLine,
            BodyLength::UntilClose => BodyDecoderState::ContentUntilClose,
        };
        Self { state, limits: *limits, extension_excess: 0 }
    }

    /// Takes the next piece from the front of `buf`.
    ///
    /// # Errors
    /// When the chunked coding is malformed or exceeds a limit; the same error again from then on.
    pub fn decode(&mut self, buf: &mut BytesMut) -> Result<DecodedBody, BodyError> {
        let decoded = self.step_to_result(buf);
        if let Err(error) = decoded {
            self.state = BodyDecoderState::Failed(error);
        }
        decoded
    }

    /// Tells the decoder that the peer has closed, after `buf` was decoded to its end.
    ///
    /// # Errors
    /// [`BodyError::Truncated`] unless the body was complete or ends with the connection. After an earlier error: that error.
    pub fn finish_on_close(&mut self) -> Result<(), BodyError> {
        match self.state {
            BodyDecoderState::Ended => Ok(()),
            //= RFC 9112 section 8
            //# A response that has neither chunked transfer coding nor Content-Length is terminated by closure of the
            //# connection
            BodyDecoderState::ContentUntilClose => {
                self.state = BodyDecoderState::Ended;
                Ok(())
            }
            BodyDecoderState::Failed(error) => Err(error),
            //= RFC 9112 section 6.3
            //# If the sender closes the connection or the recipient times out before the indicated number of octets are
            //# received, the recipient MUST consider the message to be incomplete and close the connection.
            //= RFC 9112 section 8
            //# A client that receives an incomplete response message, which can occur when a connection is closed
            //# prematurely or when decoding a supposedly chunked transfer coding fails, MUST record the message as
            //# incomplete.
            _ => {
                self.state = BodyDecoderState::Failed(BodyError::Truncated);
                Err(BodyError::Truncated)
            }
        }
    }

    /// Whether the body is complete and the connection stands at the next message.
    pub fn is_done(&self) -> bool {
        matches!(self.state, BodyDecoderState::Ended)
    }

    /// How many bytes of content are still to come. `None`: not known, in a chunked or close-delimited body that has not ended.
    pub fn remaining(&self) -> Option<u64> {
        match self.state {
            BodyDecoderState::Content(bytes) => Some(bytes),
            BodyDecoderState::Ended => Some(0),
            _ => None,
        }
    }

    /// Goes from state to state until there is a result. Each turn of the loop consumes bytes, changes the state, or returns.
    fn step_to_result(&mut self, buf: &mut BytesMut) -> Result<DecodedBody, BodyError> {
        loop {
            match self.state {
                BodyDecoderState::Ended => return Ok(DecodedBody::End(None)),
                BodyDecoderState::Failed(error) => return Err(error),
                BodyDecoderState::Content(left) => {
                    let Some(data) = take_up_to(buf, left) else { return Ok(DecodedBody::NeedMore) };
                    self.state = match left.saturating_sub(data.len() as u64) {
                        0 => BodyDecoderState::Ended,
                        left => BodyDecoderState::Content(left),
                    };
                    return Ok(DecodedBody::Data(data));
                }
                BodyDecoderState::ContentUntilClose => {
                    return Ok(take_up_to(buf, u64::MAX).map_or(DecodedBody::NeedMore, DecodedBody::Data));
                }
                //= RFC 9112 section 7.1
                //# A recipient MUST be able to parse and decode the chunked transfer coding.
                BodyDecoderState::ChunkLine => {
                    let Some(size) = self.take_chunk_line(buf)? else { return Ok(DecodedBody::NeedMore) };
                    self.state = if size == 0 { BodyDecoderState::Trailers } else { BodyDecoderState::ChunkData(size) };
                }
                BodyDecoderState::ChunkData(left) => {
                    let Some(data) = take_up_to(buf, left) else { return Ok(DecodedBody::NeedMore) };
                    self.state = match left.saturating_sub(data.len() as u64) {
                        0 => BodyDecoderState::ChunkEnd,
                        left => BodyDecoderState::ChunkData(left),
                    };
                    return Ok(DecodedBody::Data(data));
                }
                BodyDecoderState::ChunkEnd => match buf.as_ref() {
                    [] | [b'\r'] => return Ok(DecodedBody::NeedMore),
                    [b'\r', b'\n', ..] => {
                        buf.advance(2);
                        self.state = BodyDecoderState::ChunkLine;
                    }
                    _ => return Err(BodyError::ChunkEnd),
                },
                BodyDecoderState::Trailers => {
                    let Some(trailers) = self.take_trailers(buf)? else { return Ok(DecodedBody::NeedMore) };
                    self.state = BodyDecoderState::Ended;
                    //= RFC 9112 section 7.1.2
                    //# A recipient that retains a received trailer field MUST either store/forward the trailer field
                    //# separately from the received header fields or merge the received trailer field into the header
                    //# section.
                    //= RFC 9112 section 7.1.2
                    //# A recipient MUST NOT merge a received trailer field into the header section unless its
                    //# corresponding header field definition explicitly permits and instructs how the trailer field
                    //# value can be safely merged.
                    return Ok(DecodedBody::End((!trailers.is_empty()).then_some(trailers)));
                }
            }
        }
    }

    fn take_chunk_line(&mut self, buf: &mut BytesMut) -> Result<Option<u64>, BodyError> {
        let line = head::next_line(buf, self.limits.chunk_line_bytes_max).map_err(|error| match error {
            HeadError::TooLong => BodyError::ChunkLineTooLong,
            _ => BodyError::ChunkLine,
        })?;
        let Some(line) = line else { return Ok(None) };
        let line_bytes = line.bytes();
        let (size, extensions) = chunk_line(line.text)?;
        let extension_bytes = extensions.len() as u64;
        self.extension_excess = self.extension_excess.saturating_add(extension_bytes).saturating_sub(size);
        //= RFC 9112 section 7.1.1
        //# A server ought to limit the total length of chunk extensions received in a request to an amount reasonable
        //# for the services provided
        if self.extension_excess > EXTENSION_EXCESS_BYTES_MAX {
            return Err(BodyError::ChunkExtensionsTooLong);
        }
        buf.advance(line_bytes);
        Ok(Some(size))
    }

    fn take_trailers(&self, buf: &mut BytesMut) -> Result<Option<Fields>, BodyError> {
        let BodyLimits { trailer_bytes_max, trailer_fields_max, .. } = self.limits;
        let section = head::field_section(buf, trailer_bytes_max, trailer_fields_max, false);
        let Some(section) = section.map_err(BodyError::Trailer)? else { return Ok(None) };
        let trailers = head::parse_fields(&section).map_err(BodyError::Trailer)?;
        let section_bytes = buf.len() - section.rest.len();
        buf.advance(section_bytes);
        Ok(Some(trailers))
    }
}

/// At most `max` bytes from the front of `buf`; `None` when it is empty.
fn take_up_to(buf: &mut BytesMut, max: u64) -> Option<Bytes> {
    let bytes = usize::try_from(max).unwrap_or(usize::MAX).min(buf.len());
    (bytes > 0).then(|| buf.split_to(bytes).freeze())
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
