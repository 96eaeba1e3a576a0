//! Fuzz target for the PROXY protocol, versions 1 and 2. Input: the first bytes that a load balancer sends.

use crate::arrival::prefixes_agree;
use kasoku_wire::proxy_protocol::{ProxyHeader, parse_proxy_header};
use std::net::{IpAddr, SocketAddr};

/// The longest line of version 1, and the longest header of version 2 that Kasoku accepts, in bytes.
const V1_BYTES_MAX: usize = 107;
const V2_BYTES_MAX: usize = 16 + 4096;

pub(crate) fn run(data: &[u8]) {
    prefixes_agree(data, &Ok(None), parse_proxy_header);
    match parse_proxy_header(data) {
        Ok(Some((header, length))) => {
            assert!(length <= data.len());
            let is_v1 = data.starts_with(b"PROXY ");
            assert!(length <= if is_v1 { V1_BYTES_MAX } else { V2_BYTES_MAX });
            assert!(!is_v1 || data[..length].ends_with(b"\r\n"));
            assert_eq!(parse_proxy_header(&data[..length]), Ok(Some((header, length))), "it needs what follows it");
            assert_eq!(header.source.is_some(), header.destination.is_some());
            sent_again(&header);
        }
        Ok(None) => assert!(data.len() < V2_BYTES_MAX),
        Err(error) => assert!(!error.name().is_empty() && !error.to_string().is_empty()),
    }
}

/// The two ends, written in both versions, are parsed to the same header.
fn sent_again(header: &ProxyHeader) {
    let (Some(source), Some(destination)) = (header.source, header.destination) else { return };
    for mut sent in [version_1(source, destination), version_2(source, destination)] {
        let length = sent.len();
        sent.extend_from_slice(b"GET / HTTP/1.1\r\n");
        assert_eq!(parse_proxy_header(&sent), Ok(Some((*header, length))));
    }
}

fn version_1(source: SocketAddr, destination: SocketAddr) -> Vec<u8> {
    let family = if source.is_ipv4() { "TCP4" } else { "TCP6" };
    let (from, to) = (source.ip(), destination.ip());
    format!("PROXY {family} {from} {to} {} {}\r\n", source.port(), destination.port()).into_bytes()
}

fn version_2(source: SocketAddr, destination: SocketAddr) -> Vec<u8> {
    let octets = |address: SocketAddr| match address.ip() {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    let ports = [source.port().to_be_bytes(), destination.port().to_be_bytes()].concat();
    let payload = [octets(source), octets(destination), ports].concat();
    let start = [&b"\r\n\r\n\0\r\nQUIT\n\x21"[..], if source.is_ipv4() { b"\x11" } else { b"\x21" }].concat();
    [start, (payload.len() as u16).to_be_bytes().to_vec(), payload].concat()
}
