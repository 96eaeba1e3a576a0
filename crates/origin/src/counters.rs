//! Counts of one worker's requests and connections to its origins.

use std::cell::Cell;

/// The counts so far.
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
    /// Counts a request that is sent.
    pub fn request(&self) {
        self.requests.set(self.requests.get() + 1);
    }

    /// Counts a connection that was opened.
    pub fn connection(&self) {
        self.connections.set(self.connections.get() + 1);
    }

    /// Counts a request that is sent again.
    pub fn retry(&self) {
        self.retries.set(self.retries.get() + 1);
    }
}
