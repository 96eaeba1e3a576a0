//! Removes from a request what distinguishes one client from another, where the response will be shared.
//!
//! Two kinds of request need this:
//!
//! - A request for which the operator grants a lifetime. The application did not say that its response may be shared, so it must
//!   not see anything of a client but what is in the key ([`write_granted`]).
//! - A probe, which Kasoku sends by itself after a failed fetch: the failure may be due to what one client sent
//!   ([`remove_client_fields`]).
//!
//! Both send [`ANONYMOUS_FIELDS`] in place of the client's fields, because applications and filters refuse a request without a
//! User-Agent.

use crate::classes::DESKTOP;
use crate::grant::Grant;
use crate::our_fields::{is_kept_in_probes, is_ours};
use crate::request_fields::accept_class;
use crate::{classes, cookies};
use kasoku_wire::Fields;

/// The fields about the client in an anonymous request.
pub const ANONYMOUS_FIELDS: [(&str, &str); 2] = [("User-Agent", DESKTOP), ("Accept", "*/*")];

/// The client address in an anonymous request as the cache sees it. As the request is sent, a [stand-in](crate::stand_in) takes its
/// place ([`tell_stand_in`](crate::forward::tell_stand_in)), another one in each fetch. Without any address, an HTTP server behind
/// Kasoku would take Kasoku's own for the client's. That is often the address of the same machine, which applications trust.
pub const ANONYMOUS_ADDRESS: &str = "0.0.0.0";

/// Fields by which a client addresses caches. The cache decides by them; the origin of a granted response never gets the client's
/// values.
const CACHE_FIELDS: [&str; 6] =
    ["cache-control", "pragma", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since"];

/// Appends the fields that a request for which a lifetime is granted takes to the origin: of the received fields those in the key
/// and those that address caches, and [`ANONYMOUS_FIELDS`]. Of Accept, the origin gets what stands for its class.
pub fn write_granted(received: &Fields, grant: &Grant, out: &mut Fields) {
    let is_cookie = |name: &[u8]| name.eq_ignore_ascii_case(b"cookie");
    for (name, value) in received.iter() {
        let is_rewritten = is_cookie(name) || grant.keys_by_class(name);
        let is_forwarded = is_cache_field(name) || (grant.reaches_origin(name) && !is_rewritten);
        if is_forwarded && !is_ours(name) {
            out.push(name, value);
        }
    }
    if grant.key_device {
        out.push("User-Agent", classes::device(received));
    }
    if !grant.key_languages.is_empty() {
        out.push("Accept-Language", classes::language(received, &grant.key_languages));
    }
    let mut kept = Vec::new();
    cookies::write(&grant.key_cookies, received, &mut kept);
    if !kept.is_empty() {
        out.push("Cookie", kept);
    }
    for (name, value) in ANONYMOUS_FIELDS {
        if !grant.reaches_origin(name.as_bytes()) {
            let is_accept = name.eq_ignore_ascii_case("accept");
            out.push(name, if is_accept { accept_class(received).accept() } else { value });
        }
    }
}

/// Removes the client's cache directives from a request that is about to be sent, where a lifetime is granted. By then, the cache
/// has replaced the client's conditions with its own.
pub fn remove_cache_directives(fields: &mut Fields, grant: &Grant) {
    if grant.is_granting() {
        for name in ["cache-control", "pragma"] {
            fields.remove(name);
        }
    }
}

/// Removes every field that the client chose, except those named in `kept`, and adds [`ANONYMOUS_FIELDS`].
pub fn remove_client_fields(fields: &mut Fields, kept: &[String]) {
    let is_kept = |name: &[u8]| kept.iter().any(|one| name.eq_ignore_ascii_case(one.as_bytes()));
    fields.retain(|name, _| is_kept_in_probes(name) || is_kept(name));
    for (name, value) in ANONYMOUS_FIELDS {
        if !is_kept(name.as_bytes()) {
            fields.push(name, value);
        }
    }
}

/// Whether clients address caches by a field of that name.
pub fn is_cache_field(name: &[u8]) -> bool {
    CACHE_FIELDS.iter().any(|one| name.eq_ignore_ascii_case(one.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_named_fields_go_on_where_a_lifetime_is_granted() {
        let grant = Grant {
            ttl_seconds: 60,
            key_cookies: vec!["lang".to_owned()],
            key_fields: vec!["accept-language".to_owned()],
            ..Grant::default()
        };
        let received: Fields = [
            ("Cookie", "sid=1; lang=de"),
            ("Accept-Language", "de"),
            ("X-Unheard-Of", "1"),
            ("Range", "bytes=0-1"),
            ("Referer", "http://a/"),
            ("User-Agent", "theirs"),
            ("Cache-Control", "no-cache"),
        ]
        .into_iter()
        .collect();
        let mut out = Fields::new();
        write_granted(&received, &grant, &mut out);
        let sent: Vec<String> = out.iter().map(|(name, _)| String::from_utf8_lossy(name).into_owned()).collect();
        assert_eq!(sent, ["Accept-Language", "Cache-Control", "Cookie", "User-Agent", "Accept"]);
        assert_eq!(out.only("cookie"), Some(&b"lang=de"[..]));
        assert_ne!(out.only("user-agent"), Some(&b"theirs"[..]));
        remove_cache_directives(&mut out, &grant);
        assert!(!out.contains("cache-control"));
    }

    #[test]
    fn a_probe_has_no_field_that_its_client_chose() {
        let mut fields: Fields = [
            ("Host", "a.example"),
            ("X-Forwarded-For", "0.0.0.0"),
            ("Accept-Language", "de"),
            ("X-Odd", "1"),
            ("Range", "bytes=0-1"),
        ]
        .into_iter()
        .collect();
        remove_client_fields(&mut fields, &["accept-language".to_owned()]);
        let left: Vec<String> = fields.iter().map(|(name, _)| String::from_utf8_lossy(name).into_owned()).collect();
        assert_eq!(left, ["Host", "X-Forwarded-For", "Accept-Language", "Range", "User-Agent", "Accept"]);
    }
}
