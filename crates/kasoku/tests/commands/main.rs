//! What the program does with its arguments, signals and sockets, and what it says.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test may panic")]

mod cgi;
mod checking;
mod explain;
mod log;
mod operating;
mod program;
#[path = "../support/mod.rs"]
mod support;
mod top;
