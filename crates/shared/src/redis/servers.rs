//! The primary, as all workers know it.

use super::options::{Address, RedisOptions, RedisOptionsError};
use crate::failure::Failure;
use crate::history::History;
use crate::servers::{Server, Servers};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A primary with its replicas, and how it is asked. To everybody else it is one server. See the [module](super).
pub struct Redis {
    addresses: Vec<Address>,
    operation_timeout: Duration,
    servers: Arc<Servers>,
    primary: Mutex<Known>,
    has_several: AtomicBool,
    /// Of each address, whether asking it has failed the last time.
    are_away: Vec<AtomicBool>,
}

#[derive(Default)]
struct Known {
    primary: Option<Primary>,
    /// The last one, which may be gone.
    last: Option<(usize, History)>,
    terms: u64,
}

/// The primary that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Primary {
    /// Its place among the addresses.
    pub(super) node: usize,
    /// Its history when it was found.
    pub(super) history: History,
    /// Counts up each time that one is found after a failure: what failed before then says nothing about it.
    term: u64,
}

impl std::fmt::Debug for Redis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redis")
            .field("servers", &self.servers)
            .field("primary", &self.primary())
            .finish_non_exhaustive()
    }
}

impl Redis {
    /// This primary, of which nothing is known yet.
    pub fn new(options: &RedisOptions) -> Result<Arc<Self>, RedisOptionsError> {
        let addresses = options.addresses()?;
        // Not the hash of the addresses: which of them is the primary changes, and what it has is known by its history.
        let server = Server::new(options.urls.join(","), "redis");
        Ok(Arc::new(Self {
            are_away: addresses.iter().map(|_| AtomicBool::new(false)).collect(),
            addresses,
            operation_timeout: options.operation_timeout,
            servers: Servers::single(server, options.item_bytes_max),
            primary: Mutex::default(),
            has_several: AtomicBool::new(false),
        }))
    }

    /// What is known of it, as of one server.
    pub fn servers(&self) -> &Arc<Servers> {
        &self.servers
    }

    pub(super) fn server(&self) -> &Server {
        // There is one, always.
        #[expect(clippy::indexing_slicing, reason = "made with one server")]
        &self.servers.all()[0]
    }

    pub(super) fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    pub(crate) fn operation_timeout(&self) -> Duration {
        self.operation_timeout
    }

    /// The primary; none until one has been found, and since an operation has failed.
    pub(super) fn primary(&self) -> Option<Primary> {
        self.known().primary
    }

    /// The only one of the addresses that says that it is the primary.
    pub(super) fn found(&self, node: usize, history: History) {
        if self.has_several.swap(false, Ordering::Relaxed) {
            tracing::info!(address = %self.name(node), "there is one primary again");
        }
        let mut known = self.known();
        if known.primary.is_some_and(|primary| (primary.node, primary.history) == (node, history)) {
            return;
        }
        match known.last {
            Some(last) if last == (node, history) => {}
            Some(_) => tracing::warn!(address = %self.name(node), "the primary is another one, or has another history"),
            None => tracing::debug!(address = %self.name(node), "the primary was found"),
        }
        known.terms += 1;
        known.last = Some((node, history));
        known.primary = Some(Primary { node, history, term: known.terms });
    }

    /// Two of the addresses say so.
    pub(super) fn found_several(&self, nodes: impl Iterator<Item = usize>) {
        if !self.has_several.swap(true, Ordering::Relaxed) {
            let addresses: Vec<String> = nodes.map(|node| self.name(node)).collect();
            tracing::error!(
                addresses = addresses.join(", "),
                "several servers say that they are the primary: none is used"
            );
        }
        self.known().primary = None;
        self.server().health.failed(self.servers.now_ms());
    }

    /// Asking the primary has failed. Nobody asks it until it has been found again, which is tried in the background.
    pub(super) fn failed(&self, primary: Primary, failure: &Failure) {
        {
            let mut known = self.known();
            if known.primary != Some(primary) {
                return;
            }
            known.primary = None;
        }
        tracing::debug!(address = %self.name(primary.node), %failure, "Redis failed");
        self.server().health.failed(self.servers.now_ms());
    }

    /// Says why an address can't be asked, once. `failure`: why it has not said its role.
    pub(super) fn asked(&self, node: usize, failure: Option<&Failure>) {
        let Some(is_away) = self.are_away.get(node) else { return };
        if is_away.swap(failure.is_some(), Ordering::Relaxed) == failure.is_some() {
            return;
        }
        match failure {
            Some(failure) => tracing::warn!(address = %self.name(node), %failure, "Redis can't be asked"),
            None => tracing::info!(address = %self.name(node), "Redis can be asked again"),
        }
    }

    /// None was found.
    pub(super) fn found_none(&self) {
        self.known().primary = None;
        self.server().health.failed(self.servers.now_ms());
    }

    pub(super) fn name(&self, node: usize) -> String {
        self.addresses.get(node).map(|address| address.endpoint.as_configured()).unwrap_or_default()
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.primary.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
