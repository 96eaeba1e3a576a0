//! The run itself: half a minute in `make test`, any time in `make soak`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use kasoku_oracle::run::run;
use std::io::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().filter(|text| !text.is_empty()).map(|text| text.parse().unwrap())
}

/// `KASOKU_ORACLE_SECONDS` (default: 30) and `KASOKU_ORACLE_SEED` (default: the clock) set the duration and the seed.
#[test]
fn no_response_mixes_anything_or_is_staler_than_allowed() {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seed = number("KASOKU_ORACLE_SEED").unwrap_or(since_1970.as_secs());
    let outcome = run(seed, Duration::from_secs(number("KASOKU_ORACLE_SECONDS").unwrap_or(30)));
    // Written past the test harness's capture, since the report is what a run is for.
    let _ = writeln!(std::io::stderr(), "{}", outcome.text);
    assert_eq!(outcome.mistakes, 0, "KASOKU_ORACLE_SEED={seed}");
    assert!(outcome.missing.is_empty(), "never happened: {:?}", outcome.missing);
}
