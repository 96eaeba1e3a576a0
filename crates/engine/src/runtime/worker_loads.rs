//! Counts the connections of each worker, and holds the channel by which a worker receives connections from others.
//!
//! A connection counts for a worker as soon as it is assigned to that worker, even while it is still in the channel; so a burst is spread
//! as well. Counts are read without a lock and may be off by one, which does no harm.

use crate::door::Visit;
use kasoku_sys::AcceptedSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::mpsc;

/// Connections on their way to one worker. When the channel is full, the accepting worker keeps the connection.
const HANDED_OVER_MAX: usize = 256;

/// What no event loop has yet.
pub(crate) enum NewConnection {
    /// A connection, and whether it begins with the PROXY protocol.
    Connection(AcceptedSocket, bool),
    /// A request that comes by a door of somebody else's.
    Visit(Box<dyn FnOnce() -> Visit + Send>),
}

/// A connection for another worker, which is counted as its own from the start.
pub(crate) struct HandedOverConnection {
    pub(crate) fresh: NewConnection,
    pub(crate) counted: CountedConnection,
}

/// All workers, by number.
pub(crate) struct WorkerLoads(Box<[WorkerLoad]>);

struct WorkerLoad {
    connections: AtomicUsize,
    inbox: mpsc::Sender<HandedOverConnection>,
}

impl WorkerLoad {
    fn load(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

impl WorkerLoads {
    /// That many workers, and what each receives.
    pub(crate) fn new(workers: usize) -> (Arc<Self>, Vec<mpsc::Receiver<HandedOverConnection>>) {
        let one = || {
            let (inbox, receiver) = mpsc::channel(HANDED_OVER_MAX);
            (WorkerLoad { connections: AtomicUsize::new(0), inbox }, receiver)
        };
        let (all, inboxes): (Vec<_>, Vec<_>) = (0..workers).map(|_| one()).unzip();
        (Arc::new(Self(all.into())), inboxes)
    }

    /// How many connections that worker has.
    pub(crate) fn load(&self, number: usize) -> usize {
        self.0.get(number).map_or(0, WorkerLoad::load)
    }

    /// Counts a connection as that worker's, for as long as the result lives.
    pub(crate) fn count(self: &Arc<Self>, number: usize) -> CountedConnection {
        if let Some(one) = self.0.get(number) {
            one.connections.fetch_add(1, Ordering::Relaxed);
        }
        CountedConnection { loads: self.clone(), number }
    }

    /// Gives a request to the worker that has the least to do; `false`: that one has too much on its way already, or has ended.
    pub(crate) fn visit(self: &Arc<Self>, visit: Box<dyn FnOnce() -> Visit + Send>) -> bool {
        let least = self.0.iter().enumerate().min_by_key(|(_, one)| one.load());
        least.is_some_and(|(number, one)| {
            one.inbox
                .try_send(HandedOverConnection { fresh: NewConnection::Visit(visit), counted: self.count(number) })
                .is_ok()
        })
    }

    /// The worker that should get a connection which this worker has accepted: the one with the fewest connections, if this worker has more
    /// than the mean.
    pub(crate) fn least_loaded(
        self: &Arc<Self>,
        own: usize,
    ) -> Option<(mpsc::Sender<HandedOverConnection>, CountedConnection)> {
        let own = self.load(own);
        let all: usize = self.0.iter().map(WorkerLoad::load).sum();
        let (number, least) = self.0.iter().enumerate().min_by_key(|(_, one)| one.load())?;
        let is_theirs = own * self.0.len() > all && least.load() < own;
        is_theirs.then(|| (least.inbox.clone(), self.count(number)))
    }
}

/// A connection that is counted as one worker's.
pub(crate) struct CountedConnection {
    loads: Arc<WorkerLoads>,
    number: usize,
}

impl Drop for CountedConnection {
    fn drop(&mut self) {
        if let Some(one) = self.loads.0.get(self.number) {
            one.connections.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
