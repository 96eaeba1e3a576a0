//! Asks the shared tier for the response of a fill, and waits while another front end asks the origin for it.
//!
//! It has timers and tasks, and so needs a runtime of tokio, as the connections to the servers do.

use super::Items;
use crate::{Entry, FillWriter};
use kasoku_semantics::ground::{Because, Ground};
use kasoku_semantics::reason::Reason;
use kasoku_semantics::time::Now;
use kasoku_shared::lease::{Lease, Leased, RENEWAL_INTERVAL};
use kasoku_shared::names::Name;
use std::sync::Arc;
use std::time::Duration;
use tokio::join;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout, timeout_at};

/// How much longer a whole look-up may take than one operation: so a server that does not answer the first operation is seen to fail, and the next
/// request does not wait for it.
const LOOKUP_SLACK: Duration = Duration::from_millis(2);

/// How long the chunks of a response may take after the first one.
const CHUNKS_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the first pause is while another front end asks the origin; each further one is twice as long, up to the longest. A random half more or less
/// keeps front ends apart.
const POLL_PAUSE_MIN: Duration = Duration::from_millis(4);
const POLL_PAUSE_MAX: Duration = Duration::from_millis(100);

/// What the shared tier says of a fill.
#[must_use]
pub enum Asked {
    /// It has the response, which has settled the fill.
    Response(Arc<Entry>, Reason),
    /// The origin has to be asked. With the lease, the other front ends wait meanwhile.
    Nothing(FillWriter, Option<HeldLease>),
}

impl FillWriter {
    /// Looks for the response of this fill. If another front end asks the origin for it just then, waits for that one, for half of `fill_wait_max`:
    /// requests that have joined the fill wait for so long, and must get something from the origin before they give up.
    ///
    /// One deadline, after about the time that an operation may take, covers the look-up up to the first chunk, the lease, and the second look-up. So
    /// a tier that is slow delays a miss once.
    ///
    /// Panics where there is no runtime of tokio with a timer.
    pub async fn ask_shared(self, items: &Items, fill_wait_max: Duration, now: impl Fn() -> Now) -> Asked {
        let mut writer = self;
        if !writer.may_be_in_the_shared_tier() {
            return Asked::Nothing(writer, None);
        }
        let until = Instant::now().checked_add(fill_wait_max / 2);
        let lookup_timeout = items.tier().backend().operation_timeout() + LOOKUP_SLACK;
        let mut deadline = Instant::now() + lookup_timeout;
        let (mut pause, mut was_held, mut lease, mut is_over) = (POLL_PAUSE_MIN, false, None, false);
        let mut looked_up = timeout_at(deadline, writer.find_shared(items, now())).await;
        loop {
            let Ok((found, name)) = looked_up else { return Asked::Nothing(writer, lease) };
            match found {
                Ok(item) => {
                    let begun = Instant::now();
                    match timeout(CHUNKS_TIMEOUT, item.complete(items, &name)).await {
                        Ok(Ok(response)) => match writer.on_shared(response, items, now()) {
                            Ok((entry, reason)) => return Asked::Response(entry, reason),
                            Err(unanswered) => writer = unanswered,
                        },
                        Ok(Err(_)) => {}
                        Err(_) => return Asked::Nothing(writer, lease),
                    }
                    deadline += begun.elapsed();
                }
                // One timeout is enough: the lease would be in the next server, which may fail as well.
                Err(Because::Ground(Ground::SharedFailed)) => return Asked::Nothing(writer, lease),
                Err(_) => {}
            }
            is_over |= lease.is_some() || writer.is_poisoned() || until.is_some_and(|until| Instant::now() >= until);
            if is_over {
                return Asked::Nothing(writer, lease);
            }
            // Also where an item is there that may not be used, such as one from before a purge.
            if was_held {
                sleep(pause.mul_f64(0.5 + fastrand::f64())).await;
                pause = (pause * 2).min(POLL_PAUSE_MAX);
                deadline = Instant::now() + lookup_timeout;
            }
            // What has come since the first look-up is found by the second one, which does not wait for the lease: the two take one round trip.
            let leased;
            (leased, looked_up) = join!(
                biased;
                lease_until(deadline, items, name, was_held),
                timeout_at(deadline, writer.find_shared(items, now())),
            );
            match leased {
                Leased::Granted(granted) => lease = Some(HeldLease::of(granted)),
                Leased::Held => was_held = true,
                Leased::Lost(lost) => {
                    in_the_background(async move { lost.release().await });
                    is_over = true;
                }
                Leased::Pass | Leased::Unknown => is_over = true,
            }
        }
    }
}

/// Asks for the lease of an item. One that is granted after the deadline is given back.
async fn lease_until(deadline: Instant, items: &Items, name: Name, was_held: bool) -> Leased {
    let items = items.clone();
    let mut asked = Box::pin(async move {
        match was_held {
            true => items.lease_again(&name).await,
            false => items.lease(&name).await,
        }
    });
    if let Ok(leased) = timeout_at(deadline, &mut asked).await {
        return leased;
    }
    in_the_background(async move {
        if let Leased::Granted(late) | Leased::Lost(late) = asked.await {
            late.release().await;
        }
    });
    Leased::Unknown
}

/// The lease of a fill, renewed while the fill runs. Dropping it lets another front end ask the origin.
pub struct HeldLease {
    lease: Option<Arc<Lease>>,
    renewal: JoinHandle<()>,
}

impl HeldLease {
    fn of(lease: Lease) -> Self {
        let lease = Arc::new(lease);
        let renewed = lease.clone();
        let renewal = tokio::spawn(async move {
            loop {
                sleep(RENEWAL_INTERVAL).await;
                renewed.renew().await;
            }
        });
        Self { lease: Some(lease), renewal }
    }

    /// The response may not be shared, or was not written: where there is a lease, the other front ends need not wait.
    pub fn pass(held: Option<Self>) {
        if let Some(lease) = held.and_then(|mut held| held.end()) {
            in_the_background(async move { lease.pass().await });
        }
    }

    fn end(&mut self) -> Option<Arc<Lease>> {
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
fn in_the_background(task: impl Future<Output = ()> + Send + 'static) {
    if Handle::try_current().is_ok() {
        tokio::spawn(task);
    }
}
