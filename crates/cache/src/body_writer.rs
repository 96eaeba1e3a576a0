//! The writing end of a fill's body: appends pieces within bounds, and stores the complete body.

use crate::fill::{Fill, FillPhase, FillReader};
use crate::refusals::StoreRefusal;
use crate::save::{Finished, PartOf, Saved};
use crate::{Cache, Meta, SharedRequest};
use bytes::Bytes;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::reuse::OriginFailure;
use kasoku_semantics::time::Now;
use kasoku_wire::Fields;
use std::sync::Arc;

/// How far a reader of a body that can't be stored may fall behind the fastest reader, in bytes beyond the largest object.
const WINDOW_BYTES: u64 = 4 << 20;

/// How far the writer of such a body runs ahead of the fastest reader, in bytes.
const AHEAD_BYTES: u64 = 1 << 20;

/// How far the writer runs ahead of the slowest reader while memory is full, in bytes.
const AHEAD_BYTES_FULL: u64 = 32 << 10;

/// The writing end of a fill's body. Dropping it before [`BodyWriter::finish`] cuts the fill.
pub struct BodyWriter {
    cache: Cache,
    fill: Arc<Fill>,
    meta: Arc<Meta>,
    part: Option<PartOf>,
    request: SharedRequest,
    bytes_max: u64,
    is_ended: bool,
}

/// Why the writing of a body ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abandoned {
    /// The body can't be stored, and has no readers.
    NoReaders,
    /// A part is longer than its Content-Range says.
    TooLong,
}

impl BodyWriter {
    /// Reserves memory for `length` bytes, the length of the body where it is known.
    pub(crate) fn new(
        cache: Cache,
        fill: Arc<Fill>,
        meta: Arc<Meta>,
        part: Option<PartOf>,
        request: SharedRequest,
        length: Option<u64>,
    ) -> Self {
        fill.state().body.reserve(length.unwrap_or(0));
        let bytes_max = cache.0.limits.object_bytes_max.saturating_sub(meta.memory_bytes());
        Self { cache, fill, meta, part, request, bytes_max, is_ended: false }
    }

    /// Appends a piece. Waits only where the body can't be stored any more and its readers have not taken what is there.
    pub async fn push(&mut self, piece: Bytes) -> Result<(), Abandoned> {
        if piece.is_empty() {
            return Ok(());
        }
        let (fills, budget) = (&self.cache.0.fills, &self.cache.0.budget);
        // Readers of a part that completes a whole get the whole at its end. Its length is known and was admitted, so it goes on in any
        // case, and waits for no reader.
        let promised = match &self.part {
            Some(PartOf::Completing { part, .. }) => Some(part.range.length()),
            _ => None,
        };
        let is_completing = promised.is_some();
        let (was_storable, is_storable, is_longer) = self.fill.change(|state| {
            let was_storable = state.is_storable;
            let is_more_than_reserved = state.body.push(piece);
            let lacks_memory = is_more_than_reserved && budget.is_full();
            if !is_completing && (state.body.end > self.bytes_max || lacks_memory) {
                state.is_storable = false;
            }
            (was_storable, state.is_storable, promised.is_some_and(|promised| state.body.end > promised))
        });
        if is_longer {
            return Err(Abandoned::TooLong);
        }
        if was_storable && !is_storable {
            fills.end(&self.fill);
            self.remember_refusal(budget.is_full());
        }
        if is_storable { Ok(()) } else { self.keep_pace().await }
    }

    /// Remembers that the body was too large or memory was full, which the head did not tell.
    fn remember_refusal(&self, lacks_memory: bool) {
        let reason = if lacks_memory { Reason::MemoryFull } else { Reason::ObjectTooLarge };
        let (status, at) = (self.meta.head.status.as_u16(), self.meta.freshness.response_time);
        let refusal = StoreRefusal { reason, status, at, has_credentials: false };
        self.cache.0.refusals.remember(self.request.key().hash(), refusal);
    }

    /// For a body that can't be stored: waits for the fastest reader, and drops what all readers have taken.
    async fn keep_pace(&self) -> Result<(), Abandoned> {
        let budget = &self.cache.0.budget;
        // A release of memory elsewhere wakes the writer as well: while memory is full, it may wait for a reader that takes nothing.
        self.fill
            .until_either([&self.fill.taken, &budget.freed], |state| {
                let positions = || state.readers.iter().flatten().copied();
                let (Some(slowest), Some(fastest)) = (positions().min(), positions().max()) else {
                    return Some(Err(Abandoned::NoReaders));
                };
                if budget.is_full() {
                    // No reader is cut here: the writer goes at the pace of the slowest. The deliverer closes connections below the
                    // minimum rate.
                    state.body.drop_before(slowest);
                    return (state.body.end.saturating_sub(slowest) <= AHEAD_BYTES_FULL).then_some(Ok(()));
                }
                let reach_back = self.bytes_max.saturating_add(WINDOW_BYTES);
                state.body.drop_before(slowest.max(fastest.saturating_sub(reach_back)));
                (state.body.end.saturating_sub(fastest) <= AHEAD_BYTES).then_some(Ok(()))
            })
            .await
    }

    /// The body is complete: stores it, if it may be. Returns whether it was stored. Trailer fields go to the readers of the fill, and
    /// are not stored.
    //= RFC 9111 section 3.1
    //# Caches MUST NOT combine trailer fields with header fields.
    pub fn finish(mut self, trailers: Option<Fields>) -> bool {
        self.is_ended = true;
        let (pieces, is_storable, charge) = {
            let mut state = self.fill.state();
            state.body.release_reserved();
            // During the copy both copies exist, and one of them is charged.
            (state.body.to_vec(), state.is_storable, state.body.lend_charge())
        };
        let is_storable = is_storable && !self.fill.is_poisoned();
        let is_completing = matches!(self.part, Some(PartOf::Completing { .. }));
        // Stored before readers learn that it is complete, so that a client's next request finds it.
        let saved =
            if is_storable || is_completing { self.cache.save(self.finished(&pieces)) } else { Saved::default() };
        drop(pieces);
        // Only now: until the response is stored, a request that can't join a slow fill must find the failure that was remembered of it.
        self.cache.on_answered_fill(&self.fill);
        self.cache.0.fills.end(&self.fill);
        self.fill.change(|state| {
            if let Some(entry) = saved.entry.as_ref().filter(|_| saved.is_stored && self.part.is_none()) {
                // Readers go on with the stored chunks, so that the same bytes are not held twice.
                state.body.replace(entry.body.clone());
            } else {
                state.body.take_back(charge);
            }
            state.phase = match (is_completing, saved.entry.clone()) {
                (false, _) => FillPhase::Ended(self.meta.clone(), trailers),
                (true, Some(entry)) => FillPhase::Settled(entry, Reason::PartialMiss),
                // The bytes do not match the part's length.
                (true, None) => FillPhase::Cut,
            };
        });
        saved.is_stored
    }

    fn finished<'a>(&'a self, pieces: &'a [Bytes]) -> Finished<'a> {
        let Self { fill, meta, part, request, .. } = self;
        Finished { fill, meta, part: part.as_ref(), key: request.key(), policy: request.policy(), pieces }
    }

    /// The framing does not tell whether the body is complete: its readers get it, and it is not stored.
    pub fn mark_possibly_incomplete(&self) {
        self.fill.change(|state| state.is_poisoned = true);
    }

    /// The origin failed within the body: nothing is stored, readers are cut, and the back-off begins.
    pub fn fail(self, reason: Reason, now: Now) {
        self.cache.on_failed_fill(&self.fill, OriginFailure::Disconnected, reason, self.request.policy(), now);
    }

    /// The head that readers get.
    pub fn meta(&self) -> &Arc<Meta> {
        &self.meta
    }

    /// A new reader of the fill.
    pub fn reader(&self) -> FillReader {
        self.fill.reader()
    }
}

impl Drop for BodyWriter {
    fn drop(&mut self) {
        self.cache.0.fills.end(&self.fill);
        if !self.is_ended {
            self.fill.cut();
        }
    }
}
