//! The shared tier as the runtimes of an application use it.
//!
//! The connections to the servers have tasks on a runtime. The cache of an application can be built outside of any, and be used on several. So
//! each runtime gets connections of its own, when something is first asked for on it.

use super::{SharedAccess, Tier};
use crate::sync::{Mutex, PoisonError};
use std::convert::Infallible;
use std::panic::catch_unwind;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Handle, Id};
use tokio::sync::oneshot;
use tokio::time::sleep;

/// The most runtimes at a time that use the shared tier. On further ones, the application answers.
const RUNTIMES_MAX: usize = 256;

/// The shared tier as each runtime uses it.
pub struct SharedAccesses {
    tier: Arc<Tier>,
    of_runtimes: Mutex<Vec<OfRuntime>>,
}

struct OfRuntime {
    runtime: Id,
    /// `None`: the runtime has no timer, so that nothing would bound a wait for a server.
    access: Option<SharedAccess>,
    /// Closed when the runtime has ended. Another one may get its id.
    running: oneshot::Sender<Infallible>,
}

impl SharedAccesses {
    /// Of a tier to which nothing is connected yet.
    pub fn new(tier: &Arc<Tier>) -> Self {
        Self { tier: tier.clone(), of_runtimes: Mutex::default() }
    }

    /// The tier as the present runtime uses it; `None`: not at all.
    pub fn here(&self) -> Option<SharedAccess> {
        let here = Handle::try_current().ok()?;
        let mut known = self.of_runtimes.lock().unwrap_or_else(PoisonError::into_inner);
        let is_here = |one: &&OfRuntime| one.runtime == here.id() && !one.running.is_closed();
        if let Some(one) = known.iter().find(is_here) {
            return one.access.clone();
        }
        known.retain(|one| !one.running.is_closed());
        if known.len() >= RUNTIMES_MAX {
            return None;
        }
        // Tokio says by a panic alone that a runtime has no timer.
        let access = catch_unwind(|| sleep(Duration::ZERO)).ok().map(|_| SharedAccess::new(&self.tier));
        let (running, ends) = oneshot::channel();
        // It ends with the runtime, or with this list.
        here.spawn(async move {
            let _ = ends.await;
        });
        known.push(OfRuntime { runtime: here.id(), access: access.clone(), running });
        access
    }
}
