//! Redis as the server of the shared tier, with real servers.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may panic"
)]

#[path = "support/certificates.rs"]
mod certificates;
#[path = "redis/cluster.rs"]
mod cluster;
#[path = "redis/failing.rs"]
mod failing;
#[path = "redis/failover.rs"]
mod failover;
#[path = "redis/front_end.rs"]
mod front_end;
#[path = "redis/hostile.rs"]
mod hostile;
#[path = "redis/operations.rs"]
mod operations;
#[path = "redis/server.rs"]
mod server;
#[path = "redis/tls.rs"]
mod tls;
