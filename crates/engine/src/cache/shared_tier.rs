//! Asks the shared tier for the response of a fill, writes there what fills bring, and keeps this front end in step with the others.

use crate::runtime::worker::Worker;
use kasoku_cache::shared::Items;
use kasoku_cache::{Cache, Entry, FillWriter, SharedRequest};
use kasoku_semantics::reason::Reason;
use kasoku_shared::purge_log::{Clock, Epoch, Purger};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until, timeout};

/// How often the purges of other front ends are read from each server. A purge is seen by all within this time and that of a request.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(250);

/// The same for a server that can't be asked. When it is back, other front ends may read its items as soon, so a purge that it lacks must not wait for
/// longer.
const FOLLOW_INTERVAL_AWAY: Duration = Duration::from_millis(500);

/// How long the look-up of a response may take, all its chunks included.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);

/// Looks for the response of a fill. `Err` returns the writer: the origin has to be asked.
pub(crate) async fn find(worker: &Worker, writer: FillWriter) -> Result<(Arc<Entry>, Reason), FillWriter> {
    let Some(items) = worker.shared_items.as_ref().filter(|_| writer.may_be_in_the_shared_tier()) else {
        return Err(writer);
    };
    let Ok(Some(found)) = timeout(LOOKUP_TIMEOUT, writer.find_shared(items, worker.now())).await else {
        return Err(writer);
    };
    writer.on_shared(found, items, worker.now())
}

/// Writes a stored response to the shared tier, in the background.
pub(crate) fn share(worker: &Rc<Worker>, request: SharedRequest, entry: Arc<Entry>) {
    if worker.shared_items.is_none() || !worker.background.has_room() {
        return;
    }
    let of = worker.clone();
    worker.background.spawn(async move {
        if let Some(items) = &of.shared_items {
            of.cache.share(items, &request, &entry, of.now()).await;
        }
    });
}

/// Follows the purges of other front ends, and tells them of those of this one, for as long as the worker's runtime lives.
pub(crate) fn follow(worker: &Rc<Worker>) {
    let Some(items) = &worker.shared_items else { return };
    for server in 0..items.tier().servers().all().len() {
        tokio::task::spawn_local(follow_server(worker.clone(), items.clone(), server));
    }
}

async fn follow_server(worker: Rc<Worker>, items: Items, server: usize) {
    let log = items.tier().log();
    let mut news = log.news();
    let now = || {
        let now = worker.now();
        Clock { unix_ms: now.unix_ms, mono_ms: now.mono_ms }
    };
    loop {
        let is_read = items.follow(server, &Impatient(&worker.cache), now).await;
        let next = Instant::now() + if is_read { FOLLOW_INTERVAL } else { FOLLOW_INTERVAL_AWAY };
        loop {
            tokio::select! {
                () = sleep_until(next) => break,
                Ok(()) = news.changed() => {
                    if is_read {
                        break;
                    }
                    log.is_away(server);
                }
            }
        }
    }
}

/// The cache, which is not waited for longer than until the log is read the next time: a disk that hangs must not make the servers useless.
struct Impatient<'c>(&'c Cache);

impl Purger for Impatient<'_> {
    fn carry_out(&self, purge: &[u8]) -> Option<Epoch> {
        self.0.carry_out(purge)
    }

    async fn make_certain(&self) -> bool {
        timeout(FOLLOW_INTERVAL, self.0.make_certain()).await == Ok(true)
    }

    fn drop_everything(&self) {
        self.0.drop_everything();
    }

    fn epoch(&self) -> Epoch {
        self.0.epoch()
    }
}
