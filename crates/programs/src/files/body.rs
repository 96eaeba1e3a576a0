//! Reads a file's bytes for a body: to a socket, a window at a time ([`FileBody::window`]), or through memory, a piece at a time
//! ([`FileBody::next`]), for a response that is to be stored.
//!
//! The worker's thread must not wait for a disk. So a window is checked before it is sent: cachestat(2) counts its pages, and one byte
//! of each [`COUNTED_PROBED_EVERY`] is read with RWF_NOWAIT, since the kernel counts a page that it is still reading. The kernel counts
//! only for a process that owns the file or may write it. Otherwise one byte of each [`PROBED_EVERY`] is read. If something is not in
//! memory, a thread that may wait reads the window, and has the kernel begin with the next.
//!
//! The check does not prove that all bytes still are in memory when sendfile(2) takes them, nor, without cachestat(2), that those
//! between the probed bytes were. Either fails only if memory is so short that the kernel drops what was just read; the worker then
//! waits for the disk, for one window at most. The probes also start the kernel's own read-ahead.
//!
//! The length was announced, so a file that turns out shorter is an error, never an end. A file that has changed is an error as well:
//! its bytes may be of two versions. That is checked before the last window is sent, and once more after it. Replacing whole files
//! (rename) never causes this error.

use crate::Limits;
use crate::document_root::{Medium, OpenFile, may_wait};
use bytes::{Bytes, BytesMut};
use kasoku_origin::permits::Permit;
use kasoku_origin::{BodyPiece, Error};
use kasoku_sys::page_cache;
use rustix::fs::{Advice, Stat, fadvise, fstat};
use rustix::io::{Errno, ReadWriteFlags, pread, preadv2};
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::num::NonZeroU64;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// The longest piece, in bytes: some 10 µs of copying.
const PIECE_BYTES_MAX: u64 = 64 << 10;

/// The longest window, in bytes.
const WINDOW_BYTES_MAX: u64 = 2 << 20;

/// The longest window for a slow client, in bytes: what the client does not take is checked again, and may have to be read again.
const SLOW_WINDOW_BYTES_MAX: u64 = 512 << 10;

/// The distance between the probed bytes of a window, in bytes.
const PROBED_EVERY: u64 = 64 << 10;

/// The same where the kernel has all pages, in bytes.
const COUNTED_PROBED_EVERY: u64 = 512 << 10;

/// A part of a file that is still to be sent.
pub struct FileBody {
    file: Arc<File>,
    /// What the file was when it was opened; `None` for a file whose bytes never change.
    opened: Option<Stat>,
    medium: Medium,
    position: u64,
    /// The end of the window that was checked.
    ready_until: u64,
    window_bytes_max: u64,
    left: u64,
    length: u64,
    pause_max: Duration,
    rate_max: Option<u64>,
    permit: Option<Permit>,
}

/// The next bytes of a file, which were in memory a moment ago.
#[derive(Clone, Copy, Debug)]
pub struct FileWindow<'b> {
    /// The file.
    pub file: &'b File,
    /// The offset of the first byte.
    pub position: u64,
    /// The number of bytes.
    pub length: usize,
}

impl FileBody {
    /// The bytes of `part`. `permit` is kept until they are read.
    pub(super) fn new(file: &OpenFile, part: Range<u64>, limits: &Limits, permit: Option<Permit>) -> Self {
        let length = part.end.saturating_sub(part.start);
        Self {
            file: file.file.clone(),
            opened: Some(file.stat),
            medium: file.medium,
            position: part.start,
            ready_until: part.start,
            window_bytes_max: WINDOW_BYTES_MAX,
            left: length,
            length,
            pause_max: limits.between_bytes_timeout,
            rate_max: None,
            permit,
        }
    }

    /// The `length` bytes from this position of a file on a local disk, where they never change.
    pub fn of_immutable(file: Arc<File>, position: u64, length: u64, pause_max: Duration) -> Self {
        Self {
            file,
            opened: None,
            medium: Medium::Local,
            position,
            ready_until: position,
            window_bytes_max: WINDOW_BYTES_MAX,
            left: length,
            length,
            pause_max,
            rate_max: Some(0),
            permit: None,
        }
    }

    /// The same, at the rate that an application has asked for.
    pub(super) fn at_rate(self, rate_max: Option<u64>) -> Self {
        Self { rate_max, ..self }
    }

    /// The rate that the application asked for, in bytes per second; 0: as fast as the client takes it. It overrides the configured
    /// rate, which holds for `None`.
    pub fn rate_max(&self) -> Option<u64> {
        self.rate_max
    }

    /// The length of the whole body, in bytes.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// How many bytes are still to be sent.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Fills `buffer` with the next bytes, if the kernel has all of them in memory; returns whether it has. They stay the next bytes.
    ///
    /// # Errors
    /// [`Error::FileChanged`]
    pub fn copy_at_once(&self, buffer: &mut [u8]) -> Result<bool, Error> {
        // A file system that may be remote can't tell at once whether the file has changed.
        if self.medium == Medium::Unknown {
            return Ok(false);
        }
        let wanted = buffer.len();
        match preadv2(&*self.file, &mut [IoSliceMut::new(buffer)], self.position, self.medium.without_waiting()) {
            Ok(read) if read == wanted => self.is_opened(fstat(&*self.file).ok()).map(|()| true),
            // The next read, which may wait, finds the reason.
            Ok(_) | Err(_) => Ok(false),
        }
    }

    /// The next window, once it is in memory; `None`: all is sent.
    ///
    /// # Errors
    /// [`Error::FileChanged`]; [`Error::BetweenBytesTimeout`] when the disk takes too long, [`Error::Io`] when it fails.
    pub async fn window(&mut self) -> Result<Option<FileWindow<'_>>, Error> {
        if self.left == 0 {
            self.permit = None;
            return self.is_as_opened().await.map(|()| None);
        }
        if self.ready_until <= self.position {
            self.ready_window().await?;
        }
        let length = usize::try_from(self.ready_until - self.position).unwrap_or(usize::MAX);
        Ok(Some(FileWindow { file: &self.file, position: self.position, length }))
    }

    async fn ready_window(&mut self) -> Result<(), Error> {
        let length = self.left.min(self.window_bytes_max);
        let range = self.position..self.position + length;
        if self.medium != Medium::Memory && !is_in_memory(&self.file, &range)? {
            let (range, ahead) = (range.clone(), (self.left - length).min(self.window_bytes_max));
            self.on_a_thread(move |file| read_ahead(file, range, ahead)).await?;
        }
        if self.left == length {
            self.is_as_opened().await?;
        }
        self.ready_until = range.end;
        Ok(())
    }

    /// To be called after a wait for the client: the window may have left the memory, and the file may have changed. `is_fast`:
    /// whether the client takes large windows.
    pub fn has_waited(&mut self, is_fast: bool) {
        self.ready_until = self.position;
        self.window_bytes_max = if is_fast { WINDOW_BYTES_MAX } else { SLOW_WINDOW_BYTES_MAX };
    }

    /// To be called when so many bytes have been sent.
    pub fn has_sent(&mut self, bytes: usize) {
        let bytes = self.left.min(bytes as u64);
        self.position += bytes;
        self.left -= bytes;
    }

    /// The next piece.
    ///
    /// # Errors
    /// As those of [`FileBody::window`].
    pub async fn next(&mut self) -> Result<BodyPiece, Error> {
        if self.left == 0 {
            self.permit = None;
            return self.is_as_opened().await.map(|()| BodyPiece::End(None));
        }
        tokio::task::yield_now().await;
        let (position, wanted) = (self.position, usize::try_from(self.left.min(PIECE_BYTES_MAX)).unwrap_or(usize::MAX));
        let piece = match read_from_memory(&self.file, position, wanted, self.medium) {
            Ok(piece) => piece,
            Err(error) if is_unknown(error) => self.on_a_thread(move |file| read(file, position, wanted)).await?,
            Err(error) => return Err(Error::Io(error.into())),
        };
        if piece.is_empty() {
            return Err(Error::FileChanged);
        }
        // This comes before the piece counts as sent, so that the piece is not lost if the future is dropped during the wait.
        if self.left <= piece.len() as u64 {
            self.is_as_opened().await?;
        }
        self.has_sent(piece.len());
        Ok(BodyPiece::Data(piece))
    }

    /// Runs `reading`, which may wait for the disk, on another thread, for `pause_max` at most.
    async fn on_a_thread<T: Send + 'static>(
        &self,
        reading: impl FnOnce(&File) -> Result<T, Errno> + Send + 'static,
    ) -> Result<T, Error> {
        let file = self.file.clone();
        let reading = may_wait(move || reading(&file).map_err(io::Error::from));
        let read = tokio::time::timeout(self.pause_max, reading).await;
        read.map_err(|_| Error::BetweenBytesTimeout)?.map_err(Error::Io)
    }

    /// Checks that the file is what it was when it was opened. A write within the same tick of the kernel's clock goes unnoticed; see
    /// [`head`](super::head) for what that means for the entity tag.
    async fn is_as_opened(&self) -> Result<(), Error> {
        if self.opened.is_none() {
            return Ok(());
        }
        let now = match self.medium {
            Medium::Memory | Medium::Local => fstat(&*self.file).ok(),
            // NFS and FUSE may ask their server, which may not answer.
            Medium::Unknown => self.on_a_thread(|file| Ok(fstat(file).ok())).await?,
        };
        self.is_opened(now)
    }

    fn is_opened(&self, now: Option<Stat>) -> Result<(), Error> {
        let stamp = |stat: &Stat| (stat.st_size, stat.st_mtime, stat.st_mtime_nsec);
        let is_same = self.opened.is_none_or(|opened| now.is_some_and(|now| stamp(&now) == stamp(&opened)));
        if is_same { Ok(()) } else { Err(Error::FileChanged) }
    }
}

/// Whether the bytes are not in memory, or the file system can't tell.
fn is_unknown(error: Errno) -> bool {
    matches!(error, Errno::AGAIN | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL)
}

/// Whether the kernel has these bytes in memory.
fn is_in_memory(file: &File, range: &Range<u64>) -> Result<bool, Error> {
    // An error: this kernel does not tell, or not about this file.
    let counted = page_cache::has_all(file, range).ok();
    let distance = if counted == Some(true) { COUNTED_PROBED_EVERY } else { PROBED_EVERY };
    let probed = range.clone().step_by(distance as usize).chain([range.end - 1]);
    for position in probed {
        match preadv2(file, &mut [IoSliceMut::new(&mut [0])], position, ReadWriteFlags::NOWAIT) {
            Ok(1..) => {}
            Ok(0) => return Err(Error::FileChanged),
            Err(error) if is_unknown(error) => return Ok(false),
            Err(error) => return Err(Error::Io(error.into())),
        }
    }
    Ok(counted != Some(false))
}

/// Reads these bytes into memory, and has the kernel begin with the `ahead` bytes behind them.
fn read_ahead(file: &File, range: Range<u64>, ahead: u64) -> Result<(), Errno> {
    let mut buffer = vec![0; PIECE_BYTES_MAX as usize];
    let mut position = range.start;
    while position < range.end {
        match pread(file, &mut *buffer, position) {
            // The file is shorter now; the sender notices that.
            Ok(0) => return Ok(()),
            Ok(read) => position += read as u64,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    if let Some(ahead) = NonZeroU64::new(ahead) {
        // Only advice: without it, the bytes are read later.
        let _ = fadvise(file, range.end, Some(ahead), Advice::WillNeed);
    }
    Ok(())
}

/// Up to `wanted` bytes, if the kernel has them in memory.
fn read_from_memory(file: &File, position: u64, wanted: usize, medium: Medium) -> Result<Bytes, Errno> {
    fill(wanted, |buffer| preadv2(file, &mut [IoSliceMut::new(buffer)], position, medium.without_waiting()))
}

fn read(file: &File, position: u64, wanted: usize) -> Result<Bytes, Errno> {
    loop {
        match fill(wanted, |buffer| pread(file, buffer, position)) {
            Err(Errno::INTR) => {}
            done => return done,
        }
    }
}

fn fill(wanted: usize, read: impl FnOnce(&mut [u8]) -> Result<usize, Errno>) -> Result<Bytes, Errno> {
    let mut buffer = BytesMut::zeroed(wanted);
    let length = read(&mut buffer)?;
    buffer.truncate(length);
    // A file that is only partly in memory may yield few bytes, which would hold on to the whole buffer: they are copied.
    Ok(if length < wanted / 2 { Bytes::copy_from_slice(&buffer) } else { buffer.freeze() })
}

#[cfg(test)]
mod tests;
