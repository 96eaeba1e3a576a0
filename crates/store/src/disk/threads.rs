//! The threads of a disk tier: one that writes objects, one that writes removals, and some that read.
//!
//! The thread that writes objects also opens the directory, and opens it again when it was given up.

use super::directory::{OpenError, is_full};
use super::jobs::{Job, RemovalJob, WaitingRemoval};
use super::journal::JournalError;
use super::opening::{self, FoundObjects};
use super::queue::Next;
use super::store::Store;
use super::unfinished::{LargeError, Unfinished};
use super::writer::{Refused, Writer};
use super::{DiskState, NewObject, NotDurable, Publication, Shared, Threads};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// How many threads read.
const READERS: usize = 4;

/// How long a start waits for the directory to be opened.
const OPENING_TIMEOUT: Duration = Duration::from_secs(5);

/// After this time, a directory that could not be used is tried again, and a disk that could not be written.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// The same for a directory that another process uses: it may be about to give it up.
const IN_USE_INTERVAL: Duration = Duration::from_millis(50);

/// How long a start waits for all objects to be known, before it makes room.
const LOADING_TIME: Duration = Duration::from_secs(10);

/// How long frames of the log may wait to be written.
const FLUSH_INTERVAL: Duration = Duration::from_millis(200);

/// The most frames of the log that wait to be written.
const FRAMES_WAITING_MAX: usize = 64;

/// How often the time is written.
const TIME_INTERVAL: Duration = Duration::from_secs(30);

/// The most bytes of removals that are written at once.
const GROUP_BYTES_MAX: u64 = 256 << 10;

/// How long a removal waits for a new journal.
const CHECKPOINT_TIMEOUT: Duration = Duration::from_secs(30);

/// Starts the threads, and waits for the directory to be opened.
pub(super) fn start(shared: &Arc<Shared>) -> io::Result<Threads> {
    let (opened, opening) = mpsc::channel();
    let of_writer = shared.clone();
    let writer = Builder::new().name("disk-writer".to_owned()).spawn(move || write(&of_writer, &opened))?;
    let of_removals = shared.clone();
    let removals = Builder::new().name("disk-removals".to_owned()).spawn(move || remove(&of_removals))?;
    let mut readers = Vec::new();
    for number in 0..READERS {
        let reads = shared.reads.clone();
        readers.push(Builder::new().name(format!("disk-reader-{number}")).spawn(move || reads.serve())?);
    }
    let _ = opening.recv_timeout(OPENING_TIMEOUT);
    Ok(Threads { writing: Some((writer, removals)), readers })
}

/// Opens the directory and writes objects, until the end.
fn write(shared: &Arc<Shared>, opened: &mpsc::Sender<()>) {
    let mut last = String::new();
    // A large object that began before the directory was given up removes its file by its name, so no later directory may use that name.
    let mut next_segment = 0;
    while !shared.is_stopping.load(Ordering::Relaxed) {
        let (path, size_bytes) = (&shared.options.path, shared.options.size_bytes);
        let marks = || shared.owner.marks();
        let mut interval = RETRY_INTERVAL;
        match opening::open(
            path,
            size_bytes,
            shared.owner.now_ms(),
            (&shared.usage, &shared.counters, &shared.reads),
            marks,
        ) {
            Ok(found) if shared.missed().has_lost && !found.is_empty => {
                // It may have what was removed while it was not open.
                match found.store.directory.invalidate() {
                    Ok(()) => shared.missed().has_lost = false,
                    Err(error) => fail(shared, &mut last, &error.to_string()),
                }
            }
            Ok(mut found) => {
                last.clear();
                // Purges that were missed meanwhile are not in its marks.
                found.has_lost |= shared.missed().has_lost;
                found.next_segment = found.next_segment.max(next_segment);
                let is_empty = found.is_empty;
                shared.owner.recover(found.marks.clone());
                let (mut writer, mut objects) = Writer::new(found, &shared.options, shared.owner.clone());
                match shared.publish(writer.store(), is_empty) {
                    Publication::Done { is_certain } => {
                        if !is_certain {
                            objects.distrust(writer.store());
                            writer.want_checkpoint();
                        }
                        next_segment = serve(shared, writer, objects, opened);
                    }
                    Publication::MustBeEmptied => writer.store().directory.unlock(),
                }
                continue;
            }
            Err(error) => {
                fail(shared, &mut last, &error.to_string());
                if let OpenError::InUse(_) = error {
                    interval = IN_USE_INTERVAL;
                }
            }
        }
        let _ = opened.send(());
        refuse_for(shared, interval);
    }
    shared.set_state(DiskState::Stopped);
}

fn fail(shared: &Shared, last: &mut String, message: &str) {
    if last != message {
        tracing::error!("the disk cache can't be used: {message}");
        message.clone_into(last);
    }
    shared.set_state(DiskState::Failed(message.to_owned()));
}

/// Refuses what comes within that time.
fn refuse_for(shared: &Shared, time: Duration) {
    let end = Instant::now() + time;
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        match shared.jobs.next(left) {
            Next::Item(job) => refuse(shared, job),
            Next::Nothing => {}
            Next::Closed => return,
        }
    }
}

fn refuse(shared: &Shared, job: Job) {
    match job {
        Job::Put { store, object, .. } | Job::Refresh { store, object, .. } => {
            store.index.give_up(store.hash(&object.key));
            shared.counters.refused_objects.add(1);
        }
        // Who waits for an answer gets none, and gives up.
        Job::Begin { .. } | Job::Grow { .. } | Job::Extend { .. } | Job::WriteHead { .. } => {}
        Job::Published { .. } | Job::Extended { .. } | Job::Checkpoint(_) => {}
    }
}

/// Writes what comes, until the end, or until the directory is given up. Returns a number above those of all segments so far.
fn serve(shared: &Arc<Shared>, mut writer: Writer, objects: FoundObjects, opened: &mpsc::Sender<()>) -> u32 {
    let store = writer.store().clone();
    let (of_loader, is_over) = (store.clone(), Arc::new(AtomicBool::new(false)));
    let is_stopping = is_over.clone();
    let loader = Builder::new().name("disk-loader".to_owned()).spawn(move || objects.load(&of_loader, &is_stopping));
    let _ = opened.send(());
    if let Err(error) = &loader {
        tracing::error!(%error, "the disk cache could not be loaded");
        store.index.end_loading();
    }
    let now = Instant::now();
    let mut serving =
        Serving { shared, writer: &mut writer, paused: None, is_gone: false, last_time: now, last_flush: now };
    let is_whole = serving.run();
    is_over.store(true, Ordering::Relaxed);
    // A checkpoint of an index that is not complete would forget the rest.
    let is_loaded = loader.is_ok_and(|loader| loader.join().unwrap_or(false));
    if is_whole && is_loaded {
        let taken = writer.flush().and_then(|()| writer.checkpoint(shared.owner.now_ms(), || shared.owner.marks()));
        if let Err(error) = taken {
            tracing::warn!(%error, "the disk cache could not write its last checkpoint");
        }
    }
    if !is_loaded && let Err(error) = writer.flush() {
        tracing::warn!(%error, "the disk cache could not write its log");
    }
    shared.close(&store);
    writer.leave_unfinished();
    store.directory.unlock();
    writer.next_segment()
}

struct Serving<'a> {
    shared: &'a Arc<Shared>,
    writer: &'a mut Writer,
    /// Until when nothing is written, since the disk is full or has failed.
    paused: Option<Instant>,
    /// The directory does not exist any more.
    is_gone: bool,
    last_time: Instant,
    last_flush: Instant,
}

impl Serving<'_> {
    /// Returns whether the directory may be written once more.
    fn run(&mut self) -> bool {
        self.fit();
        loop {
            let next = self.shared.jobs.next(FLUSH_INTERVAL);
            if !self.is_open() || self.is_gone {
                if let Next::Item(job) = next {
                    refuse(self.shared, job);
                }
                return false;
            }
            let is_item = matches!(next, Next::Item(_));
            match next {
                Next::Item(Job::Put { store, object, sequence, replaces }) => {
                    self.put(&store, object, |writer, object, now_ms| writer.put(object, (sequence, replaces), now_ms));
                }
                Next::Item(Job::Refresh { store, object, body, sequence }) => {
                    self.put(&store, object, |writer, object, now_ms| writer.refresh(object, &body, sequence, now_ms));
                }
                // Whose caller has gone away.
                Next::Item(Job::Begin { done, .. }) if done.is_closed() => {}
                Next::Item(Job::Grow { done, .. }) if done.is_closed() => {}
                Next::Item(Job::Extend { done, .. }) if done.is_closed() => {}
                Next::Item(Job::WriteHead { done, .. }) if done.is_closed() => {}
                Next::Item(Job::Begin { store, hash, bytes, done }) => {
                    let begun = self.large(&store, |writer| writer.begin_large(hash, bytes));
                    // If the caller has gone away, the segment goes too.
                    let _ = done.send(begun.map(|segment| Unfinished::new(&store, segment)));
                }
                Next::Item(Job::Grow { store, segment, bytes, done }) => {
                    let _ = done.send(self.large(&store, |writer| writer.grow_large(&segment, bytes)));
                }
                Next::Item(Job::Published { store, segment, place, sequence }) => {
                    if Arc::ptr_eq(&store, self.writer.store()) {
                        self.writer.published_large(segment, &place, sequence, self.shared.owner.now_ms());
                    }
                }
                Next::Item(Job::Extend { store, wanted, done }) => {
                    let _ = done.send(self.large(&store, |writer| writer.extend(&wanted)));
                }
                Next::Item(Job::WriteHead { addition, old, head, end, done }) => {
                    let write = |writer: &mut Writer| writer.write_added_head(&addition, &old, head, end);
                    let _ = done.send(self.large(addition.store(), write));
                }
                Next::Item(Job::Extended { addition, place, sequence, bytes }) => {
                    if Arc::ptr_eq(addition.store(), self.writer.store()) {
                        self.writer.extended(&addition, (&place, sequence), bytes, self.shared.owner.now_ms());
                    }
                }
                Next::Item(Job::Checkpoint(done)) => self.make_room(&done),
                Next::Nothing => {}
                Next::Closed => return true,
            }
            let is_idle = !is_item || self.shared.jobs.is_empty();
            let is_late = self.last_flush.elapsed() >= FLUSH_INTERVAL;
            if is_idle || is_late || self.writer.frames_waiting() >= FRAMES_WAITING_MAX {
                self.housekeeping();
            }
        }
    }

    /// Keeps the size at a start: it may have been set lower, and each start adds a log and a journal. A checkpoint removes the older ones,
    /// so it comes first, and eviction only if that was not enough. Both have to wait until all objects are known.
    fn fit(&mut self) {
        if !self.writer.is_too_large() {
            return;
        }
        let (store, end) = (self.writer.store().clone(), Instant::now() + LOADING_TIME);
        while store.index.is_loading() && Instant::now() < end && !self.shared.is_stopping.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.checkpoint();
        self.writer.fit();
    }

    /// Whether the directory has not been given up.
    fn is_open(&self) -> bool {
        self.shared.store().is_some_and(|store| Arc::ptr_eq(&store, self.writer.store()))
    }

    /// Writes an object by `write`.
    fn put(
        &mut self,
        store: &Arc<Store>,
        object: NewObject,
        write: impl FnOnce(&mut Writer, NewObject, u64) -> Result<(), Refused>,
    ) {
        let hash = store.hash(&object.key);
        let counters = &self.shared.counters;
        if !self.may_write(store) {
            store.index.give_up(hash);
            counters.refused_objects.add(1);
            return;
        }
        match write(self.writer, object, self.shared.owner.now_ms()) {
            Ok(()) => return self.succeeded(),
            // It waits no longer.
            Err(Refused::Removed) => return,
            Err(refused) => self.refused(refused),
        }
        store.index.give_up(hash);
    }

    /// Makes room for a large object.
    fn large<T>(
        &mut self,
        store: &Arc<Store>,
        make: impl FnOnce(&mut Writer) -> Result<T, Refused>,
    ) -> Result<T, LargeError> {
        if !self.may_write(store) {
            return Err(LargeError::Refused);
        }
        make(self.writer).inspect(|_| self.succeeded()).map_err(|refused| {
            let error = if matches!(refused, Refused::Worn) { LargeError::Worn } else { LargeError::Refused };
            self.refused(refused);
            error
        })
    }

    fn may_write(&self, store: &Arc<Store>) -> bool {
        Arc::ptr_eq(store, self.writer.store()) && !self.is_paused() && !self.writer.is_log_full()
    }

    fn refused(&mut self, refused: Refused) {
        let counters = &self.shared.counters;
        match refused {
            Refused::Removed | Refused::Gone => {}
            Refused::Unproven => counters.unproven_objects.add(1),
            Refused::TooLarge | Refused::Worn => counters.refused_objects.add(1),
            Refused::Io(error) => {
                counters.refused_objects.add(1);
                self.failed(&error);
            }
        }
    }

    fn succeeded(&mut self) {
        if self.paused.take().is_some() {
            tracing::info!("the disk cache is written again");
            self.shared.set_state(DiskState::Serving { is_loading: false, paused: None });
        }
    }

    /// A log or a checkpoint could not be written.
    fn failed_to_note(&mut self, error: &io::Error) {
        self.failed(error);
        // Only segments can make room for what says where objects are: without it, nothing more could be stored.
        if is_full(error) {
            self.writer.give_room();
        }
    }

    fn failed(&mut self, error: &io::Error) {
        self.shared.counters.io_errors.add(1);
        let path = &self.shared.options.path;
        if error.kind() == io::ErrorKind::NotFound {
            tracing::error!(directory = %path.display(), "the directory of the disk cache is gone");
            self.is_gone = true;
            return;
        }
        if self.paused.is_none() {
            tracing::warn!(directory = %path.display(), %error, "the disk cache can't be written: nothing is stored");
            self.shared.set_state(DiskState::Serving { is_loading: false, paused: Some(error.to_string()) });
        }
        self.paused = Some(Instant::now() + RETRY_INTERVAL);
    }

    /// Whether nothing is written at present. After a pause, one object is tried.
    fn is_paused(&self) -> bool {
        self.paused.is_some_and(|until| Instant::now() < until)
    }

    fn housekeeping(&mut self) {
        if self.is_paused() {
            return;
        }
        self.last_flush = Instant::now();
        if self.last_time.elapsed() >= TIME_INTERVAL {
            self.writer.note_time(self.shared.owner.now_ms());
            self.last_time = Instant::now();
        }
        if let Err(error) = self.writer.flush() {
            self.failed_to_note(&error);
            // With a new log, the old one is not needed.
            return self.checkpoint();
        }
        if self.writer.wants_checkpoint() {
            self.checkpoint();
        }
    }

    /// Makes room for removals.
    fn make_room(&mut self, done: &mpsc::Sender<()>) {
        let begun = self.writer.begin_generation();
        let _ = done.send(());
        match begun {
            // A checkpoint must not forget what is not known yet.
            Ok(()) if self.writer.store().index.is_loading() => {}
            Ok(()) => self.checkpoint(),
            Err(error) => self.failed_to_note(&error),
        }
    }

    fn checkpoint(&mut self) {
        if self.writer.store().index.is_loading() {
            return;
        }
        let (shared, now_ms) = (self.shared, self.shared.owner.now_ms());
        if let Err(error) = self.writer.checkpoint(now_ms, || shared.owner.marks()) {
            self.failed_to_note(&error);
        }
    }
}

/// Writes removals, all that wait at once, and gives directories up for which that can't be done.
fn remove(shared: &Shared) {
    loop {
        match shared.removals.next(Duration::from_secs(3600)) {
            Next::Item(first) => {
                let mut removals = Vec::new();
                for job in std::iter::once(first).chain(shared.removals.take_all()) {
                    match job {
                        RemovalJob::Write(removal) => removals.push(removal),
                        RemovalJob::GiveUp { store, done } => drop(done.send(Some(shared.lose(&store)))),
                    }
                }
                for group in groups(removals) {
                    write_removals(shared, group);
                }
            }
            Next::Nothing => {}
            Next::Closed => return,
        }
    }
}

/// The same removals in groups that a journal takes as a whole.
fn groups(jobs: Vec<WaitingRemoval>) -> Vec<Vec<WaitingRemoval>> {
    let mut groups: Vec<Vec<WaitingRemoval>> = Vec::new();
    let mut bytes = u64::MAX;
    for job in jobs {
        bytes = bytes.saturating_add(job.removed.weight());
        match groups.last_mut() {
            Some(group) if bytes <= GROUP_BYTES_MAX => group.push(job),
            _ => {
                bytes = job.removed.weight();
                groups.push(vec![job]);
            }
        }
    }
    groups
}

fn write_removals(shared: &Shared, jobs: Vec<WaitingRemoval>) {
    // To the directory to which they belong, also where that is not in use any more: it may be used again.
    let Some(open) = jobs.first().map(|job| job.store.clone()) else { return };
    let (jobs, others): (Vec<_>, Vec<_>) = jobs.into_iter().partition(|job| Arc::ptr_eq(&job.store, &open));
    // In a directory that is invalid, nothing is found that was removed.
    let result = if open.is_invalid.load(Ordering::Relaxed) { Ok(()) } else { write_to_journal(shared, &open, &jobs) };
    answer(jobs, &result);
    if !others.is_empty() {
        write_removals(shared, others);
    }
}

fn write_to_journal(shared: &Shared, open: &Arc<Store>, jobs: &[WaitingRemoval]) -> Result<(), NotDurable> {
    let entries: Vec<_> = jobs.iter().map(|job| (job.sequence, job.removed.clone())).collect();
    let is_durable = jobs.iter().any(|job| job.done.is_some());
    let write = || open.journal().write(&entries, shared.owner.now_ms(), is_durable);
    let mut written = write();
    if matches!(written, Err(JournalError::Full)) && checkpoint(shared) {
        written = write();
    }
    written.or_else(|error| {
        shared.counters.io_errors.add(1);
        tracing::error!(%error, "a removal could not be written to the disk cache");
        shared.lose(open)
    })
}

fn answer(jobs: Vec<WaitingRemoval>, result: &Result<(), NotDurable>) {
    for done in jobs.into_iter().filter_map(|job| job.done) {
        // The caller may have gone away.
        let _ = done.send(result.clone());
    }
}

/// Has a checkpoint taken, which makes room in the journal.
fn checkpoint(shared: &Shared) -> bool {
    let (done, wait) = mpsc::channel();
    shared.jobs.push_first(Job::Checkpoint(done)).is_ok() && wait.recv_timeout(CHECKPOINT_TIMEOUT).is_ok()
}
