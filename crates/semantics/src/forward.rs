//! Makes the request that goes to the origin from the request that a client sent.
//!
//! There are two kinds of requests. The response to the first kind may be shared ([`Audience::Shared`], [`Audience::Background`]):
//! nothing that could change it without being in the key may reach the origin (docs/deviations.md, part 3). Fields by which clients
//! address proxies and frameworks are removed ([`unkeyed`](crate::unkeyed)), and `Via` names only Kasoku; profile rfc leaves the
//! fields of RFC 9110 alone. Where the operator grants a lifetime, in either profile, the origin gets only what is in the key
//! ([`anonymous_request`](crate::anonymous_request)), and a [stand-in](crate::stand_in) as the client's address. The second kind passes
//! ([`Audience::OneClient`]), and keeps what applications need.
//!
//! Where nothing is granted, a request of the first kind tells the client's address as well. There the application itself must say
//! that its response may be shared, and an application that counts visitors or ties sessions to addresses needs the address
//! (docs/decisions/0003). A request that no client waits for tells no address.
//!
//! The cache looks up and fills only its own type `SharedRequest`, and only this file writes the head in it.

use crate::anonymous_request::{ANONYMOUS_ADDRESS, write_granted};
use crate::client_address::{Peer, client};
use crate::coding::uncoded_tag;
use crate::credentials::has_unkeyed_credentials;
use crate::hop_by_hop::{connection_lists_fields, is_never_forwarded, strip_hop_by_hop};
use crate::our_fields::{is_any, is_ours};
use crate::our_name::{NAME, via_member};
use crate::policy::{Policy, Profile};
use crate::unkeyed::{is_same, is_unkeyed, is_unkeyed_in_profile_rfc};
use http::{Method, Version};
use kasoku_wire::field::etag::{ListedTag, tags};
use kasoku_wire::field::list;
use kasoku_wire::http1::BodyLength;
use kasoku_wire::{Fields, RequestHead};
use std::borrow::Cow;
use std::net::IpAddr;

/// A request whose Via names Kasoku this often goes in a circle.
const VISITS_MAX: usize = 8;

/// Whom the response is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// It may be stored, and other clients may get it.
    Shared,
    /// It may be stored and shared as well, and no client waits for it: a refresh in the background.
    Background,
    /// It is for this client alone.
    OneClient,
}

/// Where a request goes: its effective request URI, and the rules of its site and path.
#[derive(Clone, Copy, Debug)]
pub struct Destination<'a> {
    /// `http` or `https`, as the client sees it.
    pub scheme: &'a str,
    /// Host and port, normalised.
    pub authority: &'a str,
    /// Path and query, or `*`.
    pub target: &'a str,
    /// `Host` for the origin; none: the authority.
    pub origin_host: Option<&'a str>,
    /// The caching rules.
    pub policy: &'a Policy,
    /// Whether stored responses are sent in content codings that are made here, with entity tags that the origin does not know.
    pub makes_codings: bool,
}

/// The request for the origin. `body`: the length of the client's body. `upgrade`: the protocol to switch to, where the client asks
/// for one that is allowed.
pub fn forward(
    request: &RequestHead,
    body: BodyLength,
    to: &Destination<'_>,
    peer: &Peer,
    audience: Audience,
    upgrade: Option<&str>,
) -> RequestHead {
    let is_granting = audience != Audience::OneClient && to.policy.grant.is_granting();
    let is_guarded = is_guarded(to.policy, audience);
    let mut fields = Fields::with_capacity(request.fields.block().len() + 256, request.fields.len() + 8);
    //= RFC 9112 section 3.2
    //# A client MUST send a Host header field (Section 7.2 of [HTTP]) in all HTTP/1.1 request messages.
    //= RFC 9112 section 3.2
    //# If the target URI includes an authority component, then a client MUST send a field value for Host that is identical
    //# to that authority component
    //= RFC 9112 section 3.2.2
    //# A proxy that forwards such a request MUST generate a new Host field value based on the received request-target
    //# rather than forward the received Host field value.
    fields.push("Host", to.origin_host.unwrap_or(to.authority));
    let mut received = request.fields.clone();
    strip_hop_by_hop(&mut received);
    //= RFC 9111 section 5.2
    //# A proxy, whether or not it implements a cache, MUST pass cache directives through in forwarded messages, regardless
    //# of their significance to that application
    let passed_on = if is_granting { &Fields::new() } else { &received };
    for (name, value) in passed_on.iter() {
        let is_kept_back = match audience {
            Audience::OneClient => false,
            _ if is_guarded => is_unkeyed(name, peer.is_trusted) || is_same(name, b"via"),
            _ => is_unkeyed_in_profile_rfc(name, peer.is_trusted),
        };
        if !is_ours(name) && !is_kept_back {
            fields.push(name, value);
        }
    }
    if is_granting {
        write_granted(&received, &to.policy.grant, &mut fields);
    }
    if to.makes_codings {
        add_uncoded_tags(&received, &mut fields);
    }
    let told_address = told_address(&request.fields, to.policy, audience);
    ClientFields { received: &received, to, peer, told_address }.write(&mut fields);
    //= RFC 9110 section 7.6.3
    //# A proxy MUST send an appropriate Via header field, as described below, in each message that it forwards.
    if is_guarded {
        // The number of visits here shows a loop. Which other proxies sent the request on, and in which version, is not in the key.
        fields.push("Via", vec![via_member(Version::HTTP_11); visits(request).saturating_add(1)].join(", "));
    } else {
        fields.push("Via", via_member(request.version));
    }
    frame(&request.method, body, &mut fields);
    if let Some(protocol) = upgrade {
        fields.push("Connection", "upgrade");
        fields.push("Upgrade", protocol);
    }
    if let Some(left) = max_forwards(request) {
        fields.set("Max-Forwards", left.saturating_sub(1).to_string());
    }
    //= RFC 9112 section 3.2.1
    //# When making a request directly to an origin server, other than a CONNECT or server-wide OPTIONS request (as detailed
    //# below), a client MUST send only the absolute path and query components of the target URI as the request-target.
    //= RFC 9112 section 3.2.4
    //# When a client wishes to request OPTIONS for the server as a whole, as opposed to a specific named resource of that
    //# server, the client MUST send only "*" (%x2A) as the request-target.
    RequestHead { method: request.method.clone(), target: to.target.to_owned(), version: Version::HTTP_11, fields }
}

/// Turns a request that [`forward`] made for [`Audience::Shared`] into one for [`Audience::Background`], which tells no client's
/// address.
pub fn make_background(fields: &mut Fields, scheme: &str, authority: &str) {
    for name in ["forwarded", "x-forwarded-for", "x-real-ip"] {
        fields.remove(name);
    }
    write_anonymous_address(scheme, authority, fields);
}

/// Tells `stand_in` in the place of [`ANONYMOUS_ADDRESS`], in a request that [`forward`] or [`make_background`] made. The cache goes on
/// deciding by the request as it was: no response is chosen by an address that is drawn anew for each fetch.
pub fn tell_stand_in(fields: &mut Fields, stand_in: IpAddr) {
    let forwarded = fields.only("forwarded").and_then(|value| {
        let behind = value.strip_prefix(b"for=")?.strip_prefix(ANONYMOUS_ADDRESS.as_bytes())?;
        Some([b"for=", node(stand_in).as_bytes(), behind].concat())
    });
    if let Some(value) = forwarded {
        fields.set("Forwarded", value);
    }
    for name in ["X-Forwarded-For", "X-Real-IP"] {
        if fields.only(name) == Some(ANONYMOUS_ADDRESS.as_bytes()) {
            fields.set(name, text_of(stand_in));
        }
    }
}

/// Whether the origin is told the client's address.
pub fn is_address_told(request: &Fields, policy: &Policy, audience: Audience) -> bool {
    told_address(request, policy, audience) == ToldAddress::Clients
}

/// Whether fields that are not in the key are kept from the origin.
fn is_guarded(policy: &Policy, audience: Audience) -> bool {
    audience != Audience::OneClient && (policy.profile == Profile::Safe || policy.grant.is_granting())
}

/// Whose address the origin is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ToldAddress {
    Clients,
    /// [`ANONYMOUS_ADDRESS`].
    Anonymous,
}

fn told_address(request: &Fields, policy: &Policy, audience: Audience) -> ToldAddress {
    // Where the operator gives errors a lifetime, they are stored for all clients, except for requests with credentials.
    let grants_errors = || policy.negative_ttl_seconds > 0 && !has_unkeyed_credentials(request, policy);
    match audience {
        Audience::OneClient => ToldAddress::Clients,
        Audience::Background => ToldAddress::Anonymous,
        Audience::Shared if policy.grant.is_granting() || grants_errors() => ToldAddress::Anonymous,
        Audience::Shared => ToldAddress::Clients,
    }
}

/// Adds the origin's own tag to an If-Match that names the tag of a coding made here. The origin does not know that tag, and would
/// always refuse a client that edits a page which came as a hit.
fn add_uncoded_tags(received: &Fields, fields: &mut Fields) {
    for tag in tags(received, "if-match") {
        if let ListedTag::One(tag) = tag
            && let Some((uncoded, _)) = uncoded_tag(&tag)
        {
            fields.push("If-Match", uncoded.write());
        }
    }
}

/// Whether [`forward`] sends all fields of a request as the client sent them, except those for which [`is_sent_as_received`] is
/// false.
pub fn forwards_fields_unchanged(request: &Fields) -> bool {
    !connection_lists_fields(request)
}

/// The fields by which most responses vary. This list saves a hit 0.1 µs of 8 for each field by which its response varies.
const USUAL: [&str; 6] = ["accept-encoding", "accept-language", "accept", "cookie", "origin", "user-agent"];

/// Whether [`forward`] sends a field of that name as it was received, in every profile.
pub fn is_sent_as_received(name: &str) -> bool {
    USUAL.contains(&name) || !is_changed(name.as_bytes())
}

/// Whether Kasoku writes or removes a field of that name, in some profile.
fn is_changed(name: &[u8]) -> bool {
    is_ours(name)
        || is_unkeyed(name, false)
        || is_any(name, &["close", "via", "expect", "max-forwards"])
        || is_never_forwarded(name)
}

/// Whether Via names Kasoku so often that the request must be going in a circle.
pub fn is_loop(request: &RequestHead) -> bool {
    visits(request) >= VISITS_MAX
}

/// How often Via names Kasoku.
fn visits(request: &RequestHead) -> usize {
    let is_visit = |member: &[u8]| member.split(u8::is_ascii_whitespace).nth(1) == Some(NAME.as_bytes());
    list::members(&request.fields, "via").filter(|member| is_visit(member)).count()
}

/// How often an OPTIONS request may still be forwarded (RFC 9110 section 7.6.2); `None`: without a limit.
pub fn max_forwards(request: &RequestHead) -> Option<u64> {
    if request.method != Method::OPTIONS {
        return None;
    }
    std::str::from_utf8(request.fields.only("max-forwards")?).ok()?.parse().ok()
}

/// The protocol that the request asks to switch to, if it is one of `allowed` (lower case).
pub fn upgrade<'r>(request: &RequestHead, body: BodyLength, allowed: &'r [String]) -> Option<&'r str> {
    if request.version != Version::HTTP_11 || !matches!(body, BodyLength::None) {
        return None;
    }
    let connection_says_so =
        list::members(&request.fields, "connection").any(|option| option.eq_ignore_ascii_case(b"upgrade"));
    if !connection_says_so {
        return None;
    }
    // The client lists protocols in the order of its preference (RFC 9110 section 7.8).
    list::members(&request.fields, "upgrade")
        .find_map(|wanted| allowed.iter().map(String::as_str).find(|name| wanted.eq_ignore_ascii_case(name.as_bytes())))
}

/// The fields that tell the origin about the client.
struct ClientFields<'a> {
    received: &'a Fields,
    to: &'a Destination<'a>,
    peer: &'a Peer,
    told_address: ToldAddress,
}

impl ClientFields<'_> {
    fn write(&self, fields: &mut Fields) {
        let Destination { scheme, authority, .. } = *self.to;
        match self.told_address {
            ToldAddress::Clients => self.write_clients_address(fields),
            ToldAddress::Anonymous => write_anonymous_address(scheme, authority, fields),
        }
        fields.push("X-Forwarded-Proto", scheme);
        fields.push("X-Forwarded-Host", authority);
    }

    fn write_clients_address(&self, fields: &mut Fields) {
        let Destination { scheme, authority, .. } = *self.to;
        // Kasoku appends to the lists of a trusted proxy, and ignores those of all other peers.
        let before = |name| self.received.combined(name).filter(|_| self.peer.is_trusted);
        let address = self.peer.address.map(|address| address.ip().to_canonical());
        let ip = address.map(text_of);
        let node = address.map_or(Cow::Borrowed("unknown"), |address| Cow::Owned(node(address)));
        let member = ["for=", &node, ";host=", &quoted(authority), ";proto=", scheme].concat();
        fields.push("Forwarded", joined(before("forwarded"), &member));
        if let Some(ip) = &ip {
            fields.push("X-Forwarded-For", joined(before("x-forwarded-for"), ip));
        } else if let Some(list) = before("x-forwarded-for") {
            fields.push("X-Forwarded-For", list);
        }
        match client(self.peer, self.received) {
            Some(client) if Some(client) == address => fields.push("X-Real-IP", ip.unwrap_or_default()),
            Some(client) => fields.push("X-Real-IP", text_of(client)),
            None => {}
        }
    }
}

/// An address as `for` of Forwarded (RFC 7239 section 6).
fn node(address: IpAddr) -> String {
    match address {
        IpAddr::V4(_) => text_of(address),
        IpAddr::V6(_) => format!("\"[{address}]\""),
    }
}

/// An address as text. Each miss writes one, and the formatter takes 1,500 instructions for it.
fn text_of(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(ip) => {
            let mut text = String::with_capacity("255.255.255.255".len());
            for octet in ip.octets() {
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(itoa::Buffer::new().format(octet));
            }
            text
        }
        IpAddr::V6(ip) => ip.to_string(),
    }
}

fn write_anonymous_address(scheme: &str, authority: &str, fields: &mut Fields) {
    fields.push("Forwarded", format!("for={ANONYMOUS_ADDRESS};host={};proto={scheme}", quoted(authority)));
    fields.push("X-Forwarded-For", ANONYMOUS_ADDRESS);
    fields.push("X-Real-IP", ANONYMOUS_ADDRESS);
}

fn joined(before: Option<Vec<u8>>, member: &str) -> Vec<u8> {
    let mut value = before.unwrap_or_default();
    if !value.is_empty() {
        value.extend_from_slice(b", ");
    }
    value.extend_from_slice(member.as_bytes());
    value
}

/// A host as a value of Forwarded: a host that is no token must be quoted (RFC 7239 section 4).
fn quoted(authority: &str) -> String {
    if list::is_token(authority.as_bytes()) { authority.to_owned() } else { format!("\"{authority}\"") }
}

/// Writes the fields that frame the body, by the length that was parsed, and never by what the client wrote.
fn frame(method: &Method, body: BodyLength, fields: &mut Fields) {
    match body {
        BodyLength::Length(length) => fields.push("Content-Length", length.to_string()),
        // A configured origin is taken to speak HTTP/1.1.
        //= RFC 9112 section 6.1
        //# A client MUST NOT send a request containing Transfer-Encoding unless it knows the server will handle HTTP/1.1
        //# requests (or later minor revisions)
        //= RFC 9112 section 6.3
        //# A client MUST NOT use the chunked transfer coding unless it knows the server will handle HTTP/1.1 (or later)
        //# requests
        BodyLength::Chunked | BodyLength::UntilClose => fields.push("Transfer-Encoding", "chunked"),
        //= RFC 9110 section 8.6
        //# A user agent SHOULD send Content-Length in a request when the method defines a meaning for enclosed content
        BodyLength::None if matches!(*method, Method::POST | Method::PUT | Method::PATCH) => {
            fields.push("Content-Length", "0");
        }
        BodyLength::None => {}
    }
}

/// Changes the fields of a request whose whole body has been read: its length is known, and no client waits for a 100 (Continue)
/// any more. Trailers are dropped with the chunks before them.
//= RFC 9112 section 6.2
//# A sender MUST NOT send a Content-Length header field in any message that contains a Transfer-Encoding header field.
pub fn measured(fields: &mut Fields, body_bytes: u64) {
    for name in ["expect", "transfer-encoding", "trailer"] {
        fields.remove(name);
    }
    fields.set("Content-Length", body_bytes.to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_we_write_ourselves_is_not_sent_as_it_was_received() {
        for name in ["host", "via", "x-forwarded-proto", "forwarded", "x-real-ip", "te", "connection", "upgrade"] {
            assert!(!is_sent_as_received(name), "{name}");
        }
        for name in USUAL {
            assert!(!is_changed(name.as_bytes()), "{name}");
        }
        assert!(is_sent_as_received("x-theme"));
    }

    #[test]
    fn a_stand_in_takes_the_place_of_the_anonymous_address_and_of_nothing_else() {
        let told = |stand_in: &str, received: &[(&str, &str)]| {
            let mut fields: Fields = received.iter().copied().collect();
            tell_stand_in(&mut fields, stand_in.parse().unwrap());
            let value = |name| fields.only(name).map(|value| String::from_utf8_lossy(value).into_owned());
            ["forwarded", "x-forwarded-for", "x-real-ip"].map(|name| value(name).unwrap_or_default())
        };
        let mut anonymous = Fields::new();
        write_anonymous_address("http", "0.0.0.0:80", &mut anonymous);
        let lines: Vec<(String, String)> = anonymous
            .iter()
            .map(|(name, value)| [name, value].map(|text| String::from_utf8_lossy(text).into_owned()).into())
            .collect();
        let lines: Vec<(&str, &str)> = lines.iter().map(|(name, value)| (&**name, &**value)).collect();
        let v4 = ["for=240.1.2.3;host=\"0.0.0.0:80\";proto=http", "240.1.2.3", "240.1.2.3"];
        assert_eq!(told("240.1.2.3", &lines), v4);
        let v6 = ["for=\"[2001:db8::1]\";host=\"0.0.0.0:80\";proto=http", "2001:db8::1", "2001:db8::1"];
        assert_eq!(told("2001:db8::1", &lines), v6);
        let clients =
            [("Forwarded", "for=10.0.0.0;host=a"), ("X-Forwarded-For", "10.0.0.0"), ("X-Real-IP", "10.0.0.0")];
        assert_eq!(told("240.1.2.3", &clients), clients.map(|(_, value)| value.to_owned()), "a client's own address");
    }

    #[test]
    fn a_host_in_forwarded_is_a_token_or_quoted() {
        assert_eq!(quoted("a.example"), "a.example");
        assert_eq!(quoted("a:8080"), "\"a:8080\"");
        assert_eq!(quoted("x,for=1.2.3.4"), "\"x,for=1.2.3.4\"");
    }
}
