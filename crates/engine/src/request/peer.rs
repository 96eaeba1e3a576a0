//! The peer of a connection: its address, and whether it is a trusted proxy.

use kasoku_options::AddressRange;
use kasoku_semantics::client_address::Peer;
use std::net::SocketAddr;

/// The peer at `address`; it is trusted if one of these ranges has its address.
pub(crate) fn peer_at(address: Option<SocketAddr>, trusted: &[AddressRange]) -> Peer {
    let is_trusted = match address {
        Some(address) => trusted.iter().any(|range| range.contains(address.ip())),
        None => trusted.contains(&AddressRange::Unix),
    };
    Peer { address, is_trusted }
}
