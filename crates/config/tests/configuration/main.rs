//! Tests how configuration files and flags are read, and the messages about mistakes in them.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test may panic")]

mod documents;
mod flags;
mod mistakes;
mod options;
mod writable;
