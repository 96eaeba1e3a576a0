//! Tracks which visitor sessions are anonymous, and updates that after each request.
//!
//! An application may open a session for every visitor. Then no cookie tells which visitor has logged in. So a request that
//! carries a session passes, until the session is known to be anonymous: from then on its visitor gets the shared pages, which
//! are requested anonymously. [`kasoku_visitors::session`] has what is known; [`probe`] asks the application; [`expiry`] ends
//! sessions that are over.

pub(crate) mod expiry;
pub(crate) mod probe;

use crate::exchange::Exchange;
use crate::exchange::ongoing::Asks;
use crate::exchange::ongoing::Ongoing;
use crate::request::changing;
use crate::request::path::PathReader;
use crate::request::route::Routed;
use http::StatusCode;
use kasoku_options::UrlPattern;
use kasoku_semantics::deleted_cookies::deletes;
use kasoku_semantics::query::path_and_query;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::set_cookies::{cookies_after, replaces_any};
use kasoku_semantics::{cookies, set_cookies};
use kasoku_visitors::session::contents::ShownBy;
use kasoku_visitors::session::harmless::PassedRequest;
use kasoku_visitors::session::table::{PassingRequest, SessionEffect, SessionId, Sessions};
use kasoku_visitors::session::{CookieIds, RequestIdentity, identify};
use kasoku_wire::{Fields, RequestHead, ResponseHead};
use std::iter;
use std::time::Duration;

/// How long a session passes at least after pages that it may have changed became stale.
const DEFERRED_MIN: Duration = Duration::from_secs(2);

/// What is known of the visitor behind a request; `None` for most requests: they have no cookie, or the rules know no session.
pub(crate) fn identify_visitor(
    sessions: &Sessions,
    routed: &Routed,
    request: &Fields,
    now_ms: u64,
) -> Option<RequestIdentity> {
    identify(sessions, &routed.route.session, routed.session_place(), request, now_ms, |pages| fits(pages, routed))
}

fn fits(pattern: &UrlPattern, routed: &Routed) -> bool {
    routed.is_any(|| iter::once(pattern))
}

/// Notes that a request goes to the application for its visitor alone, for that reason.
pub(crate) fn note_pass(exchange: &Exchange, routed: &Routed, reason: Reason) {
    let Exchange { worker, settings, request, .. } = exchange;
    if settings.session_cookies.is_empty() || !request.head.fields.contains("cookie") {
        return;
    }
    let session = exchange.identity.get().session;
    let effect = effect(exchange, routed, reason);
    if session.is_none() && matches!(&effect, SessionEffect::Reads | SessionEffect::Harmless(_)) {
        return;
    }
    let rules = &*routed.route.session;
    let ongoing = &mut exchange.extras().session;
    if ongoing.is_some() {
        return;
    }
    let now_ms = worker.now().mono_ms;
    let id = session.map(|session| session.id);
    let passing = worker.sessions.passes(id, effect, now_ms);
    if let Some(id) = id {
        for shown_by in leaves_behind(routed) {
            worker.sessions.is_stateful(id, shown_by, rules.stateful_for, now_ms);
        }
    }
    let asks = id.map(|id| Asks { id, base: routed.base(), is_outdated: false });
    let is_logout = rules.logout.iter().any(|pattern| fits(pattern, routed));
    *ongoing = Some(Box::new(Ongoing { passing, reason, asks, is_logout }));
}

/// The request, described as one that passes.
fn passed<'r>(head: &'r RequestHead, routed: &'r Routed) -> PassedRequest<'r> {
    let (path, _) = path_and_query(routed.target());
    let harmless_urls = &routed.route.session.harmless_urls;
    // A URL that can be read in two ways may not be the listed one.
    let is_listed = routed.is_any(|| harmless_urls.iter()) && PathReader::default().read(path).is_none();
    PassedRequest { head, route: routed.route.visitor_rules(), is_listed, passes_by_url: routed.passes.is_some() }
}

/// What a request that passes may do to its session.
fn effect(exchange: &Exchange, routed: &Routed, reason: Reason) -> SessionEffect {
    let request = &exchange.request;
    let becomes_tunnel = request.head.fields.contains("upgrade");
    let cookies = || cookies_of(exchange, &request.head.fields);
    if !becomes_tunnel && passed(&request.head, routed).may_be_harmless(reason) {
        return SessionEffect::Harmless(cookies());
    }
    // A request that passes only because of its session reads, unless it becomes a tunnel. Where no session is known, no probe
    // would follow.
    let has_session = exchange.identity.get().session.is_some();
    if reason == Reason::PassSession && has_session && !becomes_tunnel {
        return SessionEffect::Reads;
    }
    // A member who writes stays a member. For a guest, this is not known before the answer.
    let is_identified = exchange.identity.get().session.is_some_and(|session| session.is_identified);
    if is_identified && !becomes_tunnel && changing::is_listed(&request.head.method, routed) {
        return SessionEffect::Reads;
    }
    let changing = cookies();
    if changing.is_empty() && !has_session { SessionEffect::Reads } else { SessionEffect::Changes(changing) }
}

/// The kinds of content that a request leaves in its session and that pages show.
fn leaves_behind(routed: &Routed) -> impl Iterator<Item = ShownBy> {
    routed.route.session.stateful_urls.iter().filter(|one| fits(&one.url, routed)).map(ShownBy::of)
}

/// Notes that a request goes to the application with session cookies although its answer may be shared. No session is known of
/// such a request.
pub(crate) fn note_fill_with_cookies(exchange: &Exchange, outgoing: &Fields) -> Option<PassingRequest> {
    let changing = cookies_of(exchange, outgoing);
    let sessions = &exchange.worker.sessions;
    (!changing.is_empty())
        .then(|| sessions.passes(None, SessionEffect::Changes(changing), exchange.worker.now().mono_ms))
}

/// The cookies of a request that belong to a session on any site.
fn cookies_of(exchange: &Exchange, fields: &Fields) -> CookieIds {
    exchange.worker.sessions.cookies(&exchange.settings.session_cookies, fields)
}

/// Whether a request carries a session, and is answered as if it carried none.
pub(crate) fn is_set_aside(exchange: &Exchange) -> bool {
    exchange.identity.get().session.is_some_and(|session| session.is_anonymous)
}

/// Whether an answer that is for the client alone would replace the session that was set aside for its request.
pub(crate) fn opens_another(exchange: &Exchange, routed: &Routed, response: &Fields) -> bool {
    let names = &routed.route.session.cookies;
    is_set_aside(exchange) && set_cookies::names(response).any(|name| cookies::is_any(names, name))
}

/// Notes what the answer to a passed request sets. A session that it opens has the content that the request's URL leaves in a
/// session. The session is known to be anonymous where neither the request nor the answer could identify its visitor.
pub(crate) fn note_set_cookie(exchange: &Exchange, routed: &Routed, response: &ResponseHead) {
    let (request, fields) = (&exchange.request.head.fields, &response.fields);
    let now_ms = exchange.worker.now().mono_ms;
    let passed = passed(&exchange.request.head, routed);
    let is_harmless = passed.is_harmless_answer(response);
    if let Some(mut extras) = exchange.existing_extras()
        && let Some(ongoing) = extras.session.as_mut()
    {
        if !is_harmless {
            ongoing.passing.turns_out_to_change(now_ms);
        }
        if let Some(asks) = ongoing.asks.as_mut() {
            asks.is_outdated = replaces_any(request, fields);
        }
    }
    let rules = &*routed.route.session;
    if !set_cookies::names(fields).any(|name| cookies::is_any(&rules.cookies, name)) {
        return;
    }
    let sessions = &exchange.worker.sessions;
    let Some(id) = sessions.of(routed.session_place(), rules, &cookies_after(request, fields)) else { return };
    if let Some(before) = exchange.identity.get().session {
        sessions.replaces(id, before.id, now_ms);
    } else if is_harmless && passed.is_by_anonymous() {
        sessions.is_born_anonymous(id, now_ms);
    }
    for shown_by in leaves_behind(routed) {
        sessions.is_stateful(id, shown_by, rules.stateful_for, now_ms);
    }
    // An answer that logs a visitor in may set the cookie of a member and then, of the moment before, that of a guest, which the
    // client keeps until its next page (Rhymix with session.delay).
    let is_known = |line| {
        let says_anonymous = cookies::pairs_of(line).next().and_then(|pair| rules.says_anonymous(pair));
        says_anonymous == Some(false) && !deletes(line, fields)
    };
    if fields.all("set-cookie").any(is_known) {
        sessions.is_stateful(id, ShownBy::ALL, rules.stateful_for, now_ms);
    }
}

/// Notes what the form of a passed request leaves in its session, or in the one that the answer opens.
pub(crate) fn note_form(exchange: &Exchange, routed: &Routed, form: &str, response: &Fields) {
    let rules = &*routed.route.session;
    let (path, _) = path_and_query(routed.read_target());
    let mut left = rules.stateful_urls.iter().filter(|one| one.url.fits(path, Some(form))).peekable();
    if left.peek().is_none() {
        return;
    }
    let (sessions, now_ms) = (&exchange.worker.sessions, exchange.worker.now().mono_ms);
    if let Some(id) = session_after(exchange, routed, response) {
        left.for_each(|one| sessions.is_stateful(id, ShownBy::of(one), rules.stateful_for, now_ms));
    }
}

/// Notes that pages which a request may have changed become stale at that time at last (milliseconds on the monotonic clock). As long as they may
/// be shown stale, the session of its visitor passes, so that the visitor sees the change at once.
pub(crate) fn note_possible_change(exchange: &Exchange, routed: &Routed, response: Option<&Fields>, at_ms: u64) {
    let now_ms = exchange.worker.now().mono_ms;
    let grace = Duration::from_secs(routed.route.policy.grace_seconds).min(routed.route.session.stateful_for);
    let passes_for = Duration::from_millis(at_ms.saturating_sub(now_ms)) + grace.max(DEFERRED_MIN);
    if let Some(id) = session_after(exchange, routed, response.unwrap_or(&Fields::new())) {
        exchange.worker.sessions.is_stateful(id, ShownBy::ALL, passes_for, now_ms);
    }
}

/// The session of a client's next request.
fn session_after(exchange: &Exchange, routed: &Routed, response: &Fields) -> Option<SessionId> {
    let cookies = cookies_after(&exchange.request.head.fields, response);
    exchange.worker.sessions.of(routed.session_place(), &routed.route.session, &cookies)
}

/// Notes that a request has been answered with that status, and has the application asked about its session where that is due.
pub(crate) fn note_answered(exchange: &Exchange, status: StatusCode) {
    let Some(ongoing) = exchange.existing_extras().and_then(|mut extras| extras.session.take()) else { return };
    let Ongoing { passing, asks, is_logout, .. } = *ongoing;
    let worker = &exchange.worker;
    let now_ms = worker.now().mono_ms;
    // Without an answer the application may still be at work, and a probe now would tell the state before it.
    if matches!(status.as_u16(), 499 | 502 | 504) {
        return passing.leaves(now_ms);
    }
    let is_alone = passing.ends();
    let (Some(Asks { id, base, is_outdated }), Some(route)) = (asks, &exchange.route) else { return };
    if is_logout && (status.is_success() || status.is_redirection()) {
        worker.sessions.ended(id, is_alone, &route.session, now_ms);
    }
    if !is_outdated && probe::may_follow(&exchange.request) {
        probe::ask(exchange, route, &base, id);
    }
}
