//! A worker: a thread with an event loop, which serves its share of the connections.
//!
//! The workers share the cache (sharded), what is known of visitors' sessions and which visitors were counted and how many fetches each
//! client has begun (sharded as well),
//! what was found of URL patterns (only misses ask), in which responses origins set cookies, how many bytes of request bodies are
//! on disk, the metrics (one writer each), how many connections each worker has and fresh connections on their way to another
//! worker, what is known of the origins, which URLs were missed and slow, full pages of the access log, and the clock. Everything
//! else, origin connections included, belongs to one worker and is neither locked nor counted atomically.

use crate::observe::access_log::WorkerLog;
use crate::observe::misses::MissTable;
use crate::observe::top::TopTables;
use crate::observe::trace::SpanSender;
use crate::origin_client::Client;
use crate::recycle::BufferPool;
use crate::request::path::PathReader;
use crate::request::peer::peer_at;
use crate::request::request_id::RequestIds;
use crate::request::route::KnownAuthority;
use crate::runtime::background::Background;
use crate::runtime::clock::{Clock, WorkerTime};
use crate::runtime::compress;
use crate::runtime::connection_tasks::ConnectionTasks;
use crate::runtime::connections_by_address::CountedAddress;
use crate::runtime::handle::EngineHandle;
use crate::runtime::kept_connections::KeptConnections;
use crate::runtime::scratch::ScratchBuffer;
use crate::runtime::settings::Settings;
use crate::runtime::shutdown::{self, WorkerState};
use crate::runtime::spool::Spool;
use crate::runtime::worker_loads::{CountedConnection, HandedOverConnection, NewConnection, WorkerLoads};
use bytes::BytesMut;
use kasoku_cache::Cache;
use kasoku_cache::disk::DISK_TIMEOUT;
use kasoku_cache::shared::SharedAccess;
use kasoku_metrics::{Cells, Counter, Metrics, SiteCells};
use kasoku_options::Options;
use kasoku_origin::OriginRegistry;
use kasoku_programs::OpenFiles;
use kasoku_semantics::time::Now;
use kasoku_visitors::cookie_setters::CookieSetters;
use kasoku_visitors::counted::CountedVisitors;
use kasoku_visitors::leak_guard::{Countdown, Guard};
use kasoku_visitors::miss_limit::MissLimit;
use kasoku_visitors::session::table::Sessions;
use kasoku_wire::RequestHead;
use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::{Notify, mpsc};

/// How much is read from a client's socket at once, in bytes.
pub(crate) const READ_BYTES: usize = 16 << 10;

/// The most requests of one worker that fetch for themselves at a time, after the fills that they joined failed.
const UNCOLLAPSED_MAX: usize = 16;

/// The parts of a worker that are not shared by the process.
pub(crate) struct WorkerParts {
    pub(crate) number: usize,
    pub(crate) loads: Arc<WorkerLoads>,
    pub(crate) compress: compress::Queue,
    pub(crate) access_log: Option<WorkerLog>,
    pub(crate) shutdown: shutdown::ShutdownReceiver,
}

/// All data of one worker.
pub(crate) struct Worker {
    settings: RefCell<Rc<Settings>>,
    pub(crate) cache: Cache,
    pub(crate) spool: Arc<Spool>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) guard: Arc<Guard>,
    pub(crate) cookie_setters: Arc<CookieSetters>,
    /// Counts requests down to the next sample of the leak guard.
    pub(crate) samples: Countdown,
    /// Session probes that are running.
    pub(crate) probes: Cell<usize>,
    pub(crate) counted: Arc<CountedVisitors>,
    pub(crate) miss_limit: Arc<MissLimit>,
    /// Tasks that no request waits for.
    pub(crate) background: Rc<Background>,
    pub(crate) client: Rc<Client>,
    /// The shared tier as this worker uses it, if there is one.
    pub(crate) shared_access: Option<SharedAccess>,
    pub(crate) open_files: OpenFiles,
    pub(crate) cells: Arc<Cells>,
    /// The counters for requests of no site.
    pub(crate) of_no_site: Arc<SiteCells>,
    pub(crate) compress: compress::Queue,
    /// The queue for spans; `None`: nothing is traced.
    pub(crate) traces: Option<SpanSender>,
    pub(crate) top: Arc<TopTables>,
    pub(crate) misses: Arc<MissTable>,
    pub(crate) access_log: RefCell<Option<WorkerLog>>,
    /// The buffer into which requests are read while they arrive in one piece.
    pub(crate) read_buffer: RefCell<BytesMut>,
    /// Buffers of request heads, keys and response heads, for the next request.
    pub(crate) heads: BufferPool<RequestHead>,
    pub(crate) uris: BufferPool<String>,
    pub(crate) buffers: BufferPool<Vec<u8>>,
    pub(crate) scratch: ScratchBuffer,
    /// For paths that the application reads in another way than they were sent.
    pub(crate) paths: RefCell<PathReader>,
    pub(crate) known_authority: RefCell<KnownAuthority>,
    pub(crate) request_ids: RequestIds,
    clock: Arc<dyn Clock>,
    origins: OriginRegistry,
    metrics: Metrics,
    number: usize,
    loads: Arc<WorkerLoads>,
    alone: Cell<usize>,
    one_left: Notify,
    /// Those of clients that are connected.
    pub(crate) kept: KeptConnections,
    /// Tasks that wait for a connection.
    pub(crate) servers: ConnectionTasks<(NewConnection, ConnectionSlot)>,
    shutdown: shutdown::ShutdownReceiver,
}

impl Worker {
    /// What comes of a read of a chunk from the disk tier; `None`: it does not answer in time.
    pub(crate) async fn within_disk_timeout<T>(&self, waits: impl Future<Output = T>) -> Option<T> {
        let waited = tokio::time::timeout(DISK_TIMEOUT, waits).await;
        if waited.is_err() {
            self.cache.disk_timed_out();
        }
        waited.ok()
    }

    /// Makes a worker without connections. `None`: there is no worker of that number.
    pub(crate) fn new(handle: &EngineHandle, parts: WorkerParts) -> Option<Rc<Self>> {
        let WorkerParts { number, loads, compress, access_log, shutdown } = parts;
        let top = handle.tops().get(number).cloned()?;
        let misses = handle.misses().get(number).cloned()?;
        Some(Rc::new(Self {
            top,
            misses,
            settings: RefCell::new(Rc::new(Settings::new(
                &handle.options(),
                handle.origins(),
                handle.metrics(),
                number,
            ))),
            cache: handle.cache().clone(),
            spool: handle.spool().clone(),
            sessions: handle.sessions().clone(),
            guard: handle.guard().clone(),
            cookie_setters: handle.cookie_setters().clone(),
            samples: Countdown::default(),
            probes: Cell::new(0),
            counted: handle.counted().clone(),
            miss_limit: handle.miss_limit().clone(),
            background: Rc::default(),
            client: Rc::new(Client::new()),
            shared_access: handle.cache().shared_tier().map(SharedAccess::new),
            open_files: OpenFiles::with_capacity(handle.options().limits.open_files_max, handle.workers()),
            cells: handle.metrics().cells(number),
            of_no_site: handle.metrics().of_no_site(number),
            compress,
            traces: handle.traces().cloned(),
            access_log: RefCell::new(access_log),
            read_buffer: RefCell::new(BytesMut::with_capacity(READ_BYTES)),
            heads: BufferPool::new(),
            uris: BufferPool::new(),
            buffers: BufferPool::new(),
            scratch: ScratchBuffer::new(),
            paths: RefCell::default(),
            known_authority: RefCell::default(),
            request_ids: RequestIds::new(),
            clock: handle.clock().clone(),
            origins: handle.origins().clone(),
            metrics: handle.metrics().clone(),
            number,
            loads,
            alone: Cell::new(0),
            one_left: Notify::new(),
            kept: KeptConnections::default(),
            servers: ConnectionTasks::new(),
            shutdown,
        }))
    }

    /// The current time.
    pub(crate) fn now(&self) -> Now {
        self.clock.now()
    }

    /// The current time, to the microsecond.
    pub(crate) fn moment(&self) -> WorkerTime {
        self.clock.moment()
    }

    /// The settings that are valid now. A request takes them once.
    pub(crate) fn settings(&self) -> Rc<Settings> {
        self.settings.borrow().clone()
    }

    /// Whether connections should end after their current request.
    pub(crate) fn is_stopping(&self) -> bool {
        self.shutdown.has_changed()
    }

    /// Whether no process listens where this program did: it has stopped, and no other has taken its place.
    pub(crate) fn is_listening_ended(&self) -> bool {
        self.shutdown.is(WorkerState::Stopping)
    }

    /// Waits until the worker is told to stop.
    pub(crate) async fn stopped(&self) {
        self.shutdown.clone().changes().await;
    }

    /// Whether the worker may have another connection.
    pub(crate) fn has_room(&self) -> bool {
        self.connections() < self.settings.borrow().limits.connections_max.min(self.loads.connections_max())
    }

    /// Counts a connection for its client's address, where addresses have a limit; `Err`: the address has enough connections.
    pub(crate) fn count_address(&self, address: Option<SocketAddr>) -> Result<Option<CountedAddress>, TooMany> {
        let settings = self.settings.borrow();
        let Some(connections_max) = settings.limits.connections_per_address else { return Ok(None) };
        let (Some(address), false) = (address, peer_at(address, &settings.trusted_proxies).is_trusted) else {
            return Ok(None);
        };
        self.loads.by_address.enter(address.ip(), connections_max).map(Some).ok_or(TooMany)
    }

    /// Closes connections that have waited longest for a request, so that others find room. Returns how many.
    pub(crate) fn close_idle(&self) -> usize {
        let count = self.kept.close_idle(self.now().mono_ms);
        self.cells.add(Counter::IdleClosed, count as u64);
        count
    }

    /// Counts a connection for as long as the result lives.
    pub(crate) fn enter(self: &Rc<Self>) -> ConnectionSlot {
        self.serves(self.loads.count(self.number))
    }

    /// The place of a connection that is counted already.
    pub(crate) fn serves(self: &Rc<Self>, counted: CountedConnection) -> ConnectionSlot {
        ConnectionSlot { worker: self.clone(), counted: Some(counted) }
    }

    /// The worker that should have a fresh connection instead of this one.
    pub(crate) fn least_loaded(&self) -> Option<(mpsc::Sender<HandedOverConnection>, CountedConnection)> {
        self.loads.least_loaded(self.number)
    }

    /// Connections that are counted as this worker's.
    pub(crate) fn connections(&self) -> usize {
        self.loads.load(self.number)
    }

    /// Waits until a connection has ended, or a reload may allow more.
    pub(crate) async fn one_has_left(&self) {
        self.one_left.notified().await;
    }

    /// Serves by these options from now on.
    pub(crate) fn configure(&self, options: &Options) {
        let settings = Settings::new(options, &self.origins, &self.metrics, self.number);
        self.open_files.set_capacity(settings.limits.open_files_max);
        self.settings.replace(Rc::new(settings));
        // The new limit may leave room.
        self.one_left.notify_waiters();
    }

    /// A place among the requests that fetch for themselves after two fills failed that they had joined; `None` when there are
    /// enough of them, so that not all requests go to an origin in trouble.
    pub(crate) fn enter_uncollapsed(self: &Rc<Self>) -> Option<UncollapsedSlot> {
        let alone = self.alone.get();
        (alone < UNCOLLAPSED_MAX).then(|| {
            self.alone.set(alone + 1);
            UncollapsedSlot(self.clone())
        })
    }

    /// Adds the counts of the origin client to the metrics.
    pub(crate) fn count_origin(&self) {
        let counters = self.client.counters();
        self.cells.add(Counter::OriginRequests, counters.requests.take());
        self.cells.add(Counter::OriginConnections, counters.connections.take());
        self.cells.add(Counter::OriginRetries, counters.retries.take());
    }
}

/// A connection's place among the connections that its worker may have.
pub(crate) struct ConnectionSlot {
    worker: Rc<Worker>,
    counted: Option<CountedConnection>,
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        drop(self.counted.take());
        self.worker.one_left.notify_one();
    }
}

/// An address has as many connections as one may have.
pub(crate) struct TooMany;

/// A place among the requests that fetch for themselves.
pub(crate) struct UncollapsedSlot(Rc<Worker>);

impl Drop for UncollapsedSlot {
    fn drop(&mut self) {
        self.0.alone.set(self.0.alone.get() - 1);
    }
}
