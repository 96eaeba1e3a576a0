//! Parses host names and host patterns.
//!
//! A pattern is a name, or `*.` and a name for everything below it. Patterns are compared with the host of a request
//! in lower case and without its port and trailing dot, so they are brought into that form here. IPv6 addresses keep
//! their brackets, as they have in `Host`. No other wildcards, and no conversion of international names: what a
//! browser sends is the `xn--` form.

use crate::issue::{ValueError, quoted};
use kasoku_options::HostPattern;
use std::net::Ipv6Addr;

/// The longest name, in bytes (RFC 1035 section 2.3.4, less the root).
const NAME_BYTES_MAX: usize = 253;
/// The longest part between two dots, in bytes (RFC 1035 section 2.3.4).
const LABEL_BYTES_MAX: usize = 63;

/// `example.org`, `*.example.org`, `[::1]`.
pub(crate) fn parse_pattern(text: &str) -> Result<HostPattern, ValueError> {
    let bad = |why: &str, help: String| ValueError::new(format!("{} is not a host pattern: {why}", quoted(text)), help);
    if let Some((_, rest)) = text.split_once("://") {
        let host = rest.split(['/', ':']).next().unwrap_or_default();
        return Err(bad("it is a URL", format!("write the host alone: {}", quoted(host))));
    }
    match text {
        "" => return Err(bad("it is empty", "leave `hosts` out to serve any host".to_owned())),
        "*" => return Err(bad("`*` alone is not needed", "leave `hosts` out to serve any host".to_owned())),
        _ => {}
    }
    if text.starts_with('[') {
        return parse_bracketed(text).map(HostPattern::Exact).ok_or_else(|| {
            bad(
                "between the brackets there must be an IPv6 address, and nothing after them",
                "like \"[::1]\"".to_owned(),
            )
        });
    }
    if let Some((host, port)) = text.rsplit_once(':')
        && !port.contains('.')
    {
        return Err(bad("a port is not allowed", format!("sites are chosen by name alone: write {}", quoted(host))));
    }
    if let Some(path_start) = text.find('/') {
        let host = text.get(..path_start).unwrap_or_default();
        return Err(bad("it has a path", format!("write {} and a rule for the path", quoted(host))));
    }
    let (name, below) = match text.strip_prefix("*.") {
        Some(name) => (name, true),
        None => (text, false),
    };
    if let Some(name) = name.strip_prefix('.') {
        return Err(bad(
            "it starts with a dot",
            format!("for all hosts below the name write {}", quoted(&format!("*.{name}"))),
        ));
    }
    if name.contains('*') {
        return Err(bad("`*` can only stand first, for whole labels", "like \"*.example.org\"".to_owned()));
    }
    let name = parse_name(name).map_err(|why| bad(&why, "like \"example.org\" or \"*.example.org\"".to_owned()))?;
    Ok(if below { HostPattern::Below(format!(".{name}")) } else { HostPattern::Exact(name) })
}

/// A name in lower case without its trailing dot, or why it is none.
pub(crate) fn parse_name(text: &str) -> Result<String, String> {
    let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
    if name.is_empty() {
        return Err("the name is empty".to_owned());
    }
    if !name.is_ascii() {
        return Err("it has letters outside ASCII; write international names in their `xn--` form".to_owned());
    }
    if let Some(c) = name.chars().find(|c| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))) {
        return Err(format!("{} does not belong in a name", quoted(&c.to_string())));
    }
    if name.len() > NAME_BYTES_MAX || name.split('.').any(|label| label.len() > LABEL_BYTES_MAX) {
        return Err(format!("names are at most {NAME_BYTES_MAX} bytes, {LABEL_BYTES_MAX} between two dots"));
    }
    if name.split('.').any(str::is_empty) {
        return Err("nothing stands between two dots".to_owned());
    }
    Ok(name)
}

/// Whether `earlier` matches every host that `later` matches.
pub(crate) fn covers(earlier: &HostPattern, later: &HostPattern) -> bool {
    match (earlier, later) {
        (HostPattern::Exact(earlier), HostPattern::Exact(later)) => earlier == later,
        (HostPattern::Exact(_), HostPattern::Below(_)) => false,
        (HostPattern::Below(suffix), HostPattern::Exact(later) | HostPattern::Below(later)) => {
            later.ends_with(suffix.as_str())
        }
    }
}

fn parse_bracketed(text: &str) -> Option<String> {
    let address: Ipv6Addr = text.strip_prefix('[')?.strip_suffix(']')?.parse().ok()?;
    Some(format!("[{address}]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> HostPattern {
        parse_pattern(text).unwrap()
    }

    #[test]
    fn patterns_come_out_as_requests_are_compared() {
        assert_eq!(pattern("Example.ORG."), HostPattern::Exact("example.org".to_owned()));
        assert_eq!(pattern("*.Example.org"), HostPattern::Below(".example.org".to_owned()));
        assert_eq!(pattern("[::0001]"), HostPattern::Exact("[::1]".to_owned()));
        assert_eq!(pattern("127.0.0.1"), HostPattern::Exact("127.0.0.1".to_owned()));
    }

    #[test]
    fn what_is_no_pattern_is_said_in_words() {
        for (text, words) in [
            ("", "empty"),
            ("*", "not needed"),
            ("example.org:8080", "a port is not allowed"),
            ("http://example.org/", "it is a URL"),
            ("example.org/blog", "it has a path"),
            (".example.org", "starts with a dot"),
            ("www.*.org", "only stand first"),
            ("*example.org", "only stand first"),
            ("*.", "the name is empty"),
            ("example..org", "between two dots"),
            ("exam ple.org", "does not belong"),
            ("bücher.example", "xn--"),
            ("[::1]:80", "between the brackets"),
        ] {
            let fault = parse_pattern(text).unwrap_err();
            assert!(fault.message.contains(words), "{text}: {}", fault.message);
        }
        assert!(parse_pattern(&"a".repeat(64)).is_err());
    }

    #[test]
    fn a_pattern_covers_what_it_matches_and_nothing_more() {
        for (earlier, later, expected) in [
            ("example.org", "example.org", true),
            ("example.org", "*.example.org", false),
            ("*.example.org", "example.org", false),
            ("*.example.org", "shop.example.org", true),
            ("*.example.org", "*.eu.example.org", true),
            ("*.eu.example.org", "*.example.org", false),
            ("*.example.org", "badexample.org", false),
        ] {
            assert_eq!(covers(&pattern(earlier), &pattern(later)), expected, "{earlier} over {later}");
        }
    }
}
