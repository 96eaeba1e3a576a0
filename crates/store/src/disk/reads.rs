//! The reads, and the writes of large objects, that wait for the disk: threads of their own run them.

use super::breaker::Breaker;
use super::counters::Counters;
use super::queue::{Next, Queue};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// The most jobs that may wait.
const JOBS_MAX: u64 = 4096;

type Job = Box<dyn FnOnce() + Send>;

/// Why bytes can't be had.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// They are not as they were written, or can't be read.
    #[error("a stored object is damaged")]
    Damaged,
    /// Too many other reads wait for the disk.
    #[error("too many reads wait for the disk")]
    Busy,
    /// Other reads were not answered in time, so this one is skipped.
    #[error("the disk does not answer")]
    Silent,
}

/// See the [module](self).
pub(super) struct Reads {
    jobs: Queue<Job>,
    breaker: Breaker,
    counters: Arc<Counters>,
}

impl Reads {
    pub(super) fn new(counters: Arc<Counters>) -> Self {
        Self { jobs: Queue::new(JOBS_MAX), breaker: Breaker::default(), counters }
    }

    /// Runs `read` on a thread that may wait for the disk. Skips it while the disk does not answer.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        read: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ReadError> {
        if !self.breaker.lets_through(Instant::now()) {
            self.counters.skipped_reads.add(1);
            return Err(ReadError::Silent);
        }
        self.counters.waited_reads.add(1);
        let answer = self.on_thread(read).await?;
        if self.breaker.answered() {
            tracing::info!("the disk cache answers, and is read again");
        }
        Ok(answer)
    }

    /// The same for a write.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        write: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ReadError> {
        if self.breaker.is_skipping() { Err(ReadError::Silent) } else { self.on_thread(write).await }
    }

    /// The caller of a read or a write gave up. Returns whether reads are skipped from now on, and were not before.
    pub(super) fn timed_out(&self) -> bool {
        self.breaker.timed_out(Instant::now())
    }

    async fn on_thread<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Result<T, ReadError> {
        let (done, receiver) = oneshot::channel();
        let job = move || {
            // The caller may have gone away.
            if !done.is_closed() {
                let _ = done.send(job());
            }
        };
        self.jobs.push(1, Box::new(job)).map_err(|_| ReadError::Busy)?;
        receiver.await.map_err(|_| ReadError::Busy)
    }

    /// Runs `job` on such a thread, and waits for nothing.
    pub(super) fn later(&self, job: impl FnOnce() + Send + 'static) {
        // Without a weight: it must not run on a worker's thread since much else waits.
        if let Err(job) = self.jobs.push(0, Box::new(job)) {
            job();
        }
    }

    /// Runs jobs until the end. The work of one thread.
    pub(super) fn serve(&self) {
        loop {
            match self.jobs.next(Duration::from_secs(3600)) {
                Next::Item(job) => job(),
                Next::Nothing => {}
                Next::Closed => return,
            }
        }
    }

    /// Takes no more jobs.
    pub(super) fn close(&self) {
        self.jobs.close();
    }
}

impl std::fmt::Debug for Reads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reads").finish_non_exhaustive()
    }
}
