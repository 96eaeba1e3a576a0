//! Asks memcached servers, by their meta protocol.
//!
//! [`Memcached`] is what all workers share: the options, and what is known of each server. A client belongs to one worker, and has its own
//! connections. It asks the server that it is told to ask.
//!
//! | file | job |
//! |---|---|
//! | `options` | what an operator sets |
//! | `expiry` | when a server forgets an item, as memcached writes it |
//! | `protocol` | requests and replies as bytes |
//! | `servers` | the servers, as all workers know them |
//! | `connection` | one pipelined connection to one server |
//! | `client` | the operations |

mod client;
mod connection;
mod expiry;
mod options;
pub mod protocol;
mod servers;

pub(crate) use client::MemcachedClient;
pub use options::{CONNECTIONS_MAX, ITEM_BYTES_LIMIT, MemcachedOptions, OptionsError, ServerAddress};
pub use servers::Memcached;
