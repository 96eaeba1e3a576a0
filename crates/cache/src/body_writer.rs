//! The writing end of a fill's body: appends pieces within bounds, and stores the complete body.
//!
//! A body that is too large for memory goes to the disk tier, if that takes it, and so does a part of a body that is there. This crate has
//! no timer, so a caller bounds the wait for the disk: it calls [`BodyWriter::spool`] after each piece and [`BodyWriter::end_spooling`] when
//! that takes too long.

use crate::disk::{DiskPart, Spool, Spooled};
use crate::fill::{Fill, FillPhase, FillReader};
use crate::pieces::Placement;
use crate::refusals::StoreRefusal;
use crate::represent::shared_head;
use crate::save::{Finished, PartOf, Saved};
use crate::{Cache, Entry, Meta, SharedRequest};
use bytes::Bytes;
use kasoku_semantics::range::ByteRange;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::reuse::OriginFailure;
use kasoku_semantics::time::Now;
use kasoku_store::disk::LargeError;
use kasoku_wire::{Fields, RequestHead, ResponseHead};
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
    /// The length of the body, where it is known.
    length: Option<u64>,
    spooling: Spooling,
    is_ended: bool,
}

/// How far a body has come on its way to disk.
enum Spooling {
    /// It fits into memory, as far as is known.
    NotYet,
    /// It goes to disk.
    Running(Box<Spool>),
    /// It is complete on disk.
    Complete(Box<Spooled>),
    /// The disk has not taken it.
    Failed,
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
        let bytes_max = cache.0.limits.object_bytes_max.saturating_sub(meta.memory_bytes());
        {
            let mut state = fill.state();
            match &part {
                Some(PartOf::OnDisk(part)) => state.body.place(placement(part)),
                _ => state.body.reserve(length.filter(|length| *length <= bytes_max).unwrap_or(0)),
            }
        }
        let spooling = Spooling::NotYet;
        Self { cache, fill, meta, part, request, bytes_max, length, spooling, is_ended: false }
    }

    /// Appends a piece. Waits only where the body can't be stored any more and its readers have not taken what is there.
    pub async fn push(&mut self, piece: Bytes) -> Result<(), Abandoned> {
        if piece.is_empty() {
            return Ok(());
        }
        let (fills, budget) = (&self.cache.0.fills, &self.cache.0.budget);
        // Readers of a part that completes a whole get the whole. In memory, its length is known and was admitted, so it goes on in any
        // case, and waits for no reader.
        let is_completing = matches!(self.part, Some(PartOf::Completing { .. }));
        let promised = self.promised();
        let (was_storable, is_storable, is_longer) = self.fill.change(|state| {
            let was_storable = state.is_storable;
            let is_more_than_reserved = state.body.push(piece);
            let arrived = state.body.arrived_bytes();
            let is_longer = promised.is_some_and(|promised| arrived > promised);
            let has_place = if self.is_for_disk(arrived) {
                // Only if the caller never spools can there be more.
                state.body.end - state.body.spooled_end() <= self.bytes_max + WINDOW_BYTES
            } else {
                let lacks_memory = is_more_than_reserved && budget.is_full();
                arrived <= self.bytes_max && !lacks_memory
            };
            let is_wrong = is_longer && matches!(self.part, Some(PartOf::OnDisk(_)));
            if !is_completing && (!has_place || is_wrong) {
                state.is_storable = false;
            }
            (was_storable, state.is_storable, is_longer)
        });
        if is_longer && self.completes() {
            return Err(Abandoned::TooLong);
        }
        if was_storable && !is_storable {
            fills.end(&self.fill);
            self.remember_refusal(budget.is_full());
        }
        if is_storable { Ok(()) } else { self.keep_pace().await }
    }

    /// The head for the client that began the fill: the origin's own, with the fields that are not stored. `sent`: the request that the
    /// origin got.
    pub fn first_head(&self, sent: &RequestHead, response: &ResponseHead) -> ResponseHead {
        // The client gets the whole, and the origin's head is that of a part.
        if self.completes() {
            return self.meta.head.clone();
        }
        shared_head(sent, response, &self.meta, self.request.policy())
    }

    /// The length of a part, as its Content-Range says.
    fn promised(&self) -> Option<u64> {
        match &self.part {
            Some(PartOf::Completing { part, .. }) => Some(part.range.length()),
            Some(PartOf::OnDisk(part)) => Some(part.part.range.length()),
            Some(PartOf::Alone(_)) | None => None,
        }
    }

    /// Whether readers get the whole, of which only a part is fetched.
    pub fn completes(&self) -> bool {
        match &self.part {
            Some(PartOf::Completing { .. }) => true,
            Some(PartOf::OnDisk(part)) => part.completes,
            Some(PartOf::Alone(_)) | None => false,
        }
    }

    /// Whether a body of which `end` bytes have come goes to disk.
    fn is_for_disk(&self, end: u64) -> bool {
        match self.spooling {
            Spooling::Running(_) | Spooling::Complete(_) => true,
            Spooling::Failed => false,
            Spooling::NotYet => {
                let length = self.length.unwrap_or(end).max(end);
                let is_for_disk = match &self.part {
                    None => length > self.bytes_max,
                    Some(PartOf::OnDisk(_)) => true,
                    Some(PartOf::Alone(_) | PartOf::Completing { .. }) => false,
                };
                is_for_disk && self.cache.may_spool(length)
            }
        }
    }

    /// Whether the body may still be stored in memory.
    pub fn may_come_into_memory(&self) -> bool {
        let (end, is_storable) = {
            let state = self.fill.state();
            (state.body.arrived_bytes(), state.is_storable)
        };
        is_storable && !self.is_for_disk(end)
    }

    /// Whether [`BodyWriter::spool`] has something to do.
    pub fn has_to_spool(&self) -> bool {
        let (end, is_storable) = {
            let state = self.fill.state();
            (state.body.arrived_bytes(), state.is_storable)
        };
        is_storable && self.is_for_disk(end)
    }

    /// Writes to disk what has come of a body that is too large for memory.
    pub async fn spool(&mut self) {
        if let Err(error) = self.spool_pieces().await {
            if let (LargeError::Worn, Some(PartOf::OnDisk(part))) = (error, &self.part)
                && let Some(base) = &part.base
            {
                self.cache.remove(self.request.key(), &base.entry);
            }
            self.end_spooling();
        }
    }

    async fn spool_pieces(&mut self) -> Result<(), LargeError> {
        if let Spooling::NotYet = self.spooling {
            let spool = match &self.part {
                Some(PartOf::OnDisk(part)) => self.cache.spool_part(self.request.key(), part).await?,
                _ => self.cache.spool(self.request.key(), &self.meta, self.length).await?,
            };
            self.spooling = Spooling::Running(Box::new(spool));
        }
        let Spooling::Running(spool) = &mut self.spooling else { return Ok(()) };
        let (budget, pieces) = (&self.cache.0.budget, self.fill.state().body.from(spool.position()));
        for piece in pieces {
            let mut rest = &piece[..];
            while !rest.is_empty() {
                let (taken, chunk) = spool.append(rest).await?;
                rest = rest.get(taken..).unwrap_or_default();
                let is_on_disk = spool.written_to() == spool.position();
                if chunk.is_none() && !is_on_disk {
                    continue;
                }
                self.fill.change(|state| {
                    chunk.into_iter().for_each(|chunk| state.body.spooled(chunk));
                    state.body.spooled_to(spool.written_to());
                    let kept = if budget.is_full() { 0 } else { AHEAD_BYTES };
                    let unneeded = state.body.spooled_end().min(state.body.end.saturating_sub(kept));
                    state.body.drop_before(unneeded);
                });
            }
        }
        Ok(())
    }

    /// Writes the end of such a body. To be called before [`BodyWriter::finish`].
    pub async fn complete_spooling(&mut self) {
        self.spool().await;
        match std::mem::replace(&mut self.spooling, Spooling::Failed) {
            Spooling::Running(spool)
                if !self.fill.is_poisoned() && self.has_promised_length() && !self.is_outdone_on_disk() =>
            {
                let meta = match &self.part {
                    Some(PartOf::OnDisk(part)) => &part.meta,
                    _ => &self.meta,
                };
                match spool.finish(&self.cache, self.request.key(), meta).await {
                    Ok(spooled) => self.spooling = Spooling::Complete(Box::new(spooled)),
                    Err(_) => self.end_spooling(),
                }
            }
            // Only the end of the body is in memory, which must not be taken for the whole.
            Spooling::Running(_) => self.fill.change(|state| state.is_storable = false),
            other => self.spooling = other,
        }
    }

    /// Whether a fill that ended earlier has stored more of the same representation than this one has brought, which it would replace.
    fn is_outdone_on_disk(&self) -> bool {
        let Some(PartOf::OnDisk(part)) = &self.part else { return false };
        let (first, arrived) = (part.part.range.first, self.fill.state().body.arrived_bytes());
        let came = ByteRange { first, last: first.saturating_add(arrived).saturating_sub(1) };
        part.base.is_none() && self.cache.has_more_on_disk(self.request.key(), &part.meta, part.complete_length, came)
    }

    /// Whether a larger part of the same representation is on its way to disk. This one would be newer, and the larger one would be dropped for
    /// it.
    fn is_outdone_by_what_comes(&self) -> bool {
        let Some(PartOf::Alone(part)) = &self.part else { return false };
        let is_larger = |other: &Fill| other.brings_another_part(&self.meta, part.complete_length);
        self.cache.0.fills.has_other(&self.fill, is_larger)
    }

    /// Whether what has come of the body can be stored although the origin has broken off.
    pub fn can_keep_what_came(&self) -> bool {
        matches!(self.part, Some(PartOf::OnDisk(_))) && self.has_to_spool()
    }

    /// The origin has broken off: stores what has come of a part that goes to disk. To be called before [`BodyWriter::fail`]. Returns whether
    /// it was stored.
    pub async fn keep_what_came(&mut self) -> bool {
        self.spool().await;
        let Some(PartOf::OnDisk(part)) = &self.part else { return false };
        let arrived = self.fill.state().body.arrived_bytes();
        let is_wrong = arrived == 0 || arrived > part.part.range.length();
        if is_wrong || self.fill.is_poisoned() || self.is_outdone_on_disk() {
            return false;
        }
        let Spooling::Running(spool) = std::mem::replace(&mut self.spooling, Spooling::Failed) else { return false };
        match spool.finish(&self.cache, self.request.key(), &part.meta).await {
            Ok(spooled) => self.save_spooled(spooled).is_some(),
            Err(_) => false,
        }
    }

    fn save_spooled(&self, spooled: Spooled) -> Option<Arc<Entry>> {
        let Spooled { entry, object } = spooled;
        let is_poisoned = || self.fill.is_poisoned();
        let is_stored = self.cache.save_elsewhere(self.request.key(), &entry, is_poisoned, |lesser| match lesser {
            Some(lesser) => object.publish_instead_of(lesser),
            None => object.publish(),
        });
        is_stored.then_some(entry)
    }

    /// Whether as much has come as the head of a part has promised.
    fn has_promised_length(&self) -> bool {
        let arrived = self.fill.state().body.arrived_bytes();
        self.promised().is_none_or(|promised| promised == arrived)
    }

    /// The disk does not take the body, or takes too long: it is not stored. Its readers get it all the same.
    pub fn end_spooling(&mut self) {
        self.spooling = Spooling::Failed;
        self.fill.change(|state| state.is_storable = false);
        self.cache.0.fills.end(&self.fill);
        self.remember_refusal(false);
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
                // A reader may be ahead of what has come.
                let end = state.body.end;
                let positions = || state.readers.iter().flatten().map(|position| end.min(*position));
                let (Some(slowest), Some(fastest)) = (positions().min(), positions().max()) else {
                    return Some(Err(Abandoned::NoReaders));
                };
                if budget.is_full() {
                    // No reader is cut here: the writer goes at the pace of the slowest. The deliverer closes connections below the
                    // minimum rate.
                    state.body.drop_before(slowest);
                    return (state.body.end.saturating_sub(slowest) <= AHEAD_BYTES_FULL).then_some(Ok(()));
                }
                if matches!(self.spooling, Spooling::Failed) {
                    // Readers have relied on the disk, so none is cut since that has failed.
                    state.body.drop_before(slowest);
                    return (state.body.end.saturating_sub(slowest) <= AHEAD_BYTES).then_some(Ok(()));
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
    pub fn finish(self, trailers: Option<Fields>) -> bool {
        self.finish_stored(trailers).is_some()
    }

    /// The same. Returns what was stored.
    pub fn finish_stored(mut self, trailers: Option<Fields>) -> Option<Arc<Entry>> {
        self.is_ended = true;
        if let Spooling::Complete(_) | Spooling::Running(_) = self.spooling {
            return self.finish_spooled(trailers);
        }
        let (pieces, is_storable, charge) = {
            let mut state = self.fill.state();
            state.body.release_reserved();
            // During the copy both copies exist, and one of them is charged.
            (state.body.to_vec(), state.is_storable, state.body.lend_charge())
        };
        let is_on_disk = matches!(self.part, Some(PartOf::OnDisk(_)));
        let is_storable = is_storable && !is_on_disk && !self.fill.is_poisoned() && !self.is_outdone_by_what_comes();
        let is_completing = matches!(self.part, Some(PartOf::Completing { .. }));
        let ended = self.ended(trailers);
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
                (false, _) => ended,
                (true, Some(entry)) => FillPhase::Settled(entry, Reason::PartialMiss),
                // The bytes do not match the part's length.
                (true, None) => FillPhase::Cut,
            };
        });
        saved.entry.filter(|_| saved.is_stored)
    }

    /// The same for a body that is on disk.
    fn finish_spooled(mut self, trailers: Option<Fields>) -> Option<Arc<Entry>> {
        let stored = match std::mem::replace(&mut self.spooling, Spooling::Failed) {
            Spooling::Complete(spooled) => self.save_spooled(*spooled),
            _ => None,
        };
        self.cache.on_answered_fill(&self.fill);
        self.cache.0.fills.end(&self.fill);
        let ended = self.ended(trailers);
        self.fill.change(|state| state.phase = ended);
        stored
    }

    /// How the fill ends for its readers.
    fn ended(&self, trailers: Option<Fields>) -> FillPhase {
        match (self.completes(), self.has_promised_length()) {
            (false, _) => FillPhase::Ended(self.meta.clone(), trailers),
            // The trailers are those of a part.
            (true, true) => FillPhase::Ended(self.meta.clone(), None),
            (true, false) => FillPhase::Cut,
        }
    }

    fn finished<'a>(&'a self, pieces: &'a [Bytes]) -> Finished<'a> {
        let Self { fill, meta, part, request, .. } = self;
        Finished { fill, meta, part: part.as_ref(), key: request.key(), policy: request.policy(), pieces }
    }

    /// The framing does not tell whether the body is complete: its readers get it, and it is not stored.
    pub fn mark_possibly_incomplete(&self) {
        self.fill.change(|state| state.is_poisoned = true);
    }

    /// The origin failed within the body: nothing more is stored, readers are cut, and the back-off begins.
    pub fn fail(self, reason: Reason, now: Now) {
        self.cache.on_failed_fill(&self.fill, OriginFailure::Disconnected, reason, self.request.policy(), now);
    }

    /// The request that the response is for.
    pub fn request(&self) -> &SharedRequest {
        &self.request
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

/// Where the bytes of a part belong.
fn placement(part: &DiskPart) -> Placement {
    let ByteRange { first, last } = part.part.range;
    let base = part.base.as_ref().map(|base| base.open.clone());
    match part.completes {
        true => {
            let around = Some((first..last.saturating_add(1), part.complete_length));
            Placement { start: first, shift: 0, base, around }
        }
        false => Placement { start: 0, shift: first, base, around: None },
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
