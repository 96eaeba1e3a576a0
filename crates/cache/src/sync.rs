//! What threads share state with: the primitives of std, or, where the models of `tests/models` run, those of shuttle,
//! whose scheduler switches threads at each of them.
//!
//! Whatever this crate locks or counts comes from here. `Arc` stays std's: its counters decide nothing but when a value is
//! dropped. tokio's `Notify` stays tokio's: under shuttle one thread runs at a time and is switched only at shuttle's own
//! primitives, so what a `Notify` does inside is one atomic step there, and the models say nothing about it.

#[cfg(feature = "shuttle")]
pub(crate) use shuttle::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicU64, AtomicUsize},
};
#[cfg(not(feature = "shuttle"))]
pub(crate) use std::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicU64, AtomicUsize},
};
pub(crate) use std::sync::{PoisonError, atomic::Ordering};
