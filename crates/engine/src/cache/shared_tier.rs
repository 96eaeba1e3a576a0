//! Asks the shared tier for the response of a fill, and writes there what fills bring.

use crate::runtime::worker::Worker;
use kasoku_cache::{Entry, FillWriter, SharedRequest};
use kasoku_metrics::Counter;
use kasoku_semantics::ground::{Because, Ground};
use kasoku_semantics::reason::Reason;
use kasoku_shared::lease::{Lease, Leased, RENEWAL_INTERVAL};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

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
    // Requests that have joined the fill wait as well, and must get something from the origin before they give up.
    let until = Instant::now() + worker.settings().limits.fill_wait_max / 2;
    let (mut pause, mut lease) = (POLL_PAUSE_MIN, None);
    loop {
        let Ok((found, name)) = timeout(LOOKUP_TIMEOUT, writer.find_shared(items, worker.now())).await else {
            return Found::Nothing(writer, lease);
        };
        match found {
            Ok(found) => match writer.on_shared(found, items, worker.now()) {
                Ok((entry, reason)) => return Found::Response(entry, reason),
                Err(unanswered) => writer = unanswered,
            },
            // One timeout is enough: the lease would be in the next server, which may fail as well.
            Err(Because::Ground(Ground::SharedFailed)) => return Found::Nothing(writer, lease),
            Err(_) => {}
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
            in_the_background(async move { lease.pass().await });
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
            in_the_background(async move { lease.release().await });
        }
    }
}

/// Runs a task that nobody waits for. Where the runtime ends just then, it does not run: the lease ends by itself.
fn in_the_background(task: impl Future<Output = ()> + 'static) {
    if Handle::try_current().is_ok() {
        tokio::task::spawn_local(task);
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
