//! Buffers request bodies on disk until they are complete.
//!
//! The part of a body that may not be kept in memory goes into a file of its own. The file has no name (O_TMPFILE, where the file
//! system supports it), so none is left however the program ends. All files of the program together have a bound. A request that
//! finds no room is refused, since waiting for room would mean waiting for other clients.
//!
//! A disk may be slow, so threads that may block write, read and close the files, a few at a time over all workers, and each call
//! has a time limit. A request that goes away leaves its file to the call that still runs.

use bytes::Bytes;
use kasoku_options::RequestBuffer;
use kasoku_origin::error::UploadError;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

/// The most calls to the disk that run at a time, over all workers.
const CALLS_MAX: usize = 16;

/// How long one call may take, the wait for its turn included.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// How much is read at once, in bytes.
const READ_BYTES: usize = 64 << 10;

static CALLS: Semaphore = Semaphore::const_new(CALLS_MAX);

/// How many bytes all files hold.
#[derive(Debug, Default)]
pub(crate) struct Spool(AtomicU64);

impl Spool {
    /// Bytes that are on disk now.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Whether so many bytes more would fit now.
    pub(crate) fn has_room_for(&self, bytes: u64, bytes_max: u64) -> bool {
        self.held_bytes().saturating_add(bytes) <= bytes_max
    }

    fn try_add(&self, bytes: u64, bytes_max: u64) -> bool {
        let sum = |held: u64| held.checked_add(bytes).filter(|sum| *sum <= bytes_max);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum).is_ok()
    }
}

/// A body, or its beginning: first written, then read, from its beginning to its end. Dropping it removes the file.
pub(crate) struct SpoolFile {
    /// Always `Some`, until it is dropped.
    kept: Option<Arc<ChargedFile>>,
    written: u64,
    read: u64,
}

impl SpoolFile {
    /// Makes an empty file.
    ///
    /// # Errors
    /// [`UploadError::NotKept`]: the directory does not exist, or this program may not write there. [`UploadError::NoRoom`].
    pub(crate) async fn create(spool: &Arc<Spool>, buffer: &RequestBuffer) -> Result<Self, UploadError> {
        let directory = buffer.directory.clone().unwrap_or_else(std::env::temp_dir);
        let file = call(move || tempfile::tempfile_in(&directory)).await.map_err(|error| fault(&error))?;
        let kept = ChargedFile { file, bytes: AtomicU64::new(0), spool: spool.clone() };
        Ok(Self { kept: Some(Arc::new(kept)), written: 0, read: 0 })
    }

    /// Appends to the file.
    ///
    /// # Errors
    /// [`UploadError::TooLarge`]: all files together may not hold as much as this body. [`UploadError::NoRoom`]: the disk is
    /// full, or other files leave no room now. [`UploadError::NotKept`].
    pub(crate) async fn write(&mut self, data: Bytes, bytes_max: u64) -> Result<(), UploadError> {
        let Some(kept) = self.kept.clone() else { return Err(UploadError::NotKept) };
        let (bytes, offset) = (data.len() as u64, self.written);
        if self.written.saturating_add(bytes) > bytes_max {
            return Err(UploadError::TooLarge);
        }
        if !kept.try_add(bytes, bytes_max) {
            return Err(UploadError::NoRoom);
        }
        self.written += bytes;
        call(move || kept.file.write_all_at(&data, offset)).await.map_err(|error| fault(&error))
    }

    /// The next piece of what was written; `None` after the last.
    ///
    /// # Errors
    /// [`UploadError::NotKept`]
    pub(crate) async fn read(&mut self) -> Result<Option<Bytes>, UploadError> {
        let Some(kept) = self.kept.clone() else { return Ok(None) };
        let (offset, left) = (self.read, self.written.saturating_sub(self.read));
        if left == 0 {
            return Ok(None);
        }
        let bytes = usize::try_from(left).unwrap_or(READ_BYTES).min(READ_BYTES);
        let read = call(move || {
            let mut piece = vec![0; bytes];
            kept.file.read_exact_at(&mut piece, offset)?;
            Ok(piece)
        });
        let piece = read.await.map_err(|error| fault(&error))?;
        self.read += piece.len() as u64;
        Ok(Some(piece.into()))
    }
}

impl Drop for SpoolFile {
    fn drop(&mut self) {
        // To free the blocks of a large file takes time, so another thread does it. But where the system gives no thread, tokio
        // panics. During another panic (that of `call`, for the same reason) this would end the program.
        let kept = self.kept.take();
        match Handle::try_current() {
            Ok(runtime) if self.written > 0 && !std::thread::panicking() => {
                drop(runtime.spawn_blocking(move || drop(kept)));
            }
            _ => drop(kept),
        }
    }
}

/// A file, and the bytes that are counted for it.
struct ChargedFile {
    file: File,
    bytes: AtomicU64,
    spool: Arc<Spool>,
}

impl ChargedFile {
    fn try_add(&self, bytes: u64, bytes_max: u64) -> bool {
        let is_added = self.spool.try_add(bytes, bytes_max);
        if is_added {
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        is_added
    }
}

impl Drop for ChargedFile {
    fn drop(&mut self) {
        self.spool.0.fetch_sub(*self.bytes.get_mut(), Ordering::Relaxed);
    }
}

/// Runs `job` on a thread that may block.
async fn call<T: Send + 'static>(job: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    let called = async {
        let turn = CALLS.acquire().await.map_err(io::Error::other)?;
        let done = tokio::task::spawn_blocking(move || {
            // The turn lasts until the thread is free, even if the request has gone.
            let _turn = turn;
            job()
        });
        done.await.map_err(io::Error::other)?
    };
    tokio::time::timeout(CALL_TIMEOUT, called).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

fn fault(error: &io::Error) -> UploadError {
    tracing::warn!(%error, "a request's body could not be buffered on disk");
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => UploadError::NoRoom,
        _ => UploadError::NotKept,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(directory: &str) -> RequestBuffer {
        RequestBuffer { directory: Some(directory.into()), ..RequestBuffer::default() }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn what_was_written_is_read_and_counted_until_it_is_dropped() {
        let spool = Arc::new(Spool::default());
        let mut file = SpoolFile::create(&spool, &RequestBuffer::default()).await.unwrap();
        let written: Vec<u8> = (0..200_000_u32).map(|number| (number % 251) as u8).collect();
        for piece in written.chunks(70_000) {
            file.write(Bytes::copy_from_slice(piece), 200_000).await.unwrap();
        }
        assert_eq!(file.write(Bytes::from_static(b"x"), 200_000).await, Err(UploadError::TooLarge));
        let mut other = SpoolFile::create(&spool, &RequestBuffer::default()).await.unwrap();
        assert_eq!(other.write(Bytes::from_static(b"x"), 200_000).await, Err(UploadError::NoRoom));
        assert_eq!(spool.held_bytes(), 200_000);
        let mut read = Vec::new();
        while let Some(piece) = file.read().await.unwrap() {
            read.extend_from_slice(&piece);
        }
        assert!(read == written);
        drop(file);
        while spool.held_bytes() > 0 {
            tokio::task::yield_now().await;
        }
    }

    #[test]
    fn in_the_wake_of_a_panic_no_thread_is_asked_for() {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(1).build().unwrap();
        runtime.block_on(async {
            let spool = Arc::new(Spool::default());
            let mut file = SpoolFile::create(&spool, &RequestBuffer::default()).await.unwrap();
            file.write(Bytes::from_static(b"x"), 1).await.unwrap();
            // The only thread is busy until the end.
            let (end, ended) = std::sync::mpsc::channel::<()>();
            let busy = tokio::task::spawn_blocking(move || ended.recv());
            let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
                let _file = file;
                panic!("on purpose");
            }));
            assert!(panicked.is_err());
            assert_eq!(spool.held_bytes(), 0);
            drop(end);
            assert!(busy.await.unwrap().is_err());
        });
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_directory_that_is_not_there_and_a_full_disk_are_told_apart() {
        let spool = Arc::new(Spool::default());
        let missing = SpoolFile::create(&spool, &buffer("/nonexistent/kasoku")).await;
        assert_eq!(missing.err(), Some(UploadError::NotKept));
        assert_eq!(fault(&io::Error::from_raw_os_error(28)), UploadError::NoRoom, "ENOSPC");
    }
}
