//! Writes a snapshot as one JSON object.
//!
//! ```json
//! {
//!   "version": "0.1.0",
//!   "hit_ratio": 0.75,
//!   "stored_objects": 1,
//!   "requests": 4
//! }
//! ```
//!
//! The object is flat, so that a script finds each number under its name in `/metrics` (without prefix and suffix). Some members are
//! not numbers: `classes` has all requests by the class of their status; `sites` is a list with each site's requests, by result and
//! class; `not_hits` is a list of results and reasons; `process` has what `/metrics` has under `process_`; `origins` is a list of
//! such objects, each with its address under `origin`, and `shared_servers` a list of those of the shared tier's servers, each with its
//! address under `server`; `peers` is one of the peers, with theirs under `peer`; `times` is a list of the histograms, whose `buckets` say how many values fell
//! below each bound and not below the bound before it. `hit_ratio` is null before the first request.
//!
//! All names are constants of lower-case letters, digits and `_`. All values are numbers, except the version, the addresses, the
//! names of sites and the words of labels; of these, only addresses and names of sites need escaping.

use crate::peers::OF_PEER;
use crate::process::ProcessStats;
use crate::shared_servers::OF_SERVER;
use crate::snapshot::{OF_ORIGIN, Snapshot, VERSION, seconds};
use kasoku_cache::purge_exchange::PeerStatus;
use kasoku_cache::shared::ServerStatus;
use kasoku_engine::OriginNumbers;
use kasoku_metrics::histogram::BOUNDS_US;
use kasoku_metrics::{Histogram, Outcome, Responses, StatusClass, Timer};
use std::fmt::Write;
use std::sync::Arc;

pub(crate) fn text(snapshot: &Snapshot) -> String {
    let ratio = snapshot.hit_ratio.map_or_else(|| "null".to_owned(), |ratio| format!("{ratio:.4}"));
    let first = [("version", format!("\"{VERSION}\"")), ("hit_ratio", ratio)];
    let gauges = snapshot.gauges.iter().map(|(gauge, value)| (gauge.name, value.to_string()));
    let counted = snapshot.counted.iter().map(|(counted, value)| (counted.name, value.to_string()));
    let counters = snapshot.counters.iter().map(|(counter, value)| (counter.name(), value.to_string()));
    let origins: Vec<_> = snapshot.origins.iter().map(origin).collect();
    let times: Vec<_> = snapshot.times.iter().map(|(timer, histogram)| times(*timer, histogram)).collect();
    let servers: Vec<_> = snapshot.shared_servers.iter().map(shared_server).collect();
    let peers: Vec<_> = snapshot.peers.iter().map(peer).collect();
    let last = [("origins", origins), ("shared_servers", servers), ("peers", peers), ("times", times)];
    let last = last.map(|(name, list)| (name, format!("[{}]", list.join(", "))));
    let all = first.into_iter().chain(gauges).chain(counters).chain(counted).chain(labelled(snapshot)).chain(last);
    let lines: Vec<_> = all.map(|(name, value)| format!("  \"{name}\": {value}")).collect();
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}

/// The members that have labels or another prefix in `/metrics`.
fn labelled(snapshot: &Snapshot) -> [(&'static str, String); 4] {
    let mut all = Responses::default();
    snapshot.responses.iter().for_each(|(_, responses)| all.add(responses));
    let site = |(name, responses): &(Arc<str>, Responses)| {
        let of =
            |outcome: Outcome| format!("\"{}\": {}", outcome.name(), classes(|class| responses.of(outcome, class)));
        format!("{{\"site\": \"{}\", {}}}", escaped(name), Outcome::ALL.map(of).join(", "))
    };
    let sites: Vec<_> = snapshot.responses.iter().map(site).collect();
    let not_hits = snapshot.not_hits.iter().map(|not_hits| {
        let (result, reason) = (not_hits.outcome.name(), not_hits.reason_name());
        format!("{{\"result\": \"{result}\", \"reason\": \"{reason}\", \"count\": {}}}", not_hits.count)
    });
    let process = snapshot.process.iter().flat_map(ProcessStats::numbers).map(|(number, value)| {
        let name = number.name.trim_start_matches("process_").trim_end_matches("_total");
        format!("\"{name}\": {value}")
    });
    [
        ("classes", classes(|class| all.of_class(class))),
        ("sites", format!("[{}]", sites.join(", "))),
        ("not_hits", format!("[{}]", not_hits.collect::<Vec<_>>().join(", "))),
        ("process", format!("{{{}}}", process.collect::<Vec<_>>().join(", "))),
    ]
}

fn classes(count: impl Fn(StatusClass) -> u64) -> String {
    let classes = StatusClass::ALL.map(|class| format!("\"{}\": {}", class.name(), count(class)));
    format!("{{{}}}", classes.join(", "))
}

fn origin(numbers: &OriginNumbers) -> String {
    let name = format!("\"origin\": \"{}\"", escaped(&numbers.address));
    let numbers = OF_ORIGIN.iter().map(|number| format!("\"{}\": {}", number.name, (number.read)(numbers)));
    format!("{{{}}}", [name].into_iter().chain(numbers).collect::<Vec<_>>().join(", "))
}

fn shared_server(server: &ServerStatus) -> String {
    let name = format!("\"server\": \"{}\"", escaped(&server.address));
    let numbers = OF_SERVER.iter().map(|number| format!("\"{}\": {}", number.name, number.value(server)));
    format!("{{{}}}", [name].into_iter().chain(numbers).collect::<Vec<_>>().join(", "))
}

fn peer(peer: &PeerStatus) -> String {
    let name = format!("\"peer\": \"{}\"", escaped(&peer.address));
    let numbers = OF_PEER.iter().map(|number| format!("\"{}\": {}", number.name, (number.value)(peer)));
    format!("{{{}}}", [name].into_iter().chain(numbers).collect::<Vec<_>>().join(", "))
}

fn times(timer: Timer, histogram: &Histogram) -> String {
    let result = match timer.result() {
        "" => "null".to_owned(),
        result => format!("\"{result}\""),
    };
    let bounds = BOUNDS_US.iter().map(|us| seconds(*us)).chain(["null".to_owned()]);
    let bucket = |(count, bound): (&u64, String)| format!("{{\"up_to_seconds\": {bound}, \"count\": {count}}}");
    let buckets: Vec<_> = histogram.buckets.iter().zip(bounds).map(bucket).collect();
    format!(
        "{{\"name\": \"{}\", \"result\": {result}, \"count\": {}, \"sum_seconds\": {}, \"buckets\": [{}]}}",
        timer.name(),
        histogram.buckets.iter().sum::<u64>(),
        seconds(histogram.sum_us),
        buckets.join(", ")
    )
}

/// Escapes a text for JSON (RFC 8259 section 7).
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\0'..='\x1f' => {
                // Writing to a String can't fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}
