//! Where a request is in a trace.

use super::context::Context;
use std::cell::Cell;

/// Where a request is in a trace.
#[derive(Debug)]
pub(crate) struct RequestTrace {
    /// Its own span.
    pub(super) own: Context,
    /// The span of its client, where the trace goes on.
    pub(super) parent: Option<u64>,
    /// The trace and the span in which an origin was asked for all.
    pub(super) asked: Cell<Option<(u128, u64)>>,
}
