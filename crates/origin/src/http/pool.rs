//! The pool of one worker's idle connections.
//!
//! A connection ends after its lifetime and a number of requests (nginx: `keepalive_time`, `keepalive_requests`), and when its address
//! is no longer one of its origin's name: else a busy one would lead to an old address for ever.

use super::connection::{ConnectionRoute, OriginConnection, Reuse};
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
    reuse: Reuse,
}

impl Idle {
    fn is_expired(&self) -> bool {
        self.since.elapsed() > self.idle_timeout || !self.connection.is_current(&self.reuse)
    }
}

impl ConnectionPool {
    /// A pool without connections.
    pub fn new(counters: Rc<Counters>) -> Self {
        Self { idle: RefCell::default(), counters }
    }

    /// The most recently used connection to the next address of the route that is still open, if it has been idle for `idle_max` at
    /// most.
    pub fn take_idle(
        &self,
        endpoint: &Endpoint,
        route: &ConnectionRoute,
        idle_max: Duration,
    ) -> Option<OriginConnection> {
        let mut idle = self.idle.borrow_mut();
        let connections = idle.get_mut(endpoint)?;
        connections.retain(|idle| !idle.is_expired());
        let next = route.next();
        while let Some(at) = connections.iter().rposition(|idle| idle.connection.leads_to(next)) {
            // All others have been idle for longer. They stay for requests that can be repeated.
            if connections.get(at).is_none_or(|idle| idle.since.elapsed() > idle_max) {
                break;
            }
            let mut idle = connections.remove(at);
            if idle.connection.is_quiet() {
                return Some(idle.connection);
            }
        }
        None
    }

    /// Closes connections that have been idle for too long, that are too old, or that the origin has closed. The worker calls this now
    /// and then.
    pub fn sweep(&self) {
        self.idle.borrow_mut().retain(|_, connections| {
            connections.retain_mut(|idle| !idle.is_expired() && idle.connection.is_quiet());
            !connections.is_empty()
        });
    }

    /// Keeps a connection for its next request if there is room and it may carry one, and gives back its permit.
    pub fn keep(&self, endpoint: &Endpoint, limits: &Limits, mut connection: OriginConnection) {
        connection.permit = None;
        connection.count_exchange();
        let reuse = Reuse::of(limits);
        if !connection.is_current(&reuse) {
            return;
        }
        let mut idle = self.idle.borrow_mut();
        let connections = idle.entry(endpoint.clone()).or_default();
        if connections.len() < limits.idle_connections_max {
            connections.push(Idle { connection, since: Instant::now(), idle_timeout: limits.idle_timeout, reuse });
        }
    }
}
