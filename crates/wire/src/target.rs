//! Parses the request-target in its four forms (RFC 9112 section 3.2), and normalises the authority.
//!
//! The authority is part of the cache key and selects the site. So all spellings of one authority must give the same text, and a
//! text that another parser could read as a different host must be refused. Hence the grammar is that of RFC 3986 without userinfo,
//! sub-delims, IPvFuture and zone identifiers, and the result is normalised.
//!
//! Not done here: paths keep their percent-encoding and their dot segments. `kasoku-semantics` and the engine's router decide
//! whether the target, Host or the configuration gives scheme and host.

use crate::http1::RequestError;
use crate::http1::grammar::trim_ows;
use http::Method;
use std::borrow::Cow;
use std::fmt::Write;
use std::net::Ipv6Addr;

/// The longest host name, in bytes: what DNS can carry (RFC 1035 section 2.3.4), with its trailing dot.
const HOST_BYTES_MAX: usize = 254;

/// A request-target by its form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestTarget<'a> {
    /// Path and query, as sent. It begins with `/`.
    Origin(&'a str),
    /// A whole URI. Its authority takes the place of Host.
    Absolute {
        /// `http` or `https`, in lower case.
        scheme: &'a str,
        /// The authority as sent; valid, so [`authority`] accepts it.
        authority: &'a str,
        /// Path and query. Begins with `/`, which the parser adds if it is missing; `*` for OPTIONS without path and query.
        path_and_query: Cow<'a, str>,
    },
    /// `host:port` of CONNECT, as sent; valid.
    Authority(&'a str),
    /// `*` of OPTIONS.
    Asterisk,
}

/// Parses a request-target. The method decides which forms are allowed. `target` is visible ASCII without `#`, as in
/// [`crate::RequestHead`].
///
/// # Errors
/// [`RequestError::TargetForm`] when no form fits the method, or the scheme is not `http` or `https`;
/// [`RequestError::Authority`] when the authority is malformed.
pub fn parse_target<'a>(method: &Method, target: &'a str) -> Result<RequestTarget<'a>, RequestError> {
    if *method == Method::CONNECT {
        return authority_form(target);
    }
    if target.starts_with('/') {
        return Ok(RequestTarget::Origin(target));
    }
    if target == "*" {
        return if *method == Method::OPTIONS { Ok(RequestTarget::Asterisk) } else { Err(RequestError::TargetForm) };
    }
    absolute_form(method, target)
}

/// Checks `uri-host ":" port`; both have to be there.
fn authority_form(target: &str) -> Result<RequestTarget<'_>, RequestError> {
    match parse_authority(target.as_bytes())? {
        Authority { port: Some(_), .. } => Ok(RequestTarget::Authority(target)),
        Authority { port: None, .. } => Err(RequestError::TargetForm),
    }
}

//= RFC 9112 section 3.2.2
//# A server MUST accept the absolute-form in requests even though most HTTP/1.1 clients will only send the absolute-form
//# to a proxy.
fn absolute_form<'a>(method: &Method, target: &'a str) -> Result<RequestTarget<'a>, RequestError> {
    let (scheme, rest) = target.split_once("://").ok_or(RequestError::TargetForm)?;
    let scheme = ["http", "https"].into_iter().find(|known| scheme.eq_ignore_ascii_case(known));
    let scheme = scheme.ok_or(RequestError::TargetForm)?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path_and_query) = rest.split_at_checked(end).ok_or(RequestError::TargetForm)?;
    check_authority(authority.as_bytes())?;
    let path_and_query = match path_and_query {
        //= RFC 9112 section 3.2.4
        //# If a proxy receives an OPTIONS request with an absolute-form of request-target in which the URI has an empty
        //# path and no query component, then the last proxy on the request chain MUST send a request-target of "*" when
        //# it forwards the request to the indicated origin server.
        "" if *method == Method::OPTIONS => Cow::Borrowed("*"),
        //= RFC 9112 section 3.2.1
        //# If the target URI's path component is empty, the client MUST send "/" as the path within the origin-form of
        //# request-target.
        "" => Cow::Borrowed("/"),
        query if query.starts_with('?') => Cow::Owned(format!("/{query}")),
        path => Cow::Borrowed(path),
    };
    Ok(RequestTarget::Absolute { scheme, authority, path_and_query })
}

/// Normalises the value of Host, or an authority, to the one spelling that keys and rules use: lower case, the canonical text of
/// IPv6 literals, without the default port, without an empty port, without the trailing dot of a name.
///
/// # Errors
/// [`RequestError::Authority`] unless `value` is `uri-host [ ":" port ]` with a non-empty host.
pub fn authority(value: &[u8], default_port: u16) -> Result<String, RequestError> {
    let mut text = String::new();
    write_authority(value, default_port, &mut text)?;
    Ok(text)
}

/// Appends the result of [`authority`] to `out`.
///
/// # Errors
/// As [`authority`]; then `out` is unchanged.
pub fn write_authority(value: &[u8], default_port: u16, out: &mut String) -> Result<(), RequestError> {
    let Authority { host, port } = parse_authority(value)?;
    match host {
        Host::Name(name) => {
            let start = out.len();
            out.push_str(str::from_utf8(name).map_err(|_| RequestError::Authority)?);
            if let Some(name) = out.get_mut(start..) {
                name.make_ascii_lowercase();
            }
        }
        Host::V6(address) => {
            // Writing to a String cannot fail.
            let _ = write!(out, "[{address}]");
        }
    }
    if let Some(port) = port.filter(|port| *port != default_port) {
        out.push(':');
        out.push_str(itoa::Buffer::new().format(port));
    }
    Ok(())
}

/// Whether [`authority`] would accept `value`.
///
/// # Errors
/// [`RequestError::Authority`] when not.
pub(crate) fn check_authority(value: &[u8]) -> Result<(), RequestError> {
    parse_authority(value).map(|_| ())
}

struct Authority<'a> {
    host: Host<'a>,
    /// `None` when absent or empty.
    port: Option<u16>,
}

enum Host<'a> {
    /// A `reg-name` or IPv4 address, without its trailing dot, never empty.
    Name(&'a [u8]),
    V6(Ipv6Addr),
}

fn parse_authority(value: &[u8]) -> Result<Authority<'_>, RequestError> {
    let text = trim_ows(value);
    let (host, port) = match text {
        [b'[', literal @ ..] => {
            let end = memchr::memchr(b']', literal).ok_or(RequestError::Authority)?;
            let (address, after) = literal.split_at_checked(end).ok_or(RequestError::Authority)?;
            let address = str::from_utf8(address).ok().and_then(|address| address.parse().ok());
            (Host::V6(address.ok_or(RequestError::Authority)?), after.get(1..).unwrap_or_default())
        }
        _ => {
            let end = memchr::memchr(b':', text).unwrap_or(text.len());
            let (name, after) = text.split_at_checked(end).ok_or(RequestError::Authority)?;
            (Host::Name(parse_name(name)?), after)
        }
    };
    let port = match port {
        [] | [b':'] => None,
        [b':', digits @ ..] => Some(parse_port(digits)?),
        _ => return Err(RequestError::Authority),
    };
    Ok(Authority { host, port })
}

fn parse_name(name: &[u8]) -> Result<&[u8], RequestError> {
    let bare = name.strip_suffix(b".").unwrap_or(name);
    let is_valid = !bare.is_empty() && !bare.ends_with(b".") && name.len() <= HOST_BYTES_MAX && is_reg_name(bare);
    if is_valid { Ok(bare) } else { Err(RequestError::Authority) }
}

/// `*( unreserved / pct-encoded )`. RFC 3986 section 3.2.2 allows sub-delims as well. No host name has one, and fields that repeat
/// the host (Forwarded, X-Forwarded-Host) are lists that are split at some of them, so a client could add members of its own.
fn is_reg_name(name: &[u8]) -> bool {
    let mut rest = name;
    loop {
        rest = match rest {
            [] => return true,
            [byte, after @ ..] if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') => after,
            [b'%', high, low, after @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => after,
            _ => return false,
        };
    }
}

/// Leading zeros change nothing, however many there are.
fn parse_port(digits: &[u8]) -> Result<u16, RequestError> {
    let add = |port: u16, digit: &u8| {
        let digit = digit.is_ascii_digit().then(|| u16::from(digit - b'0'))?;
        port.checked_mul(10)?.checked_add(digit)
    };
    digits.iter().try_fold(0, add).ok_or(RequestError::Authority)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn absolute<'a>(scheme: &'a str, authority: &'a str, path_and_query: &'a str) -> RequestTarget<'a> {
        RequestTarget::Absolute { scheme, authority, path_and_query: path_and_query.into() }
    }

    #[test]
    fn the_four_forms_are_told_apart() {
        //= RFC 9112 section 3.2.2
        //# A server MUST accept the absolute-form in requests even though most HTTP/1.1 clients will only send the
        //# absolute-form to a proxy.
        let rows = [
            (Method::GET, "/", RequestTarget::Origin("/")),
            (Method::GET, "/a?b=http://c/", RequestTarget::Origin("/a?b=http://c/")),
            (Method::GET, "//a/b", RequestTarget::Origin("//a/b")), // a path, not an authority
            (Method::GET, "http://a/b?c", absolute("http", "a", "/b?c")),
            (Method::GET, "HTTPS://A:443", absolute("https", "A:443", "/")),
            (Method::GET, "http://[::1]:80?q", absolute("http", "[::1]:80", "/?q")),
            (Method::GET, "http://a?b/c://d", absolute("http", "a", "/?b/c://d")),
            (Method::CONNECT, "a:443", RequestTarget::Authority("a:443")),
            (Method::OPTIONS, "*", RequestTarget::Asterisk),
            (Method::OPTIONS, "/a", RequestTarget::Origin("/a")),
        ];
        for (method, target, expected) in rows {
            assert_eq!(parse_target(&method, target), Ok(expected), "{method} {target}");
        }
    }

    #[test]
    fn options_for_the_whole_server_in_absolute_form_is_an_asterisk() {
        //= RFC 9112 section 3.2.4
        //# If a proxy receives an OPTIONS request with an absolute-form of request-target in which the URI has an empty
        //# path and no query component, then the last proxy on the request chain MUST send a request-target of "*"
        //# when it forwards the request to the indicated origin server.
        assert_eq!(parse_target(&Method::OPTIONS, "http://a:8001"), Ok(absolute("http", "a:8001", "*")));
        assert_eq!(parse_target(&Method::OPTIONS, "http://a/"), Ok(absolute("http", "a", "/")));
        assert_eq!(parse_target(&Method::OPTIONS, "http://a?b"), Ok(absolute("http", "a", "/?b")));
    }

    #[test]
    fn targets_of_no_form_are_refused() {
        use RequestError::{Authority, TargetForm};
        let rows = [
            (Method::GET, "*", TargetForm),
            (Method::GET, "a", TargetForm),
            (Method::GET, "a:80", TargetForm),
            (Method::GET, "?a", TargetForm),
            (Method::GET, "http:/a", TargetForm),
            (Method::GET, "ftp://a/", TargetForm),
            (Method::GET, "://a/", TargetForm),
            (Method::GET, "", TargetForm),
            (Method::GET, "http:///a", Authority),
            (Method::GET, "http://", Authority),
            (Method::GET, "http://user@a/", Authority),
            (Method::GET, "http://a\\b/", Authority),
            (Method::CONNECT, "a", TargetForm),
            (Method::CONNECT, "a:", TargetForm),
            (Method::CONNECT, "/", Authority),
            (Method::CONNECT, "http://a:80/", Authority),
        ];
        for (method, target, expected) in rows {
            assert_eq!(parse_target(&method, target), Err(expected), "{method} {target}");
        }
    }

    #[test]
    fn spellings_of_one_authority_are_one_text() {
        let rows = [
            ("example.org", "example.org"),
            ("EXAMPLE.org", "example.org"),
            ("example.org.", "example.org"),
            ("example.org:80", "example.org"),
            ("example.org.:0080", "example.org"),
            ("example.org:", "example.org"),
            (" example.org\t", "example.org"),
            ("example.org:8080", "example.org:8080"),
            ("192.0.2.1:81", "192.0.2.1:81"),
            ("[2001:DB8:0::1]:80", "[2001:db8::1]"),
            ("[::1]:443", "[::1]:443"),
            ("a_b-c~d", "a_b-c~d"),
            ("%41", "%41"),
        ];
        for (value, expected) in rows {
            let text = authority(value.as_bytes(), 80).unwrap();
            assert_eq!(text, expected);
            assert_eq!(authority(text.as_bytes(), 80).unwrap(), expected, "normalising twice");
        }
        assert_eq!(authority(b"a:80", 443).unwrap(), "a:80");
    }

    //= RFC 9112 section 3.2
    //# A server MUST respond with a 400 (Bad Request) status code to any HTTP/1.1 request message that lacks a Host
    //# header field and to any request message that contains more than one Host header field line or a Host header
    //# field with an invalid field value.
    #[test]
    fn what_is_not_a_host_and_a_port_is_refused() {
        let long = "a".repeat(HOST_BYTES_MAX + 1);
        let rows = [
            "",
            " ",
            ":80",
            ".",
            "..",
            "a..",
            "a b",
            "a,b c",
            "a/b",
            "a?b",
            "a#b",
            "a\\b",
            "user@a",
            "user:pw@a",
            "http://a",
            "a:b",
            "a:80:80",
            "a:-1",
            "a:+1",
            "a:65536",
            "a:8 0",
            "a%",
            "a%4",
            "a%zz",
            "a\"",
            "<a>",
            "a|b",
            "a\0",
            "ä",
            "::1",
            "[::1",
            "::1]",
            "[]",
            "[a]",
            "[::1]80",
            "[::1]x:80",
            "[fe80::1%25eth0]",
            "[v1.a]",
            "[::1]]",
            "[[::1]]",
            "a]",
            "a[",
            &long,
        ];
        for value in rows {
            assert_eq!(authority(value.as_bytes(), 80), Err(RequestError::Authority), "{value:?}");
        }
        assert_eq!(authority(b"a\xff", 80), Err(RequestError::Authority));
    }
}
