//! Peers: front ends that tell each other their purges.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The most peers: each front end asks each other one.
pub const PEERS_MAX: usize = 64;

/// The other front ends, to which purges are told without servers between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peers {
    /// Where the others listen. 1 to [`PEERS_MAX`].
    pub addresses: Vec<PeerAddress>,
    /// Where they reach this front end.
    pub listen: SocketAddr,
    /// The file with the token, which is the same for all of them.
    pub token_file: PathBuf,
}

/// Where a peer listens.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PeerAddress {
    /// A name or an address (IPv6 without brackets).
    pub host: String,
    /// The port.
    pub port: u16,
}

impl fmt::Display for PeerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self { host, port } => write!(f, "{host}:{port}"),
        }
    }
}
