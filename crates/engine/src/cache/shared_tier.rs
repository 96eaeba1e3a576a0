//! Asks the shared tier for the response of a fill, writes there what fills bring, and keeps this front end in step with the others.

use crate::runtime::worker::Worker;
use kasoku_cache::shared::Items;
use kasoku_cache::{Cache, Entry, FillWriter, SharedRequest};
use kasoku_metrics::Counter;
use kasoku_semantics::reason::Reason;
use kasoku_shared::lease::{Lease, Leased, RENEWAL_INTERVAL};
use kasoku_shared::purge_log::{Clock, Epoch, Purger};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout};

/// How often the purges of other front ends are read from each server. A purge is seen by all within this time and that of a request.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(250);

/// The same for a server that can't be asked. When it is back, other front ends may read its items as soon, so a purge that it lacks must not wait for
/// longer.
const FOLLOW_INTERVAL_AWAY: Duration = Duration::from_millis(500);

/// How long the look-up of a response may take, all its chunks included.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the first pause is while another front end asks the origin; each further one is twice as long, up to the longest. A random half more or less
/// keeps front ends apart.
const POLL_PAUSE_MIN: Duration = Duration::from_millis(4);
const POLL_PAUSE_MAX: Duration = Duration::from_millis(100);

/// What the shared tier says of a fill.
pub(crate) enum Found {
    /// It has the response.
    Response(Arc<Entry>, Reason),
    /// The origin has to be asked. With the lease, the other front ends wait meanwhile.
    Nothing(FillWriter, Option<HeldLease>),
}

/// Looks for the response of a fill. If another front end asks the origin for it just then, waits for that one.
pub(crate) async fn find(worker: &Rc<Worker>, mut writer: FillWriter) -> Found {
    let Some(items) = worker.shared_items.as_ref().filter(|_| writer.may_be_in_the_shared_tier()) else {
        return Found::Nothing(writer, None);
    };
    let until = Instant::now() + worker.settings().limits.fill_wait_max;
    let (mut pause, mut lease) = (POLL_PAUSE_MIN, None);
    loop {
        let Ok((found, name)) = timeout(LOOKUP_TIMEOUT, writer.find_shared(items, worker.now())).await else {
            return Found::Nothing(writer, lease);
        };
        if let Some(found) = found {
            match writer.on_shared(found, items, worker.now()) {
                Ok((entry, reason)) => return Found::Response(entry, reason),
                Err(unanswered) => writer = unanswered,
            }
        }
        // What has come between the look-up and the lease was looked for a second time.
        if lease.is_some() || writer.is_poisoned() || Instant::now() >= until {
            return Found::Nothing(writer, lease);
        }
        match items.lease(&name).await {
            Leased::Granted(granted) => lease = Some(HeldLease::of(granted)),
            Leased::Held => {
                sleep(pause.mul_f64(0.5 + fastrand::f64())).await;
                pause = (pause * 2).min(POLL_PAUSE_MAX);
            }
            Leased::Pass | Leased::Unknown => return Found::Nothing(writer, None),
        }
    }
}

/// The lease of a fill, renewed while the fill runs. Dropping it lets another front end ask the origin.
pub(crate) struct HeldLease {
    lease: Option<Rc<Lease>>,
    renewal: JoinHandle<()>,
}

impl HeldLease {
    fn of(lease: Lease) -> Self {
        let lease = Rc::new(lease);
        let renewed = lease.clone();
        let renewal = tokio::task::spawn_local(async move {
            loop {
                sleep(RENEWAL_INTERVAL).await;
                renewed.renew().await;
            }
        });
        Self { lease: Some(lease), renewal }
    }

    /// The response may not be shared, or was not written: where there is a lease, the other front ends need not wait.
    pub(crate) fn pass(held: Option<Self>) {
        if let Some(lease) = held.and_then(|mut held| held.end()) {
            tokio::task::spawn_local(async move { lease.pass().await });
        }
    }

    fn end(&mut self) -> Option<Rc<Lease>> {
        self.renewal.abort();
        self.lease.take()
    }
}

impl Drop for HeldLease {
    fn drop(&mut self) {
        if let Some(lease) = self.end() {
            tokio::task::spawn_local(async move { lease.release().await });
        }
    }
}

/// Writes a stored response to the shared tier, in the background.
pub(crate) fn share(worker: &Rc<Worker>, request: SharedRequest, entry: Arc<Entry>, lease: Option<HeldLease>) {
    if worker.shared_items.is_none() {
        return HeldLease::pass(lease);
    }
    if !worker.background.has_room() {
        worker.cells.count(Counter::SharedRefused);
        return HeldLease::pass(lease);
    }
    let of = worker.clone();
    worker.background.spawn(async move {
        let Some(items) = &of.shared_items else { return };
        let is_written = of.cache.share(items, &request, &entry, of.now()).await;
        of.cells.count(if is_written { Counter::SharedStored } else { Counter::SharedRefused });
        if !is_written {
            HeldLease::pass(lease);
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
