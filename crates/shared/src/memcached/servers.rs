//! The memcached servers, as all workers know them.

use super::options::{MemcachedOptions, OptionsError, ServerAddress};
use crate::endpoint::Endpoint;
use crate::placement::Ring;
use crate::servers::{Server, Servers};
use std::sync::Arc;

/// The servers, and how they are asked. See the [module](super).
#[derive(Debug)]
pub struct Memcached {
    options: MemcachedOptions,
    servers: Arc<Servers>,
}

impl Memcached {
    /// These servers, of which nothing is known yet.
    pub fn new(options: MemcachedOptions) -> Result<Arc<Self>, OptionsError> {
        options.check()?;
        let ring = Ring::new(&options.ring_servers()?, options.distribution)?;
        let server = |address: &ServerAddress| {
            let endpoint = &address.endpoint;
            Server::new(endpoint.as_configured(), &endpoint.to_string())
        };
        let servers = options.servers.iter().map(server).collect();
        let servers = Servers::on_ring(servers, ring, options.item_bytes_max);
        Ok(Arc::new(Self { options, servers }))
    }

    /// What is known of each of them.
    pub fn servers(&self) -> &Arc<Servers> {
        &self.servers
    }

    pub(crate) fn options(&self) -> &MemcachedOptions {
        &self.options
    }

    pub(super) fn endpoint(&self, server: usize) -> Option<&Endpoint> {
        self.options.servers.get(server).map(|address| &address.endpoint)
    }
}
