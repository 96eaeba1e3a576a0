//! Looks into a directory without using it: no lock is taken, nothing is written, and a process may be serving from it.
//!
//! [`DiskImage`] has the objects that a process would find if it opened the directory now: the same code reads checkpoint, log and
//! journal. What a running process has not written yet (up to a second) is not in it. An object whose segment is evicted meanwhile is
//! [`Inspected::Gone`], which is no damage.

use super::addition::have_no_gaps;
use super::changes::Changes;
use super::directory::{Directory, FORMAT_VERSION, FileName, OpenError};
use super::journal::JournalContent;
use super::layout::{ChunkPlace, FileKind, Head};
use super::log::{LogContent, read_full};
use super::object::CHUNK_BYTES_MAX;
use super::opening::{CLOCK_TOLERANCE_MS, Marks, marks_of, newest_checkpoint, objects_of, read_generation, read_head};
use super::place::Place;
use super::segment::{Content, Segment, Usage, file_name};
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How often a directory is read that changes meanwhile, or seems damaged since it does.
const ATTEMPTS_MAX: usize = 5;

/// What a directory has, read without using it.
#[derive(Debug)]
pub struct DiskImage {
    directory: Directory,
    /// By segment and offset.
    places: Vec<Place>,
    /// The segments that are there, also damaged ones; for each one of a large object, its length in bytes, otherwise 0.
    segments: BTreeMap<u32, u64>,
    marks: Option<Marks>,
    summary: DiskSummary,
}

/// What a directory has, in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskSummary {
    /// The version of the format.
    pub format: u32,
    /// The newest generation of log and journal.
    pub generation: u64,
    /// The number of objects.
    pub objects: u64,
    /// How many of them the origin must confirm before they are used.
    pub unconfirmed: u64,
    /// What segments take on disk, in bytes.
    pub used_bytes: u64,
    /// Segments of objects that are new: number and bytes.
    pub new_segments: (u64, u64),
    /// Segments of objects that were requested again: number and bytes.
    pub proven_segments: (u64, u64),
    /// Segments of one large object each: number and bytes.
    pub large_segments: (u64, u64),
    /// Files in the place of segments whose beginning is damaged.
    pub damaged_segments: u64,
    /// Why all objects are unconfirmed, in words; empty if they are not.
    pub losses: Vec<&'static str>,
}

/// Where an object is in a [`DiskImage`], and what is known of it without reading it.
#[derive(Clone, Copy, Debug)]
pub struct ObjectPlace(Place);

/// What is found at a place.
#[derive(Debug)]
pub enum Inspected {
    /// This object.
    Object(InspectedObject),
    /// Nothing any more: its segment was evicted.
    Gone,
    /// An object that is not as it was written, or can't be read.
    Damaged,
}

/// An object, all but the bytes of its body.
#[derive(Debug)]
pub struct InspectedObject {
    /// The key.
    pub key: Box<[u8]>,
    /// The variant of the key.
    pub variant: u64,
    /// What the owner of the store wrote beside the body.
    pub description: Box<[u8]>,
    /// When it was stored, in milliseconds since 1970.
    pub stored_ms: u64,
    /// Whether the origin must confirm it before it is used.
    pub is_unconfirmed: bool,
    /// How often it was requested, as far as the last checkpoint knows; three stands for more as well.
    pub hits: u32,
    chunks: Vec<ChunkPlace>,
    segment: Arc<Segment>,
}

/// Reads the objects of an image one after another. It keeps the segment of the last one open.
#[derive(Debug)]
pub struct ObjectReader<'a> {
    image: &'a DiskImage,
    usage: Arc<Usage>,
    open: Option<(u32, Opened)>,
}

#[derive(Clone, Debug)]
enum Opened {
    Segment(Arc<Segment>),
    Gone,
    Damaged,
}

impl ObjectPlace {
    /// When the object was stored, in seconds since 1970.
    pub fn stored_seconds(&self) -> u64 {
        self.0.stored.into()
    }

    /// The number of its segment, as its file is called.
    pub fn segment(&self) -> String {
        file_name(self.0.segment)
    }

    /// The offset of its head in the segment, in bytes.
    pub fn offset(&self) -> u64 {
        self.0.location().offset
    }
}

impl DiskImage {
    /// Reads what the directory has.
    ///
    /// # Errors
    /// It is no directory of this format, or can't be read.
    pub fn open(path: &Path, now_ms: u64) -> Result<Self, OpenError> {
        let failed = |what| move |error| OpenError::Io { path: path.to_owned(), what, error };
        let mut attempt = 1;
        loop {
            let before = Directory::look(path)?.files().map_err(failed("it can't be read"))?;
            let image = Self::read(path, now_ms, &before).map_err(|error| match error {
                OpenError::Io { error, .. } => failed("it can't be read")(error),
                other => other,
            })?;
            let after = image.directory.files().map_err(failed("it can't be read"))?;
            // A checkpoint of a running process replaces files, and one that is being written to seems damaged.
            let is_steady = names(&before) == names(&after) && image.summary.losses.is_empty();
            if is_steady || attempt == ATTEMPTS_MAX {
                return Ok(image);
            }
            attempt += 1;
        }
    }

    fn read(path: &Path, now_ms: u64, files: &[FileName]) -> Result<Self, OpenError> {
        let failed = |what| move |error| OpenError::Io { path: path.to_owned(), what, error };
        let directory = Directory::look(path)?;
        let mut checkpoint = newest_checkpoint(&directory, files);
        let begin = checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.moment.generation);
        let generations: BTreeSet<u64> = files.iter().map(|file| file.generation()).filter(|it| *it >= begin).collect();
        let (mut log, mut journal) = (LogContent::default(), JournalContent::default());
        generations.iter().for_each(|one| read_generation(&directory, *one, &mut log, &mut journal));
        let generation = generations.last().copied().unwrap_or_default();
        // After the log, so that the segments of all that it names are there.
        let numbers = directory.segment_numbers().map_err(failed("its segments can't be read"))?;
        let (segments, mut summary) = segments(&directory, &numbers);
        let moment = checkpoint.as_ref().map(|checkpoint| checkpoint.moment.clone()).unwrap_or_default();
        let last_ms = moment.now_ms.max(log.last_ms).max(journal.last_ms);
        let has_gap = checkpoint.is_some() && generations.len() as u64 != generation + 1 - begin;
        let is_lost = has_gap || checkpoint.is_none() && !numbers.is_empty();
        let losses = [
            (is_lost, "no whole checkpoint"),
            (log.is_damaged, "a damaged log"),
            (journal.is_damaged, "damaged purges"),
            (now_ms.saturating_add(CLOCK_TOLERANCE_MS) < last_ms, "a clock behind the last time that was written"),
        ];
        summary.losses = losses.into_iter().filter(|(is_so, _)| *is_so).map(|(_, what)| what).collect();
        let are_unconfirmed = !summary.losses.is_empty();
        let marks = Marks { then: moment.marks, since: marks_of(&journal) };
        let marks = (!is_lost && !journal.is_damaged).then_some(marks);
        let changes = Changes::new(log, journal);
        let changed = changes.stored().copied();
        let mut places: Vec<Place> = changed.collect();
        let mut is_whole = checkpoint.is_some();
        while let Some(reader) = &mut checkpoint {
            match reader.next() {
                Ok(read) if read.is_empty() => break,
                Ok(read) => places.extend(read.into_iter().filter(|place| !changes.is_outdated(place))),
                Err(_) => {
                    is_whole = false;
                    summary.losses.push("a damaged checkpoint");
                    break;
                }
            }
        }
        if are_unconfirmed {
            places.iter_mut().for_each(|place| *place = place.unconfirmed());
        }
        if !is_whole {
            scan(&directory, &segments, &changes, &mut places);
        }
        places.retain(|place| segments.contains_key(&place.segment));
        places.sort_by_key(|place| (place.segment, place.location().offset));
        summary.format = FORMAT_VERSION;
        summary.generation = generation;
        summary.objects = places.len() as u64;
        summary.unconfirmed = places.iter().filter(|place| place.is_unconfirmed()).count() as u64;
        Ok(Self { directory, places, segments, marks, summary })
    }

    /// What it has, in numbers.
    pub fn summary(&self) -> &DiskSummary {
        &self.summary
    }

    /// What the owner has said about purges of many keys. `None`: it is lost, and all objects are unconfirmed.
    pub fn marks(&self) -> Option<&Marks> {
        self.marks.as_ref()
    }

    /// Where the objects are, in the order of the files.
    pub fn places(&self) -> impl DoubleEndedIterator<Item = ObjectPlace> {
        self.places.iter().copied().map(ObjectPlace)
    }

    /// What an object takes on disk, in bytes.
    pub fn bytes(&self, ObjectPlace(place): &ObjectPlace) -> u64 {
        place.bytes().max(self.segments.get(&place.segment).copied().unwrap_or_default())
    }

    /// Where the objects of a key may be: those of another key with the same hash are among them.
    pub fn places_of(&self, key: &[u8]) -> impl Iterator<Item = ObjectPlace> {
        let hash = self.directory.hash(key);
        self.places.iter().copied().filter(move |place| place.hash == hash).map(ObjectPlace)
    }

    /// Reads objects.
    pub fn reader(&self) -> ObjectReader<'_> {
        ObjectReader { image: self, usage: Arc::default(), open: None }
    }
}

impl ObjectReader<'_> {
    /// The object at that place.
    pub fn read(&mut self, ObjectPlace(place): ObjectPlace) -> Inspected {
        let segment = match self.segment(place.segment) {
            Opened::Segment(segment) => segment,
            Opened::Gone => return Inspected::Gone,
            Opened::Damaged => return Inspected::Damaged,
        };
        let directory = &self.image.directory;
        let Some((head, _)) = read_head(directory, &segment, place.location().offset) else {
            return Inspected::Damaged;
        };
        let Head { key, variant, description, stored_ms, chunks, .. } = head;
        let is_that = directory.hash(&key) == place.hash && variant as u32 == place.variant;
        if !is_that || chunks.iter().any(|chunk| chunk.length > CHUNK_BYTES_MAX) {
            return Inspected::Damaged;
        }
        let (is_unconfirmed, hits) = (place.is_unconfirmed(), place.hits());
        Inspected::Object(InspectedObject {
            key,
            variant,
            description,
            stored_ms,
            is_unconfirmed,
            hits,
            chunks,
            segment,
        })
    }

    /// The bytes of each chunk of a body, with the offset of its first byte; `None` for a chunk that is damaged.
    pub fn chunks<'o>(&self, object: &'o InspectedObject) -> impl Iterator<Item = (u64, Option<Bytes>)> + use<'o> {
        let checksums = self.image.directory.checksums;
        let segment = &object.segment;
        object.chunks.iter().map(move |chunk| {
            let mut bytes = vec![0; chunk.length as usize];
            let count = read_full(segment.file(), &mut bytes, chunk.offset).unwrap_or_default();
            let checksum = checksums.of(FileKind::Segment, segment.number.into(), chunk.offset, &bytes);
            let is_whole = count == bytes.len() && checksum == chunk.checksum;
            (chunk.first, is_whole.then(|| bytes.into()))
        })
    }

    fn segment(&mut self, number: u32) -> Opened {
        if let Some((open, segment)) = &self.open
            && *open == number
        {
            return segment.clone();
        }
        let directory = &self.image.directory;
        let opened = match Segment::open(&directory.segments(), number, directory.checksums, &self.usage) {
            Ok(Some(segment)) => Opened::Segment(Arc::new(segment)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Opened::Gone,
            Ok(None) | Err(_) => Opened::Damaged,
        };
        self.open = Some((number, opened.clone()));
        opened
    }
}

impl InspectedObject {
    /// The length of the stored body, in bytes.
    pub fn body_bytes(&self) -> u64 {
        self.chunks.iter().map(|chunk| u64::from(chunk.length)).sum()
    }

    /// Whether all bytes from 0 on are stored, up to the end of the last chunk.
    pub fn is_whole(&self) -> bool {
        have_no_gaps(self.chunks.iter().copied())
    }
}

fn names(files: &[FileName]) -> BTreeSet<String> {
    files.iter().map(|file| file.text()).collect()
}

/// The numbers of the segments that are there, also of damaged ones, and what they take.
fn segments(directory: &Directory, numbers: &[u32]) -> (BTreeMap<u32, u64>, DiskSummary) {
    let (usage, mut summary) = (Arc::<Usage>::default(), DiskSummary::default());
    let mut present = BTreeMap::new();
    for number in numbers.iter().copied() {
        let mut large = 0;
        match Segment::open(&directory.segments(), number, directory.checksums, &usage) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            // Its object was not complete when a process ended, and the next one has given its room back.
            Ok(None) if is_empty(directory, number) => continue,
            Ok(None) | Err(_) => summary.damaged_segments += 1,
            Ok(Some(segment)) => {
                let (count, bytes) = match segment.content {
                    Content::New => &mut summary.new_segments,
                    Content::Proven => &mut summary.proven_segments,
                    Content::One => &mut summary.large_segments,
                };
                *count += 1;
                *bytes += segment.bytes();
                large = if segment.content == Content::One { segment.bytes() } else { 0 };
                summary.used_bytes += segment.bytes();
            }
        }
        present.insert(number, large);
    }
    (present, summary)
}

/// Whether the file of a segment has no byte.
fn is_empty(directory: &Directory, number: u32) -> bool {
    std::fs::metadata(directory.segments().join(file_name(number))).is_ok_and(|file| file.len() == 0)
}

/// Adds the objects that the segments have, where the checkpoint is damaged: see `opening`.
fn scan(directory: &Directory, numbers: &BTreeMap<u32, u64>, changes: &Changes, places: &mut Vec<Place>) {
    let (usage, never) = (Arc::<Usage>::default(), AtomicBool::new(false));
    let mut known: HashSet<(u64, u32)> = places.iter().map(|place| (place.hash, place.variant)).collect();
    for number in numbers.keys().rev().copied() {
        let Ok(Some(segment)) = Segment::open(&directory.segments(), number, directory.checksums, &usage) else {
            continue;
        };
        for place in objects_of(directory, &segment, &never).into_iter().rev() {
            if !changes.is_outdated(&place) && known.insert((place.hash, place.variant)) {
                places.push(place.unconfirmed());
            }
        }
    }
}
