//! Tests of front ends that tell each other their purges, with real processes and one origin.
//!
//! `fleet` starts them, with a proxy on each way from one to another. The tests are in `purges` (what is purged at one is gone at all, also at
//! one that was away), `timed` (and how soon) and `strangers` (what the listener does to others). `KASOKU_PEERS_PURGES` sets the number of purges
//! that are timed (24). Clients, pages and the origin are those of the shared tier's tests.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may panic"
)]

#[allow(dead_code, reason = "more than one test uses it, each its own part")]
#[path = "shared_tier/client.rs"]
mod client;
#[path = "peers/fleet.rs"]
mod fleet;
#[allow(dead_code, reason = "as above")]
#[path = "shared_tier/front_end.rs"]
mod front_end;
#[allow(dead_code, reason = "as above")]
#[path = "shared_tier/origin.rs"]
mod origin;
#[allow(dead_code, reason = "as above")]
#[path = "shared_tier/page.rs"]
mod page;
#[path = "peers/purges.rs"]
mod purges;
#[path = "peers/strangers.rs"]
mod strangers;
#[allow(dead_code, reason = "as above")]
mod support;
#[path = "peers/timed.rs"]
mod timed;
