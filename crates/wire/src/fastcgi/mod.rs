//! FastCGI 1.0 on the wire, on the side of the web server: encodes requests ([`encode`]) and decodes an application server's
//! answers ([`Decoder`]).
//!
//! Both directions consist of records: eight bytes of header (version, type, request id, the lengths of content and padding, one
//! reserved byte), then content and padding. A request is BEGIN_REQUEST, the stream PARAMS, the stream STDIN. An answer is the
//! stream STDOUT, which is the output of a CGI program ([`cgi`](crate::cgi)), possibly STDERR between its records, and END_REQUEST.
//! An empty record ends a stream.
//!
//! * **One request at a time on a connection.** Application servers do not multiplex: php-fpm, libfcgi and Go refuse it, or serve
//!   the requests one after the other. So a record with another request id is an error.
//! * **Refuse, never guess**, as for HTTP. The decoder refuses another version, an unknown type, a type that only web servers send,
//!   STDOUT after its end, and an END_REQUEST of another size. It accepts one deviation: END_REQUEST before the end of STDOUT,
//!   because php-fpm never ends STDOUT.
//! * **No content is buffered.** The decoder hands on content as it arrives, also from within a record, and waits only for headers
//!   and for records of a fixed size. It skips the reserved byte and the padding unread.
//!
//! Source: "FastCGI Specification", Mark R. Brown, Open Market, document version 1.0, 29 April 1996. Section numbers in comments
//! refer to it.
//!
//! Not done here: the roles Authorizer and Filter, and FCGI_DATA, which only Filter uses.

mod decode;
pub mod encode;

#[cfg(test)]
mod properties;

pub use decode::{DecodedRecord, Decoder, EndRequest, ProtocolStatus};

/// The only version of the protocol.
const VERSION: u8 = 1;
/// A record's header, in bytes (section 3.3).
const HEADER_BYTES: usize = 8;
/// The most content of one record, in bytes: its length has 16 bits.
pub const CONTENT_BYTES_MAX: usize = 65_535;

/// The types of records (section 8).
mod kind {
    pub(super) const BEGIN_REQUEST: u8 = 1;
    pub(super) const END_REQUEST: u8 = 3;
    pub(super) const PARAMS: u8 = 4;
    pub(super) const STDIN: u8 = 5;
    pub(super) const STDOUT: u8 = 6;
    pub(super) const STDERR: u8 = 7;
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

    /// The header at the front of `buf`. `None`: need more. A wrong version is refused at its first byte.
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

/// Why the bytes are refused as the answer of a FastCGI application server. The fault lies with the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum FastCgiError {
    /// A record of another version than 1.
    #[error("a record is not of FastCGI version 1")]
    Version,
    /// A record with the id of another request.
    #[error("a record belongs to another request")]
    RequestId,
    /// A type that does not exist, or that an application server does not send here.
    #[error("a record is of a type that is not expected here")]
    RecordType,
    /// STDOUT has content after its end.
    #[error("standard output goes on after its end")]
    StreamEnded,
    /// A record with a length that its type does not allow.
    #[error("a record has a length that its type does not have")]
    RecordLength,
    /// A protocol status that does not exist.
    #[error("the protocol status does not exist")]
    ProtocolStatus,
}

impl FastCgiError {
    /// A stable word for logs and metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Version => "fastcgi-version",
            Self::RequestId => "fastcgi-request-id",
            Self::RecordType => "fastcgi-record-type",
            Self::StreamEnded => "fastcgi-stream-ended",
            Self::RecordLength => "fastcgi-record-length",
            Self::ProtocolStatus => "fastcgi-protocol-status",
        }
    }
}
