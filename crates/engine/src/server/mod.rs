//! The server: the engine, its listening sockets, and the event loops of its workers.

pub mod engine;
pub(crate) mod event_loop;
pub mod listening;
pub(crate) mod start_error;
pub(crate) mod tiers;
