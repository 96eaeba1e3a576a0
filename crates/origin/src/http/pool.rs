//! The connections of one worker that are kept.

use super::connection::Connection;
use crate::counters::Counters;
use crate::{Endpoint, Limits};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Connections that wait for their next request.
pub(crate) struct Pool {
    idle: RefCell<HashMap<Endpoint, Vec<Idle>>>,
    pub(super) counters: Rc<Counters>,
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

impl Pool {
    /// Without connections.
    pub(crate) fn new(counters: Rc<Counters>) -> Self {
        Self { idle: RefCell::default(), counters }
    }

    /// The most recently used connection that is still good, and was idle for `idle_max` at most.
    pub(crate) fn take_idle(&self, endpoint: &Endpoint, idle_max: Duration) -> Option<Connection> {
        let mut idle = self.idle.borrow_mut();
        let connections = idle.get_mut(endpoint)?;
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
    pub(crate) fn sweep(&self) {
        self.idle.borrow_mut().retain(|_, connections| {
            connections.retain_mut(|idle| !idle.is_expired() && idle.connection.is_quiet());
            !connections.is_empty()
        });
    }

    pub(crate) fn keep(&self, endpoint: &Endpoint, limits: &Limits, mut connection: Connection) {
        connection.place = None;
        let mut idle = self.idle.borrow_mut();
        let connections = idle.entry(endpoint.clone()).or_default();
        if connections.len() < limits.idle_connections_max {
            connections.push(Idle { connection, since: Instant::now(), idle_timeout: limits.idle_timeout });
        }
    }
}
