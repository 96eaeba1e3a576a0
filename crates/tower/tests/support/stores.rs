//! Real memcached and Redis servers, and a shared tier in them.

use kasoku_testkit::servers::{Memcached, Redis, Store};
use kasoku_tower::{MemcachedServer, SharedTier};
use std::time::Duration;

pub(crate) fn memcached() -> Store {
    Store::Memcached(Memcached::start("1m"))
}

pub(crate) fn redis() -> Store {
    Store::Redis(Redis::start(Vec::new()))
}

/// The tier in this server, with a timeout that the server needs only if it hangs.
pub(crate) fn tier(store: &Store) -> SharedTier {
    let address = store.address().unwrap();
    let tier = match store {
        Store::Memcached(_) => SharedTier::memcached([MemcachedServer::new(address.ip().to_string(), address.port())]),
        Store::Redis(_) => SharedTier::redis([format!("redis://{address}")]),
    };
    tier.timeout(Duration::from_secs(2))
}
