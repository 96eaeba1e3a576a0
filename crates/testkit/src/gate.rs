//! An event: a gate that is closed until a test opens it, and then open for ever.

use crate::WAIT_MAX;
use std::sync::{Arc, Condvar, Mutex};

/// See the [module](self). Clones are the same gate.
#[derive(Clone, Debug, Default)]
pub struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    /// A closed gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets all threads through, now and later.
    pub fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    /// Waits until the gate is open; `false` after [`WAIT_MAX`].
    #[must_use]
    pub fn wait(&self) -> bool {
        let closed = self.0.0.lock().unwrap();
        let (open, _) = self.0.1.wait_timeout_while(closed, WAIT_MAX, |open| !*open).unwrap();
        *open
    }
}
