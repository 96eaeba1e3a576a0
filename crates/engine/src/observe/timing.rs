//! What a request's origin took: as seen by the request, from the first time that it asked or began to wait for another
//! request's answer, whatever came between (a place for a connection, another origin, a second try).
//!
//! Two flows write it, the one that asks and the one that reads, and the client's log reads it; all are of one worker. What
//! is not known by then (the client has left before the origin had finished) is not told.

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

    /// It has been asked; the last one that was counts.
    pub(crate) fn asked(&self, who: Arc<OriginState>) {
        self.who.replace(Some(who));
    }

    /// The head of an answer is there.
    pub(crate) fn has_head(&self, now_us: u64) {
        self.head_us.set(Some(now_us));
    }

    /// The answer has come to its end, or will not. Only the first word counts: who reads it is never faster than who
    /// asked for it.
    pub(crate) fn has_ended(&self, now_us: u64) {
        if self.end_us.get().is_none() {
            self.end_us.set(Some(now_us));
        }
    }

    /// Microseconds until the head; `None`: there was none.
    pub(crate) fn head(&self) -> Option<u64> {
        self.head_us.get().map(|at| at.saturating_sub(self.began_us))
    }

    /// Microseconds until the end; `None`: it was not waited for.
    pub(crate) fn whole(&self) -> Option<u64> {
        self.end_us.get().map(|at| at.saturating_sub(self.began_us))
    }

    /// Whom this request has asked; `None` where it waited for another's answer.
    pub(crate) fn who(&self) -> Option<Arc<OriginState>> {
        self.who.borrow().clone()
    }
}
