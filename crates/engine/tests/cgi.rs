//! Programs that are run for a request, from the client's side (RFC 3875): what they are told, what becomes of what they print, and
//! that nothing of them is left.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]

#[path = "cgi/answers.rs"]
mod answers;
#[path = "cgi/endings.rs"]
mod endings;
#[path = "cgi/programs.rs"]
mod programs;
