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
//! Flat, so that a script finds each number under the name that it has in `/metrics` (without prefix and suffix).
//! `hit_ratio` is null before the first request. All names are constants of lower case letters and `_`, all other
//! values are numbers, so nothing needs escaping.

use crate::snapshot::{Snapshot, VERSION};

pub(crate) fn text(snapshot: &Snapshot) -> String {
    let ratio = snapshot.hit_ratio.map_or_else(|| "null".to_owned(), |ratio| format!("{ratio:.4}"));
    let first = [("version", format!("\"{VERSION}\"")), ("hit_ratio", ratio)];
    let gauges = snapshot.gauges.iter().map(|(gauge, value)| (gauge.name, value.to_string()));
    let counters = snapshot.counters.iter().map(|(counter, value)| (counter.name(), value.to_string()));
    let lines: Vec<_> =
        first.into_iter().chain(gauges).chain(counters).map(|(name, value)| format!("  \"{name}\": {value}")).collect();
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}
