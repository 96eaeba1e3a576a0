//! Keeps a connection for its next request.

use crate::{Endpoint, Limits};
use kasoku_origin::OriginState;
use kasoku_origin::http::{ConnectionPool, OriginConnection};
use std::rc::Rc;
use std::sync::Arc;

/// Where a connection goes after an answer.
pub(super) struct Keeper {
    pub(super) pool: Rc<ConnectionPool>,
    pub(super) endpoint: Endpoint,
    pub(super) limits: Limits,
    pub(super) origin: Arc<OriginState>,
}

impl Keeper {
    /// Keeps it for the next request, while the whole program keeps fewer than it may. Bytes behind the end belong to no
    /// answer that anybody asked for.
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
