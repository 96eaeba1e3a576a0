//! Tests of the shared tier with three front ends, real memcached or Redis servers, and a proxy before each server that fails as the test wants it.
//!
//! In the order of the data: `client` asks each `front_end` of a `fleet`, which share memcached or Redis servers (`kasoku_testkit::servers`), and have one `origin` with the
//! numbered pages of `page`. The tests are in `sharing` (a page costs the origin one request), `cold` (also if all ask at once), `purges` (what is purged at one front end is
//! gone at all), `timed` (and how soon), `unshareable` (what no server may have), `faults` (servers fail while the clients of `traffic` ask for pages), `forged`
//! (items of somebody else, made by `forgery` and `item`) and `programs` (the examples in Python and PHP).
//!
//! `KASOKU_SHARED_REQUESTS` sets the requests for each fault (300), `KASOKU_SHARED_FORGED` the number of forged items (1,000),
//! `KASOKU_SHARED_PURGES` the number of purges that are timed (24), `KASOKU_SHARED_COLD_CLIENTS` the clients of each front end for a cold page (20), and `KASOKU_SHARED_SEED` repeats the choice of both, but not how threads interleave. `make soak-shared` is the long form.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may panic"
)]

#[path = "../../shared/tests/support/certificates.rs"]
mod certificates;
#[path = "shared_tier/client.rs"]
mod client;
#[path = "shared_tier/cold.rs"]
mod cold;
#[path = "shared_tier/faults.rs"]
mod faults;
#[path = "shared_tier/fleet.rs"]
mod fleet;
#[path = "shared_tier/forged.rs"]
mod forged;
#[path = "shared_tier/forgery.rs"]
mod forgery;
#[path = "shared_tier/front_end.rs"]
mod front_end;
#[path = "shared_tier/item.rs"]
mod item;
#[path = "shared_tier/origin.rs"]
mod origin;
#[path = "shared_tier/page.rs"]
mod page;
#[path = "shared_tier/programs.rs"]
mod programs;
#[path = "shared_tier/purges.rs"]
mod purges;
#[path = "shared_tier/sharing.rs"]
mod sharing;
#[allow(dead_code, reason = "more than one test uses it, each its own part")]
mod support;
#[path = "shared_tier/timed.rs"]
mod timed;
#[path = "shared_tier/traffic.rs"]
mod traffic;
#[path = "shared_tier/unshareable.rs"]
mod unshareable;

use std::time::{SystemTime, UNIX_EPOCH};
use support::setting;

/// What chooses the requests of this run.
fn seed() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    setting("KASOKU_SHARED_SEED").unwrap_or(since_1970.as_secs())
}
