//! A fill: a response in progress that one task writes and any number of requests read, on any core. What a request that joins does with
//! a fill: `course`. How the bytes reach it: `filling` in `engine/src/deliver/mod.rs`.
//!
//! ```text
//! Waiting --release--> Released   each waiter asks for itself
//!    |  \---fail-----> Failed     each waiter gets the error
//!    |   \--settle---> Settled    a stored response answers all (304, stale-if-error)
//!    \----start------> Streaming --finish--> Ended
//!                               \---cut----> Cut
//! ```
//!
//! A body that is too large for memory goes to the disk tier while it comes, if there is one that takes it. Then only its latest bytes are
//! in memory, and readers get earlier ones from disk. So they get the stored bytes around a part that is added to a body on disk: for them,
//! such a fill is that of the whole.
//!
//! The body is append-only while it may still be stored. It can't be stored once it is too large, or once all responses together fill the
//! memory. From then on no request joins the fill, the writer goes at the pace of the fastest reader, and bytes that all readers have
//! taken are dropped. A reader that falls behind the fastest by more than the largest object plus a window is cut. While memory is full,
//! the writer goes at the pace of the slowest reader instead, and no reader is cut here. Dropping the writer cuts the fill, so no reader
//! waits for ever. An invalidation poisons the running fills of its key: waiting readers get the response, but it is never stored.
//!
//! A fill has no deadline and no task of its own. Writers wait for origins, and readers wait for writers, both under the deadlines of
//! their callers.

use crate::budget::Budget;
use crate::disk::SpooledPiece;
use crate::generations::{Epoch, Generations, Validity};
use crate::pieces::{PieceAt, Pieces};
use crate::selection::{FillId, RequestedFor, Selection};
use crate::sync::{Mutex, MutexGuard, PoisonError};
use crate::tags::Tags;
use crate::{Entry, Meta};
use bytes::Bytes;
use kasoku_semantics::partial::{combinable, part};
use kasoku_semantics::reason::Reason;
use kasoku_store::KeyHash;
use kasoku_wire::Fields;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use tokio::sync::Notify;

/// A response in progress.
pub(crate) struct Fill {
    pub(crate) hash: KeyHash,
    pub(crate) key: Box<[u8]>,
    /// What of the key it fetches. Only requests for the same selection join it.
    pub(crate) selection: Selection,
    requested_for: RequestedFor,
    /// The fingerprint of the rules under which it was begun. Only requests under the same rules join it.
    pub(crate) rules: u64,
    /// Whether requests may join it. Not where the request wants an answer of its own.
    pub(crate) is_joinable: bool,
    /// The tags by which its response is dropped.
    pub(crate) tags: Option<Arc<Tags>>,
    /// The purge epoch in which it began.
    pub(crate) epoch: Epoch,
    generations: Arc<Generations>,
    state: Mutex<FillState>,
    /// Tells readers that there are more bytes, or a new phase.
    changed: Notify,
    /// Tells the writer of a body that can't be stored that a reader has taken more, or has left.
    pub(crate) taken: Notify,
}

pub(crate) struct FillState {
    pub(crate) phase: FillPhase,
    pub(crate) body: Pieces,
    /// The position of each reader, in bytes; a place is `None` once its reader has left.
    pub(crate) readers: Vec<Option<u64>>,
    pub(crate) is_storable: bool,
    pub(crate) is_poisoned: bool,
    /// A reader has waited too long for the head: no further request joins.
    pub(crate) is_late: bool,
}

pub(crate) enum FillPhase {
    Waiting,
    Released(Reason),
    Failed(Reason),
    Settled(Arc<Entry>, Reason),
    Streaming(Arc<Meta>),
    Ended(Arc<Meta>, Option<Fields>),
    Cut,
}

impl Fill {
    pub(crate) fn new(
        which: FillId<'_>,
        is_joinable: bool,
        tags: Option<Arc<Tags>>,
        budget: &Arc<Budget>,
        generations: &Arc<Generations>,
    ) -> Self {
        Self {
            hash: which.hash,
            key: which.key.into(),
            selection: which.selection.clone(),
            requested_for: which.requested_for,
            rules: which.rules,
            is_joinable,
            tags,
            epoch: generations.epoch(),
            generations: generations.clone(),
            state: Mutex::new(FillState {
                phase: FillPhase::Waiting,
                body: Pieces::new(budget),
                readers: Vec::new(),
                is_storable: true,
                is_poisoned: false,
                is_late: false,
            }),
            changed: Notify::new(),
            taken: Notify::new(),
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, FillState> {
        // Each change under the lock is complete in itself, so a panic elsewhere leaves a state that can be read.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut FillState) -> T) -> T {
        let result = change(&mut self.state());
        self.changed.notify_waiters();
        result
    }

    /// Waits until `look` finds something in the state. Looks again after each `signal`.
    pub(crate) async fn until<T>(&self, signal: &Notify, mut look: impl FnMut(&mut FillState) -> Option<T>) -> T {
        loop {
            let changed = signal.notified();
            tokio::pin!(changed);
            // Registered before the look, so that a change between look and wait is not missed.
            changed.as_mut().enable();
            if let Some(found) = look(&mut self.state()) {
                return found;
            }
            changed.await;
        }
    }

    /// The same, for either of two signals.
    pub(crate) async fn until_either<T>(
        &self,
        signals: [&Notify; 2],
        mut look: impl FnMut(&mut FillState) -> Option<T>,
    ) -> T {
        loop {
            let [one, other] = signals.map(Notify::notified);
            tokio::pin!(one, other);
            one.as_mut().enable();
            other.as_mut().enable();
            if let Some(found) = look(&mut self.state()) {
                return found;
            }
            poll_fn(|cx| match one.as_mut().poll(cx) {
                Poll::Pending => other.as_mut().poll(cx),
                ready => ready,
            })
            .await;
        }
    }

    /// Whether its key was invalidated or purged since it began, so that its response is not stored.
    pub(crate) fn is_poisoned(&self) -> bool {
        self.state().is_poisoned || self.is_purged()
    }

    /// Whether a purge of many keys has dropped its key since it began. A soft purge does not count.
    pub(crate) fn is_dropped_by_purge(&self) -> bool {
        let validity = self.generations.validity(&self.key, self.tags.as_deref(), self.epoch);
        matches!(validity, Validity::Changed | Validity::Gone)
    }

    /// Whether a purge of many keys, soft ones included, has covered its key since it began.
    fn is_purged(&self) -> bool {
        self.generations.validity(&self.key, self.tags.as_deref(), self.epoch) != Validity::Valid
    }
}

impl Fill {
    pub(crate) fn can_be_joined(&self, which: FillId<'_>) -> bool {
        let is_of_this = *self.key == *which.key && self.selection == *which.selection;
        let is_alike = self.requested_for == which.requested_for && self.rules == which.rules;
        is_of_this && is_alike && self.is_joinable && !self.is_purged() && {
            let state = self.state();
            state.is_storable && !state.is_poisoned && !state.is_late
        }
    }

    /// Whether it brings a part to disk that belongs together with this one, of `complete_length` bytes in all, and may still be stored.
    pub(crate) fn brings_another_part(&self, meta: &Meta, complete_length: Option<u64>) -> bool {
        !self.is_poisoned() && {
            let state = self.state();
            let FillPhase::Streaming(other) = &state.phase else { return false };
            let other_length = part(&other.head, None).ok().and_then(|part| part.complete_length);
            state.is_storable
                && state.body.is_for_disk()
                && (other.rules, &other.nominated, &other.variant) == (meta.rules, &meta.nominated, &meta.variant)
                && combinable(&other.head, other_length, &meta.head, complete_length)
        }
    }

    /// Whether all clients may get its response, and requests join it.
    pub(crate) fn is_for_everybody(&self) -> bool {
        self.requested_for == RequestedFor::Everybody && self.is_joinable
    }

    /// Whether its request is anonymous.
    pub(crate) fn is_probe(&self) -> bool {
        self.requested_for == RequestedFor::Anonymous
    }

    pub(crate) fn reader(self: &Arc<Self>) -> FillReader {
        FillReader::new(self.clone())
    }

    pub(crate) fn release(&self, reason: Reason) {
        self.change(|state| state.phase = FillPhase::Released(reason));
    }

    pub(crate) fn fail(&self, reason: Reason) {
        self.change(|state| state.phase = FillPhase::Failed(reason));
    }

    pub(crate) fn settle(&self, entry: Arc<Entry>, reason: Reason) {
        self.change(|state| state.phase = FillPhase::Settled(entry, reason));
    }

    pub(crate) fn start(&self, meta: Arc<Meta>) {
        self.change(|state| state.phase = FillPhase::Streaming(meta));
    }

    /// Cuts a fill that has not ended.
    pub(crate) fn cut(&self) {
        self.change(|state| {
            state.body.release_reserved();
            if matches!(state.phase, FillPhase::Waiting | FillPhase::Streaming(_)) {
                state.phase = FillPhase::Cut;
            }
        });
    }
}

/// The first thing that a reader gets.
#[derive(Clone, Debug)]
pub enum Joined {
    /// The head; the body follows with [`FillReader::next`].
    Streaming(Arc<Meta>),
    /// A stored response answers: the origin confirmed it, or it may be served stale, or its body is external.
    Settled(Arc<Entry>, Reason),
    /// The response is only for the client that asked first, for this reason: ask again.
    Released(Reason),
    /// There is no response.
    Failed(Reason),
}

/// The next thing that a reader gets.
#[derive(Clone, Debug)]
pub enum FillEvent {
    /// The next piece of the body.
    Chunk(Bytes),
    /// The next piece, which has to be read from disk.
    Spooled(SpooledPiece),
    /// The body is complete. Holds trailer fields, if the origin sent some.
    End(Option<Fields>),
    /// The body will never be complete, or this reader was too slow.
    Cut,
}

/// One client's place in a fill. Dropping it leaves the fill running.
pub struct FillReader {
    fill: Arc<Fill>,
    place: usize,
    offset: u64,
}

impl FillReader {
    pub(crate) fn new(fill: Arc<Fill>) -> Self {
        let place = {
            let mut state = fill.state();
            match state.readers.iter_mut().enumerate().find(|(_, place)| place.is_none()) {
                Some((free, place)) => {
                    *place = Some(0);
                    free
                }
                None => {
                    state.readers.push(Some(0));
                    state.readers.len() - 1
                }
            }
        };
        Self { fill, place, offset: 0 }
    }

    pub(crate) fn fill(&self) -> &Fill {
        &self.fill
    }

    /// Whether the fill's request is anonymous: then its failure is not due to what a client sent.
    pub fn is_probe(&self) -> bool {
        self.fill.is_probe()
    }

    /// Whether the fill brings what a stored part lacks, and its readers get the whole.
    pub fn is_completing(&self) -> bool {
        self.fill.state().body.is_completing()
    }

    /// Waits for the head, or for an end of the fill without one.
    pub async fn head(&self) -> Joined {
        self.fill
            .until(&self.fill.changed, |state| match &state.phase {
                FillPhase::Waiting => None,
                FillPhase::Released(reason) => Some(Joined::Released(*reason)),
                FillPhase::Failed(reason) => Some(Joined::Failed(*reason)),
                FillPhase::Settled(entry, reason) => Some(Joined::Settled(entry.clone(), *reason)),
                FillPhase::Streaming(meta) | FillPhase::Ended(meta, _) => Some(Joined::Streaming(meta.clone())),
                FillPhase::Cut => Some(Joined::Failed(Reason::OriginClosedEarly)),
            })
            .await
    }

    /// Waits for the next piece of the body.
    pub async fn next(&mut self) -> FillEvent {
        let offset = self.offset;
        let next = self
            .fill
            .until(&self.fill.changed, |state| match state.body.at(offset) {
                PieceAt::Piece(piece) => Some(FillEvent::Chunk(piece)),
                PieceAt::OnDisk(piece) => Some(FillEvent::Spooled(piece)),
                PieceAt::Gone => Some(FillEvent::Cut),
                PieceAt::NotYet => match &state.phase {
                    FillPhase::Streaming(_) => None,
                    FillPhase::Ended(_, trailers) => Some(FillEvent::End(trailers.clone())),
                    _ => Some(FillEvent::Cut),
                },
            })
            .await;
        match &next {
            FillEvent::Chunk(piece) => self.skip(piece.len() as u64),
            FillEvent::Spooled(piece) => self.skip(piece.length()),
            FillEvent::End(_) | FillEvent::Cut => {}
        }
        next
    }

    /// Leaves out so many bytes, whether they have come or not.
    pub fn skip(&mut self, bytes: u64) {
        self.offset = self.offset.saturating_add(bytes);
        self.move_to(Some(self.offset));
    }

    fn move_to(&self, offset: Option<u64>) {
        let is_storable = {
            let mut state = self.fill.state();
            if let Some(place) = state.readers.get_mut(self.place) {
                *place = offset;
            }
            state.is_storable
        };
        // While the body can be stored, its writer waits for no reader.
        if !is_storable {
            self.fill.taken.notify_waiters();
        }
    }
}

impl Drop for FillReader {
    fn drop(&mut self) {
        self.move_to(None);
    }
}
