//! A snapshot in Prometheus' text format, version 0.0.4.
//!
//! The format is a help line, a type line and a value line for each number, so it is written here instead of through
//! a registry that would hold a second copy of the table. Help texts are our own constants: they contain neither a
//! backslash nor a line break, the only bytes that the format would want escaped (a test sees to it).

use crate::snapshot::{Snapshot, VERSION};
use http::HeaderValue;
use std::fmt::Write;

/// The media type of the text format.
pub(crate) const CONTENT_TYPE: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

/// Counters end in `_total`, by the convention of the format.
pub(crate) fn text(snapshot: &Snapshot) -> String {
    let mut out = String::with_capacity(4 << 10);
    for (counter, value) in &snapshot.counters {
        number(&mut out, &format!("kasoku_{}_total", counter.name()), "counter", counter.help(), *value);
    }
    for (gauge, value) in &snapshot.gauges {
        number(&mut out, &format!("kasoku_{}", gauge.name), "gauge", gauge.help, *value);
    }
    let build = format!("kasoku_build_info{{version=\"{VERSION}\"}}");
    describe(&mut out, "kasoku_build_info", "gauge", "Always 1; the version is the label.");
    line(&mut out, &build, 1);
    out
}

fn number(out: &mut String, name: &str, kind: &str, help: &str, value: u64) {
    describe(out, name, kind, help);
    line(out, name, value);
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
    use crate::snapshot::GAUGES;
    use kasoku_metrics::Counter;

    #[test]
    fn nothing_in_the_tables_needs_escaping() {
        let counters = Counter::ALL.iter().map(|counter| (counter.name(), counter.help()));
        for (name, help) in counters.chain(GAUGES.iter().map(|gauge| (gauge.name, gauge.help))) {
            assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
            assert!(!name.ends_with("_total"), "{name}");
            assert!(!help.contains(['\\', '\n', '\r']), "{help}");
        }
    }
}
