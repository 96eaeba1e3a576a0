//! Tests of the client's side: messages, connections, listeners, logs.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test may panic")]

mod access_log;
mod bodies;
mod cache_status;
mod forwarded;
mod forwarding;
mod framing;
mod hit_headers;
mod ingress;
mod interim;
mod limits;
mod listeners;
#[path = "../cgi/programs.rs"]
mod programs;
mod proxy_protocol;
mod request_ids;
mod times;
mod upgrade;
mod uploads;
