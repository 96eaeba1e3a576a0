//! Access control of the admin listener.
//!
//! The listener is on loopback, so every user who runs programs on this machine may ask for numbers. A web page in the operator's
//! browser runs on this machine too, and must not. It has two ways to send requests here. With a host name of its own that resolves
//! to 127.0.0.1 (DNS rebinding), the browser takes the answers for the page's own; but then `Host` has that name. With the listener's
//! real address, the page is of another origin, and a request that the browser sends without the listener's consent either carries an
//! `Origin` field or can only read. So: `Host` must be a loopback name or address, and `Origin` must be absent. No program that an
//! operator uses here (curl, a scraper) sends `Origin`.

use crate::AdminHandle;
use http::HeaderMap;
use http::header::{AUTHORIZATION, HOST, ORIGIN};
use std::net::IpAddr;

/// Why a request is refused, in one sentence.
pub(crate) fn refusal(uri: &http::Uri, fields: &HeaderMap) -> Option<&'static str> {
    if fields.contains_key(ORIGIN) {
        return Some("Requests from web pages (with an Origin field) are refused.");
    }
    let mut hosts = fields.get_all(HOST).iter();
    let is_loopback = match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().is_ok_and(is_loopback_host),
        _ => false,
    };
    //= RFC 9112 section 3.2.2
    //# When an origin server receives a request with an absolute-form of
    //# request-target, the origin server MUST ignore the received Host
    //# header field (if any) and instead use the host information of the
    //# request-target.
    let is_loopback = match uri.authority() {
        Some(authority) => is_loopback_host(authority.as_str()),
        None => is_loopback,
    };
    (!is_loopback).then_some("Host must be localhost or a loopback address.")
}

/// Why a request is refused that lacks the token, in one sentence. On a loopback address, a request that changes something, or shows
/// what visitors ask for, needs the token. If a token is set, requests for numbers need it too; `/healthz` never does.
pub(crate) fn refusal_without_token(
    handle: &AdminHandle,
    needs_token: bool,
    fields: &HeaderMap,
) -> Option<&'static str> {
    if handle.is_guarded_by_permissions {
        return None;
    }
    match &handle.token {
        None => needs_token.then_some(
            "On a loopback address this needs a token: set `admin-token-file`, or let `admin` be a Unix socket.",
        ),
        Some(token) => {
            let mut shown = fields.get_all(AUTHORIZATION).iter();
            let is_shown = shown.next().is_some_and(|value| token.is_shown_by(value.as_bytes()));
            (!is_shown || shown.next().is_some()).then_some("This needs `Authorization: Bearer` with the admin token.")
        }
    }
}

/// Whether `host`, with or without a port, is `localhost` or an address like 127.0.0.1 or \[::1\].
fn is_loopback_host(host: &str) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, port),
        _ => (host, ""),
    };
    if !port.bytes().all(|byte| byte.is_ascii_digit()) {
        return false;
    }
    match name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(address) => address.parse().is_ok_and(|address: std::net::Ipv6Addr| IpAddr::V6(address).is_loopback()),
        None => {
            name.eq_ignore_ascii_case("localhost")
                || name.parse().is_ok_and(|address: std::net::Ipv4Addr| address.is_loopback())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(uri: &str, fields: &[(&'static str, &'static str)]) -> bool {
        let mut map = HeaderMap::new();
        for (name, value) in fields {
            map.append(*name, value.parse().unwrap());
        }
        refusal(&uri.parse().unwrap(), &map).is_some()
    }

    #[test]
    fn loopback_names_and_addresses_are_let_in_with_any_port() {
        for host in [
            "localhost",
            "LocalHost:8081",
            "127.0.0.1",
            "127.0.0.1:1",
            "127.8.9.1:80",
            "[::1]",
            "[::1]:8081",
            "localhost:",
        ] {
            assert!(!refused("/", &[("host", host)]), "{host}");
        }
    }

    #[test]
    fn a_name_that_was_made_to_resolve_to_us_is_refused() {
        for host in [
            "",
            "evil.example",
            "evil.example:8081",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "127.0.0.1@evil.example",
            "evil.example@127.0.0.1",
            "localhost@x",
            "10.0.0.1",
            "0.0.0.0",
            "[::]",
            "::1",
            "[localhost]",
            "[127.0.0.1]",
            "localhost:80:80",
            "localhost:evil",
        ] {
            assert!(refused("/", &[("host", host)]), "{host}");
        }
        assert!(refused("/", &[]));
        assert!(refused("/", &[("host", "localhost"), ("host", "localhost")]));
    }

    #[test]
    fn a_web_page_is_refused_whatever_host_it_asks() {
        assert!(refused("/", &[("host", "localhost"), ("origin", "http://evil.example")]));
        assert!(refused("/", &[("host", "localhost"), ("origin", "null")]));
    }

    //= RFC 9112 section 3.2.2
    //# the origin server MUST ignore the received Host
    //# header field (if any) and instead use the host information of the
    //# request-target.
    #[test]
    fn the_host_of_an_absolute_target_counts_instead_of_the_field() {
        assert!(refused("http://evil.example/stats", &[("host", "localhost")]));
        assert!(!refused("http://localhost:8081/stats", &[("host", "evil.example")]));
    }
}
