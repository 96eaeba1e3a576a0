//! The body of an answer: of what is stored, of a fill, or the application's own.

mod on_disk;

use crate::message::headers;
use crate::shared::Shared;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use kasoku_cache::disk::OpenEntry;
use kasoku_cache::represent::Multipart;
use kasoku_cache::{Entry, FillEvent, FillReader};
use kasoku_semantics::range::ByteRange;
use on_disk::OnDisk;
use pin_project_lite::pin_project;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// What of a stored body goes out.
pub(crate) enum Selection {
    Whole,
    Part(ByteRange),
    Parts(Multipart),
}

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
        OnDisk { reading: Box<OnDisk> },
        Filling { filling: Filling },
        Own { #[pin] body: B },
    }
}

impl<B> CacheBody<B> {
    pub(crate) fn empty() -> Self {
        Self { content: Content::Stored { pieces: Pieces { left: Left::One(None), _entry: None } } }
    }

    /// What was selected of a stored response in memory.
    pub(crate) fn stored(entry: &Arc<Entry>, selection: Selection) -> Self {
        let pieces = match selection {
            Selection::Whole => return Self::whole(entry),
            Selection::Part(range) => entry.body.slice(range),
            Selection::Parts(parts) => parts.pieces(&entry.body),
        };
        Self::of_entry(entry, Left::Many(pieces.into_iter()))
    }

    /// What was selected of a stored response on disk.
    pub(crate) fn on_disk(shared: Arc<Shared>, open: OpenEntry, selection: Selection) -> Self {
        Self { content: Content::OnDisk { reading: Box::new(OnDisk::new(shared, open, selection)) } }
    }

    /// The whole of a stored response.
    fn whole(entry: &Arc<Entry>) -> Self {
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
    pub(crate) fn filling(shared: Arc<Shared>, reader: FillReader, bytes: u64, length: Option<u64>) -> Self {
        let next = Next::Idle(reader);
        Self { content: Content::Filling { filling: Filling { shared, next, left: bytes, length } } }
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
            Content::OnDisk { .. } => "OnDisk",
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
    shared: Arc<Shared>,
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

/// The response can't be completed: the application failed, this client fell too far behind another reader of the same fill, or the disk does
/// not give what was stored.
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
                    let shared = self.shared.clone();
                    self.next = Next::Waiting(Box::pin(async move {
                        let event = match reader.next().await {
                            FillEvent::Spooled(piece) => {
                                let bytes = shared.within_disk_timeout(piece.bytes()).await.flatten();
                                bytes.map_or(FillEvent::Cut, FillEvent::Chunk)
                            }
                            event => event,
                        };
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
            ContentProjection::OnDisk { reading } => reading.poll_frame(cx),
            ContentProjection::Filling { filling } => filling.poll_frame(cx),
            ContentProjection::Own { body } => {
                Poll::Ready(ready!(body.poll_frame(cx)).map(|frame| frame.map_err(Into::into)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            Content::Stored { pieces } => pieces.length() == 0,
            Content::OnDisk { reading } => reading.length() == 0,
            Content::Filling { filling } => matches!(filling.next, Next::Ended),
            Content::Own { body } => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Stored { pieces } => SizeHint::with_exact(pieces.length()),
            Content::OnDisk { reading } => SizeHint::with_exact(reading.length()),
            Content::Filling { filling } => filling.length.map_or_else(SizeHint::default, SizeHint::with_exact),
            Content::Own { body } => body.size_hint(),
        }
    }
}
