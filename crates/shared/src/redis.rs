//! Asks Redis or Valkey: one primary that may have replicas, or a cluster.
//!
//! [`Redis`] is what all workers share: the addresses, which of them is the primary, and what is known of it. All operations go to the primary.
//! It is found by those who read the log of purges, four times a second: they ask each address for its role (`INFO replication`). If two say
//! that they are the primary, or none does, none is asked for anything. A worker connects to the one that was found, and asks for its role and
//! its history again before it uses the connection.
//!
//! | file | job |
//! |---|---|
//! | `options` | what an operator sets |
//! | `commands` | operations as commands, and what the replies mean |
//! | `replication` | the role and the history of a server |
//! | `servers` | the primary, as all workers know it |
//! | `framing` | bounds what a server may send, before it is parsed |
//! | `stream` | an open connection that is bounded and counted |
//! | `connection` | one pipelined connection to one address |
//! | `cluster` | a cluster, and one worker's connections to it |
//! | `client` | the operations |

mod client;
mod cluster;
mod commands;
mod connection;
mod framing;
mod options;
mod replication;
mod servers;
mod stream;

pub(crate) use client::RedisClient;
pub use cluster::{RedisCluster, RedisClusterOptions};
pub use options::{RedisOptions, RedisOptionsError};
pub use servers::Redis;
