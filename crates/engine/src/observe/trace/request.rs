//! Where a request is in a trace.

use crate::observe::trace::context::TraceContext;
use std::cell::Cell;

/// Where a request is in a trace.
#[derive(Debug)]
pub(crate) struct RequestTrace {
    /// Its own span.
    pub(crate) own: TraceContext,
    /// The span of its client, where the trace goes on.
    pub(crate) parent: Option<u64>,
    /// The trace and the span in which an origin was asked for all.
    pub(crate) asked: Cell<Option<(u128, u64)>>,
}
