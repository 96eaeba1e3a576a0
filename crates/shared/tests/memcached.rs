//! The client of memcached against real servers, and against one that a test plays.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may panic"
)]

#[allow(dead_code, reason = "not each test needs all of it")]
mod support;

#[path = "memcached/failing.rs"]
mod failing;
#[path = "memcached/fake_server.rs"]
mod fake_server;
#[path = "memcached/hostile.rs"]
mod hostile;
#[path = "memcached/operations.rs"]
mod operations;
#[path = "memcached/status.rs"]
mod status;
