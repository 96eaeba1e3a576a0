//! Keeps a FastCGI connection for its next request.

use crate::{Endpoint, Limits};
use kasoku_origin::OriginState;
use kasoku_origin::http::{ConnectionPool, OriginConnection};
use std::rc::Rc;
use std::sync::Arc;

/// Returns a connection to the pool after an answer.
pub(super) struct Keeper {
    pub(super) pool: Rc<ConnectionPool>,
    pub(super) endpoint: Endpoint,
    pub(super) limits: Limits,
    pub(super) origin: Arc<OriginState>,
}

impl Keeper {
    /// Keeps the connection for the next request, if the process keeps fewer of them than it may. Bytes behind the end belong to
    /// no request: such a connection is closed.
    pub(super) fn keep(self, mut connection: OriginConnection) {
        if !connection.read_ahead.is_empty() {
            return;
        }
        connection.kept = self.origin.kept.try_take(self.limits.kept_connections_max);
        if connection.kept.is_some() {
            self.pool.keep(&self.endpoint, &self.limits, connection);
        }
    }
}
