//! Writes what a fill has brought to the shared tier.

use super::ask::HeldLease;
use super::content;
use super::usable::has_no_foreign_fields;
use super::{Items, Tier};
use crate::{Cache, Entry, SharedRequest};
use bytes::Bytes;
use kasoku_semantics::time::Now;
use kasoku_shared::Expiry;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The most responses of one runtime that are written at a time.
const RUNNING_MAX: usize = 4;

/// The most that wait for their turn.
const WAITING_MAX: usize = 256;

/// The shared tier as one runtime uses it: its connections, and what it writes. A clone is the same.
#[derive(Clone, Debug)]
pub struct SharedAccess {
    items: Items,
    /// A permit for each response that is written or waits.
    admitted: Arc<Semaphore>,
    /// A permit for each that is written.
    turns: Arc<Semaphore>,
}

/// A response that will be written.
#[must_use]
pub struct Sharing {
    cache: Cache,
    response: (SharedRequest, Arc<Entry>),
    turn: Turn,
}

/// Something will be written, with the lease under which it was fetched.
#[must_use]
pub(crate) struct Turn {
    access: SharedAccess,
    lease: Option<HeldLease>,
    _admitted: OwnedSemaphorePermit,
}

impl SharedAccess {
    /// For the present runtime of tokio, on which its connections have tasks. Panics if there is none. Nothing is connected before the first
    /// operation.
    pub fn new(tier: &Arc<Tier>) -> Self {
        let (admitted, turns) = (Semaphore::new(RUNNING_MAX + WAITING_MAX), Semaphore::new(RUNNING_MAX));
        Self { items: tier.items(), admitted: Arc::new(admitted), turns: Arc::new(turns) }
    }

    /// The items, over the connections of this runtime.
    pub fn items(&self) -> &Items {
        &self.items
    }

    /// Takes a stored response that is to be written, with the lease of the fill that has brought it. The host runs the result in a task for
    /// which nobody waits. `None`: too many wait. Then the other front ends need not wait for this one.
    pub fn begin(
        &self,
        cache: &Cache,
        request: SharedRequest,
        entry: Arc<Entry>,
        lease: Option<HeldLease>,
    ) -> Option<Sharing> {
        Some(Sharing { cache: cache.clone(), response: (request, entry), turn: self.admit(lease)? })
    }

    /// The same for anything that is to be written.
    pub(crate) fn admit(&self, lease: Option<HeldLease>) -> Option<Turn> {
        let Ok(admitted) = self.admitted.clone().try_acquire_owned() else {
            HeldLease::pass(lease);
            return None;
        };
        Some(Turn { access: self.clone(), lease, _admitted: admitted })
    }
}

impl Sharing {
    /// Writes the response when its turn has come. Returns whether the tier has it. Nothing bounds the wait but the timeouts of the servers.
    pub async fn run(self, now: impl Fn() -> Now) -> bool {
        let Self { cache, response: (request, entry), turn } = self;
        turn.run(|items| async move { cache.share(&items, &request, &entry, now()).await }).await
    }
}

impl Turn {
    /// Writes when the turn has come. `write` returns whether the tier has it. So does this.
    pub(crate) async fn run<W: Future<Output = bool>>(self, write: impl FnOnce(Items) -> W) -> bool {
        let Self { access, lease, _admitted } = self;
        // Nobody closes it.
        let Ok(_turn) = access.turns.acquire().await else { return false };
        let is_written = write(access.items.clone()).await;
        if !is_written {
            HeldLease::pass(lease);
        }
        is_written
    }
}

impl Cache {
    /// Writes a stored response to the shared tier, if that takes it. Nothing bounds the wait but the timeouts of its servers.
    async fn share(&self, items: &Items, request: &SharedRequest, entry: &Entry, now: Now) -> bool {
        let (key, namespace, meta) = (request.key(), items.tier().namespace(), &entry.meta);
        // No front end would use such a response (`usable`), and a visitor's cookie has no place in a server.
        if !entry.body.is_in_memory() || !entry.body.is_complete() || has_no_foreign_fields(&meta.head.fields).is_err()
        {
            return false;
        }
        let Some(fresh) = u64::try_from(meta.freshness.remaining(now)).ok().filter(|seconds| *seconds > 0) else {
            return false;
        };
        // A stale response is not taken from there.
        let expiry = Expiry::After(fresh);
        let name = if meta.nominated.is_empty() {
            namespace.response(key.uri())
        } else {
            namespace.variant(key.uri(), &meta.variant)
        };
        let body = || entry.body.placed_chunks().map(|(_, chunk)| chunk.clone());
        let length = body().map(|chunk| chunk.len() as u64).sum();
        let content = |server| {
            let generation = items.generation(server, meta.epoch)?;
            let head = content::write(meta, generation, key, length)?;
            Some(std::iter::once(Bytes::from(head)).chain(body()).collect())
        };
        let is_written = items.put(&name, expiry, content).await;
        if meta.nominated.is_empty() || !is_written {
            return is_written;
        }
        // Last: who finds the fields finds a variant.
        let fields = |server| {
            let generation = items.generation(server, meta.epoch)?;
            Some(vec![content::write_nominated(&meta.nominated, meta.rules, generation, key)?.into()])
        };
        items.put(&namespace.response(key.uri()), expiry, fields).await
    }
}
