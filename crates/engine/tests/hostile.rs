//! Hostile input: each malformed or ambiguous message is a row of a table, with what RFC 9112 (or 9110) makes of it.
//!
//! [`requests`] holds what clients send. A row says whether it is refused, and with which status, or what the origin gets.
//! Behind each row follows a second request, so that it shows at once when Kasoku ends a message elsewhere than the table
//! says: what was refused ends its connection, and nothing behind it is ever answered; what was accepted is followed by
//! exactly that second request. What goes to the origin is read again, strictly, by code that shares nothing with Kasoku.
//!
//! [`responses`] holds what origins send. There the second request must get its own answer, whatever came before.
//!
//! All goes over real sockets to a real engine. Rows are written in the words of the attack, as bytes; the sources are the
//! catalogues of HTTP Garden, smuggler.py, HTTP Request Smuggler and Http11Probe, and the grammar itself.
//!
//! `KASOKU_HOSTILE_RECORD=file` writes down what origins receive, for the other parsers of `tests/hostile`.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

#[path = "hostile/message.rs"]
mod message;
#[path = "hostile/origin.rs"]
mod origin;
#[path = "hostile/requests/mod.rs"]
mod requests;
#[path = "hostile/responses/mod.rs"]
mod responses;
