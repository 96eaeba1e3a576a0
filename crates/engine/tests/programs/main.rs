//! Tests of application servers, programs and files: what a program is told, what it may answer, and which files of a directory
//! are sent.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test may panic")]

mod application_servers;
mod fastcgi;
mod files_origin;
mod files_sent;
mod sendfile;
