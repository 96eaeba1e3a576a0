//! Workers: one thread, one event loop, one share of the connections each.
//!
//! What crosses the workers: the cache (sharded), the metrics (one writer each), how many connections each has and fresh
//! ones on their way to another, full pages of the access log and the clock. Everything else, origin connections
//! included, belongs to one worker and is neither locked nor counted atomically.

use crate::accept::{self, HandedOver};
use crate::access_log::{self, AccessLog, WorkerLog};
use crate::clock::Clock;
use crate::connection::READ_BYTES;
use crate::crew::{Counted, Crew};
use crate::options::{Limits, ListenAddress, Options, object_bytes_limit};
use crate::path::PathReader;
use crate::recycle::Pool;
use crate::route::KnownAuthority;
use bytes::BytesMut;
use kasoku_cache::Cache;
use kasoku_metrics::{Cells, Counter, Metrics};
use kasoku_origin::http::Client;
use kasoku_semantics::time::Now;
use kasoku_sys::Acceptor;
use kasoku_sys::listen::{self, ListeningSocket};
use kasoku_wire::RequestHead;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::runtime::LocalOptions;
use tokio::sync::{Notify, mpsc, watch};

/// Requests of one worker that ask for themselves at a time after fills failed under them.
const ALONE_MAX: usize = 16;

/// How often a worker that stops counts its connections.
const RECOUNT_INTERVAL: Duration = Duration::from_millis(50);

/// How often idle origin connections are looked at.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// All that one worker has.
pub(crate) struct Worker {
    pub(crate) options: Options,
    pub(crate) limits: Rc<Limits>,
    pub(crate) cache: Cache,
    pub(crate) client: Rc<Client>,
    pub(crate) cells: Arc<Cells>,
    pub(crate) access_log: Option<WorkerLog>,
    /// Where requests are read while they come in one piece.
    pub(crate) read_buffer: RefCell<BytesMut>,
    /// Request heads, keys and response heads for the next request.
    pub(crate) heads: Pool<RequestHead>,
    pub(crate) uris: Pool<String>,
    pub(crate) buffers: Pool<Vec<u8>>,
    /// For paths that read otherwise than they are sent.
    pub(crate) paths: RefCell<PathReader>,
    pub(crate) known_authority: RefCell<KnownAuthority>,
    clock: Arc<dyn Clock>,
    number: usize,
    crew: Arc<Crew>,
    alone: Cell<usize>,
    one_left: Notify,
    stopping: watch::Receiver<bool>,
}

impl Worker {
    /// The present.
    pub(crate) fn now(&self) -> Now {
        self.clock.now()
    }

    /// Whether connections should end after the request at hand.
    pub(crate) fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    /// Waits until the worker is told to stop.
    pub(crate) async fn stopped(&self) {
        // An error means that the engine is gone, which is the same.
        let _ = self.stopping.clone().wait_for(|stop| *stop).await;
    }

    /// Waits until the worker may have another connection.
    pub(crate) async fn has_room(&self) {
        while self.connections() >= self.limits.connections_max {
            self.one_left.notified().await;
        }
    }

    /// Counts a connection for as long as the result lives.
    pub(crate) fn enter(self: &Rc<Self>) -> Place {
        self.serves(self.crew.count(self.number))
    }

    /// The place of a connection that is counted already.
    pub(crate) fn serves(self: &Rc<Self>, counted: Counted) -> Place {
        Place { worker: self.clone(), counted: Some(counted) }
    }

    /// Who else should have a fresh connection.
    pub(crate) fn whose_turn(&self) -> Option<(mpsc::Sender<HandedOver>, Counted)> {
        self.crew.whose_turn(self.number)
    }

    fn connections(&self) -> usize {
        self.crew.load(self.number)
    }

    /// A place among the requests that ask for themselves after two fills failed under them; `None` when there are enough
    /// of them, so that an origin that is ill is not asked by all.
    pub(crate) fn enter_alone(self: &Rc<Self>) -> Option<AlonePlace> {
        let alone = self.alone.get();
        (alone < ALONE_MAX).then(|| {
            self.alone.set(alone + 1);
            AlonePlace(self.clone())
        })
    }

    /// Brings the counters of the origins' side up to date.
    pub(crate) fn count_origin(&self) {
        let counters = self.client.counters();
        self.cells.add(Counter::OriginRequests, counters.requests.take());
        self.cells.add(Counter::OriginConnections, counters.connections.take());
        self.cells.add(Counter::OriginRetries, counters.retries.take());
    }
}

/// A connection's place among those that its worker may have.
pub(crate) struct Place {
    worker: Rc<Worker>,
    counted: Option<Counted>,
}

impl Drop for Place {
    fn drop(&mut self) {
        drop(self.counted.take());
        self.worker.one_left.notify_one();
    }
}

/// A place among those who ask for themselves.
pub(crate) struct AlonePlace(Rc<Worker>);

impl Drop for AlonePlace {
    fn drop(&mut self) {
        self.0.alone.set(self.0.alone.get() - 1);
    }
}

/// A running engine. Dropping it stops the workers and waits for them.
pub struct Engine {
    cache: Cache,
    metrics: Metrics,
    addresses: Vec<SocketAddr>,
    stop: watch::Sender<bool>,
    threads: Vec<JoinHandle<()>>,
    access_log: Option<AccessLog>,
}

/// Why an engine did not start.
#[derive(Debug)]
pub struct StartError {
    /// Where it was to listen, which file or which thread.
    pub what: String,
    /// Why not.
    pub error: io::Error,
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.error.kind() {
            io::ErrorKind::AddrInUse => write!(f, "{}: somebody listens there already", self.what),
            _ => write!(f, "{}: {}", self.what, self.error),
        }
    }
}

impl std::error::Error for StartError {}

impl Engine {
    /// Opens all listeners and starts the workers. Nothing is served when it fails.
    pub fn start(options: Options, clock: Arc<dyn Clock>) -> Result<Self, StartError> {
        let options = Arc::new(options);
        let workers = options.workers.max(1);
        let mut shares: Vec<Vec<(ListeningSocket, bool)>> = (0..workers).map(|_| Vec::new()).collect();
        let mut addresses = Vec::new();
        for listener in &options.listeners {
            let sockets = open(&listener.address, workers)
                .map_err(|error| StartError { what: listener.address.to_string(), error })?;
            addresses.extend(sockets.first().and_then(ListeningSocket::local_address));
            for (share, socket) in shares.iter_mut().zip(sockets) {
                share.push((socket, listener.proxy_protocol));
            }
        }
        let cache = Cache::new(kasoku_cache::Limits {
            memory_bytes_max: options.memory_bytes_max,
            object_bytes_max: options.object_bytes_max.min(object_bytes_limit(options.memory_bytes_max)),
        });
        // One row of cells more than workers: the last is the log writer's.
        let metrics = Metrics::new(workers + 1);
        let access_log = AccessLog::start(&options.access_log, workers, metrics.cells(workers))
            .map_err(|error| StartError { what: access_log::name(&options.access_log), error })?;
        let (stop, stopping) = watch::channel(false);
        let threads = Vec::with_capacity(workers);
        let mut engine = Self { cache, metrics, addresses, stop, threads, access_log };
        let (crew, inboxes) = Crew::new(workers);
        for (number, (sockets, inbox)) in shares.into_iter().zip(inboxes).enumerate() {
            let seed = Seed {
                number,
                crew: crew.clone(),
                inbox,
                options: options.clone(),
                cache: engine.cache.clone(),
                cells: engine.metrics.cells(number),
                access_log: engine.access_log.as_ref().map(|log| log.of_worker(engine.metrics.cells(number))),
                clock: clock.clone(),
                stopping: stopping.clone(),
                sockets,
            };
            let thread = std::thread::Builder::new().name(format!("worker-{number}")).spawn(move || seed.run());
            let what = || format!("worker {number}");
            engine.threads.push(thread.map_err(|error| StartError { what: what(), error })?);
        }
        Ok(engine)
    }

    /// The TCP addresses that are served, in the order of the listeners.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The cache that the workers share.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// What the workers have counted.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Stops accepting and ends the connections as their requests end, at most until the workers' deadline; waits for it.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        // The receivers are gone only when all workers have ended already.
        let _ = self.stop.send(true);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        // What the workers had to tell is with the writer now.
        if let Some(log) = self.access_log.take() {
            log.finish();
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.end();
    }
}

fn open(address: &ListenAddress, workers: usize) -> io::Result<Vec<ListeningSocket>> {
    let shared = match address {
        ListenAddress::Tcp(address) => return listen::tcp(*address, workers),
        ListenAddress::Unix(path) => listen::unix(path)?,
        ListenAddress::Descriptor(number) => listen::inherited(*number)?,
    };
    (0..workers).map(|_| shared.duplicate()).collect()
}

/// Closes idle origin connections when their time is over, for as long as the worker runs.
async fn sweep(client: Rc<Client>) {
    loop {
        tokio::time::sleep(SWEEP_INTERVAL).await;
        client.sweep();
    }
}

/// Hands over what stands in the access log, for as long as the worker runs.
async fn flush(worker: Rc<Worker>) {
    while let Some(log) = &worker.access_log {
        tokio::time::sleep(access_log::FLUSH_INTERVAL).await;
        log.flush();
    }
}

/// What a worker is made of, on its way to its thread.
struct Seed {
    number: usize,
    crew: Arc<Crew>,
    inbox: mpsc::Receiver<HandedOver>,
    options: Arc<Options>,
    cache: Cache,
    cells: Arc<Cells>,
    access_log: Option<WorkerLog>,
    clock: Arc<dyn Clock>,
    stopping: watch::Receiver<bool>,
    sockets: Vec<(ListeningSocket, bool)>,
}

impl Seed {
    fn run(self) {
        let runtime =
            match tokio::runtime::Builder::new_current_thread().enable_all().build_local(LocalOptions::default()) {
                Ok(runtime) => runtime,
                Err(error) => return tracing::error!(%error, "a worker could not start"),
            };
        let mut stopping = self.stopping.clone();
        runtime.block_on(async move {
            let worker = Rc::new(Worker {
                limits: Rc::new(self.options.limits.clone()),
                options: self.options.unshared(),
                cache: self.cache,
                client: Rc::new(Client::new()),
                cells: self.cells,
                access_log: self.access_log,
                read_buffer: RefCell::new(BytesMut::with_capacity(READ_BYTES)),
                heads: Pool::new(),
                uris: Pool::new(),
                buffers: Pool::new(),
                paths: RefCell::default(),
                known_authority: RefCell::default(),
                clock: self.clock,
                number: self.number,
                crew: self.crew,
                alone: Cell::new(0),
                one_left: Notify::new(),
                stopping: self.stopping,
            });
            tokio::task::spawn_local(accept::take_over(worker.clone(), self.inbox));
            let mut acceptors = Vec::new();
            for (socket, proxy_protocol) in self.sockets {
                match Acceptor::new(socket) {
                    Ok(acceptor) => {
                        acceptors.push(tokio::task::spawn_local(accept::run(worker.clone(), acceptor, proxy_protocol)))
                    }
                    Err(error) => tracing::error!(%error, "a listener could not be served"),
                }
            }
            tokio::task::spawn_local(flush(worker.clone()));
            let sweeper = tokio::task::spawn_local(sweep(worker.client.clone()));
            let _ = stopping.wait_for(|stop| *stop).await;
            sweeper.abort();
            for acceptor in acceptors {
                acceptor.abort();
            }
            let drained = async {
                while worker.connections() > 0 {
                    // A connection that was counted as ours may end on its way to us, where nobody tells us.
                    let _ = tokio::time::timeout(RECOUNT_INTERVAL, worker.one_left.notified()).await;
                }
            };
            let _ = tokio::time::timeout(worker.limits.drain_timeout, drained).await;
        });
    }
}
