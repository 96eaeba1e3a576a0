//! The body of an answer that is read from disk while it is sent: a chunk at a time, each compared with its checksum before any byte of it
//! leaves. A chunk that is damaged, or does not come in time, ends the body with an error.

use super::{BoxError, Cut, Selection};
use crate::shared::Shared;
use bytes::Bytes;
use http_body::Frame;
use kasoku_cache::disk::{OpenEntry, Unreadable};
use kasoku_semantics::range::ByteRange;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// See the [module](self).
pub(super) struct OnDisk {
    shared: Arc<Shared>,
    next: Next,
    parts: VecDeque<Part>,
}

enum Part {
    /// What stands before, between and behind several ranges.
    Around(Bytes),
    Stored(ByteRange),
}

/// What a read brings of a range.
type Read = (OpenEntry, ByteRange, Option<Result<Bytes, Unreadable>>);

enum Next {
    Idle(OpenEntry),
    Waiting(Pin<Box<dyn Future<Output = Read> + Send + Sync>>),
    Ended,
}

impl OnDisk {
    pub(super) fn new(shared: Arc<Shared>, open: OpenEntry, selection: Selection) -> Self {
        let length = open.entry().body.complete_length().unwrap_or_default();
        let parts = match selection {
            Selection::Whole => {
                length.checked_sub(1).map(|last| Part::Stored(ByteRange { first: 0, last })).into_iter().collect()
            }
            Selection::Part(range) => VecDeque::from([Part::Stored(range)]),
            Selection::Parts(parts) => {
                let each = parts.parts.into_iter().flat_map(|(head, range)| [Part::Around(head), Part::Stored(range)]);
                each.chain([Part::Around(parts.end)]).collect()
            }
        };
        Self { shared, next: Next::Idle(open), parts }
    }

    pub(super) fn length(&self) -> u64 {
        self.parts.iter().map(Part::length).sum()
    }

    pub(super) fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        loop {
            match std::mem::replace(&mut self.next, Next::Ended) {
                Next::Idle(open) => match self.parts.pop_front() {
                    Some(Part::Around(bytes)) => {
                        self.next = Next::Idle(open);
                        return Poll::Ready(Some(Ok(Frame::data(bytes))));
                    }
                    Some(Part::Stored(range)) => {
                        // What is being read is still to go out.
                        self.parts.push_front(Part::Stored(range));
                        self.next = Next::Waiting(Box::pin(read(self.shared.clone(), open, range)));
                    }
                    None => return Poll::Ready(None),
                },
                Next::Waiting(mut reading) => {
                    let Poll::Ready((open, range, piece)) = reading.as_mut().poll(cx) else {
                        self.next = Next::Waiting(reading);
                        return Poll::Pending;
                    };
                    return Poll::Ready(self.came((open, range, piece)));
                }
                Next::Ended => return Poll::Ready(None),
            }
        }
    }

    fn came(&mut self, (open, range, piece): Read) -> Option<Result<Frame<Bytes>, BoxError>> {
        self.parts.pop_front();
        let Some(Ok(piece)) = piece else {
            self.parts.clear();
            return Some(Err(Box::new(Cut)));
        };
        let rest = ByteRange { first: range.first.saturating_add(piece.len() as u64), ..range };
        if rest.first <= rest.last {
            self.parts.push_front(Part::Stored(rest));
        }
        self.next = Next::Idle(open);
        Some(Ok(Frame::data(piece)))
    }
}

impl Part {
    fn length(&self) -> u64 {
        match self {
            Self::Around(bytes) => bytes.len() as u64,
            Self::Stored(range) => range.length(),
        }
    }
}

async fn read(shared: Arc<Shared>, mut open: OpenEntry, range: ByteRange) -> Read {
    let piece = shared.within_disk_timeout(open.next(range)).await;
    (open, range, piece)
}
