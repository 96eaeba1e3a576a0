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

use crate::request::message::Request;
use crate::request::path::PathReader;
use crate::request::route::Routed;
use crate::sites::ActiveRoute;
use http::Method;
use kasoku_semantics::query::path_and_query;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::{cookies, set_cookies};
use kasoku_wire::{Fields, ResponseHead};

/// Whether a request that passes for that reason may be harmless. Its answer tells in the end ([`is_answer`]).
pub(super) fn may_be(request: &Request, routed: &Routed, reason: Reason) -> bool {
    (is_listed(routed) || is_of_a_page(request, routed, reason))
        && names_a_session_at_most(&request.head.fields, &routed.route)
}

/// Whether a request says nothing of its visitor but, at most, which session it is.
pub(crate) fn names_a_session_at_most(request: &Fields, route: &ActiveRoute) -> bool {
    has_only(request, |name| route.session.is_about(name) || is_of_anybody(name, route))
}

/// Whether a request that may be harmless comes from somebody without a session.
pub(super) fn is_by_anonymous(request: &Request, routed: &Routed) -> bool {
    let is_of_a_page = is_of_a_page(request, routed, Reason::PageTextMissing);
    (is_listed(routed) || is_of_a_page) && has_only(&request.head.fields, |name| is_of_anybody(name, &routed.route))
}

/// Whether this answer is that of a harmless request.
pub(super) fn is_answer(request: &Fields, response: &ResponseHead, routed: &Routed) -> bool {
    let route = &*routed.route;
    let sessions = &route.session.cookies;
    let has_session = cookies::has_any(sessions, request);
    let may_be_set = |name| is_of_anybody(name, route) || (!has_session && cookies::is_any(sessions, name));
    !response.status.is_redirection() && set_cookies::names(&response.fields).all(may_be_set)
}

/// Whether the configuration lists its URL, read in the one way in which it can be read.
fn is_listed(routed: &Routed) -> bool {
    let (path, _) = path_and_query(routed.target());
    let is_plain = PathReader::default().read(path).is_none();
    is_plain && routed.is_any(|| routed.route.session.harmless_urls.iter())
}

/// Whether a page is asked for that others would get from memory: its rule grants a lifetime, and says by what such a page is known.
fn is_of_a_page(request: &Request, routed: &Routed, reason: Reason) -> bool {
    let route = &*routed.route;
    let is_read = matches!(request.head.method, Method::GET | Method::HEAD);
    let is_for_the_visitor = reason_is_of_the_page(reason) && routed.passes.is_none();
    is_read && is_for_the_visitor && route.policy.grant.is_granting() && !route.page.texts.is_empty()
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
fn is_of_anybody(name: &[u8], route: &ActiveRoute) -> bool {
    cookies::is_any(&route.cookies.noise, name) || cookies::is_any(&route.policy.grant.key_cookies, name)
}
