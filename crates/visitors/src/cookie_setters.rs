//! Records in which responses the application sets each of its cookies, to tell whether a cookie may be listed as noise (that is,
//! identifies no visitor).
//!
//! A cookie that a log-in sets looks like any other: gnuboard5 calls one `2e61f26e7a4e8194d3d5d054536403e0`. So `kasoku explain`
//! and `kasoku doctor` propose a cookie as noise only if the application was seen to set it in anonymous answers, and in no others.
//! An answer to a POST, to a request with a cookie or credentials, at a URL for logging in, or with a redirection is not anonymous.
//! A cookie whose name looks like that of a session or a credential is never proposed. Neither is one that an answer keeps from scripts
//! (HttpOnly), that an answer deletes, or that has another value in another anonymous answer: such a cookie identifies its visitor, or
//! will after a log-in (`DokuWiki`, `_redmine_session`, `shaarli`), so it is proposed as a session's.
//!
//! The process has one table, of names and of hashes of values. Only an origin's answer that sets a cookie writes to it, never a hit. A cookie that
//! does not fit is not proposed.

use http::Method;
use kasoku_semantics::advice::CookieMeaning;
use kasoku_semantics::credentials::has_unkeyed_credentials;
use kasoku_semantics::deleted_cookies::deletes;
use kasoku_semantics::difference::names_token;
use kasoku_semantics::policy::Policy;
use kasoku_semantics::set_cookies::{is_http_only, names_a_session, pair};
use kasoku_wire::{RequestHead, ResponseHead};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};

/// Names that the table remembers.
const NAMES_MAX: usize = 1024;

/// The longest name that is remembered, in bytes.
const NAME_BYTES_MAX: usize = 128;

/// Parts of the URLs at which people log in, in lower case.
const LOGIN_PARTS: [&str; 12] = [
    "login", "log-in", "log_in", "logon", "signin", "sign-in", "sign_in", "register", "signup", "auth", "account",
    "password",
];

/// For which requests the application sets each of its cookies. All workers share one table.
#[derive(Default)]
pub struct CookieSetters {
    known: Mutex<HashMap<Box<str>, SetFor>>,
    /// Its hashes can't be computed outside of the process.
    hasher: RandomState,
}

#[derive(Clone, Copy, Default)]
struct SetFor {
    anonymous: bool,
    others: bool,
    /// The hash of the value in the first anonymous answer.
    value: Option<u64>,
    /// It is HttpOnly, was deleted, or had another value in another anonymous answer.
    is_sessions: bool,
}

impl CookieSetters {
    /// Notes an origin's answer.
    pub fn has_answered(&self, request: &RequestHead, response: &ResponseHead, policy: &Policy) {
        if !response.fields.contains("set-cookie") {
            return;
        }
        let is_for_anonymous = is_for_anonymous(request, response, policy);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        for line in response.fields.all("set-cookie") {
            let (name, value) = pair(line);
            let Ok(name) = std::str::from_utf8(name) else { continue };
            let has_place = known.contains_key(name) || known.len() < NAMES_MAX;
            if !has_place || name.len() > NAME_BYTES_MAX {
                continue;
            }
            let seen = known.entry(name.into()).or_default();
            seen.anonymous |= is_for_anonymous;
            seen.others |= !is_for_anonymous;
            let is_deleted = deletes(line, &response.fields);
            seen.is_sessions |= is_deleted || is_http_only(&response.fields, name.as_bytes());
            if is_for_anonymous && !is_deleted {
                let hash = self.hasher.hash_one(value);
                seen.is_sessions |= *seen.value.get_or_insert(hash) != hash;
            }
        }
    }

    /// What a cookie is by the answers seen so far.
    pub fn meaning(&self, name: &str) -> CookieMeaning {
        meaning(name, self.seen(name).unwrap_or_default())
    }

    /// The same for a cookie that an anonymous answer has just set to this value.
    pub fn meaning_as_set_anonymously(&self, name: &str, value: Option<&[u8]>) -> CookieMeaning {
        let seen = self.seen(name).unwrap_or_default();
        let hash = value.map(|value| self.hasher.hash_one(value));
        let differs = seen.value.zip(hash).is_some_and(|(first, hash)| first != hash);
        meaning(name, SetFor { anonymous: true, is_sessions: seen.is_sessions || differs, ..seen })
    }

    fn seen(&self, name: &str) -> Option<SetFor> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(name).copied()
    }
}

fn meaning(name: &str, seen: SetFor) -> CookieMeaning {
    match seen {
        _ if seen.is_sessions => CookieMeaning::Session,
        SetFor { anonymous: true, others: false, .. } if !names_visitor(name) => CookieMeaning::Noise,
        _ => CookieMeaning::Unknown,
    }
}

/// Whether a name looks like that of a session or a credential.
fn names_visitor(name: &str) -> bool {
    names_a_session(name) || names_token(name)
}

/// Whether visitors log in at a URL, by the words in it.
pub fn is_login(target: &str) -> bool {
    let target = target.to_ascii_lowercase();
    LOGIN_PARTS.iter().any(|part| target.contains(part))
}

/// Whether an answer is anonymous: the cookies that it sets identify no visitor.
pub fn is_for_anonymous(request: &RequestHead, response: &ResponseHead, policy: &Policy) -> bool {
    matches!(request.method, Method::GET | Method::HEAD)
        && !has_unkeyed_credentials(&request.fields, policy)
        && !response.status.is_redirection()
        && !is_login(&request.target)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::StatusCode;
    use kasoku_semantics::policy::Profile;

    fn answered(known: &CookieSetters, method: Method, target: &str, cookie: &str, status: u16, set: &str) {
        let policy = Policy::new(Profile::Safe);
        let mut request = RequestHead::new(method, target);
        if !cookie.is_empty() {
            request.fields.push("Cookie", cookie);
        }
        let response = ResponseHead::new(StatusCode::from_u16(status).unwrap()).with("Set-Cookie", format!("{set}=1"));
        known.has_answered(&request, &response, &policy);
    }

    #[test]
    fn noise_is_what_is_set_anonymously_and_never_otherwise() {
        let (get, post) = (Method::GET, Method::POST);
        for (method, target, cookie, status, expected) in [
            (&get, "/page", "", 200, true),
            (&post, "/page", "", 200, false),
            (&get, "/page", "a=b", 200, false),
            (&get, "/page", "", 302, false),
            (&get, "/bbs/Login.php", "", 200, false),
            (&get, "/member/sign-in?to=/", "", 200, false),
        ] {
            let known = CookieSetters::default();
            assert_ne!(known.meaning("seen"), CookieMeaning::Noise, "no answer has set it");
            answered(&known, method.clone(), target, cookie, status, "seen");
            assert_eq!(known.meaning("seen") == CookieMeaning::Noise, expected, "{method} {target} {cookie} {status}");
            // One answer decides.
            answered(&known, get.clone(), "/other", "", 200, "seen");
            assert_eq!(known.meaning("seen") == CookieMeaning::Noise, expected, "{method} {target} {cookie} {status}");
            assert_eq!(known.meaning_as_set_anonymously("seen", Some(b"1")) == CookieMeaning::Noise, expected);
        }
    }

    #[test]
    fn the_key_of_a_client_that_a_log_in_sets_is_never_noise() {
        let known = CookieSetters::default();
        answered(&known, Method::POST, "/bbs/login_check.php", "PHPSESSID=1", 302, "2e61f26e7a4e8194d3d5d054536403e0");
        answered(&known, Method::GET, "/", "", 200, "2e61f26e7a4e8194d3d5d054536403e0");
        assert_ne!(known.meaning("2e61f26e7a4e8194d3d5d054536403e0"), CookieMeaning::Noise);
    }

    #[test]
    fn what_is_called_like_a_session_or_a_credential_is_never_noise() {
        for name in
            ["PHPSESSID", "connect.sid", "csrf", "XSRF-TOKEN", "remember_token", "api_key", "wordpress_logged_in_5f"]
        {
            let known = CookieSetters::default();
            answered(&known, Method::GET, "/", "", 200, name);
            for meaning in [known.meaning(name), known.meaning_as_set_anonymously(name, Some(b"1"))] {
                assert_ne!(meaning, CookieMeaning::Noise, "{name}");
            }
        }
    }

    #[test]
    fn what_is_kept_from_scripts_is_deleted_or_differs_each_time_is_a_sessions() {
        for (lines, expected) in [
            (&["shaarli=1", "shaarli=1"][..], CookieMeaning::Noise),
            (&["shaarli=1", "shaarli=2"], CookieMeaning::Session),
            (&["shaarli=1; path=/; HttpOnly"], CookieMeaning::Session),
            (&["shaarli=1", "shaarli=; Max-Age=0"], CookieMeaning::Session),
        ] {
            let known = CookieSetters::default();
            for line in lines {
                let (policy, request) = (Policy::new(Profile::Safe), RequestHead::new(Method::GET, "/"));
                known.has_answered(&request, &ResponseHead::new(StatusCode::OK).with("Set-Cookie", *line), &policy);
            }
            assert_eq!(known.meaning("shaarli"), expected, "{lines:?}");
            assert_eq!(known.meaning_as_set_anonymously("shaarli", Some(b"1")), expected, "{lines:?}");
            assert_eq!(known.meaning_as_set_anonymously("shaarli", Some(b"2")), CookieMeaning::Session, "{lines:?}");
        }
    }

    #[test]
    fn the_table_is_bounded() {
        let known = CookieSetters::default();
        (0..2 * NAMES_MAX).for_each(|number| answered(&known, Method::GET, "/", "", 200, &format!("c{number}")));
        assert_eq!(known.known.lock().unwrap().len(), NAMES_MAX);
        assert_eq!(known.meaning("c0"), CookieMeaning::Noise);
        assert_eq!(known.meaning(&format!("c{NAMES_MAX}")), CookieMeaning::Unknown);
    }
}
