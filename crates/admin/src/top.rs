//! `GET /top`: what happens at present, for `kasoku top` and for scripts. It shows URLs of visitors.

use crate::Handle;
use crate::history::{Rates, Sample};
use crate::snapshot::VERSION;
use kasoku_engine::top::{Missed, SlowUrl};
use serde_json::{Value, json};
use std::time::Instant;

/// URLs of each kind.
const URLS_MAX: usize = 50;

/// As JSON. Times are in seconds.
pub(crate) fn text(handle: &Handle) -> String {
    let rates = handle.history.rates(&Sample::of(handle.engine.metrics(), Instant::now()));
    let top = handle.engine.top(URLS_MAX);
    let all = json!({
        "version": VERSION,
        "uptime_seconds": handle.started.elapsed().as_secs(),
        "workers": handle.engine.workers(),
        "rates": rates.iter().map(of_rates).collect::<Vec<_>>(),
        "urls_seconds": top.seconds,
        "missed": top.missed.iter().map(of_missed).collect::<Vec<_>>(),
        "slow": top.slow.iter().map(of_slow).collect::<Vec<_>>(),
    });
    format!("{all:#}\n")
}

fn of_rates(rates: &Rates) -> Value {
    json!({
        "seconds": rounded(rates.seconds),
        "requests_per_second": rounded(rates.requests_per_second),
        "hit_ratio": rates.hit_ratio.map(|ratio| (ratio * 1e4).round() / 1e4),
        "errors_per_second": rounded(rates.errors_per_second),
        "origin_requests_per_second": rounded(rates.origin_requests_per_second),
        "origin_head_seconds_mean": rates.origin_head_seconds_mean,
        "origin_head_seconds_95": rates.origin_head_seconds_95,
        "body_bytes_per_second": rates.body_bytes_per_second.round(),
    })
}

fn of_missed(missed: &Missed) -> Value {
    let reason = missed.reason.map(|reason| reason.id());
    json!({ "url": missed.url, "count": missed.count, "count_excess": missed.count_excess, "reason": reason })
}

fn of_slow(slow: &SlowUrl) -> Value {
    let seconds = |us: u64| us as f64 / 1e6;
    json!({ "url": slow.url, "max": seconds(slow.max_us), "mean": seconds(slow.mean_us), "count": slow.count })
}

fn rounded(number: f64) -> f64 {
    (number * 1e3).round() / 1e3
}
