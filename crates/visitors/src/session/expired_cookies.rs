//! Expires a session cookie in the visitor's browser, by a Set-Cookie with a time in the past.
//!
//! A browser replaces a cookie only by one of the same name, path and domain, but a request tells only the name. So Set-Cookie goes
//! out for the path `/` several times: for the host alone, for the host as a domain, and for the domain behind `www.`.

use kasoku_semantics::cookies;
use kasoku_wire::Fields;

/// Follows the name of a cookie in a Set-Cookie that makes a browser drop it.
const OVER: &str = "=deleted; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=0; Path=/";

/// The values of Set-Cookie that end the session in a request to `authority`.
pub fn lines(names: &[String], request: &Fields, authority: &str) -> Vec<Vec<u8>> {
    let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
    let is_name = host.contains('.') && !host.starts_with('[') && host.contains(|c: char| c.is_ascii_alphabetic());
    let mut domains: Vec<Option<&str>> = vec![None];
    if is_name {
        domains.push(Some(host));
        domains.extend(host.strip_prefix("www.").map(Some));
    }
    let mut found: Vec<&[u8]> = cookies::pairs(request).map(cookies::name).collect();
    found.retain(|name| cookies::is_any(names, name));
    found.sort_unstable();
    found.dedup();
    let mut lines = Vec::new();
    for name in found {
        for domain in &domains {
            let mut line = [name, OVER.as_bytes()].concat();
            if let Some(domain) = domain {
                line.extend_from_slice(b"; Domain=");
                line.extend_from_slice(domain.as_bytes());
            }
            lines.push(line);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_session_cookie_of_the_request_is_ended_in_each_domain_that_may_have_set_it() {
        let request: Fields = [("Cookie", "a=1; PHPSESSID=2; PHPSESSID=3")].into_iter().collect();
        let names = ["PHPSESSID".to_owned(), "other".to_owned()];
        let shown = |authority| {
            let lines = lines(&names, &request, authority);
            lines.into_iter().map(|line| String::from_utf8(line).unwrap()).collect::<Vec<_>>()
        };
        let over = "PHPSESSID=deleted; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=0; Path=/";
        assert_eq!(shown("127.0.0.1:8080"), [over]);
        assert_eq!(shown("[::1]:80"), [over]);
        assert_eq!(shown("board.org"), [over.to_owned(), format!("{over}; Domain=board.org")]);
        assert_eq!(shown("www.board.org:8080").last(), Some(&format!("{over}; Domain=board.org")));
    }
}
