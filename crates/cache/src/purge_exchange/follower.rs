//! Keeps this front end in step with the others: a thread of its own reads the purges of the others from each server of a shared tier, or from each
//! peer, and writes those of this one there. Where there are peers, they are answered by the same thread.
//!
//! The host starts it before it serves, and stops it afterwards: while it serves, it hears of purges, and its own ones reach the others. The thread
//! has a runtime of its own, so that neither waits for a worker or a handler of the host, and none of these waits for it.

use super::{Link, Linked, PurgeExchange};
use crate::Cache;
use kasoku_shared::peers::{OWN_LOG, PeerConnections, Peers, listen};
use kasoku_shared::purge_log::{self, Epoch, PurgeLog, Purger};
use kasoku_shared::{Failure, Items};
use std::io;
use std::net::TcpListener as StdTcpListener;
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// How often the purges of other front ends are read from each log. A purge is seen by all within this time and that of a request.
const INTERVAL: Duration = Duration::from_millis(250);

/// The same for a server that can't be asked. When it is back, other front ends may read its items as soon, so a purge that it lacks must not wait for
/// longer.
const INTERVAL_AWAY: Duration = Duration::from_millis(500);

/// The pause before a log is read again while records are still written to it, by this process or another one.
const INTERVAL_OF_WRITERS: Duration = Duration::from_millis(5);

/// How long a start waits until each log has been tried: what is on disk may have been purged meanwhile.
const FIRST_READING_TIMEOUT: Duration = Duration::from_secs(1);

/// How long the end waits for what is under way, and then for each step of writing the last purges; and for all these steps at most. A busy
/// machine takes its time for many purges, and what is not told stays for as long as it is fresh.
const LAST_WRITING_TIMEOUT: Duration = Duration::from_secs(1);
const LAST_WRITING_MAX: Duration = Duration::from_secs(5);

/// The thread that keeps a cache in step with others. Dropping it stops the thread, as [`PurgeFollower::stop`] does.
pub struct PurgeFollower {
    stop: watch::Sender<bool>,
    listens: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl PurgeFollower {
    /// Begins to follow, if the cache exchanges purges with others. Each log has been tried by then, or has not answered within a second.
    /// `peers_socket`: where peers connect.
    ///
    /// # Errors
    /// The thread can't be started, or its runtime, or it can't accept connections at that socket.
    pub fn start(cache: &Cache, peers_socket: Option<StdTcpListener>) -> io::Result<Option<Self>> {
        Self::start_for(cache, peers_socket)
    }

    /// The same for a cache of any kind. Its thread has a clone of the cache, so the cache must not own what this returns.
    pub(crate) fn start_for<C: Linked>(cache: &C, peers_socket: Option<StdTcpListener>) -> io::Result<Option<Self>> {
        let Some(link) = cache.link().cloned() else { return Ok(None) };
        let exchange = link.exchange().clone();
        let (stop, stopped) = watch::channel(false);
        let (listens, stops_listening) = watch::channel(true);
        let (started, starts) = channel();
        let (tried, tries) = channel();
        let logs = match &exchange {
            PurgeExchange::Tier(tier) => tier.servers().all().len(),
            PurgeExchange::Peers(peers) => 1 + peers.all().len(),
        };
        let cache = cache.clone();
        let thread = std::thread::Builder::new().name("shared-purges".to_owned()).spawn(move || {
            let (runtime, listener) = match runtime(peers_socket) {
                Ok(made) => made,
                Err(error) => {
                    let _ = started.send(Err(error));
                    return;
                }
            };
            let _ = started.send(Ok(()));
            runtime.block_on(async move {
                let mut following = JoinSet::new();
                if let (PurgeExchange::Peers(peers), Some(listener)) = (&exchange, listener) {
                    tokio::spawn(listen_for_peers(peers.clone(), listener, stops_listening));
                }
                let logs_of = Logs::of(&exchange);
                for log in 0..logs {
                    let follower = Follower { cache: cache.clone(), link: link.clone(), logs: logs_of.clone(), log };
                    following.spawn_local(follower.run(stopped.clone(), tried.clone()));
                }
                drop(tried);
                following.join_all().await;
            });
            // A host name that is being looked up is not waited for.
            runtime.shutdown_background();
        })?;
        starts.recv().unwrap_or_else(|_| Err(io::Error::other("its thread has ended at once")))?;
        await_tries(&tries, logs);
        Ok(Some(Self { stop, listens, thread: Some(thread) }))
    }

    /// Leaves the peers to a process that listens on the same socket. What it has to hear of is still told to all.
    pub fn stop_listening(&self) {
        self.listens.send_replace(false);
    }

    /// Ends after a last attempt to write what the others have not been told yet. Blocks until then: for a second for what is
    /// under way, and for another one if the attempt makes no progress, five if it does.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for PurgeFollower {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Waits until each log has been tried.
fn await_tries(tries: &Receiver<()>, logs: usize) {
    let until = Instant::now() + FIRST_READING_TIMEOUT;
    for _ in 0..logs {
        let left = until.saturating_duration_since(Instant::now());
        if tries.recv_timeout(left).is_err() {
            return;
        }
    }
}

/// The runtime of the thread, and the socket as that runtime accepts connections at it.
fn runtime(peers_socket: Option<StdTcpListener>) -> io::Result<(LocalRuntime, Option<TcpListener>)> {
    let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default())?;
    let Some(socket) = peers_socket else { return Ok((runtime, None)) };
    socket.set_nonblocking(true)?;
    let listener = runtime.block_on(async { TcpListener::from_std(socket) })?;
    Ok((runtime, Some(listener)))
}

/// Answers peers until another process does.
async fn listen_for_peers(peers: Arc<Peers>, listener: TcpListener, mut listens: watch::Receiver<bool>) {
    tokio::select! {
        () = listen(peers, listener) => {}
        _ = listens.wait_for(|listens| !listens) => {}
    }
}

/// The logs that are followed, by connections of this thread.
#[derive(Clone)]
enum Logs {
    Tier(Items),
    Peers(Arc<PeerConnections>),
}

impl Logs {
    fn of(exchange: &PurgeExchange) -> Self {
        match exchange {
            PurgeExchange::Tier(tier) => Self::Tier(tier.items_to_follow()),
            PurgeExchange::Peers(peers) => Self::Peers(Arc::new(peers.connections())),
        }
    }

    fn purges(&self) -> &PurgeLog {
        match self {
            Self::Tier(items) => items.tier().log(),
            Self::Peers(connections) => connections.peers().log(),
        }
    }
}

/// Follows one log.
struct Follower<C> {
    cache: C,
    link: Link,
    logs: Logs,
    log: usize,
}

impl<C: Linked> Follower<C> {
    async fn run(self, mut stopped: watch::Receiver<bool>, tried: Sender<()>) {
        let mut watch = Watch::default();
        {
            let mut following = pin!(self.follow_on(tried, &mut watch, stopped.clone()));
            tokio::select! {
                () = &mut following => {}
                _ = stopped.wait_for(|stopped| *stopped) => {
                    // What is under way may be a purge that was counted and is not written yet. Without it, all others would drop everything.
                    let _ = timeout(LAST_WRITING_TIMEOUT, following).await;
                }
            }
        }
        let begun = Instant::now();
        loop {
            let before = self.lacking();
            let step = async {
                self.follow(&mut watch).await;
                while self.lacking() >= before.max(1) {
                    sleep(INTERVAL_OF_WRITERS).await;
                    self.follow(&mut watch).await;
                }
            };
            let time = LAST_WRITING_TIMEOUT.min(LAST_WRITING_MAX.saturating_sub(begun.elapsed()));
            if timeout(time, step).await.is_err() || self.lacking() == 0 {
                break;
            }
        }
        let left = self.lacking();
        if left > 0 {
            tracing::warn!(
                log = self.logs.purges().name(self.log),
                purges = left,
                "this process ends before all its purges are in the log: other processes may keep what they cover"
            );
        }
    }

    /// How many purges of this process the log lacks.
    fn lacking(&self) -> usize {
        self.logs.purges().lacking(self.log)
    }

    /// Follows once. Returns whether the log was read to its end, and whether this process has more purges that it can add now.
    async fn follow_and_has_more(&self, watch: &mut Watch) -> (bool, bool) {
        let before = self.lacking();
        let is_read = self.follow(watch).await;
        // Where none of them could be written, the next try must not come at once.
        (is_read, is_read && (1..before).contains(&self.lacking()))
    }

    /// Follows until the end. What is under way then is carried on.
    async fn follow_on(&self, tried: Sender<()>, watch: &mut Watch, mut stopped: watch::Receiver<bool>) {
        let mut tried = Some(tried);
        let mut follow = async || {
            let followed = self.follow_and_has_more(watch).await;
            if let Some(tried) = tried.take() {
                // Nobody waits if the start has taken too long.
                let _ = tried.send(());
            }
            followed
        };
        let mut news = self.logs.purges().news();
        let mut written = match &self.logs {
            Logs::Peers(connections) if self.log == OWN_LOG => Some(connections.peers().news()),
            Logs::Peers(_) | Logs::Tier(_) => None,
        };
        loop {
            let (is_read, has_more) = follow().await;
            let waits = async {
                match &mut written {
                    Some(written) => {
                        // Another front end has raised the counter and still writes the records. Each record that arrives wakes this task.
                        if !is_read {
                            sleep(INTERVAL_OF_WRITERS).await;
                        }
                        tokio::select! { _ = news.changed() => {} _ = written.changed() => {} }
                    }
                    // Nobody waits for what can't be written.
                    None => {
                        while news.changed().await.is_ok() && !is_read {
                            self.logs.purges().is_away(self.log);
                        }
                    }
                }
            };
            let interval = match (is_read, has_more) {
                (_, true) => INTERVAL_OF_WRITERS,
                (true, false) => INTERVAL,
                (false, false) => INTERVAL_AWAY,
            };
            tokio::select! {
                _ = timeout(interval, waits) => {}
                _ = stopped.wait_for(|stopped| *stopped) => return,
            }
        }
    }

    async fn follow(&self, watch: &mut Watch) -> bool {
        let now = || {
            let now = self.link.now();
            purge_log::Clock { unix_ms: now.unix_ms, mono_ms: now.mono_ms }
        };
        let purger = Impatient(&self.cache);
        match &self.logs {
            Logs::Tier(items) => {
                let followed = items.follow(self.log, &purger, now).await;
                // The others are watched where their primary is looked for.
                if items.tier().is_memcached() {
                    watch.see("server", &self.logs.purges().name(self.log), followed.as_ref().err());
                }
                followed.unwrap_or(false)
            }
            Logs::Peers(connections) => {
                let followed = connections.follow(self.log, &purger, now).await;
                if self.log != OWN_LOG {
                    watch.see("peer", &self.logs.purges().name(self.log), followed.as_ref().err());
                }
                followed.unwrap_or(false)
            }
        }
    }
}

/// Whether a server or a peer could be reached the last time: only a change is logged.
#[derive(Default)]
struct Watch {
    is_away: bool,
}

impl Watch {
    /// `kind`: what it is called in the log.
    fn see(&mut self, kind: &str, address: &str, failure: Option<&Failure>) {
        match failure {
            Some(failure) if !self.is_away => {
                tracing::warn!(address, %failure, "the {kind} can't be asked: purges reach it when it is back");
            }
            None if self.is_away => tracing::info!(address, "the {kind} is back"),
            _ => {}
        }
        self.is_away = failure.is_some();
    }
}

/// The cache, which is not waited for longer than until the log is read the next time: a disk that hangs must not make the servers useless.
struct Impatient<'c, C>(&'c C);

impl<C: Purger> Purger for Impatient<'_, C> {
    fn carry_out(&self, purge: &[u8]) -> Option<Epoch> {
        Purger::carry_out(self.0, purge)
    }

    async fn make_certain(&self) -> bool {
        timeout(INTERVAL, Purger::make_certain(self.0)).await == Ok(true)
    }

    fn drop_everything(&self) {
        Purger::drop_everything(self.0);
    }

    fn epoch(&self) -> Epoch {
        Purger::epoch(self.0)
    }
}
