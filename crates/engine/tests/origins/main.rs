//! Tests of origins: which one is asked, what happens when one fails, and which requests wait for a connection.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test may panic")]

mod origin_connections;
mod origin_failures;
mod origin_faults;
mod origin_names;
mod origins_balance;
mod origins_health;
mod origins_queue;
mod origins_reload;
mod origins_retry;
