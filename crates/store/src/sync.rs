//! What threads share state with: the primitives of std, or, where the models of `crates/cache/tests/models` run, those
//! of shuttle, whose scheduler switches threads at each of them. quick_cache has the same switch, so that its shards' locks
//! are part of the models.

#[cfg(feature = "shuttle")]
pub(crate) use shuttle::sync::{Mutex, MutexGuard, atomic::AtomicU64};
#[cfg(not(feature = "shuttle"))]
pub(crate) use std::sync::{Mutex, MutexGuard, atomic::AtomicU64};
pub(crate) use std::sync::{PoisonError, atomic::Ordering};
