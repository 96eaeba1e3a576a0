//! The error with which an engine does not start, or does not take new options.

use std::fmt;
use std::io;

/// Why an engine did not start, or did not take new options.
#[derive(Debug)]
pub struct StartError {
    /// The address, file or thread that failed.
    pub what: String,
    /// How it failed.
    pub error: io::Error,
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.error.kind() {
            io::ErrorKind::AddrInUse => write!(f, "{}: another process listens there already", self.what),
            _ => write!(f, "{}: {}", self.what, self.error),
        }
    }
}

impl std::error::Error for StartError {}
