//! `GET /top`: what happens at present, for `kasoku top` and for scripts. It shows URLs of visitors.

use crate::AdminHandle;
use crate::history::{Sample, SampledRates, SecondSample, ServerRates};
use crate::snapshot::VERSION;
use kasoku_cache::purge_exchange::PeerStatus;
use kasoku_cache::shared::ServerStatus;
use kasoku_engine::OriginNumbers;
use kasoku_engine::top::{NotHitKind, TopUrl};
use kasoku_options::Options;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::time::Instant;

/// The most URLs of each order.
const URLS_MAX: usize = 50;

/// The answer as JSON. Times are in seconds.
pub(crate) fn text(handle: &AdminHandle) -> String {
    let servers = handle.engine.cache().shared_status().unwrap_or_default().servers;
    let (rates, seconds) = handle.history.told(&Sample::of(handle.engine.metrics(), &servers, Instant::now()));
    let server_rates = rates.first().map(|rates| rates.servers.as_slice()).unwrap_or_default();
    let top = handle.engine.top(URLS_MAX);
    let (cache, options) = (handle.engine.cache(), handle.engine.options());
    let limits = connections_max(&options);
    let all = json!({
        "version": VERSION,
        "uptime_seconds": handle.started.elapsed().as_secs(),
        "workers": handle.engine.workers(),
        "rates": rates.iter().map(of_rates).collect::<Vec<_>>(),
        "seconds": seconds.iter().map(of_second).collect::<Vec<_>>(),
        "memory": { "held_bytes": cache.held_bytes(), "bytes_max": cache.memory_bytes_max(), "objects": cache.len() },
        "request_buffer": {
            "held_bytes": handle.engine.request_buffer_bytes(),
            "bytes_max": options.request_buffer.bytes_max,
        },
        "origins": handle.engine.origins().numbers().iter().map(|origin| of_origin(origin, &limits)).collect::<Vec<_>>(),
        "shared_servers": servers.iter().zip(server_rates).map(of_server).collect::<Vec<_>>(),
        "peers": cache.peers_status().unwrap_or_default().peers.iter().map(of_peer).collect::<Vec<_>>(),
        "urls_seconds": top.seconds,
        "urls": top.urls.iter().map(of_url).collect::<Vec<_>>(),
    });
    format!("{all:#}\n")
}

fn of_rates(rates: &SampledRates) -> Value {
    let answers: serde_json::Map<String, Value> =
        rates.answers_per_second.iter().map(|(class, rate)| ((*class).to_owned(), rounded(*rate).into())).collect();
    json!({
        "seconds": rounded(rates.seconds),
        "requests_per_second": rounded(rates.requests_per_second),
        "hit_ratio": rates.hit_ratio.map(share),
        "hits_per_second": rounded(rates.hits_per_second),
        "revalidated_per_second": rounded(rates.revalidated_per_second),
        "misses_per_second": rounded(rates.misses_per_second),
        "passes_per_second": rounded(rates.passes_per_second),
        "errors_per_second": rounded(rates.errors_per_second),
        "answers_per_second": answers,
        "origin_requests_per_second": rounded(rates.origin_requests_per_second),
        "origin_head_seconds_mean": rates.origin_head_seconds_mean,
        "origin_head_seconds_95": rates.origin_head_seconds_95,
        "body_bytes_per_second": rates.body_bytes_per_second.round(),
    })
}

fn of_second(second: &SecondSample) -> Value {
    json!({ "requests": rounded(second.requests_per_second), "hit_ratio": second.hit_ratio.map(share) })
}

/// The limit of connections of each origin, by its address. Rules may set several limits for an origin: the largest counts.
fn connections_max(options: &Options) -> HashMap<String, usize> {
    let mut limits = HashMap::new();
    for route in options.routes() {
        for origin in &route.origins {
            let limit = limits.entry(origin.address.to_string()).or_insert(0);
            *limit = origin.connections_max.unwrap_or(route.origin.connections_max).max(*limit);
        }
    }
    limits
}

fn of_origin(origin: &OriginNumbers, limits: &HashMap<String, usize>) -> Value {
    json!({
        "origin": origin.address,
        "is_up": origin.is_up,
        "requests": origin.requests,
        "failures": origin.failures,
        "connections_in_use": origin.connections,
        "connections_max": limits.get(&origin.address),
        "queue": origin.queue,
    })
}

/// The rates are of the first window.
fn of_server((server, rates): (&ServerStatus, &ServerRates)) -> Value {
    json!({
        "server": server.address,
        "is_up": server.is_usable,
        "outages": server.outages,
        "failures": server.failures(),
        "items_per_second": rounded(rates.items_per_second),
        "failures_per_second": rounded(rates.failures_per_second),
        "hit_ratio": rates.hit_ratio.map(share),
        "reply_seconds_mean": rates.reply_seconds_mean,
        "reply_seconds_max": server.reply_max_us as f64 / 1e6,
    })
}

fn of_peer(peer: &PeerStatus) -> Value {
    json!({
        "peer": peer.address,
        "is_up": peer.is_up,
        "outages": peer.outages,
        "failures": peer.errors.saturating_add(peer.timeouts),
        "reply_seconds_mean": (peer.replies > 0).then(|| peer.reply_us as f64 / peer.replies as f64 / 1e6),
        "reply_seconds_max": peer.reply_max_us as f64 / 1e6,
    })
}

fn of_url(url: &TopUrl) -> Value {
    let seconds = |us: u64| (url.origin_requests > 0).then_some(us as f64 / 1e6);
    let kind = url.last.map(|(kind, _)| match kind {
        NotHitKind::Revalidated => "revalidated",
        NotHitKind::Miss => "miss",
        NotHitKind::Pass => "pass",
        NotHitKind::Error => "error",
    });
    json!({
        "url": url.url,
        "requests": url.requests,
        "requests_excess": url.requests_excess,
        "revalidated": url.kinds.revalidated,
        "misses": url.kinds.misses,
        "passes": url.kinds.passes,
        "errors": url.kinds.errors,
        "body_bytes": url.body_bytes,
        "last": kind,
        "reason": url.last.and_then(|(_, reason)| reason).map(|reason| reason.id()),
        "origin_requests": url.origin_requests,
        "origin_head_seconds_mean": seconds(url.origin_mean_us),
        "origin_head_seconds_max": seconds(url.origin_max_us),
    })
}

fn share(ratio: f64) -> f64 {
    (ratio * 1e4).round() / 1e4
}

fn rounded(number: f64) -> f64 {
    (number * 1e3).round() / 1e3
}
