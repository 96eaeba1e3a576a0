//! Searches a response for the values of cookies that were dropped from it.
//!
//! [`set_cookies`](crate::set_cookies) decides which cookies are dropped, `parts` which parts of a value may stand in a page by
//! themselves, and `encoded` how a page may write them. Each text that is searched for costs a pass over the whole page. So a text
//! that contains another such text is left out: the shorter one is found wherever the longer one stands.

mod base64;
mod parts;
mod secret;

use crate::Policy;
use crate::cookies;
use crate::set_cookies::is_set_cookie;
use crate::set_cookies::{dropped, names_a_session, pair};
use kasoku_wire::{Fields, RequestHead, ResponseHead};
use percent_encoding::percent_decode;
use secret::Secret;
use std::borrow::Cow;

/// The length in bytes of the shortest value that is searched for everywhere, even within words. Shorter values such as `1`, `ko`
/// or `deleted` stand in any page; they are searched for only if the operator lists the cookie as a session's ([`Secret::short`]).
const SECRET_BYTES_MIN: usize = 8;

/// The fewest digits of a number that is searched for. A shorter number may be a time, unless the cookie is a session's.
const SECRET_DIGITS_MIN: usize = 16;

/// The most digits of a date and time, with nanoseconds and an offset from UTC, and the most digits in a row.
const DATE_DIGITS_MAX: usize = 27;
const DATE_RUN_MAX: usize = 9;

/// The most values and parts that are searched for, since each costs a pass over the whole page. If there are more, each page
/// counts as containing one.
const SECRETS_MAX: usize = 64;

/// The values of the dropped cookies and parts of them, as they may stand in a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Secrets {
    values: Vec<Secret>,
    /// More values and parts exist than are searched for.
    are_too_many: bool,
}

impl Secrets {
    /// The secrets in the response to `request` (as sent to the origin). A value that stands in the request's URL is no secret,
    /// unless it is a session's: the URL is in the key, so each client that gets the page has sent the value (`/board?name=free`,
    /// with a cookie that stores the last board).
    pub fn of(request: &RequestHead, response: &ResponseHead, policy: &Policy) -> Self {
        let mut secrets = Self::default();
        for line in dropped(request, response, policy) {
            let (name, value) = pair(line);
            let decoded: Cow<'_, [u8]> = percent_decode(value).into();
            let is_listed = cookies::is_any(&policy.grant.session_cookies, name);
            let is_sessions = is_listed || names_a_session(&String::from_utf8_lossy(name));
            let mut add = |one: Secret| {
                if is_sessions || !one.stands_in(request.target.as_bytes()) {
                    secrets.add(one);
                }
            };
            for one in [value, &*decoded] {
                if is_secret(one, is_sessions) {
                    add(Secret::long(name, one));
                } else if is_listed {
                    Secret::short(name, one).into_iter().for_each(&mut add);
                }
            }
            parts::each(&decoded, is_sessions, |part| add(Secret::long(name, part)));
        }
        secrets
    }

    fn add(&mut self, new: Secret) {
        if self.values.iter().any(|one| one.is_within(&new)) {
            return;
        }
        self.values.retain(|one| !new.is_within(one));
        if self.values.len() == SECRETS_MAX {
            self.are_too_many = true;
            return;
        }
        self.values.push(new);
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Whether one of the values stands in `bytes`, as it is or encoded as pages encode it.
    pub fn occur_in(&self, bytes: &[u8]) -> bool {
        self.are_too_many || self.values.iter().any(|secret| secret.stands_in(bytes))
    }

    /// The name of the cookie whose value stands in these bytes.
    pub fn cookie_in(&self, bytes: &[u8]) -> Option<&[u8]> {
        self.values.iter().find(|secret| secret.stands_in(bytes)).map(Secret::cookie)
    }

    /// Whether one of the values stands in the value of a field.
    pub fn occur_in_fields(&self, fields: &Fields) -> bool {
        fields.iter().any(|(_, value)| self.occur_in(value))
    }

    /// Whether one of the values stands in a field of the response, except those that set cookies.
    pub fn occur_in_head(&self, response: &ResponseHead) -> bool {
        response.fields.iter().any(|(name, value)| !is_set_cookie(name) && self.occur_in(value))
    }

    /// The name of the cookie whose value stands in a field of the response, except those that set cookies.
    pub fn cookie_in_head(&self, response: &ResponseHead) -> Option<&[u8]> {
        let others = response.fields.iter().filter(|(name, _)| !is_set_cookie(name));
        others.filter_map(|(_, value)| self.cookie_in(value)).next()
    }
}

fn is_secret(value: &[u8], is_sessions: bool) -> bool {
    value.len() >= SECRET_BYTES_MIN && (is_sessions || !may_be_known(value))
}

/// Whether a value that is no session's is of a kind that stands in many pages: a time or a language.
fn may_be_known(value: &[u8]) -> bool {
    may_be_a_time(value) || is_a_language(value)
}

/// Whether the value looks like a time: `1732000000`, `2026-11-22`, `2026-11-22T10:00:00.000Z`.
fn may_be_a_time(value: &[u8]) -> bool {
    let is_written_so = value.iter().all(|byte| byte.is_ascii_digit() || b"-/.:+ TZ".contains(byte));
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    let runs = value.split(|byte| !byte.is_ascii_digit());
    let is_grouped = digits <= DATE_DIGITS_MAX && runs.map(<[u8]>::len).max() <= Some(DATE_RUN_MAX);
    is_written_so && (digits < SECRET_DIGITS_MIN || is_grouped)
}

/// Whether the value is a language tag with script and region (RFC 5646 section 2.1): `zh-Hant-TW`. Almost all language tags with
/// fewer parts are shorter than [`SECRET_BYTES_MIN`].
fn is_a_language(value: &[u8]) -> bool {
    let mut subtags = value.split(|byte| matches!(byte, b'-' | b'_'));
    let mut is_of = |lengths: &[usize]| {
        subtags.next().is_some_and(|one| lengths.contains(&one.len()) && one.iter().all(u8::is_ascii_alphabetic))
    };
    is_of(&[2, 3]) && is_of(&[4]) && is_of(&[2]) && subtags.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{dropping, get, ok};

    #[test]
    fn the_value_of_a_dropped_cookie_is_a_secret() {
        let mut response =
            ok().with("Set-Cookie", "PHPSESSID=0a1b%2Bc3d4e; path=/").with("Set-Cookie", "ck_a=1732000000");
        let secrets = Secrets::of(&get(), &response, &dropping());
        for text in ["<a href=\"/?PHPSESSID=0a1b%2Bc3d4e\">", "x0a1b+c3d4ex"] {
            assert!(secrets.occur_in(text.as_bytes()), "{text}");
        }
        for text in ["0a1b%2Bc3d4", "v=1732000000", ""] {
            assert!(!secrets.occur_in(text.as_bytes()), "{text}");
        }
        assert!(!secrets.occur_in_head(&response));
        response.fields.push("Location", "/x?PHPSESSID=0a1b%2Bc3d4e");
        assert!(secrets.occur_in_head(&response));
    }

    #[test]
    fn the_id_in_a_value_is_a_secret_by_itself() {
        let value = "s%3A5ae8b0c1d2e3f4a5b6c7.sig%2B%2F0123456789abcdefgh";
        let secrets = Secrets::of(&get(), &ok().with("Set-Cookie", format!("PHPSESSID={value}; path=/")), &dropping());
        for text in ["{\"session\":\"5ae8b0c1d2e3f4a5b6c7\"}", "?sid=5ae8b0c1d2e3f4a5b6c7", "0123456789abcdefgh"] {
            assert!(secrets.occur_in(text.as_bytes()), "{text}");
        }
        assert!(!secrets.occur_in(b"5ae8b0c1d2e3f4a5 0123456789abcdef"));
        let serialised =
            "a:2:{s:10:\"session_id\";s:32:\"5ae8b0c1d2e3f4a5b6c75ae8b0c1d2e3\";s:2:\"ip\";s:7:\"0.0.0.0\";}";
        let coded: String = serialised.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let response = ok().with("Set-Cookie", format!("PHPSESSID={coded}"));
        assert!(Secrets::of(&get(), &response, &dropping()).occur_in(b"?s=5ae8b0c1d2e3f4a5b6c75ae8b0c1d2e3"));
        let many: Vec<String> = (0..200).map(|number| format!("{number:020x}")).collect();
        let response = ok().with("Set-Cookie", format!("PHPSESSID={}", many.join("-")));
        assert!(Secrets::of(&get(), &response, &dropping()).occur_in(b""), "more than are looked for");
    }

    #[test]
    fn a_session_may_be_a_number() {
        let mut policy = dropping();
        policy.grant.dropped_cookies = ["CFTOKEN", "last_visit", "portal"].map(str::to_owned).to_vec();
        policy.grant.session_cookies = vec!["portal".to_owned()];
        let secrets = |line: &str| Secrets::of(&get(), &ok().with("Set-Cookie", line), &policy);
        assert!(secrets("CFTOKEN=52487326").occur_in(b"/x?CFTOKEN=52487326"));
        assert!(secrets("portal=123456789012").occur_in(b"/x?p=123456789012"), "a name that only the operator knows");
        assert!(secrets("portal=1234567").occur_in(b"/x?p=1234567"), "and a short one");
        assert!(!secrets("portal=1234567").occur_in(b"12345678") && secrets("CFTOKEN=1234567").is_empty());
        assert!(secrets("portal=12").occur_in(b"/x?portal=12") && !secrets("portal=12").occur_in(b"/x?p=12"));
        assert!(secrets("last_visit=1732000000").is_empty(), "a time");
    }

    #[test]
    fn what_stands_in_the_url_is_no_secret_unless_it_is_a_sessions() {
        let response =
            ok().with("Set-Cookie", "ck_board=YjIwMjZrMTF0ZXN0; path=/").with("Set-Cookie", "ck_a=5ae8b0c1d2e3");
        let secrets = |target: &str| {
            let request = RequestHead { target: target.to_owned(), ..get() };
            Secrets::of(&request, &response, &dropping())
        };
        let page = b"<a href='/board?name=b2026k11test'>";
        assert_eq!(secrets("/").cookie_in(page), Some(&b"ck_board"[..]));
        assert_eq!(secrets("/board?name=b2026k11test").cookie_in(page), None);
        assert_eq!(secrets("/board?name=b2026k11test").cookie_in(b"x5ae8b0c1d2e3"), Some(&b"ck_a"[..]));
        let session = ok().with("Set-Cookie", "PHPSESSID=YjIwMjZrMTF0ZXN0");
        let request = RequestHead { target: "/board?name=b2026k11test".to_owned(), ..get() };
        assert!(Secrets::of(&request, &session, &dropping()).occur_in(page));
    }

    #[test]
    fn what_all_pages_hold_is_no_secret() {
        let response = ok().with("Set-Cookie", "ck_lang=ko").with("Set-Cookie", "ck_gone=deleted");
        assert!(Secrets::of(&get(), &response, &dropping()).is_empty());
    }
}
