//! The PROXY protocol: on a listener that has it, each connection starts with its header.

use kasoku_options::AddressRange;
use kasoku_testkit::client::request;
use kasoku_testkit::{Scenario, Setup, ok, post};
use std::time::Duration;

const V2_SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

fn behind_a_proxy() -> Setup {
    Setup::safe().options(|options| options.listeners.iter_mut().for_each(|listener| listener.proxy_protocol = true))
}

/// The X-Forwarded-For that the origin gets for a client that sends these bytes before its request.
fn told(header: &[u8]) -> Option<String> {
    let scene = behind_a_proxy().run([post("/").answers(ok(&[], "a"))]);
    let mut client = scene.client();
    client.send([header, request("POST", "/", &[]).as_bytes()].concat());
    assert_eq!(client.response().text(), "a", "{header:?}");
    scene.origin.only_request().field("x-forwarded-for")
}

fn v2(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
    let length = (rest.len() as u16).to_be_bytes();
    [V2_SIGNATURE, &[0x20 | command, family], &length, rest].concat()
}

#[track_caller]
fn is_dropped(bytes: &[u8]) {
    let scene = behind_a_proxy().run([]);
    let mut client = scene.client();
    client.send(bytes).send(request("POST", "/", &[]));
    assert_eq!(client.rest(), "", "{bytes:?}");
}

#[test]
fn version_1_tells_the_clients_address() {
    assert_eq!(told(b"PROXY TCP4 192.0.2.7 192.0.2.1 4000 80\r\n").as_deref(), Some("192.0.2.7"));
    assert_eq!(told(b"PROXY TCP6 2001:db8::7 2001:db8::1 4000 80\r\n").as_deref(), Some("2001:db8::7"));
}

#[test]
fn version_1_unknown_keeps_the_connections_own_address() {
    assert_eq!(told(b"PROXY UNKNOWN\r\n").as_deref(), Some("127.0.0.1"));
}

#[test]
fn version_2_tells_the_clients_address() {
    let v4 = [192, 0, 2, 7, 192, 0, 2, 1, 0x0f, 0xa0, 0, 80];
    assert_eq!(told(&v2(1, 0x11, &v4)).as_deref(), Some("192.0.2.7"));
    let with_tlv = [&v4[..], &[4, 0, 3, 1, 2, 3]].concat();
    assert_eq!(told(&v2(1, 0x11, &with_tlv)).as_deref(), Some("192.0.2.7"));
    let mut v6 = [0; 36];
    (v6[0], v6[1], v6[2], v6[3], v6[15]) = (0x20, 0x01, 0x0d, 0xb8, 7);
    assert_eq!(told(&v2(1, 0x21, &v6)).as_deref(), Some("2001:db8::7"));
}

#[test]
fn version_2_local_keeps_the_connections_own_address() {
    assert_eq!(told(&v2(0, 0, &[])).as_deref(), Some("127.0.0.1"));
}

#[test]
fn a_header_that_arrives_byte_by_byte_is_the_same_header() {
    let scene = behind_a_proxy().run([post("/").answers(ok(&[], "a"))]);
    let mut client = scene.client();
    for byte in b"PROXY TCP4 192.0.2.7 192.0.2.1 4000 80\r\n" {
        client.send([*byte]);
    }
    assert_eq!(client.ask("POST", "/", &[]).response().text(), "a");
    assert_eq!(scene.origin.only_request().field("x-forwarded-for").as_deref(), Some("192.0.2.7"));
}

#[test]
fn the_header_counts_for_the_whole_connection() {
    let scene = behind_a_proxy().run([post("/").answers(ok(&[], "a")), post("/").answers(ok(&[], "b"))]);
    let mut client = scene.client();
    client.send("PROXY TCP4 192.0.2.7 192.0.2.1 4000 80\r\n");
    for _ in 0..2 {
        client.ask("POST", "/", &[]).response();
    }
    assert_eq!(scene.origin.request(1).field("x-forwarded-for").as_deref(), Some("192.0.2.7"));
}

#[test]
fn a_missing_or_malformed_header_drops_the_connection_without_a_word() {
    is_dropped(b"");
    is_dropped(b"PROXY TCP4 192.0.2.7\r\n");
    is_dropped(b"PROXY TCP4 2001:db8::7 192.0.2.1 4000 80\r\n");
    is_dropped(b"PROXY TCP4 192.0.2.7 192.0.2.1 4000 800000\r\n");
    is_dropped(b"proxy TCP4 192.0.2.7 192.0.2.1 4000 80\r\n");
    is_dropped(&[b"PROXY TCP4 ".as_slice(), &[b'1'; 200]].concat());
    is_dropped(&v2(7, 0x11, &[0; 12]));
    is_dropped(&v2(1, 0x11, &[0; 4]));
}

#[test]
fn a_header_that_does_not_come_drops_the_connection_in_time() {
    let scene = behind_a_proxy().options(|options| options.limits.head_timeout = Duration::from_millis(100)).run([]);
    assert_eq!(scene.client().send("PROXY TCP4 192.").rest(), "");
}

#[test]
fn without_the_option_the_header_is_no_request() {
    let scene = Scenario::safe([]);
    let mut client = scene.client();
    client.send("PROXY TCP4 192.0.2.7 192.0.2.1 4000 80\r\n").send(request("POST", "/", &[]));
    assert_eq!(client.response().status, 400);
    client.is_closed();
}

#[test]
fn trust_is_in_the_address_that_the_header_tells() {
    let trusting = |address: [u8; 4]| {
        let range = AddressRange::Ip { address: address.into(), prefix_bits: 32 };
        behind_a_proxy().options(|options| options.trusted_proxies = vec![range]).run([post("/").answers(ok(&[], "a"))])
    };
    for (trusted, proto) in [([192, 0, 2, 7], "https"), ([127, 0, 0, 1], "http")] {
        let scene = trusting(trusted);
        let mut client = scene.client();
        client.send("PROXY TCP4 192.0.2.7 192.0.2.1 4000 80\r\n");
        client.ask("POST", "/", &["X-Forwarded-Proto: https"]).response();
        assert_eq!(scene.origin.only_request().field("x-forwarded-proto").as_deref(), Some(proto));
    }
}
