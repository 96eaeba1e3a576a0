//! The pool of one worker's idle connections.

use super::connection::OriginConnection;
use crate::counters::Counters;
use crate::{Endpoint, Limits};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Connections that wait for their next request.
pub struct ConnectionPool {
    idle: RefCell<HashMap<Endpoint, Vec<Idle>>>,
    pub(super) counters: Rc<Counters>,
}

struct Idle {
    connection: OriginConnection,
    since: Instant,
    idle_timeout: Duration,
}

impl Idle {
    fn is_expired(&self) -> bool {
        self.since.elapsed() > self.idle_timeout
    }
}

impl ConnectionPool {
    /// A pool without connections.
    pub fn new(counters: Rc<Counters>) -> Self {
        Self { idle: RefCell::default(), counters }
    }

    /// The most recently used connection to this endpoint that is still open, if it has been idle for `idle_max` at most.
    pub fn take_idle(&self, endpoint: &Endpoint, idle_max: Duration) -> Option<OriginConnection> {
        let mut idle = self.idle.borrow_mut();
        let connections = idle.get_mut(endpoint)?;
        connections.retain(|idle| !idle.is_expired());
        while let Some(mut idle) = connections.pop() {
            if idle.since.elapsed() > idle_max {
                // All other connections have been idle for longer. They stay for requests that can be repeated.
                connections.push(idle);
                break;
            }
            if idle.connection.is_quiet() {
                return Some(idle.connection);
            }
        }
        None
    }

    /// Closes connections that have been idle for too long or that the origin has closed. The worker calls this now and then.
    pub fn sweep(&self) {
        self.idle.borrow_mut().retain(|_, connections| {
            connections.retain_mut(|idle| !idle.is_expired() && idle.connection.is_quiet());
            !connections.is_empty()
        });
    }

    /// Keeps a connection for its next request if there is room, and gives back its permit.
    pub fn keep(&self, endpoint: &Endpoint, limits: &Limits, mut connection: OriginConnection) {
        connection.permit = None;
        let mut idle = self.idle.borrow_mut();
        let connections = idle.entry(endpoint.clone()).or_default();
        if connections.len() < limits.idle_connections_max {
            connections.push(Idle { connection, since: Instant::now(), idle_timeout: limits.idle_timeout });
        }
    }
}
