//! Compresses stored responses (br, zstd, gzip) on threads that serve no clients.
//!
//! A hit whose client prefers a coding orders it here, and goes out as it is stored. So no hit waits for a coding, and no coding
//! is made of a response that is not requested again. Each thread takes one order after the other from a bounded queue; when the
//! queue is full, a later hit orders again. The threads run at a lower priority than the workers, and there are few of them (one
//! for four workers), so they take little from waiting requests. A response that is evicted before its turn is not coded, and the
//! queue does not keep it in memory.

use kasoku_cache::coding::Added;
use kasoku_cache::{Body, Cache, Entry};
use kasoku_coding::{CodingError, CodingLevels, encode};
use kasoku_metrics::{Cells, Counter};
use kasoku_semantics::coding::Coding;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;

/// The most codings that wait for their turn.
const QUEUE_MAX: usize = 256;

/// How many workers have one thread, and the most threads.
const WORKERS_PER_THREAD: usize = 4;
const THREADS_MAX: usize = 4;

/// The order of one coding of one response.
struct CodingJob {
    uri: String,
    entry: Weak<Entry>,
    /// The entry's body. A 304 makes another entry of the same body, for which the coding may then be made.
    body: Weak<Body>,
    coding: Coding,
    levels: CodingLevels,
}

impl CodingJob {
    /// The response to code; `None`: it was evicted or replaced, and no client gets it. Where its body lives on, under a head
    /// that a 304 has confirmed, the next hit that wants the coding orders it again.
    fn entry(&self) -> Option<Arc<Entry>> {
        let entry = self.entry.upgrade();
        if entry.is_none()
            && let Some(body) = self.body.upgrade()
        {
            body.give_up_coding(self.coding);
        }
        entry
    }
}

/// The threads. Dropping it ends them, and leaves waiting orders undone.
pub(crate) struct Compressor {
    jobs: Queue,
    is_stopping: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// The queue of orders.
#[derive(Clone)]
pub(crate) struct Queue(SyncSender<CodingJob>);

impl Compressor {
    /// Starts the threads for so many workers. `cells` are not a worker's own counters.
    pub(crate) fn start(workers: usize, cache: &Cache, cells: &Arc<Cells>) -> io::Result<Self> {
        let (sender, receiver) = sync_channel(QUEUE_MAX);
        let receiver = Arc::new(Mutex::new(receiver));
        let is_stopping = Arc::new(AtomicBool::new(false));
        let mut own = Self { jobs: Queue(sender), is_stopping, threads: Vec::new() };
        for number in 0..workers.div_ceil(WORKERS_PER_THREAD).min(THREADS_MAX) {
            let (cache, cells, receiver, is_stopping) =
                (cache.clone(), cells.clone(), receiver.clone(), own.is_stopping.clone());
            let run = move || Maker { cache, cells, is_stopping }.run(&receiver);
            own.threads.push(std::thread::Builder::new().name(format!("compress-{number}")).spawn(run)?);
        }
        Ok(own)
    }

    /// The queue in which workers place orders.
    pub(crate) fn queue(&self) -> &Queue {
        &self.jobs
    }
}

impl Drop for Compressor {
    fn drop(&mut self) {
        self.is_stopping.store(true, Ordering::Relaxed);
        for _ in &self.threads {
            // This wakes a thread that has nothing to do. If the queue is full, it has an order for each thread anyway.
            let nothing = CodingJob {
                uri: String::new(),
                entry: Weak::new(),
                body: Weak::new(),
                coding: Coding::Gzip,
                levels: CodingLevels::default(),
            };
            let _ = self.jobs.0.try_send(nothing);
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Queue {
    /// Orders that coding of a stored response, unless it was ordered already. Does not wait. `false`: there is no room for the
    /// order now.
    pub(crate) fn ask(
        &self,
        cache: &Cache,
        uri: &str,
        entry: &Arc<Entry>,
        coding: Coding,
        levels: CodingLevels,
    ) -> bool {
        let body = &entry.body;
        if !body.begin_coding(coding) {
            return true;
        }
        let job = || {
            let (entry, body) = (Arc::downgrade(entry), Arc::downgrade(body));
            CodingJob { uri: uri.to_owned(), entry, body, coding, levels }
        };
        let is_taken_on = cache.has_room_to_code(body) && self.0.try_send(job()).is_ok();
        if !is_taken_on {
            body.give_up_coding(coding);
        }
        is_taken_on
    }
}

/// The data of one thread.
struct Maker {
    cache: Cache,
    cells: Arc<Cells>,
    is_stopping: Arc<AtomicBool>,
}

impl Maker {
    fn run(&self, jobs: &Mutex<Receiver<CodingJob>>) {
        // Where that is not allowed, coding works all the same, and takes more time from other threads.
        let _ = kasoku_sys::thread::lower_priority();
        while let Some(job) = next(jobs) {
            if self.is_stopping() {
                return;
            }
            let Some(entry) = job.entry() else { continue };
            let added =
                self.cache.add_coding(&job.uri, &entry, job.coding, |body, bytes_max| self.make(body, bytes_max, &job));
            match added {
                Added::Made => self.cells.count_shared(Counter::Compressions),
                Added::Useless => self.cells.count_shared(Counter::CompressionsDiscarded),
                Added::NoRoom => {
                    self.cells.count_shared(Counter::CompressionsDeferred);
                    entry.body.give_up_coding(job.coding);
                }
                Added::Gone => entry.body.give_up_coding(job.coding),
            }
        }
    }

    fn make(&self, body: &Body, bytes_max: u64, job: &CodingJob) -> Option<Vec<u8>> {
        let length = body.complete_length()?;
        // A stop ends it at the next piece. The coding of the pieces before is dropped.
        let pieces = body.chunks().map(AsRef::as_ref).take_while(|_| !self.is_stopping());
        let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
        match encode(job.coding, job.levels, length, pieces, bytes_max) {
            Ok(bytes) => Some(bytes).filter(|_| !self.is_stopping()),
            Err(CodingError::TooLong) => None,
            Err(CodingError::Library(error)) => {
                tracing::debug!(%error, coding = job.coding.name(), uri = job.uri, "no coding");
                None
            }
        }
    }

    fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }
}

/// The next order, as soon as there is one; `None` when no more will come. One thread waits for the order, and the others wait
/// for that thread.
fn next(jobs: &Mutex<Receiver<CodingJob>>) -> Option<CodingJob> {
    // A thread that holds the lock only waits, so a panic leaves nothing half done.
    jobs.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use kasoku_cache::verdict::OriginExchange;
    use kasoku_cache::{CacheLimits, CacheRoute, Lookup, SharedRequest, Verdict};
    use kasoku_semantics::client_address::Peer;
    use kasoku_semantics::policy::{Policy, Profile};
    use kasoku_semantics::time::Now;
    use kasoku_wire::{RequestHead, ResponseHead};

    const URI: &str = "http://a.example/";

    /// A cache with one stored page.
    fn stored() -> (Cache, Arc<Entry>) {
        let cache = Cache::new(CacheLimits { memory_bytes_max: 8 << 20, object_bytes_max: 1 << 20 });
        let (key, policy) = (cache.key(URI), Arc::new(Policy::new(Profile::Safe)));
        let request = RequestHead::new(http::Method::GET, "/").with("Host", "a.example");
        let response = ResponseHead::new(http::StatusCode::OK).with("Cache-Control", "max-age=60");
        let now = Now { unix_ms: 1_700_000_000_000, mono_ms: 0 };
        let shared = SharedRequest::new(&request, &CacheRoute::new(&key, &policy), &Peer::UNKNOWN);
        let look_up = || cache.look_up(&shared, now);
        let Lookup::Fill(writer, _) = look_up() else { panic!("not a fill") };
        let exchange = OriginExchange {
            response: &response,
            request_time: now,
            response_time: now,
            body_length: None,
            is_file: false,
        };
        let Verdict::Write(mut body) = writer.on_response(&exchange) else { panic!("not stored") };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(body.push(Bytes::from(vec![b'x'; 10_000]))).unwrap();
        assert!(body.finish(None));
        let Lookup::Hit(entry, ..) = look_up() else { panic!("not a hit") };
        (cache.clone(), entry)
    }

    #[test]
    fn what_finds_no_place_is_left_to_a_later_hit() {
        let (cache, entry) = stored();
        let (sender, jobs) = sync_channel(1);
        let queue = Queue(sender);
        let ask = |coding| queue.ask(&cache, URI, &entry, coding, CodingLevels::default());
        assert!(ask(Coding::Gzip));
        assert!(ask(Coding::Gzip), "it waits already");
        assert!(!ask(Coding::Br), "there is one place");
        assert_eq!(jobs.try_iter().map(|job| job.coding).collect::<Vec<_>>(), [Coding::Gzip]);
        assert!(ask(Coding::Br));
        assert_eq!(jobs.try_iter().count(), 1);
    }

    #[test]
    fn what_is_evicted_before_its_turn_is_not_held() {
        let (cache, entry) = stored();
        let (sender, jobs) = sync_channel(1);
        assert!(Queue(sender).ask(&cache, URI, &entry, Coding::Gzip, CodingLevels::default()));
        let _ = cache.invalidate(&cache.key(URI));
        drop(entry);
        assert!(jobs.try_iter().all(|job| job.entry.upgrade().is_none()));
        assert_eq!(cache.held_bytes(), 0);
    }

    #[test]
    fn what_is_confirmed_before_its_turn_can_be_asked_for_again() {
        let (cache, entry) = stored();
        let (sender, jobs) = sync_channel(1);
        let queue = Queue(sender);
        assert!(queue.ask(&cache, URI, &entry, Coding::Gzip, CodingLevels::default()));
        let body = entry.body.clone();
        let _ = cache.invalidate(&cache.key(URI));
        drop(entry);
        assert!(jobs.try_iter().all(|job| job.entry().is_none()));
        assert!(body.begin_coding(Coding::Gzip), "the body lives on, as that of a response that a 304 has confirmed");
    }

    #[test]
    fn threads_end_with_the_compressor_whether_they_wait_or_not() {
        let (cache, entry) = stored();
        let cells = kasoku_metrics::Metrics::new(1).cells(0);
        for asked in [false, true] {
            let compressor = Compressor::start(8, &cache, &cells).unwrap();
            assert_eq!(compressor.threads.len(), 2);
            if asked {
                compressor.queue().ask(&cache, URI, &entry, Coding::Gzip, CodingLevels::default());
            }
            drop(compressor);
        }
    }
}
