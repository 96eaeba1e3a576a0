//! Tests of visitors: what an application knows of its visitors, which lifetimes the operator grants, and attacks by visitors.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test may panic")]

mod anonymous;
mod corpus;
mod explain;
mod granted;
mod poisoning;
#[path = "../cgi/programs.rs"]
mod programs;
