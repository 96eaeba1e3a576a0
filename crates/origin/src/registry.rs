//! What the process knows of its origins: one [`OriginState`] for each address.
//!
//! All sites, rules and workers that name the same address share the state. So what one request finds out counts for all, and there is
//! one limit of connections. The [`OriginRegistry`] outlives a configuration: an origin that the next configuration names keeps its
//! state. The configuration bounds the registry's size.

use crate::Address;
use crate::health::Health;
use crate::names::{Names, Resolver};
use crate::permits::PermitPool;
use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// One origin, as the whole process knows it.
#[derive(Debug)]
pub struct OriginState {
    /// The address at which it is asked.
    pub address: Address,
    /// Whether it should be asked.
    pub health: Health,
    /// The permits for connections in use.
    pub permits: Arc<PermitPool>,
    /// The permits for idle connections, for kinds of origins whose idle connections are counted for the whole process.
    pub kept: Arc<PermitPool>,
    /// The addresses of its host.
    pub names: Arc<Names>,
    /// See [`OriginState::kind_state`].
    kind_state: OnceLock<Box<dyn Any + Send + Sync>>,
    requests: AtomicU64,
    failures: AtomicU64,
}

/// The numbers of one origin at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginNumbers {
    /// The address, as it is written in a configuration.
    pub address: String,
    /// Whether nothing speaks against the origin.
    pub is_up: bool,
    /// Requests for which the origin was chosen.
    pub requests: u64,
    /// Those requests that got no answer, for a reason that is the origin's.
    pub failures: u64,
    /// Connections in use. For CGI: the programs that run, of all CGI origins together.
    pub connections: usize,
    /// Requests that wait for a connection.
    pub queue: usize,
}

impl OriginState {
    /// An origin of which nothing is known yet.
    pub fn new(address: Address) -> Self {
        Self {
            address,
            health: Health::default(),
            permits: Arc::default(),
            kept: Arc::default(),
            names: Arc::default(),
            kind_state: OnceLock::new(),
            requests: AtomicU64::new(0),
            failures: AtomicU64::new(0),
        }
    }

    /// Counts a request for which the origin was chosen.
    pub fn count_request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a request at which the origin failed.
    pub fn count_failure(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    /// What the crate for this kind of origin keeps for it, such as its processes. The first call makes it, and it is dropped with the
    /// origin's state. An origin has one kind, so its state has one type; `None` for any other type.
    pub fn kind_state<T: Default + Send + Sync + 'static>(&self) -> Option<&T> {
        self.kind_state.get_or_init(|| Box::<T>::default()).downcast_ref()
    }

    /// The same state, if a call of [`Self::kind_state`] has made it.
    pub fn existing_kind_state<T: 'static>(&self) -> Option<&T> {
        self.kind_state.get()?.downcast_ref()
    }

    fn numbers(&self) -> OriginNumbers {
        let (connections, queue) = self.permits.load();
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

/// All origins of the process. Clones share one registry.
#[derive(Clone, Debug, Default)]
pub struct OriginRegistry {
    origins: Arc<Mutex<HashMap<Address, Arc<OriginState>>>>,
    /// The permits of all origins that share their permits.
    shared_permits: Arc<PermitPool>,
    resolver: Resolver,
}

impl OriginRegistry {
    fn all(&self) -> MutexGuard<'_, HashMap<Address, Arc<OriginState>>> {
        self.origins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The origin at that address, known or new.
    pub fn of(&self, address: &Address) -> Arc<OriginState> {
        let new = || {
            let mut state = OriginState::new(address.clone());
            state.names = Arc::new(Names::new(self.resolver.clone()));
            if address.shares_permits() {
                state.permits = self.shared_permits.clone();
            }
            Arc::new(state)
        };
        self.all().entry(address.clone()).or_insert_with(new).clone()
    }

    /// Forgets all other origins, after a configuration was replaced. Requests that still run keep the state of theirs.
    pub fn keep_only<'a>(&self, addresses: impl Iterator<Item = &'a Address>) {
        let named: HashSet<&Address> = addresses.collect();
        self.all().retain(|address, _| named.contains(address));
    }

    /// Finds the addresses of all origins' names.
    pub fn resolver(&self) -> &Resolver {
        &self.resolver
    }

    /// Resolves the name of each origin anew before its next request.
    pub fn renew_names(&self) {
        self.for_each(|origin| origin.names.renew());
    }

    /// Calls `look` with each origin.
    pub fn for_each(&self, mut look: impl FnMut(&OriginState)) {
        self.all().values().for_each(|origin| look(origin));
    }

    /// The numbers of all origins, in the order of their addresses.
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
        let registry = OriginRegistry::default();
        let address = |port| Address::Http(Endpoint::Tcp { host: "a".to_owned(), port });
        let (one, same, other) = (registry.of(&address(1)), registry.of(&address(1)), registry.of(&address(2)));
        for _ in 0..3 {
            one.health.failed(Blame::Connection, one.health.mark(), &OriginHealth::default(), 0);
        }
        assert_eq!((same.health.is_up(), other.health.is_up()), (false, true));
        registry.keep_only([address(1)].iter());
        assert_eq!(registry.numbers().len(), 1);
        assert!(!registry.of(&address(1)).health.is_up(), "what stays keeps its state");
        assert!(registry.of(&address(2)).health.is_up());
    }
}
