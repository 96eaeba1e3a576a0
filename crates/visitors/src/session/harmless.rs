//! Recognises requests that pass and cannot log a visitor in or out: drawing a captcha, fetching a token, showing a page that only some
//! visitors may see.
//!
//! A request that passes for another reason than its session may be a log-in, so it voids what is known of the session. On a board
//! where guests may comment, each post makes a browser send three such requests for the captcha. Without an exception, no guest
//! with a session would ever be served from memory. So the configuration lists URLs that only change what no shared page shows
//! (`session.harmless-urls`), and requests for pages are recognised by their rule. Four more things must hold, since an application
//! may log in a visitor by other means, at any URL:
//!
//! - The application reads the path exactly as it was sent.
//! - The request has no credentials, and no cookies but the session's, noise, and those in the key: a cookie for logging in
//!   automatically works on each URL.
//! - The answer is no redirection: log-ins end with one.
//! - The answer sets no cookie but noise. If the request had no session, the answer may also set a session's cookie; that session
//!   is born anonymous.

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
    /// Whether its URL or its rule makes it pass, whatever its visitor.
    pub passes_by_url: bool,
}

impl PassedRequest<'_> {
    /// Whether the request, which passes for `reason`, may be harmless. Its answer decides in the end
    /// ([`PassedRequest::is_harmless_answer`]).
    pub fn may_be_harmless(&self, reason: Reason) -> bool {
        (self.is_listed || self.is_of_a_page(reason)) && names_a_session_at_most(&self.head.fields, self.route)
    }

    /// Whether the request may be harmless, and carries no session.
    pub fn is_by_anonymous(&self) -> bool {
        (self.is_listed || self.is_of_a_page(Reason::PageTextMissing))
            && has_only(&self.head.fields, |name| identifies_no_visitor(name, self.route))
    }

    /// Whether this answer is that of a harmless request.
    pub fn is_harmless_answer(&self, response: &ResponseHead) -> bool {
        let sessions = &self.route.declared.session.cookies;
        let has_session = cookies::has_any(sessions, &self.head.fields);
        let may_be_set =
            |name| identifies_no_visitor(name, self.route) || (!has_session && cookies::is_any(sessions, name));
        !response.status.is_redirection() && set_cookies::names(&response.fields).all(may_be_set)
    }

    /// Whether the request is for a page that other visitors would get from memory: its rule grants a lifetime, and has a text that
    /// marks a page.
    fn is_of_a_page(&self, reason: Reason) -> bool {
        let RouteRules { declared, policy } = self.route;
        let is_read = matches!(self.head.method, Method::GET | Method::HEAD);
        let is_for_the_visitor = reason_is_of_the_page(reason) && !self.passes_by_url;
        is_read && is_for_the_visitor && policy.grant.is_granting() && !declared.page.texts.is_empty()
    }
}

/// Whether a request identifies its visitor by nothing but, at most, the cookie of a session.
pub fn names_a_session_at_most(request: &Fields, route: RouteRules<'_>) -> bool {
    has_only(request, |name| route.declared.session.is_about(name) || identifies_no_visitor(name, route))
}

/// Whether a request passes because the page is its visitor's, and not because the request may change something.
fn reason_is_of_the_page(reason: Reason) -> bool {
    use Reason::{
        AddressInResponse, LeakGuard, LeakGuardPending, LeakGuardToken, LeakGuardUnconfirmed, PageTextMissing,
        PassSession, PersonalPage, VaryUnseen,
    };
    matches!(
        reason,
        PassSession
            | PageTextMissing
            | PersonalPage
            | AddressInResponse
            | VaryUnseen
            | LeakGuard
            | LeakGuardToken
            | LeakGuardUnconfirmed
            | LeakGuardPending
    )
}

fn has_only(request: &Fields, mut names_nobody: impl FnMut(&[u8]) -> bool) -> bool {
    !request.contains("authorization") && cookies::pairs(request).map(cookies::name).all(&mut names_nobody)
}

/// Whether a cookie identifies no visitor: it is noise, or in the key.
fn identifies_no_visitor(name: &[u8], route: RouteRules<'_>) -> bool {
    cookies::is_any(&route.declared.cookies.noise, name) || cookies::is_any(&route.policy.grant.key_cookies, name)
}
