//! A file's bytes on their way, a piece at a time.
//!
//! What the kernel has in memory is copied at once (RWF_NOWAIT); the rest is read by a thread that may wait for the disk, and
//! the reader ahead of it in the kernel makes that the exception. The worker's thread gets its turn between any two pieces.
//!
//! The length was announced, so a file that is shorter at the end is an error and never an end. So is one that is not what
//! it was: its bytes may be of two versions. Whoever replaces files whole (rename) never sees that.

use crate::document_root::{OpenFile, may_wait};
use crate::error::Error;
use crate::limits::Limits;
use crate::places::Place;
use crate::response::Piece;
use bytes::{Bytes, BytesMut};
use rustix::fs::{Stat, fstat};
use rustix::io::{Errno, ReadWriteFlags, pread, preadv2};
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// The longest piece, in bytes: some 10 µs of copying.
const PIECE_BYTES_MAX: u64 = 64 << 10;

/// A part of a file that is still to be read.
pub struct FileBody {
    file: Arc<File>,
    opened: Stat,
    position: u64,
    left: u64,
    length: u64,
    pause_max: Duration,
    place: Option<Place>,
}

impl FileBody {
    /// These bytes of a file. `place` is kept until they are read.
    pub(super) fn new(file: OpenFile, part: Range<u64>, limits: &Limits, place: Option<Place>) -> Self {
        let OpenFile { file, stat, .. } = file;
        let length = part.end.saturating_sub(part.start);
        Self {
            file: Arc::new(file),
            opened: stat,
            position: part.start,
            left: length,
            length,
            pause_max: limits.between_bytes_timeout,
            place,
        }
    }

    /// The length of the whole body, in bytes.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// The next piece.
    pub(crate) async fn next(&mut self) -> Result<Piece, Error> {
        if self.left == 0 {
            self.place = None;
            return if self.is_unchanged() { Ok(Piece::End(None)) } else { Err(Error::FileChanged) };
        }
        tokio::task::yield_now().await;
        let wanted = usize::try_from(self.left.min(PIECE_BYTES_MAX)).unwrap_or(usize::MAX);
        let piece = match read_from_memory(&self.file, self.position, wanted) {
            Ok(piece) => piece,
            // Not in memory; or the file system can't say.
            Err(Errno::AGAIN | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => self.read_from_disk(wanted).await?,
            Err(error) => return Err(Error::Io(error.into())),
        };
        if piece.is_empty() {
            return Err(Error::FileChanged);
        }
        self.position += piece.len() as u64;
        self.left -= piece.len() as u64;
        Ok(Piece::Data(piece))
    }

    async fn read_from_disk(&self, wanted: usize) -> Result<Bytes, Error> {
        let (file, position) = (self.file.clone(), self.position);
        let reading = may_wait(move || read(&file, position, wanted).map_err(io::Error::from));
        let read = tokio::time::timeout(self.pause_max, reading).await;
        read.map_err(|_| Error::BetweenBytesTimeout)?.map_err(Error::Io)
    }

    /// Whether the file is what it was when it was opened. What was written within one tick of the kernel's clock looks the
    /// same; see [`head`](super::head) for what that means for its entity tag.
    fn is_unchanged(&self) -> bool {
        let stamp = |stat: &Stat| (stat.st_size, stat.st_mtime, stat.st_mtime_nsec);
        fstat(&*self.file).is_ok_and(|now| stamp(&now) == stamp(&self.opened))
    }
}

/// What is there of `wanted` bytes, if the kernel has it in memory.
fn read_from_memory(file: &File, position: u64, wanted: usize) -> Result<Bytes, Errno> {
    fill(wanted, |buffer| preadv2(file, &mut [IoSliceMut::new(buffer)], position, ReadWriteFlags::NOWAIT))
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
    // Of a file that is in memory in part, a little may come: it would hold on to all of the buffer.
    Ok(if length < wanted / 2 { Bytes::copy_from_slice(&buffer) } else { buffer.freeze() })
}
