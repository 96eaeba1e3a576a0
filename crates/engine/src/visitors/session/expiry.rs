//! Expires the session cookie of a visitor whose session is over: the application has opened a session for every visitor, and
//! this one has long only read ([`kasoku_visitors::session::expired_cookies`]). The Set-Cookie goes only into an answer that no
//! cache may keep.

use crate::exchange::Exchange;
use crate::exchange::answer::Answer;
use crate::sites::ActiveRoute;
use kasoku_semantics::downstream::requires_validation;
use kasoku_semantics::reason::Reason;
use kasoku_visitors::session::expired_cookies;
use std::sync::Arc;

/// Ends the session of a request that is being answered, where it is over.
pub(crate) fn end_if_over(exchange: &Exchange, answer: &Answer) {
    let Some(session) = exchange.identity.get().session else { return };
    let passes = exchange.existing_extras().and_then(|extras| Some(extras.session.as_ref()?.reason));
    // A request that passes for another reason may be a log-in.
    if !session.is_over || passes.is_some_and(|reason| reason != Reason::PassSession) {
        return;
    }
    let fields = match answer {
        Answer::Stored(entry, _) => &entry.meta.head.fields,
        Answer::OnDisk(open, _) => &open.entry().meta.head.fields,
        Answer::Filling(meta, ..) => &meta.head.fields,
        Answer::Origin(response, ..) => &response.head.fields,
        _ => return,
    };
    let is_still_over = |route: &&Arc<ActiveRoute>| {
        let (sessions, now_ms) = (&exchange.worker.sessions, exchange.worker.now().mono_ms);
        sessions.is_still_over(session.id, passes.is_some(), &route.session, now_ms)
    };
    if let Some(route) = exchange.route.as_ref().filter(|_| requires_validation(fields)).filter(is_still_over) {
        let authority = exchange.uri.split('/').nth(2).unwrap_or_default();
        let ended = expired_cookies::lines(&route.session.cookies, &exchange.request.head.fields, authority);
        let mut extras = exchange.extras();
        extras.notes.session("expired");
        extras.own_cookies.extend(ended);
    }
}
