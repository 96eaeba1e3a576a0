//! The future of an answer: ready at once for a hit.

use crate::body::CacheBody;
use http::Response;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A boxed answer on its way.
pub(crate) type Visit<B, E> = Pin<Box<dyn Future<Output = Result<Response<CacheBody<B>>, E>> + Send>>;

/// The future of a [`CacheService`](crate::CacheService).
pub struct ResponseFuture<B, E>(State<B, E>);

enum State<B, E> {
    Ready(Option<Response<CacheBody<B>>>),
    Visiting(Visit<B, E>),
}

impl<B, E> ResponseFuture<B, E> {
    pub(crate) fn ready(response: Response<CacheBody<B>>) -> Self {
        Self(State::Ready(Some(response)))
    }

    pub(crate) fn of(visit: Visit<B, E>) -> Self {
        Self(State::Visiting(visit))
    }
}

// Nothing in it is pinned in its place.
impl<B, E> Unpin for ResponseFuture<B, E> {}

impl<B, E> Future for ResponseFuture<B, E> {
    type Output = Result<Response<CacheBody<B>>, E>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            // After its answer, a future is not polled again.
            State::Ready(answer) => answer.take().map_or(Poll::Pending, |answer| Poll::Ready(Ok(answer))),
            State::Visiting(visit) => visit.as_mut().poll(cx),
        }
    }
}

impl<B, E> fmt::Debug for ResponseFuture<B, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.0 {
            State::Ready(_) => "Ready",
            State::Visiting(_) => "Visiting",
        };
        f.debug_tuple("ResponseFuture").field(&state).finish()
    }
}
