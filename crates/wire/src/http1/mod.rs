//! Parses and writes HTTP/1.0 and HTTP/1.1 messages (RFC 9112): heads, body framing, encoding.
//!
//! A message passes the files in this order: [`limits`] bounds it, `head` splits it into lines, [`request`] or [`response`] reads
//! the first line and the fields, [`framing`] decides how long the body is, [`body`] takes it from the buffer, [`connection`]
//! decides whether another message may follow, and [`encode`] writes what Kasoku sends.
//!
//! Three rules hold in all of them:
//!
//! * **Refuse, never guess.** Where RFC 9112 lets a recipient repair a message or reject it, the parsers reject it: two recipients
//!   that repair it differently open a hole for request smuggling. The parsers accept deviations only where all recipients read the
//!   message alike, and each has its test (empty lines before a request, a status line without the space after the code, identical
//!   repeats of Content-Length in a response).
//! * **The verdict does not depend on how the bytes arrived.** A parser reads from the front and judges in the order of the bytes,
//!   so a prefix of a message gives either "need more" or the same result as the whole.
//! * **Limits apply to incomplete messages too**, so an endless head, chunk line or trailer section ends in an error before it
//!   fills the memory.
//!
//! The parsers of heads keep no state between calls: they scan an incomplete head again when more bytes have arrived. That costs at
//! most `head_bytes_max` for each read, and no state can get out of step with the buffer.
//!
//! Not done here: obs-fold is never unfolded, transfer codings other than chunked are not decoded, a 2xx response to CONNECT opens
//! no tunnel (the engine refuses CONNECT), and no field is added or removed.

pub mod body;
pub mod body_error;
mod chunk;
pub mod connection;
pub mod encode;
pub mod framing;
pub(crate) mod grammar;
pub mod head;
pub mod limits;
pub mod request;
pub mod request_error;
pub mod response;

#[cfg(test)]
mod properties;

pub use body::{BodyDecoder, DecodedBody};
pub use body_error::BodyError;
pub use connection::{connection_options, keeps_alive};
pub use encode::{encode_chunk_head, encode_last_chunk, encode_request_head, encode_status_line};
pub use framing::{BodyLength, request_body_length, response_body_length};
pub use head::{HeadError, parse_field_lines};
pub use limits::{BodyLimits, HeadLimits};
pub use request::{parse_request, parse_request_into};
pub use request_error::RequestError;
pub use response::{ResponseError, parse_response};
