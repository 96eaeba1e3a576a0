//! Writes a snapshot in Prometheus' text format, version 0.0.4.
//!
//! The format has a help line, a type line and a value line for each number (several for a histogram), so this module writes it
//! itself instead of through a registry, which would hold a second copy of the table. Help texts are constants without a backslash or
//! a line break, the only bytes that the format would want escaped (a test checks that).

use crate::peers::OF_PEER;
use crate::process::ProcessStats;
use crate::shared_servers::OF_SERVER;
use crate::snapshot::{OF_ORIGIN, Snapshot, VERSION, seconds};
use http::HeaderValue;
use kasoku_cache::purge_exchange::PeerStatus;
use kasoku_cache::shared::ServerStatus;
use kasoku_metrics::histogram::BOUNDS_US;
use kasoku_metrics::{Histogram, Timer};
use std::fmt::Write;

/// The media type of the text format.
pub(crate) const CONTENT_TYPE: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

/// The whole text. The names of counters end in `_total`, by the convention of the format.
pub(crate) fn text(snapshot: &Snapshot) -> String {
    let mut out = String::with_capacity(4 << 10);
    for (counter, value) in &snapshot.counters {
        number(&mut out, &format!("kasoku_{}_total", counter.name()), "counter", counter.help(), *value);
    }
    for (counted, value) in &snapshot.counted {
        number(&mut out, &format!("kasoku_{}_total", counted.name), "counter", counted.help, *value);
    }
    responses(&mut out, snapshot);
    for (gauge, value) in &snapshot.gauges {
        number(&mut out, &format!("kasoku_{}", gauge.name), "gauge", gauge.help, *value);
    }
    times(&mut out, &snapshot.times);
    for number in OF_ORIGIN.iter().filter(|_| !snapshot.origins.is_empty()) {
        let (suffix, kind) = if number.is_counter { ("_total", "counter") } else { ("", "gauge") };
        let name = format!("kasoku_{}{suffix}", number.name);
        describe(&mut out, &name, kind, number.help);
        for origin in &snapshot.origins {
            let label = escaped(&origin.address);
            line(&mut out, &format!("{name}{{origin=\"{label}\"}}"), (number.read)(origin));
        }
    }
    shared_servers(&mut out, &snapshot.shared_servers);
    peers(&mut out, &snapshot.peers);
    let build = format!("kasoku_build_info{{version=\"{VERSION}\"}}");
    describe(&mut out, "kasoku_build_info", "gauge", "Always 1; the version is the label.");
    line(&mut out, &build, 1);
    for (number, value) in snapshot.process.iter().flat_map(ProcessStats::numbers) {
        describe(&mut out, number.name, if number.is_counter { "counter" } else { "gauge" }, number.help);
        let _ = writeln!(out, "{} {value}", number.name);
    }
    out
}

pub(crate) const RESPONSES: (&str, &str) =
    ("responses", "Requests answered, by site, by result (hit, miss, pass, error) and by class of the status.");
pub(crate) const NOT_HITS: (&str, &str) =
    ("not_hits", "Requests that were no hits, by result (miss, pass, error) and by the reason in Cache-Status.");

/// The numbers with labels. Each result and class of a site is there from the start, so that `rate()` does not miss the first one.
/// There are many reasons, so only those that have occurred are there.
fn responses(out: &mut String, snapshot: &Snapshot) {
    let name = format!("kasoku_{}_total", RESPONSES.0);
    describe(out, &name, "counter", RESPONSES.1);
    for (site, responses) in &snapshot.responses {
        let site = escaped(site);
        for (outcome, class, count) in responses.each() {
            let (result, class) = (outcome.name(), class.name());
            line(out, &format!("{name}{{site=\"{site}\",result=\"{result}\",class=\"{class}\"}}"), count);
        }
    }
    let name = format!("kasoku_{}_total", NOT_HITS.0);
    describe(out, &name, "counter", NOT_HITS.1);
    for not_hits in &snapshot.not_hits {
        let (result, reason) = (not_hits.outcome.name(), not_hits.reason_name());
        line(out, &format!("{name}{{result=\"{result}\",reason=\"{reason}\"}}"), not_hits.count);
    }
}

fn shared_servers(out: &mut String, servers: &[ServerStatus]) {
    for number in OF_SERVER.iter().filter(|_| !servers.is_empty()) {
        let (suffix, kind) = if number.is_counter { ("_total", "counter") } else { ("", "gauge") };
        let name = format!("kasoku_{}{suffix}", number.name);
        describe(out, &name, kind, number.help);
        for server in servers {
            let _ = writeln!(out, "{name}{{server=\"{}\"}} {}", escaped(&server.address), number.value(server));
        }
    }
}

fn peers(out: &mut String, peers: &[PeerStatus]) {
    for number in OF_PEER.iter().filter(|_| !peers.is_empty()) {
        let (suffix, kind) = if number.is_counter { ("_total", "counter") } else { ("", "gauge") };
        let name = format!("kasoku_{}{suffix}", number.name);
        describe(out, &name, kind, number.help);
        for peer in peers {
            let _ = writeln!(out, "{name}{{peer=\"{}\"}} {}", escaped(&peer.address), (number.value)(peer));
        }
    }
}

fn number(out: &mut String, name: &str, kind: &str, help: &str, value: u64) {
    describe(out, name, kind, help);
    line(out, name, value);
}

/// Histograms: each bucket counts the values from 0 up to its bound, in seconds.
fn times(out: &mut String, times: &[(Timer, Histogram)]) {
    let mut described = "";
    for (timer, histogram) in times {
        let name = format!("kasoku_{}", timer.name());
        if described != timer.name() {
            describe(out, &name, "histogram", timer.help());
            described = timer.name();
        }
        let label = if timer.result().is_empty() { String::new() } else { format!("result=\"{}\"", timer.result()) };
        let separator = if label.is_empty() { "" } else { "," };
        let bounds = BOUNDS_US.iter().map(|us| seconds(*us)).chain(["+Inf".to_owned()]);
        let mut so_far = 0;
        for (count, bound) in histogram.buckets.iter().zip(bounds) {
            so_far += count;
            line(out, &format!("{name}_bucket{{{label}{separator}le=\"{bound}\"}}"), so_far);
        }
        let label = if label.is_empty() { label } else { format!("{{{label}}}") };
        let _ = writeln!(out, "{name}_sum{label} {}", seconds(histogram.sum_us));
        line(out, &format!("{name}_count{label}"), so_far);
    }
}

/// Escapes the value of a label.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

// Writing to a String can't fail.
fn describe(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn line(out: &mut String, name: &str, value: u64) {
    let _ = writeln!(out, "{name} {value}");
}

#[cfg(test)]
mod tests {
    use super::escaped;
    use super::{NOT_HITS, RESPONSES};
    use crate::peers::OF_PEER;
    use crate::process::OF_PROCESS;
    use crate::shared_servers::OF_SERVER;
    use crate::snapshot::{EXTERNAL_COUNTERS, GAUGES, OF_ORIGIN};
    use kasoku_metrics::{Counter, Timer};

    #[test]
    fn nothing_in_the_tables_needs_escaping() {
        let counters = Counter::ALL.iter().map(|counter| (counter.name(), counter.help()));
        let gauges = GAUGES.iter().chain(EXTERNAL_COUNTERS).map(|gauge| (gauge.name, gauge.help));
        let labelled = [RESPONSES, NOT_HITS];
        let of_process = OF_PROCESS.iter().map(|number| (number.name.trim_end_matches("_total"), number.help));
        let of_origins = OF_ORIGIN.iter().map(|number| (number.name, number.help));
        let of_servers = OF_SERVER.iter().map(|number| (number.name, number.help));
        let of_peers = OF_PEER.iter().map(|number| (number.name, number.help));
        let times = Timer::ALL.iter().map(|timer| (timer.name(), timer.help()));
        let all = counters
            .chain(gauges)
            .chain(of_origins)
            .chain(of_servers)
            .chain(of_peers)
            .chain(times)
            .chain(labelled)
            .chain(of_process);
        for (name, help) in all {
            assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
            assert!(!name.ends_with("_total"), "{name}");
            assert!(!help.contains(['\\', '\n', '\r']), "{help}");
        }
    }

    #[test]
    fn the_value_of_a_label_is_escaped() {
        assert_eq!(escaped("http://unix:/a\"b\\c\nd"), "http://unix:/a\\\"b\\\\c\\nd");
    }
}
