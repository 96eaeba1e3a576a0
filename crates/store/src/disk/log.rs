//! The log: which objects were stored since the last checkpoint.
//!
//! A log is a sequence of frames of equal length. A frame that is lost costs its object. So a damaged frame is skipped, and the reader
//! says that there was one: an object that a lost frame replaced may be found again, and then the origin must confirm it.

use super::input::Input;
use super::layout::{Checksums, FileKind};
use super::place::Place;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The length of a frame, in bytes.
pub(super) const FRAME_BYTES: usize = 64;

/// How many frames are read at once.
const FRAMES_PER_READ: usize = 4096;

const STORED: u32 = 1;
const TIME: u32 = 2;

/// The writing end of a log.
#[derive(Debug)]
pub(super) struct LogWriter {
    file: File,
    generation: u64,
    written: u64,
    waiting: Vec<u8>,
    /// Up to where the journal of this generation is certain to be on the disk.
    journal: Arc<AtomicU32>,
    checksums: Checksums,
}

/// What a log says.
#[derive(Debug, Default)]
pub(super) struct LogContent {
    /// The objects that were stored, with their numbers in the sequence, in the order in which they were published.
    pub(super) stored: Vec<(u64, Place)>,
    pub(super) last_sequence: u64,
    /// The latest time that was written, in milliseconds since 1970.
    pub(super) last_ms: u64,
    /// In the log that was read last: up to where its journal was on the disk.
    pub(super) journal_end: u32,
    pub(super) is_damaged: bool,
}

impl LogWriter {
    pub(super) fn create(path: &Path, generation: u64, checksums: Checksums) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        Ok(Self { file, generation, written: 0, waiting: Vec::new(), journal: Arc::default(), checksums })
    }

    /// From now on, frames say up to where this journal is certain to be on the disk.
    pub(super) fn follow(&mut self, journal: Arc<AtomicU32>) {
        self.journal = journal;
    }

    /// Notes that an object was stored.
    pub(super) fn stored(&mut self, sequence: u64, now_ms: u64, place: &Place) {
        self.frame(STORED, sequence, now_ms, Some(place));
    }

    /// Notes the time, so that a clock that is set back is recognised.
    pub(super) fn time(&mut self, now_ms: u64) {
        self.frame(TIME, 0, now_ms, None);
    }

    fn frame(&mut self, kind: u32, sequence: u64, now_ms: u64, place: Option<&Place>) {
        let mut frame = Vec::with_capacity(FRAME_BYTES);
        frame.extend_from_slice(&sequence.to_le_bytes());
        frame.extend_from_slice(&now_ms.to_le_bytes());
        frame.extend_from_slice(&kind.to_le_bytes());
        frame.extend_from_slice(&self.journal.load(Ordering::Relaxed).to_le_bytes());
        match place {
            Some(place) => place.write(&mut frame),
            None => frame.resize(FRAME_BYTES - 8, 0),
        }
        let offset = self.written + self.waiting.len() as u64;
        let checksum = self.checksums.of(FileKind::Log, self.generation, offset, &frame);
        self.waiting.extend_from_slice(&checksum.to_le_bytes());
        self.waiting.extend_from_slice(&frame);
    }

    /// Writes what waits.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        self.file.write_all_at(&self.waiting, self.written)?;
        self.written += self.waiting.len() as u64;
        self.waiting.clear();
        Ok(())
    }

    /// The number of frames that wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len() / FRAME_BYTES
    }

    /// The number of frames, those that wait included.
    pub(super) fn len(&self) -> u64 {
        (self.written + self.waiting.len() as u64) / FRAME_BYTES as u64
    }

    pub(super) fn generation(&self) -> u64 {
        self.generation
    }
}

impl LogContent {
    /// Adds what the log in this file says. A log that does not exist or can't be read is damaged.
    pub(super) fn read(&mut self, path: &Path, generation: u64, checksums: Checksums) {
        self.journal_end = 0;
        if self.read_frames(path, generation, checksums).is_err() {
            self.is_damaged = true;
        }
    }

    fn read_frames(&mut self, path: &Path, generation: u64, checksums: Checksums) -> io::Result<()> {
        let file = File::open(path)?;
        let mut buffer = vec![0; FRAME_BYTES * FRAMES_PER_READ];
        let mut offset = 0;
        // A bad frame is the torn end of the log, unless anything follows it.
        let mut has_bad = false;
        loop {
            let count = read_full(&file, &mut buffer, offset)?;
            let read = buffer.get(..count).unwrap_or_default();
            for frame in read.chunks(FRAME_BYTES) {
                if frame.iter().any(|byte| *byte != 0) {
                    self.is_damaged |= has_bad;
                    has_bad = self.frame(frame, generation, offset, checksums).is_none();
                } else {
                    // Never written, or overwritten by zeros: which of both is known by what follows.
                    has_bad = true;
                }
                offset += frame.len() as u64;
            }
            if count < buffer.len() {
                return Ok(());
            }
        }
    }

    fn frame(&mut self, frame: &[u8], generation: u64, offset: u64, checksums: Checksums) -> Option<()> {
        let (checksum, content) = frame.split_at_checked(8)?;
        let expected = checksums.of(FileKind::Log, generation, offset, content);
        if content.len() != FRAME_BYTES - 8 || checksum != expected.to_le_bytes() {
            return None;
        }
        let mut input = Input(content);
        let (sequence, now_ms, kind) = (input.u64()?, input.u64()?, input.u32()?);
        self.journal_end = self.journal_end.max(input.u32()?);
        if kind == STORED {
            self.stored.push((sequence, Place::read(&mut input)?));
        }
        self.last_sequence = self.last_sequence.max(sequence);
        self.last_ms = self.last_ms.max(now_ms);
        Some(())
    }
}

/// Reads until the buffer is full or the file ends. Returns the number of bytes.
pub(super) fn read_full(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut count = 0;
    while let Some(rest) = buffer.get_mut(count..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, offset + count as u64) {
            Ok(0) => break,
            Ok(more) => count += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::super::place::Location;
    use super::*;

    const CHECKSUMS: Checksums = Checksums { secret: 1 };

    fn place(hash: u64) -> Place {
        Place::new((hash, 1), Location { segment: 2, offset: 64 }, (64, 128), 5000).unwrap()
    }

    fn written(folder: &Path) -> std::path::PathBuf {
        let path = folder.join("log-3");
        let mut log = LogWriter::create(&path, 3, CHECKSUMS).unwrap();
        (1..=5).for_each(|sequence| log.stored(sequence, 1000 + sequence, &place(sequence)));
        log.time(2000);
        log.flush().unwrap();
        log.stored(6, 1006, &place(6));
        log.flush().unwrap();
        assert_eq!(log.len(), 7);
        path
    }

    fn read(path: &Path, generation: u64) -> (Vec<u64>, bool) {
        let mut content = LogContent::default();
        content.read(path, generation, CHECKSUMS);
        (content.stored.iter().map(|(sequence, _)| *sequence).collect(), content.is_damaged)
    }

    #[test]
    fn a_log_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = written(folder.path());
        let mut content = LogContent::default();
        content.read(&path, 3, CHECKSUMS);
        assert_eq!(content.stored.last(), Some(&(6, place(6))));
        assert_eq!((content.stored.len(), content.last_sequence, content.last_ms), (6, 6, 2000));
        assert!(!content.is_damaged);
        assert_eq!(read(&path, 4), (vec![], true), "another generation");
    }

    #[test]
    fn a_torn_end_is_no_damage_and_a_hole_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = written(folder.path());
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        assert_eq!(read(&path, 3), (vec![1, 2, 3, 4, 5], false));
        let mut holed = bytes.clone();
        holed[FRAME_BYTES..2 * FRAME_BYTES].fill(0);
        std::fs::write(&path, &holed).unwrap();
        assert_eq!(read(&path, 3), (vec![1, 3, 4, 5, 6], true));
        let mut flipped = bytes;
        flipped[2 * FRAME_BYTES + 20] ^= 4;
        std::fs::write(&path, &flipped).unwrap();
        assert_eq!(read(&path, 3), (vec![1, 2, 4, 5, 6], true));
    }
}
