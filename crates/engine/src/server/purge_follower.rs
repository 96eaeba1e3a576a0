//! Keeps this front end in step with the others: a thread of its own reads the purges of the others from each server of a shared tier, or from each
//! peer, and writes those of this one there. Where there are peers, they are answered by the same thread.
//!
//! It begins before the workers do, and ends after them: while any of them serves, it hears of purges, and its own ones reach the others.

use crate::runtime::clock::Clock;
use kasoku_cache::Cache;
use kasoku_cache::purge_exchange::PurgeExchange;
use kasoku_cache::shared::Items;
use kasoku_shared::peers::{OWN_LOG, PeerConnections, Peers, listen};
use kasoku_shared::purge_log::{self, Epoch, PurgeLog, Purger};
use kasoku_shared::{Endpoint, Failure};
use kasoku_sys::listen::ListeningSocket;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::LocalOptions;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// How often the purges of other front ends are read from each log. A purge is seen by all within this time and that of a request.
const INTERVAL: Duration = Duration::from_millis(250);

/// The same for a server that can't be asked. When it is back, other front ends may read its items as soon, so a purge that it lacks must not wait for
/// longer.
const INTERVAL_AWAY: Duration = Duration::from_millis(500);

/// How long a start waits until each log has been tried: what is on disk may have been purged meanwhile.
const FIRST_READING_TIMEOUT: Duration = Duration::from_secs(1);

/// How long the end waits for what is under way, and then until the last purges have been written.
const LAST_WRITING_TIMEOUT: Duration = Duration::from_secs(1);

/// See the [module](self).
pub(crate) struct PurgeFollower {
    stop: watch::Sender<bool>,
    listens: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl PurgeFollower {
    /// Begins to follow, if there are other front ends. Each log has been tried by then, or has not answered in time. `peers_socket`: where peers
    /// connect.
    pub(crate) fn start(
        cache: &Cache,
        clock: &Arc<dyn Clock>,
        peers_socket: Option<ListeningSocket>,
    ) -> io::Result<Option<Self>> {
        let Some(exchange) = cache.purge_exchange().cloned() else { return Ok(None) };
        let (stop, stopped) = watch::channel(false);
        let (listens, stops_listening) = watch::channel(true);
        let (tried, tries) = channel();
        let logs = match &exchange {
            PurgeExchange::Tier(tier) => tier.servers().all().len(),
            PurgeExchange::Peers(peers) => 1 + peers.all().len(),
        };
        let (cache, clock) = (cache.clone(), clock.clone());
        let thread = std::thread::Builder::new().name("shared-purges".to_owned()).spawn(move || {
            let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build_local(LocalOptions::default()) {
                Ok(runtime) => runtime,
                Err(error) => {
                    tracing::error!(%error, "the purges of other front ends can't be followed, and a shared tier is not used");
                    return;
                }
            };
            runtime.block_on(async move {
                let mut following = JoinSet::new();
                if let PurgeExchange::Peers(peers) = &exchange {
                    tokio::spawn(listen_for_peers(peers.clone(), peers_socket, stops_listening));
                }
                let logs_of = Logs::of(&exchange);
                for log in 0..logs {
                    let follower = Follower { cache: cache.clone(), clock: clock.clone(), logs: logs_of.clone(), log };
                    following.spawn_local(follower.run(stopped.clone(), tried.clone()));
                }
                drop(tried);
                following.join_all().await;
            });
            // A host name that is being looked up is not waited for.
            runtime.shutdown_background();
        })?;
        await_tries(&tries, logs);
        Ok(Some(Self { stop, listens, thread: Some(thread) }))
    }

    /// Leaves the peers to a process that listens on the same socket. What it has to hear of is still told to all.
    pub(crate) fn stop_listening(&self) {
        self.listens.send_replace(false);
    }

    /// Ends after a last attempt to write what the others have not been told yet.
    pub(crate) fn stop(mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Waits until each log has been tried.
fn await_tries(tries: &Receiver<()>, logs: usize) {
    let until = std::time::Instant::now() + FIRST_READING_TIMEOUT;
    for _ in 0..logs {
        let left = until.saturating_duration_since(std::time::Instant::now());
        if tries.recv_timeout(left).is_err() {
            return;
        }
    }
}

/// Answers peers until another process does.
async fn listen_for_peers(peers: Arc<Peers>, socket: Option<ListeningSocket>, mut listens: watch::Receiver<bool>) {
    let Some(ListeningSocket::Tcp(socket)) = socket else { return };
    match TcpListener::from_std(socket) {
        Ok(listener) => tokio::select! {
            () = listen(peers, listener) => {}
            _ = listens.wait_for(|listens| !listens) => {}
        },
        Err(error) => tracing::error!(%error, "peers can't connect: they are asked, and can't write here"),
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
struct Follower {
    cache: Cache,
    clock: Arc<dyn Clock>,
    logs: Logs,
    log: usize,
}

impl Follower {
    async fn run(self, mut stopped: watch::Receiver<bool>, tried: Sender<()>) {
        let mut watch = PeerWatch::default();
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
        let _ = timeout(LAST_WRITING_TIMEOUT, self.follow(&mut watch)).await;
    }

    /// Follows until the end. What is under way then is carried on.
    async fn follow_on(&self, tried: Sender<()>, watch: &mut PeerWatch, mut stopped: watch::Receiver<bool>) {
        let mut tried = Some(tried);
        let mut follow = async || {
            let is_read = self.follow(watch).await;
            if let Some(tried) = tried.take() {
                // Nobody waits if the start has taken too long.
                let _ = tried.send(());
            }
            is_read
        };
        let mut news = self.logs.purges().news();
        let mut written = match &self.logs {
            Logs::Peers(connections) if self.log == OWN_LOG => Some(connections.peers().news()),
            Logs::Peers(_) | Logs::Tier(_) => None,
        };
        loop {
            let is_read = follow().await;
            let waits = async {
                match &mut written {
                    Some(written) => tokio::select! { _ = news.changed() => {} _ = written.changed() => {} },
                    // Nobody waits for what can't be written.
                    None => {
                        while news.changed().await.is_ok() && !is_read {
                            self.logs.purges().is_away(self.log);
                        }
                    }
                }
            };
            let interval = if is_read { INTERVAL } else { INTERVAL_AWAY };
            tokio::select! {
                _ = timeout(interval, waits) => {}
                _ = stopped.wait_for(|stopped| *stopped) => return,
            }
        }
    }

    async fn follow(&self, watch: &mut PeerWatch) -> bool {
        let now = || {
            let now = self.clock.now();
            purge_log::Clock { unix_ms: now.unix_ms, mono_ms: now.mono_ms }
        };
        let purger = Impatient(&self.cache);
        match &self.logs {
            Logs::Tier(items) => items.follow(self.log, &purger, now).await,
            Logs::Peers(connections) => {
                let followed = connections.follow(self.log, &purger, now).await;
                let number = self.log.checked_sub(1);
                if let Some(peer) = number.and_then(|number| connections.peers().all().get(number)) {
                    watch.see(&peer.endpoint, followed.as_ref().err());
                }
                followed.unwrap_or(false)
            }
        }
    }
}

/// Whether a peer could be reached the last time: only a change is logged.
#[derive(Default)]
struct PeerWatch {
    is_away: bool,
}

impl PeerWatch {
    fn see(&mut self, peer: &Endpoint, failure: Option<&Failure>) {
        match failure {
            Some(failure) if !self.is_away => {
                tracing::warn!(%peer, %failure, "the peer can't be asked: purges reach it when it is back");
            }
            None if self.is_away => tracing::info!(%peer, "the peer is back"),
            _ => {}
        }
        self.is_away = failure.is_some();
    }
}

/// The cache, which is not waited for longer than until the log is read the next time: a disk that hangs must not make the servers useless.
struct Impatient<'c>(&'c Cache);

impl Purger for Impatient<'_> {
    fn carry_out(&self, purge: &[u8]) -> Option<Epoch> {
        self.0.carry_out(purge)
    }

    async fn make_certain(&self) -> bool {
        timeout(INTERVAL, self.0.make_certain()).await == Ok(true)
    }

    fn drop_everything(&self) {
        self.0.drop_everything();
    }

    fn epoch(&self) -> Epoch {
        self.0.epoch()
    }
}
