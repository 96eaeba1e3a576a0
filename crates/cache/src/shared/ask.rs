//! Asks the shared tier for the response of a fill, and waits while another front end asks the origin for it. So it does for the value of a
//! load (`data`), while another process loads it.
//!
//! It has timers and tasks, and so needs a runtime of tokio, as the connections to the servers do.

use super::Items;
use crate::{Entry, FillWriter};
use kasoku_semantics::ground::{Because, Ground};
use kasoku_semantics::reason::Reason;
use kasoku_semantics::time::Now;
use kasoku_shared::lease::{Lease, Leased, RENEWAL_INTERVAL};
use kasoku_shared::names::Name;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::join;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout, timeout_at};

/// How much longer a whole look-up may take than one operation: so a server that does not answer the first operation is seen to fail, and the next
/// request does not wait for it.
const LOOKUP_SLACK: Duration = Duration::from_millis(2);

/// How long the chunks of an item may take after the first one.
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

/// What is sought in the shared tier: the response of a fill, or the value of a load.
pub(crate) trait Sought: Sized {
    /// An item, up to its first chunk.
    type Found;
    /// The whole of it.
    type Whole;
    /// What it is good for.
    type Answer;

    /// For how long the lease is renewed while it is fetched.
    const RENEWED_FOR: Duration;

    /// Looks once. Returns the item, or why there is none, and the name of the item for which the lease stands. Nothing bounds the wait but the
    /// timeouts of the servers.
    fn find(&mut self, items: &Items, now: Now) -> impl Future<Output = (Result<Self::Found, Because>, Name)> + Send;

    /// Reads the rest of an item; `None`: it can't be used.
    fn complete(found: Self::Found, items: &Items, name: &Name) -> impl Future<Output = Option<Self::Whole>> + Send;

    /// Takes the item if it may be used now.
    ///
    /// # Errors
    /// It may not: the search goes on.
    fn settle(self, whole: Self::Whole, items: &Items, now: Now) -> Result<Self::Answer, Self>;

    /// Whether it was purged meanwhile, so that nothing that the tier has may be kept.
    fn is_outdated(&self) -> bool;
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
        if !self.may_be_in_the_shared_tier() {
            return Asked::Nothing(self, None);
        }
        match ask(self, items, fill_wait_max / 2, now).await {
            Ok((entry, reason)) => Asked::Response(entry, reason),
            Err((writer, lease)) => Asked::Nothing(writer, lease),
        }
    }
}

/// Looks for something in the shared tier, and waits while another one fetches it, for at most `wait_max`. The rest is told at
/// [`FillWriter::ask_shared`].
///
/// # Errors
/// It has to be fetched. With the lease, the others wait meanwhile.
pub(crate) async fn ask<S: Sought>(
    sought: S,
    items: &Items,
    wait_max: Duration,
    now: impl Fn() -> Now,
) -> Result<S::Answer, (S, Option<HeldLease>)> {
    let mut sought = sought;
    let until = Instant::now().checked_add(wait_max);
    let lookup_timeout = items.tier().backend().operation_timeout() + LOOKUP_SLACK;
    let mut deadline = Instant::now() + lookup_timeout;
    let (mut pause, mut was_held, mut lease, mut is_over) = (POLL_PAUSE_MIN, false, None, false);
    let mut looked_up = timeout_at(deadline, sought.find(items, now())).await;
    loop {
        let Ok((found, name)) = looked_up else { return Err((sought, lease)) };
        match found {
            Ok(item) => {
                let begun = Instant::now();
                match timeout(CHUNKS_TIMEOUT, S::complete(item, items, &name)).await {
                    Ok(Some(whole)) => match sought.settle(whole, items, now()) {
                        Ok(answer) => return Ok(answer),
                        Err(unanswered) => sought = unanswered,
                    },
                    Ok(None) => {}
                    Err(_) => return Err((sought, lease)),
                }
                deadline += begun.elapsed();
            }
            // One timeout is enough: the lease would be in the next server, which may fail as well.
            Err(Because::Ground(Ground::SharedFailed)) => return Err((sought, lease)),
            Err(_) => {}
        }
        is_over |= lease.is_some() || sought.is_outdated() || until.is_some_and(|until| Instant::now() >= until);
        if is_over {
            return Err((sought, lease));
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
            lease_until::<S>(deadline, items, name, was_held),
            timeout_at(deadline, sought.find(items, now())),
        );
        match leased {
            Standing::Granted(granted) => lease = Some(granted),
            Standing::Held => was_held = true,
            Standing::Over => is_over = true,
        }
    }
}

/// How it stands with a lease.
enum Standing {
    Granted(HeldLease),
    /// Another one has it.
    Held,
    /// It is not waited for.
    Over,
}

/// Asks for the lease of an item. One that is granted after the deadline is given back, and so is one whose caller has gone meanwhile.
async fn lease_until<S: Sought>(deadline: Instant, items: &Items, name: Name, was_held: bool) -> Standing {
    let items = items.clone();
    let mut asking = Asking(Some(Box::pin(async move {
        match was_held {
            true => items.lease_again(&name).await,
            false => items.lease(&name).await,
        }
    })));
    match timeout_at(deadline, asking.answer()).await {
        Ok(Leased::Granted(granted)) => Standing::Granted(HeldLease::of(granted, S::RENEWED_FOR)),
        Ok(Leased::Held) => Standing::Held,
        Ok(Leased::Lost(lost)) => {
            in_the_background(async move { lost.release().await });
            Standing::Over
        }
        Ok(Leased::Pass | Leased::Unknown) | Err(_) => Standing::Over,
    }
}

/// A question for a lease. Dropped before the answer has come, it waits for that in the background: the server may grant a lease of which nobody
/// knows, and others would wait until it is over.
struct Asking(Option<Pin<Box<dyn Future<Output = Leased> + Send>>>);

impl Asking {
    async fn answer(&mut self) -> Leased {
        let Some(asked) = &mut self.0 else { return Leased::Unknown };
        let leased = asked.await;
        self.0 = None;
        leased
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        if let Some(asked) = self.0.take() {
            in_the_background(async move {
                if let Leased::Granted(late) | Leased::Lost(late) = asked.await {
                    late.release().await;
                }
            });
        }
    }
}

/// The lease of a fill, renewed while the fill runs. Dropping it lets another front end ask the origin.
pub struct HeldLease {
    lease: Option<Arc<Lease>>,
    renewal: JoinHandle<()>,
}

impl HeldLease {
    fn of(lease: Lease, renewed_for: Duration) -> Self {
        let lease = Arc::new(lease);
        let renewed = lease.clone();
        let until = Instant::now().checked_add(renewed_for);
        let renewal = tokio::spawn(async move {
            while until.is_none_or(|until| Instant::now() < until) {
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
