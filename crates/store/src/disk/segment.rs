//! A segment: a file to which objects are appended, and in which nothing is ever overwritten.
//!
//! An object that is small beside a segment shares it with others: its head comes first, and its chunks follow. A large object has a
//! segment of its own: its chunks come first, since the head names their checksums, and the file ends behind the head. More chunks may be
//! added to it, with another head behind them; the head before that one stays as it was.
//!
//! A segment that is evicted loses its name at once. Its bytes count as used until its last reader has closed it, since the file
//! system keeps them as long.

use super::input::Input;
use super::layout::{Checksums, FileKind, Head};
use super::place::{Location, UNIT_BYTES};
use crate::sync::{AtomicBool, AtomicU64, Mutex, MutexGuard, Ordering, PoisonError};
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The length of the header at the beginning of each segment, in bytes.
pub(super) const HEADER_BYTES: u64 = 64;

/// Behind the head of a large object: where the head is.
pub(super) const TRAILER_BYTES: u64 = 32;

const MAGIC: u64 = u64::from_le_bytes(*b"KSegment");

/// Which queue of the eviction a segment is in, and what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Objects that are new.
    New = 1,
    /// Objects that were requested again, and so were moved or came back.
    Proven = 2,
    /// One large object.
    One = 3,
}

/// The bytes that segments hold on disk, also those that only readers still hold.
#[derive(Debug, Default)]
pub(super) struct Usage(AtomicU64);

impl Usage {
    pub(super) fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) number: u32,
    pub(super) content: Content,
    file: Arc<File>,
    path: PathBuf,
    /// What the file takes on disk.
    charged: AtomicU64,
    is_removed: AtomicBool,
    /// Held while the end of a large object's file changes: until a head is there, the file looks as if the object were not complete.
    tail: Mutex<Tail>,
    usage: Arc<Usage>,
}

/// What happens at the end of a large object's file.
#[derive(Debug, Default)]
struct Tail {
    /// The room of the bytes that are being added.
    adding: Option<Range<u64>>,
    /// Whether another head lies behind that room.
    has_head_behind: bool,
    /// Another process may write to the file.
    is_left: bool,
}

/// The name of a segment's file.
pub(super) fn file_name(number: u32) -> String {
    format!("{number:08x}")
}

impl Segment {
    /// A new segment with room for `bytes` bytes, which are reserved on disk where the file system can do that.
    pub(super) fn create(
        folder: &Path,
        number: u32,
        content: Content,
        bytes: u64,
        checksums: Checksums,
        usage: &Arc<Usage>,
    ) -> io::Result<Self> {
        let path = folder.join(file_name(number));
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        let segment = Self::charged(file, path, (number, content), bytes, usage);
        let prepared = reserve(&segment.file, bytes).and_then(|()| {
            let header = header(number, content, checksums);
            segment.file.write_all_at(&header, 0)
        });
        if let Err(error) = prepared {
            segment.remove();
            return Err(error);
        }
        Ok(segment)
    }

    /// The segment in that file of an earlier process; `None` where the file is no segment of this directory.
    pub(super) fn open(
        folder: &Path,
        number: u32,
        checksums: Checksums,
        usage: &Arc<Usage>,
    ) -> io::Result<Option<Self>> {
        let path = folder.join(file_name(number));
        // A large object gets another head when it is refreshed. Who only looks into the directory may not be allowed to write.
        let file = OpenOptions::new().read(true).write(true).open(&path).or_else(|_| File::open(&path))?;
        let mut bytes = [0; HEADER_BYTES as usize];
        match file.read_exact_at(&mut bytes, 0) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        }
        let content = [Content::New, Content::Proven, Content::One]
            .into_iter()
            .find(|content| header(number, *content, checksums) == bytes);
        let length = file.metadata()?.len();
        Ok(content.map(|content| Self::charged(file, path, (number, content), length, usage)))
    }

    fn charged(file: File, path: PathBuf, (number, content): (u32, Content), bytes: u64, usage: &Arc<Usage>) -> Self {
        usage.0.fetch_add(bytes, Ordering::Relaxed);
        let charged = AtomicU64::new(bytes);
        Self {
            number,
            content,
            file: Arc::new(file),
            path,
            charged,
            is_removed: AtomicBool::new(false),
            tail: Mutex::default(),
            usage: usage.clone(),
        }
    }

    /// What the file takes on disk, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.charged.load(Ordering::Relaxed)
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    pub(super) fn shared_file(&self) -> Arc<File> {
        self.file.clone()
    }

    pub(super) fn write(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    /// Writes the head of a large object behind its chunks, and ends the file behind it.
    pub(super) fn write_head(&self, head: &Head, offset: u64, checksums: Checksums) -> io::Result<()> {
        let mut tail = self.tail();
        tail.has_head_behind = tail.adding.is_some();
        self.write_head_and_end(head, offset, checksums)
    }

    fn write_head_and_end(&self, head: &Head, offset: u64, checksums: Checksums) -> io::Result<()> {
        let bytes = head.write(checksums, Location { segment: self.number, offset });
        let length = bytes.len() as u64;
        self.write(&bytes, offset)?;
        self.write(&self.trailer(offset, length, checksums), offset + length)?;
        self.end(offset + length + TRAILER_BYTES)
    }

    /// Reserves room for bytes that are added to a large object; returns where it begins. `None` where others are being added.
    pub(super) fn begin_adding(&self, bytes: u64) -> io::Result<Option<u64>> {
        let mut tail = self.tail();
        if tail.adding.is_some() || tail.is_left {
            return Ok(None);
        }
        let begin = self.bytes();
        let room = begin..begin.saturating_add(bytes);
        if let Err(error) = self.grow(room.end) {
            self.end(begin)?;
            return Err(error);
        }
        *tail = Tail { adding: Some(room), ..Tail::default() };
        Ok(Some(begin))
    }

    /// Whether bytes are being added.
    pub(super) fn is_adding(&self) -> bool {
        self.tail().adding.is_some()
    }

    /// Writes bytes into the room of those that are being added; returns whether they belong there.
    pub(super) fn write_added(&self, bytes: &[u8], offset: u64) -> io::Result<bool> {
        let tail = self.tail();
        let end = offset.saturating_add(bytes.len() as u64);
        if !tail.adding.as_ref().is_some_and(|room| room.start <= offset && end <= room.end) {
            return Ok(false);
        }
        self.write(bytes, offset)?;
        Ok(true)
    }

    /// Writes the head that names the bytes that were added. Returns whether it did: not if a head lies there.
    pub(super) fn write_added_head(&self, head: &Head, offset: u64, checksums: Checksums) -> io::Result<bool> {
        let tail = self.tail();
        if tail.adding.is_none() || tail.has_head_behind {
            return Ok(false);
        }
        self.write_head_and_end(head, offset, checksums)?;
        Ok(true)
    }

    /// The bytes that were added are part of the object.
    pub(super) fn end_adding(&self) {
        self.tail().adding = None;
    }

    /// Gives back the room of bytes that will not be part of the object, and that nobody reads any more.
    pub(super) fn give_up_adding(&self) -> io::Result<()> {
        let mut tail = self.tail();
        let Some(room) = tail.adding.take() else { return Ok(()) };
        if tail.has_head_behind { Ok(()) } else { self.end(room.start) }
    }

    /// Writes nothing more into it, since another process may do so.
    pub(super) fn leave(&self) {
        *self.tail() = Tail { adding: None, has_head_behind: false, is_left: true };
    }

    fn tail(&self) -> MutexGuard<'_, Tail> {
        // Each change under the lock is complete in itself.
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves more room on disk: so much in all.
    pub(super) fn grow(&self, bytes: u64) -> io::Result<()> {
        reserve(&self.file, bytes)?;
        self.charge(bytes);
        Ok(())
    }

    /// Ends the file behind this offset.
    pub(super) fn end(&self, bytes: u64) -> io::Result<()> {
        self.file.set_len(bytes)?;
        self.charge(bytes);
        Ok(())
    }

    /// Gives back the room of what an earlier process has not completed: all that lies behind `end`, the end of the object's head; 0 where
    /// there is no object.
    pub(super) fn give_back_unfinished(&self, end: u64, checksums: Checksums) -> io::Result<()> {
        // It may just be given another head, or more bytes.
        let tail = self.tail();
        let is_complete = tail.adding.is_some() || self.large_object(checksums).is_some();
        if is_complete || self.bytes() <= end { Ok(()) } else { self.end(end) }
    }

    fn charge(&self, bytes: u64) {
        let before = self.charged.swap(bytes, Ordering::Relaxed);
        self.usage.0.fetch_add(bytes, Ordering::Relaxed);
        self.usage.0.fetch_sub(before, Ordering::Relaxed);
    }

    /// Whether the file has lost its name.
    pub(super) fn is_removed(&self) -> bool {
        self.is_removed.load(Ordering::Relaxed)
    }

    /// Removes the file. Who reads it may go on.
    pub(super) fn remove(&self) {
        if self.is_removed.swap(true, Ordering::Relaxed) {
            return;
        }
        if let Err(error) = std::fs::remove_file(&self.path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(file = %self.path.display(), %error, "a segment of the disk cache could not be removed");
        }
    }

    /// The end of a large object's file: where its head is.
    pub(super) fn trailer(&self, head: u64, head_bytes: u64, checksums: Checksums) -> [u8; TRAILER_BYTES as usize] {
        let mut bytes = [0; TRAILER_BYTES as usize];
        let at = head + head_bytes;
        for (to, number) in bytes.chunks_exact_mut(8).zip([MAGIC, head, head_bytes]) {
            to.copy_from_slice(&number.to_le_bytes());
        }
        let (content, checksum) = bytes.split_at_mut(24);
        checksum.copy_from_slice(&checksums.of(FileKind::Segment, self.number.into(), at, content).to_le_bytes());
        bytes
    }

    /// Where the head of a large object is, and its length in bytes; `None` where the file does not say it.
    pub(super) fn large_object(&self, checksums: Checksums) -> Option<(Location, u64)> {
        let at = self.file.metadata().ok()?.len().checked_sub(TRAILER_BYTES)?;
        let mut bytes = [0; TRAILER_BYTES as usize];
        self.file.read_exact_at(&mut bytes, at).ok()?;
        let mut input = Input(&bytes);
        let (_magic, head, head_bytes) = (input.u64()?, input.u64()?, input.u64()?);
        let is_right = head.checked_add(head_bytes)? == at && head.is_multiple_of(UNIT_BYTES);
        let is_whole = is_right && self.trailer(head, head_bytes, checksums) == bytes;
        is_whole.then_some((Location { segment: self.number, offset: head }, head_bytes))
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        self.usage.0.fetch_sub(self.bytes(), Ordering::Relaxed);
    }
}

/// Reserves the space on disk. A file system that can't do that gives it when it is written.
fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    use rustix::io::Errno;
    match fallocate(file, FallocateFlags::empty(), 0, bytes) {
        Ok(()) => Ok(()),
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => file.set_len(bytes),
        Err(error) => Err(error.into()),
    }
}

fn header(number: u32, content: Content, checksums: Checksums) -> [u8; HEADER_BYTES as usize] {
    let mut bytes = [0; HEADER_BYTES as usize];
    for (to, number) in bytes.chunks_exact_mut(8).zip([MAGIC, number.into(), content as u64]) {
        to.copy_from_slice(&number.to_le_bytes());
    }
    let (written, checksum) = bytes.split_at_mut(HEADER_BYTES as usize - 8);
    checksum.copy_from_slice(&checksums.of(FileKind::Segment, number.into(), 0, written).to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHECKSUMS: Checksums = Checksums { secret: 1 };

    #[test]
    fn a_segment_is_opened_as_what_it_was_created() {
        let folder = tempfile::tempdir().unwrap();
        let usage = Arc::<Usage>::default();
        drop(Segment::create(folder.path(), 5, Content::Proven, 1 << 20, CHECKSUMS, &usage).unwrap());
        let segment = Segment::open(folder.path(), 5, CHECKSUMS, &usage).unwrap().unwrap();
        assert_eq!((segment.content, segment.bytes()), (Content::Proven, 1 << 20));
        assert!(Segment::open(folder.path(), 5, Checksums { secret: 2 }, &usage).unwrap().is_none());
        std::fs::rename(folder.path().join(file_name(5)), folder.path().join(file_name(6))).unwrap();
        assert!(Segment::open(folder.path(), 6, CHECKSUMS, &usage).unwrap().is_none());
    }

    #[test]
    fn a_large_object_that_gets_another_head_is_not_taken_for_one_that_is_not_complete() {
        let folder = tempfile::tempdir().unwrap();
        let usage = Arc::<Usage>::default();
        let segment = Segment::create(folder.path(), 1, Content::One, 4096, CHECKSUMS, &usage).unwrap();
        let head = || Head {
            key: b"key".as_slice().into(),
            variant: 1,
            sequence: 1,
            stored_ms: 0,
            description: vec![b'x'; 100_000].into(),
            chunks: Vec::new(),
        };
        segment.write_head(&head(), HEADER_BYTES, CHECKSUMS).unwrap();
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                for _ in 0..200 {
                    let end = segment.bytes().next_multiple_of(UNIT_BYTES);
                    segment.write_head(&head(), end, CHECKSUMS).unwrap();
                }
            });
            while !writer.is_finished() {
                segment.give_back_unfinished(0, CHECKSUMS).unwrap();
            }
        });
        assert!(segment.bytes() > 200 * 100_000, "nothing of it is lost");
        segment.end(segment.bytes() - 1).unwrap();
        segment.give_back_unfinished(0, CHECKSUMS).unwrap();
        assert_eq!(segment.bytes(), 0);
    }

    #[test]
    fn a_head_that_is_written_while_bytes_are_added_stays() {
        let folder = tempfile::tempdir().unwrap();
        let usage = Arc::<Usage>::default();
        let segment = Segment::create(folder.path(), 1, Content::One, 4096, CHECKSUMS, &usage).unwrap();
        let head = |sequence| Head {
            key: b"key".as_slice().into(),
            variant: 1,
            sequence,
            stored_ms: 0,
            description: b"described".as_slice().into(),
            chunks: Vec::new(),
        };
        let head_at = |segment: &Segment| segment.large_object(CHECKSUMS).unwrap().0.offset;
        segment.write_head(&head(1), HEADER_BYTES, CHECKSUMS).unwrap();
        let end = segment.bytes();
        assert_eq!(segment.begin_adding(800).unwrap(), Some(end));
        assert_eq!(segment.begin_adding(8).unwrap(), None, "one at a time");
        assert!(segment.write_added(&[1; 800], end).unwrap());
        assert!(!segment.write_added(&[1; 8], end + 800).unwrap(), "it has no room");
        segment.give_back_unfinished(end, CHECKSUMS).unwrap();
        segment.write_head(&head(2), end + 800, CHECKSUMS).unwrap();
        assert!(!segment.write_added_head(&head(3), end + 800, CHECKSUMS).unwrap());
        segment.give_up_adding().unwrap();
        assert_eq!((head_at(&segment), segment.is_adding()), (end + 800, false));
        // Without another head, its room is given back.
        let end = segment.bytes();
        assert_eq!(segment.begin_adding(800).unwrap(), Some(end));
        segment.give_up_adding().unwrap();
        assert_eq!(segment.bytes(), end);
        segment.leave();
        assert_eq!(segment.begin_adding(800).unwrap(), None);
    }

    #[test]
    fn a_removed_segment_counts_until_its_last_reader_has_left() {
        let folder = tempfile::tempdir().unwrap();
        let usage = Arc::<Usage>::default();
        let create = |number| Segment::create(folder.path(), number, Content::New, 4096, CHECKSUMS, &usage);
        let (one, other) = (Arc::new(create(1).unwrap()), create(2).unwrap());
        let reader = one.clone();
        one.remove();
        drop(one);
        assert!(!folder.path().join(file_name(1)).exists());
        assert_eq!(usage.bytes(), 8192);
        drop(reader);
        assert_eq!(usage.bytes(), 4096);
        other.end(100).unwrap();
        assert_eq!(usage.bytes(), 100);
    }

    #[test]
    fn the_end_of_a_large_object_s_file_says_where_its_head_is() {
        let folder = tempfile::tempdir().unwrap();
        let usage = Arc::<Usage>::default();
        let segment = Segment::create(folder.path(), 1, Content::One, 4096, CHECKSUMS, &usage).unwrap();
        assert_eq!(segment.large_object(CHECKSUMS), None);
        segment.write(&segment.trailer(640, 72, CHECKSUMS), 712).unwrap();
        segment.end(712 + TRAILER_BYTES).unwrap();
        assert_eq!(segment.large_object(CHECKSUMS), Some((Location { segment: 1, offset: 640 }, 72)));
        segment.end(712 + TRAILER_BYTES - 1).unwrap();
        assert_eq!(segment.large_object(CHECKSUMS), None);
    }
}
