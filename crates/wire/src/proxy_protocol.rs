//! Parses PROXY protocol headers, versions 1 and 2, in which a load balancer names the client of a connection.
//!
//! Source: section 2 of the specification "The PROXY protocol". A listener that expects the header requires it: a connection that
//! begins differently is refused at its first wrong byte. Any sender can claim any client address, so a listener must accept the
//! header from load balancers alone.
//!
//! The crate `ppp` was considered. It is not strict enough: its version 1 parser accepts a CR in the place of a space between
//! addresses, and asks for more bytes after errors that no further bytes can repair.
//!
//! Not done here: the parser skips the type-length-values of version 2, the CRC-32C among them. It refuses datagram protocols,
//! because HTTP over a stream follows.

use crate::http1::head::next_line;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const V1_START: &[u8] = b"PROXY ";
/// The longest line of version 1 with its CRLF, in bytes, as the specification says.
const V1_BYTES_MAX: usize = 107;
const V2_START: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
/// The most bytes of addresses and type-length-values that Kasoku accepts in version 2. The format allows 64 KiB.
const V2_PAYLOAD_BYTES_MAX: usize = 4096;
/// The length of two Unix socket addresses, in bytes.
const V2_UNIX_BYTES: usize = 216;

/// Both ends of the connection that the load balancer accepted. Both are `None` if the load balancer opened the connection for
/// itself (LOCAL), does not know the client (UNKNOWN, UNSPEC), or accepted the client on a Unix socket; then the addresses of the
/// connection itself count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProxyHeader {
    /// The client.
    pub source: Option<SocketAddr>,
    /// The address to which the client connected.
    pub destination: Option<SocketAddr>,
}

/// Why a PROXY header is refused. The fault lies with the load balancer, or the peer is no load balancer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum ProxyProtocolError {
    /// The connection does not begin with a PROXY header.
    #[error("the connection does not begin with a PROXY header")]
    Missing,
    /// Version 1: the line is malformed.
    #[error("the PROXY line is malformed")]
    Line,
    /// Longer than the limit: 107 bytes in version 1, 4 KiB after the first 16 bytes in version 2.
    #[error("the PROXY header is longer than the limit")]
    TooLong,
    /// Version 2: a version or a command that does not exist.
    #[error("the PROXY header has an unknown version or command")]
    Command,
    /// Version 2: an address family or a protocol that does not exist or is no stream.
    #[error("the PROXY header has an unknown address family or protocol")]
    Family,
    /// Version 2: fewer bytes than the addresses need.
    #[error("the PROXY header is too short for its addresses")]
    Addresses,
}

impl ProxyProtocolError {
    /// A stable word for logs and metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Missing => "proxy-missing",
            Self::Line => "proxy-line",
            Self::TooLong => "proxy-too-long",
            Self::Command => "proxy-command",
            Self::Family => "proxy-family",
            Self::Addresses => "proxy-addresses",
        }
    }
}

/// Parses the header at the front of `buf`. Returns the header and its length in bytes; `None`: need more.
///
/// # Errors
/// When the bytes cannot become a valid header, or it is longer than the limit.
pub fn parse_proxy_header(buf: &[u8]) -> Result<Option<(ProxyHeader, usize)>, ProxyProtocolError> {
    if buf.starts_with(V1_START) {
        return parse_v1(buf);
    }
    if buf.starts_with(V2_START) {
        return parse_v2(buf);
    }
    let can_become_one = V1_START.starts_with(buf) || V2_START.starts_with(buf);
    if can_become_one { Ok(None) } else { Err(ProxyProtocolError::Missing) }
}

fn parse_v1(buf: &[u8]) -> Result<Option<(ProxyHeader, usize)>, ProxyProtocolError> {
    let line = next_line(buf, V1_BYTES_MAX).map_err(|error| match error {
        crate::http1::HeadError::TooLong => ProxyProtocolError::TooLong,
        _ => ProxyProtocolError::Line,
    })?;
    let Some(line) = line else { return Ok(None) };
    let text = line.text.strip_prefix(V1_START).and_then(|text| str::from_utf8(text).ok());
    let header = text.and_then(parse_v1_addresses).ok_or(ProxyProtocolError::Line)?;
    Ok(Some((header, line.bytes())))
}

/// `TCP4` or `TCP6`, then source, destination, source port and destination port; or `UNKNOWN` and anything.
fn parse_v1_addresses(text: &str) -> Option<ProxyHeader> {
    let mut words = text.split(' ');
    let family = words.next()?;
    let address = |word: &str| -> Option<IpAddr> {
        match family {
            "TCP4" => word.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
            "TCP6" => word.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
            _ => None,
        }
    };
    if family == "UNKNOWN" {
        return Some(ProxyHeader::default());
    }
    let (source, destination) = (address(words.next()?)?, address(words.next()?)?);
    let (source_port, destination_port) = (parse_v1_port(words.next()?)?, parse_v1_port(words.next()?)?);
    words.next().is_none().then_some(ProxyHeader {
        source: Some(SocketAddr::new(source, source_port)),
        destination: Some(SocketAddr::new(destination, destination_port)),
    })
}

/// 0 to 65535 without leading zeros.
fn parse_v1_port(digits: &str) -> Option<u16> {
    let has_leading_zero = digits.len() > 1 && digits.starts_with('0');
    let is_decimal = digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_decimal && !has_leading_zero { digits.parse().ok() } else { None }
}

fn parse_v2(buf: &[u8]) -> Result<Option<(ProxyHeader, usize)>, ProxyProtocolError> {
    let Some([command, family, high, low, payload @ ..]) = buf.strip_prefix(V2_START) else { return Ok(None) };
    let payload_bytes = usize::from(u16::from_be_bytes([*high, *low]));
    let is_local = match command {
        0x20 => true,
        0x21 => false,
        _ => return Err(ProxyProtocolError::Command),
    };
    if payload_bytes > V2_PAYLOAD_BYTES_MAX {
        return Err(ProxyProtocolError::TooLong);
    }
    let Some(payload) = payload.get(..payload_bytes) else { return Ok(None) };
    // LOCAL: the family and the addresses have to be ignored, whatever they are.
    let header = if is_local { ProxyHeader::default() } else { parse_v2_addresses(*family, payload)? };
    Ok(Some((header, V2_START.len() + 4 + payload_bytes)))
}

fn parse_v2_addresses(family: u8, payload: &[u8]) -> Result<ProxyHeader, ProxyProtocolError> {
    match family {
        0x00 => Ok(ProxyHeader::default()),
        0x11 => ends::<4>(payload),
        0x21 => ends::<16>(payload),
        0x31 if payload.len() >= V2_UNIX_BYTES => Ok(ProxyHeader::default()),
        0x31 => Err(ProxyProtocolError::Addresses),
        _ => Err(ProxyProtocolError::Family),
    }
}

/// Source, destination, source port, destination port, in network order, with addresses of `N` bytes.
fn ends<const N: usize>(payload: &[u8]) -> Result<ProxyHeader, ProxyProtocolError>
where
    IpAddr: From<[u8; N]>,
{
    let parts = || {
        let (source, rest) = payload.split_first_chunk::<N>()?;
        let (destination, rest) = rest.split_first_chunk::<N>()?;
        let (source_port, rest) = rest.split_first_chunk::<2>()?;
        let (destination_port, _) = rest.split_first_chunk::<2>()?;
        let end = |address: &[u8; N], port: &[u8; 2]| SocketAddr::new((*address).into(), u16::from_be_bytes(*port));
        Some((end(source, source_port), end(destination, destination_port)))
    };
    let (source, destination) = parts().ok_or(ProxyProtocolError::Addresses)?;
    Ok(ProxyHeader { source: Some(source), destination: Some(destination) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(source: &str, destination: &str) -> ProxyHeader {
        ProxyHeader { source: Some(source.parse().unwrap()), destination: Some(destination.parse().unwrap()) }
    }

    fn v2(command: u8, family: u8, payload: &[u8]) -> Vec<u8> {
        let length = (payload.len() as u16).to_be_bytes();
        [V2_START, &[command, family], &length, payload].concat()
    }

    #[test]
    fn version_1_tells_both_ends_and_leaves_the_request() {
        let rows = [
            ("PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\r\n", header("192.0.2.1:56324", "192.0.2.2:443")),
            ("PROXY TCP6 2001:db8::1 ::1 0 65535\r\n", header("[2001:db8::1]:0", "[::1]:65535")),
            ("PROXY UNKNOWN\r\n", ProxyHeader::default()),
            ("PROXY UNKNOWN ffff::1 what ever\r\n", ProxyHeader::default()),
        ];
        for (line, expected) in rows {
            let bytes = format!("{line}GET / HTTP/1.1\r\n");
            assert_eq!(parse_proxy_header(bytes.as_bytes()), Ok(Some((expected, line.len()))));
        }
    }

    #[test]
    fn malformed_lines_of_version_1_are_refused() {
        let rows = [
            "PROXY TCP4 192.0.2.1 192.0.2.2 1 2 3\r\n",
            "PROXY TCP4 192.0.2.1 192.0.2.2 1\r\n",
            "PROXY TCP4  192.0.2.1 192.0.2.2 1 2\r\n",
            "PROXY TCP4 192.0.2.1 192.0.2.2 01 2\r\n",
            "PROXY TCP4 192.0.2.1 192.0.2.2 +1 2\r\n",
            "PROXY TCP4 192.0.2.1 192.0.2.2 1 65536\r\n",
            "PROXY TCP4 192.0.2.256 192.0.2.2 1 2\r\n",
            "PROXY TCP4 192.0.2.1\r192.0.2.2 1 2\r\n",
            "PROXY TCP4 ::1 ::1 1 2\r\n",
            "PROXY TCP6 192.0.2.1 192.0.2.2 1 2\r\n",
            "PROXY UDP4 192.0.2.1 192.0.2.2 1 2\r\n",
            "PROXY tcp4 192.0.2.1 192.0.2.2 1 2\r\n",
            "PROXY \r\n",
            "PROXY UNKNOWN\n",
        ];
        for line in rows {
            assert_eq!(parse_proxy_header(line.as_bytes()), Err(ProxyProtocolError::Line), "{line:?}");
        }
    }

    #[test]
    fn version_1_is_bounded_by_107_bytes() {
        let line = |length: usize| format!("PROXY UNKNOWN {}\r\n", "x".repeat(length - 16));
        assert_eq!(parse_proxy_header(line(107).as_bytes()), Ok(Some((ProxyHeader::default(), 107))));
        assert_eq!(parse_proxy_header(line(108).as_bytes()), Err(ProxyProtocolError::TooLong));
        assert_eq!(parse_proxy_header(&line(300).as_bytes()[..107]), Err(ProxyProtocolError::TooLong));
    }

    #[test]
    fn version_2_tells_both_ends_and_skips_what_follows_them() {
        let v4 = [192, 0, 2, 1, 192, 0, 2, 2, 0x12, 0x34, 0x01, 0xbb];
        let with_tlv = [&v4[..], &[0x04, 0, 1, 0]].concat();
        let v6 = [&[0; 15][..], &[1], &[0; 15], &[2], &[0, 80, 0, 81]].concat();
        let rows = [
            (v2(0x21, 0x11, &v4), header("192.0.2.1:4660", "192.0.2.2:443")),
            (v2(0x21, 0x11, &with_tlv), header("192.0.2.1:4660", "192.0.2.2:443")),
            (v2(0x21, 0x21, &v6), header("[::1]:80", "[::2]:81")),
            (v2(0x21, 0x31, &[b'a'; V2_UNIX_BYTES]), ProxyHeader::default()),
            (v2(0x21, 0x00, b"any"), ProxyHeader::default()),
            (v2(0x20, 0x00, b""), ProxyHeader::default()),
            (v2(0x20, 0xff, &v4), ProxyHeader::default()), // LOCAL: the family is ignored
        ];
        for (bytes, expected) in rows {
            let followed = [&bytes[..], b"GET"].concat();
            assert_eq!(parse_proxy_header(&followed), Ok(Some((expected, bytes.len()))), "{bytes:x?}");
        }
    }

    #[test]
    fn malformed_headers_of_version_2_are_refused() {
        use ProxyProtocolError::*;
        let rows = [
            (v2(0x11, 0x11, &[0; 12]), Command),
            (v2(0x22, 0x11, &[0; 12]), Command),
            (v2(0x21, 0x12, &[0; 12]), Family),
            (v2(0x21, 0x41, &[0; 12]), Family),
            (v2(0x21, 0x11, &[0; 11]), Addresses),
            (v2(0x21, 0x21, &[0; 35]), Addresses),
            (v2(0x21, 0x31, &[0; 215]), Addresses),
            (v2(0x21, 0x11, &[0; V2_PAYLOAD_BYTES_MAX + 1])[..16].to_vec(), TooLong),
        ];
        for (bytes, expected) in rows {
            assert_eq!(parse_proxy_header(&bytes), Err(expected), "{:x?}", &bytes[..16]);
        }
    }

    #[test]
    fn a_connection_without_the_header_is_refused_at_its_first_wrong_byte() {
        for bytes in [&b"GET / HTTP/1.1\r\n"[..], b"G", b"PROXX", b"PROXY\t", b"\r\n\r\nG", b"POST / HTTP/1.1"] {
            assert_eq!(parse_proxy_header(bytes), Err(ProxyProtocolError::Missing));
        }
        for bytes in [&b""[..], b"P", b"PROXY", b"PROXY ", b"\r\n\r\n", b"PROXY TCP4 192."] {
            assert_eq!(parse_proxy_header(bytes), Ok(None));
        }
    }
}
