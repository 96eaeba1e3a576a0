//! Where clients connect to Kasoku, and which ranges of addresses they come from.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

/// One listening socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// Where it listens.
    pub address: ListenAddress,
    /// Whether each connection must start with a PROXY protocol header (version 1 or 2).
    pub proxy_protocol: bool,
    /// Whether a TCP connection waits in the kernel until its first bytes have come, or until the handshake is repeated after a
    /// second (TCP_DEFER_ACCEPT, tcp(7)).
    pub defer_accept: bool,
}

impl Listener {
    /// A listener at `address`, without a PROXY protocol header and with deferred connections.
    pub fn at(address: ListenAddress) -> Self {
        Self { address, proxy_protocol: false, defer_accept: true }
    }
}

/// Where a socket listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenAddress {
    /// `127.0.0.1:8080`, `[::1]:8080`
    Tcp(SocketAddr),
    /// `unix:/run/kasoku.sock`
    Unix(PathBuf),
    /// `fd:3`: a listening socket that was handed over (systemd's LISTEN_FDS)
    Descriptor(i32),
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Descriptor(number) => write!(f, "fd:{number}"),
        }
    }
}

/// A range of addresses, as `10.0.0.0/8` or a single address; or every peer of a Unix socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressRange {
    /// All addresses whose first `prefix_bits` bits are those of `address`.
    Ip {
        /// Any address of the range.
        address: IpAddr,
        /// 0 to 32, or 0 to 128.
        prefix_bits: u8,
    },
    /// `unix`: any peer that connects through a Unix socket.
    Unix,
}

impl AddressRange {
    /// This machine, and any peer that connects through a Unix socket.
    pub fn loopback() -> Vec<Self> {
        let v4 = Self::Ip { address: IpAddr::from([127, 0, 0, 0]), prefix_bits: 8 };
        let v6 = Self::Ip { address: IpAddr::V6(Ipv6Addr::LOCALHOST), prefix_bits: 128 };
        vec![v4, v6, Self::Unix]
    }

    /// Whether `ip` is in the range. An IPv4 address may come mapped into IPv6.
    pub fn contains(&self, ip: IpAddr) -> bool {
        let Self::Ip { address, prefix_bits } = *self else { return false };
        let (left, right, bits) = match (address, ip.to_canonical()) {
            (IpAddr::V4(range), IpAddr::V4(ip)) => {
                (u128::from(range.to_bits()) << 96, u128::from(ip.to_bits()) << 96, 32)
            }
            (IpAddr::V6(range), IpAddr::V6(ip)) => (range.to_bits(), ip.to_bits(), 128),
            _ => return false,
        };
        let prefix_bits = u32::from(prefix_bits.min(bits));
        prefix_bits == 0 || (left ^ right) >> (128 - prefix_bits) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_contain_what_shares_their_prefix() {
        let range = |text: &str, prefix_bits| AddressRange::Ip { address: text.parse().unwrap(), prefix_bits };
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        assert!(range("10.1.0.0", 16).contains(ip("10.1.200.3")));
        assert!(!range("10.1.0.0", 16).contains(ip("10.2.0.1")));
        assert!(range("127.0.0.1", 32).contains(ip("127.0.0.1")));
        assert!(range("127.0.0.1", 32).contains(ip("::ffff:127.0.0.1")));
        assert!(!range("127.0.0.1", 32).contains(ip("127.0.0.2")));
        assert!(range("0.0.0.0", 0).contains(ip("8.8.8.8")));
        assert!(!range("0.0.0.0", 0).contains(ip("::1")));
        assert!(range("2001:db8::", 32).contains(ip("2001:db8:1::1")));
    }
}
