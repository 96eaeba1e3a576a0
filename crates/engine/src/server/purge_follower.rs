//! Keeps this front end in step with the others of a shared tier: a thread of its own reads the purges of the others from each server, and writes
//! those of this one there.
//!
//! It begins before the workers do, and ends after them: while any of them serves, it hears of purges, and its own ones reach the others.

use crate::runtime::clock::Clock;
use kasoku_cache::Cache;
use kasoku_cache::shared::Items;
use kasoku_shared::purge_log::{self, Epoch, Purger};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::runtime::LocalOptions;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

/// How often the purges of other front ends are read from each server. A purge is seen by all within this time and that of a request.
const INTERVAL: Duration = Duration::from_millis(250);

/// The same for a server that can't be asked. When it is back, other front ends may read its items as soon, so a purge that it lacks must not wait for
/// longer.
const INTERVAL_AWAY: Duration = Duration::from_millis(500);

/// How long a start waits until each server has been tried: what is on disk may have been purged meanwhile.
const FIRST_READING_TIMEOUT: Duration = Duration::from_secs(1);

/// How long the end waits until the last purges have been written.
const LAST_WRITING_TIMEOUT: Duration = Duration::from_secs(1);

/// See the [module](self).
pub(crate) struct PurgeFollower {
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl PurgeFollower {
    /// Begins to follow, if there is a shared tier. Each server has been tried by then, or has not answered in time.
    pub(crate) fn start(cache: &Cache, clock: &Arc<dyn Clock>) -> io::Result<Option<Self>> {
        let Some(tier) = cache.shared_tier().cloned() else { return Ok(None) };
        let (stop, stopped) = watch::channel(false);
        let (tried, tries) = channel();
        let servers = tier.servers().all().len();
        let (cache, clock) = (cache.clone(), clock.clone());
        let thread = std::thread::Builder::new().name("shared-purges".to_owned()).spawn(move || {
            let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build_local(LocalOptions::default()) {
                Ok(runtime) => runtime,
                Err(error) => {
                    tracing::error!(%error, "the purges of other front ends can't be followed: the shared tier is not used");
                    return;
                }
            };
            runtime.block_on(async move {
                let items = tier.items();
                let mut following = JoinSet::new();
                for server in 0..servers {
                    let follower = Follower { cache: cache.clone(), clock: clock.clone(), items: items.clone(), server };
                    following.spawn_local(follower.run(stopped.clone(), tried.clone()));
                }
                drop(tried);
                following.join_all().await;
            });
            // A host name that is being looked up is not waited for.
            runtime.shutdown_background();
        })?;
        await_tries(&tries, servers);
        Ok(Some(Self { stop, thread: Some(thread) }))
    }

    /// Ends after a last attempt to write what the others have not been told yet.
    pub(crate) fn stop(mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Waits until each server has been tried.
fn await_tries(tries: &Receiver<()>, servers: usize) {
    let until = std::time::Instant::now() + FIRST_READING_TIMEOUT;
    for _ in 0..servers {
        let left = until.saturating_duration_since(std::time::Instant::now());
        if tries.recv_timeout(left).is_err() {
            return;
        }
    }
}

/// Follows one server.
struct Follower {
    cache: Cache,
    clock: Arc<dyn Clock>,
    items: Items,
    server: usize,
}

impl Follower {
    async fn run(self, mut stopped: watch::Receiver<bool>, tried: Sender<()>) {
        tokio::select! {
            () = self.follow_on(tried) => {}
            _ = stopped.changed() => {}
        }
        let _ = timeout(LAST_WRITING_TIMEOUT, self.follow()).await;
    }

    async fn follow_on(&self, tried: Sender<()>) {
        let log = self.items.tier().log();
        let (mut news, mut tried) = (log.news(), Some(tried));
        loop {
            let is_read = self.follow().await;
            if let Some(tried) = tried.take() {
                // Nobody waits if the start has taken too long.
                let _ = tried.send(());
            }
            let next = Instant::now() + if is_read { INTERVAL } else { INTERVAL_AWAY };
            while let Ok(Ok(())) = timeout_at(next, news.changed()).await {
                if is_read {
                    break;
                }
                log.is_away(self.server);
            }
        }
    }

    async fn follow(&self) -> bool {
        let now = || {
            let now = self.clock.now();
            purge_log::Clock { unix_ms: now.unix_ms, mono_ms: now.mono_ms }
        };
        self.items.follow(self.server, &Impatient(&self.cache), now).await
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
