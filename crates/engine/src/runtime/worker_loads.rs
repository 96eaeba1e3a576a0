//! Counts the connections of each worker, and holds the channel by which a worker receives connections from others.
//!
//! A connection counts for a worker as soon as it is assigned to that worker, even while it is still in the channel; so a burst is spread
//! as well. Counts are read without a lock and may be off by one, which does no harm.
//!
//! Clients get five eighths of the descriptors that the process may have, and open files at most a quarter. So there are some left for origins,
//! the disk and the operator, however many clients come.

use crate::door::Visit;
use crate::runtime::connections_by_address::ConnectionsByAddress;
use kasoku_sys::AcceptedSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::mpsc;

/// Connections on their way to one worker. When the channel is full, the accepting worker keeps the connection.
const HANDED_OVER_MAX: usize = 256;

/// The eighths of the descriptors that clients may take.
const CLIENTS_EIGHTHS: u64 = 5;

/// A connection, or a request, that no event loop has yet.
pub(crate) enum NewConnection {
    /// A connection, and whether it begins with the PROXY protocol.
    Connection(AcceptedSocket, bool),
    /// A request that comes through a door of the embedding program.
    Visit(Box<dyn FnOnce() -> Visit + Send>),
}

/// A connection for another worker, which is counted as that worker's from the start.
pub(crate) struct HandedOverConnection {
    pub(crate) fresh: NewConnection,
    pub(crate) counted: CountedConnection,
}

/// All workers, by number.
pub(crate) struct WorkerLoads {
    workers: Box<[WorkerLoad]>,
    /// The worker that gets the next visit, if no other has fewer connections.
    next: AtomicUsize,
    /// How many connections each worker has descriptors for.
    connections_max: usize,
    pub(crate) by_address: Arc<ConnectionsByAddress>,
}

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
    /// Makes the loads of so many workers, and the receiver of each worker. The process may open so many `descriptors` more.
    pub(crate) fn new(workers: usize, descriptors: u64) -> (Arc<Self>, Vec<mpsc::Receiver<HandedOverConnection>>) {
        let one = || {
            let (inbox, receiver) = mpsc::channel(HANDED_OVER_MAX);
            (WorkerLoad { connections: AtomicUsize::new(0), inbox }, receiver)
        };
        let (all, inboxes): (Vec<_>, Vec<_>) = (0..workers).map(|_| one()).unzip();
        let of_each = descriptors / 8 * CLIENTS_EIGHTHS / (workers.max(1) as u64);
        let connections_max = usize::try_from(of_each).unwrap_or(usize::MAX).max(1);
        (
            Arc::new(Self {
                workers: all.into(),
                next: AtomicUsize::new(0),
                connections_max,
                by_address: Arc::default(),
            }),
            inboxes,
        )
    }

    /// How many connections each worker has descriptors for.
    pub(crate) fn connections_max(&self) -> usize {
        self.connections_max
    }

    /// How many connections that worker has.
    pub(crate) fn load(&self, number: usize) -> usize {
        self.workers.get(number).map_or(0, WorkerLoad::load)
    }

    /// Counts a connection as that worker's, for as long as the result lives.
    pub(crate) fn count(self: &Arc<Self>, number: usize) -> CountedConnection {
        if let Some(one) = self.workers.get(number) {
            one.connections.fetch_add(1, Ordering::Relaxed);
        }
        CountedConnection { loads: self.clone(), number }
    }

    /// Gives a request to the worker with the fewest connections, to each in turn where several have as few; `false`: that worker has
    /// `connections_max` already, its channel is full, or it has ended.
    pub(crate) fn visit(self: &Arc<Self>, visit: Box<dyn FnOnce() -> Visit + Send>, connections_max: usize) -> bool {
        let first = self.next.fetch_add(1, Ordering::Relaxed) % self.workers.len().max(1);
        let in_turn = (0..self.workers.len()).cycle().skip(first).take(self.workers.len());
        let least = in_turn.min_by_key(|number| self.load(*number));
        let least = least.and_then(|number| Some((number, self.workers.get(number)?)));
        least.filter(|(_, one)| one.load() < connections_max).is_some_and(|(number, one)| {
            let counted = self.count(number);
            one.inbox.try_send(HandedOverConnection { fresh: NewConnection::Visit(visit), counted }).is_ok()
        })
    }

    /// The worker that should get a connection which this worker has accepted: the one with the fewest connections, if this worker has more
    /// than the mean.
    pub(crate) fn least_loaded(
        self: &Arc<Self>,
        own: usize,
    ) -> Option<(mpsc::Sender<HandedOverConnection>, CountedConnection)> {
        let own = self.load(own);
        let all: usize = self.workers.iter().map(WorkerLoad::load).sum();
        let (number, least) = self.workers.iter().enumerate().min_by_key(|(_, one)| one.load())?;
        let is_theirs = own * self.workers.len() > all && least.load() < own;
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
        if let Some(one) = self.loads.workers.get(self.number) {
            one.connections.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn visits_go_to_each_worker_in_turn_and_first_to_those_with_less_to_do() {
        let (loads, mut inboxes) = WorkerLoads::new(3, u64::MAX);
        let never = || -> Box<dyn FnOnce() -> Visit + Send> { Box::new(|| unreachable!()) };
        let mut visited = |inbox: usize| inboxes.get_mut(inbox).unwrap().try_recv().is_ok();
        // Each visit has ended before the next one comes.
        for round in 0..2 {
            for worker in 0..3 {
                assert!(loads.visit(never(), 9));
                assert!(visited(worker), "round {round}, worker {worker}");
            }
        }
        let _busy = [loads.count(0), loads.count(1)];
        for _ in 0..3 {
            assert!(loads.visit(never(), 9));
            assert!(visited(2), "the only one without a connection");
        }
    }

    #[test]
    fn clients_leave_descriptors_for_all_else() {
        let room = |workers, descriptors| WorkerLoads::new(workers, descriptors).0.connections_max();
        assert_eq!([room(2, 400), room(4, 9), room(1, 0), room(1, u64::MAX)], [125, 1, 1, usize::MAX / 8 * 5]);
    }

    #[tokio::test]
    async fn a_visit_counts_for_the_largest_number_of_connections() {
        let (loads, mut inboxes) = WorkerLoads::new(1, u64::MAX);
        let visit = || loads.visit(Box::new(|| unreachable!()), 1);
        assert!(visit());
        assert!(!visit(), "the first one is on its way");
        let first = inboxes[0].try_recv().unwrap_or_else(|_| panic!("no visit came"));
        assert!(!visit(), "the first one is served");
        drop(first);
        assert!(visit());
    }
}
