//! Reads the cookies that a response sets, and decides which of them are dropped so that the response can be stored.
//!
//! Many applications open a session for each visitor, so each page sets a cookie and could never be stored. If the request was
//! anonymous (see `grant`), the new session belongs to no visitor: its cookie may be dropped, and the page stored. Kasoku drops
//! only cookies that the operator lists ([`Grant::dropped_cookies`](crate::grant::Grant::dropped_cookies)), or all cookies where
//! `set-cookie` is ignored, and cookies that the response deletes (see [`deleted_cookies`](crate::deleted_cookies)). A cookie with any other
//! name keeps the response from being stored.
//!
//! A session's id may stand in the page as well: in links (`?PHPSESSID=…`), in a form, in Location. All clients that got the page
//! from the cache would share that session, and a login in it. So the values of dropped cookies are
//! [`Secrets`](crate::secrets::Secrets): a response that contains one of them goes only to the client that asked.

use crate::Policy;
use crate::cookies;
use crate::deleted_cookies::DeletedCookies;
use crate::grant::Ignored;
pub(crate) use crate::set_cookie_line::is_set_cookie;
pub use crate::set_cookie_line::{pair, sets_cookie};
use kasoku_wire::field::list::trim;
use kasoku_wire::{Fields, RequestHead, ResponseHead};

/// Whether the field of that name is removed from a response that is stored: a cookie is one visitor's.
pub(crate) fn is_stripped(name: &[u8], policy: &Policy) -> bool {
    policy.protects_visitors() && is_set_cookie(name)
}

/// The names of the cookies that a response sets.
pub fn names(response: &Fields) -> impl Iterator<Item = &[u8]> {
    response.iter().filter(|(name, _)| is_set_cookie(name)).map(|(_, line)| pair(line).0)
}

/// Whether a response keeps the cookie of that name from scripts (RFC 6265 section 5.2.6).
pub fn is_http_only(response: &Fields, cookie: &[u8]) -> bool {
    let is_marked = |line: &[u8]| {
        let mut attributes = line.split(|byte| *byte == b';').skip(1);
        attributes.any(|one| {
            let name = one.split(|byte| *byte == b'=').next().unwrap_or_default();
            trim(name).eq_ignore_ascii_case(b"httponly")
        })
    };
    response.iter().any(|(name, line)| is_set_cookie(name) && pair(line).0 == cookie && is_marked(line))
}

/// Whether a cookie's name is like those that frameworks give to the cookie of a session.
pub fn names_a_session(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["sess", "sid", "auth", "token", "logged_in"].iter().any(|part| name.contains(part))
}

/// Whether a name is that of a token against request forgery, such as Django's `csrftoken` and Laravel's `XSRF-TOKEN`. A client
/// that sends a form has to have the form's token in a cookie as well.
pub fn names_forgery_token(name: impl AsRef<[u8]>) -> bool {
    let has = |part: &[u8]| name.as_ref().windows(part.len()).any(|window| window.eq_ignore_ascii_case(part));
    has(b"csrf") || has(b"xsrf")
}

/// Whether the field sets a cookie that the operator lists as one to drop. `line` is the field's value.
pub(crate) fn is_dropped(name: &[u8], line: &[u8], policy: &Policy) -> bool {
    // Set-Cookie2 is obsolete, and what dropping it would mean is not defined.
    let listed = &policy.grant.dropped_cookies;
    !listed.is_empty() && name.eq_ignore_ascii_case(b"set-cookie") && cookies::is_any(listed, pair(line).0)
}

/// The Set-Cookie lines that are dropped when the response to `request` (as sent to the origin) is stored.
pub fn dropped<'r>(
    request: &RequestHead,
    response: &'r ResponseHead,
    policy: &'r Policy,
) -> impl Iterator<Item = &'r [u8]> {
    let all = policy.grant.ignore.contains(&Ignored::SetCookie);
    let holds = policy.grant.holds_for(request);
    let deleted = DeletedCookies::of(request, response, policy);
    let is_dropped = move |name: &[u8], line: &[u8]| {
        is_dropped(name, line, policy) || (all && is_set_cookie(name)) || deleted.have(name, line, &response.fields)
    };
    response.fields.iter().filter(move |(name, line)| holds && is_dropped(name, line)).map(|(_, line)| line)
}

/// The names of the cookies that a response sets and that are dropped neither by name nor because it deletes them: unless `set-cookie` is
/// ignored, they keep the response from being stored.
pub fn not_dropped<'r>(
    request: &RequestHead,
    response: &'r ResponseHead,
    policy: &'r Policy,
) -> impl Iterator<Item = &'r [u8]> {
    let holds = policy.grant.holds_for(request);
    let deleted = DeletedCookies::of(request, response, policy);
    let is_dropped = move |name: &[u8], line: &[u8]| {
        holds && (is_dropped(name, line, policy) || deleted.have(name, line, &response.fields))
    };
    let lines = response.fields.iter().filter(move |(name, line)| is_set_cookie(name) && !is_dropped(name, line));
    lines.map(|(_, line)| pair(line).0)
}

/// The Cookie field of a browser's next request: the cookies of `request`, replaced and completed by those that `response` sets.
pub fn cookies_after(request: &Fields, response: &Fields) -> Fields {
    let pair = |line| cookies::pairs_of(line).next();
    let set: Vec<&[u8]> = response.all("set-cookie").filter_map(pair).collect();
    let is_of = |pair: &&[u8], other: &[u8]| cookies::name(pair) == cookies::name(other);
    let mut pairs: Vec<&[u8]> = cookies::pairs(request).collect();
    for pair in set {
        match pairs.iter_mut().find(|sent| is_of(sent, pair)) {
            Some(sent) => *sent = pair,
            None => pairs.push(pair),
        }
    }
    [("Cookie", pairs.join(&b"; "[..]))].into_iter().collect()
}

/// Whether a response sets a cookie of the request to another value.
pub fn replaces_any(request: &Fields, response: &Fields) -> bool {
    let set = response.all("set-cookie").filter_map(|line| cookies::pairs_of(line).next());
    let is_other = |pair: &[u8], sent: &[u8]| cookies::name(pair) == cookies::name(sent) && pair != sent;
    set.into_iter().any(|pair| cookies::pairs(request).any(|sent| is_other(pair, sent)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::Secrets;
    use crate::testing::{dropping, get, ok, safe};
    use crate::{Reason, freshness, storable};

    fn stores(response: &ResponseHead, policy: &Policy) -> Result<(), Reason> {
        let now = crate::testing::NOW;
        storable(&get(), response, &freshness(&get(), response, now, now, policy), policy)
    }

    #[test]
    fn a_line_sets_one_cookie() {
        for (line, name, value) in [
            ("PHPSESSID=abc; path=/", "PHPSESSID", "abc"),
            (" a = \"b c\" ;x", "a", "b c"),
            ("a=b=c", "a", "b=c"),
            ("lonely", "", "lonely"),
            ("", "", ""),
        ] {
            assert_eq!(pair(line.as_bytes()), (name.as_bytes(), value.as_bytes()), "{line}");
        }
    }

    #[test]
    fn a_cookie_is_kept_from_scripts_by_an_attribute() {
        let page = ok().with("Set-Cookie", "a=1; path=/; httponly").with("Set-Cookie", "b=HttpOnly; Secure");
        assert!(is_http_only(&page.fields, b"a") && !is_http_only(&page.fields, b"b"));
    }

    #[test]
    fn only_what_is_listed_is_dropped() {
        let policy = dropping();
        let session = ok().with("Set-Cookie", "PHPSESSID=0123456789abcdef; path=/").with("Set-Cookie", "ck_visit=1");
        assert_eq!(stores(&session, &policy), Ok(()));
        assert_eq!(dropped(&get(), &session, &policy).count(), 2);
        for line in ["sso=1", "phpsessid=1", "=PHPSESSID", "xPHPSESSID=1"] {
            let other = session.clone().with("Set-Cookie", line);
            assert_eq!(stores(&other, &policy), Err(Reason::SetCookie), "{line}");
            assert_eq!(not_dropped(&get(), &other, &policy).count(), 1, "{line}");
        }
        assert_eq!(stores(&ok().with("Set-Cookie2", "PHPSESSID=1"), &policy), Err(Reason::SetCookie));
    }

    #[test]
    fn nothing_is_dropped_from_the_answer_to_a_visitor_with_a_cookie() {
        let policy = dropping();
        let session = ok().with("Set-Cookie", "PHPSESSID=0123456789abcdef");
        let with_cookie = get().with("Cookie", "a=b");
        assert_eq!(dropped(&with_cookie, &session, &policy).count(), 0);
        assert!(Secrets::of(&with_cookie, &session, &policy).is_empty());
        let mut silent = policy;
        silent.grant.ttl_seconds = 0;
        assert_eq!(dropped(&get(), &session, &silent).count(), 0, "where nothing is granted");
    }

    #[test]
    fn with_set_cookie_ignored_all_values_are_secrets() {
        let mut policy = safe();
        policy.grant.ttl_override_seconds = 60;
        policy.grant.ignore = vec![Ignored::SetCookie];
        let response = ok().with("Set-Cookie", "anything=0123456789abcdef");
        assert_eq!(stores(&response, &policy), Ok(()));
        assert!(Secrets::of(&get(), &response, &policy).occur_in(b"0123456789abcdef"));
    }
}
