//! Finds the client's address: from a trusted proxy's `X-Forwarded-For` or `Forwarded`, else the peer's (which the PROXY protocol may have
//! set).
//!
//! As for scheme and host, the last member of a list counts, because the proxy that talks to us has written it. Any client can
//! forge the members before it. Where that member is no address (`unknown`, `_hidden`), the peer's own address counts.

use kasoku_wire::Fields;
use kasoku_wire::field::list;
use std::net::{IpAddr, SocketAddr};

/// The peer of a connection, or another sender that has handed over a request.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// Its address, or the one that the PROXY protocol names; `None` for a Unix socket.
    pub address: Option<SocketAddr>,
    /// Whether it is a proxy whose `Forwarded` and `X-Forwarded-*` count.
    pub is_trusted: bool,
}

impl Peer {
    /// A peer without an address, whose fields do not count.
    pub const UNKNOWN: Self = Self { address: None, is_trusted: false };
}

/// The client's address; `None` when the request came through a Unix socket and no trusted proxy names an address.
pub fn client(peer: &Peer, fields: &Fields) -> Option<IpAddr> {
    let own = peer.address.map(|address| address.ip());
    let told = if peer.is_trusted { told(fields) } else { None };
    told.or(own).map(|ip| ip.to_canonical())
}

/// The client whose requests may be counted by address; `None` where the address may stand for many clients: that of a proxy which
/// names no client, and one of this machine or of a private network that connects directly, which may be a proxy that
/// `trusted-proxies` does not list.
pub fn countable_client(peer: &Peer, fields: &Fields) -> Option<IpAddr> {
    let client = client(peer, fields)?;
    let is_told = peer.is_trusted && peer.address.map(|own| own.ip().to_canonical()) != Some(client);
    let is_one = if is_told { !is_of_this_machine(client) } else { !peer.is_trusted && !is_private(client) };
    is_one.then_some(client)
}

fn is_of_this_machine(ip: IpAddr) -> bool {
    ip.is_loopback() || ip.is_unspecified()
}

fn is_private(ip: IpAddr) -> bool {
    is_of_this_machine(ip)
        || match ip {
            IpAddr::V4(ip) => ip.is_private() || ip.is_link_local(),
            IpAddr::V6(ip) => ip.is_unique_local() || ip.is_unicast_link_local(),
        }
}

fn told(fields: &Fields) -> Option<IpAddr> {
    let last = |name| list::members(fields, name).last();
    last("x-forwarded-for").and_then(address).or_else(|| forwarded_for(last("forwarded")?))
}

/// `for` of a member of Forwarded (RFC 7239 section 4).
fn forwarded_for(member: &[u8]) -> Option<IpAddr> {
    list::parameters(member).find_map(|pair| {
        let (name, value) = pair.split_at_checked(4)?;
        let value = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")).unwrap_or(value);
        name.eq_ignore_ascii_case(b"for=").then(|| address(value)).flatten()
    })
}

/// `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:4711`.
fn address(text: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(text).ok()?;
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    bare.parse().ok().or_else(|| text.parse::<SocketAddr>().ok().map(|address| address.ip()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(is_trusted: bool, fields: &[(&str, &str)]) -> String {
        let peer = Peer { address: Some(([10, 0, 0, 1], 5000).into()), is_trusted };
        client(&peer, &fields.iter().copied().collect()).unwrap().to_string()
    }

    #[test]
    fn a_trusted_proxy_names_the_client_and_nobody_else_does() {
        let fields = [("X-Forwarded-For", "198.51.100.7, 192.0.2.1")];
        assert_eq!(seen(true, &fields), "192.0.2.1", "what the proxy itself has written");
        assert_eq!(seen(false, &fields), "10.0.0.1");
        assert_eq!(seen(true, &[]), "10.0.0.1");
    }

    #[test]
    fn an_address_that_may_stand_for_many_clients_is_not_counted() {
        let counted = |own: &str, is_trusted, fields: &[(&str, &str)]| {
            let peer = Peer { address: Some((own.parse::<IpAddr>().unwrap(), 5000).into()), is_trusted };
            countable_client(&peer, &fields.iter().copied().collect()).map(|client| client.to_string())
        };
        let names = |client| [("X-Forwarded-For", client)];
        for own in ["198.51.100.7", "2001:db8::1"] {
            assert_eq!(counted(own, false, &[]).as_deref(), Some(own));
            assert_eq!(counted(own, true, &[]), None, "a proxy that names no client");
        }
        for own in
            ["127.0.0.1", "::1", "10.0.0.1", "192.168.7.1", "169.254.0.1", "fd00::1", "fe80::1", "::ffff:10.0.0.1"]
        {
            assert_eq!(counted(own, false, &names("192.0.2.1")), None, "{own} may be a proxy");
            assert_eq!(counted(own, true, &names("192.0.2.1")).as_deref(), Some("192.0.2.1"), "{own}");
            assert_eq!(
                counted(own, true, &names("10.0.0.9")).as_deref(),
                Some("10.0.0.9"),
                "{own}: a client of an intranet"
            );
            assert_eq!(counted(own, true, &names("127.0.0.1")), None, "{own}");
            assert_eq!(counted(own, true, &names("unknown")), None, "{own}");
        }
        assert_eq!(countable_client(&Peer::UNKNOWN, &Fields::new()), None);
    }

    #[test]
    fn addresses_come_in_many_spellings() {
        for (name, value, ip) in [
            ("X-Forwarded-For", "192.0.2.1:80", "192.0.2.1"),
            ("X-Forwarded-For", "2001:db8::1", "2001:db8::1"),
            ("X-Forwarded-For", "[2001:db8::1]:80", "2001:db8::1"),
            ("X-Forwarded-For", "::ffff:192.0.2.1", "192.0.2.1"),
            ("X-Forwarded-For", "unknown", "10.0.0.1"),
            ("X-Forwarded-For", "1\" evil", "10.0.0.1"),
            ("Forwarded", "for=192.0.2.9, by=x;For=192.0.2.1;proto=https", "192.0.2.1"),
            ("Forwarded", "for=\"[2001:db8::1]:80\"", "2001:db8::1"),
            ("Forwarded", "for=_hidden", "10.0.0.1"),
        ] {
            assert_eq!(seen(true, &[(name, value)]), ip, "{name}: {value}");
        }
    }

    #[test]
    fn a_unix_socket_has_no_address_unless_a_proxy_says_so() {
        let peer = Peer { address: None, is_trusted: true };
        assert_eq!(client(&peer, &Fields::new()), None);
        let fields: Fields = [("X-Forwarded-For", "192.0.2.1")].into_iter().collect();
        assert_eq!(client(&peer, &fields), "192.0.2.1".parse().ok());
    }
}
