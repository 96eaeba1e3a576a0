//! Notes a request that was not answered from memory.

use super::cases::Missed;
use crate::delivered::Delivered;
use crate::exchange::Exchange;
use crate::guard;
use crate::request::client_address::client;
use http::Method;

/// A request has been answered, and not from memory.
pub(crate) fn missed(exchange: &Exchange, delivered: &Delivered) {
    let (Some(route), Some(status)) = (&exchange.route, &delivered.cache) else { return };
    let Some(reason) = status.detail.filter(|_| exchange.request.head.method == Method::GET) else { return };
    let Some((authority, target)) = authority_and_target(&exchange.uri) else { return };
    let aside = exchange.existing_aside();
    let read = aside.as_ref().and_then(|aside| aside.read.as_deref()).unwrap_or(target);
    let pattern = guard::shown(route, authority, read, &exchange.request.head.fields);
    let asked = exchange.origin().filter(|time| time.who().is_some());
    let origin_us = asked.and_then(|time| time.whole().or(time.head())).unwrap_or_default();
    let cookie = aside.as_ref().and_then(|aside| aside.notes.cookie());
    let address = client(&exchange.connection.peer(), &exchange.request.head.fields);
    let missed = Missed { pattern: &pattern, reason, url: &exchange.uri, address, origin_us, cookie };
    exchange.worker.cases.missed(exchange.now().mono_ms, &missed);
}

/// Of a URI as keys have it.
pub(super) fn authority_and_target(uri: &str) -> Option<(&str, &str)> {
    let (_, rest) = uri.split_once("://")?;
    rest.split_at_checked(rest.find('/')?)
}
