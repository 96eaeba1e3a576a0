//! Where a server is.

use std::fmt;
use std::path::PathBuf;

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// A host and a port. The host is part of the placement as it is written here: a name and its address are two hosts.
    Tcp {
        /// A name or an address, without brackets.
        host: String,
        /// The port.
        port: u16,
    },
    /// The path of a Unix socket.
    Unix(PathBuf),
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => path.display().fmt(f),
        }
    }
}

impl Endpoint {
    /// As a configuration names it, always with its port.
    pub fn as_configured(&self) -> String {
        match self {
            Self::Tcp { .. } => self.to_string(),
            Self::Unix(_) => format!("unix:{self}"),
        }
    }
}
