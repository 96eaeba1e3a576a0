//! Calls the application for a fill, in a task of its own: the fill goes on when the client that began it leaves.

use crate::body::BoxError;
use crate::counts::Count;
use crate::message::{content_length, fields, outgoing, response_head};
use crate::shared::Shared;
use crate::shared_fills::{ask, share};
use bytes::Bytes;
use http::{Extensions, HeaderMap, Request, Response, StatusCode};
use http_body::Body;
use kasoku_cache::disk::DISK_TIMEOUT;
use kasoku_cache::shared::{Asked, HeldLease};
use kasoku_cache::timer::in_time;
use kasoku_cache::verdict::OriginExchange;
use kasoku_cache::{BodyWriter, Entry, FillReader, FillWriter, Verdict};
use kasoku_semantics::hop_by_hop::forwardable_trailers;
use kasoku_semantics::reason::Reason;
use kasoku_wire::ResponseHead;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::pin::{Pin, pin};
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tower_service::Service;

/// How often one fill may call the application: once, and once more when parts could not be combined.
const ASKS_MAX: usize = 2;

/// What the task of a fill tells the client that began it.
pub(crate) enum FirstClientEvent<B, E> {
    /// The response may be shared, and the client reads it from the fill, as the clients that join do. The head is the application's own.
    Shared(FillReader, Box<ResponseHead>),
    /// A stored response answers.
    Stored(Arc<Entry>, Reason),
    /// The response may not be shared.
    Private(Box<Response<B>>, Reason),
    /// The application has failed.
    Failed(E),
}

/// Calls `service` when it is ready.
pub(crate) async fn call<S: Service<R>, R>(mut service: S, request: R) -> Result<S::Response, S::Error> {
    poll_fn(|cx| service.poll_ready(cx)).await?;
    service.call(request).await
}

/// The task of a fill. `B`: the body of requests.
pub(crate) struct Fetch<S, B> {
    pub(crate) shared: Arc<Shared>,
    pub(crate) service: S,
    pub(crate) kept: Extensions,
    /// Whether requests pass for a while if the response may not be shared: the application may answer a visitor's own request differently.
    pub(crate) is_set_aside: bool,
    pub(crate) body: PhantomData<fn() -> B>,
}

impl<S, B, R> Fetch<S, B>
where
    S: Service<Request<B>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
    B: Default + Send + 'static,
    R: Body<Data = Bytes> + Send + 'static,
    R::Error: Into<BoxError>,
{
    /// Begins the task. `None`: too many fills run, or there is no runtime. Then the requests that wait for this fill call the application
    /// themselves. `counted`: what a call to the application counts as.
    pub(crate) fn spawn(
        self,
        writer: FillWriter,
        counted: Count,
    ) -> Option<oneshot::Receiver<FirstClientEvent<R, S::Error>>> {
        let (Ok(permit), Ok(runtime)) = (self.shared.fills.clone().try_acquire_owned(), Handle::try_current()) else {
            writer.release(Reason::PassRule);
            return None;
        };
        let (events, event) = oneshot::channel();
        runtime.spawn(async move {
            self.run(writer, counted, events).await;
            drop(permit);
        });
        Some(event)
    }

    async fn run(self, mut writer: FillWriter, counted: Count, events: oneshot::Sender<FirstClientEvent<R, S::Error>>) {
        if self.is_set_aside {
            writer.pass_if_private();
        }
        let lease = match ask(&self.shared, writer).await {
            Asked::Response(entry, reason) => {
                self.shared.counts.add(Count::SharedHits);
                let _ = events.send(FirstClientEvent::Stored(entry, reason));
                return;
            }
            Asked::Nothing(unanswered, lease) => {
                writer = unanswered;
                lease
            }
        };
        self.shared.counts.add(counted);
        for _ in 0..ASKS_MAX {
            let asked = writer.request().clone();
            let request_time = self.shared.now();
            let sent = writer.prepare();
            let Some(request) = outgoing(&sent, &self.kept) else { return writer.release(Reason::PassUrl) };
            let response = match call(self.service.clone(), request).await {
                Ok(response) => response,
                Err(error) => {
                    let stale = writer.on_failure(Reason::OriginClosedEarly, self.shared.now());
                    let _ = events.send(match stale {
                        Ok((entry, reason)) => FirstClientEvent::Stored(entry, reason),
                        Err(_) => FirstClientEvent::Failed(error),
                    });
                    return;
                }
            };
            let (parts, body) = response.into_parts();
            let mut head = response_head(&parts);
            let body_length = body.size_hint().exact();
            add_length(&mut head, body_length);
            let verdict = writer.on_response(&OriginExchange {
                response: &head,
                request_time,
                response_time: self.shared.now(),
                body_length,
                is_file: false,
            });
            match verdict {
                Verdict::Write(body_writer) => {
                    let first_head = body_writer.first_head(&sent, &head);
                    let _ = events.send(FirstClientEvent::Shared(body_writer.reader(), Box::new(first_head)));
                    return pump(&self.shared, body, body_writer, &head, lease).await;
                }
                Verdict::Settled(entry, reason) => {
                    if reason == Reason::Revalidated {
                        share(&self.shared, asked, entry.clone(), None);
                    }
                    let _ = events.send(FirstClientEvent::Stored(entry, reason));
                    return;
                }
                Verdict::Private(reason) => {
                    HeldLease::pass(lease);
                    let response = Box::new(Response::from_parts(parts, body));
                    let _ = events.send(FirstClientEvent::Private(response, reason));
                    return;
                }
                // Only `on_external_body` gives this verdict, and the layer does not call it.
                Verdict::External { .. } => return,
                Verdict::AskAgain(again) => writer = again,
            }
        }
        writer.release(Reason::PartialMiss);
    }
}

/// Carries the body into the fill. A body that breaks off, or has another length than the head says, is not stored, apart from what has come of a
/// part that goes to disk.
async fn pump<R: Body<Data = Bytes>>(
    shared: &Arc<Shared>,
    body: R,
    mut writer: BodyWriter,
    head: &ResponseHead,
    mut lease: Option<HeldLease>,
) {
    let promised = content_length(head);
    let (mut body, mut arrived, mut trailers) = (pin!(body), 0, None);
    loop {
        match next_frame(body.as_mut()).await {
            Some(Ok(Piece::Data(data))) => {
                arrived += data.len() as u64;
                if writer.push(data).await.is_err() {
                    return;
                }
                if writer.has_to_spool() && in_time(DISK_TIMEOUT, writer.spool()).await.is_err() {
                    writer.end_spooling();
                }
                // The shared tier gets only what comes into memory. Who waits for more would wait for the whole body.
                if lease.is_some() && !writer.may_come_into_memory() {
                    HeldLease::pass(lease.take());
                }
            }
            Some(Ok(Piece::Trailers(map))) => trailers = forwardable_trailers(fields(&map), &head.fields),
            None if promised.is_none_or(|promised| promised == arrived) => {
                if writer.has_to_spool() && in_time(DISK_TIMEOUT, writer.complete_spooling()).await.is_err() {
                    writer.end_spooling();
                }
                let request = writer.request().clone();
                match writer.finish_stored(trailers) {
                    Some(stored) => {
                        shared.counts.add(Count::Stored);
                        share(shared, request, stored, lease);
                    }
                    None => HeldLease::pass(lease),
                }
                return;
            }
            None | Some(Err(())) => {
                if writer.can_keep_what_came() && in_time(DISK_TIMEOUT, writer.keep_what_came()).await == Ok(true) {
                    shared.counts.add(Count::Stored);
                }
                return writer.fail(Reason::OriginClosedEarly, shared.now());
            }
        }
    }
}

/// Adds Content-Length where the length of the body is known and the application has left the field to the server.
fn add_length(head: &mut ResponseHead, body_length: Option<u64>) {
    let has_none = head.status == StatusCode::NO_CONTENT || head.status == StatusCode::NOT_MODIFIED;
    if let Some(length) = body_length.filter(|_| !has_none && !head.fields.contains("content-length")) {
        head.fields.push("Content-Length", length.to_string());
    }
}

enum Piece {
    Data(Bytes),
    Trailers(HeaderMap),
}

/// The next part of a body; `Err`: it has broken off.
async fn next_frame<R: Body<Data = Bytes>>(mut body: Pin<&mut R>) -> Option<Result<Piece, ()>> {
    loop {
        let Ok(frame) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await? else { return Some(Err(())) };
        match frame.into_data() {
            Ok(data) => return Some(Ok(Piece::Data(data))),
            Err(frame) => {
                if let Ok(trailers) = frame.into_trailers() {
                    return Some(Ok(Piece::Trailers(trailers)));
                }
            }
        }
    }
}
