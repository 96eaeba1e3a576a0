//! Recognises requests that pass and cannot log a visitor in or out: drawing a captcha, fetching a token, showing a page that only some
//! visitors may see.
//!
//! Whatever passes for another reason than the session itself may be a log-in, so it voids what is known of the session. On a board on
//! which guests may comment, each post makes a browser send three such requests for the captcha: without an exception, no guest
//! with a session would ever be served from memory. So the configuration lists URLs that only write what no shared page shows
//! (`session.harmless-urls`), and those of pages are known by their rule. Four more things must hold, since an application may log in
//! anybody by something else, at any URL:
//!
//! - The path is read by everybody as it was sent.
//! - The request has no credentials, and no cookie that is neither the session's nor noise nor in the key: a cookie for logging in automatically
//!   counts on each URL.
//! - The answer is no redirection, which is how log-ins end.
//! - The answer sets no cookie but noise; or, where the request had no session, one of a session as well. That session is born anonymous.

use crate::RouteRules;
use http::Method;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::{cookies, set_cookies};
use kasoku_wire::{Fields, RequestHead, ResponseHead};

/// A request that passes.
#[derive(Clone, Copy)]
pub struct PassedRequest<'r> {
    /// The client's own head.
    pub head: &'r RequestHead,
    /// What its route says of visitors.
    pub route: RouteRules<'r>,
    /// Whether the configuration lists its URL (`session.harmless-urls`), which can be read in one way only.
    pub is_listed: bool,
    /// Whether its URL or its rule makes it pass, whoever sends it.
    pub passes_by_url: bool,
}

impl PassedRequest<'_> {
    /// Whether the request, which passes for that reason, may be harmless. Its answer tells in the end ([`PassedRequest::is_answer`]).
    pub fn may_be_harmless(&self, reason: Reason) -> bool {
        (self.is_listed || self.is_of_a_page(reason)) && names_a_session_at_most(&self.head.fields, self.route)
    }

    /// Whether the request may be harmless, and comes from somebody without a session.
    pub fn is_by_anonymous(&self) -> bool {
        (self.is_listed || self.is_of_a_page(Reason::PageTextMissing))
            && has_only(&self.head.fields, |name| is_of_anybody(name, self.route))
    }

    /// Whether this answer is that of a harmless request.
    pub fn is_answer(&self, response: &ResponseHead) -> bool {
        let sessions = &self.route.declared.session.cookies;
        let has_session = cookies::has_any(sessions, &self.head.fields);
        let may_be_set = |name| is_of_anybody(name, self.route) || (!has_session && cookies::is_any(sessions, name));
        !response.status.is_redirection() && set_cookies::names(&response.fields).all(may_be_set)
    }

    /// Whether a page is asked for that others would get from memory: its rule grants a lifetime, and says by what such a page is known.
    fn is_of_a_page(&self, reason: Reason) -> bool {
        let RouteRules { declared, policy } = self.route;
        let is_read = matches!(self.head.method, Method::GET | Method::HEAD);
        let is_for_the_visitor = reason_is_of_the_page(reason) && !self.passes_by_url;
        is_read && is_for_the_visitor && policy.grant.is_granting() && !declared.page.texts.is_empty()
    }
}

/// Whether a request says nothing of its visitor but, at most, which session it is.
pub fn names_a_session_at_most(request: &Fields, route: RouteRules<'_>) -> bool {
    has_only(request, |name| route.declared.session.is_about(name) || is_of_anybody(name, route))
}

/// Whether a page passes since it is its visitor's, and not for what it may do.
fn reason_is_of_the_page(reason: Reason) -> bool {
    use Reason::{LeakGuard, LeakGuardPending, PageTextMissing, PassSession, PersonalPage};
    matches!(reason, PassSession | PageTextMissing | PersonalPage | LeakGuard | LeakGuardPending)
}

fn has_only(request: &Fields, mut names_nobody: impl FnMut(&[u8]) -> bool) -> bool {
    !request.contains("authorization") && cookies::pairs(request).map(cookies::name).all(&mut names_nobody)
}

/// Whether a cookie says nothing of who has it.
fn is_of_anybody(name: &[u8], route: RouteRules<'_>) -> bool {
    cookies::is_any(&route.declared.cookies.noise, name) || cookies::is_any(&route.policy.grant.key_cookies, name)
}
