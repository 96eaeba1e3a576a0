//! Visitors' sessions: which of them are anonymous, and what follows from each request for what is known of them.
//!
//! An application that opens a session for everybody knows a member by nothing else: no cookie tells who has logged in. So a
//! request that carries a session passes, until something tells that the session is anonymous: then its visitor gets what everybody
//! gets, asked for in nobody's name. What is known stands in the [`table`]; the application is asked by [`probe`]; [`expiry`] ends what is left over.

pub(crate) mod expiry;
pub(crate) mod probe;
pub(crate) mod table;

use crate::options::UrlPattern;
use crate::route::{Base, Routed, is_any_url};
use crate::serve::Exchange;
use http::StatusCode;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::{cookies, set_cookies};
use kasoku_wire::Fields;
use std::time::Duration;
use table::{Passing, Sessions, Standing, millis, says_anonymous};

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
    Some(match sessions.of(routed.authority(), rules, request) {
        None => Seen { standing: None, is_anonymous: says_anonymous(rules, request) == Some(true) },
        Some(id) => {
            let standing = sessions.standing(id, rules, request, now_ms);
            Seen { standing: Some(standing), is_anonymous: standing.is_anonymous }
        }
    })
}

/// A session's request on its way, and what is to be done once it has been answered.
pub(crate) struct Ongoing {
    passing: Passing,
    /// Why it passes.
    pub(crate) reason: Reason,
    /// Where the application is asked about it.
    base: Base,
    is_logout: bool,
}

/// Notes that a request goes to the application for its visitor alone.
pub(crate) fn passes(exchange: &Exchange, routed: &Routed, reason: Reason) {
    let Some(standing) = exchange.seen.get().standing else { return };
    let worker = &exchange.worker;
    let rules = &*routed.route.session;
    let ongoing = &mut exchange.aside().session;
    if ongoing.is_none() {
        let fits = |urls: &[UrlPattern]| is_any_url(urls, routed.target(), &mut worker.paths.borrow_mut());
        let stateful_for = if fits(&rules.stateful_urls) { rules.stateful_for } else { Duration::ZERO };
        let passing = worker.sessions.passes(standing.id, reason, stateful_for, worker.now().mono_ms);
        let is_logout = fits(&rules.logout);
        *ongoing = Some(Ongoing { passing, reason, base: routed.base(), is_logout });
    }
}

/// Whether an answer that is for the client alone would take the place of the session that was set aside for it.
pub(crate) fn opens_another(exchange: &Exchange, routed: &Routed, response: &Fields) -> bool {
    let names = &routed.route.session.cookies;
    let is_set_aside = exchange.seen.get().standing.is_some_and(|standing| standing.is_anonymous);
    is_set_aside && set_cookies::names(response).any(|name| cookies::is_any(names, name))
}

/// Notes the session that an answer to a request that passed opens: what its URL leaves in a session is in that one.
pub(crate) fn opens(exchange: &Exchange, routed: &Routed, response: &Fields) {
    let rules = &*routed.route.session;
    if rules.stateful_urls.is_empty() || !set_cookies::names(response).any(|name| cookies::is_any(&rules.cookies, name))
    {
        return;
    }
    let worker = &exchange.worker;
    let now_ms = worker.now().mono_ms;
    let is_stateful = is_any_url(&rules.stateful_urls, routed.target(), &mut worker.paths.borrow_mut());
    let until_ms = if is_stateful { now_ms.saturating_add(millis(rules.stateful_for)) } else { 0 };
    let cookies = cookies_after(&exchange.request.head.fields, response);
    if let Some(id) = worker.sessions.of(routed.authority(), rules, &cookies) {
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

/// After a request has been answered, with that status.
pub(crate) fn answered(exchange: &Exchange, status: StatusCode) {
    let Some(ongoing) = exchange.existing_aside().and_then(|mut aside| aside.session.take()) else { return };
    let Ongoing { passing, base, is_logout, .. } = ongoing;
    let Some(route) = &exchange.route else { return };
    // Where the application has not answered, it may still be at it: whatever it is asked now would be of before.
    let has_been_answered = !matches!(status.as_u16(), 499 | 502 | 504);
    let id = passing.id;
    let is_alone = passing.ends();
    if is_logout && (status.is_success() || status.is_redirection()) {
        let worker = &exchange.worker;
        worker.sessions.ended(id, is_alone, &route.session, worker.now().mono_ms);
    }
    if has_been_answered {
        probe::ask(exchange, &route.session, &base, id);
    }
}
