//! The journal of removals and marks, written twice.
//!
//! A removal that is lost brings a purged page back. So each frame goes into two files, one after the other, and each is on the disk
//! before the caller hears that the removal is durable. The files have their full length from the beginning, with zeros in it: a disk that
//! is full still takes a removal, and a file that was cut is recognised.
//!
//! One damaged copy does no harm. If both are damaged, the reader says so, and the origin must confirm every object.

use super::directory::JournalCopy;
use super::index::Removal;
use super::input::Input;
use super::layout::{Checksums, FileKind};
use super::log::read_full;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The length of each copy, in bytes: room for some 20,000 removals of a key.
pub(super) const JOURNAL_BYTES: usize = 1 << 20;

/// The longest mark, in bytes.
pub(super) const MARK_BYTES_MAX: usize = 64 << 10;

const HEADER_BYTES: usize = 32;

const KEY: u32 = 1;
const VARIANT: u32 = 2;
const MARK: u32 = 3;

/// One entry of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Removed {
    /// Objects of a key.
    Objects { hash: u64, removal: Removal },
    /// What the owner of the store knows by itself: a purge of many keys.
    Mark(Vec<u8>),
}

impl Removed {
    /// About what it takes in a journal, in bytes.
    pub(super) fn weight(&self) -> u64 {
        let content = match self {
            Self::Objects { .. } => 16,
            Self::Mark(mark) => mark.len(),
        };
        (HEADER_BYTES + content.next_multiple_of(8)) as u64
    }
}

/// The writing end of a journal.
#[derive(Debug)]
pub(super) struct JournalWriter {
    copies: [File; 2],
    generation: u64,
    written: usize,
    durable: Arc<AtomicU32>,
    checksums: Checksums,
}

/// What a journal says.
#[derive(Debug, Default)]
pub(super) struct JournalContent {
    /// What was removed, with the number in the sequence.
    pub(super) removed: Vec<(u64, Removed)>,
    pub(super) last_sequence: u64,
    pub(super) last_ms: u64,
    /// Where the journal that was read last ends.
    pub(super) end: usize,
    pub(super) is_damaged: bool,
}

/// Why something was not written.
#[derive(Debug, thiserror::Error)]
pub(super) enum JournalError {
    /// There is no room left: a checkpoint makes room.
    #[error("the journal is full")]
    Full,
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl JournalWriter {
    /// A new journal. `path` makes the path of a copy.
    pub(super) fn create(
        path: impl Fn(JournalCopy) -> std::path::PathBuf,
        generation: u64,
        checksums: Checksums,
    ) -> io::Result<Self> {
        let create = |copy| {
            let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path(copy))?;
            // Written zeros, not a hole: so there are blocks for what comes.
            file.write_all_at(&vec![0; JOURNAL_BYTES], 0)?;
            file.sync_all()?;
            Ok::<_, io::Error>(file)
        };
        Ok(Self {
            copies: [create(JournalCopy::A)?, create(JournalCopy::B)?],
            generation,
            written: 0,
            durable: Arc::default(),
            checksums,
        })
    }

    /// Writes these entries. With `is_durable` they survive a loss of power when this returns, otherwise the end of this process.
    pub(super) fn write(
        &mut self,
        entries: &[(u64, Removed)],
        now_ms: u64,
        is_durable: bool,
    ) -> Result<(), JournalError> {
        let mut bytes = Vec::new();
        for (sequence, removed) in entries {
            let offset = self.written + bytes.len();
            frame(&mut bytes, *sequence, now_ms, removed, |content| {
                self.checksums.of(FileKind::Journal, self.generation, offset as u64, content)
            });
        }
        if self.written + bytes.len() > JOURNAL_BYTES {
            return Err(JournalError::Full);
        }
        for copy in &self.copies {
            copy.write_all_at(&bytes, self.written as u64)?;
            if is_durable {
                copy.sync_data()?;
            }
        }
        self.written += bytes.len();
        if is_durable {
            self.durable.store(self.written as u32, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Up to where both copies are certain to be on the disk. The log notes it: so two copies that were both overwritten by zeros are not taken
    /// for a journal that ends there.
    pub(super) fn durable(&self) -> Arc<AtomicU32> {
        self.durable.clone()
    }

    /// Whether a checkpoint should make room soon.
    pub(super) fn is_half_full(&self) -> bool {
        self.written > JOURNAL_BYTES / 2
    }
}

/// Appends a frame: checksum, sequence, time, length and kind of the content, and the content, padded to a multiple of 8.
fn frame(out: &mut Vec<u8>, sequence: u64, now_ms: u64, removed: &Removed, checksum: impl Fn(&[u8]) -> u64) {
    let numbers = |numbers: &[u64]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    let (kind, content): (u32, Vec<u8>) = match removed {
        Removed::Objects { hash, removal: Removal::Key } => (KEY, numbers(&[*hash])),
        Removed::Objects { hash, removal: Removal::Variant(variant) } => (VARIANT, numbers(&[*hash, *variant])),
        Removed::Mark(mark) => (MARK, mark.clone()),
    };
    let begin = out.len();
    out.extend_from_slice(&[0; 8]);
    out.extend_from_slice(&sequence.to_le_bytes());
    out.extend_from_slice(&now_ms.to_le_bytes());
    out.extend_from_slice(&(content.len() as u32).to_le_bytes());
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&content);
    out.resize(out.len().next_multiple_of(8), 0);
    if let Some((place, content)) = out.get_mut(begin..).and_then(|frame| frame.split_at_mut_checked(8)) {
        place.copy_from_slice(&checksum(content).to_le_bytes());
    }
}

impl JournalContent {
    /// Adds what a journal says.
    pub(super) fn read(
        &mut self,
        path: impl Fn(JournalCopy) -> std::path::PathBuf,
        generation: u64,
        checksums: Checksums,
    ) {
        // A copy that can't be read is a damaged one.
        let copies =
            [bytes(&path(JournalCopy::A)).unwrap_or_default(), bytes(&path(JournalCopy::B)).unwrap_or_default()];
        let mut offset = 0;
        loop {
            let found = copies.iter().find_map(|copy| read_frame(copy, offset, generation, checksums));
            let Some((length, sequence, now_ms, removed)) = found else { break };
            self.last_sequence = self.last_sequence.max(sequence);
            self.last_ms = self.last_ms.max(now_ms);
            self.removed.push((sequence, removed));
            offset += length;
        }
        self.end = offset;
        // What was written into one copy only was never durable. So one copy that clearly ends here is enough.
        let ends_here = |copy: &Vec<u8>| {
            let rest = copy.get(offset..).unwrap_or_default();
            copy.len() == JOURNAL_BYTES && rest.iter().all(|byte| *byte == 0)
        };
        self.is_damaged |= !copies.iter().any(ends_here);
    }
}

/// The bytes of one copy; none where it does not exist.
fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut bytes = vec![0; JOURNAL_BYTES];
    let count = read_full(&file, &mut bytes, 0)?;
    bytes.truncate(count);
    Ok(bytes)
}

/// The frame at this offset: its length, its number, its time, and what it says.
fn read_frame(copy: &[u8], offset: usize, generation: u64, checksums: Checksums) -> Option<(usize, u64, u64, Removed)> {
    let rest = copy.get(offset..)?;
    let mut input = Input(rest.get(..HEADER_BYTES)?);
    let (checksum, sequence, now_ms) = (input.u64()?, input.u64()?, input.u64()?);
    let (length, kind) = (input.u32()? as usize, input.u32()?);
    if length > MARK_BYTES_MAX {
        return None;
    }
    let end = HEADER_BYTES + length.next_multiple_of(8);
    if checksums.of(FileKind::Journal, generation, offset as u64, rest.get(8..end)?) != checksum {
        return None;
    }
    let mut content = Input(rest.get(HEADER_BYTES..HEADER_BYTES + length)?);
    let removed = match kind {
        KEY => Removed::Objects { hash: content.u64()?, removal: Removal::Key },
        VARIANT => Removed::Objects { hash: content.u64()?, removal: Removal::Variant(content.u64()?) },
        MARK => Removed::Mark(content.0.to_vec()),
        _ => return None,
    };
    Some((end, sequence, now_ms, removed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    const CHECKSUMS: Checksums = Checksums { secret: 1 };

    fn entries() -> Vec<(u64, Removed)> {
        vec![
            (1, Removed::Objects { hash: 10, removal: Removal::Key }),
            (2, Removed::Mark(b"all of http://a.test/".to_vec())),
            (3, Removed::Objects { hash: 11, removal: Removal::Variant(12) }),
        ]
    }

    fn paths(folder: &Path) -> impl Fn(JournalCopy) -> PathBuf {
        move |copy| folder.join(format!("{copy:?}"))
    }

    fn write(folder: &Path) {
        let mut journal = JournalWriter::create(paths(folder), 5, CHECKSUMS).unwrap();
        journal.write(&entries()[..1], 1000, true).unwrap();
        journal.write(&entries()[1..], 2000, false).unwrap();
    }

    fn read(folder: &Path) -> (usize, bool) {
        let mut content = JournalContent::default();
        content.read(paths(folder), 5, CHECKSUMS);
        assert_eq!(content.removed, entries()[..content.removed.len()]);
        (content.removed.len(), content.is_damaged)
    }

    fn change(path: PathBuf, change: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = std::fs::read(&path).unwrap();
        change(&mut bytes);
        std::fs::write(path, bytes).unwrap();
    }

    #[test]
    fn either_copy_says_all() {
        let folder = tempfile::tempdir().unwrap();
        for copy in [JournalCopy::A, JournalCopy::B] {
            let path = || paths(folder.path())(copy);
            for byte in 0..200 {
                write(folder.path());
                change(path(), |bytes| bytes[byte] ^= 0x10);
                assert_eq!(read(folder.path()), (3, false), "{copy:?} {byte}");
            }
            for length in [0, 8, 40, 100, 4096] {
                write(folder.path());
                change(path(), |bytes| bytes.truncate(length));
                assert_eq!(read(folder.path()), (3, false), "{copy:?} cut to {length}");
            }
            write(folder.path());
            change(path(), |bytes| bytes[..4096].fill(0));
            assert_eq!(read(folder.path()), (3, false), "{copy:?} with zeros");
            write(folder.path());
            std::fs::remove_file(path()).unwrap();
            assert_eq!(read(folder.path()), (3, false), "without {copy:?}");
        }
    }

    #[test]
    fn two_damaged_copies_are_noticed() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path());
        for copy in [JournalCopy::A, JournalCopy::B] {
            change(paths(folder.path())(copy), |bytes| bytes[50] ^= 1);
        }
        assert_eq!(read(folder.path()), (1, true));
        write(folder.path());
        for copy in [JournalCopy::A, JournalCopy::B] {
            change(paths(folder.path())(copy), |bytes| bytes.truncate(4096));
        }
        assert_eq!(read(folder.path()), (3, true));
    }

    #[test]
    fn what_only_one_copy_has_is_said_and_is_no_damage() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path());
        change(paths(folder.path())(JournalCopy::B), |bytes| bytes[40..].fill(0));
        assert_eq!(read(folder.path()), (3, false));
        // The process ended in the middle of a frame, before it wrote the other copy.
        change(paths(folder.path())(JournalCopy::A), |bytes| bytes[60..].fill(0));
        assert_eq!(read(folder.path()), (1, false));
    }

    #[test]
    fn a_full_journal_takes_nothing_in_part() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = JournalWriter::create(paths(folder.path()), 5, CHECKSUMS).unwrap();
        let mark = |sequence| vec![(sequence, Removed::Mark(vec![7; MARK_BYTES_MAX]))];
        let written = (1..100).take_while(|sequence| journal.write(&mark(*sequence), 1, false).is_ok()).count();
        assert!(matches!(journal.write(&mark(99), 1, false), Err(JournalError::Full)));
        assert!(journal.is_half_full());
        let mut content = JournalContent::default();
        content.read(paths(folder.path()), 5, CHECKSUMS);
        assert_eq!((content.removed.len(), content.is_damaged), (written, false));
    }
}
