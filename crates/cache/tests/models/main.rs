//! Models of what threads do to fills and to the index, under a scheduler that decides at each lock and each atomic which
//! thread goes on (shuttle). Run them with
//!
//! ```text
//! cargo test -p kasoku-cache --features shuttle --test models
//! ```
//!
//! Each model runs some threads against one cache in thousands of schedules, half of them random, half with few preemptions at chosen
//! places (PCT), and asserts what must hold in all of them. A thread that waits for ever is a failure too: shuttle sees that no thread
//! can run. The cache is the real one, except that its locks and counters, and those of quick_cache, are shuttle's here (`src/sync.rs`).
//!
//! The models do not show what the processor may reorder: shuttle is sequentially consistent. (The counters that are `Relaxed` are sums
//! and hints, and publish no other data.) Nor do they show what tokio's `Notify` does inside, which is one step here. A run that passes
//! is evidence and no proof: the schedules are a sample.
//!
//! | variable | meaning |
//! |---|---|
//! | `MODEL_SCHEDULES` | schedules for each model |
//! | `MODEL_SEED` | another sample |
//! | `MODEL_REPLAY` | the schedule that a failure printed, for one test by name |

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod data;
mod eviction;
mod explore;
mod failing;
mod index;
mod joiners;
mod pace;
mod private;
mod purge;
mod site;
