//! The body of an answer: of what is stored, of a fill, or the application's own.

use crate::message::headers;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use kasoku_cache::{Entry, FillEvent, FillReader};
use pin_project_lite::pin_project;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// Any error.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

pin_project! {
    /// The body of a response of a [`CacheService`](crate::CacheService). `B` is the application's own type, for what passes.
    pub struct CacheBody<B> {
        #[pin]
        content: Content<B>,
    }
}

pin_project! {
    #[project = ContentProjection]
    enum Content<B> {
        Stored { pieces: Pieces },
        Filling { filling: Filling },
        Own { #[pin] body: B },
    }
}

impl<B> CacheBody<B> {
    pub(crate) fn empty() -> Self {
        Self { content: Content::Stored { pieces: Pieces { left: Left::One(None), _entry: None } } }
    }

    /// Pieces of a stored response.
    pub(crate) fn stored(entry: &Arc<Entry>, pieces: Vec<Bytes>) -> Self {
        Self::of_entry(entry, Left::Many(pieces.into_iter()))
    }

    /// The whole of a stored response.
    pub(crate) fn whole(entry: &Arc<Entry>) -> Self {
        let mut chunks = entry.body.chunks();
        let left = match (chunks.next(), chunks.next()) {
            (first, None) => Left::One(first.cloned()),
            _ => Left::Many(entry.body.chunks().cloned().collect::<Vec<_>>().into_iter()),
        };
        drop(chunks);
        Self::of_entry(entry, left)
    }

    fn of_entry(entry: &Arc<Entry>, left: Left) -> Self {
        Self { content: Content::Stored { pieces: Pieces { left, _entry: Some(entry.clone()) } } }
    }

    /// What a fill brings: at most `bytes` of it. `length`: how much that is, where it is known.
    pub(crate) fn filling(reader: FillReader, bytes: u64, length: Option<u64>) -> Self {
        let next = Next::Idle(reader);
        Self { content: Content::Filling { filling: Filling { next, left: bytes, length } } }
    }

    /// The application's own.
    pub(crate) fn own(body: B) -> Self {
        Self { content: Content::Own { body } }
    }
}

impl<B> fmt::Debug for CacheBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.content {
            Content::Stored { .. } => "Stored",
            Content::Filling { .. } => "Filling",
            Content::Own { .. } => "Own",
        };
        f.debug_tuple("CacheBody").field(&kind).finish()
    }
}

/// What is left of a stored body. The entry is charged to the cache's memory until the last reader drops it.
struct Pieces {
    left: Left,
    _entry: Option<Arc<Entry>>,
}

enum Left {
    One(Option<Bytes>),
    Many(std::vec::IntoIter<Bytes>),
}

impl Pieces {
    fn next(&mut self) -> Option<Bytes> {
        match &mut self.left {
            Left::One(only) => only.take(),
            Left::Many(several) => several.next(),
        }
    }

    fn length(&self) -> u64 {
        let several = match &self.left {
            Left::One(only) => only.as_slice(),
            Left::Many(several) => several.as_slice(),
        };
        several.iter().map(|piece| piece.len() as u64).sum()
    }
}

/// A reader of a fill.
struct Filling {
    next: Next,
    /// How many bytes may still go out.
    left: u64,
    length: Option<u64>,
}

enum Next {
    Idle(FillReader),
    Waiting(Pin<Box<dyn Future<Output = (FillReader, FillEvent)> + Send + Sync>>),
    Ended,
}

/// The response can't be completed: the application failed, or this client fell too far behind another reader of the same fill.
#[derive(Debug, thiserror::Error)]
#[error("the response has been cut")]
struct Cut;

impl Filling {
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.left == 0 {
            self.next = Next::Ended;
        }
        loop {
            match std::mem::replace(&mut self.next, Next::Ended) {
                Next::Idle(mut reader) => {
                    self.next = Next::Waiting(Box::pin(async move {
                        let event = reader.next().await;
                        (reader, event)
                    }));
                }
                Next::Waiting(mut next) => {
                    let Poll::Ready((reader, event)) = next.as_mut().poll(cx) else {
                        self.next = Next::Waiting(next);
                        return Poll::Pending;
                    };
                    return Poll::Ready(self.came(reader, event));
                }
                Next::Ended => return Poll::Ready(None),
            }
        }
    }

    fn came(&mut self, reader: FillReader, event: FillEvent) -> Option<Result<Frame<Bytes>, BoxError>> {
        match event {
            FillEvent::Chunk(mut piece) => {
                piece.truncate(usize::try_from(self.left).unwrap_or(usize::MAX));
                self.left -= piece.len() as u64;
                self.length = self.length.map(|length| length.saturating_sub(piece.len() as u64));
                self.next = Next::Idle(reader);
                Some(Ok(Frame::data(piece)))
            }
            FillEvent::End(None) => None,
            FillEvent::End(Some(trailers)) => Some(Ok(Frame::trailers(headers(&trailers)))),
            // This host has no disk.
            FillEvent::Spooled(_) | FillEvent::Cut => Some(Err(Box::new(Cut))),
        }
    }
}

impl<B> Body for CacheBody<B>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match self.project().content.project() {
            ContentProjection::Stored { pieces } => Poll::Ready(pieces.next().map(|piece| Ok(Frame::data(piece)))),
            ContentProjection::Filling { filling } => filling.poll_frame(cx),
            ContentProjection::Own { body } => {
                Poll::Ready(ready!(body.poll_frame(cx)).map(|frame| frame.map_err(Into::into)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            Content::Stored { pieces } => pieces.length() == 0,
            Content::Filling { filling } => matches!(filling.next, Next::Ended),
            Content::Own { body } => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Stored { pieces } => SizeHint::with_exact(pieces.length()),
            Content::Filling { filling } => filling.length.map_or_else(SizeHint::default, SizeHint::with_exact),
            Content::Own { body } => body.size_hint(),
        }
    }
}
