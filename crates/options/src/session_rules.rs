//! Settings of an application's sessions.

use crate::url_pattern::UrlPattern;
use kasoku_semantics::cookies;
use std::time::Duration;

/// Settings of an application's sessions. Without names of cookies, the rest has no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRules {
    /// Cookies that start a session: globs over names. A request with one of them passes, unless its session is known to be
    /// anonymous. An answer that sets one may be stored without it.
    pub cookies: Vec<String>,
    /// Cookies whose values tell that a visitor with a session is anonymous.
    pub anonymous_cookies: Vec<CookiePattern>,
    /// URLs that end a session. Requests for them pass.
    pub logout: Vec<UrlPattern>,
    /// URLs of requests that pass, and write into a session only what no shared page shows: captchas, tokens, counters. They do not
    /// void what is known of the session, unless something else of the request or of its answer may log in the visitor.
    pub harmless_urls: Vec<UrlPattern>,
    /// URLs that leave something in a session that other pages then show, although the session is anonymous. This does not change
    /// whether they pass.
    pub stateful_urls: Vec<StatefulUrl>,
    /// For how long after such a request its session does not count as anonymous, whatever is known of it. Default 10 min.
    pub stateful_for: Duration,
    /// The request that tells whether a session is anonymous; none: only its cookies tell.
    pub probe: Option<SessionProbe>,
    /// How long the result of a probe holds. Default 5 min.
    pub anonymous_for: Duration,
    /// A session that has only read pages for so long, and is not known to be a member's, is expired. Zero: never.
    pub expire_after: Duration,
}

impl SessionRules {
    /// Whether a cookie of that name belongs to a session, or tells whether a session is anonymous.
    pub fn is_about(&self, name: &[u8]) -> bool {
        let tells = |one: &CookiePattern| cookies::is_match(&one.name, name);
        cookies::is_any(&self.cookies, name) || self.anonymous_cookies.iter().any(tells)
    }

    /// Whether a cookie tells that its visitor is anonymous, or is known; `None`: it tells neither.
    pub fn says_anonymous(&self, pair: &[u8]) -> Option<bool> {
        if self.anonymous_cookies.is_empty() {
            return None;
        }
        let (name, value) = (cookies::name(pair), cookies::value(pair));
        let mut of_name = self.anonymous_cookies.iter().filter(|one| cookies::is_match(&one.name, name)).peekable();
        of_name.peek()?;
        Some(of_name.any(|one| cookies::is_match(&one.value, value)))
    }
}

impl Default for SessionRules {
    fn default() -> Self {
        Self {
            cookies: Vec::new(),
            anonymous_cookies: Vec::new(),
            logout: Vec::new(),
            harmless_urls: Vec::new(),
            stateful_urls: Vec::new(),
            stateful_for: Duration::from_secs(600),
            probe: None,
            anonymous_for: Duration::from_secs(300),
            expire_after: Duration::ZERO,
        }
    }
}

/// A URL that leaves something in a session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StatefulUrl {
    /// The URL.
    pub url: UrlPattern,
    /// The pages that show it; none: all pages may.
    pub shown_by: Option<UrlPattern>,
}

/// A probe: the request, with a session's cookies, by which Kasoku learns whether that session is anonymous.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SessionProbe {
    /// Path and query, like `/bbs/login.php`.
    pub target: String,
    /// The status of the answer to an anonymous session. Default 200.
    pub status: u16,
    /// A text that must stand in that answer, in its first mebibyte; empty: none.
    pub text: String,
}

/// A pattern of cookies, by name and value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CookiePattern {
    /// A glob over names.
    pub name: String,
    /// A glob over values.
    pub value: String,
}
