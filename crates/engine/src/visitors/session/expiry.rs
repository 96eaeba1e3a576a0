//! Expires a session cookie in the visitor's browser, by a Set-Cookie with a time in the past.
//!
//! For visitors to whom the application handed a session when it handed one to everybody. A cookie is replaced only by one of the same
//! name, path and domain, and a request tells none but the name: so it goes out for the path `/`, for the host alone, for the
//! host as a domain, and for the domain behind `www.`. It goes only into an answer that nobody is to keep.

use crate::exchange::Exchange;
use crate::exchange::answer::Answer;
use crate::sites::ActiveRoute;
use kasoku_semantics::cookies;
use kasoku_semantics::downstream::is_never_stored;
use kasoku_semantics::reason::Reason;
use kasoku_wire::Fields;
use std::sync::Arc;

/// What makes a browser drop a cookie, behind its name.
const OVER: &str = "=deleted; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=0; Path=/";

/// Ends the session of a request that is answered now, where it is over.
pub(crate) fn end_if_over(exchange: &Exchange, answer: &Answer) {
    let Some(standing) = exchange.seen.get().standing else { return };
    let passes = exchange.existing_extras().and_then(|extras| Some(extras.session.as_ref()?.reason));
    // What passes for another reason may be about to make somebody of it.
    if !standing.is_over || passes.is_some_and(|reason| reason != Reason::PassSession) {
        return;
    }
    let fields = match answer {
        Answer::Stored(entry, _) => &entry.meta.head.fields,
        Answer::Filling(meta, ..) => &meta.head.fields,
        Answer::Origin(response, ..) => &response.head.fields,
        _ => return,
    };
    let is_still_over = |route: &&Arc<ActiveRoute>| {
        let (sessions, now_ms) = (&exchange.worker.sessions, exchange.worker.now().mono_ms);
        sessions.is_still_over(standing.id, passes.is_some(), &route.session, now_ms)
    };
    if let Some(route) = exchange.route.as_ref().filter(|_| is_never_stored(fields)).filter(is_still_over) {
        let authority = exchange.uri.split('/').nth(2).unwrap_or_default();
        let ended = lines(&route.session.cookies, &exchange.request.head.fields, authority);
        let mut extras = exchange.extras();
        extras.notes.session("expired");
        extras.own_cookies.extend(ended);
    }
}

/// The values of Set-Cookie that end the session which a request to that authority carries.
pub(crate) fn lines(names: &[String], request: &Fields, authority: &str) -> Vec<Vec<u8>> {
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
