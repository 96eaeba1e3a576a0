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
//! The body is append-only while it may still be stored. Once it can't be (it grew too large), only a window of it is
//! kept: the writer then goes at the pace of the fastest reader, and a reader that falls behind the window is cut.
//! A writer that is dropped cuts its fill, so nobody waits for ever. Invalidation marks running fills of its
//! key as poisoned: who waits gets the response, but it is never stored.
//!
//! What it deliberately does not do: it has no deadline and no task. Writers wait for origins, readers for writers, both
//! under the deadlines of their callers.

use crate::verdict::PartOf;
use crate::{Cache, Entry, Key, Meta};
use bytes::Bytes;
use kasoku_semantics::policy::Policy;
use kasoku_semantics::reason::Reason;
use kasoku_store::KeyHash;
use kasoku_wire::Fields;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Fills may hold one part in this many of the memory tier's size, together.
pub(crate) const MEMORY_SHARE: u64 = 4;

/// What is kept of a body that can't be stored any more, in bytes.
const WINDOW_BYTES: u64 = 4 << 20;

/// How far the writer of such a body goes ahead of the fastest reader, in bytes.
const AHEAD_BYTES: u64 = 1 << 20;

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
    changed: Notify,
}

struct State {
    phase: Phase,
    /// Chunks from `first_chunk` on; those before it are gone.
    chunks: Vec<Bytes>,
    first_chunk: usize,
    /// Bytes of all chunks so far, and of those that are still here.
    bytes: u64,
    bytes_kept: u64,
    /// The furthest that any reader has got, in bytes.
    bytes_read: u64,
    readers: usize,
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

    /// Waits until `look` finds something in the state.
    async fn until<T>(&self, mut look: impl FnMut(&mut State) -> Option<T>) -> T {
        loop {
            let changed = self.changed.notified();
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

/// The running fills of a cache.
pub(crate) struct Fills {
    shards: [Mutex<HashMap<KeyHash, Vec<Arc<Fill>>>>; SHARDS],
    running: AtomicUsize,
    bytes: AtomicU64,
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
            bytes: AtomicU64::new(0),
            bytes_max,
        }
    }

    pub(crate) fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }

    /// The running fill of this key and detail, or a new one.
    pub(crate) fn begin(&self, hash: KeyHash, key: &[u8], detail: &[u8], is_joinable: bool) -> Begun {
        let mut shard = self.shard(hash);
        let fills = shard.entry(hash).or_default();
        if is_joinable && let Some(fill) = fills.iter().find(|fill| fill.can_be_joined(key, detail)) {
            return Begun::Running(FillReader::new(fill.clone()));
        }
        let fill = Arc::new(Fill {
            hash,
            key: key.into(),
            detail: detail.into(),
            is_joinable,
            state: Mutex::new(State {
                phase: Phase::Waiting,
                chunks: Vec::new(),
                first_chunk: 0,
                bytes: 0,
                bytes_kept: 0,
                bytes_read: 0,
                readers: 0,
                is_storable: true,
                is_poisoned: false,
            }),
            changed: Notify::new(),
        });
        fills.push(fill.clone());
        self.running.fetch_add(1, Ordering::Relaxed);
        Begun::New(fill)
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

    /// Whether all fills together hold as much as they may.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) >= self.bytes_max
    }

    fn shard(&self, hash: KeyHash) -> MutexGuard<'_, HashMap<KeyHash, Vec<Arc<Fill>>>> {
        let [first, ..] = &self.shards;
        let shard = self.shards.get(hash.spread(SHARDS)).unwrap_or(first);
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Fill {
    fn can_be_joined(&self, key: &[u8], detail: &[u8]) -> bool {
        self.is_joinable && *self.key == *key && *self.detail == *detail && !self.is_poisoned()
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
    chunk: usize,
    bytes: u64,
}

impl FillReader {
    fn new(fill: Arc<Fill>) -> Self {
        fill.state().readers += 1;
        Self { fill, chunk: 0, bytes: 0 }
    }

    /// Waits for the head, or for the fill to come to nothing.
    pub async fn head(&self) -> Joined {
        self.fill
            .until(|state| match &state.phase {
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
        let (chunk, bytes) = (self.chunk, self.bytes);
        let next = self
            .fill
            .until(|state| {
                let Some(index) = chunk.checked_sub(state.first_chunk) else { return Some(Next::Cut) };
                if let Some(piece) = state.chunks.get(index) {
                    state.bytes_read = state.bytes_read.max(bytes + piece.len() as u64);
                    return Some(Next::Chunk(piece.clone()));
                }
                match &state.phase {
                    Phase::Streaming(_) => None,
                    Phase::Ended(_, trailers) => Some(Next::End(trailers.clone())),
                    _ => Some(Next::Cut),
                }
            })
            .await;
        if let Next::Chunk(piece) = &next {
            self.chunk += 1;
            self.bytes += piece.len() as u64;
            // A writer beyond its bound waits for this.
            self.fill.changed.notify_waiters();
        }
        next
    }
}

impl Drop for FillReader {
    fn drop(&mut self) {
        self.fill.change(|state| state.readers -= 1);
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
        let length = piece.len() as u64;
        let fills = &self.cache.0.fills;
        let must_wait = self.fill.change(|state| {
            fills.bytes.fetch_add(length, Ordering::Relaxed);
            state.bytes += length;
            state.bytes_kept += length;
            state.chunks.push(piece);
            if state.bytes > self.bytes_max || fills.is_full() {
                state.is_storable = false;
            }
            if !state.is_storable {
                fills.bytes.fetch_sub(state.drop_what_is_behind(), Ordering::Relaxed);
            }
            !state.is_storable
        });
        if !must_wait {
            return Ok(());
        }
        self.fill
            .until(|state| {
                if state.readers == 0 {
                    return Some(Err(Abandoned::NobodyReads));
                }
                (state.bytes.saturating_sub(state.bytes_read) <= AHEAD_BYTES).then_some(Ok(()))
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
            (state.chunks.clone(), state.is_storable && !state.is_poisoned)
        };
        // Stored before readers learn that it is complete, so that a client's next request finds it.
        let stored = is_storable && self.cache.save(&self, &pieces);
        self.cache.0.fills.end(&self.fill);
        match self.part {
            // The save has settled it; where it could not, the bytes were not those that were promised.
            Some(PartOf::Completing { .. }) => self.fill.cut(),
            _ => {
                let meta = self.meta.clone();
                self.fill.change(|state| state.phase = Phase::Ended(meta, trailers));
            }
        }
        stored
    }

    /// The head that readers get.
    pub fn meta(&self) -> &Arc<Meta> {
        &self.meta
    }

    /// Whether what is written can still be stored.
    pub fn is_storable(&self) -> bool {
        let state = self.fill.state();
        state.is_storable && !state.is_poisoned
    }
}

impl Drop for BodyWriter {
    fn drop(&mut self) {
        self.cache.0.fills.end(&self.fill);
        let kept = self.fill.state().bytes_kept;
        self.cache.0.fills.bytes.fetch_sub(kept, Ordering::Relaxed);
        if !self.is_ended {
            self.fill.cut();
        }
    }
}

impl State {
    /// Drops the oldest chunks beyond the window; returns their bytes.
    fn drop_what_is_behind(&mut self) -> u64 {
        let mut count = 0;
        let mut dropped = 0;
        for chunk in &self.chunks {
            if self.bytes_kept - dropped <= WINDOW_BYTES {
                break;
            }
            dropped += chunk.len() as u64;
            count += 1;
        }
        self.chunks.drain(..count);
        self.first_chunk += count;
        self.bytes_kept -= dropped;
        dropped
    }
}
