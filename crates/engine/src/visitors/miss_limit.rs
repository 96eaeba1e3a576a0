//! Bounds the fetches that one client begins where a lifetime is granted ([`kasoku_visitors::miss_limit`]).

use crate::exchange::Exchange;
use crate::request::route::Routed;
use kasoku_metrics::Counter;
use kasoku_semantics::client_address::countable_client;

/// Whether the request's client may begin a fetch whose answer is for all visitors.
pub(crate) fn admits(exchange: &Exchange, routed: &Routed) -> bool {
    if !routed.route.policy.grant.is_granting() {
        return true;
    }
    let Some(client) = countable_client(&exchange.peer, &exchange.request.head.fields) else { return true };
    let (worker, per_second) = (&exchange.worker, exchange.settings.limits.client_misses_max);
    let is_admitted = worker.miss_limit.admits(client, per_second, worker.now().mono_ms);
    if !is_admitted {
        worker.cells.count(Counter::MissesRefused);
    }
    is_admitted
}
