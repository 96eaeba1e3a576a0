//! A checkpoint: the index and the marks of one moment, so that a restart need not read the objects.
//!
//! A checkpoint is taken part by part while objects are stored and removed. The log and the journal of the same generation begin before
//! it, and have all that changes from then on. So whatever a part of the checkpoint has seen of these changes, applying them once more
//! leads to the same index.
//!
//! ```text
//! header   checksum, magic, generation, sequence, time, number of the next segment, length of the marks, checksum of the marks
//! marks
//! blocks   checksum, number of places, places; the last block has none
//! ```

use super::input::Input;
use super::layout::{Checksums, FileKind};
use super::log::read_full;
use super::place::{PLACE_BYTES, Place};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

const MAGIC: u64 = u64::from_le_bytes(*b"KCheckpt");
const HEADER_BYTES: usize = 64;
const BLOCK_HEADER_BYTES: usize = 16;
const PLACES_PER_BLOCK: usize = 4096;

/// The longest marks, in bytes.
const MARKS_BYTES_MAX: u64 = 64 << 20;

/// The length of a checkpoint of so many objects, in bytes.
pub(super) fn bytes(objects: u64, marks: u64) -> u64 {
    let blocks = objects.div_ceil(PLACES_PER_BLOCK as u64) + 1;
    HEADER_BYTES as u64 + marks + objects * PLACE_BYTES as u64 + blocks * BLOCK_HEADER_BYTES as u64
}

/// What a checkpoint says of the moment when it was taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) generation: u64,
    pub(super) sequence: u64,
    /// Milliseconds since 1970.
    pub(super) now_ms: u64,
    /// Above the numbers of all segments so far: a number is never used again.
    pub(super) next_segment: u32,
    pub(super) marks: Vec<u8>,
}

/// Writes a checkpoint.
pub(super) struct CheckpointWriter {
    file: File,
    offset: u64,
    waiting: Vec<Place>,
    generation: u64,
    checksums: Checksums,
}

impl CheckpointWriter {
    pub(super) fn create(path: &Path, moment: &Moment, checksums: Checksums) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        let generation = moment.generation;
        let marks = checksums.of(FileKind::Checkpoint, generation, HEADER_BYTES as u64, &moment.marks);
        let (next, length) = (moment.next_segment.into(), moment.marks.len() as u64);
        let numbers = [MAGIC, generation, moment.sequence, moment.now_ms, next, length, marks];
        let content: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let checksum = checksums.of(FileKind::Checkpoint, generation, 0, &content);
        file.write_all_at(&[&checksum.to_le_bytes()[..], &content, &moment.marks].concat(), 0)?;
        let offset = (HEADER_BYTES + moment.marks.len()) as u64;
        Ok(Self { file, offset, waiting: Vec::new(), generation, checksums })
    }

    pub(super) fn places(&mut self, places: &[Place]) -> io::Result<()> {
        self.waiting.extend_from_slice(places);
        while self.waiting.len() >= PLACES_PER_BLOCK {
            let rest = self.waiting.split_off(PLACES_PER_BLOCK);
            let block = std::mem::replace(&mut self.waiting, rest);
            self.block(&block)?;
        }
        Ok(())
    }

    /// Writes the rest, and waits until all of it is on the disk.
    pub(super) fn finish(mut self) -> io::Result<()> {
        let rest = std::mem::take(&mut self.waiting);
        if !rest.is_empty() {
            self.block(&rest)?;
        }
        self.block(&[])?;
        self.file.sync_all()
    }

    fn block(&mut self, places: &[Place]) -> io::Result<()> {
        let mut block = Vec::with_capacity(BLOCK_HEADER_BYTES + places.len() * PLACE_BYTES);
        block.extend_from_slice(&[0; 8]);
        block.extend_from_slice(&(places.len() as u64).to_le_bytes());
        places.iter().for_each(|place| place.write(&mut block));
        if let Some((checksum, content)) = block.split_at_mut_checked(8) {
            let made = self.checksums.of(FileKind::Checkpoint, self.generation, self.offset, content);
            checksum.copy_from_slice(&made.to_le_bytes());
        }
        self.file.write_all_at(&block, self.offset)?;
        self.offset += block.len() as u64;
        Ok(())
    }
}

/// Reads a checkpoint.
pub(super) struct CheckpointReader {
    file: File,
    offset: u64,
    pub(super) moment: Moment,
    checksums: Checksums,
}

/// The checkpoint is not as it was written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Damaged;

impl From<io::Error> for Damaged {
    fn from(_: io::Error) -> Self {
        Self
    }
}

impl CheckpointReader {
    /// Reads the header and the marks.
    pub(super) fn open(path: &Path, generation: u64, checksums: Checksums) -> Result<Self, Damaged> {
        let file = File::open(path)?;
        let mut header = [0; HEADER_BYTES];
        file.read_exact_at(&mut header, 0)?;
        let read = || {
            let (checksum, content) = header.split_at_checked(8)?;
            let is_whole = checksums.of(FileKind::Checkpoint, generation, 0, content).to_le_bytes() == checksum;
            let mut input = Input(content);
            let (_magic, _generation) = (input.u64()?, input.u64()?);
            let (sequence, now_ms, next_segment) = (input.u64()?, input.u64()?, input.u64()?);
            let (length, marks) = (input.u64()?, input.u64()?);
            let moment = Moment {
                generation,
                sequence,
                now_ms,
                next_segment: u32::try_from(next_segment).ok()?,
                marks: Vec::new(),
            };
            (is_whole && length <= MARKS_BYTES_MAX).then_some((moment, length, marks))
        };
        let (moment, length, checksum) = read().ok_or(Damaged)?;
        let mut marks = vec![0; usize::try_from(length).map_err(|_| Damaged)?];
        file.read_exact_at(&mut marks, HEADER_BYTES as u64)?;
        if checksums.of(FileKind::Checkpoint, generation, HEADER_BYTES as u64, &marks) != checksum {
            return Err(Damaged);
        }
        let moment = Moment { marks, ..moment };
        Ok(Self { file, offset: HEADER_BYTES as u64 + length, moment, checksums })
    }

    /// The places of the next block; none at the end.
    pub(super) fn next(&mut self) -> Result<Vec<Place>, Damaged> {
        let mut block = vec![0; BLOCK_HEADER_BYTES + PLACES_PER_BLOCK * PLACE_BYTES];
        let count = read_full(&self.file, &mut block, self.offset)?;
        let block = block.get(..count).ok_or(Damaged)?;
        let read = || {
            let mut input = Input(block);
            let (checksum, count) = (input.u64()?, input.u64()?);
            let count = usize::try_from(count).ok().filter(|count| *count <= PLACES_PER_BLOCK)?;
            let length = BLOCK_HEADER_BYTES + count * PLACE_BYTES;
            let content = block.get(8..length)?;
            let expected = self.checksums.of(FileKind::Checkpoint, self.moment.generation, self.offset, content);
            let places = (0..count).map(|_| Place::read(&mut input)).collect::<Option<Vec<_>>>()?;
            (checksum == expected).then_some((length as u64, places))
        };
        let (length, places) = read().ok_or(Damaged)?;
        self.offset += length;
        Ok(places)
    }
}

#[cfg(test)]
mod tests {
    use super::super::place::Location;
    use super::*;

    const CHECKSUMS: Checksums = Checksums { secret: 1 };
    const COUNT: u64 = 10_000;

    fn place(hash: u64) -> Place {
        Place::new((hash, 1), Location { segment: 2, offset: 64 }, (64, 128), 5000).unwrap()
    }

    fn moment() -> Moment {
        Moment { generation: 4, sequence: 99, now_ms: 1000, next_segment: 7, marks: b"marks".to_vec() }
    }

    fn write(path: &Path) {
        let mut writer = CheckpointWriter::create(path, &moment(), CHECKSUMS).unwrap();
        let places: Vec<Place> = (0..COUNT).map(place).collect();
        places.chunks(999).for_each(|some| writer.places(some).unwrap());
        writer.finish().unwrap();
    }

    fn read(path: &Path) -> Result<(Moment, Vec<Place>), Damaged> {
        let mut reader = CheckpointReader::open(path, 4, CHECKSUMS)?;
        let mut all = Vec::new();
        loop {
            let places = reader.next()?;
            if places.is_empty() {
                return Ok((reader.moment, all));
            }
            all.extend(places);
        }
    }

    #[test]
    fn a_checkpoint_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("checkpoint-4");
        write(&path);
        assert_eq!(std::fs::metadata(&path).unwrap().len(), bytes(COUNT, 5));
        assert_eq!(read(&path), Ok((moment(), (0..COUNT).map(place).collect())));
        assert!(CheckpointReader::open(&path, 5, CHECKSUMS).is_err(), "another generation");
    }

    #[test]
    fn damage_is_noticed_wherever_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("checkpoint-4");
        write(&path);
        let whole = std::fs::read(&path).unwrap();
        for byte in (0..whole.len()).step_by(997).chain(0..64) {
            let mut changed = whole.clone();
            changed[byte] ^= 1;
            std::fs::write(&path, &changed).unwrap();
            assert!(read(&path).is_err(), "byte {byte}");
        }
        for length in [0, 10, 60, 61, 5000, whole.len() - 1] {
            std::fs::write(&path, &whole[..length]).unwrap();
            assert!(read(&path).is_err(), "cut to {length}");
        }
    }
}
