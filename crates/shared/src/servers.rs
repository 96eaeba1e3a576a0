//! What all workers share of the servers, of whatever kind they are.

use crate::health::ServerHealth;
use crate::placement::Ring;
use crate::server_counters::ServerCounters;
use std::sync::Arc;
use std::time::{Duration, Instant};
use xxhash_rust::xxh3::xxh3_64;

/// The longest operation timeout that can be set.
pub const OPERATION_TIMEOUT_MAX: Duration = Duration::from_secs(60);

/// The servers, and what all workers know of each.
#[derive(Debug)]
pub struct Servers {
    servers: Vec<Server>,
    /// The placement of items. `None`: there is one server, which has all.
    ring: Option<Ring>,
    item_bytes_max: usize,
    started: Instant,
}

/// One of them.
#[derive(Debug)]
pub struct Server {
    /// Where it is, as a configuration names it.
    pub address: String,
    /// Stands for the address where the server has to be known again after a restart.
    pub address_hash: u64,
    /// Whether it may be asked. Its times are those of [`Servers::now_ms`].
    pub health: ServerHealth,
    /// What it was asked and did.
    pub counters: ServerCounters,
}

impl Server {
    /// A server of which nothing is known yet. Operators see `address`; the hash is that of `hashed`.
    pub(crate) fn new(address: String, hashed: &str) -> Self {
        Self {
            address,
            address_hash: xxh3_64(hashed.as_bytes()),
            health: ServerHealth::default(),
            counters: ServerCounters::default(),
        }
    }
}

impl Servers {
    /// These servers, on a ring that has as many.
    pub(crate) fn on_ring(servers: Vec<Server>, ring: Ring, item_bytes_max: usize) -> Arc<Self> {
        Arc::new(Self { servers, ring: Some(ring), item_bytes_max, started: Instant::now() })
    }

    /// One server, which has all items.
    pub(crate) fn single(server: Server, item_bytes_max: usize) -> Arc<Self> {
        Arc::new(Self { servers: vec![server], ring: None, item_bytes_max, started: Instant::now() })
    }

    /// All servers, in the order of the configuration.
    pub fn all(&self) -> &[Server] {
        &self.servers
    }

    /// One server, by its place in the configuration.
    pub fn server(&self, server: usize) -> Option<&Server> {
        self.servers.get(server)
    }

    /// The server of an item, whether it may be asked or not.
    pub fn server_of(&self, name: &[u8]) -> usize {
        self.ring.as_ref().map_or(0, |ring| ring.server(name))
    }

    /// The server of an item, or the first one after it that is there; none if all are away.
    pub fn server_without(&self, name: &[u8], is_away: impl Fn(usize) -> bool) -> Option<usize> {
        match &self.ring {
            Some(ring) => ring.server_without(name, is_away),
            None => Some(0).filter(|server| !is_away(*server)),
        }
    }

    /// Bytes of a value, at most. A longer one is not written, and one that a server sends is an error.
    pub fn item_bytes_max(&self) -> usize {
        self.item_bytes_max
    }

    /// The time that health is measured in: milliseconds since these servers were made.
    pub fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}
