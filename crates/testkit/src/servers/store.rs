//! A server of the shared tier, of either kind.

use super::memcached::Memcached;
use super::process::Process;
use super::redis::Redis;
use std::net::SocketAddr;

/// A server of either kind.
pub enum Store {
    /// A memcached.
    Memcached(Memcached),
    /// A Redis.
    Redis(Redis),
}

impl Store {
    /// Its address; none if it has a Unix socket.
    pub fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Memcached(memcached) => memcached.address(),
            Self::Redis(redis) => Some(redis.address()),
        }
    }

    /// The Redis that it is.
    pub fn redis(&self) -> &Redis {
        match self {
            Self::Memcached(_) => panic!("it is a memcached"),
            Self::Redis(redis) => redis,
        }
    }

    /// Stops it (SIGSTOP), so that it answers nothing.
    pub fn stop(&self) {
        self.process().stop();
    }

    /// Lets it go on.
    pub fn go_on(&self) {
        self.process().go_on();
    }

    /// Kills it with all that it has.
    pub fn kill(&self) {
        self.process().kill();
    }

    /// Kills it with all that it has, and starts it again at the same place.
    pub fn restart_empty(&self) {
        match self {
            Self::Memcached(memcached) => memcached.restart_empty(),
            Self::Redis(redis) => redis.restart_empty(),
        }
    }

    /// An item.
    pub fn get(&self, name: &str) -> Option<Vec<u8>> {
        match self {
            Self::Memcached(memcached) => memcached.get(name),
            Self::Redis(redis) => redis.get(name),
        }
    }

    /// Whether it has that item.
    pub fn has(&self, name: &str) -> bool {
        match self {
            Self::Memcached(memcached) => memcached.has(name),
            Self::Redis(redis) => redis.has(name),
        }
    }

    /// Stores an item.
    pub fn set(&self, name: &str, value: &[u8]) {
        match self {
            Self::Memcached(memcached) => memcached.set(name, value),
            Self::Redis(redis) => redis.set(name, value),
        }
    }

    /// Removes an item.
    pub fn delete(&self, name: &str) {
        match self {
            Self::Memcached(memcached) => memcached.delete(name),
            Self::Redis(redis) => redis.delete(name),
        }
    }

    /// The names of all items.
    pub fn names(&self) -> Vec<String> {
        match self {
            Self::Memcached(memcached) => memcached.names(),
            Self::Redis(redis) => redis.names(),
        }
    }

    fn process(&self) -> &Process {
        match self {
            Self::Memcached(memcached) => memcached.process(),
            Self::Redis(redis) => redis.process(),
        }
    }
}
