//! An outage of an origin: since when, and what it has cost. It begins with the failures that make an origin down or suspect, and ends with
//! an answer, so that an origin that takes connections and answers none has one outage, not many.

use std::time::Duration;

/// One that goes on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outage {
    begun_ms: u64,
    pub(super) failed: u64,
    pub(super) unasked: u64,
}

/// One that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// From the failure that made the origin down or suspect.
    pub lasted: Duration,
    /// Requests to it that got no answer, those that made it down included, and those that another origin has answered then.
    pub failed: u64,
    /// Requests that were sent to no origin, since it was not expected to answer, nor any other.
    pub unasked: u64,
}

impl Outage {
    pub(super) fn begun(now_ms: u64, failed: u64) -> Self {
        Self { begun_ms: now_ms, failed, unasked: 0 }
    }

    pub(super) fn end(self, now_ms: u64) -> Recovery {
        let lasted = Duration::from_millis(now_ms.saturating_sub(self.begun_ms));
        Recovery { lasted, failed: self.failed, unasked: self.unasked }
    }
}
