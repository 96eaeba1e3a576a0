//! Stores and returns entries by key, and never reads a header.
//!
//! There is only the memory tier so far. The caller chooses the type of the values: a clone must be cheap (an `Arc`), and a value
//! must know its weight.

pub mod memory;
mod sync;

pub use memory::{Evicted, INDEX_BYTES_PER_ENTRY, KeyHash, Memory, Weigh};
