//! Chooses the locks and atomics of this crate: those of std, or those of shuttle where the models of `crates/cache/tests/models`
//! run. shuttle's scheduler switches threads at each of them. quick_cache has the same switch, so the locks of its shards are part
//! of the models.

#[cfg(feature = "shuttle")]
pub(crate) use shuttle::sync::{Mutex, MutexGuard, atomic::AtomicBool, atomic::AtomicU64};
#[cfg(not(feature = "shuttle"))]
pub(crate) use std::sync::{Mutex, MutexGuard, atomic::AtomicBool, atomic::AtomicU64};
pub(crate) use std::sync::{PoisonError, atomic::Ordering};
