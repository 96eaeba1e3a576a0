//! The connections of one worker.

use super::connection::Connection;
use crate::{Address, Limits};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The origins' side of one worker: sends requests and keeps connections.
#[derive(Default)]
pub struct Client {
    idle: RefCell<HashMap<Address, Vec<Idle>>>,
    counters: Counters,
}

/// What has happened so far.
#[derive(Debug, Default)]
pub struct Counters {
    /// Requests sent, retries included.
    pub requests: Cell<u64>,
    /// Connections opened.
    pub connections: Cell<u64>,
    /// Requests sent again because a kept connection was found dead.
    pub retries: Cell<u64>,
}

struct Idle {
    connection: Connection,
    since: Instant,
    idle_timeout: Duration,
}

impl Idle {
    fn is_expired(&self) -> bool {
        self.since.elapsed() > self.idle_timeout
    }
}

impl Client {
    /// Without connections.
    pub fn new() -> Self {
        Self::default()
    }

    /// What has happened so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The most recently used connection that is still good, and was idle for `idle_max` at most.
    pub(super) fn take_idle(&self, address: &Address, idle_max: Duration) -> Option<Connection> {
        let mut idle = self.idle.borrow_mut();
        let connections = idle.get_mut(address)?;
        connections.retain(|idle| !idle.is_expired());
        while let Some(mut idle) = connections.pop() {
            if idle.since.elapsed() > idle_max {
                // The others have been idle for longer. They stay for requests that can be repeated.
                connections.push(idle);
                break;
            }
            if idle.connection.is_quiet() {
                return Some(idle.connection);
            }
        }
        None
    }

    /// Closes the connections that were idle for too long, or that their origin has closed. To be called now and then.
    pub fn sweep(&self) {
        self.idle.borrow_mut().retain(|_, connections| {
            connections.retain_mut(|idle| !idle.is_expired() && idle.connection.is_quiet());
            !connections.is_empty()
        });
    }

    pub(super) fn keep(&self, address: &Address, limits: &Limits, mut connection: Connection) {
        connection.place = None;
        let mut idle = self.idle.borrow_mut();
        let connections = idle.entry(address.clone()).or_default();
        if connections.len() < limits.idle_connections_max {
            connections.push(Idle { connection, since: Instant::now(), idle_timeout: limits.idle_timeout });
        }
    }
}
