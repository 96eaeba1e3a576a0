//! Measures how long a request's origin took, as the request sees it: from the moment when the request first asked an origin or
//! began to wait for another request's answer. Waits for a connection, failed origins and second tries count as well.
//!
//! Two tasks write it, the one that asks the origin and the one that reads the answer, and the client's log reads it. All run on
//! one worker. The log leaves out a time that is not known by then, since the client has left before the origin had finished.

use kasoku_origin::OriginState;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// See the [module](self). Times are in microseconds of the worker's monotonic clock.
pub(crate) struct OriginTime {
    began_us: u64,
    head_us: Cell<Option<u64>>,
    end_us: Cell<Option<u64>>,
    who: RefCell<Option<Arc<OriginState>>>,
}

impl OriginTime {
    pub(crate) fn begin(now_us: u64) -> Self {
        Self { began_us: now_us, head_us: Cell::default(), end_us: Cell::default(), who: RefCell::default() }
    }

    /// An origin has been asked. Of several, the last one counts.
    pub(crate) fn asked(&self, who: Arc<OriginState>) {
        self.who.replace(Some(who));
    }

    /// The head of an answer has arrived.
    pub(crate) fn has_head(&self, now_us: u64) {
        self.head_us.set(Some(now_us));
    }

    /// The answer has come to its end, or never will. Only the first call counts: the task that reads the answer is never faster
    /// than the one that fetches it.
    pub(crate) fn has_ended(&self, now_us: u64) {
        if self.end_us.get().is_none() {
            self.end_us.set(Some(now_us));
        }
    }

    /// Microseconds until the head; `None`: no head has come.
    pub(crate) fn head(&self) -> Option<u64> {
        self.head_us.get().map(|at| at.saturating_sub(self.began_us))
    }

    /// Microseconds until the end; `None`: the request did not wait for it.
    pub(crate) fn whole(&self) -> Option<u64> {
        self.end_us.get().map(|at| at.saturating_sub(self.began_us))
    }

    /// The origin that this request has asked; `None` where it waited for another request's answer.
    pub(crate) fn who(&self) -> Option<Arc<OriginState>> {
        self.who.borrow().clone()
    }
}
