//! Asks an origin, and gives back a head and a stream of body chunks.
//!
//! One kind of origin so far: HTTP/1.1 over TCP or a Unix socket ([`http`]). The client is our own over the parsers
//! of `kasoku-wire`, so that what a malformed response leads to comes from RFC 9112 (docs/decisions/0001-http-origin-client.md).
//! Everything here belongs to one worker: connections are neither `Send` nor shared.

pub mod address;
pub mod error;
pub mod http;
pub mod limits;

pub use address::Address;
pub use error::Error;
pub use limits::Limits;
