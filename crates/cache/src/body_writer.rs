//! The writing end of a fill's body: appends, stays within bounds, and stores what is complete.

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

/// How far a reader of a body that can't be stored may fall behind what would have been the largest object, in bytes.
const WINDOW_BYTES: u64 = 4 << 20;

/// How far the writer of such a body goes ahead of the fastest reader, in bytes.
const AHEAD_BYTES: u64 = 1 << 20;

/// How far it goes ahead of the slowest reader while memory is short, in bytes.
const AHEAD_BYTES_SHORT: u64 = 32 << 10;

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

/// Why a body does not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abandoned {
    /// It can't be stored, and nobody reads it.
    NoReaders,
    /// A part that goes on behind its end.
    TooLong,
}

impl BodyWriter {
    /// With `length`, the body's where it is known, room for it is set aside at once.
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

    /// Appends a piece. Waits only when the body can't be stored any more and nobody has read what is there.
    pub async fn push(&mut self, piece: Bytes) -> Result<(), Abandoned> {
        if piece.is_empty() {
            return Ok(());
        }
        let (fills, budget) = (&self.cache.0.fills, &self.cache.0.budget);
        // Readers of a part that completes a whole wait for the whole: its length is known and was admitted, so it
        // goes on in any case, and waits for nobody.
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

    /// Its length was not known before it had come.
    fn remember_refusal(&self, lacks_memory: bool) {
        let reason = if lacks_memory { Reason::MemoryFull } else { Reason::ObjectTooLarge };
        let (status, at) = (self.meta.head.status.as_u16(), self.meta.freshness.response_time);
        let refusal = StoreRefusal { reason, status, at, has_credentials: false };
        self.cache.0.refusals.remember(self.request.key().hash(), refusal);
    }

    /// Of a body that can't be stored: waits for the fastest reader, and drops what all have taken.
    async fn keep_pace(&self) -> Result<(), Abandoned> {
        let budget = &self.cache.0.budget;
        // Memory that others free counts as well: while it is short, this may wait for a reader that takes nothing.
        self.fill
            .until_either([&self.fill.taken, &budget.freed], |state| {
                let positions = || state.readers.iter().flatten().copied();
                let (Some(slowest), Some(fastest)) = (positions().min(), positions().max()) else {
                    return Some(Err(Abandoned::NoReaders));
                };
                if budget.is_full() {
                    // Nobody is cut here: all go at the pace of the slowest, and whoever delivers parts with those below
                    // the minimum rate.
                    state.body.drop_before(slowest);
                    return (state.body.end.saturating_sub(slowest) <= AHEAD_BYTES_SHORT).then_some(Ok(()));
                }
                let reach_back = self.bytes_max.saturating_add(WINDOW_BYTES);
                state.body.drop_before(slowest.max(fastest.saturating_sub(reach_back)));
                (state.body.end.saturating_sub(fastest) <= AHEAD_BYTES).then_some(Ok(()))
            })
            .await
    }

    /// The body is complete: stores it, if it may be. Returns whether it was stored. Trailer fields go to those who read
    /// the fill, and are not stored.
    //= RFC 9111 section 3.1
    //# Caches MUST NOT combine trailer fields with header fields.
    pub fn finish(mut self, trailers: Option<Fields>) -> bool {
        self.is_ended = true;
        let (pieces, is_storable, charge) = {
            let mut state = self.fill.state();
            state.body.release_reserved();
            // For the moment of the copy both are there, and one of them is charged.
            (state.body.to_vec(), state.is_storable, state.body.lend_charge())
        };
        let is_storable = is_storable && !self.fill.is_poisoned();
        let is_completing = matches!(self.part, Some(PartOf::Completing { .. }));
        // Stored before readers learn that it is complete, so that a client's next request finds it.
        let saved =
            if is_storable || is_completing { self.cache.save(self.finished(&pieces)) } else { Saved::default() };
        drop(pieces);
        // Only now: until it is stored, who can't join this fill has to find that somebody was too slow.
        self.cache.on_answered_fill(&self.fill);
        self.cache.0.fills.end(&self.fill);
        self.fill.change(|state| {
            if let Some(entry) = saved.entry.as_ref().filter(|_| saved.is_stored && self.part.is_none()) {
                // Readers go on with the stored chunks: the same bytes need not be held twice.
                state.body.replace(entry.body.clone());
            } else {
                state.body.take_back(charge);
            }
            state.phase = match (is_completing, saved.entry.clone()) {
                (false, _) => FillPhase::Ended(self.meta.clone(), trailers),
                (true, Some(entry)) => FillPhase::Settled(entry, Reason::PartialMiss),
                // The bytes were not those that were promised.
                (true, None) => FillPhase::Cut,
            };
        });
        saved.is_stored
    }

    fn finished<'a>(&'a self, pieces: &'a [Bytes]) -> Finished<'a> {
        let Self { fill, meta, part, request, .. } = self;
        Finished { fill, meta, part: part.as_ref(), key: request.key(), policy: request.policy(), pieces }
    }

    /// Nobody can tell whether what has come is all of it: who asked gets it, it is not stored.
    pub fn mark_doubtful(&self) {
        self.fill.change(|state| state.is_poisoned = true);
    }

    /// The origin has failed within the body: nothing is stored, readers are cut, and the back-off begins.
    pub fn fail(self, reason: Reason, now: Now) {
        self.cache.on_failed_fill(&self.fill, OriginFailure::Disconnected, reason, self.request.policy(), now);
    }

    /// The head that readers get.
    pub fn meta(&self) -> &Arc<Meta> {
        &self.meta
    }

    /// A place among the readers.
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
