//! Whose page is whose: what an application knows of its visitors, what the operator grants, and what somebody may try.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test may panic")]

mod anonymous;
mod explain;
mod granted;
mod poisoning;
#[path = "../cgi/programs.rs"]
mod programs;
