//! What all workers share of the servers.

use super::options::{MemcachedOptions, OptionsError, ServerAddress};
use crate::health::ServerHealth;
use crate::placement::Ring;
use crate::server_counters::ServerCounters;
use std::sync::Arc;
use std::time::Instant;

/// The servers. See the [module](super).
#[derive(Debug)]
pub struct Servers {
    options: MemcachedOptions,
    ring: Ring,
    servers: Vec<Server>,
    started: Instant,
}

/// One of them.
#[derive(Debug)]
pub struct Server {
    /// Where it is, and its weight.
    pub address: ServerAddress,
    /// Whether it may be asked. Its times are those of [`Servers::now_ms`].
    pub health: ServerHealth,
    /// What it was asked and did.
    pub counters: ServerCounters,
}

impl Servers {
    /// These servers, of which nothing is known yet.
    pub fn new(options: MemcachedOptions) -> Result<Arc<Self>, OptionsError> {
        options.check()?;
        let ring = Ring::new(&options.ring_servers()?, options.distribution)?;
        let server = |address: &ServerAddress| Server {
            address: address.clone(),
            health: ServerHealth::default(),
            counters: ServerCounters::default(),
        };
        let servers = options.servers.iter().map(server).collect();
        Ok(Arc::new(Self { options, ring, servers, started: Instant::now() }))
    }

    /// The options that these servers were made of.
    pub fn options(&self) -> &MemcachedOptions {
        &self.options
    }

    /// The placement of items.
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// All servers, in the order of the options.
    pub fn all(&self) -> &[Server] {
        &self.servers
    }

    /// One server, by its place in the options.
    pub fn server(&self, server: usize) -> Option<&Server> {
        self.servers.get(server)
    }

    /// The time that health is measured in: milliseconds since these servers were made.
    pub fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}
