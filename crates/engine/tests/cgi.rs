//! CGI programs that the engine runs for requests (RFC 3875), seen by a client: what a program is told, how its output becomes an
//! answer, and that no process is left behind.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]

#[path = "cgi/answers.rs"]
mod answers;
#[path = "cgi/endings.rs"]
mod endings;
#[path = "cgi/programs.rs"]
mod programs;
