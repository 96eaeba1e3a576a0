//! Why an engine does not start.

use std::fmt;
use std::io;

/// Why an engine did not start, or did not take new options.
#[derive(Debug)]
pub struct StartError {
    /// Where it was to listen, which file or which thread.
    pub what: String,
    /// Why not.
    pub error: io::Error,
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.error.kind() {
            io::ErrorKind::AddrInUse => write!(f, "{}: somebody listens there already", self.what),
            _ => write!(f, "{}: {}", self.what, self.error),
        }
    }
}

impl std::error::Error for StartError {}
