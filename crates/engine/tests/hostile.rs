//! Hostile input: malformed and ambiguous messages over real sockets to a real engine. Each is a row of a table, with the result
//! that RFC 9112 (or 9110) demands.
//!
//! [`requests`] holds what clients send. A row says whether Kasoku refuses it, and with which status, or what the origin gets.
//! The client sends a second request behind each row. So a test fails at once if Kasoku ends a message elsewhere than the table
//! says: a refused row ends its connection and nothing behind it is answered; behind an accepted row, Kasoku reads exactly that
//! second request. The test reads what goes to the origin again, strictly, by code that shares nothing with Kasoku.
//!
//! [`responses`] holds what origins send. There, the second request must get its own answer, whatever the origin sent before.
//!
//! Rows are written as the bytes of the attack. The sources are the catalogues of HTTP Garden, smuggler.py, HTTP Request Smuggler
//! and Http11Probe, and the grammar itself.
//!
//! `KASOKU_HOSTILE_RECORD=file` records what origins receive, for the other parsers of `tests/hostile`.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

#[path = "hostile/message.rs"]
mod message;
#[path = "hostile/origin.rs"]
mod origin;
#[path = "hostile/requests/mod.rs"]
mod requests;
#[path = "hostile/responses/mod.rs"]
mod responses;
