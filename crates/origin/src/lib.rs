//! Asks an origin, and gives back a head and a stream of body chunks.
//!
//! One kind of origin so far: HTTP/1.1 over TCP or a Unix socket ([`http`]). The client is our own over the parsers
//! of `kasoku-wire`, so that what a malformed response leads to comes from RFC 9112 (docs/decisions/0001-http-origin-client.md).
//! Connections belong to one worker: they are neither `Send` nor shared. What the process shares is what it knows of an
//! origin ([`directory`]): whether it should be asked ([`health`]), and how many connections to it are in use. Which origin
//! of several is asked says a [`group`].

pub mod address;
pub mod directory;
pub mod error;
pub mod group;
pub mod health;
pub mod http;
pub mod limits;
mod places;

pub use address::Address;
pub use directory::{Directory, OriginNumbers, OriginState};
pub use error::Error;
pub use group::{Balance, Group, Origin};
pub use health::HealthRules;
pub use limits::Limits;
