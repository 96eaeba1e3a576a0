//! The reads, and the writes of large objects, that wait for the disk.
//!
//! io_uring makes the reads, where there is one, the file system suits it, and it has room for another read. Otherwise threads of their own
//! make them, as they make the writes.

use super::breaker::Breaker;
use super::counters::Counters;
use super::log::read_full;
use super::queue::{Next, Queue};
use bytes::Bytes;
use kasoku_sys::page_cache;
use kasoku_sys::read_ring::{ReadRing, suits};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// The most jobs that may wait.
const JOBS_MAX: u64 = 4096;

/// After a read that lacked pages, so many are preceded by the question for them.
const QUESTIONS: u32 = 32;

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
    ring: Option<ReadRing>,
    /// Whether the file system of the open directory suits the ring: for [`Reads::use_io_uring`].
    ring_suits: AtomicBool,
    /// Whether the kernel can't say what the page cache has.
    hides_pages: AtomicBool,
    /// How many of the next reads are preceded by the question for their pages.
    questions: AtomicU32,
    /// Whether the ring has ended, as the log says or as was wanted.
    has_ring_ended: AtomicBool,
    jobs: Queue<Job>,
    breaker: Breaker,
    counters: Arc<Counters>,
}

impl Reads {
    /// `ring`: what makes the reads. `None`: threads do.
    pub(super) fn new(ring: Option<ReadRing>, counters: Arc<Counters>) -> Self {
        let (ring_suits, hides_pages) = (AtomicBool::new(false), AtomicBool::new(false));
        let (questions, has_ring_ended) = (AtomicU32::new(QUESTIONS), AtomicBool::new(false));
        let (jobs, breaker) = (Queue::new(JOBS_MAX), Breaker::default());
        Self { ring, ring_suits, hides_pages, questions, has_ring_ended, jobs, breaker, counters }
    }

    /// A directory is about to be used. Returns whether its file system suits the ring.
    pub(super) fn will_read_in(&self, directory: &Path) -> bool {
        let suits = File::open(directory).and_then(|directory| suits(&directory)).unwrap_or(false);
        self.ring_suits.store(suits, Ordering::Relaxed);
        match (self.ring.as_ref().is_some_and(ReadRing::is_open), suits) {
            (false, _) => {}
            (true, true) => tracing::info!("the disk cache reads by io_uring"),
            (true, false) => {
                tracing::info!("the disk cache reads by threads: its file system is not known to read asynchronously");
            }
        }
        suits
    }

    fn ring(&self, suits: bool) -> Option<&ReadRing> {
        self.ring.as_ref().filter(|_| suits)
    }

    /// The bytes of a file, in two buffers of these lengths; `None` where the page cache does not have all of them. `suits`: see
    /// [`Reads::will_read_in`]. A file of a directory that was given up may still be read, and the next directory may be elsewhere.
    pub(super) fn read_now(
        &self,
        (file, suits): (&File, bool),
        offset: u64,
        lengths: [usize; 2],
    ) -> io::Result<Option<[Bytes; 2]>> {
        // Where pages are missing, a read that must not wait has the kernel begin to read them from the disk all the same, on this thread.
        // That costs this thread 10 µs for 4 KiB; if it leaves the whole read to the ring, 4 µs (docs/decisions/0041). The question costs 0.2 µs
        // where all pages are there, so it is asked only while pages are missing now and then.
        let questions = self.questions.load(Ordering::Relaxed);
        if questions > 0 && self.ring(suits).is_some() && !self.hides_pages.load(Ordering::Relaxed) {
            let bytes = lengths.iter().fold(0, |sum: u64, length| sum.saturating_add(*length as u64));
            match page_cache::has_all(file, &(offset..offset.saturating_add(bytes))) {
                // Another thread may have found pages missing meanwhile: then its count stays.
                Ok(true) => {
                    let (left, order) = (questions - 1, Ordering::Relaxed);
                    let _ = self.questions.compare_exchange(questions, left, order, order);
                }
                Ok(false) => {
                    self.questions.store(QUESTIONS, Ordering::Relaxed);
                    return Ok(None);
                }
                Err(_) => self.hides_pages.store(true, Ordering::Relaxed),
            }
        }
        let read = page_cache::read(file, offset, lengths)?;
        if read.is_none() {
            self.questions.store(QUESTIONS, Ordering::Relaxed);
        }
        Ok(read.map(|buffers| buffers.map(Bytes::from)))
    }

    /// Makes what `reads` consists of, which is calls of [`Reads::read`]. Skips it while the disk does not answer.
    pub(super) async fn make<T>(&self, reads: impl Future<Output = Result<T, ReadError>>) -> Result<T, ReadError> {
        if !self.breaker.lets_through(Instant::now()) {
            self.counters.skipped_reads.add(1);
            return Err(ReadError::Silent);
        }
        self.counters.waited_reads.add(1);
        reads.await
    }

    /// The bytes of a file, in two buffers of these lengths. Fewer than wanted come only where the file ends. Within [`Reads::make`].
    /// `suits`: as in [`Reads::read_now`].
    pub(super) async fn read<F: AsRef<File> + Send + Sync + 'static>(
        &self,
        (file, suits): (&Arc<F>, bool),
        offset: u64,
        lengths: [usize; 2],
    ) -> Result<io::Result<[Bytes; 2]>, ReadError> {
        let read = self.read_by_ring_or_thread((file, suits), offset, lengths).await?;
        if self.breaker.answered() {
            tracing::info!("the disk cache answers, and is read again");
        }
        Ok(read)
    }

    async fn read_by_ring_or_thread<F: AsRef<File> + Send + Sync + 'static>(
        &self,
        (file, suits): (&Arc<F>, bool),
        offset: u64,
        lengths: [usize; 2],
    ) -> Result<io::Result<[Bytes; 2]>, ReadError> {
        if let Some(ring) = self.ring(suits) {
            match ring.read(file.clone(), offset, lengths).await {
                Ok(Some(buffers)) => return Ok(Ok(buffers.map(Bytes::from))),
                Ok(None) if !ring.is_open() && !self.has_ring_ended.swap(true, Ordering::Relaxed) => {
                    tracing::error!("io_uring has failed: the disk cache reads by threads");
                }
                Ok(None) => {}
                Err(error) => return Ok(Err(error)),
            }
        }
        let file = file.clone();
        self.on_thread(move || read_and_wait((*file).as_ref(), offset, lengths)).await
    }

    /// Whether io_uring makes the reads.
    pub(super) fn use_io_uring(&self) -> bool {
        self.ring(self.ring_suits.load(Ordering::Relaxed)).is_some_and(ReadRing::is_open)
    }

    /// Runs a write on a thread that may wait for the disk.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        write: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ReadError> {
        if self.is_skipping() { Err(ReadError::Silent) } else { self.on_thread(write).await }
    }

    /// Whether reads and writes are skipped at present, since the disk does not answer.
    pub(super) fn is_skipping(&self) -> bool {
        self.breaker.is_skipping()
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

    /// Takes no more jobs, and waits until the reads by io_uring have ended, at most that long.
    pub(super) fn close(&self, wait_max: Duration) {
        self.jobs.close();
        // Once: what hangs would be waited for again.
        if let Some(ring) = self.ring.as_ref().filter(|ring| ring.is_open()) {
            self.has_ring_ended.store(true, Ordering::Relaxed);
            ring.close();
            if !ring.ends_within(wait_max) {
                tracing::warn!("the disk cache does not answer all reads at its end");
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::OwnedFd;
    use std::pin::pin;
    use std::task::{Context, Waker};

    struct TestFile(File);

    impl AsRef<File> for TestFile {
        fn as_ref(&self) -> &File {
            &self.0
        }
    }

    fn file_of(bytes: &[u8]) -> Arc<TestFile> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        Arc::new(TestFile(file))
    }

    /// Reads of files that suit the ring.
    fn reads_by(ring: Option<ReadRing>) -> Reads {
        let reads = Reads::new(ring, Arc::default());
        reads.ring_suits.store(true, Ordering::Relaxed);
        reads
    }

    /// What `reads` makes with one thread.
    fn read(reads: &Reads, file: &Arc<TestFile>) -> [Bytes; 2] {
        read_of((reads, true), file)
    }

    /// The same where the file system suits the ring, or not.
    fn read_of((reads, suits): (&Reads, bool), file: &Arc<TestFile>) -> [Bytes; 2] {
        std::thread::scope(|scope| {
            scope.spawn(|| reads.serve());
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let read = runtime.block_on(reads.make(reads.read((file, suits), 2, [3, 100])));
            reads.close(Duration::from_secs(20));
            read.unwrap().unwrap()
        })
    }

    #[test]
    fn threads_make_the_reads_that_io_uring_does_not_take() {
        let (file, rings) = (file_of(b"0123456789"), [None, ReadRing::start("test-ring").ok()]);
        for ring in rings {
            // A closed ring is as a full one.
            ring.iter().for_each(ReadRing::close);
            let reads = reads_by(ring);
            assert!(!reads.use_io_uring());
            assert_eq!(read(&reads, &file), [&b"234"[..], b"56789"]);
            assert_eq!(reads.counters.read().waited_reads, 1);
        }
    }

    #[test]
    fn threads_read_where_the_file_system_does_not_suit_io_uring() {
        let (file, reads) = (file_of(b"0123456789"), reads_by(ReadRing::start("test-ring").ok()));
        let suits = reads.will_read_in(Path::new("/proc"));
        assert!(!suits && !reads.use_io_uring());
        assert_eq!(read_of((&reads, suits), &file), [&b"234"[..], b"56789"]);
    }

    #[test]
    fn what_was_opened_in_an_earlier_directory_is_read_as_its_file_system_wants() {
        let (file, reads) = (file_of(b"0123456789"), reads_by(ReadRing::start("test-ring").ok()));
        let suits = reads.will_read_in(Path::new("/proc"));
        // The next directory is elsewhere.
        reads.ring_suits.store(true, Ordering::Relaxed);
        let mut read = pin!(reads.make(reads.read((&file, suits), 0, [1, 1])));
        assert!(read.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        assert!(!reads.jobs.is_empty(), "a thread has to make it");
    }

    #[test]
    fn io_uring_makes_the_reads_without_a_thread() {
        let Ok(ring) = ReadRing::start("test-ring") else { return };
        let (file, reads) = (file_of(b"0123456789"), reads_by(Some(ring)));
        reads.jobs.close();
        assert!(reads.use_io_uring());
        assert_eq!(read(&reads, &file), [&b"234"[..], b"56789"]);
        assert_eq!(reads.counters.read().waited_reads, 1);
    }

    #[test]
    fn a_read_that_must_not_wait_begins_none_where_io_uring_can_make_it() {
        use rustix::fs::{Advice, fadvise};
        use std::os::unix::fs::FileExt;
        let Ok(ring) = ReadRing::start("test-ring") else { return };
        let (file, reads) = (file_of(&[1; 8192]), reads_by(Some(ring)));
        let file = &file.0;
        file.sync_all().unwrap();
        let has = || page_cache::has_all(file, &(0..200));
        let drops = |_: i32| {
            fadvise(file, 0, None, Advice::DontNeed).unwrap();
            !has().unwrap_or(true)
        };
        // Not where the kernel can't tell (before Linux 6.5), nor of files that are in memory only.
        if !(0..10).any(drops) {
            return;
        }
        assert!(reads.read_now((file, true), 0, [100, 100]).unwrap().is_none());
        assert!(!has().unwrap(), "the kernel is reading it");
        let questions = || reads.questions.load(Ordering::Relaxed);
        assert_eq!(questions(), QUESTIONS);
        file.read_exact_at(&mut [0; 200], 0).unwrap();
        for _ in 0..=QUESTIONS {
            assert_eq!(reads.read_now((file, true), 0, [100, 100]).unwrap().unwrap(), [[1; 100].as_slice(); 2]);
        }
        assert_eq!(questions(), 0, "all pages are there");
        if (0..10).any(drops) {
            assert!(reads.read_now((file, true), 0, [100, 100]).unwrap().is_none());
            assert_eq!(questions(), QUESTIONS, "pages are missing again");
        }
    }

    #[test]
    fn only_the_disk_says_that_it_answers() {
        let reads = Reads::new(None, Arc::default());
        while !reads.timed_out() {}
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        // After the pause one is tried, and what it looks for has been evicted meanwhile: nothing is read.
        reads.breaker.try_now();
        runtime.block_on(reads.make(async { Ok(()) })).unwrap();
        assert!(reads.breaker.is_skipping());
        reads.breaker.try_now();
        assert_eq!(read(&reads, &file_of(b"0123456789")), [&b"234"[..], b"56789"]);
        assert!(!reads.breaker.is_skipping());
    }

    #[test]
    fn the_end_does_not_wait_for_a_disk_that_hangs() {
        let Ok(ring) = ReadRing::start("test-ring") else { return };
        let reads = reads_by(Some(ring));
        let (reader, mut writer) = io::pipe().unwrap();
        let file = Arc::new(TestFile(File::from(OwnedFd::from(reader))));
        let mut hanging = pin!(reads.make(reads.read((&file, true), 0, [1, 1])));
        assert!(hanging.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        reads.close(Duration::ZERO);
        let again = Instant::now();
        reads.close(Duration::from_secs(20));
        assert!(again.elapsed() < Duration::from_secs(10), "it waits once");
        // The read is still under way, and is answered when the disk works again.
        assert_eq!(Arc::strong_count(&file), 2);
        writer.write_all(b"ab").unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        assert_eq!(runtime.block_on(hanging).unwrap().unwrap(), [&b"a"[..], b"b"]);
    }
}
