//! Asks memcached servers, by their meta protocol.
//!
//! [`Servers`] is what all workers share: the addresses, the ring, the health and the counts of each server. A [`Client`] belongs to one
//! worker, and has its own connections. It asks the server that it is told to ask: which one has an item is said by [`Servers::ring`],
//! and whether that one is usable by its health.
//!
//! | file | job |
//! |---|---|
//! | `options` | what an operator sets |
//! | `expiry` | when a server forgets an item, as memcached writes it |
//! | `protocol` | requests and replies as bytes |
//! | `failure` | why an operation has no result |
//! | `servers` | what all workers know of each server |
//! | `connection` | one pipelined connection to one server |
//! | `client` | the operations |

mod client;
mod connection;
mod expiry;
mod failure;
mod options;
pub mod protocol;
mod servers;

pub use client::Client;
pub use connection::{IN_FLIGHT_BYTES_MAX, IN_FLIGHT_MAX};
pub use expiry::Expiry;
pub use failure::Failure;
pub use options::{
    CONNECTIONS_MAX, Endpoint, ITEM_BYTES_LIMIT, MemcachedOptions, OPERATION_TIMEOUT_MAX, OptionsError, ServerAddress,
};
pub use servers::{Server, Servers};
