//! Sends spans of requests to a collector, by OTLP over HTTP (protobuf).
//!
//! The engine makes spans and puts them into a bounded queue; this crate sends them in batches on a thread of its own. So no worker
//! ever waits for a collector, and a collector that is slow or unreachable costs only spans: a batch that it does not take within a
//! few seconds is dropped and counted, and no batch is sent twice. OpenTelemetry's own crates encode the spans; hyper sends the
//! bytes, which the operator's listener uses as well, so that no other HTTP client is needed (docs/decisions/0037).
//!
//! | file | job |
//! |---|---|
//! | `collector` | a request to the collector |
//! | `form` | a span in OpenTelemetry's form |

mod collector;
mod form;

use collector::Collector;
use kasoku_engine::trace::{Span, Spans};
use kasoku_metrics::{Cells, Counter};
use kasoku_options::Traces;
use opentelemetry_otlp::{Protocol, RetryPolicy, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SpanExporter as _;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;

/// How often spans are sent.
const EXPORT_INTERVAL: Duration = Duration::from_millis(200);

/// The most spans in a batch.
const BATCH_SPANS_MAX: usize = 512;

/// How long the collector may take for a batch.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the end of the program waits for the remaining spans to be sent.
const LAST_EXPORT_TIMEOUT: Duration = Duration::from_secs(2);

/// A thread that sends spans. When it is dropped, it sends the waiting spans and ends.
#[derive(Debug)]
pub struct Exporter {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Exporter {
    /// Starts to send the spans of the queue `spans`, and counts them in `cells`. `None`: no collector is set.
    ///
    /// # Errors
    /// The thread can't be started, or the collector's URL is invalid.
    pub fn start(traces: &Traces, spans: Spans, cells: Arc<Cells>) -> io::Result<Option<Self>> {
        let Some(url) = &traces.collector else { return Ok(None) };
        let exporter = exporter(url, &traces.service_name)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let sending = SpanBatches { exporter, spans, cells, was_taken: true };
        let run = move || runtime.block_on(sending.until(stopped));
        let thread = std::thread::Builder::new().name("traces".to_owned()).spawn(run)?;
        Ok(Some(Self { stop: Some(stop), thread: Some(thread) }))
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn exporter(url: &str, service_name: &str) -> io::Result<SpanExporter> {
    let builder = SpanExporter::builder()
        .with_http()
        .with_http_client(Collector::new(EXPORT_TIMEOUT))
        .with_endpoint(url)
        .with_protocol(Protocol::HttpBinary)
        .with_timeout(EXPORT_TIMEOUT)
        .with_retry_policy(RetryPolicy::disabled());
    let mut exporter = builder.build().map_err(io::Error::other)?;
    let resource = Resource::builder_empty()
        .with_service_name(service_name.to_owned())
        .with_attribute(opentelemetry::KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .build();
    exporter.set_resource(&resource);
    Ok(exporter)
}

struct SpanBatches {
    exporter: SpanExporter,
    spans: Spans,
    cells: Arc<Cells>,
    /// Whether the collector took the last batch, so that only a change is logged.
    was_taken: bool,
}

impl SpanBatches {
    async fn until(mut self, mut stopped: oneshot::Receiver<()>) {
        loop {
            let is_last = tokio::select! {
                _ = &mut stopped => true,
                () = tokio::time::sleep(EXPORT_INTERVAL) => false,
            };
            if is_last {
                let _ = tokio::time::timeout(LAST_EXPORT_TIMEOUT, self.send_all()).await;
                return;
            }
            let mut sending = pin!(self.send_all());
            tokio::select! {
                () = &mut sending => {}
                // The end of the program does not wait for a collector that hangs.
                _ = &mut stopped => {
                    let _ = tokio::time::timeout(LAST_EXPORT_TIMEOUT, sending).await;
                    return;
                }
            }
        }
    }

    /// Sends the spans that wait at present; spans that come meanwhile are sent after the next interval.
    async fn send_all(&mut self) {
        let mut left = self.spans.len();
        while left > 0 {
            let mut batch = Vec::new();
            while batch.len() < BATCH_SPANS_MAX.min(left)
                && let Ok(span) = self.spans.try_recv()
            {
                batch.push(span);
            }
            if batch.is_empty() {
                return;
            }
            left = left.saturating_sub(batch.len());
            self.send(batch).await;
        }
    }

    async fn send(&mut self, batch: Vec<Span>) {
        let count = batch.len() as u64;
        let sent = self.exporter.export(batch.into_iter().map(form::of).collect()).await;
        let counter = if sent.is_ok() { Counter::Spans } else { Counter::SpansDropped };
        self.cells.add_shared(counter, count);
        match sent {
            Ok(()) if !self.was_taken => tracing::info!("the collector takes spans again"),
            Err(error) if self.was_taken => {
                tracing::warn!(%error, "the collector does not take spans; they are dropped")
            }
            _ => {}
        }
        self.was_taken = counter == Counter::Spans;
    }
}
