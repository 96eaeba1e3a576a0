//! Tells the client for which the origin is asked: how its fill went on, interim responses, and that there is no answer.

use crate::deliver;
use crate::error::{Fault, reason};
use crate::exchange::Exchange;
use crate::exchange::answer::Answer;
use crate::origin_client::Response;
use crate::request::notes::DroppedCookies;
use http::Version;
use kasoku_cache::{Entry, FillReader};
use kasoku_origin::{Error, Interim};
use kasoku_semantics::cache_status::CacheStatus;
use kasoku_semantics::reason::Reason;
use kasoku_wire::ResponseHead;
use std::sync::Arc;
use tokio::sync::oneshot;

/// What the fill's task tells the client that began it.
pub(super) enum FirstClientEvent {
    /// The response may be shared, and the client reads it from the fill, as all others do. The head is the origin's own, with the
    /// fields that may not be stored.
    Shared(FillReader, DroppedCookies, Box<ResponseHead>),
    /// A stored response answers.
    Stored(Arc<Entry>, Reason),
    /// The response is for this client as it is; others get what is kept of it. The flag: whether that is stored.
    PrivateWithStoredCopy(Box<Response>, bool),
    /// The response is for this client alone, for this reason.
    Private(Box<Response>, Reason),
    /// The response is not for this client, and it is open whether others get it: the client asks for itself.
    Unverified,
    /// There is no response.
    Failed(Error),
}

/// The client that began a fill, until it has been told what it gets.
pub(super) struct FirstClient(Option<oneshot::Sender<FirstClientEvent>>);

impl FirstClient {
    pub(super) fn new(events: oneshot::Sender<FirstClientEvent>) -> Self {
        Self(Some(events))
    }

    /// Tells the client, unless it has been told before, or is gone.
    pub(super) fn tell(&mut self, event: FirstClientEvent) {
        if let Some(events) = self.0.take() {
            let _ = events.send(event);
        }
    }
}

/// Writes interim responses to the exchange's client.
pub(super) struct ToClient<'a>(pub(super) &'a Exchange);

impl Interim for ToClient<'_> {
    async fn interim(&mut self, head: ResponseHead) {
        //= RFC 9110 section 15.2
        //# Since HTTP/1.0 did not define any 1xx status codes, a server MUST NOT send a 1xx response to an HTTP/1.0 client.
        if self.0.request.head.version != Version::HTTP_10 {
            // A client that is gone will be noticed when the final response is written.
            let _ = deliver::interim(self.0, head).await;
        }
    }
}

/// The answer where the origin gave none.
pub(crate) fn failed(error: &Error, status: CacheStatus) -> Answer {
    tracing::debug!(%error, "origin");
    // A request for which no origin was asked was not forwarded (RFC 9211 section 2.2).
    let fwd = status.fwd.filter(|_| !error.is_unasked());
    Answer::Synthetic(Fault::from_origin(error), Some(CacheStatus { fwd, detail: Some(reason(error)), ..status }))
}
