//! HTTP/1.0 and HTTP/1.1 on the wire (RFC 9112): heads, body framing, encoding.
//!
//! The order of the files is the order in which a message meets them: [`limits`] bound it, `head` splits it into
//! lines, [`request`] or [`response`] reads the first line and the fields, [`framing`] says how long the body is,
//! [`body`] takes it from the buffer, [`connection`] says whether another message may follow, and [`encode`]
//! writes what we send.
//!
//! Three rules hold in all of them:
//!
//! * **Refuse, never guess.** Where RFC 9112 lets a recipient repair a message or reject it, we reject: two
//!   recipients that repair differently are a request smuggling hole. Liberties that we do take are those that
//!   cannot be read in two ways, and each has its test (empty lines before a request, a status line without the
//!   space after the code, identical repeats of Content-Length in a response).
//! * **The verdict does not depend on how the bytes arrived.** A parser reads from the front and judges in the order
//!   of the bytes, so a prefix of a message gives either "need more" or the same result as the whole.
//! * **Everything is bounded while it is still incomplete**, so an endless head, chunk line or trailer section ends
//!   in an error and not in memory.
//!
//! The parsers keep no state between calls: an incomplete head is scanned again when more has arrived. That costs at
//! most `head_bytes_max` for each read, and buys that nothing can get out of step.
//!
//! What is not done here: obs-fold is never unfolded, transfer codings other than chunked are not decoded, 2xx to
//! CONNECT is not a tunnel (CONNECT is refused before it could be), and no field is added or removed.

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
pub use head::HeadError;
pub use limits::{BodyLimits, HeadLimits};
pub use request::{parse_request, parse_request_into};
pub use request_error::RequestError;
pub use response::{ResponseError, parse_response};
