//! A snapshot as one JSON object.
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
//! Flat, so that a script finds each number under the name that it has in `/metrics` (without prefix and suffix);
//! `origins` is a list of such objects, each with its address under `origin`, and `times` a list of the histograms: in `buckets`, how many fell
//! below each bound and not below the one before it. `hit_ratio` is null before the first request.
//! All names are constants of lower case letters, digits and `_`, and all values are numbers but the version and the addresses:
//! only these need escaping.

use crate::prometheus::seconds;
use crate::snapshot::{OF_ORIGIN, Snapshot, VERSION};
use kasoku_engine::OriginNumbers;
use kasoku_metrics::histogram::BOUNDS_US;
use kasoku_metrics::{Histogram, Timer};
use std::fmt::Write;

pub(crate) fn text(snapshot: &Snapshot) -> String {
    let ratio = snapshot.hit_ratio.map_or_else(|| "null".to_owned(), |ratio| format!("{ratio:.4}"));
    let first = [("version", format!("\"{VERSION}\"")), ("hit_ratio", ratio)];
    let gauges = snapshot.gauges.iter().map(|(gauge, value)| (gauge.name, value.to_string()));
    let counters = snapshot.counters.iter().map(|(counter, value)| (counter.name(), value.to_string()));
    let origins: Vec<_> = snapshot.origins.iter().map(origin).collect();
    let times: Vec<_> = snapshot.times.iter().map(|(timer, histogram)| times(*timer, histogram)).collect();
    let last = [("origins", origins), ("times", times)].map(|(name, list)| (name, format!("[{}]", list.join(", "))));
    let all = first.into_iter().chain(gauges).chain(counters).chain(last);
    let lines: Vec<_> = all.map(|(name, value)| format!("  \"{name}\": {value}")).collect();
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}

fn origin(numbers: &OriginNumbers) -> String {
    let name = format!("\"origin\": \"{}\"", escaped(&numbers.address));
    let numbers = OF_ORIGIN.iter().map(|number| format!("\"{}\": {}", number.name, (number.read)(numbers)));
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

/// As it stands within the quotes of a text (RFC 8259 section 7).
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
