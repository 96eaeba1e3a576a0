//! Finds what a response to an unsafe method makes invalid (RFC 9111 section 4.4): the target, and the URIs in Location and
//! Content-Location, if they are of the same origin.

use http::{Method, StatusCode};
use kasoku_wire::Fields;
use url::{Position, Url};

/// The most URIs that one response can invalidate besides its target: a response has one Location and one
/// Content-Location.
pub const URIS_MAX: usize = 4;

/// Whether a response of that status to that method invalidates what is stored: the method is unsafe or unknown, and the response
/// is no error.
//= RFC 9111 section 4.4
//# A cache MUST invalidate the target URI (Section 7.1 of [HTTP]) when it receives a non-error status code in response
//# to an unsafe request method (including methods whose safety is unknown).
pub fn invalidates(method: &Method, status: StatusCode) -> bool {
    !method.is_safe() && (status.is_success() || status.is_redirection())
}

/// The absolute URIs that `response` names besides the target, without fragments. `request_uri` is absolute.
pub fn invalidated_uris(request_uri: &str, response: &Fields) -> Vec<String> {
    let Ok(target) = Url::parse(request_uri) else { return Vec::new() };
    let values = ["location", "content-location"].into_iter().flat_map(|name| response.all(name));
    let uris = values.take(URIS_MAX).filter_map(|value| resolve(&target, value));
    let mut uris: Vec<String> = uris.filter(|uri| uri != request_uri).collect();
    uris.dedup();
    uris
}

/// Path and query of the Location of a response to a request for that URI. The host of the Location does not count: behind another
/// proxy, the application may name another host.
pub fn location_target(request_uri: &str, response: &Fields) -> Option<String> {
    let location = std::str::from_utf8(response.only("location")?).ok()?;
    let url = Url::parse(request_uri).ok()?.join(location).ok()?;
    Some(url[Position::BeforePath..Position::AfterQuery].to_owned())
}

/// Whether a redirection only says how the URL is spelt: with a slash at its end, or under another scheme or host. Servers answer
/// so before any program has run, so the request has changed nothing. A program that has changed something answers with 302 or 303,
/// and may well lead to the same URL.
pub fn only_respells(request_uri: &str, status: StatusCode, response: &Fields) -> bool {
    let is_permanent = matches!(
        status,
        StatusCode::MOVED_PERMANENTLY | StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
    );
    let paths = || {
        let own = Url::parse(request_uri).ok()?;
        let to = own.join(std::str::from_utf8(response.only("location")?).ok()?).ok()?;
        let rest = to.path().strip_prefix(own.path())?;
        Some(rest.is_empty() || rest == "/")
    };
    is_permanent && paths().unwrap_or(false)
}

fn resolve(target: &Url, value: &[u8]) -> Option<String> {
    let mut uri = target.join(std::str::from_utf8(value).ok()?).ok()?;
    uri.set_fragment(None);
    //= RFC 9111 section 4.4
    //# However, a cache MUST NOT trigger an invalidation under these conditions if the origin (Section 4.3.1 of [HTTP])
    //# of the URI to be invalidated differs from that of the target URI (Section 7.1 of [HTTP]).
    (uri.origin() == target.origin()).then(|| uri.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const URI: &str = "http://example.org/a/b?c";

    fn named(name: &str, value: &str) -> Vec<String> {
        invalidated_uris(URI, &[(name, value)].into_iter().collect())
    }

    #[test]
    fn a_redirection_to_the_same_path_for_good_says_how_it_is_spelt() {
        for (status, location, expected) in [
            (301, "http://example.org/a/b/?c", true),
            (301, "/a/b/", true),
            (308, "https://www.example.org/a/b?c", true),
            (307, "https://example.org/a/b?c", true),
            (302, "https://example.org/a/b?c", false),
            (303, "/a/b?c", false),
            (301, "/a/bc", false),
            (301, "/a/b/c", false),
            (301, "/a/", false),
            (301, "http://[", false),
        ] {
            let fields: Fields = [("Location", location)].into_iter().collect();
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(only_respells(URI, status, &fields), expected, "{status} {location}");
        }
        assert!(!only_respells(URI, StatusCode::MOVED_PERMANENTLY, &Fields::new()));
    }

    #[test]
    fn unsafe_and_unknown_methods_invalidate_unless_they_failed() {
        //= RFC 9111 section 4.4
        //# A cache MUST invalidate the target URI (Section 7.1 of [HTTP]) when it receives a non-error status code in response
        //# to an unsafe request method (including methods whose safety is unknown).
        for method in ["POST", "PUT", "DELETE", "PATCH", "M-SEARCH"] {
            let method: Method = method.parse().unwrap();
            assert!(invalidates(&method, StatusCode::NO_CONTENT) && invalidates(&method, StatusCode::SEE_OTHER));
            assert!(!invalidates(&method, StatusCode::NOT_FOUND) && !invalidates(&method, StatusCode::BAD_GATEWAY));
        }
        for method in [Method::GET, Method::HEAD, Method::OPTIONS, Method::TRACE] {
            assert!(!invalidates(&method, StatusCode::OK));
        }
    }

    #[test]
    fn the_target_of_a_location_is_its_path_and_query() {
        for (location, target) in [
            ("d?e#f", Some("/a/d?e")),
            ("https://other.example:8443/x?bo_table=free&wr_id=1&&#c_6", Some("/x?bo_table=free&wr_id=1&&")),
            ("?d", Some("/a/b?d")),
            ("http://other.example", Some("/")),
            ("http://[", None),
        ] {
            let fields = [("Location", location)].into_iter().collect();
            assert_eq!(location_target(URI, &fields).as_deref(), target, "{location}");
        }
        assert_eq!(location_target(URI, &Fields::new()), None);
    }

    #[test]
    fn location_and_content_location_are_resolved() {
        assert_eq!(named("Location", "d#e"), ["http://example.org/a/d"]);
        assert_eq!(named("Content-Location", "/d?e"), ["http://example.org/d?e"]);
        assert_eq!(named("Location", "http://example.org:80/d"), ["http://example.org/d"]);
        assert_eq!(named("Location", ""), [""; 0]);
    }

    #[test]
    fn another_origin_is_left_alone() {
        //= RFC 9111 section 4.4
        //# However, a cache MUST NOT trigger an invalidation under these conditions if the origin (Section 4.3.1 of [HTTP])
        //# of the URI to be invalidated differs from that of the target URI (Section 7.1 of [HTTP]).
        for other in
            ["http://example.com/d", "https://example.org/d", "http://example.org:81/d", "//x/d", "data:x", "http://"]
        {
            assert_eq!(named("Location", other), [""; 0], "{other}");
        }
        assert_eq!(invalidated_uris("nonsense", &[("Location", "/d")].into_iter().collect()), [""; 0]);
    }

    #[test]
    fn their_number_is_bounded() {
        let many = (0..100).map(|n| ("Location", format!("/{n}"))).collect();
        assert_eq!(invalidated_uris(URI, &many).len(), URIS_MAX);
    }
}
