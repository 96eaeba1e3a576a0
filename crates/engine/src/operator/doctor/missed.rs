//! Records a request that was no hit, for `kasoku doctor`.

use crate::exchange::Exchange;
use crate::exchange::delivered::Delivered;
use crate::observe::misses::MissedRequest;
use http::Method;
use kasoku_semantics::client_address::client;
use kasoku_visitors::pattern;

/// Records a GET that was answered, and not from memory.
pub(crate) fn missed(exchange: &Exchange, delivered: &Delivered) {
    let (Some(route), Some(status)) = (&exchange.route, &delivered.cache) else { return };
    let Some(reason) = status.detail.filter(|_| exchange.request.head.method == Method::GET) else { return };
    let Some((authority, target)) = authority_and_target(&exchange.uri) else { return };
    let extras = exchange.existing_extras();
    let read = extras.as_ref().and_then(|extras| extras.read.as_deref()).unwrap_or(target);
    let pattern = pattern::shown(route.visitor_rules(), authority, read, &exchange.request.head.fields);
    let asked = exchange.origin().filter(|time| time.who().is_some());
    let origin_us = asked.and_then(|time| time.whole().or(time.head())).unwrap_or_default();
    let cookie = extras.as_ref().and_then(|extras| extras.notes.cookie());
    let address = client(&exchange.peer, &exchange.request.head.fields);
    let missed = MissedRequest { pattern: &pattern, reason, url: &exchange.uri, address, origin_us, cookie };
    exchange.worker.misses.missed(exchange.now().mono_ms, &missed);
}

/// Splits a URI, as keys have it, into authority and target.
pub(super) fn authority_and_target(uri: &str) -> Option<(&str, &str)> {
    let (_, rest) = uri.split_once("://")?;
    rest.split_at_checked(rest.find('/')?)
}
