//! What the process knows of its origins: one [`OriginState`] for each address, whoever names it.
//!
//! Sites, rules and workers that name the same address share it, so that what one has found out counts for all, and a
//! limit of connections is one. The [`OriginRegistry`] outlives a configuration: what stays in the next one keeps its
//! state. Its size is bounded by the configuration.

use crate::Address;
use crate::health::Health;
use crate::permits::PermitPool;
use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// One origin, as the whole process knows it.
#[derive(Debug)]
pub struct OriginState {
    /// Where it listens.
    pub address: Address,
    /// Whether it should be asked.
    pub health: Health,
    /// The places for connections in use.
    pub places: Arc<PermitPool>,
    /// The connections that wait for their next request, where the whole program's are counted.
    pub kept: Arc<PermitPool>,
    /// See [`OriginState::belongings`].
    belongings: OnceLock<Box<dyn Any + Send + Sync>>,
    requests: AtomicU64,
    failures: AtomicU64,
}

/// The numbers of one origin at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginNumbers {
    /// Its address, as it is written in a configuration.
    pub address: String,
    /// Whether nothing speaks against it.
    pub is_up: bool,
    /// Requests for which it was chosen.
    pub requests: u64,
    /// Those of them that got no answer, for a reason that is the origin's.
    pub failures: u64,
    /// Connections in use; of CGI, the programs that run, whichever origins' they are.
    pub connections: usize,
    /// Requests that wait for one.
    pub queue: usize,
}

impl OriginState {
    /// Nothing is known of it yet.
    pub fn new(address: Address) -> Self {
        Self {
            address,
            health: Health::default(),
            places: Arc::default(),
            kept: Arc::default(),
            belongings: OnceLock::new(),
            requests: AtomicU64::new(0),
            failures: AtomicU64::new(0),
        }
    }

    /// It has been chosen for a request.
    pub fn count_request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// It has failed at one.
    pub fn count_failure(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    /// What its kind keeps for it, such as its processes: made by the first call, and dropped with all else that is known of the
    /// origin. An origin has one kind, so it has belongings of one type; of any other there are none.
    pub fn belongings<T: Default + Send + Sync + 'static>(&self) -> Option<&T> {
        self.belongings.get_or_init(|| Box::<T>::default()).downcast_ref()
    }

    /// The same, where they were made.
    pub fn belongings_made<T: 'static>(&self) -> Option<&T> {
        self.belongings.get()?.downcast_ref()
    }

    fn numbers(&self) -> OriginNumbers {
        let (connections, queue) = self.places.load();
        OriginNumbers {
            address: self.address.to_string(),
            is_up: self.health.is_up(),
            requests: self.requests.load(Ordering::Relaxed),
            failures: self.failures.load(Ordering::Relaxed),
            connections,
            queue,
        }
    }
}

/// All origins of the process. Clones are the same directory.
#[derive(Clone, Debug, Default)]
pub struct OriginRegistry {
    origins: Arc<Mutex<HashMap<Address, Arc<OriginState>>>>,
    /// Of all origins that count their places together.
    shared_places: Arc<PermitPool>,
}

impl OriginRegistry {
    fn all(&self) -> MutexGuard<'_, HashMap<Address, Arc<OriginState>>> {
        self.origins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The origin at that address, known or new.
    pub fn of(&self, address: &Address) -> Arc<OriginState> {
        let new = || {
            let mut state = OriginState::new(address.clone());
            if address.shares_places() {
                state.places = self.shared_places.clone();
            }
            Arc::new(state)
        };
        self.all().entry(address.clone()).or_insert_with(new).clone()
    }

    /// Forgets all others: after a configuration was replaced. Requests that still run keep theirs.
    pub fn keep_only<'a>(&self, addresses: impl Iterator<Item = &'a Address>) {
        let named: HashSet<&Address> = addresses.collect();
        self.all().retain(|address, _| named.contains(address));
    }

    /// Calls `look` with each.
    pub fn for_each(&self, mut look: impl FnMut(&OriginState)) {
        self.all().values().for_each(|origin| look(origin));
    }

    /// The numbers of all, in the order of their addresses.
    pub fn numbers(&self) -> Vec<OriginNumbers> {
        let mut all: Vec<_> = self.all().values().map(|origin| origin.numbers()).collect();
        all.sort_by(|a, b| a.address.cmp(&b.address));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Endpoint;
    use crate::health::Blame;
    use kasoku_options::OriginHealth;

    #[test]
    fn who_names_the_same_address_shares_what_is_known() {
        let directory = OriginRegistry::default();
        let address = |port| Address::Http(Endpoint::Tcp { host: "a".to_owned(), port });
        let (one, same, other) = (directory.of(&address(1)), directory.of(&address(1)), directory.of(&address(2)));
        for _ in 0..3 {
            one.health.failed(Blame::Connection, one.health.mark(), &OriginHealth::default(), 0);
        }
        assert_eq!((same.health.is_up(), other.health.is_up()), (false, true));
        directory.keep_only([address(1)].iter());
        assert_eq!(directory.numbers().len(), 1);
        assert!(!directory.of(&address(1)).health.is_up(), "what stays keeps its state");
        assert!(directory.of(&address(2)).health.is_up());
    }
}
