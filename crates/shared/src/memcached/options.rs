//! What an operator sets of the memcached servers.

use crate::endpoint::Endpoint;
use crate::placement::{Distribution, RingError, RingServer};
use crate::servers::OPERATION_TIMEOUT_MAX;
use std::time::Duration;
use thiserror::Error;

/// The largest item that a memcached server can be told to keep (`-I 1g`).
pub const ITEM_BYTES_LIMIT: usize = 1 << 30;

/// Connections of one worker to one server, at most.
pub const CONNECTIONS_MAX: usize = 16;

/// Servers, and how they are asked.
#[derive(Clone, Debug)]
pub struct MemcachedOptions {
    /// The servers. Their order is part of the placement.
    pub servers: Vec<ServerAddress>,
    /// The ring that they form.
    pub distribution: Distribution,
    /// How long an operation may take, with the connection that it may need.
    pub operation_timeout: Duration,
    /// Bytes of a value, at most. A longer one is not written, and one that a server sends is an error.
    pub item_bytes_max: usize,
    /// Connections of one worker to one server.
    pub connections_max: usize,
}

/// One server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAddress {
    /// Where it is.
    pub endpoint: Endpoint,
    /// Its share of keys, in proportion to the others'. 0 counts as 1.
    pub weight: u32,
}

/// Why options can't be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum OptionsError {
    /// The servers form no ring.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// The path of a socket is part of the placement, so it has to be text.
    #[error("the path of the socket {0} is not UTF-8")]
    SocketPath(String),
    /// The timeout is out of its range.
    #[error("the operation timeout has to be above 0 and at most {} s", OPERATION_TIMEOUT_MAX.as_secs())]
    OperationTimeout,
    /// The limit of items is out of its range.
    #[error("the limit of items has to be above 0 and at most {ITEM_BYTES_LIMIT} bytes")]
    ItemBytes,
    /// The number of connections is out of its range.
    #[error("connections to a server have to be 1 to {CONNECTIONS_MAX}")]
    Connections,
}

impl MemcachedOptions {
    /// Checks what the types do not say.
    pub(super) fn check(&self) -> Result<(), OptionsError> {
        if self.operation_timeout.is_zero() || self.operation_timeout > OPERATION_TIMEOUT_MAX {
            return Err(OptionsError::OperationTimeout);
        }
        if !(1..=ITEM_BYTES_LIMIT).contains(&self.item_bytes_max) {
            return Err(OptionsError::ItemBytes);
        }
        if !(1..=CONNECTIONS_MAX).contains(&self.connections_max) {
            return Err(OptionsError::Connections);
        }
        Ok(())
    }

    /// The servers as the ring knows them.
    pub(super) fn ring_servers(&self) -> Result<Vec<RingServer>, OptionsError> {
        self.servers.iter().map(ring_server).collect()
    }
}

fn ring_server(server: &ServerAddress) -> Result<RingServer, OptionsError> {
    let (name, port) = match &server.endpoint {
        Endpoint::Tcp { host, port } => (host.clone(), *port),
        Endpoint::Unix(path) => {
            let text = path.to_str().ok_or_else(|| OptionsError::SocketPath(path.display().to_string()))?;
            (text.to_owned(), 0)
        }
    };
    Ok(RingServer { name, port, weight: server.weight })
}
