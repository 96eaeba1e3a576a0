//! Tests the `kasoku` program as a process: its arguments, signals, sockets and messages.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test may panic")]

mod cgi;
mod checking;
mod disk;
mod disk_commands;
mod explain;
mod log;
mod operating;
mod program;
mod shared_tier;
#[path = "../support/mod.rs"]
mod support;
mod top;
