//! Visitors' sessions: which of them are anonymous, and what follows from each request for what is known of them.
//!
//! An application that opens a session for everybody knows a member by nothing else: no cookie tells who has logged in. So a
//! request that carries a session passes, until something tells that the session is anonymous: then its visitor gets what everybody
//! gets, asked for in nobody's name. What is known stands in the [`table`], and what was done with each cookie in [`doings`]; the application
//! is asked by [`probe`]; [`expiry`] ends what is left over.

mod doings;
pub(crate) mod expiry;
mod known;
pub(crate) mod probe;
pub(crate) mod table;

use crate::options::UrlPattern;
use crate::route::{Base, Routed, is_any_url};
use crate::serve::Exchange;
use doings::CookieIds;
use http::StatusCode;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::{cookies, set_cookies};
use kasoku_wire::Fields;
use table::{Passing, SessionId, Sessions, Standing, millis, says_anonymous};

/// What is known of who sends a request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    /// The session that it carries.
    pub(crate) standing: Option<Standing>,
    /// Whether they are known to be nobody.
    pub(crate) is_anonymous: bool,
}

/// See [`Seen`]; `None`: there is nothing to be known of it, as of most.
pub(crate) fn see(sessions: &Sessions, routed: &Routed, request: &Fields, now_ms: u64) -> Option<Seen> {
    let rules = &*routed.route.session;
    if rules.cookies.is_empty() || !request.contains("cookie") {
        return None;
    }
    Some(match sessions.of(routed.authority(), &routed.route, request) {
        None => Seen { standing: None, is_anonymous: says_anonymous(rules, request) == Some(true) },
        Some(id) => {
            let standing = sessions.standing(id, rules, request, now_ms);
            Seen { standing: Some(standing), is_anonymous: standing.is_anonymous }
        }
    })
}

/// A request on its way to the application for its visitor alone, and what is to be done once it has been answered.
pub(crate) struct Ongoing {
    passing: Passing,
    /// Why it passes.
    pub(crate) reason: Reason,
    /// The session that it carries, where its rules know one.
    asks: Option<Asks>,
    is_logout: bool,
}

/// Who is to be asked about a session.
struct Asks {
    id: SessionId,
    base: Base,
    /// Whether the answer has replaced a cookie of the request: who asks with the old one may be taken for a thief.
    is_outdated: bool,
}

/// Notes that a request goes to the application for its visitor alone, for that reason.
pub(crate) fn passes(exchange: &Exchange, routed: &Routed, reason: Reason) {
    let Exchange { worker, settings, request, .. } = exchange;
    if settings.session_cookies.is_empty() || !request.head.fields.contains("cookie") {
        return;
    }
    let standing = exchange.seen.get().standing;
    // Who passes for the session alone only reads, but for a tunnel. Where no session is known, nobody would ask about it later.
    let becomes_tunnel = request.head.fields.contains("upgrade");
    let is_reading = reason == Reason::PassSession && standing.is_some() && !becomes_tunnel;
    let changing = if is_reading { CookieIds::new() } else { cookies_of(exchange, &request.head.fields) };
    if standing.is_none() && changing.is_empty() {
        return;
    }
    let rules = &*routed.route.session;
    let fits = |urls: &[UrlPattern]| is_any_url(urls, routed.target(), &mut worker.paths.borrow_mut());
    let ongoing = &mut exchange.aside().session;
    if ongoing.is_some() {
        return;
    }
    let now_ms = worker.now().mono_ms;
    let id = standing.map(|standing| standing.id);
    let passing = worker.sessions.passes(id, changing, now_ms);
    if let Some(id) = id.filter(|_| fits(&rules.stateful_urls)) {
        worker.sessions.is_stateful(id, rules.stateful_for, now_ms);
    }
    let asks = id.map(|id| Asks { id, base: routed.base(), is_outdated: false });
    *ongoing = Some(Box::new(Ongoing { passing, reason, asks, is_logout: fits(&rules.logout) }));
}

/// Notes that a request goes to the application with cookies of sessions, although its answer may be shared: where no session is known.
pub(crate) fn goes_on(exchange: &Exchange, outgoing: &Fields) -> Option<Passing> {
    let changing = cookies_of(exchange, outgoing);
    let sessions = &exchange.worker.sessions;
    (!changing.is_empty()).then(|| sessions.passes(None, changing, exchange.worker.now().mono_ms))
}

/// The cookies of a request that are a session's anywhere here.
fn cookies_of(exchange: &Exchange, fields: &Fields) -> CookieIds {
    exchange.worker.sessions.cookies(&exchange.settings.session_cookies, fields)
}

/// Whether a request carries a session, and is answered as if it did not.
pub(crate) fn is_set_aside(exchange: &Exchange) -> bool {
    exchange.seen.get().standing.is_some_and(|standing| standing.is_anonymous)
}

/// Whether an answer that is for the client alone would take the place of the session that was set aside for it.
pub(crate) fn opens_another(exchange: &Exchange, routed: &Routed, response: &Fields) -> bool {
    let names = &routed.route.session.cookies;
    is_set_aside(exchange) && set_cookies::names(response).any(|name| cookies::is_any(names, name))
}

/// Notes what an answer to a request that passed sets: the session that it opens has what its URL leaves in a session.
pub(crate) fn opens(exchange: &Exchange, routed: &Routed, response: &Fields) {
    let rules = &*routed.route.session;
    if let Some(mut aside) = exchange.existing_aside()
        && let Some(asks) = aside.session.as_mut().and_then(|ongoing| ongoing.asks.as_mut())
    {
        asks.is_outdated = replaces_any(&exchange.request.head.fields, response);
    }
    if rules.stateful_urls.is_empty() || !set_cookies::names(response).any(|name| cookies::is_any(&rules.cookies, name))
    {
        return;
    }
    let worker = &exchange.worker;
    let now_ms = worker.now().mono_ms;
    let is_stateful = is_any_url(&rules.stateful_urls, routed.target(), &mut worker.paths.borrow_mut());
    let until_ms = if is_stateful { now_ms.saturating_add(millis(rules.stateful_for)) } else { 0 };
    let cookies = cookies_after(&exchange.request.head.fields, response);
    if let Some(id) = worker.sessions.of(routed.authority(), &routed.route, &cookies) {
        let before = exchange.seen.get().standing.map(|standing| standing.id);
        worker.sessions.is_opened(id, before, until_ms, now_ms);
    }
}

/// The cookies with which a browser comes back: those of its request, as the response has set them.
fn cookies_after(request: &Fields, response: &Fields) -> Fields {
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
fn replaces_any(request: &Fields, response: &Fields) -> bool {
    let set = response.all("set-cookie").filter_map(|line| cookies::pairs_of(line).next());
    let is_other = |pair: &[u8], sent: &[u8]| cookies::name(pair) == cookies::name(sent) && pair != sent;
    set.into_iter().any(|pair| cookies::pairs(request).any(|sent| is_other(pair, sent)))
}

/// After a request has been answered, with that status.
pub(crate) fn answered(exchange: &Exchange, status: StatusCode) {
    let Some(ongoing) = exchange.existing_aside().and_then(|mut aside| aside.session.take()) else { return };
    let Ongoing { passing, asks, is_logout, .. } = *ongoing;
    let worker = &exchange.worker;
    let now_ms = worker.now().mono_ms;
    // Where the application has not answered, it may still be at it: whatever it is asked now would be of before.
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
