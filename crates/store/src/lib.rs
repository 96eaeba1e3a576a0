//! Keeps and returns entries by key; never reads a header.
//!
//! Only the memory tier so far. What is kept is the caller's type: a clone must be cheap (an `Arc`), and it must know
//! its weight.

pub mod memory;
mod sync;

pub use memory::{Evicted, INDEX_BYTES_PER_ENTRY, KeyHash, Memory, Weigh};
