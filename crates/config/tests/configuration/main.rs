//! What is read of documents and flags, and what is said of mistakes in them.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test may panic")]

mod documents;
mod flags;
mod mistakes;
mod options;
mod writable;
