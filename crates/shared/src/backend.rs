//! The kind of servers that keep the items.

use crate::memcached::{Memcached, MemcachedOptions, OptionsError};
use crate::redis::{Redis, RedisCluster, RedisClusterOptions, RedisOptions, RedisOptionsError};
use crate::servers::Servers;
use std::sync::Arc;
use std::time::Duration;

/// The servers, and what all workers know of them. [`Backend::client`] opens a worker's connections.
#[derive(Clone, Debug)]
pub enum Backend {
    /// A ring of memcached servers.
    Memcached(Arc<Memcached>),
    /// A primary of Redis or Valkey, with its replicas.
    Redis(Arc<Redis>),
    /// A Redis Cluster.
    RedisCluster(Arc<RedisCluster>),
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

    /// A Redis Cluster, of which nothing is known yet. To everybody else it is one server.
    ///
    /// # Errors
    /// The options are contradictory or out of their ranges.
    pub fn redis_cluster(options: &RedisClusterOptions) -> Result<Self, RedisOptionsError> {
        RedisCluster::new(options).map(Self::RedisCluster)
    }

    /// Whether items are in different places by their names: then those of a log have to be told to stay together.
    pub(crate) fn has_slots(&self) -> bool {
        matches!(self, Self::RedisCluster(_))
    }

    /// How long an operation for a client may take.
    pub fn operation_timeout(&self) -> Duration {
        match self {
            Self::Memcached(memcached) => memcached.options().operation_timeout,
            Self::Redis(redis) => redis.operation_timeout(),
            Self::RedisCluster(cluster) => cluster.operation_timeout(),
        }
    }

    /// What is known of each server.
    pub fn servers(&self) -> &Arc<Servers> {
        match self {
            Self::Memcached(memcached) => memcached.servers(),
            Self::Redis(redis) => redis.servers(),
            Self::RedisCluster(cluster) => cluster.servers(),
        }
    }
}
