//! One open directory: its index, its segments, and its journal.

use super::NotDurable;
use super::counters::Counters;
use super::directory::{Directory, FileName};
use super::index::Index;
use super::journal::JournalWriter;
use super::place::Place;
use super::reads::Reads;
use super::segment::{Segment, Usage};
use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use tokio::sync::watch;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Store {
    pub(super) directory: Directory,
    pub(super) index: Index,
    pub(super) usage: Arc<Usage>,
    pub(super) counters: Arc<Counters>,
    pub(super) reads: Arc<Reads>,
    /// Whether io_uring may read here: see [`Reads::will_read_in`].
    pub(super) suits_ring: bool,
    /// Set when the directory is to be given up: what became of that, for all who wait.
    pub(super) given_up: OnceLock<watch::Receiver<Option<Result<(), NotDurable>>>>,
    /// Whether no process finds anything in the directory any more.
    pub(super) is_invalid: AtomicBool,
    segments: RwLock<HashMap<u32, Arc<Segment>>>,
    journal: Mutex<JournalWriter>,
}

impl Store {
    pub(super) fn new(
        directory: Directory,
        size_bytes: u64,
        (usage, counters, reads, suits_ring): (Arc<Usage>, Arc<Counters>, Arc<Reads>, bool),
        journal: JournalWriter,
    ) -> Self {
        let (segments, journal) = (RwLock::default(), Mutex::new(journal));
        let (given_up, is_invalid) = (OnceLock::new(), AtomicBool::new(false));
        let index = Index::new(size_bytes);
        Self { directory, index, usage, counters, reads, suits_ring, given_up, is_invalid, segments, journal }
    }

    /// The hash of a key.
    pub(super) fn hash(&self, key: &[u8]) -> u64 {
        self.directory.hash(key)
    }

    pub(super) fn segment(&self, number: u32) -> Option<Arc<Segment>> {
        self.segments.read().unwrap_or_else(PoisonError::into_inner).get(&number).cloned()
    }

    pub(super) fn add_segment(&self, segment: &Arc<Segment>) {
        let mut segments = self.segments.write().unwrap_or_else(PoisonError::into_inner);
        segments.insert(segment.number, segment.clone());
    }

    /// Removes a segment. Objects in it can't be found any more; who reads one may go on.
    pub(super) fn remove_segment(&self, segment: &Segment) {
        self.segments.write().unwrap_or_else(PoisonError::into_inner).remove(&segment.number);
        segment.remove();
    }

    /// Drops an object that is not as it was written, or can't be read.
    pub(super) fn drop_damaged(&self, place: &Place) {
        if self.index.remove_place(place) {
            self.counters.damaged_objects.add(1);
            let (segment, offset) = (place.segment, place.location().offset);
            tracing::warn!(
                directory = %self.directory.path().display(), segment, offset,
                "an object of the disk cache is damaged, and was dropped"
            );
        }
    }

    pub(super) fn journal(&self) -> MutexGuard<'_, JournalWriter> {
        // A journal is written by calls that complete or fail as a whole.
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new journal of that generation.
    pub(super) fn create_journal(directory: &Directory, generation: u64) -> std::io::Result<JournalWriter> {
        let path = |copy| directory.file(FileName::Purges(generation, copy));
        JournalWriter::create(path, generation, directory.checksums)
    }
}
