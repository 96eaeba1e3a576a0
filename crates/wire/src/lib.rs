//! Parses and writes the bytes of HTTP/1 and of the protocols beside it, without I/O.
//!
//! The crate covers HTTP/1 heads and body framing ([`http1`]), header field values ([`field`]), multipart forms ([`form`]), the
//! PROXY protocol ([`proxy_protocol`]), the output of CGI programs ([`cgi`]), and FastCGI and SCGI, which carry that output
//! ([`fastcgi`], [`scgi`]). Nothing in this crate reads a socket, a file or a clock, so each parser can be tested and fuzzed with
//! bytes alone. No parser panics. The parsers of messages never guess: what RFC 9112 does not allow is an error that names the
//! fault.

pub mod cgi;
pub mod fastcgi;
pub mod field;
pub mod fields;
pub mod form;
pub mod http1;
pub mod message;
pub mod proxy_protocol;
pub mod scgi;
pub mod target;

pub use fields::Fields;
pub use message::{RequestHead, ResponseHead};
