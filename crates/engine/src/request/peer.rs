//! The peer of a connection: its address, and whether it is a trusted proxy.

use kasoku_options::AddressRange;
use std::net::SocketAddr;

/// The peer of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    /// The client's address, or what the PROXY protocol says; `None` for a Unix socket.
    pub(crate) address: Option<SocketAddr>,
    /// Whether its `Forwarded` and `X-Forwarded-*` count.
    pub(crate) is_trusted: bool,
}

impl Peer {
    /// Whoever is at that address, where these are trusted.
    pub(crate) fn at(address: Option<SocketAddr>, trusted: &[AddressRange]) -> Self {
        let is_trusted = match address {
            Some(address) => trusted.iter().any(|range| range.contains(address.ip())),
            None => trusted.contains(&AddressRange::Unix),
        };
        Self { address, is_trusted }
    }
}
