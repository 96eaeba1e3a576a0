//! Records traces (W3C Trace Context): a span for each request, and one for each time that an origin is asked for it.
//!
//! Nothing here runs unless a collector is set (`traces.otlp`). Then each request has a place in a trace:
//!
//! - A request **continues** its client's trace where that counts (`traces.parents`): it is a part of the span that `traceparent`
//!   names, and is recorded if `traceparent` says so. Otherwise it **begins** a trace, whose number is the request's id; one of so
//!   many is recorded (`traces.sample-one-in`).
//! - An origin that is asked **for one client** is asked in the same trace.
//! - An origin that is asked **for all** (a fill, a refresh) is asked in a trace of its own, with links between it and the request
//!   that began it: what an application writes of a trace into a page that others get must belong to no client's trace
//!   (docs/decisions/0037).
//!
//! The trace fields are the last to be written, when the request is sent: they are in no key, and select no variant.
//!
//! A span is made only where it is recorded. It goes into a bounded queue, and is dropped when that is full; another thread sends it.

use crate::exchange::Exchange;
use crate::exchange::delivered::Delivered;
use crate::observe::trace::context::{FIELD, STATE, TraceContext};
use crate::observe::trace::request::RequestTrace;
use crate::observe::trace::span::SpanSender;
use crate::observe::trace::{AttributeValue, Span, SpanKind};
use crate::origin_client::Reply;
use crate::request::forward::Audience;
use crate::runtime::clock::WorkerTime;
use crate::runtime::worker::Worker;
use kasoku_metrics::{Counter, Outcome};
use kasoku_options::Parents;
use kasoku_origin::{Error, OriginState};
use kasoku_semantics::reason::Reason;
use kasoku_wire::{Fields, RequestHead};
use std::cell::Cell;
use std::rc::Rc;

/// The longest text of an attribute, in bytes.
const TEXT_BYTES_MAX: usize = 512;

/// The request's place in a trace: in its client's trace, or in a new one.
fn begin(exchange: &Exchange) -> RequestTrace {
    let (settings, id) = (&exchange.settings.traces, exchange.made_id());
    let counts = match settings.parents {
        Parents::Trusted => exchange.peer.is_trusted,
        Parents::Any => true,
        Parents::None => false,
    };
    let parent = exchange.request.head.fields.only(FIELD).filter(|_| counts).and_then(TraceContext::parse);
    let span_id = span_id(&exchange.worker);
    let own = match parent {
        Some(parent) => TraceContext { span_id, ..parent },
        None => TraceContext { trace_id: id.max(1), span_id, is_sampled: is_one_in(settings.sample_one_in, id) },
    };
    RequestTrace { own, parent: parent.map(|parent| parent.span_id), asked: Cell::new(None) }
}

/// Whether a request is the one of so many, by the part of its id that has no pattern; 0: none is.
fn is_one_in(count: u64, id: u128) -> bool {
    (id as u64).checked_rem(count) == Some(0)
}

fn span_id(worker: &Worker) -> u64 {
    (worker.request_ids.make() as u64).max(1)
}

/// The place of a fetch in a trace.
#[derive(Clone)]
pub(crate) struct FetchTrace {
    trace_id: u128,
    parent: Option<u64>,
    is_sampled: bool,
    /// Whether the client's `tracestate` is sent on.
    goes_on: bool,
    state: Option<Box<str>>,
    link: Option<(u128, u64)>,
    request: Rc<RequestTrace>,
}

impl FetchTrace {
    /// The place of a fetch whose answer is for `audience`; `None`: nothing is traced.
    pub(crate) fn of(exchange: &Exchange, audience: Audience) -> Option<Self> {
        exchange.worker.traces.as_ref()?;
        let trace = exchange.extras().trace.get_or_insert_with(|| Rc::new(begin(exchange))).clone();
        let TraceContext { trace_id, span_id, is_sampled } = trace.own;
        Some(match audience {
            Audience::OneClient => {
                let goes_on = trace.parent.is_some();
                let state = state(&exchange.request.head.fields).filter(|_| goes_on);
                Self { trace_id, parent: Some(span_id), is_sampled, goes_on, state, link: None, request: trace }
            }
            Audience::Shared | Audience::Background => Self {
                trace_id: exchange.worker.request_ids.make(),
                parent: None,
                is_sampled,
                goes_on: false,
                state: None,
                link: Some((trace_id, span_id)),
                request: trace,
            },
        })
    }

    /// Begins the span of a fetch; its head is the request with the fields of the trace.
    pub(crate) fn asks(&self, worker: &Worker, request: &RequestHead) -> OriginSpan<'_> {
        let span_id = span_id(worker);
        let mut head = request.clone();
        head.fields.set(FIELD, TraceContext { trace_id: self.trace_id, span_id, is_sampled: self.is_sampled }.write());
        if !self.goes_on {
            head.fields.remove(STATE);
        }
        if self.parent.is_none() {
            self.request.asked.set(Some((self.trace_id, span_id)));
        }
        OriginSpan { trace: self, head, span_id, began: worker.moment() }
    }
}

fn state(fields: &Fields) -> Option<Box<str>> {
    let state = String::from_utf8(fields.combined(STATE)?).ok()?;
    (state.len() <= TEXT_BYTES_MAX).then(|| state.into())
}

/// The span of an origin that is being asked.
pub(crate) struct OriginSpan<'t> {
    trace: &'t FetchTrace,
    pub(crate) head: RequestHead,
    span_id: u64,
    began: WorkerTime,
}

impl OriginSpan<'_> {
    /// Ends the span: the origin has answered, or failed.
    pub(crate) fn ends(self, worker: &Worker, origin: &OriginState, asked: &Result<Reply, Error>) {
        let Self { trace, head, span_id, began } = self;
        let Some(queue) = worker.traces.as_ref().filter(|_| trace.is_sampled) else { return };
        let mut attributes = vec![
            ("http.request.method", text(head.method.as_str())),
            ("server.address", text(&origin.address.to_string())),
            ("url.path", text(path(&head.target))),
        ];
        let is_error = match asked {
            Ok(Reply::Response(response)) => {
                let status = response.head.status;
                attributes.push(("http.response.status_code", AttributeValue::Number(status.as_u16().into())));
                status.is_client_error() || status.is_server_error()
            }
            Ok(Reply::LocalRedirect(_)) => false,
            Err(error) => {
                attributes.push(("error.type", text(crate::error::reason(error).id())));
                true
            }
        };
        let span = Span {
            trace_id: trace.trace_id,
            span_id,
            parent_id: trace.parent,
            is_parent_remote: false,
            state: trace.state.clone(),
            kind: SpanKind::Client,
            name: head.method.as_str().into(),
            began_unix_us: unix_us(began),
            duration_us: worker.moment().mono_us.saturating_sub(began.mono_us),
            attributes,
            link: trace.link,
            is_error,
        };
        send(worker, queue, span);
    }
}

/// Records the span of a request that has been answered.
pub(crate) fn answered(exchange: &Exchange, delivered: &Delivered, outcome: Outcome, reason: Option<Reason>) {
    let worker = &exchange.worker;
    let Some(queue) = &worker.traces else { return };
    let known = exchange.existing_extras().and_then(|extras| extras.trace.clone());
    let made;
    let trace = match &known {
        Some(trace) => &**trace,
        None => {
            made = begin(exchange);
            &made
        }
    };
    if trace.own.is_sampled {
        send(worker, queue, span_of(exchange, trace, delivered, outcome, reason));
    }
}

fn span_of(
    exchange: &Exchange,
    trace: &RequestTrace,
    delivered: &Delivered,
    outcome: Outcome,
    reason: Option<Reason>,
) -> Span {
    let (head, status) = (&exchange.request.head, delivered.status.as_u16());
    let (scheme, rest) = exchange.uri.split_once("://").unwrap_or(("http", ""));
    let host = rest.split(['/', '?']).next().unwrap_or_default();
    let site = exchange.route.as_ref().and_then(|_| exchange.settings.sites.get(exchange.site));
    let mut attributes = vec![
        ("http.request.method", text(head.method.as_str())),
        ("url.scheme", text(scheme)),
        ("url.path", text(path(rest.get(host.len()..).filter(|_| !host.is_empty()).unwrap_or(&head.target)))),
        ("http.response.status_code", AttributeValue::Number(status.into())),
        ("http.response.body.size", AttributeValue::Number(i64::try_from(delivered.body_bytes).unwrap_or(i64::MAX))),
        ("kasoku.result", text(outcome.name())),
    ];
    attributes.extend((!host.is_empty()).then(|| ("server.address", text(host))));
    attributes.extend(reason.map(|reason| ("kasoku.reason", text(reason.id()))));
    attributes.extend(site.map(|site| ("kasoku.site", text(&site.name))));
    let is_error = status >= 500;
    attributes.extend(is_error.then(|| ("error.type", text(&status.to_string()))));
    let now = exchange.worker.moment();
    let duration_us = exchange.elapsed_us(now);
    Span {
        trace_id: trace.own.trace_id,
        span_id: trace.own.span_id,
        parent_id: trace.parent,
        is_parent_remote: trace.parent.is_some(),
        state: state(&head.fields).filter(|_| trace.parent.is_some()),
        kind: SpanKind::Server,
        name: head.method.as_str().into(),
        began_unix_us: unix_us(now).saturating_sub(duration_us),
        duration_us,
        attributes,
        link: trace.asked.get(),
        is_error,
    }
}

/// The path alone: a query may hold secrets.
fn path(target: &str) -> &str {
    target.split('?').next().unwrap_or_default()
}

fn text(text: &str) -> AttributeValue {
    AttributeValue::Text(text.get(..text.floor_char_boundary(TEXT_BYTES_MAX)).unwrap_or_default().into())
}

fn unix_us(moment: WorkerTime) -> u64 {
    u64::try_from(moment.now.unix_ms).unwrap_or(0).saturating_mul(1000)
}

fn send(worker: &Worker, queue: &SpanSender, span: Span) {
    if queue.try_send(span).is_err() {
        worker.cells.count(Counter::SpansDropped);
    }
}
