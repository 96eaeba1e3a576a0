//! The engine: listening sockets, workers, and what changes while they run.
//!
//! A reload gives each worker new settings, and a new access log and new listening sockets where these have changed. It opens
//! everything that may fail before it commands any worker, so a reload that fails changes nothing. Connections and stored
//! responses stay.

use crate::door::Visit;
use crate::observe::access_log::{self, AccessLog};
use crate::observe::trace::SPANS_WAITING_MAX;
use crate::observe::trace::Spans;
use crate::origin::checks::HealthChecks;
use crate::runtime::clock::Clock;
use crate::runtime::compress::Compressor;
use crate::runtime::handle::EngineHandle;
use crate::runtime::shutdown::{self, WorkerState};
use crate::runtime::worker_loads::WorkerLoads;
use crate::server::event_loop::{ReloadCommand, Seed};
use crate::server::listening::{Inherited, Listening};
use crate::server::start_error::StartError;
use crate::server::tiers;
use crate::sites::{guard_rules_hash, sites};
use kasoku_cache::Cache;
use kasoku_cache::purge_exchange::PurgeFollower;
use kasoku_metrics::Metrics;
use kasoku_options::{Listener, Options};
use kasoku_origin::OriginRegistry;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::{mpsc, watch};

/// How long a worker may take to apply its new settings.
const RELOAD_TIMEOUT: Duration = Duration::from_secs(10);

/// The most commands that a worker has not carried out yet.
const COMMANDS_MAX: usize = 4;

/// A running engine. Dropping it stops the workers and waits for them.
pub struct Engine {
    handle: EngineHandle,
    options: watch::Sender<Arc<Options>>,
    listening: Listening,
    shutdown: watch::Sender<WorkerState>,
    loads: Arc<WorkerLoads>,
    workers: Vec<WorkerThread>,
    access_log: Option<AccessLog>,
    checks: Option<HealthChecks>,
    compressor: Compressor,
    /// `None`: there are no other front ends, or the engine has ended.
    follower: Option<PurgeFollower>,
    /// The receiving end of the queue of spans, until it is taken.
    spans: Option<Spans>,
    /// Which of the two rows of counters for log writers is in use.
    log_row: usize,
}

/// Takes requests that come through doors of the embedding program. It outlives the engine, and then takes none.
#[derive(Clone)]
pub struct Entrance {
    loads: Arc<WorkerLoads>,
    options: watch::Receiver<Arc<Options>>,
}

impl Entrance {
    /// Has a worker serve a request. `visit` runs on that worker's thread, where the door stays. Returns whether there was room
    /// for the request: it counts for `connections_max` until its answer has ended.
    pub fn visit(&self, visit: impl FnOnce() -> Visit + Send + 'static) -> bool {
        let connections_max = self.options.borrow().limits.connections_max;
        self.loads.visit(Box::new(visit), connections_max)
    }
}

/// A worker's thread, and the channel of its commands.
struct WorkerThread {
    thread: JoinHandle<()>,
    commands: mpsc::Sender<ReloadCommand>,
}

impl Engine {
    /// Opens all listeners and starts the workers. When it fails, nothing is served.
    pub fn start(options: Options, clock: Arc<dyn Clock>) -> Result<Self, StartError> {
        let listening = Listening::open(&options.listeners, options.workers.max(1), &mut Inherited::default())?;
        let peers = options.peers.as_ref().map(|peers| peers.listen);
        let listening = listening.and_for_peers(peers, &mut Inherited::default())?;
        Self::serve(options, listening, clock)
    }

    /// Starts the workers on sockets that are open already.
    pub fn serve(options: Options, listening: Listening, clock: Arc<dyn Clock>) -> Result<Self, StartError> {
        let workers = options.workers.max(1);
        let shares = listening.shares(workers).map_err(|error| StartError { what: "a listener".to_owned(), error })?;
        let cache = tiers::open(&options, &clock)?;
        let peers_socket =
            listening.for_peers().map_err(|error| StartError { what: "the listener for peers".to_owned(), error })?;
        let follower = PurgeFollower::start(&cache, peers_socket)
            .map_err(|error| StartError { what: "the thread for purges of other front ends".to_owned(), error })?;
        // Three rows of counters more than workers: for the log's writer, for the writer that takes its place, and for calls
        // through a handle.
        let metrics = Metrics::new(workers + 3);
        let access_log = open_log(&options, workers, &metrics, 0)?;
        let (shutdown, shutdown_receiver) = shutdown::channel();
        let (sender, receiver) = watch::channel(Arc::new(options));
        let collector = receiver.borrow().traces.collector.is_some();
        let (traces, spans) = collector.then(|| mpsc::channel(SPANS_WAITING_MAX)).unzip();
        let handle = EngineHandle::new(cache, metrics, clock, receiver, workers, traces);
        let options = handle.options();
        let checks = HealthChecks::start(&options, handle.origins(), handle.clock())
            .map_err(|error| StartError { what: "the checks of origins".to_owned(), error })?;
        let compressor = Compressor::start(workers, handle.cache(), &handle.cells())
            .map_err(|error| StartError { what: "the threads for compression".to_owned(), error })?;
        let (loads, inboxes) = WorkerLoads::new(workers, spare_descriptors());
        tell_of_few_descriptors(&options, workers, &loads);
        let mut engine = Self {
            loads: loads.clone(),
            handle,
            options: sender,
            listening,
            shutdown,
            workers: Vec::new(),
            access_log,
            checks,
            compressor,
            follower,
            spans,
            log_row: 0,
        };
        let (started, starts) = std::sync::mpsc::channel();
        for (number, (shares, inbox)) in shares.into_iter().zip(inboxes).enumerate() {
            let (commands, received) = mpsc::channel(COMMANDS_MAX);
            let seed = Seed {
                number,
                loads: loads.clone(),
                inbox,
                handle: engine.handle.clone(),
                compress: engine.compressor.queue().clone(),
                access_log: engine.log_of_worker(number),
                commands: received,
                shutdown: shutdown_receiver.clone(),
                shares,
                started: started.clone(),
            };
            let thread = std::thread::Builder::new().name(format!("worker-{number}")).spawn(move || seed.run());
            let thread = thread.map_err(|error| StartError { what: format!("worker {number}"), error })?;
            engine.workers.push(WorkerThread { thread, commands });
        }
        drop(started);
        for _ in 0..workers {
            let ended = || Err(io::Error::other("it ended at once"));
            let start = starts.recv().unwrap_or_else(|_| ended());
            start.map_err(|error| StartError { what: "a worker".to_owned(), error })?;
        }
        Ok(engine)
    }

    /// Serves by these options from now on. The number of workers and the size of the memory stay as they are until the next
    /// start. Running requests end by the old options.
    ///
    /// # Errors
    /// A listener or the log can't be opened, or a worker still has to carry out earlier reloads: then everything stays as it
    /// was.
    pub fn reload(&mut self, options: Options) -> Result<(), StartError> {
        let workers = self.workers.len();
        let options = Arc::new(options);
        let before = self.options.borrow().clone();
        // All workers get the command, or none.
        let places: Result<Vec<_>, _> = self.workers.iter().map(|worker| worker.commands.try_reserve()).collect();
        let places = places.map_err(|_| StartError { what: "a worker".to_owned(), error: still_reloading() })?;
        let listening = self.listening.changed(&options.listeners, workers)?;
        let closed: Vec<Listener> = before.listeners.iter().filter(|old| !listening.has(old)).cloned().collect();
        let shares = listening.shares(workers).map_err(|error| StartError { what: "a listener".to_owned(), error })?;
        let has_other_log = before.access_log != options.access_log;
        let log_row = if has_other_log { 1 - self.log_row } else { self.log_row };
        let new_log =
            if has_other_log { Some(open_log(&options, workers, self.handle.metrics(), log_row)?) } else { None };
        let old_log = new_log.map(|new| std::mem::replace(&mut self.access_log, new));
        let opened = |old: &Listener| !self.listening.has(old);
        let (done, wait) = std::sync::mpsc::channel();
        for (number, (place, shares)) in places.into_iter().zip(shares).enumerate() {
            let command = ReloadCommand {
                options: options.clone(),
                open: shares.into_iter().filter(|share| opened(&share.listener)).collect(),
                close: closed.clone(),
                access_log: has_other_log.then(|| self.log_of_worker(number)),
                done: done.clone(),
            };
            place.send(command);
        }
        drop(done);
        tell_of_few_descriptors(&options, workers, &self.loads);
        self.listening = listening;
        self.log_row = log_row;
        self.options.send_replace(options);
        for number in 0..workers {
            if wait.recv_timeout(RELOAD_TIMEOUT).is_err() {
                tracing::warn!(workers = workers - number, "some workers have not taken the new settings yet");
                break;
            }
        }
        if let Some(Some(log)) = old_log {
            log.finish();
        }
        let options = self.handle.options();
        self.handle.guard().keep_only(&guard_rules_hash(&sites(&options)));
        let names: Vec<&str> = options.sites.iter().map(|site| site.name.as_str()).collect();
        self.handle.metrics().keep_only_sites(&names);
        self.follow_origins();
        Ok(())
    }

    /// The spans of all workers, for a task that sends them to a collector; `None`: there is no collector, or they were taken
    /// already.
    pub fn take_spans(&mut self) -> Option<Spans> {
        self.spans.take()
    }

    /// Opens the access log's file anew, after it was moved away.
    pub fn reopen_log(&self) {
        if let Some(log) = &self.access_log {
            log.reopen();
        }
    }

    /// The TCP addresses that are served, in the order of the listeners.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.listening.addresses()
    }

    /// The sockets, for a process that takes this one's place.
    pub fn listening(&self) -> &Listening {
        &self.listening
    }

    /// The cache that the workers share.
    pub fn cache(&self) -> &Cache {
        self.handle.cache()
    }

    /// What the workers have counted.
    pub fn metrics(&self) -> &Metrics {
        self.handle.metrics()
    }

    /// What is known of the origins.
    pub fn origins(&self) -> &OriginRegistry {
        self.handle.origins()
    }

    /// The handle by which other code reads and commands the engine.
    pub fn handle(&self) -> &EngineHandle {
        &self.handle
    }

    /// Takes requests that come through doors of the embedding program.
    pub fn entrance(&self) -> Entrance {
        Entrance { loads: self.loads.clone(), options: self.options.subscribe() }
    }

    /// Stops accepting, and ends each connection when its request ends, at the latest at the workers' deadline. Waits for that.
    pub fn stop(mut self) {
        self.end(WorkerState::Stopping);
    }

    /// Stops likewise, where another process listens on the same sockets: new connections are that process's.
    pub fn leave(mut self) {
        self.end(WorkerState::HandingOver);
    }

    /// Forgets the origins that the configuration no longer names, resolves the names of the others anew, and checks those that it now
    /// wants checked.
    fn follow_origins(&mut self) {
        let (options, origins) = (self.handle.options(), self.handle.origins());
        origins.keep_only(options.routes().flat_map(|route| &route.origins).map(|origin| &origin.address));
        origins.renew_names();
        // The old checks end first, or an origin would be checked twice at a time.
        self.checks = None;
        match HealthChecks::start(&options, origins, self.handle.clock()) {
            Ok(checks) => self.checks = checks,
            Err(error) => tracing::error!(%error, "the checks of origins could not be started"),
        }
    }

    fn log_of_worker(&self, number: usize) -> Option<access_log::WorkerLog> {
        self.access_log.as_ref().map(|log| log.of_worker(self.handle.metrics().cells(number)))
    }

    fn end(&mut self, shutdown: WorkerState) {
        // While a duplicate is open, clients could connect to a socket from which no worker accepts.
        self.listening = Listening::default();
        // The receivers are gone only when all workers have ended already.
        let _ = self.shutdown.send(shutdown);
        self.checks = None;
        if shutdown == WorkerState::HandingOver {
            // Peers write to the new process from now on. What is purged here until the last request ends is still told to them.
            if let Some(follower) = &self.follower {
                follower.stop_listening();
            }
            // Long before the last request ends here: the new process has nothing stored without it.
            self.handle.cache().give_up_disk();
        }
        for worker in self.workers.drain(..) {
            let _ = worker.thread.join();
        }
        // The workers' last purges have been told by then, and those of others are on disk.
        if let Some(follower) = self.follower.take() {
            follower.stop();
        }
        // Another process may wait for the directory.
        self.handle.cache().stop_disk();
        // No worker asks these programs any more.
        kasoku_programs::spawned::stop(self.handle.origins());
        // The workers have handed their lines to the writer.
        if let Some(log) = self.access_log.take() {
            log.finish();
        }
    }
}

/// How many descriptors more the process may open.
fn spare_descriptors() -> u64 {
    let usage = kasoku_sys::usage::usage().ok();
    let spare = usage.and_then(|usage| Some(usage.descriptors_max?.saturating_sub(usage.open_descriptors)));
    spare.unwrap_or(u64::MAX)
}

/// A worker that serves fewer connections than these may be too small for a public site.
const FEW_CONNECTIONS: usize = 1024;

fn tell_of_few_descriptors(options: &Options, workers: usize, loads: &WorkerLoads) {
    let (wanted, possible) = (options.limits.connections_max, loads.connections_max());
    let said = format!(
        "each of {workers} workers serves at most {possible} connections, not {wanted} (limits.connections-max): clients get five \
         eighths of the descriptors that the process may open (ulimit -n, LimitNOFILE)"
    );
    match possible {
        _ if possible >= wanted => {}
        FEW_CONNECTIONS.. => tracing::info!("{said}"),
        _ => tracing::warn!("{said}"),
    }
}

fn still_reloading() -> io::Error {
    io::Error::new(io::ErrorKind::WouldBlock, "it has not taken the settings of earlier reloads yet")
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.end(WorkerState::Stopping);
    }
}

fn open_log(options: &Options, workers: usize, metrics: &Metrics, row: usize) -> Result<Option<AccessLog>, StartError> {
    AccessLog::start(&options.access_log, workers, metrics.cells(workers + row))
        .map_err(|error| StartError { what: access_log::name(&options.access_log), error })
}
