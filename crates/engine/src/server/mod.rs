//! The server: sockets, workers that accept, and the path of each request.

pub mod engine;
pub(crate) mod event_loop;
pub mod listening;
pub(crate) mod start_error;
