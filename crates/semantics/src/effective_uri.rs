//! Reads and normalises the effective request URI (RFC 9110 section 7.1), of which a key is made: `scheme://authority/path?query`.
//!
//! The origin is asked for the path and query that are in the key. So what an operator leaves out of the key ([`QueryKey`],
//! parameters of path segments) is left out of the origin's request as well, and cannot change a response that other clients get.

use crate::glob::is_match;
use kasoku_wire::RequestHead;
use kasoku_wire::http1::RequestError;
use kasoku_wire::target::{RequestTarget, parse_target};
use smallvec::SmallVec;
use std::borrow::Cow;

/// How the query enters the key. What is dropped from the key is dropped from the origin's request as well.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct QueryKey {
    /// Sort the parameters by name (stable). Default false.
    pub sort: bool,
    /// Parameters that are removed, as globs over names: `utm_*`, `fbclid`. Default none.
    pub ignore: Vec<String>,
    /// Where a lifetime is granted: the parameters that pages take, as globs over names. A URL with any other parameter passes.
    /// Empty: all parameters are taken.
    pub known: Vec<String>,
}

/// The URI that a request asks for, by its request-target and `Host`, before normalisation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedUri<'r> {
    /// Host and port; `None`: the request names no host.
    pub host: Option<&'r [u8]>,
    /// Path and query, or `*`.
    pub target: Cow<'r, str>,
    /// `http` or `https`, where the request-target names one.
    pub scheme: Option<&'r str>,
}

impl<'r> RequestedUri<'r> {
    /// Reads the URI that `head` asks for.
    ///
    /// # Errors
    /// The request-target has no form that fits the method, or is that of CONNECT.
    //= RFC 9112 section 3.2.2
    //# When a proxy receives a request with an absolute-form of request-target, the proxy MUST ignore the received Host header
    //# field (if any) and instead replace it with the host information of the request-target.
    #[inline]
    pub fn of(head: &'r RequestHead) -> Result<Self, RequestError> {
        let host = head.fields.first("host");
        Ok(match parse_target(&head.method, &head.target)? {
            RequestTarget::Origin(target) => Self { host, target: Cow::Borrowed(target), scheme: None },
            RequestTarget::Absolute { scheme, authority, path_and_query } => {
                Self { host: Some(authority.as_bytes()), target: path_and_query, scheme: Some(scheme) }
            }
            RequestTarget::Asterisk => Self { host, target: Cow::Borrowed("*"), scheme: None },
            RequestTarget::Authority(_) => return Err(RequestError::TargetForm),
        })
    }
}

/// The parts of an effective request URI; `None`: `uri` is not one.
pub fn split(uri: &str) -> Option<UriParts<'_>> {
    let scheme_end = uri.find("://")?;
    let authority_start = scheme_end + "://".len();
    let length = uri.get(authority_start..)?.find(['/', '*'])?;
    let (base, target) = uri.split_at_checked(authority_start + length)?;
    Some(UriParts { scheme: base.get(..scheme_end)?, authority: base.get(authority_start..)?, base, target })
}

/// The parts of an effective request URI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UriParts<'u> {
    /// `http` or `https`.
    pub scheme: &'u str,
    /// Host and port.
    pub authority: &'u str,
    /// Scheme and authority: `http://example.org`.
    pub base: &'u str,
    /// Path and query, or `*`.
    pub target: &'u str,
}

/// A target without the path parameters of these names (globs): `/a;jsessionid=1/b` becomes `/a/b`.
pub fn without_path_parameters<'t>(target: &'t str, names: &[String]) -> Cow<'t, str> {
    if names.is_empty() {
        return Cow::Borrowed(target);
    }
    let path_end = target.find('?').unwrap_or(target.len());
    let (path, query) = target.split_at_checked(path_end).unwrap_or((target, ""));
    if !path.contains(';') {
        return Cow::Borrowed(target);
    }
    let is_kept = |parameter: &&str| !names.iter().any(|glob| is_match(glob.as_bytes(), name(parameter).as_bytes()));
    let mut kept = String::with_capacity(target.len());
    for (number, segment) in path.split('/').enumerate() {
        if number > 0 {
            kept.push('/');
        }
        let mut parameters = segment.split(';');
        kept.push_str(parameters.next().unwrap_or_default());
        for parameter in parameters.filter(is_kept) {
            kept.push(';');
            kept.push_str(parameter);
        }
    }
    kept.push_str(query);
    Cow::Owned(kept)
}

/// How many parameters of a query are sorted without an allocation.
const PARAMETERS_ON_STACK: usize = 32;

/// Appends a target whose query is normalised by `rule`.
pub fn write_normalised(target: &str, rule: &QueryKey, out: &mut String) {
    let parts = if rule.sort || !rule.ignore.is_empty() { target.split_once('?') } else { None };
    let Some((path, query)) = parts else { return out.push_str(target) };
    let is_kept = |pair: &&str| !rule.ignore.iter().any(|glob| is_match(glob.as_bytes(), name(pair).as_bytes()));
    let mut pairs: SmallVec<[&str; PARAMETERS_ON_STACK]> = query.split('&').filter(is_kept).collect();
    if rule.sort {
        pairs.sort_by_key(|pair| name(pair));
    }
    out.push_str(path);
    for (separator, pair) in std::iter::once('?').chain(std::iter::repeat('&')).zip(pairs) {
        out.push(separator);
        out.push_str(pair);
    }
}

/// A parameter's name.
fn name(pair: &str) -> &str {
    pair.split_once('=').map_or(pair, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_sorted_and_stripped_only_by_rule() {
        let ignore = vec!["utm_*".to_owned(), "fbclid".to_owned()];
        let rule = QueryKey { sort: true, ignore, ..QueryKey::default() };
        let normalised = |target: &str, rule: &QueryKey| {
            let mut out = String::new();
            write_normalised(target, rule, &mut out);
            out
        };
        assert_eq!(normalised("/p?b=2&a=1&b=1", &QueryKey::default()), "/p?b=2&a=1&b=1");
        assert_eq!(normalised("/p?b=2&utm_x=1&a=1&fbclid=9&b=1", &rule), "/p?a=1&b=2&b=1");
        assert_eq!(normalised("/p?utm_x=1", &rule), "/p");
        assert_eq!(normalised("/p", &rule), "/p");
    }

    #[test]
    fn a_uri_falls_into_its_parts() {
        let parts = |uri| split(uri).map(|parts| (parts.scheme, parts.authority, parts.target));
        assert_eq!(parts("http://a.example:8080/b?c=/d"), Some(("http", "a.example:8080", "/b?c=/d")));
        assert_eq!(parts("https://[::1]*"), Some(("https", "[::1]", "*")));
        assert_eq!(parts("http://a.example"), None);
        assert_eq!(parts("/b"), None);
    }

    #[test]
    fn an_absolute_request_target_outweighs_host() {
        let head = |target: &str| RequestHead::new(http::Method::GET, target).with("Host", "b.example");
        let absolute = head("https://a.example/c");
        let asked = RequestedUri::of(&absolute).unwrap();
        assert_eq!((asked.host, &*asked.target, asked.scheme), (Some(&b"a.example"[..]), "/c", Some("https")));
        let origin = head("/c");
        let asked = RequestedUri::of(&origin).unwrap();
        assert_eq!((asked.host, &*asked.target, asked.scheme), (Some(&b"b.example"[..]), "/c", None));
    }

    #[test]
    fn parameters_of_the_path_are_stripped_by_name_alone() {
        let names = ["jsessionid".to_owned(), "sid*".to_owned()];
        for (target, kept) in [
            ("/a;jsessionid=1", "/a"),
            ("/a;jsessionid=1/b;v=2;sid3=4?x;jsessionid=5", "/a/b;v=2?x;jsessionid=5"),
            ("/;jsessionid", "/"),
            ("/a;v=1", "/a;v=1"),
            ("*", "*"),
        ] {
            assert_eq!(without_path_parameters(target, &names), kept);
        }
    }
}
