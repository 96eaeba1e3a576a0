//! Stores and returns entries by key, and never reads a header.
//!
//! The memory tier ([`memory`]) keeps values of a type that the caller chooses: a clone must be cheap (an `Arc`), and a value must know its
//! weight. The disk tier ([`disk`]) keeps bytes.

pub mod disk;
pub mod memory;
mod sync;

pub use memory::{Evicted, EvictedValue, EvictedValues, INDEX_BYTES_PER_ENTRY, KeyHash, Memory, Weigh};
