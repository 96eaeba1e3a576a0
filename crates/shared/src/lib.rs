//! The shared tier: servers in which several caches keep their responses together. And purges between caches, with such servers or
//! without.
//!
//! This crate keeps and returns bytes by name. It never reads a header, and what it returns has been compared with its checksum. What the
//! bytes mean, and whether they may be used, is decided above it (`kasoku_cache::shared`).
//!
//! | file | job |
//! |---|---|
//! | `names` | what an item is called in a server |
//! | `sealed` | items as they are written: checksum or HMAC, and large ones in chunks |
//! | `secret` | reads the secret of the HMACs from its file |
//! | `tls` | reads certificates, and shakes hands |
//! | `placement` | which server of a ring has an item |
//! | `endpoint`, `dialer` | where a server is; connects to it |
//! | `concurrently` | runs futures at the same time |
//! | `load` | bounds what is in flight on one connection |
//! | `expiry`, `failure` | when a server forgets an item; why an operation has no result |
//! | `health` | whether a server may be asked |
//! | `server_counters` | what each server was asked and did |
//! | `servers` | what all workers know of the servers |
//! | `history` | which history of writes the items of a server are the outcome of |
//! | `memcached` | asks memcached servers, by their meta protocol |
//! | `redis` | asks Redis or Valkey: a primary with its replicas |
//! | `backend`, `client` | the kind of servers; the operations, over one worker's connections |
//! | `purge_log` | the purges that all caches have to hear of, in each server |
//! | `kept_positions` | how far that log has been read, as it is kept with what is on disk |
//! | `lease` | of several caches that miss an item, one fetches it |
//! | `items` | reads and writes items, and follows the purges, for one runtime |
//! | `peers` | the same purges without servers: each cache hosts a log for the others |
//! | `purge_exchange` | what a cache needs to exchange purges, with servers or with peers |
//! | `settings` | what an application that embeds a cache says of its servers or its peers |
//! | `status` | what the tier does, in numbers for an operator |

mod backend;
mod client;
mod concurrently;
mod dialer;
mod endpoint;
mod expiry;
mod failure;
pub mod health;
mod hex;
mod history;
mod items;
mod kept_positions;
pub mod lease;
mod load;
pub mod memcached;
pub mod names;
pub mod peers;
pub mod placement;
mod purge_exchange;
pub mod purge_log;
pub mod redis;
pub mod sealed;
pub mod secret;
pub mod server_counters;
mod servers;
pub mod settings;
mod status;
pub mod tls;

pub use backend::Backend;
pub use client::Client;
pub use endpoint::Endpoint;
pub use expiry::Expiry;
pub use failure::Failure;
pub use history::History;
pub use items::{Item, Items, Missing, Tier, WhenDown};
pub use load::{IN_FLIGHT_BYTES_MAX, IN_FLIGHT_MAX};
pub use purge_exchange::PurgeExchange;
pub use servers::{OPERATION_TIMEOUT_MAX, Server, Servers};
pub use status::{ServerStatus, TierStatus};
