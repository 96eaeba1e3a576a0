//! The position of a request in a trace.

use crate::observe::trace::context::TraceContext;
use std::cell::Cell;

/// The position of a request in a trace.
#[derive(Debug)]
pub(crate) struct RequestTrace {
    /// The request's own span.
    pub(crate) own: TraceContext,
    /// The client's span, where the request continues the client's trace.
    pub(crate) parent: Option<u64>,
    /// The trace and the span of a fill or refresh that this request began, which has a trace of its own.
    pub(crate) asked: Cell<Option<(u128, u64)>>,
}
