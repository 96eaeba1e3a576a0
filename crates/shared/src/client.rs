//! The operations, over one worker's connections.

use crate::backend::Backend;
use crate::expiry::Expiry;
use crate::failure::Failure;
use crate::history::History;
use crate::memcached::MemcachedClient;
use crate::redis::RedisClient;
use crate::servers::Servers;
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;

/// Asks servers for one worker. Its clones share its connections, which close when the last one is dropped.
///
/// It asks the server that it is told to ask: which one has an item is said by [`Servers::server_of`], and whether that one is usable by its
/// health. Each operation ends within the operation timeout. Its future may be dropped at any time; what was sent is then done by the server
/// all the same.
#[derive(Clone, Debug)]
pub struct Client(Kind);

// A look-up in memcached does not pay for the choice: no trait object, and the futures of Redis, which are longer, have memory of their own.
#[derive(Clone, Debug)]
enum Kind {
    Memcached(MemcachedClient),
    Redis(RedisClient),
}

impl Backend {
    /// A client with connections of its own, whose tasks run on the present runtime of tokio. Panics if there is none. Nothing is connected
    /// before the first operation.
    pub fn client(&self) -> Client {
        self.client_that_waits(Duration::ZERO)
    }

    /// The same with operations that may take at least so long: nobody waits for what it does. In a cluster they may not.
    pub fn client_that_waits(&self, patience_min: Duration) -> Client {
        Client(match self {
            Self::Memcached(memcached) => Kind::Memcached(MemcachedClient::new(memcached, patience_min)),
            Self::Redis(redis) => Kind::Redis(RedisClient::new(redis, patience_min)),
            Self::RedisCluster(cluster) => Kind::Redis(RedisClient::of_cluster(cluster)),
        })
    }
}

impl Client {
    /// The servers that this client asks.
    pub fn servers(&self) -> &Arc<Servers> {
        match &self.0 {
            Kind::Memcached(client) => client.servers(),
            Kind::Redis(client) => client.servers(),
        }
    }

    /// The value of an item; none if there is no such item.
    ///
    /// The value may be a part of a read buffer, not a copy. It keeps the buffer alive: 16 KiB, or up to twice the length of a long value.
    /// Copy a short value that is kept for long.
    pub async fn get(&self, server: usize, name: &[u8]) -> Result<Option<Bytes>, Failure> {
        match &self.0 {
            Kind::Memcached(client) => client.get(server, name).await,
            Kind::Redis(client) => Box::pin(client.get(server, name)).await,
        }
    }

    /// The value of an item; none if there is no such item. From now on it has the new expiry, if one is given. Counts as no get: it is for
    /// what is asked for all the time, whatever clients want.
    pub async fn peek(&self, server: usize, name: &[u8], touched: Option<Expiry>) -> Result<Option<Bytes>, Failure> {
        match &self.0 {
            Kind::Memcached(client) => client.peek(server, name, touched).await,
            Kind::Redis(client) => Box::pin(client.peek(server, name, touched)).await,
        }
    }

    /// Stores a value, which may come in parts. If it is over already, nothing is written.
    pub async fn set(&self, server: usize, name: &[u8], value: Vec<Bytes>, expiry: Expiry) -> Result<(), Failure> {
        match &self.0 {
            Kind::Memcached(client) => client.set(server, name, value, expiry).await,
            Kind::Redis(client) => Box::pin(client.set(server, name, value, expiry)).await,
        }
    }

    /// Stores a value if there is none, and says whether it did. If it is over already, nothing is written.
    pub async fn add(&self, server: usize, name: &[u8], value: Bytes, expiry: Expiry) -> Result<bool, Failure> {
        match &self.0 {
            Kind::Memcached(client) => client.add(server, name, value, expiry).await,
            Kind::Redis(client) => Box::pin(client.add(server, name, value, expiry)).await,
        }
    }

    /// Removes an item, and says whether there was one.
    pub async fn delete(&self, server: usize, name: &[u8]) -> Result<bool, Failure> {
        match &self.0 {
            Kind::Memcached(client) => client.delete(server, name).await,
            Kind::Redis(client) => Box::pin(client.delete(server, name)).await,
        }
    }

    /// Adds 1 and returns the new number; none where there is no such item.
    pub async fn increment(&self, server: usize, name: &[u8]) -> Result<Option<u64>, Failure> {
        match &self.0 {
            Kind::Memcached(client) => client.increment(server, name).await,
            Kind::Redis(client) => Box::pin(client.increment(server, name)).await,
        }
    }

    /// Which history of writes the items of a server are the outcome of; none where it has none. To be asked before its log is read: with
    /// Redis, this finds the primary, and before that no other operation asks anything. `log`: the name of the identity of the log of purges.
    pub async fn history(&self, server: usize, log: &[u8]) -> Result<Option<History>, Failure> {
        match &self.0 {
            Kind::Memcached(_) => Ok(None),
            Kind::Redis(client) => Box::pin(client.history(server, log)).await,
        }
    }
}
