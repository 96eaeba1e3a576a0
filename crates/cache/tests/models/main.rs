//! Models of what threads do to fills and to the index, under a scheduler that decides at each lock and each atomic which
//! thread goes on (shuttle). Run them with
//!
//! ```text
//! cargo test -p kasoku-cache --features shuttle --test models
//! ```
//!
//! Each model runs some threads against one cache in thousands of schedules, half of them random, half with few preemptions
//! at chosen places (PCT), and asserts what must hold in all of them. A thread that waits for ever is a failure too:
//! shuttle sees that nobody can go on. The cache is the real one; its locks and counters, and those of quick_cache, are
//! shuttle's here (`src/sync.rs`).
//!
//! What this does not show: what the processor may reorder (shuttle is sequentially consistent; the counters that are
//! `Relaxed` are sums and hints, nothing is published through them), and what tokio's `Notify` does inside (one step
//! here). That a run passes is evidence and no proof: the schedules are a sample.
//!
//! | variable | meaning |
//! |---|---|
//! | `MODEL_SCHEDULES` | schedules for each model |
//! | `MODEL_SEED` | another sample |
//! | `MODEL_REPLAY` | the schedule that a failure printed, for one test by name |

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod eviction;
mod explore;
mod failing;
mod index;
mod joiners;
mod pace;
mod private;
mod purge;
mod site;
