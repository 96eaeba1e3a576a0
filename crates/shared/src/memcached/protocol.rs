//! The meta protocol of memcached (1.6 or later), as bytes: requests are written, replies are read. No I/O.
//!
//! Each request except `mn` carries an opaque number, which the server repeats in its reply. So a reply that belongs to another request is
//! recognised, whatever happened to the connection before.
//!
//! What a server sends is hostile input. A line and a value have a bound, and everything that a server of memcached does not send
//! is a [`ProtocolError`]: where the next reply begins is then unknown, so the connection has to be closed.
//!
//! | request | replies |
//! |---|---|
//! | `mg name v` | `VA`, `EN` |
//! | `ms name length` | `HD`, `NS`, `EX`, `NF` |
//! | `md name` | `HD`, `EX`, `NF` |
//! | `ma name v` | `VA`, `NF`, `CLIENT_ERROR` for what is no number |
//! | `mn` | `MN` |
//! | any | `SERVER_ERROR` |

mod reply;
mod request;

pub use reply::{LINE_BYTES_MAX, ProtocolError, Reply, ReplyParser, Status, number};
pub use request::{Operation, Request, StoreMode};

#[cfg(test)]
mod tests;
