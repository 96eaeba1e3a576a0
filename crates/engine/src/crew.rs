//! What the workers know of each other: how many connections each has, and where to send it more.
//!
//! A connection is counted as a worker's from the moment in which it is meant for it, also on its way there, so that a
//! burst is spread as well. Counts are read without a lock: they may be one off, which costs nothing.

use kasoku_sys::Accepted;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::mpsc;

/// Connections on their way to one worker; who accepts keeps what does not fit.
const HANDED_OVER_MAX: usize = 256;

/// A connection that no event loop has yet.
pub(crate) struct Fresh {
    pub(crate) accepted: Accepted,
    pub(crate) proxy_protocol: bool,
}

/// A connection for another worker, which is counted as its own from the start.
pub(crate) struct HandedOver {
    pub(crate) fresh: Fresh,
    pub(crate) counted: Counted,
}

/// All workers, by number.
pub(crate) struct Crew(Box<[Mate]>);

struct Mate {
    connections: AtomicUsize,
    inbox: mpsc::Sender<HandedOver>,
}

impl Mate {
    fn load(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

impl Crew {
    /// That many workers, and what each receives.
    pub(crate) fn new(workers: usize) -> (Arc<Self>, Vec<mpsc::Receiver<HandedOver>>) {
        let mate = || {
            let (inbox, receiver) = mpsc::channel(HANDED_OVER_MAX);
            (Mate { connections: AtomicUsize::new(0), inbox }, receiver)
        };
        let (mates, inboxes): (Vec<_>, Vec<_>) = (0..workers).map(|_| mate()).unzip();
        (Arc::new(Self(mates.into())), inboxes)
    }

    /// How many connections that worker has.
    pub(crate) fn load(&self, number: usize) -> usize {
        self.0.get(number).map_or(0, Mate::load)
    }

    /// Counts a connection as that worker's, for as long as the result lives.
    pub(crate) fn count(self: &Arc<Self>, number: usize) -> Counted {
        if let Some(mate) = self.0.get(number) {
            mate.connections.fetch_add(1, Ordering::Relaxed);
        }
        Counted { crew: self.clone(), number }
    }

    /// Who should have a fresh connection that this worker has taken: the one with the fewest, if this one has more than
    /// the mean.
    pub(crate) fn whose_turn(self: &Arc<Self>, own: usize) -> Option<(mpsc::Sender<HandedOver>, Counted)> {
        let own = self.load(own);
        let all: usize = self.0.iter().map(Mate::load).sum();
        let (number, least) = self.0.iter().enumerate().min_by_key(|(_, mate)| mate.load())?;
        let is_theirs = own * self.0.len() > all && least.load() < own;
        is_theirs.then(|| (least.inbox.clone(), self.count(number)))
    }
}

/// A connection that is counted as one worker's.
pub(crate) struct Counted {
    crew: Arc<Crew>,
    number: usize,
}

impl Drop for Counted {
    fn drop(&mut self) {
        if let Some(mate) = self.crew.0.get(self.number) {
            mate.connections.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
