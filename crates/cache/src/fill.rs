//! A fill: a response in the making that one task writes and any number of clients read, on any core. What the second
//! client does with it: `join` in `engine/src/lookup.rs`; how the bytes reach it: `filling` in `engine/src/deliver.rs`.
//!
//! ```text
//! Waiting --release--> Released   each waiter asks for itself
//!    |  \---fail-----> Failed     each waiter gets the error
//!    |   \--settle---> Settled    a stored response answers all (304, stale-if-error)
//!    \----start------> Streaming --finish--> Ended
//!                               \---cut----> Cut
//! ```
//!
//! The body is append-only while it may still be stored. Once it can't be (it grew too large, or all fills together hold
//! too much), nobody joins it any more, the writer goes at the pace of the fastest reader, and what all readers have taken
//! is dropped. A reader that falls behind the others by more than the largest object plus a window is cut.
//! A writer that is dropped cuts its fill, so nobody waits for ever. Invalidation marks running fills of its
//! key as poisoned: who waits gets the response, but it is never stored.
//!
//! What it deliberately does not do: it has no deadline and no task. Writers wait for origins, readers for writers, both
//! under the deadlines of their callers.

use crate::save::Saved;
use crate::verdict::PartOf;
use crate::{Body, Cache, Entry, Key, Meta};
use bytes::Bytes;
use kasoku_semantics::policy::Policy;
use kasoku_semantics::reason::Reason;
use kasoku_store::KeyHash;
use kasoku_wire::Fields;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Fills may hold one part in this many of the memory tier's size, together.
pub(crate) const MEMORY_SHARE: u64 = 4;

/// How far a reader of a body that can't be stored may fall behind what would have been the largest object, in bytes.
const WINDOW_BYTES: u64 = 4 << 20;

/// How far the writer of such a body goes ahead of the fastest reader, in bytes.
const AHEAD_BYTES: u64 = 1 << 20;

/// What a piece costs besides its bytes, so that many small ones are not for nothing.
const PIECE_OVERHEAD_BYTES: u64 = 128;

/// Locks of the registry.
const SHARDS: usize = 16;

/// One response in the making.
pub(crate) struct Fill {
    hash: KeyHash,
    key: Box<[u8]>,
    /// Which variant and which range of the key: fills are joined only by requests with the same.
    detail: Box<[u8]>,
    /// False for fills that nobody may join: the request asked for an answer of its own.
    is_joinable: bool,
    state: Mutex<State>,
    /// For readers: there is more, or another phase.
    changed: Notify,
    /// For the writer: a reader of what can't be stored has got further, or has left.
    taken: Notify,
    /// All fills' bytes; this one's are taken off when nobody holds it any more.
    charged: Arc<AtomicU64>,
}

impl Drop for Fill {
    fn drop(&mut self) {
        let charge = self.state.get_mut().unwrap_or_else(PoisonError::into_inner).body.charge;
        self.charged.fetch_sub(charge, Ordering::Relaxed);
    }
}

struct State {
    phase: Phase,
    body: Pieces,
    /// How far each reader has got, in bytes; a place is `None` once its reader has left.
    readers: Vec<Option<u64>>,
    is_storable: bool,
    is_poisoned: bool,
}

enum Phase {
    Waiting,
    Released(Reason),
    Failed(Reason),
    Settled(Arc<Entry>, Reason),
    Streaming(Arc<Meta>),
    Ended(Arc<Meta>, Option<Fields>),
    Cut,
}

impl Fill {
    fn state(&self) -> MutexGuard<'_, State> {
        // Each change under the lock is complete in itself, so a panic elsewhere leaves a state that can be read.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = change(&mut self.state());
        self.changed.notify_waiters();
        result
    }

    /// Waits until `look` finds something in the state; looks again after each `signal`.
    async fn until<T>(&self, signal: &Notify, mut look: impl FnMut(&mut State) -> Option<T>) -> T {
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

    pub(crate) fn is_poisoned(&self) -> bool {
        self.state().is_poisoned
    }
}

type Shard = HashMap<KeyHash, Vec<Arc<Fill>>>;

/// The running fills of a cache.
pub(crate) struct Fills {
    shards: [Mutex<Shard>; SHARDS],
    running: AtomicUsize,
    bytes: Arc<AtomicU64>,
    bytes_max: u64,
}

/// What [`Fills::begin`] found.
pub(crate) enum Begun {
    /// The caller must write it.
    New(Arc<Fill>),
    /// Somebody writes it.
    Running(FillReader),
}

impl Fills {
    pub(crate) fn new(bytes_max: u64) -> Self {
        Self {
            shards: std::array::from_fn(|_| Mutex::default()),
            running: AtomicUsize::new(0),
            bytes: Arc::default(),
            bytes_max,
        }
    }

    pub(crate) fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }

    /// The running fill of this key and detail, or a new one.
    pub(crate) fn begin(&self, hash: KeyHash, key: &[u8], detail: &[u8], is_joinable: bool) -> Begun {
        let mut shard = self.shard(hash);
        let running = || shard.get(&hash)?.iter().find(|fill| fill.can_be_joined(key, detail));
        if is_joinable && let Some(fill) = running() {
            return Begun::Running(FillReader::new(fill.clone()));
        }
        Begun::New(self.add(&mut shard, hash, key, detail, is_joinable))
    }

    /// A new one that nobody joins.
    pub(crate) fn begin_alone(&self, hash: KeyHash, key: &[u8]) -> Arc<Fill> {
        self.add(&mut self.shard(hash), hash, key, b"", false)
    }

    /// A reader of a running fill, if there is one.
    pub(crate) fn join(&self, hash: KeyHash, key: &[u8], detail: &[u8]) -> Option<FillReader> {
        let shard = self.shard(hash);
        let fill = shard.get(&hash)?.iter().find(|fill| fill.can_be_joined(key, detail))?;
        Some(FillReader::new(fill.clone()))
    }

    /// Nobody joins it from now on.
    pub(crate) fn end(&self, fill: &Arc<Fill>) {
        let mut shard = self.shard(fill.hash);
        if let Some(fills) = shard.get_mut(&fill.hash) {
            let before = fills.len();
            fills.retain(|other| !Arc::ptr_eq(other, fill));
            self.running.fetch_sub(before - fills.len(), Ordering::Relaxed);
            if fills.is_empty() {
                shard.remove(&fill.hash);
            }
        }
    }

    /// What these fills bring is not stored; requests from now on do not join them.
    pub(crate) fn poison(&self, hash: KeyHash, key: &[u8]) {
        let mut shard = self.shard(hash);
        for fill in shard.get_mut(&hash).into_iter().flatten().filter(|fill| *fill.key == *key) {
            fill.state().is_poisoned = true;
        }
    }

    fn add(&self, shard: &mut Shard, hash: KeyHash, key: &[u8], detail: &[u8], is_joinable: bool) -> Arc<Fill> {
        let fill = Arc::new(Fill {
            hash,
            key: key.into(),
            detail: detail.into(),
            is_joinable,
            state: Mutex::new(State {
                phase: Phase::Waiting,
                body: Pieces::default(),
                readers: Vec::new(),
                is_storable: true,
                is_poisoned: false,
            }),
            changed: Notify::new(),
            taken: Notify::new(),
            charged: self.bytes.clone(),
        });
        shard.entry(hash).or_default().push(fill.clone());
        self.running.fetch_add(1, Ordering::Relaxed);
        fill
    }

    /// Whether all fills together hold as much as they may.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) >= self.bytes_max
    }

    fn shard(&self, hash: KeyHash) -> MutexGuard<'_, Shard> {
        let [first, ..] = &self.shards;
        let shard = self.shards.get(hash.spread(SHARDS)).unwrap_or(first);
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Fill {
    fn can_be_joined(&self, key: &[u8], detail: &[u8]) -> bool {
        let is_this = self.is_joinable && *self.key == *key && *self.detail == *detail;
        is_this && {
            let state = self.state();
            state.is_storable && !state.is_poisoned
        }
    }

    pub(crate) fn reader(self: &Arc<Self>) -> FillReader {
        FillReader::new(self.clone())
    }

    pub(crate) fn release(&self, reason: Reason) {
        self.change(|state| state.phase = Phase::Released(reason));
    }

    pub(crate) fn fail(&self, reason: Reason) {
        self.change(|state| state.phase = Phase::Failed(reason));
    }

    pub(crate) fn settle(&self, entry: Arc<Entry>, reason: Reason) {
        self.change(|state| state.phase = Phase::Settled(entry, reason));
    }

    pub(crate) fn start(&self, meta: Arc<Meta>) {
        self.change(|state| state.phase = Phase::Streaming(meta));
    }

    /// Cuts a fill that has not come to an end.
    pub(crate) fn cut(&self) {
        self.change(|state| {
            if matches!(state.phase, Phase::Waiting | Phase::Streaming(_)) {
                state.phase = Phase::Cut;
            }
        });
    }
}

/// What a reader gets first.
#[derive(Clone, Debug)]
pub enum Joined {
    /// The head; the body follows with [`FillReader::next`].
    Streaming(Arc<Meta>),
    /// A stored response answers: the origin confirmed it, or it may be served stale.
    Settled(Arc<Entry>, Reason),
    /// The response is for the client that asked first alone, for this reason: ask again.
    Released(Reason),
    /// There is no response.
    Failed(Reason),
}

/// What a reader gets next.
#[derive(Clone, Debug)]
pub enum Next {
    /// The next piece of the body.
    Chunk(Bytes),
    /// The body is complete; trailer fields, if the origin sent some.
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
    fn new(fill: Arc<Fill>) -> Self {
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

    /// Waits for the head, or for the fill to come to nothing.
    pub async fn head(&self) -> Joined {
        self.fill
            .until(&self.fill.changed, |state| match &state.phase {
                Phase::Waiting => None,
                Phase::Released(reason) => Some(Joined::Released(*reason)),
                Phase::Failed(reason) => Some(Joined::Failed(*reason)),
                Phase::Settled(entry, reason) => Some(Joined::Settled(entry.clone(), *reason)),
                Phase::Streaming(meta) | Phase::Ended(meta, _) => Some(Joined::Streaming(meta.clone())),
                Phase::Cut => Some(Joined::Failed(Reason::OriginClosedEarly)),
            })
            .await
    }

    /// Waits for the next piece of the body.
    pub async fn next(&mut self) -> Next {
        let offset = self.offset;
        let next = self
            .fill
            .until(&self.fill.changed, |state| match state.body.at(offset) {
                Found::Piece(piece) => Some(Next::Chunk(piece)),
                Found::Gone => Some(Next::Cut),
                Found::NotYet => match &state.phase {
                    Phase::Streaming(_) => None,
                    Phase::Ended(_, trailers) => Some(Next::End(trailers.clone())),
                    _ => Some(Next::Cut),
                },
            })
            .await;
        if let Next::Chunk(piece) = &next {
            self.offset += piece.len() as u64;
            self.move_to(Some(self.offset));
        }
        next
    }

    fn move_to(&self, offset: Option<u64>) {
        let is_storable = {
            let mut state = self.fill.state();
            if let Some(place) = state.readers.get_mut(self.place) {
                *place = offset;
            }
            state.is_storable
        };
        // While the body can be stored, its writer waits for nobody.
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

/// The bytes of a fill that are still here, in order.
#[derive(Default)]
struct Pieces {
    /// Each with the offset of its first byte; never empty ones.
    pieces: VecDeque<(u64, Bytes)>,
    /// The offset behind the last byte.
    end: u64,
    /// What is charged for them.
    charge: u64,
}

enum Found {
    Piece(Bytes),
    NotYet,
    Gone,
}

impl Pieces {
    fn push(&mut self, piece: Bytes) -> u64 {
        let charge = piece.len() as u64 + PIECE_OVERHEAD_BYTES;
        let first = self.end;
        self.end += piece.len() as u64;
        self.charge += charge;
        self.pieces.push_back((first, piece));
        charge
    }

    /// What is here from that offset on, up to the end of its piece.
    fn at(&self, offset: u64) -> Found {
        if offset >= self.end {
            return Found::NotYet;
        }
        let behind = self.pieces.partition_point(|(first, _)| *first <= offset);
        let Some((first, piece)) = behind.checked_sub(1).and_then(|index| self.pieces.get(index)) else {
            return Found::Gone;
        };
        // The offset lies within this piece, so the distance fits in usize.
        Found::Piece(piece.slice((offset - first) as usize..))
    }

    /// Drops whole pieces before that offset; returns what was charged for them.
    fn drop_before(&mut self, offset: u64) -> u64 {
        let mut freed = 0;
        while self.pieces.front().is_some_and(|(first, piece)| first + piece.len() as u64 <= offset) {
            if let Some((_, piece)) = self.pieces.pop_front() {
                freed += piece.len() as u64 + PIECE_OVERHEAD_BYTES;
            }
        }
        self.charge -= freed;
        freed
    }

    /// The same bytes in other pieces, for which somebody else is charged.
    fn replace(&mut self, body: &Body) -> u64 {
        self.pieces.clear();
        self.end = 0;
        let freed = std::mem::take(&mut self.charge);
        for chunk in body.chunks() {
            self.pieces.push_back((self.end, chunk.clone()));
            self.end += chunk.len() as u64;
        }
        freed
    }

    fn to_vec(&self) -> Vec<Bytes> {
        self.pieces.iter().map(|(_, piece)| piece.clone()).collect()
    }
}

/// The writing end of a fill's body. Dropping it before [`BodyWriter::finish`] cuts the fill.
pub struct BodyWriter {
    cache: Cache,
    pub(crate) fill: Arc<Fill>,
    pub(crate) meta: Arc<Meta>,
    pub(crate) part: Option<PartOf>,
    pub(crate) key: Key,
    pub(crate) policy: Arc<Policy>,
    bytes_max: u64,
    is_ended: bool,
}

/// Why a body does not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abandoned {
    /// It can't be stored, and nobody reads it.
    NobodyReads,
    /// A part that goes on behind its end.
    LongerThanPromised,
}

impl BodyWriter {
    pub(crate) fn new(
        cache: Cache,
        fill: Arc<Fill>,
        meta: Arc<Meta>,
        part: Option<PartOf>,
        key: Key,
        policy: Arc<Policy>,
    ) -> Self {
        let bytes_max = cache.0.limits.object_bytes_max.saturating_sub(meta.memory_bytes());
        Self { cache, fill, meta, part, key, policy, bytes_max, is_ended: false }
    }

    /// Appends a piece. Waits only when the body can't be stored any more and nobody has read what is there.
    pub async fn push(&mut self, piece: Bytes) -> Result<(), Abandoned> {
        if piece.is_empty() {
            return Ok(());
        }
        let fills = &self.cache.0.fills;
        // Readers of a part that completes a whole wait for the whole: its length is known and was admitted, so it
        // goes on in any case, and waits for nobody.
        let promised = match &self.part {
            Some(PartOf::Completing { part, .. }) => Some(part.range.length()),
            _ => None,
        };
        let is_completing = promised.is_some();
        let (was_storable, is_storable, is_longer) = self.fill.change(|state| {
            let was_storable = state.is_storable;
            fills.bytes.fetch_add(state.body.push(piece), Ordering::Relaxed);
            if !is_completing && (state.body.end > self.bytes_max || fills.is_full()) {
                state.is_storable = false;
            }
            (was_storable, state.is_storable, promised.is_some_and(|promised| state.body.end > promised))
        });
        if is_longer {
            return Err(Abandoned::LongerThanPromised);
        }
        if was_storable && !is_storable {
            fills.end(&self.fill);
        }
        if is_storable { Ok(()) } else { self.keep_pace().await }
    }

    /// Of a body that can't be stored: waits for the fastest reader, and drops what all have taken.
    async fn keep_pace(&self) -> Result<(), Abandoned> {
        let fills = &self.cache.0.fills;
        self.fill
            .until(&self.fill.taken, |state| {
                let positions = || state.readers.iter().flatten().copied();
                let (Some(slowest), Some(fastest)) = (positions().min(), positions().max()) else {
                    return Some(Err(Abandoned::NobodyReads));
                };
                let slack = if fills.is_full() { 0 } else { self.bytes_max };
                let reach_back = slack.saturating_add(WINDOW_BYTES);
                let keep_from = slowest.max(fastest.saturating_sub(reach_back));
                fills.bytes.fetch_sub(state.body.drop_before(keep_from), Ordering::Relaxed);
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
        let (pieces, is_storable) = {
            let state = self.fill.state();
            (state.body.to_vec(), state.is_storable && !state.is_poisoned)
        };
        let is_completing = matches!(self.part, Some(PartOf::Completing { .. }));
        // Stored before readers learn that it is complete, so that a client's next request finds it.
        let saved = if is_storable || is_completing { self.cache.save(&self, &pieces) } else { Saved::default() };
        drop(pieces);
        self.cache.0.fills.end(&self.fill);
        let fills = &self.cache.0.fills;
        self.fill.change(|state| {
            if let Some(entry) = saved.entry.as_ref().filter(|_| saved.is_stored && self.part.is_none()) {
                // Readers go on with the stored chunks: the same bytes need not be held twice.
                fills.bytes.fetch_sub(state.body.replace(&entry.body), Ordering::Relaxed);
            }
            state.phase = match (is_completing, saved.entry.clone()) {
                (false, _) => Phase::Ended(self.meta.clone(), trailers),
                (true, Some(entry)) => Phase::Settled(entry, Reason::PartialMiss),
                // The bytes were not those that were promised.
                (true, None) => Phase::Cut,
            };
        });
        saved.is_stored
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
