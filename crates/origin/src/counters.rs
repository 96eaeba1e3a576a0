//! What one worker's side of the origins has done so far.

use std::cell::Cell;

/// What has happened so far.
#[derive(Debug, Default)]
pub struct Counters {
    /// Requests sent, retries included.
    pub requests: Cell<u64>,
    /// Connections opened.
    pub connections: Cell<u64>,
    /// Requests sent again because a kept connection was found dead.
    pub retries: Cell<u64>,
}

impl Counters {
    /// A request is sent.
    pub fn request(&self) {
        self.requests.set(self.requests.get() + 1);
    }

    /// A connection was opened.
    pub fn connection(&self) {
        self.connections.set(self.connections.get() + 1);
    }

    /// A request is sent again.
    pub fn retry(&self) {
        self.retries.set(self.retries.get() + 1);
    }
}
