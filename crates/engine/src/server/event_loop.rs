//! A worker's thread and event loop: opens the listeners, applies reloads, and drains connections at the end.

use crate::client::accept::{self, Closed};
use crate::observe::access_log::{self, WorkerLog};
use crate::runtime::compress;
use crate::runtime::handle::EngineHandle;
use crate::runtime::shutdown;
use crate::runtime::worker::{Worker, WorkerParts};
use crate::runtime::worker_loads::{HandedOverConnection, WorkerLoads};
use crate::server::listening::WorkerSocket;
use kasoku_options::{Listener, Options};
use kasoku_sys::Acceptor;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::LocalOptions;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// How often idle origin connections and open files are checked.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// How often a stopping worker counts its connections.
const RECOUNT_INTERVAL: Duration = Duration::from_millis(50);

/// Closes idle origin connections and open files when their time is over, for as long as the worker runs.
async fn sweep(worker: Rc<Worker>) {
    loop {
        tokio::time::sleep(SWEEP_INTERVAL).await;
        worker.client.sweep();
        worker.open_files.sweep();
    }
}

/// Hands the current page of the access log over, for as long as the worker runs.
async fn flush(worker: Rc<Worker>) {
    loop {
        tokio::time::sleep(access_log::FLUSH_INTERVAL).await;
        if let Some(log) = &*worker.access_log.borrow() {
            log.flush();
        }
    }
}

/// What a reload changes for one worker.
pub(crate) struct ReloadCommand {
    pub(crate) options: Arc<Options>,
    pub(crate) open: Vec<WorkerSocket>,
    pub(crate) close: Vec<Listener>,
    /// `None`: the log stays as it is. `Some(None)`: the worker writes no log any more.
    pub(crate) access_log: Option<Option<WorkerLog>>,
    /// Told once the worker has carried out all of it.
    pub(crate) done: std::sync::mpsc::Sender<()>,
}

/// The parts of a worker, on their way to its thread.
pub(crate) struct Seed {
    pub(crate) number: usize,
    pub(crate) loads: Arc<WorkerLoads>,
    pub(crate) inbox: mpsc::Receiver<HandedOverConnection>,
    pub(crate) handle: EngineHandle,
    pub(crate) compress: compress::Queue,
    pub(crate) access_log: Option<WorkerLog>,
    pub(crate) commands: mpsc::Receiver<ReloadCommand>,
    pub(crate) shutdown: shutdown::ShutdownReceiver,
    pub(crate) shares: Vec<WorkerSocket>,
    /// Told whether the worker serves. The kernel assigns clients to the worker's sockets already. They would wait for ever if it
    /// does not serve.
    pub(crate) started: std::sync::mpsc::Sender<io::Result<()>>,
}

impl Seed {
    pub(crate) fn run(self) {
        let runtime =
            match tokio::runtime::Builder::new_current_thread().enable_all().build_local(LocalOptions::default()) {
                Ok(runtime) => runtime,
                Err(error) => {
                    // If the receiver is gone, the start has failed for another reason.
                    let _ = self.started.send(Err(error));
                    return;
                }
            };
        runtime.block_on(async move {
            let parts = WorkerParts {
                number: self.number,
                loads: self.loads,
                compress: self.compress,
                access_log: self.access_log,
                shutdown: self.shutdown,
            };
            let Some(worker) = Worker::new(&self.handle, parts) else { return };
            tokio::task::spawn_local(accept::take_over(worker.clone(), self.inbox));
            tokio::task::spawn_local(flush(worker.clone()));
            let sweeper = tokio::task::spawn_local(sweep(worker.clone()));
            let mut acceptors = Acceptors::default();
            let opened = self.shares.into_iter().try_for_each(|share| acceptors.open(&worker, share));
            // If the receiver is gone, the start has failed for another reason.
            let _ = self.started.send(opened);
            until_stopped(&worker, &mut acceptors, self.commands).await;
            sweeper.abort();
            let drained = async {
                // Clients that have connected by now are served.
                acceptors.wait().await;
                while worker.connections() > 0 {
                    // A connection that was counted as this worker's may end on its way here, which nothing reports.
                    let _ = tokio::time::timeout(RECOUNT_INTERVAL, worker.one_has_left()).await;
                }
            };
            let deadline = worker.settings().limits.drain_timeout;
            let _ = tokio::time::timeout(deadline, drained).await;
        });
        // Threads that wait for a disk, or for a host name, are not waited for: no request needs their results any more.
        runtime.shutdown_background();
    }
}

/// Carries out commands until the worker is to stop.
async fn until_stopped(worker: &Rc<Worker>, acceptors: &mut Acceptors, mut commands: mpsc::Receiver<ReloadCommand>) {
    let mut stopped = std::pin::pin!(worker.stopped());
    loop {
        let command = tokio::select! {
            biased;
            () = &mut stopped => return,
            Some(command) = commands.recv() => command,
        };
        worker.configure(&command.options);
        if let Some(log) = command.access_log {
            worker.access_log.replace(log);
        }
        acceptors.close(&command.close, &command.options.listeners);
        for share in command.open {
            if let Err(error) = acceptors.open(worker, share) {
                tracing::error!(%error, "a listener could not be served");
            }
        }
        // The receiver is gone when this worker took too long.
        let _ = command.done.send(());
    }
}

/// The tasks that accept connections.
#[derive(Default)]
struct Acceptors(Vec<Accepting>);

/// A task that accepts for a listener, and what ends it.
struct Accepting {
    listener: Listener,
    task: JoinHandle<()>,
    close: oneshot::Sender<Closed>,
}

impl Acceptors {
    fn open(&mut self, worker: &Rc<Worker>, share: WorkerSocket) -> io::Result<()> {
        let WorkerSocket { listener, socket } = share;
        let (close, closed) = oneshot::channel();
        let acceptor = Acceptor::new(socket, listener.defer_accept)?;
        let accepting = accept::run(worker.clone(), acceptor, listener.clone(), closed);
        self.0.push(Accepting { listener, task: tokio::task::spawn_local(accepting), close });
        Ok(())
    }

    /// Ends the tasks of the `closed` listeners. `kept`: the listeners that stay or are new; one of them may take over the
    /// address of a closed one.
    fn close(&mut self, closed: &[Listener], kept: &[Listener]) {
        for Accepting { listener, close, .. } in self.0.extract_if(.., |one| closed.contains(&one.listener)) {
            let is_kept = kept.iter().any(|other| other.address == listener.address);
            // A task that has ended already need not be told.
            let _ = close.send(if is_kept { Closed::Replaced } else { Closed::ForGood });
        }
    }

    /// Waits until the tasks end, which they do when the worker stops.
    async fn wait(self) {
        for Accepting { task, .. } in self.0 {
            let _ = task.await;
        }
    }
}
