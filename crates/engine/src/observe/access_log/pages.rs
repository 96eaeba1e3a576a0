//! The queues by which full pages go to the writer, and empty pages come back.
//!
//! All pages are made at the start, so the memory of waiting lines is bounded and nothing is allocated later. Memory that was
//! never written to costs nothing, and the page that came back last is given out first, so few pages are ever touched. The lock
//! is held for a push or a pop, once for each page and not for each line, and never during a write.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The size of a page: the most bytes that one system call writes.
pub(crate) const PAGE_BYTES: usize = 64 << 10;

/// A page of whole lines.
pub(crate) struct LogPage {
    /// At most [`PAGE_BYTES`], which is its capacity.
    pub(crate) bytes: Vec<u8>,
    /// The number of lines.
    pub(crate) lines: u64,
}

/// The writer's next step.
pub(crate) enum WriterStep {
    /// Writes this page. Pages come in the order in which they were handed over.
    Write(LogPage),
    /// Opens its file anew.
    Reopen,
    /// Ends: all pages are written, and no more will come.
    End,
}

/// See the [module](self).
pub(crate) struct Pages {
    inner: Mutex<PageQueues>,
    /// A page was handed over, the file is to be opened anew, or no more pages will come.
    changed: Condvar,
    /// The writer has ended.
    ended: Condvar,
}

struct PageQueues {
    full: VecDeque<LogPage>,
    empty: Vec<LogPage>,
    is_closed: bool,
    has_ended: bool,
    is_to_reopen: bool,
}

impl Pages {
    /// Makes `count` empty pages.
    pub(crate) fn new(count: usize) -> Self {
        let empty = (0..count).map(|_| LogPage { bytes: Vec::with_capacity(PAGE_BYTES), lines: 0 }).collect();
        let inner = PageQueues {
            full: VecDeque::with_capacity(count),
            empty,
            is_closed: false,
            has_ended: false,
            is_to_reopen: false,
        };
        Self { inner: Mutex::new(inner), changed: Condvar::new(), ended: Condvar::new() }
    }

    /// Takes an empty page, if there is one.
    pub(crate) fn empty(&self) -> Option<LogPage> {
        self.lock().empty.pop()
    }

    /// Hands a page to the writer.
    pub(crate) fn hand_over(&self, page: LogPage) {
        self.lock().full.push_back(page);
        self.changed.notify_one();
    }

    /// Called by the writer: waits for its next step.
    pub(crate) fn next(&self) -> WriterStep {
        let wait = |inner: &mut PageQueues| inner.full.is_empty() && !inner.is_closed && !inner.is_to_reopen;
        let mut inner = self.changed.wait_while(self.lock(), wait).unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut inner.is_to_reopen) {
            return WriterStep::Reopen;
        }
        inner.full.pop_front().map_or(WriterStep::End, WriterStep::Write)
    }

    /// Has the writer open its file anew before the next page.
    pub(crate) fn reopen(&self) {
        self.lock().is_to_reopen = true;
        self.changed.notify_one();
    }

    /// Called by the writer: gives a written page back.
    pub(crate) fn give_back(&self, mut page: LogPage) {
        page.bytes.clear();
        page.lines = 0;
        self.lock().empty.push(page);
    }

    /// No worker will hand over another page.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_one();
    }

    /// Called by the writer when it ends.
    pub(crate) fn end(&self) {
        self.lock().has_ended = true;
        self.ended.notify_all();
    }

    /// Waits at most `timeout` for the writer to end. Returns whether it has ended.
    pub(crate) fn wait_for_end(&self, timeout: Duration) -> bool {
        let waiting = self.ended.wait_timeout_while(self.lock(), timeout, |inner| !inner.has_ended);
        waiting.unwrap_or_else(PoisonError::into_inner).0.has_ended
    }

    /// Whether no page waits for the writer.
    #[cfg(test)]
    pub(crate) fn is_idle(&self) -> bool {
        self.lock().full.is_empty()
    }

    /// Whether there is no empty page.
    #[cfg(test)]
    pub(crate) fn is_starved(&self) -> bool {
        self.lock().empty.is_empty()
    }

    // No code panics while it holds the lock, and the queues are sound after each push.
    fn lock(&self) -> MutexGuard<'_, PageQueues> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
