//! An outage of an origin: how long it lasted, and what it cost. It begins with the failures that make the origin down or suspect, and
//! ends with an answer. So an origin that takes connections and answers no request has one outage, not many.

use std::time::Duration;

/// An outage that goes on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outage {
    begun_ms: u64,
    pub(super) failed: u64,
    pub(super) unasked: u64,
}

/// An outage that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// The time since the failure that made the origin down or suspect.
    pub lasted: Duration,
    /// Requests to this origin that got no answer from it, including those that made it down and those that another origin then answered.
    pub failed: u64,
    /// Requests that were sent to no origin, since neither this one nor any other could be asked.
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
