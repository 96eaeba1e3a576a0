//! Logs the outage of an origin: a line when it begins, and one when it ends, with what it has cost.
//!
//! Both lines are warnings, so a log at level `warn` shows how each outage ended. Failed requests between the two add no line.

use crate::runtime::worker::Worker;
use crate::sites::ActiveRoute;
use kasoku_options::OriginAddress;
use kasoku_origin::health::{HealthSnapshot, Recovery};
use kasoku_origin::{Error, OriginState};
use std::time::Duration;

/// Notes that a request to an origin has failed. `sent`: the mark of the origin's health from before the request.
pub(crate) fn failed(worker: &Worker, route: &ActiveRoute, origin: &OriginState, sent: HealthSnapshot, error: &Error) {
    if origin.health.failed(error.blame(), sent, &route.health, worker.now().mono_ms) {
        tracing::warn!("{} failed {} times in a row: {error}", origin.address, route.health.failures);
    }
}

/// Logs that an origin is back; `how` says by what that was seen.
pub(crate) fn tell_end(address: &OriginAddress, how: &str, recovery: Recovery) {
    let Recovery { lasted, failed, unasked } = recovery;
    tracing::warn!(failed, unasked, "{address} {how}, after {}", span(lasted));
}

fn span(lasted: Duration) -> String {
    match lasted.as_secs() {
        0..60 => format!("{:.1} s", lasted.as_secs_f64()),
        seconds @ 60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_told_in_two_units_at_most() {
        for (ms, told) in [(0, "0.0 s"), (12_340, "12.3 s"), (60_000, "1 min 0 s"), (7_384_000, "2 h 3 min")] {
            assert_eq!(span(Duration::from_millis(ms)), told);
        }
    }
}
