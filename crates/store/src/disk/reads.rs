//! The reads, and the writes of large objects, that wait for the disk: threads of their own run them.

use super::breaker::Breaker;
use super::counters::Counters;
use super::log::read_full;
use super::queue::{Next, Queue};
use bytes::Bytes;
use std::fs::File;
use std::io;
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

    /// Makes what `reads` consists of, which is calls of [`Reads::read`]. Skips it while the disk does not answer.
    pub(super) async fn make<T>(&self, reads: impl Future<Output = Result<T, ReadError>>) -> Result<T, ReadError> {
        if !self.breaker.lets_through(Instant::now()) {
            self.counters.skipped_reads.add(1);
            return Err(ReadError::Silent);
        }
        self.counters.waited_reads.add(1);
        let answer = reads.await?;
        if self.breaker.answered() {
            tracing::info!("the disk cache answers, and is read again");
        }
        Ok(answer)
    }

    /// The bytes of a file, in two buffers of these lengths. Fewer than wanted come only where the file ends. Within [`Reads::make`].
    pub(super) async fn read<F: AsRef<File> + Send + Sync + 'static>(
        &self,
        file: &Arc<F>,
        offset: u64,
        lengths: [usize; 2],
    ) -> Result<io::Result<[Bytes; 2]>, ReadError> {
        let file = file.clone();
        self.on_thread(move || read_and_wait((*file).as_ref(), offset, lengths)).await
    }

    /// Runs a write on a thread that may wait for the disk.
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

/// See [`Reads::read`]. For threads that may wait for the disk.
pub(super) fn read_and_wait(file: &File, offset: u64, lengths: [usize; 2]) -> io::Result<[Bytes; 2]> {
    // Not `vec![0; length]`: the allocator zeroes a large block by giving its pages back (madvise), and the kernel then faults in each page
    // anew, which takes several times as long as to write zeros. `black_box`, so that the compiler does not make the one of the other.
    let mut buffers = lengths.map(|length| std::hint::black_box(Vec::with_capacity(length)));
    let mut at = offset;
    for (buffer, length) in buffers.iter_mut().zip(lengths) {
        buffer.resize(length, 0);
        let count = read_full(file, buffer, at)?;
        buffer.truncate(count);
        at += count as u64;
    }
    Ok(buffers.map(Bytes::from))
}

impl std::fmt::Debug for Reads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reads").finish_non_exhaustive()
    }
}
