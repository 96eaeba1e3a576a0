//! Opens a directory: finds out what an earlier process has left, and what of it may be used.
//!
//! The journals are read first, so that no removed object is ever visible. The places of objects follow on a thread of their own while
//! the store is in use: from the newest checkpoint and the logs since then, and, where the checkpoint is damaged, from the heads in the
//! segments.
//!
//! If something was lost that might have said that an object is outdated (a damaged log, journal or checkpoint), or if the clock is
//! behind the last time that was written, the objects are unconfirmed: the origin must confirm each before it is used. So they are if this
//! process has stored more than it remembers before the directory was open (`missed`).

use super::changes::Changes;
use super::checkpoint::{CheckpointReader, CheckpointWriter, Damaged, Moment};
use super::counters::Counters;
use super::directory::{Directory, FileName, JournalCopy, OpenError, is_full};
use super::journal::{JournalContent, JournalWriter, Removed};
use super::layout::{Head, TABLE_BYTES, head_length};
use super::log::{LogContent, LogWriter, read_full};
use super::place::{Location, Place, UNIT_BYTES};
use super::reads::Reads;
use super::segment::{Content, HEADER_BYTES, Segment, TRAILER_BYTES, Usage};
use super::store::Store;
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The clock may be behind by so much before objects count as unconfirmed, in milliseconds: clocks are set by that.
pub(super) const CLOCK_TOLERANCE_MS: u64 = 2000;

/// A directory that was opened.
pub(super) struct Opened {
    pub(super) store: Arc<Store>,
    pub(super) log: LogWriter,
    /// The generation of the checkpoint that was found.
    pub(super) checkpoint: Option<u64>,
    /// Above the numbers of all segments so far.
    pub(super) next_segment: u32,
    /// Whether something was lost, so that a checkpoint should be taken soon.
    pub(super) has_lost: bool,
    /// Whether nothing was in it.
    pub(super) is_empty: bool,
    /// The marks of the last checkpoint, and those that came later. `None`: they are lost.
    pub(super) marks: Option<Marks>,
    pub(super) found: FoundObjects,
    /// The segments of earlier processes, the oldest first.
    pub(super) segments: Vec<Arc<Segment>>,
}

/// What the owner of the store has said about purges of many keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// All marks at the time of the last checkpoint.
    pub then: Vec<u8>,
    /// The marks since then, in their order.
    pub since: Vec<Vec<u8>>,
}

/// The places of objects of an earlier process, as far as they are known when the directory is opened.
pub(super) struct FoundObjects {
    /// Whether the directory is new, so that there are none.
    are_none: bool,
    checkpoint: Option<CheckpointReader>,
    log: LogContent,
    journal: JournalContent,
    are_unconfirmed: bool,
    /// The numbers of the segments of large objects. Not the segments: those that are evicted must go at once.
    large: Vec<u32>,
}

/// Opens the directory and makes it ready to be written.
pub(super) fn open(
    path: &Path,
    size_bytes: u64,
    now_ms: u64,
    (usage, counters, reads): (&Arc<Usage>, &Arc<Counters>, &Arc<Reads>),
    present_marks: impl FnOnce() -> Vec<u8>,
) -> Result<Opened, OpenError> {
    let directory = Directory::open(path)?;
    let failed = |what| move |error| OpenError::Io { path: path.to_owned(), what, error };
    let files = directory.files().map_err(failed("it can't be read"))?;
    let checkpoint = newest_checkpoint(&directory, &files);
    let begin = checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.moment.generation);
    let generations: BTreeSet<u64> = files.iter().map(|file| file.generation()).filter(|it| *it >= begin).collect();
    let (mut log, mut journal) = (LogContent::default(), JournalContent::default());
    for generation in &generations {
        read_generation(&directory, *generation, &mut log, &mut journal);
    }
    let new = generations.last().map_or(1, |last| last + 1);
    let mut numbers = directory.segment_numbers().map_err(failed("its segments can't be read"))?;
    let (segment_max, had_segments) = (numbers.last().copied().unwrap_or(0), !numbers.is_empty());
    let begun = begin_generation_in_room(&directory, new, &mut numbers);
    let (writer, purges) = begun.map_err(failed("it can't be written"))?;
    // Between its beginning and its first checkpoint, a directory has nothing.
    let is_unused = checkpoint.is_none()
        && !had_segments
        && log.stored.is_empty()
        && journal.removed.is_empty()
        && !log.is_damaged
        && !journal.is_damaged;
    let is_new = directory.is_new || is_unused;
    if is_new {
        // The purges of this process, which has used another directory before, must cover what is stored in this one.
        let empty = Moment { generation: new, now_ms, marks: present_marks(), ..Moment::default() };
        let unfinished = directory.file(FileName::Unfinished);
        CheckpointWriter::create(&unfinished, &empty, directory.checksums)
            .and_then(CheckpointWriter::finish)
            .and_then(|()| std::fs::rename(&unfinished, directory.file(FileName::Checkpoint(new))))
            .map_err(failed("it can't be written"))?;
    }
    directory.sync().map_err(failed("it can't be written"))?;
    let moment = checkpoint.as_ref().map(|checkpoint| checkpoint.moment.clone()).unwrap_or_default();
    let last_ms = moment.now_ms.max(log.last_ms).max(journal.last_ms);
    // The generations since the checkpoint must be complete: what a missing one had would be lost unnoticed.
    let has_gap = checkpoint.is_some() && generations.len() as u64 != new - begin;
    let is_lost = !is_new && (checkpoint.is_none() || has_gap);
    let is_clock_behind = now_ms.saturating_add(CLOCK_TOLERANCE_MS) < last_ms;
    let are_unconfirmed = is_lost || log.is_damaged || journal.is_damaged || is_clock_behind;
    if are_unconfirmed {
        tracing::warn!(
            directory = %path.display(), checkpoint_is_damaged = is_lost, log_is_damaged = log.is_damaged,
            purges_are_damaged = journal.is_damaged, is_clock_behind,
            "the disk cache has lost something: the origin must confirm each response before it is used"
        );
    }
    let log_segments_max = log.stored.iter().map(|(_, place)| place.segment).max().unwrap_or(0);
    let sequence = moment.sequence.max(log.last_sequence).max(journal.last_sequence);
    let since = marks_of(&journal);
    let marks = (!is_lost && !journal.is_damaged).then_some(Marks { then: moment.marks.clone(), since });
    let logged = log_segments_max.max(moment.next_segment.saturating_sub(1));
    let next_segment = segment_max.max(logged).saturating_add(1);
    let segments = segments(&directory, &numbers, usage).map_err(failed("its segments can't be read"))?;
    let large = segments.iter().filter(|segment| segment.content == Content::One);
    let large = large.map(|segment| segment.number).collect();
    let found = FoundObjects { are_none: is_new, checkpoint, log, journal, are_unconfirmed, large };
    let suits_ring = reads.will_read_in(path);
    let store = Arc::new(Store::new(
        directory,
        size_bytes,
        (usage.clone(), counters.clone(), reads.clone(), suits_ring),
        purges,
    ));
    segments.iter().for_each(|segment| store.add_segment(segment));
    store.index.count_from(sequence);
    store.index.begin_loading();
    let checkpoint = (begin > 0).then_some(begin);
    let has_lost = are_unconfirmed;
    Ok(Opened { store, log: writer, checkpoint, next_segment, has_lost, is_empty: is_new, marks, found, segments })
}

/// The marks of a journal, in their order.
pub(super) fn marks_of(journal: &JournalContent) -> Vec<Vec<u8>> {
    let marks = journal.removed.iter().filter_map(|(sequence, removed)| match removed {
        Removed::Mark(mark) => Some((*sequence, mark.clone())),
        Removed::Objects { .. } => None,
    });
    let mut marks: Vec<_> = marks.collect();
    marks.sort_by_key(|(sequence, _)| *sequence);
    marks.into_iter().map(|(_, mark)| mark).collect()
}

/// A new log and a new journal.
pub(super) fn begin_generation(directory: &Directory, generation: u64) -> io::Result<(LogWriter, JournalWriter)> {
    // The log first: a generation whose log is empty and whose journal is not complete was never in use.
    let mut log = LogWriter::create(&directory.file(FileName::Log(generation)), generation, directory.checksums)?;
    let journal = Store::create_journal(directory, generation)?;
    log.follow(journal.durable());
    Ok((log, journal))
}

/// The same. Where the file system is full, the oldest segments go until there is room: other files may have taken it, and a directory that
/// can't be opened could not take a purge either.
fn begin_generation_in_room(
    directory: &Directory,
    generation: u64,
    segments: &mut Vec<u32>,
) -> io::Result<(LogWriter, JournalWriter)> {
    loop {
        let error = match begin_generation(directory, generation) {
            Ok(begun) => return Ok(begun),
            Err(error) => error,
        };
        // Each attempt that failed would leave its files, with a number of its own.
        let [a, b] = [JournalCopy::A, JournalCopy::B].map(|copy| FileName::Purges(generation, copy));
        for file in [FileName::Log(generation), a, b] {
            let _ = std::fs::remove_file(directory.file(file));
        }
        if !is_full(&error) || segments.is_empty() {
            return Err(error);
        }
        let segment = segments.remove(0);
        tracing::warn!(
            directory = %directory.path().display(), segment,
            "the file system is full: a segment of the disk cache is removed"
        );
        std::fs::remove_file(directory.segments().join(super::segment::file_name(segment)))?;
    }
}

/// Adds what the log and the journal of a generation say.
pub(super) fn read_generation(
    directory: &Directory,
    generation: u64,
    log: &mut LogContent,
    journal: &mut JournalContent,
) {
    let (was_damaged, count) = (journal.is_damaged, journal.removed.len());
    let path = |copy| directory.file(FileName::Purges(generation, copy));
    journal.read(path, generation, directory.checksums);
    let path = directory.file(FileName::Log(generation));
    let is_unused = journal.removed.len() == count && std::fs::metadata(&path).is_ok_and(|file| file.len() == 0);
    if is_unused {
        journal.is_damaged = was_damaged;
    }
    log.read(&path, generation, directory.checksums);
    journal.is_damaged |= journal.end < log.journal_end as usize;
}

/// The newest checkpoint whose beginning is whole.
pub(super) fn newest_checkpoint(directory: &Directory, files: &[FileName]) -> Option<CheckpointReader> {
    let of_checkpoint = |file: &FileName| match file {
        FileName::Checkpoint(generation) => Some(*generation),
        _ => None,
    };
    let mut generations: Vec<u64> = files.iter().filter_map(of_checkpoint).collect();
    generations.sort_unstable();
    let open = |generation| {
        let path = directory.file(FileName::Checkpoint(generation));
        CheckpointReader::open(&path, generation, directory.checksums).ok()
    };
    generations.into_iter().rev().find_map(open)
}

/// The segments of earlier processes, the oldest first. A file that is no segment of this directory is removed.
fn segments(directory: &Directory, numbers: &[u32], usage: &Arc<Usage>) -> io::Result<Vec<Arc<Segment>>> {
    let mut segments = Vec::new();
    for number in numbers.iter().copied() {
        match Segment::open(&directory.segments(), number, directory.checksums, usage) {
            Ok(Some(segment)) => segments.push(Arc::new(segment)),
            Ok(None) => std::fs::remove_file(directory.segments().join(super::segment::file_name(number)))?,
            // The objects in it are misses.
            Err(error) => tracing::warn!(segment = number, %error, "a segment of the disk cache can't be read"),
        }
    }
    Ok(segments)
}

impl FoundObjects {
    /// Some of them are outdated, and it is not known which: the origin must confirm each before it is used.
    pub(super) fn distrust(&mut self, store: &Store) {
        self.are_unconfirmed = true;
        tracing::warn!(
            directory = %store.directory.path().display(),
            "much was stored before the disk cache was open: the origin must confirm each response in it before it is used"
        );
    }

    /// Adds the places to the index. Ends early where `is_stopping` says so; returns whether it came to the end.
    pub(super) fn load(mut self, store: &Arc<Store>, is_stopping: &AtomicBool) -> bool {
        // Here and not in `open`, since no request is answered before that returns.
        let changes = Changes::new(std::mem::take(&mut self.log), std::mem::take(&mut self.journal));
        self.load_changed(&changes, store);
        let checkpoint = self.checkpoint.take();
        let is_whole = self.are_none
            || checkpoint.is_some_and(|checkpoint| self.load_checkpoint(checkpoint, &changes, store, is_stopping));
        if !is_whole {
            scan(store, &changes, is_stopping);
        }
        if is_stopping.load(Ordering::Relaxed) {
            return false;
        }
        store.index.end_loading();
        give_back_unfinished(store, &self.large);
        let (objects, directory) = (store.index.len(), store.directory.path().display());
        tracing::info!(%directory, objects, was_scanned = !is_whole, "the disk cache is loaded");
        true
    }

    /// Returns whether the checkpoint was whole.
    fn load_checkpoint(
        &self,
        mut checkpoint: CheckpointReader,
        changes: &Changes,
        store: &Store,
        is_stopping: &AtomicBool,
    ) -> bool {
        loop {
            match checkpoint.next() {
                Ok(places) if places.is_empty() || is_stopping.load(Ordering::Relaxed) => return true,
                Ok(places) => places.into_iter().for_each(|place| self.load_place(place, changes, store)),
                Err(Damaged) => return false,
            }
        }
    }

    fn load_place(&self, place: Place, changes: &Changes, store: &Store) {
        if !changes.is_outdated(&place) && store.segment(place.segment).is_some() {
            store.index.load(if self.are_unconfirmed { place.unconfirmed() } else { place });
        }
    }

    fn load_changed(&self, changes: &Changes, store: &Store) {
        for place in changes.stored().filter(|place| store.segment(place.segment).is_some()) {
            store.index.load(if self.are_unconfirmed { place.unconfirmed() } else { *place });
        }
    }
}

/// Gives back the room of large objects, and of additions to them, that were not complete when the earlier process ended.
fn give_back_unfinished(store: &Store, large: &[u32]) {
    let places = (0..).map_while(|part| store.index.part_of(part)).flatten();
    let end = |place: &Place| place.location().offset + place.head_bytes() + TRAILER_BYTES;
    let ends: HashMap<u32, u64> = places.map(|place| (place.segment, end(&place))).collect();
    for segment in large.iter().filter_map(|number| store.segment(*number)) {
        let end = ends.get(&segment.number).copied().unwrap_or_default();
        if let Err(error) = segment.give_back_unfinished(end, store.directory.checksums) {
            tracing::warn!(segment = segment.number, %error, "the end of a segment of the disk cache could not be given back");
        }
    }
}

/// Adds the objects that the segments have. An object that was removed may be among them, so the origin must confirm all.
fn scan(store: &Arc<Store>, changes: &Changes, is_stopping: &AtomicBool) {
    let Ok(mut numbers) = store.directory.segment_numbers() else { return };
    // The newest first: an object does not take the place of one that is there already.
    numbers.reverse();
    for segment in numbers.into_iter().filter_map(|number| store.segment(number)) {
        if is_stopping.load(Ordering::Relaxed) {
            return;
        }
        let mut found = objects_of(&store.directory, &segment, is_stopping);
        found.reverse();
        for place in found {
            if !changes.is_outdated(&place) {
                store.index.load(place.unconfirmed());
            }
        }
    }
}

/// The objects of a segment, the oldest first.
pub(super) fn objects_of(directory: &Directory, segment: &Segment, is_stopping: &AtomicBool) -> Vec<Place> {
    match segment.content {
        Content::One => large_object(directory, segment).into_iter().collect(),
        Content::New | Content::Proven => objects(directory, segment, is_stopping),
    }
}

fn large_object(directory: &Directory, segment: &Segment) -> Option<Place> {
    let (at, head_bytes) = segment.large_object(directory.checksums)?;
    let (head, _) = read_head(directory, segment, at.offset)?;
    Place::new((directory.hash(&head.key), head.variant), at, (head_bytes, head_bytes), head.stored_ms)
}

/// Between two objects there is nothing; where a head is damaged, the next one is looked for.
fn objects(directory: &Directory, segment: &Segment, is_stopping: &AtomicBool) -> Vec<Place> {
    let (mut found, mut offset, end) = (Vec::new(), HEADER_BYTES, segment.bytes());
    while offset < end && !is_stopping.load(Ordering::Relaxed) {
        match read_head(directory, segment, offset) {
            Some((head, head_bytes)) => {
                let body: u64 = head.chunks.iter().map(|chunk| u64::from(chunk.length)).sum();
                let bytes = (head_bytes + body).next_multiple_of(UNIT_BYTES);
                let at = Location { segment: segment.number, offset };
                let hash = (directory.hash(&head.key), head.variant);
                found.extend(Place::new(hash, at, (head_bytes, bytes), head.stored_ms));
                offset += bytes;
            }
            None => match next_head(directory, segment, offset + UNIT_BYTES) {
                Some(next) => offset = next,
                None => break,
            },
        }
    }
    found
}

pub(super) fn read_head(directory: &Directory, segment: &Segment, offset: u64) -> Option<(Head, u64)> {
    let mut table = [0; TABLE_BYTES];
    let count = read_full(segment.file(), &mut table, offset).ok()?;
    let length = head_length(table.get(..count)?)?;
    if offset.checked_add(length)? > segment.bytes() {
        return None;
    }
    let mut bytes = vec![0; usize::try_from(length).ok()?];
    let count = read_full(segment.file(), &mut bytes, offset).ok()?;
    let at = Location { segment: segment.number, offset };
    Some((Head::read(bytes.get(..count)?, directory.checksums, at)?, length))
}

/// The offset of the next bytes that look like a head.
fn next_head(directory: &Directory, segment: &Segment, from: u64) -> Option<u64> {
    const WINDOW: usize = 1 << 20;
    let mut window = vec![0; WINDOW + TABLE_BYTES];
    let mut begin = from;
    while begin < segment.bytes() {
        let count = read_full(segment.file(), &mut window, begin).ok()?;
        let read = window.get(..count)?;
        let candidates = (0..count.min(WINDOW)).step_by(UNIT_BYTES as usize);
        for at in candidates {
            let offset = begin + at as u64;
            if read.get(at..).and_then(head_length).is_some() && read_head(directory, segment, offset).is_some() {
                return Some(offset);
            }
        }
        begin += WINDOW as u64;
    }
    None
}
