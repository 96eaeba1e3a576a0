//! Converts a span into OpenTelemetry's form.

use kasoku_engine::trace::{AttributeValue, Span, SpanKind};
use opentelemetry::trace::{self, Link, SpanContext, SpanId, Status, TraceFlags, TraceId, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};
use std::time::{Duration, UNIX_EPOCH};

pub(crate) fn of(span: Span) -> SpanData {
    let state = span.state.as_deref().and_then(|state| state.parse::<TraceState>().ok()).unwrap_or_default();
    let start_time = UNIX_EPOCH + Duration::from_micros(span.began_unix_us);
    let mut links = SpanLinks::default();
    links.links.extend(
        span.link
            .map(|(trace_id, span_id)| Link::new(context(trace_id, span_id, TraceState::default()), Vec::new(), 0)),
    );
    let attribute = |(name, value)| match value {
        AttributeValue::Text(text) => KeyValue::new(name, String::from(text)),
        AttributeValue::Number(number) => KeyValue::new(name, number),
    };
    SpanData {
        span_context: context(span.trace_id, span.span_id, state),
        parent_span_id: SpanId::from(span.parent_id.unwrap_or(0)),
        parent_span_is_remote: span.is_parent_remote,
        span_kind: match span.kind {
            SpanKind::Server => trace::SpanKind::Server,
            SpanKind::Client => trace::SpanKind::Client,
        },
        name: String::from(span.name).into(),
        start_time,
        end_time: start_time + Duration::from_micros(span.duration_us),
        attributes: span.attributes.into_iter().map(attribute).collect(),
        dropped_attributes_count: 0,
        events: SpanEvents::default(),
        links,
        status: if span.is_error { Status::error("") } else { Status::Unset },
        instrumentation_scope: InstrumentationScope::builder("kasoku").with_version(env!("CARGO_PKG_VERSION")).build(),
    }
}

fn context(trace_id: u128, span_id: u64, state: TraceState) -> SpanContext {
    SpanContext::new(TraceId::from(trace_id), SpanId::from(span_id), TraceFlags::SAMPLED, false, state)
}
