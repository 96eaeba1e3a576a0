//! Spans of requests, and of requests to origins. They are plain values: sending them to a collector is left to the program
//! around the engine.

use tokio::sync::mpsc;

/// An operation that took time, and what is known of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// The trace that it belongs to; never 0.
    pub trace_id: u128,
    /// The span's number in that trace; never 0.
    pub span_id: u64,
    /// The span that this one is a part of.
    pub parent_id: Option<u64>,
    /// Whether the parent is another program's span.
    pub is_parent_remote: bool,
    /// `tracestate`, where the span continues a client's trace.
    pub state: Option<Box<str>>,
    /// Whether it is a client's request or a request to an origin.
    pub kind: SpanKind,
    /// The request's method.
    pub name: Box<str>,
    /// When it began, in microseconds since 1970.
    pub began_unix_us: u64,
    /// How long it took, in microseconds.
    pub duration_us: u64,
    /// Further values, by the names of OpenTelemetry's conventions.
    pub attributes: Vec<(&'static str, AttributeValue)>,
    /// A related span of another trace: its trace and its number.
    pub link: Option<(u128, u64)>,
    /// Whether the operation failed.
    pub is_error: bool,
}

/// See [`Span::kind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// A client's request, until its answer has gone out.
    Server,
    /// A request to an origin, until the head of its answer.
    Client,
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum AttributeValue {
    /// A text.
    Text(Box<str>),
    /// A number.
    Number(i64),
}

/// The most spans that wait to be sent. Further spans are dropped and counted: no request waits for them.
pub const SPANS_WAITING_MAX: usize = 8192;

/// The sending end of the queue of spans.
pub(crate) type SpanSender = mpsc::Sender<Span>;

/// The receiving end of the queue of spans.
pub type Spans = mpsc::Receiver<Span>;
