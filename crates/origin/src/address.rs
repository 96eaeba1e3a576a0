//! Where an origin listens.

use std::fmt;
use std::path::PathBuf;

/// Where an origin listens. Only plain HTTP/1.1 for now.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// `http://host:port`; the name is resolved at each new connection.
    Tcp {
        /// A name or an address (IPv6 without brackets).
        host: String,
        /// Default 80.
        port: u16,
    },
    /// `http://unix:/run/app.sock`
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "http://[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "http://{host}:{port}"),
            Self::Unix(path) => write!(f, "http://unix:{}", path.display()),
        }
    }
}
