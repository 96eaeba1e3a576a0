//! Decodes the records of the answer to one request.

use super::{FastCgiError, HEADER_BYTES, Header, kind};
use bytes::{Buf, Bytes, BytesMut};

/// The size of END_REQUEST's content (section 5.5).
const END_REQUEST_BYTES: usize = 8;

/// What [`Decoder::decode`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecodedRecord {
    /// More bytes are needed.
    NeedMore,
    /// A piece of what the program prints, never empty.
    Stdout(Bytes),
    /// The end of the program's output.
    StdoutEnd,
    /// A piece of the program's standard error, never empty.
    Stderr(Bytes),
    /// The end of the request. Each later call returns it again.
    End(EndRequest),
}

/// How a request ended (section 5.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndRequest {
    /// The exit status of the program, as the program reports it: it is not reliable. php-fpm always sends 0.
    pub app_status: u32,
    /// Whether the application server accepted the request.
    pub protocol_status: ProtocolStatus,
}

/// Whether an application server accepted a request (section 5.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolStatus {
    /// Accepted, and ended normally.
    RequestComplete,
    /// Refused: a second request on a connection to a server that does not multiplex.
    CannotMultiplex,
    /// Refused: the server lacks a resource, such as database connections.
    Overloaded,
    /// Refused: the server does not know the role Responder.
    UnknownRole,
}

impl ProtocolStatus {
    fn from_byte(byte: u8) -> Result<Self, FastCgiError> {
        match byte {
            0 => Ok(Self::RequestComplete),
            1 => Ok(Self::CannotMultiplex),
            2 => Ok(Self::Overloaded),
            3 => Ok(Self::UnknownRole),
            _ => Err(FastCgiError::ProtocolStatus),
        }
    }
}

/// Takes the records of one request's answer from a buffer. Bytes after END_REQUEST stay in the buffer.
#[derive(Debug)]
pub struct Decoder {
    request_id: u16,
    state: RecordState,
    is_stdout_ended: bool,
}

#[derive(Clone, Copy, Debug)]
enum RecordState {
    /// Before a header.
    Header,
    /// Within a record of a stream: the bytes of content still to come, and the bytes of padding behind them.
    Content { stream: OutputStream, content_bytes: usize, padding_bytes: usize },
    /// Within padding.
    Padding(usize),
    /// Within END_REQUEST.
    EndRequest { padding_bytes: usize },
    /// Within the padding of END_REQUEST, which belongs to the answer as well.
    LastPadding { bytes: usize, end: EndRequest },
    /// After END_REQUEST and its padding.
    Ended(EndRequest),
    /// After an error.
    Failed(FastCgiError),
}

#[derive(Clone, Copy, Debug)]
enum OutputStream {
    Stdout,
    Stderr,
}

impl Decoder {
    /// A decoder for the answer to the request with that id.
    pub fn new(request_id: u16) -> Self {
        Self { request_id, state: RecordState::Header, is_stdout_ended: false }
    }

    /// Takes the next piece of the answer from the front of `buf`. Content leaves as slices of `buf`, without a copy.
    ///
    /// # Errors
    /// When the bytes are no valid answer. Each later call returns the same error.
    pub fn decode(&mut self, buf: &mut BytesMut) -> Result<DecodedRecord, FastCgiError> {
        let decoded = self.next(buf);
        if let Err(error) = decoded {
            self.state = RecordState::Failed(error);
        }
        decoded
    }

    fn next(&mut self, buf: &mut BytesMut) -> Result<DecodedRecord, FastCgiError> {
        loop {
            match self.state {
                RecordState::Header => {
                    let Some(header) = Header::parse(buf)? else { return Ok(DecodedRecord::NeedMore) };
                    buf.advance(HEADER_BYTES);
                    if let Some(decoded) = self.begin(header)? {
                        return Ok(decoded);
                    }
                }
                RecordState::Content { content_bytes: 0, padding_bytes, .. } => {
                    self.state = RecordState::Padding(padding_bytes)
                }
                RecordState::Content { stream, content_bytes, padding_bytes } => {
                    if buf.is_empty() {
                        return Ok(DecodedRecord::NeedMore);
                    }
                    let piece = buf.split_to(content_bytes.min(buf.len())).freeze();
                    let content_bytes = content_bytes - piece.len();
                    self.state = RecordState::Content { stream, content_bytes, padding_bytes };
                    return Ok(match stream {
                        OutputStream::Stdout => DecodedRecord::Stdout(piece),
                        OutputStream::Stderr => DecodedRecord::Stderr(piece),
                    });
                }
                RecordState::Padding(0) => self.state = RecordState::Header,
                RecordState::Padding(bytes) => match skip(buf, bytes) {
                    0 => self.state = RecordState::Header,
                    left => {
                        self.state = RecordState::Padding(left);
                        return Ok(DecodedRecord::NeedMore);
                    }
                },
                RecordState::EndRequest { padding_bytes } => {
                    // Application status (4 bytes), protocol status (1), reserved (3).
                    let Some(&[a, b, c, d, protocol_status, ..]) = buf.first_chunk::<END_REQUEST_BYTES>() else {
                        return Ok(DecodedRecord::NeedMore);
                    };
                    buf.advance(END_REQUEST_BYTES);
                    let app_status = u32::from_be_bytes([a, b, c, d]);
                    let protocol_status = ProtocolStatus::from_byte(protocol_status)?;
                    let end = EndRequest { app_status, protocol_status };
                    self.state = RecordState::LastPadding { bytes: padding_bytes, end };
                }
                RecordState::LastPadding { bytes, end } => match skip(buf, bytes) {
                    0 => self.state = RecordState::Ended(end),
                    bytes => {
                        self.state = RecordState::LastPadding { bytes, end };
                        return Ok(DecodedRecord::NeedMore);
                    }
                },
                RecordState::Ended(end) => return Ok(DecodedRecord::End(end)),
                RecordState::Failed(error) => return Err(error),
            }
        }
    }

    /// Enters the state for the record that `header` opens. Returns `StdoutEnd` for the first record that ends STDOUT.
    fn begin(&mut self, header: Header) -> Result<Option<DecodedRecord>, FastCgiError> {
        if header.request_id != self.request_id {
            return Err(FastCgiError::RequestId);
        }
        let (content_bytes, padding_bytes) = (usize::from(header.content_bytes), usize::from(header.padding_bytes));
        match header.kind {
            kind::STDOUT if content_bytes == 0 => {
                self.state = RecordState::Padding(padding_bytes);
                let is_first = !std::mem::replace(&mut self.is_stdout_ended, true);
                Ok(is_first.then_some(DecodedRecord::StdoutEnd))
            }
            kind::STDOUT if self.is_stdout_ended => Err(FastCgiError::StreamEnded),
            kind::STDOUT => {
                self.state = RecordState::Content { stream: OutputStream::Stdout, content_bytes, padding_bytes };
                Ok(None)
            }
            kind::STDERR => {
                self.state = RecordState::Content { stream: OutputStream::Stderr, content_bytes, padding_bytes };
                Ok(None)
            }
            kind::END_REQUEST if content_bytes == END_REQUEST_BYTES => {
                self.state = RecordState::EndRequest { padding_bytes };
                Ok(None)
            }
            kind::END_REQUEST => Err(FastCgiError::RecordLength),
            _ => Err(FastCgiError::RecordType),
        }
    }
}

/// Drops at most `bytes` bytes; returns how many are still to come.
fn skip(buf: &mut BytesMut, bytes: usize) -> usize {
    let here = bytes.min(buf.len());
    buf.advance(here);
    bytes - here
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
