//! The peers of an application's process: other processes, to which it tells its purges.

use super::ExchangeError;
use crate::{Endpoint, peers};
use std::fmt;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

/// The most peers: each process asks each other one.
const PEERS_MAX: usize = 64;

/// Other processes of an application, to which a cache tells its purges without servers between them.
///
/// Each process listens for the others, and lists all others and not itself. The connections are not encrypted: listen on an address of a private
/// network. Purges pass over them, with URIs, keys and tags in plain text. Neither responses, values nor the token do, and whoever does not know the
/// token can't forge a purge.
///
/// ```
/// # use kasoku_shared::settings::Peers;
/// # fn token() -> Vec<u8> { vec![7; 32] }
/// let peers = Peers::new(([10, 0, 0, 1], 6082).into(), token()).peer("10.0.0.2", 6082).peer("10.0.0.3", 6082);
/// # let _ = peers;
/// ```
#[derive(Clone)]
#[must_use]
pub struct Peers {
    listen: SocketAddr,
    addresses: Vec<(String, u16)>,
    token: Vec<u8>,
}

impl Peers {
    /// `listen`: where the others reach this process. `token`: at least 16 bytes, the same for all of them.
    pub fn new(listen: SocketAddr, token: impl Into<Vec<u8>>) -> Self {
        Self { listen, addresses: Vec::new(), token: token.into() }
    }

    /// One more peer, at a host (a name or an address, IPv6 without brackets) and a port. 1 to 64, none of them twice, and not this process itself.
    pub fn peer(mut self, host: impl Into<String>, port: u16) -> Self {
        self.addresses.push((host.into(), port));
        self
    }

    /// Begins to listen. Connects to no peer yet.
    pub(super) fn open(self) -> Result<(Arc<peers::Peers>, TcpListener), ExchangeError> {
        let Self { listen, addresses, token } = self;
        if !(1..=PEERS_MAX).contains(&addresses.len()) {
            return Err(ExchangeError::Peers(format!("a process has 1 to {PEERS_MAX} peers")));
        }
        for (number, (host, port)) in addresses.iter().enumerate() {
            let shown = || Endpoint::Tcp { host: host.clone(), port: *port };
            if host.parse().is_ok_and(|ip| SocketAddr::new(ip, *port) == listen) {
                return Err(ExchangeError::Peers(format!("{} is this process itself", shown())));
            }
            if addresses.iter().take(number).any(|other| *other == (host.clone(), *port)) {
                return Err(ExchangeError::Peers(format!("{} is there twice", shown())));
            }
        }
        let endpoints = addresses.into_iter().map(|(host, port)| Endpoint::Tcp { host, port }).collect();
        let peers = peers::Peers::new(endpoints, &token).map_err(|error| ExchangeError::Peers(error.to_string()))?;
        let listener = TcpListener::bind(listen).map_err(|error| ExchangeError::Peers(format!("{listen}: {error}")))?;
        Ok((peers, listener))
    }
}

impl fmt::Debug for Peers {
    /// Without the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { listen, addresses, .. } = self;
        f.debug_struct("Peers").field("listen", listen).field("addresses", addresses).finish_non_exhaustive()
    }
}
