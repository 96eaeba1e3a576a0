//! Fuzz target for the request-target and the authority, which select the site and are part of the key. Input: `METHOD target`; the
//! text of the target is also parsed as the value of Host.

use http::Method;
use kasoku_wire::target::{RequestTarget, authority, parse_target, write_authority};
use url::Url;

pub(crate) fn run(data: &[u8]) {
    let at = data.iter().position(|byte| *byte == b' ').unwrap_or(0);
    let (method, rest) = data.split_at(at);
    let rest = rest.strip_prefix(b" ").unwrap_or(rest);
    host(rest);
    let is_target = !rest.is_empty() && rest.iter().all(|byte| byte.is_ascii_graphic() && *byte != b'#');
    if let (true, Ok(text)) = (is_target, std::str::from_utf8(rest)) {
        let method = Method::from_bytes(method).unwrap_or(Method::GET);
        for method in [method, Method::GET, Method::OPTIONS, Method::CONNECT] {
            target(&method, text);
        }
    }
}

/// An accepted authority has one spelling, and contains no byte at which another parser could end the host.
fn host(value: &[u8]) {
    let mut appended = "before".to_owned();
    let Ok(text) = authority(value, 80) else {
        assert!(write_authority(value, 80, &mut appended).is_err());
        assert_eq!(appended, "before", "a refused authority left something behind");
        return;
    };
    assert_eq!(write_authority(value, 80, &mut appended), Ok(()));
    assert_eq!(appended.strip_prefix("before"), Some(&text[..]));
    assert_eq!(authority(text.as_bytes(), 80).as_deref(), Ok(&text[..]), "normalising twice changes something");
    assert_eq!(authority(&value.to_ascii_uppercase(), 80).as_deref(), Ok(&text[..]), "case matters");
    assert_eq!(authority(&[b" \t", value, b" "].concat(), 80).as_deref(), Ok(&text[..]), "white space matters");
    assert!(!text.is_empty() && text.len() <= 254 + ":65535".len());
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-._~%:[]".contains(&byte);
    assert!(text.bytes().all(is_plain), "{text} holds what could end a host");
    assert!(!text.ends_with(":80"), "{text} has the default port");
}

fn target(method: &Method, text: &str) {
    match parse_target(method, text) {
        Ok(RequestTarget::Origin(path)) => assert!(path == text && path.starts_with('/') && *method != Method::CONNECT),
        Ok(RequestTarget::Absolute { scheme, authority: named, path_and_query }) => {
            assert!(matches!(scheme, "http" | "https") && *method != Method::CONNECT);
            assert!(path_and_query.starts_with('/') || (path_and_query == "*" && *method == Method::OPTIONS));
            let host = authority(named.as_bytes(), 80).expect("an authority that was accepted");
            let path = if path_and_query == "*" { "" } else { &path_and_query };
            let again = format!("{scheme}://{named}{path}");
            let expected = RequestTarget::Absolute { scheme, authority: named, path_and_query: path_and_query.clone() };
            assert_eq!(parse_target(method, &again), Ok(expected));
            read_by_another(text, scheme, &host);
        }
        Ok(RequestTarget::Authority(named)) => assert!(named == text && *method == Method::CONNECT),
        Ok(RequestTarget::Asterisk) => assert!(text == "*" && *method == Method::OPTIONS),
        Err(error) => assert_eq!(error.status().as_u16(), 400),
    }
}

/// A browser's URL parser finds the same host, if it accepts the URI and does not transform the name: it decodes escapes, maps
/// internationalised names and takes numbers for addresses.
fn read_by_another(text: &str, scheme: &str, host: &str) {
    let Ok(other) = Url::parse(text) else { return };
    assert_eq!(other.scheme(), scheme);
    let is_transformed = host.contains('%') || host.contains("xn--");
    match other.host() {
        Some(url::Host::Domain(domain)) if !is_transformed => {
            assert_eq!(domain.trim_end_matches('.'), host.split(':').next().unwrap_or_default());
        }
        Some(url::Host::Ipv6(address)) => assert!(host.starts_with(&format!("[{address}]"))),
        _ => {}
    }
}
