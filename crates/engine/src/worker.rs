//! Workers: one thread, one event loop, one share of the connections each.
//!
//! What crosses the workers: the cache (sharded), what is known of visitors' sessions and which of them were counted (sharded as well), what was
//! found of URL patterns (asked by misses alone), how origins were seen to set cookies, how much of requests' bodies is on disk, the metrics (one writer each), how many connections each has and fresh
//! ones on their way to another, what is known of the origins, which URLs were missed and slow, full pages of the access log
//! and the clock. Everything else, origin connections included, belongs to one worker and is neither locked nor counted
//! atomically.

use crate::accept::{self, Closed, HandedOver};
use crate::access_log::{self, WorkerLog};
use crate::beacon;
use crate::clock::{Clock, Moment};
use crate::compress;
use crate::connection::READ_BYTES;
use crate::course::{self, Course};
use crate::crew::{Counted, Crew};
use crate::doctor::Cases;
use crate::guard::{Countdown, Guard};
use crate::handle::Handle;
use crate::listening::Share;
use crate::options::{Listener, Options};
use crate::outgoing::Scratch;
use crate::path::PathReader;
use crate::recycle::Pool;
use crate::request_id::RequestIds;
use crate::route::KnownAuthority;
use crate::servers::Servers;
use crate::session::table::Sessions;
use crate::set_by::SetBy;
use crate::settings::Settings;
use crate::spool::Spool;
use crate::top::Tables;
use crate::trace;
use bytes::BytesMut;
use kasoku_cache::Cache;
use kasoku_metrics::{Cells, Counter, Metrics, SiteCells};
use kasoku_origin::{Client, Directory, OpenFiles};
use kasoku_semantics::time::Now;
use kasoku_sys::Acceptor;
use kasoku_wire::RequestHead;
use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::LocalOptions;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinHandle;

/// Requests of one worker that ask for themselves at a time after fills failed under them.
const ALONE_MAX: usize = 16;

/// How often a worker that stops counts its connections.
const RECOUNT_INTERVAL: Duration = Duration::from_millis(50);

/// How often idle origin connections are looked at.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// All that one worker has.
pub(crate) struct Worker {
    settings: RefCell<Rc<Settings>>,
    pub(crate) cache: Cache,
    pub(crate) spool: Arc<Spool>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) guard: Arc<Guard>,
    pub(crate) set_by: Arc<SetBy>,
    /// Requests until a page is looked at that is shared.
    pub(crate) samples: Countdown,
    /// Questions about sessions that are on their way.
    pub(crate) probes: Cell<usize>,
    pub(crate) counted: Arc<beacon::Counted>,
    pub(crate) beacons: beacon::Queue,
    pub(crate) client: Rc<Client>,
    pub(crate) open_files: OpenFiles,
    pub(crate) cells: Arc<Cells>,
    /// For what belongs to no site.
    pub(crate) of_no_site: Arc<SiteCells>,
    pub(crate) compress: compress::Queue,
    /// Where spans go; `None`: nothing is traced.
    pub(crate) traces: Option<trace::Queue>,
    pub(crate) top: Arc<Tables>,
    pub(crate) cases: Arc<Cases>,
    pub(crate) access_log: RefCell<Option<WorkerLog>>,
    /// Where requests are read while they come in one piece.
    pub(crate) read_buffer: Rc<RefCell<BytesMut>>,
    /// Request heads, keys and response heads for the next request.
    pub(crate) heads: Pool<RequestHead>,
    pub(crate) uris: Pool<String>,
    pub(crate) buffers: Pool<Vec<u8>>,
    pub(crate) scratch: Scratch,
    /// For paths that read otherwise than they are sent.
    pub(crate) paths: RefCell<PathReader>,
    pub(crate) known_authority: RefCell<KnownAuthority>,
    pub(crate) request_ids: RequestIds,
    clock: Arc<dyn Clock>,
    origins: Directory,
    metrics: Metrics,
    number: usize,
    crew: Arc<Crew>,
    alone: Cell<usize>,
    one_left: Notify,
    pub(crate) servers: Servers,
    course: course::Told,
}

impl Worker {
    /// The present.
    pub(crate) fn now(&self) -> Now {
        self.clock.now()
    }

    /// The same to the microsecond.
    pub(crate) fn moment(&self) -> Moment {
        self.clock.moment()
    }

    /// What is served by at present. Whoever serves a request takes it once.
    pub(crate) fn settings(&self) -> Rc<Settings> {
        self.settings.borrow().clone()
    }

    /// Whether connections should end after the request at hand.
    pub(crate) fn is_stopping(&self) -> bool {
        self.course.has_changed()
    }

    /// Whether nobody listens where this program did: it has stopped, and none has taken its place.
    pub(crate) fn is_listening_ended(&self) -> bool {
        self.course.is(Course::Stop)
    }

    /// Waits until the worker is told to stop.
    pub(crate) async fn stopped(&self) {
        self.course.clone().changes().await;
    }

    /// Waits until the worker may have another connection.
    pub(crate) async fn has_room(&self) {
        while self.connections() >= self.settings.borrow().limits.connections_max {
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

/// Closes idle origin connections, and files, when their time is over, for as long as the worker runs.
async fn sweep(worker: Rc<Worker>) {
    loop {
        tokio::time::sleep(SWEEP_INTERVAL).await;
        worker.client.sweep();
        worker.open_files.sweep();
    }
}

/// Hands over what stands in the access log, for as long as the worker runs.
async fn flush(worker: Rc<Worker>) {
    loop {
        tokio::time::sleep(access_log::FLUSH_INTERVAL).await;
        if let Some(log) = &*worker.access_log.borrow() {
            log.flush();
        }
    }
}

/// What a reload changes for one worker.
pub(crate) struct Command {
    pub(crate) options: Arc<Options>,
    pub(crate) open: Vec<Share>,
    pub(crate) close: Vec<Listener>,
    /// `None`: it stays as it is.
    pub(crate) access_log: Option<Option<WorkerLog>>,
    /// Told once all of it holds.
    pub(crate) done: std::sync::mpsc::Sender<()>,
}

/// What a worker is made of, on its way to its thread.
pub(crate) struct Seed {
    pub(crate) number: usize,
    pub(crate) crew: Arc<Crew>,
    pub(crate) inbox: mpsc::Receiver<HandedOver>,
    pub(crate) handle: Handle,
    pub(crate) compress: compress::Queue,
    pub(crate) access_log: Option<WorkerLog>,
    pub(crate) commands: mpsc::Receiver<Command>,
    pub(crate) course: course::Told,
    pub(crate) shares: Vec<Share>,
    /// Told whether it serves: the kernel sends it clients by now, who would wait for ever for one that does not.
    pub(crate) started: std::sync::mpsc::Sender<io::Result<()>>,
}

impl Seed {
    pub(crate) fn run(self) {
        let runtime =
            match tokio::runtime::Builder::new_current_thread().enable_all().build_local(LocalOptions::default()) {
                Ok(runtime) => runtime,
                Err(error) => {
                    // Who does not listen any more has failed for another reason.
                    let _ = self.started.send(Err(error));
                    return;
                }
            };
        runtime.block_on(async move {
            let Some(top) = self.handle.tops().get(self.number).cloned() else { return };
            let Some(cases) = self.handle.cases().get(self.number).cloned() else { return };
            let worker = Rc::new(Worker {
                top,
                cases,
                settings: RefCell::new(Rc::new(Settings::new(
                    &self.handle.options(),
                    self.handle.origins(),
                    self.handle.metrics(),
                    self.number,
                ))),
                cache: self.handle.cache().clone(),
                spool: self.handle.spool().clone(),
                sessions: self.handle.sessions().clone(),
                guard: self.handle.guard().clone(),
                set_by: self.handle.set_by().clone(),
                samples: Countdown::new(),
                probes: Cell::new(0),
                counted: self.handle.counted().clone(),
                beacons: beacon::Queue::default(),
                client: Rc::new(Client::new()),
                open_files: OpenFiles::with_capacity(
                    self.handle.options().limits.open_files_max,
                    self.handle.workers(),
                ),
                cells: self.handle.metrics().cells(self.number),
                of_no_site: self.handle.metrics().of_no_site(self.number),
                compress: self.compress,
                traces: self.handle.traces().cloned(),
                access_log: RefCell::new(self.access_log),
                read_buffer: Rc::new(RefCell::new(BytesMut::with_capacity(READ_BYTES))),
                heads: Pool::new(),
                uris: Pool::new(),
                buffers: Pool::new(),
                scratch: Scratch::new(),
                paths: RefCell::default(),
                known_authority: RefCell::default(),
                request_ids: RequestIds::new(),
                clock: self.handle.clock().clone(),
                origins: self.handle.origins().clone(),
                metrics: self.handle.metrics().clone(),
                number: self.number,
                crew: self.crew,
                alone: Cell::new(0),
                one_left: Notify::new(),
                servers: Servers::default(),
                course: self.course,
            });
            tokio::task::spawn_local(accept::take_over(worker.clone(), self.inbox));
            tokio::task::spawn_local(flush(worker.clone()));
            let sweeper = tokio::task::spawn_local(sweep(worker.clone()));
            let mut acceptors = Acceptors::default();
            let opened = self.shares.into_iter().try_for_each(|share| acceptors.open(&worker, share));
            // As above.
            let _ = self.started.send(opened);
            until_stopped(&worker, &mut acceptors, self.commands).await;
            sweeper.abort();
            let drained = async {
                // Who has connected by now is served.
                acceptors.wait().await;
                while worker.connections() > 0 {
                    // A connection that was counted as ours may end on its way to us, where nobody tells us.
                    let _ = tokio::time::timeout(RECOUNT_INTERVAL, worker.one_left.notified()).await;
                }
            };
            let deadline = worker.settings().limits.drain_timeout;
            let _ = tokio::time::timeout(deadline, drained).await;
        });
        // Threads that wait for a disk, or for the name of a host, are not waited for: nobody wants to know any more.
        runtime.shutdown_background();
    }
}

/// Carries out what is commanded, until the worker is to stop.
async fn until_stopped(worker: &Rc<Worker>, acceptors: &mut Acceptors, mut commands: mpsc::Receiver<Command>) {
    let mut stopped = std::pin::pin!(worker.stopped());
    loop {
        let command = tokio::select! {
            biased;
            () = &mut stopped => return,
            Some(command) = commands.recv() => command,
        };
        let settings = Settings::new(&command.options, &worker.origins, &worker.metrics, worker.number);
        worker.open_files.set_capacity(settings.limits.open_files_max);
        worker.settings.replace(Rc::new(settings));
        // There may be room by the new limit.
        worker.one_left.notify_waiters();
        if let Some(log) = command.access_log {
            worker.access_log.replace(log);
        }
        acceptors.close(&command.close, &command.options.listeners);
        for share in command.open {
            if let Err(error) = acceptors.open(worker, share) {
                tracing::error!(%error, "a listener could not be served");
            }
        }
        // Nobody waits any more when this worker took too long.
        let _ = command.done.send(());
    }
}

/// The tasks that accept.
#[derive(Default)]
struct Acceptors(Vec<Accepting>);

/// A task that accepts for a listener, and what ends it.
struct Accepting {
    listener: Listener,
    task: JoinHandle<()>,
    close: oneshot::Sender<Closed>,
}

impl Acceptors {
    fn open(&mut self, worker: &Rc<Worker>, share: Share) -> io::Result<()> {
        let Share { listener, socket } = share;
        let (close, closed) = oneshot::channel();
        let acceptor = Acceptor::new(socket, listener.defer_accept)?;
        let accepting = accept::run(worker.clone(), acceptor, listener.clone(), closed);
        self.0.push(Accepting { listener, task: tokio::task::spawn_local(accepting), close });
        Ok(())
    }

    /// Ends those of `closed`, some of whose addresses are `kept` by others.
    fn close(&mut self, closed: &[Listener], kept: &[Listener]) {
        for Accepting { listener, close, .. } in self.0.extract_if(.., |one| closed.contains(&one.listener)) {
            let is_kept = kept.iter().any(|other| other.address == listener.address);
            // A task that has ended already need not be told.
            let _ = close.send(if is_kept { Closed::Replaced } else { Closed::ForGood });
        }
    }

    /// Waits for their ends, which come when the worker stops.
    async fn wait(self) {
        for Accepting { task, .. } in self.0 {
            let _ = task.await;
        }
    }
}
