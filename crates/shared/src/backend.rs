//! The kind of servers that keep the items.

use crate::memcached::{Memcached, MemcachedOptions, OptionsError};
use crate::redis::{Redis, RedisOptions, RedisOptionsError};
use crate::servers::Servers;
use std::sync::Arc;

/// The servers, and what all workers know of them. [`Backend::client`] opens a worker's connections.
#[derive(Clone, Debug)]
pub enum Backend {
    /// A ring of memcached servers.
    Memcached(Arc<Memcached>),
    /// A primary of Redis or Valkey, with its replicas.
    Redis(Arc<Redis>),
}

impl Backend {
    /// A ring of memcached servers, of which nothing is known yet.
    ///
    /// # Errors
    /// The options are contradictory or out of their ranges.
    pub fn memcached(options: MemcachedOptions) -> Result<Self, OptionsError> {
        Memcached::new(options).map(Self::Memcached)
    }

    /// A primary of Redis or Valkey with its replicas, of which nothing is known yet. To everybody else it is one server.
    ///
    /// # Errors
    /// The options are contradictory or out of their ranges.
    pub fn redis(options: &RedisOptions) -> Result<Self, RedisOptionsError> {
        Redis::new(options).map(Self::Redis)
    }

    /// What is known of each server.
    pub fn servers(&self) -> &Arc<Servers> {
        match self {
            Self::Memcached(memcached) => memcached.servers(),
            Self::Redis(redis) => redis.servers(),
        }
    }
}
