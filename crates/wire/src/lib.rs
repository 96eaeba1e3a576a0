//! Bytes to messages and back, without I/O.
//!
//! Everything that an outside party can send us is parsed here, and nowhere else: HTTP/1 heads and body
//! framing ([`http1`]), header field values ([`field`]), forms ([`form`]), the PROXY protocol ([`proxy_protocol`]), what CGI programs print
//! ([`cgi`]), and how FastCGI and SCGI carry it ([`fastcgi`], [`scgi`]).
//! Nothing in this crate reads a socket, a file or a clock, so each parser can be tested and fuzzed with bytes
//! alone. A parser never panics and never guesses: what RFC 9112 does not allow is an error that names the fault.

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
