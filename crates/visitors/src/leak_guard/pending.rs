//! Requests that come while the first page of their URL pattern is compared: how long they wait, and how many pass at a time.
//!
//! Without Kasoku, such a request would take as long as the page. So it waits no longer than the page took, and then passes. A few pass
//! at a time, so that a crowd reaches the application as a few requests and, when the comparison has ended, gets hits.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::sync::{Notify, Semaphore, SemaphorePermit};

/// How many requests of a pattern pass at a time while its first page is compared.
const PASSES_MAX: usize = 4;

/// How long the requests wait that come while the first page of a pattern is compared, and how many pass.
#[derive(Debug)]
pub struct Pending {
    /// How long the page took, in milliseconds; 0: the page has not come yet.
    took_ms: AtomicU64,
    is_over: AtomicBool,
    changed: Notify,
    passes: Semaphore,
}

impl Default for Pending {
    fn default() -> Self {
        Self {
            took_ms: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            changed: Notify::new(),
            passes: Semaphore::new(PASSES_MAX),
        }
    }
}

impl Pending {
    /// The page has come, after so many milliseconds.
    pub fn took(&self, ms: u64) {
        self.took_ms.store(ms.max(1), Ordering::Release);
        self.changed.notify_waiters();
    }

    /// The comparison has ended.
    pub(crate) fn ends(&self) {
        self.is_over.store(true, Ordering::Release);
        self.changed.notify_waiters();
    }

    /// Waits until it is known how long the page took; `None`: the comparison has ended before.
    pub async fn page_ms(&self) -> Option<u64> {
        self.until(|| match self.took_ms.load(Ordering::Acquire) {
            _ if self.is_over() => Some(None),
            0 => None,
            ms => Some(Some(ms)),
        })
        .await
    }

    /// Waits until the comparison has ended.
    pub async fn end(&self) {
        self.until(|| self.is_over().then_some(())).await;
    }

    /// Waits for permission to pass.
    pub async fn may_pass(&self) -> Option<SemaphorePermit<'_>> {
        self.passes.acquire().await.ok()
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    async fn until<T>(&self, look: impl Fn() -> Option<T>) -> T {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Registered before the look, so that a change between look and wait is not missed.
            changed.as_mut().enable();
            if let Some(found) = look() {
                return found;
            }
            changed.await;
        }
    }
}
