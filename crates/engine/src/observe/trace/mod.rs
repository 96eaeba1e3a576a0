//! Traces: the context that a request brings, and the spans that are made of it.

pub(crate) mod context;
pub(crate) mod request;
pub(crate) mod span;

pub(crate) use request::RequestTrace;
pub(crate) use span::SpanSender;
pub use span::{AttributeValue, SPANS_WAITING_MAX, Span, SpanKind, Spans};
