//! What is told of a request, or of asking an origin, to whoever records traces. Plain values: how they are sent is somebody else's business.

use tokio::sync::mpsc;

/// Something that took time, and what is known of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// The trace that it belongs to; never 0.
    pub trace_id: u128,
    /// Its own number in that; never 0.
    pub span_id: u64,
    /// The span that it is a part of.
    pub parent_id: Option<u64>,
    /// Whether that one is another program's.
    pub is_parent_remote: bool,
    /// `tracestate`, where the trace is one that goes on.
    pub state: Option<Box<str>>,
    /// Whose time it is.
    pub kind: SpanKind,
    /// What it is: the request's method.
    pub name: Box<str>,
    /// When it began, in microseconds since 1970.
    pub began_unix_us: u64,
    /// How long it took, in microseconds.
    pub duration_us: u64,
    /// What else is known, by the names of OpenTelemetry's conventions.
    pub attributes: Vec<(&'static str, AttributeValue)>,
    /// A span of another trace to which this one belongs as well: its trace and its number.
    pub link: Option<(u128, u64)>,
    /// Whether it went wrong.
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

/// What an attribute says.
#[derive(Clone, Debug, PartialEq)]
pub enum AttributeValue {
    /// A text.
    Text(Box<str>),
    /// A number.
    Number(i64),
}

/// Spans that wait to be sent. Beyond that they are dropped, and counted: no request waits for them.
pub const SPANS_WAITING_MAX: usize = 8192;

/// Where a worker's spans go.
pub(crate) type SpanSender = mpsc::Sender<Span>;

/// The end of the queue at which spans arrive.
pub type Spans = mpsc::Receiver<Span>;
