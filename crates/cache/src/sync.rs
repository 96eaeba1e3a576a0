//! The synchronisation primitives of this crate: those of std, or, for the models of `tests/models`, those of shuttle, whose scheduler
//! switches threads at each of them.
//!
//! All locks and counters of this crate come from here. `Arc` stays std's, since its counters decide only when a value is dropped.
//! `Notify` stays tokio's: shuttle runs one thread at a time and switches only at its own primitives, so an operation of a `Notify` is
//! one atomic step there, and the models say nothing about its inside.

#[cfg(feature = "shuttle")]
pub(crate) use shuttle::sync::{
    Mutex, MutexGuard, RwLock,
    atomic::{AtomicBool, AtomicU64, AtomicUsize},
};
#[cfg(not(feature = "shuttle"))]
pub(crate) use std::sync::{
    Mutex, MutexGuard, RwLock,
    atomic::{AtomicBool, AtomicU64, AtomicUsize},
};
pub(crate) use std::sync::{PoisonError, atomic::Ordering};
