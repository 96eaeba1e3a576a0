//! FastCGI 1.0 on the wire, from the side of the web server: what a request is sent as ([`encode`]), and what an application
//! server answers ([`Decoder`], [`parse_values`]).
//!
//! Both directions are records: eight bytes of header (version, type, request id, the lengths of content and padding, one
//! reserved byte), then so many bytes. A request is BEGIN_REQUEST, the stream PARAMS, the stream STDIN; an answer is the stream
//! STDOUT, which is what a CGI program would print ([`cgi`](crate::cgi)), perhaps STDERR between its records, and END_REQUEST.
//! An empty record ends a stream.
//!
//! * **One request at a time on a connection.** Multiplexing has been dead for long: php-fpm, libfcgi and Go refuse it or serve
//!   it one after the other. So a record of another request is an error, and not somebody else's answer.
//! * **Refuse, never guess**, as for HTTP: another version, an unknown type, a type that only web servers send, STDOUT after its
//!   end, an END_REQUEST of another size. There is one liberty: STDOUT need not be ended before END_REQUEST; php-fpm never does.
//! * **Nothing is collected.** Content is handed on as it arrives, a record may be split anywhere, and only the records of
//!   a fixed size are waited for. The reserved byte and the padding are skipped unread.
//!
//! Source: "FastCGI Specification", Mark R. Brown, Open Market, document version 1.0, 29 April 1996. Numbers in comments are its
//! sections.
//!
//! What it does not do: the roles Authorizer and Filter, and FCGI_DATA, which belongs to the latter.

mod decode;
pub mod encode;
mod pairs;
mod values;

#[cfg(test)]
mod properties;

pub use decode::{DecodedRecord, Decoder, EndRequest, ProtocolStatus};
pub use pairs::{NameValuePair, encode_pair, split_pair};
pub use values::{Values, parse_values};

use std::fmt;

/// The only version.
const VERSION: u8 = 1;
/// A record's header, in bytes (section 3.3).
const HEADER_BYTES: usize = 8;
/// The most content of one record, in bytes: its length has 16 bits.
pub const CONTENT_BYTES_MAX: usize = 65_535;
/// Records that belong to no request (section 3.3).
const NULL_REQUEST_ID: u16 = 0;

/// The types of records (section 8).
mod kind {
    pub(super) const BEGIN_REQUEST: u8 = 1;
    pub(super) const ABORT_REQUEST: u8 = 2;
    pub(super) const END_REQUEST: u8 = 3;
    pub(super) const PARAMS: u8 = 4;
    pub(super) const STDIN: u8 = 5;
    pub(super) const STDOUT: u8 = 6;
    pub(super) const STDERR: u8 = 7;
    pub(super) const GET_VALUES: u8 = 9;
    pub(super) const GET_VALUES_RESULT: u8 = 10;
    pub(super) const UNKNOWN_TYPE: u8 = 11;
}

/// A record's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Header {
    kind: u8,
    request_id: u16,
    content_bytes: u16,
    padding_bytes: u8,
}

impl Header {
    fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let [id_high, id_low] = self.request_id.to_be_bytes();
        let [content_high, content_low] = self.content_bytes.to_be_bytes();
        [VERSION, self.kind, id_high, id_low, content_high, content_low, self.padding_bytes, 0]
    }

    /// The header at the front of `buf`. `None`: need more. A wrong version is found at its first byte.
    fn parse(buf: &[u8]) -> Result<Option<Self>, FastCgiError> {
        if buf.first().is_some_and(|version| *version != VERSION) {
            return Err(FastCgiError::Version);
        }
        let Some(&[_, kind, id_high, id_low, content_high, content_low, padding_bytes, _]) = buf.first_chunk() else {
            return Ok(None);
        };
        let request_id = u16::from_be_bytes([id_high, id_low]);
        let content_bytes = u16::from_be_bytes([content_high, content_low]);
        Ok(Some(Self { kind, request_id, content_bytes, padding_bytes }))
    }
}

/// Why what came is no answer of a FastCGI application server. The origin is the guilty party.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FastCgiError {
    /// A record of another version than 1.
    Version,
    /// A record of another request.
    RequestId,
    /// A type that does not exist, or that an application server does not send here.
    RecordType,
    /// STDOUT after its end.
    StreamEnded,
    /// A record of fixed size has another one.
    RecordLength,
    /// A protocol status that does not exist.
    ProtocolStatus,
    /// Pairs of names and values that are cut off.
    Pairs,
}

impl FastCgiError {
    /// A stable word for logs and metrics.
    pub fn name(&self) -> &'static str {
        self.row().0
    }

    fn row(&self) -> (&'static str, &'static str) {
        match self {
            Self::Version => ("fastcgi-version", "a record is not of FastCGI version 1"),
            Self::RequestId => ("fastcgi-request-id", "a record belongs to another request"),
            Self::RecordType => ("fastcgi-record-type", "a record is of a type that is not expected here"),
            Self::StreamEnded => ("fastcgi-stream-ended", "standard output goes on after its end"),
            Self::RecordLength => ("fastcgi-record-length", "a record has a length that its type does not have"),
            Self::ProtocolStatus => ("fastcgi-protocol-status", "the protocol status does not exist"),
            Self::Pairs => ("fastcgi-pairs", "pairs of names and values are cut off"),
        }
    }
}

impl fmt::Display for FastCgiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().1)
    }
}

impl std::error::Error for FastCgiError {}
