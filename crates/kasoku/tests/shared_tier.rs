//! Tests of the shared tier with three front ends, real memcached servers, and a proxy before each server that fails as the test wants it.
//!
//! In the order of the data: `client` asks the front ends of a `fleet`, which share the servers of `memcached`, and have one `origin` with the
//! numbered pages of `page`. The tests are in `sharing` (a page costs the origin one request), `purges` (what is purged at one front end is
//! gone at all) and `unshareable` (what no server may have).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may panic"
)]

#[path = "shared_tier/client.rs"]
mod client;
#[path = "shared_tier/fleet.rs"]
mod fleet;
#[path = "shared_tier/memcached.rs"]
mod memcached;
#[path = "shared_tier/origin.rs"]
mod origin;
#[path = "shared_tier/page.rs"]
mod page;
#[path = "shared_tier/purges.rs"]
mod purges;
#[path = "shared_tier/sharing.rs"]
mod sharing;
#[allow(dead_code, reason = "more than one test uses it, each its own part")]
mod support;
#[path = "shared_tier/unshareable.rs"]
mod unshareable;
