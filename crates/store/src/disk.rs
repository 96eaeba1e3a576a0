//! The disk tier: keeps objects in segments of a directory, and returns what it kept, or nothing.
//!
//! It knows no header. Its owner gives it a key, a number for the variant, a description (for the owner's eyes only) and the chunks of
//! a body. Four promises:
//!
//! - What is read is what was written: each head and each chunk is compared with a checksum that is bound to its place.
//! - What was removed does not come back, whatever happens to the process, the machine or the disk: a removal is in two files before
//!   [`Durability`] says that it is durable. Where that can't be done, the whole directory is made invalid first.
//! - The directory never takes more than its size.
//! - Nothing here makes a caller wait for the disk, except the futures that say so.
//!
//! | file | job |
//! |---|---|
//! | `place`, `layout`, `input` | what the index knows of an object; the bytes of an object |
//! | `directory` | the lock, the format and the files of a directory |
//! | `segment` | a file of objects |
//! | `index` | where the objects are, in memory |
//! | `log`, `journal`, `checkpoint` | what of the index outlives the process |
//! | `opening`, `changes`, `missed` | what an earlier process has left; what was removed or outdated before it was opened |
//! | `object`, `body` | objects and chunks that are read; a body that stays on disk |
//! | `reads` | the reads that wait for the disk: by io_uring, or by threads |
//! | `writer`, `large`, `addition`, `eviction`, `ghosts`, `in_memory` | writes objects, and decides which go |
//! | `threads`, `jobs` | the threads: one that writes, one for removals, some that read |
//! | `breaker` | skips reads while the disk does not answer |
//! | `inspect` | looks into a directory without using it |

mod addition;
mod body;
mod breaker;
mod changes;
mod checkpoint;
mod counters;
mod directory;
mod eviction;
mod ghosts;
mod in_memory;
mod index;
mod input;
mod inspect;
mod jobs;
mod journal;
mod large;
mod layout;
mod log;
mod missed;
mod object;
mod opening;
mod place;
mod queue;
mod reads;
mod segment;
mod store;
#[cfg(test)]
mod tests;
/// The same tests where threads make the reads.
#[cfg(test)]
#[path = "disk/tests.rs"]
#[allow(clippy::duplicate_mod)]
mod tests_by_threads;
mod threads;
mod unfinished;
mod writer;

pub use body::{OpenBody, StoredBody};
pub use counters::DiskCounts;
pub use directory::OpenError;
pub use index::Removal;
pub use inspect::{DiskImage, DiskSummary, Inspected, InspectedObject, ObjectPlace, ObjectReader};
pub use large::{FinishedLarge, LargeWriter};
pub use object::{StoredChunk, StoredObject};
pub use opening::Marks;
pub use reads::ReadError;
pub use unfinished::LargeError;

use bytes::Bytes;
use counters::Counters;
use jobs::{Job, RemovalJob, WaitingRemoval};
use journal::{MARK_BYTES_MAX, Removed};
use kasoku_sys::read_ring::ReadRing;
use missed::{Missed, MissedRemoval, Outdated};
use object::{Attempt, Wait};
use queue::Queue;
use reads::Reads;
use segment::Usage;
use std::any::Any;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use store::Store;
use tokio::sync::{oneshot, watch};

/// The smallest store, in bytes.
pub const SIZE_BYTES_MIN: u64 = 64 << 20;

/// The size of a store of which nothing else is said, in bytes.
pub const SIZE_BYTES_DEFAULT: u64 = 10 << 30;

/// The bytes of objects that may wait to be written.
const WAITING_BYTES_MAX: u64 = 64 << 20;

/// So long after its start, a tier expects its directory to be opened.
const STARTING_TIME: Duration = Duration::from_secs(10);

/// The largest body: a place in the index has 32 bits for an offset in units of 8 bytes.
const LARGE_BYTES_MAX: u64 = 31 << 30;

/// The weight of an object that waits, besides its bytes.
const WAITING_OVERHEAD_BYTES: u64 = 512;

/// The bytes of removals that may wait to be written.
const REMOVALS_BYTES_MAX: u64 = 8 << 20;

/// How long the end waits for reads by io_uring that the disk has not answered.
const READS_END_WAIT: Duration = Duration::from_secs(1);

/// What the operator says of a disk tier.
#[derive(Clone, Debug)]
pub struct DiskOptions {
    /// The directory.
    pub path: PathBuf,
    /// What it may take on disk, in bytes: at least [`SIZE_BYTES_MIN`].
    pub size_bytes: u64,
    /// Which objects are written.
    pub admission: Admission,
}

/// Which objects are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Admission {
    /// All.
    #[default]
    Always,
    /// Those that are stored for the second time.
    SecondRequest,
    /// Those that the owner evicts from memory. The owner puts no others.
    OnEviction,
}

/// The owner of a disk tier.
pub trait Owner: Send + Sync {
    /// The present time, in milliseconds since 1970.
    fn now_ms(&self) -> u64;

    /// Takes over the marks that were found in the directory. `None`: they are lost, and all objects are unconfirmed. Called before any
    /// object of the directory can be found.
    fn recover(&self, marks: Option<Marks>);

    /// Calls `each` with every key that the owner holds in memory. Hits in memory are not counted here, so an object whose key is in
    /// memory is evicted as late as one that was requested again.
    fn for_each_in_memory(&self, each: &mut dyn FnMut(&[u8]));

    /// All marks, so that those that were made one by one can be forgotten.
    fn marks(&self) -> Vec<u8>;

    /// A mark that was made before [`Owner::recover`] was called, as it has to be written for the directory that was recovered.
    fn renewed(&self, mark: Vec<u8>) -> Vec<u8>;
}

/// An object to be written.
pub struct NewObject {
    /// The key.
    pub key: Box<[u8]>,
    /// The variant: a newer object of the same key and variant takes the place of an older one.
    pub variant: u64,
    /// What the owner wants to find beside the body.
    pub description: Box<[u8]>,
    /// The chunks of the body, each with the offset of its first byte.
    pub chunks: Vec<(u64, Bytes)>,
    /// When it is stored, in milliseconds since 1970.
    pub stored_ms: u64,
    /// Whether it was requested again: then it is written also where only that is ([`Admission::SecondRequest`]).
    pub is_proven: bool,
    /// What must live as long as the bytes are held here.
    pub keeps: Option<Arc<dyn Any + Send + Sync>>,
}

/// What is found for a key without waiting for the disk.
#[derive(Debug)]
pub enum Finding {
    /// These objects; there may be none.
    Objects(Vec<StoredObject>),
    /// There are objects, and the disk must be waited for: [`Disk::retrieve`].
    OnDisk,
}

/// Whether a removal will survive.
#[must_use]
#[derive(Debug)]
pub enum Durability {
    /// It is being written, or the directory is being made invalid, so that nothing comes back.
    Waits(Written),
    /// It can't be written.
    Failed(NotDurable),
}

/// A removal that is being written.
#[derive(Debug)]
pub struct Written {
    answer: Answer,
    path: PathBuf,
}

/// How the end of a wait is told.
#[derive(Debug)]
enum Answer {
    /// Of one removal.
    OfRemoval(oneshot::Receiver<Result<(), NotDurable>>),
    /// Of a directory that is given up: all removals that wait for that share one answer, so that they need no queue.
    OfDirectory(watch::Receiver<Option<Result<(), NotDurable>>>),
}

/// A removal could not be written, nor could the directory be made invalid: what was removed may come back if the process ends before
/// that succeeds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the removal could not be written to {0}, so it may be undone by the next start: empty the directory before it"
)]
pub struct NotDurable(pub PathBuf);

/// What a disk tier is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskState {
    /// It has not opened its directory yet.
    Opening,
    /// It is in use; `is_loading`: not all objects of the earlier process are known yet.
    Serving {
        /// Whether objects are still being added to the index.
        is_loading: bool,
        /// Why nothing is written at present.
        paused: Option<String>,
    },
    /// The directory can't be used, for this reason. It is tried again.
    Failed(String),
    /// It has ended.
    Stopped,
}

/// What a disk tier holds and does.
#[derive(Clone, Debug)]
pub struct DiskStatus {
    /// What it is doing.
    pub state: DiskState,
    /// The number of objects.
    pub objects: u64,
    /// What segments take on disk, in bytes.
    pub used_bytes: u64,
    /// What the directory may take, in bytes.
    pub size_bytes: u64,
    /// The memory of the index, in bytes.
    pub index_bytes: u64,
    /// Whether io_uring makes the reads that the page cache can't answer; otherwise threads do.
    pub uses_io_uring: bool,
    /// What it has done.
    pub counts: DiskCounts,
}

/// The disk tier. See the [module](self).
pub struct Disk {
    shared: Arc<Shared>,
    threads: Mutex<Threads>,
}

struct Threads {
    /// The one that writes objects, and the one that writes removals.
    writing: Option<(JoinHandle<()>, JoinHandle<()>)>,
    readers: Vec<JoinHandle<()>>,
}

/// What became of an opened directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Publication {
    /// It is in use. `is_certain`: nothing in it is outdated, as far as this process knows.
    Done { is_certain: bool },
    /// It may have what was removed.
    MustBeEmptied,
}

struct Shared {
    options: DiskOptions,
    owner: Arc<dyn Owner>,
    store: RwLock<Option<Arc<Store>>>,
    state: Mutex<DiskState>,
    jobs: Queue<Job>,
    removals: Queue<RemovalJob>,
    reads: Arc<Reads>,
    usage: Arc<Usage>,
    counters: Arc<Counters>,
    missed: Mutex<Missed>,
    started: Instant,
    is_stopping: AtomicBool,
}

impl Disk {
    /// Opens the directory, and starts the threads. A directory that can't be opened now is tried again: see [`Disk::status`].
    ///
    /// # Errors
    /// A thread can't be started.
    pub fn start(options: DiskOptions, owner: Arc<dyn Owner>) -> io::Result<Self> {
        let ring = ReadRing::start("disk-ring").inspect_err(|error| {
            tracing::info!(%error, "the disk cache reads by threads: io_uring can't be used");
        });
        Self::start_with(options, owner, ring.ok())
    }

    fn start_with(options: DiskOptions, owner: Arc<dyn Owner>, ring: Option<ReadRing>) -> io::Result<Self> {
        let counters = Arc::<Counters>::default();
        let shared = Arc::new(Shared {
            options,
            owner,
            store: RwLock::default(),
            state: Mutex::new(DiskState::Opening),
            jobs: Queue::new(WAITING_BYTES_MAX),
            removals: Queue::new(REMOVALS_BYTES_MAX),
            reads: Arc::new(Reads::new(ring, counters.clone())),
            usage: Arc::default(),
            counters,
            missed: Mutex::default(),
            started: Instant::now(),
            is_stopping: AtomicBool::new(false),
        });
        let threads = threads::start(&shared)?;
        Ok(Self { shared, threads: Mutex::new(threads) })
    }

    /// The objects of a key, if no read has to wait for the disk.
    pub fn find(&self, key: &[u8]) -> Finding {
        match self.shared.store() {
            Some(store) => find(&store, key, Wait::No),
            None => Finding::Objects(Vec::new()),
        }
    }

    /// The objects of a key.
    pub async fn retrieve(&self, key: &[u8]) -> Result<Vec<StoredObject>, ReadError> {
        let Some(store) = self.shared.store() else { return Ok(Vec::new()) };
        let reads = async {
            let mut objects = Vec::new();
            for place in store.index.find(store.hash(key)).places {
                match StoredObject::retrieve(&store, place, key).await {
                    Ok(object) => objects.extend(object),
                    // It has been dropped.
                    Err(ReadError::Damaged) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(objects)
        };
        self.shared.reads.make(reads).await
    }

    /// The objects of a key. For threads that may wait for the disk.
    pub fn find_and_wait(&self, key: &[u8]) -> Vec<StoredObject> {
        match self.shared.store().map(|store| find(&store, key, Wait::Yes)) {
            Some(Finding::Objects(objects)) => objects,
            Some(Finding::OnDisk) | None => Vec::new(),
        }
    }

    /// Notes that an object answered a request. An object without hits goes when room is needed.
    pub fn count_hit(&self, object: &StoredObject) {
        if let Some(store) = self.shared.store() {
            store.index.count_hit(&object.place);
            self.shared.counters.hit_objects.add(1);
        }
    }

    /// Whether this object has been neither removed nor replaced nor moved since it was found.
    pub fn has(&self, object: &StoredObject) -> bool {
        self.shared.store().is_some_and(|store| store.index.has(&object.place))
    }

    /// Whether there is, or may be, an object of that variant, or one of that key that waits to be written.
    pub fn may_have(&self, key: &[u8], variant: u64) -> bool {
        self.shared.store().is_none_or(|store| store.index.may_have(store.hash(key), variant))
    }

    /// Has an object written. Returns whether it will be tried: not where too much waits already. In any case, the older object of the same
    /// variant is not found any more.
    pub fn put(&self, object: NewObject) -> bool {
        let outdated = Outdated::Hidden(object.variant);
        let Some(store) = self.shared.store_or_outdated(&object.key, outdated) else { return false };
        let hash = store.hash(&object.key);
        let body: u64 = object.chunks.iter().map(|(_, bytes)| bytes.len() as u64).sum();
        let bytes = body + (object.key.len() + object.description.len()) as u64 + WAITING_OVERHEAD_BYTES;
        let (sequence, replaces) = store.index.wait(hash, object.variant);
        if self.shared.jobs.push(bytes, Job::Put { store: store.clone(), object, sequence, replaces }).is_ok() {
            return true;
        }
        store.index.give_up(hash);
        self.shared.counters.refused_objects.add(1);
        false
    }

    /// Gives an object whose body is on disk another description. `object` has no chunks: its body is `body`. Otherwise as [`Disk::put`].
    pub fn refresh(&self, object: NewObject, body: StoredBody) -> bool {
        let outdated = Outdated::Hidden(object.variant);
        let Some(store) = self.shared.store_or_outdated(&object.key, outdated) else { return false };
        let hash = store.hash(&object.key);
        let bytes = (object.key.len() + object.description.len()) as u64 + WAITING_OVERHEAD_BYTES + body.memory_bytes();
        let (sequence, _) = store.index.wait(hash, object.variant);
        if self.shared.jobs.push(bytes, Job::Refresh { store: store.clone(), object, body, sequence }).is_ok() {
            return true;
        }
        store.index.give_up(hash);
        self.shared.counters.refused_objects.add(1);
        false
    }

    /// The object of that variant is outdated: it is not found any more. A process that begins after the end of this one may find it.
    pub fn hide(&self, key: &[u8], variant: u64) {
        if let Some(store) = self.shared.store_or_outdated(key, Outdated::Hidden(variant)) {
            store.index.hide(store.hash(key), variant);
        }
    }

    /// Drops objects of a key. From now on they are not found, also not those that wait to be written.
    pub fn remove(&self, key: &[u8], removal: Removal) -> Durability {
        let removed = || MissedRemoval::Objects { key: key.into(), removal };
        let store = match self.shared.store_or_missed(removed) {
            Ok(store) => store,
            Err(durability) => return durability,
        };
        let hash = store.hash(key);
        // Also where nothing is found: the index has forgotten what was evicted, and the log may still have it.
        let (sequence, _) = store.index.remove(hash, removal);
        self.journal(store, sequence, Removed::Objects { hash, removal }, true)
    }

    /// Drops objects of a key, as [`Disk::remove`] does, where a loss of power may undo that.
    pub fn forget(&self, key: &[u8], removal: Removal) {
        let Some(store) = self.shared.store_or_outdated(key, Outdated::Forgotten(removal)) else { return };
        let hash = store.hash(key);
        let (sequence, was_there) = store.index.remove(hash, removal);
        if was_there {
            drop(self.journal(store, sequence, Removed::Objects { hash, removal }, false));
        }
    }

    /// Writes a mark of the owner's.
    pub fn mark(&self, mark: Vec<u8>) -> Durability {
        let store = match self.shared.store_or_missed(|| MissedRemoval::Mark(mark.clone())) {
            Ok(store) => store,
            Err(durability) => return durability,
        };
        if mark.len() > MARK_BYTES_MAX {
            return self.shared.have_given_up(&store);
        }
        let sequence = store.index.next_sequence();
        self.journal(store, sequence, Removed::Mark(mark), true)
    }

    /// Has a removal written; `is_durable`: so that it survives a loss of power.
    fn journal(&self, store: Arc<Store>, sequence: u64, removed: Removed, is_durable: bool) -> Durability {
        self.shared.counters.removals.add(1);
        let (done, receiver) = oneshot::channel();
        let weight = removed.weight();
        let job = WaitingRemoval { store: store.clone(), sequence, removed, done: is_durable.then_some(done) };
        match self.shared.removals.push(weight, RemovalJob::Write(job)) {
            Ok(()) => self.shared.waits(Answer::OfRemoval(receiver)),
            Err(_) => self.shared.have_given_up(&store),
        }
    }

    /// The largest body that [`Disk::begin`] takes at present, in bytes; 0: nothing is written.
    pub fn large_bytes_max(&self) -> u64 {
        if self.shared.reads.is_skipping() {
            return 0;
        }
        match *self.shared.state() {
            DiskState::Serving { paused: None, .. } => {
                (self.shared.options.size_bytes / writer::LARGE_SHARE_OF_STORE).min(LARGE_BYTES_MAX)
            }
            _ => 0,
        }
    }

    /// What it holds and does.
    pub fn status(&self) -> DiskStatus {
        let store = self.shared.store();
        let index = store.as_ref().map(|store| &store.index);
        let mut state = self.shared.state().clone();
        if let (DiskState::Serving { is_loading, .. }, Some(index)) = (&mut state, index) {
            *is_loading = index.is_loading();
        }
        DiskStatus {
            state,
            objects: index.map_or(0, index::Index::len),
            used_bytes: self.shared.usage.bytes(),
            size_bytes: self.shared.options.size_bytes,
            index_bytes: index.map_or(0, index::Index::memory_bytes),
            uses_io_uring: self.shared.reads.use_io_uring(),
            counts: self.shared.counters.read(),
        }
    }

    /// Writes what waits and a checkpoint, and lets another process use the directory. Nothing is found or stored from then on. Who reads
    /// an object may go on.
    pub fn give_up(&self) {
        let writing = self.threads.lock().unwrap_or_else(PoisonError::into_inner).writing.take();
        self.shared.is_stopping.store(true, Ordering::Relaxed);
        // The thread that writes removals ends first: it may need room that the other one makes, and the last checkpoint covers them.
        self.shared.removals.close();
        let Some((writer, removals)) = writing else { return };
        let _ = removals.join();
        self.shared.jobs.close();
        let _ = writer.join();
    }

    /// The same, and nothing is read from then on.
    pub fn stop(&self) {
        self.give_up();
        self.shared.reads.close(READS_END_WAIT);
        let readers = std::mem::take(&mut self.threads.lock().unwrap_or_else(PoisonError::into_inner).readers);
        for thread in readers {
            let _ = thread.join();
        }
    }

    /// The caller of [`Disk::retrieve`] or [`StoredChunk::bytes`] gave up, since the disk did not answer in time. After some of these in a row,
    /// such reads are skipped for a while, as if there were nothing.
    pub fn timed_out(&self) {
        if self.shared.reads.timed_out() {
            let (directory, pause) = (self.shared.options.path.display(), breaker::PAUSE.as_secs());
            tracing::error!(%directory, "the disk cache does not answer: it is not read, and tried again each {pause} s");
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Durability {
    /// Waits until it is certain.
    pub async fn wait(self) -> Result<(), NotDurable> {
        match self {
            Self::Waits(Written { answer: Answer::OfRemoval(receiver), path }) => {
                receiver.await.unwrap_or(Err(NotDurable(path)))
            }
            Self::Waits(Written { answer: Answer::OfDirectory(mut receiver), path }) => {
                let answer = receiver.wait_for(Option::is_some).await.ok().and_then(|answer| answer.clone());
                answer.unwrap_or(Err(NotDurable(path)))
            }
            Self::Failed(error) => Err(error),
        }
    }
}

impl Shared {
    fn store(&self) -> Option<Arc<Store>> {
        self.store.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn state(&self) -> MutexGuard<'_, DiskState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_state(&self, state: DiskState) {
        *self.state() = state;
    }

    /// Nothing is found in this directory any more.
    fn close(&self, store: &Arc<Store>) {
        let mut open = self.store.write().unwrap_or_else(PoisonError::into_inner);
        if open.as_ref().is_some_and(|open| Arc::ptr_eq(open, store)) {
            *open = None;
            self.set_state(DiskState::Opening);
        }
    }

    fn missed(&self) -> MutexGuard<'_, Missed> {
        self.missed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The open directory. Where none is open, the removal is remembered, and made up for before one is used.
    fn store_or_missed(&self, removal: impl FnOnce() -> MissedRemoval) -> Result<Arc<Store>, Durability> {
        // Under the lock under which a directory is published.
        let open = self.store.read().unwrap_or_else(PoisonError::into_inner);
        open.clone().ok_or_else(|| {
            let (done, receiver) = oneshot::channel();
            let is_remembered = self.missed().add(removal(), done);
            // A directory that is about to be opened, or that another process is about to give up, is worth a wait.
            let is_worth_waiting = self.started.elapsed() < STARTING_TIME && !self.is_stopping.load(Ordering::Relaxed);
            match is_remembered && is_worth_waiting {
                true => self.waits(Answer::OfRemoval(receiver)),
                false => Durability::Failed(NotDurable(self.options.path.clone())),
            }
        })
    }

    /// The open directory. Where none is open, it is remembered that the objects of that key in the directory are outdated.
    fn store_or_outdated(&self, key: &[u8], outdated: Outdated) -> Option<Arc<Store>> {
        // Under the lock under which a directory is published.
        let open = self.store.read().unwrap_or_else(PoisonError::into_inner);
        if open.is_none() && !self.is_stopping.load(Ordering::Relaxed) {
            self.missed().add_outdated(key, outdated);
        }
        open.clone()
    }

    /// Puts an opened directory into use, and removes from it what was removed or outdated meanwhile. An empty one has nothing of that.
    fn publish(&self, store: &Arc<Store>, is_empty: bool) -> Publication {
        let mut open = self.store.write().unwrap_or_else(PoisonError::into_inner);
        let mut missed = self.missed();
        if missed.has_lost && !is_empty {
            return Publication::MustBeEmptied;
        }
        for (removal, done) in missed.take() {
            let (sequence, removed) = match removal {
                MissedRemoval::Objects { key, removal } => {
                    let hash = store.hash(&key);
                    (store.index.remove(hash, removal).0, Removed::Objects { hash, removal })
                }
                MissedRemoval::Mark(mark) if mark.len() > MARK_BYTES_MAX => {
                    missed.has_lost = true;
                    return Publication::MustBeEmptied;
                }
                MissedRemoval::Mark(mark) => (store.index.next_sequence(), Removed::Mark(self.owner.renewed(mark))),
            };
            let job = WaitingRemoval { store: store.clone(), sequence, removed, done: Some(done) };
            // It would come back with the next start.
            if self.removals.push(job.removed.weight(), RemovalJob::Write(job)).is_err() {
                missed.has_lost = true;
                return Publication::MustBeEmptied;
            }
        }
        missed.has_lost = false;
        let is_certain = self.make_up_for_outdated(store, &mut missed) || is_empty;
        *open = Some(store.clone());
        self.set_state(DiskState::Serving { is_loading: true, paused: None });
        Publication::Done { is_certain }
    }

    /// Drops from an opened directory what was outdated meanwhile. Returns false where some of that is not known any more, or would come
    /// back with the next start.
    fn make_up_for_outdated(&self, store: &Arc<Store>, missed: &mut Missed) -> bool {
        let Some(all) = missed.take_outdated() else { return false };
        let mut is_certain = true;
        for (key, outdated) in all {
            let hash = store.hash(&key);
            match outdated {
                Outdated::Hidden(variant) => store.index.hide(hash, variant),
                Outdated::Forgotten(removal) => {
                    let removed = Removed::Objects { hash, removal };
                    let sequence = store.index.remove(hash, removal).0;
                    let job = WaitingRemoval { store: store.clone(), sequence, removed, done: None };
                    is_certain &= self.removals.push(job.removed.weight(), RemovalJob::Write(job)).is_ok();
                }
            }
        }
        is_certain
    }

    fn waits(&self, answer: Answer) -> Durability {
        Durability::Waits(Written { answer, path: self.options.path.clone() })
    }

    /// Has the directory given up by the thread that writes removals: the caller may hold the lock of a key. Until that is done, the
    /// directory stays in use: the index knows of the removal.
    fn have_given_up(&self, store: &Arc<Store>) -> Durability {
        let given_up = store.given_up.get_or_init(|| {
            let (done, receiver) = watch::channel(None);
            // It is refused at the end only. Then nobody answers, which says that the removal is not durable.
            let _ = self.removals.push_first(RemovalJob::GiveUp { store: store.clone(), done });
            receiver
        });
        self.waits(Answer::OfDirectory(given_up.clone()))
    }

    /// Gives the directory up, since a removal can't be written: makes it invalid, so that nobody finds in it what was removed. On the thread
    /// that writes removals.
    fn lose(&self, store: &Arc<Store>) -> Result<(), NotDurable> {
        // Only once: by now, another directory may have been made under this path, and a second time would make that one invalid.
        if store.is_invalid.load(Ordering::Relaxed) {
            return Ok(());
        }
        let invalidated = store.directory.invalidate();
        store.is_invalid.store(invalidated.is_ok(), Ordering::Relaxed);
        if invalidated.is_err() {
            self.missed().has_lost = true;
        }
        self.close(store);
        let path = &self.options.path;
        match invalidated {
            Ok(()) => {
                tracing::error!(directory = %path.display(), "a removal could not be written: the disk cache starts empty");
                Ok(())
            }
            Err(error) => {
                tracing::error!(directory = %path.display(), %error, "a removal could not be written, nor the cache emptied");
                Err(NotDurable(path.clone()))
            }
        }
    }
}

fn find(store: &Arc<Store>, key: &[u8], wait: Wait) -> Finding {
    let found = store.index.find(store.hash(key));
    let mut objects = Vec::new();
    for place in found.places {
        match StoredObject::read(store, place, Some(key), wait) {
            Ok(Attempt::Done(object)) => objects.extend(object),
            Ok(Attempt::NotYet) => return Finding::OnDisk,
            // It has been dropped.
            Err(_) => {}
        }
    }
    Finding::Objects(objects)
}
