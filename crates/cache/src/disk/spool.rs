//! The body of a fill on its way to the disk tier, because it is too large for memory, or because it is a part of a body that is on disk.
//!
//! The bytes go to disk a chunk at a time. Readers of the fill get the latest bytes from memory, and earlier ones from disk.

use super::description;
use crate::body::CHUNK_BYTES;
use crate::completed::Completion;
use crate::{Body, Cache, Entry, Key, Meta};
use bytes::{Bytes, BytesMut};
use kasoku_semantics::partial::PartialContent;
use kasoku_semantics::range::ByteRange;
use kasoku_store::disk::{FinishedLarge, LargeError, LargeWriter, OpenBody, StoredBody, StoredChunk};
use std::sync::Arc;

/// See the [module](self).
pub(crate) struct Spool {
    writer: LargeWriter,
    /// Bytes that do not fill a chunk yet.
    chunk: BytesMut,
    /// What is on disk of the body already: such bytes are not written again.
    stored: Vec<ByteRange>,
    whole: Whole,
}

/// What tells the length of the whole body.
enum Whole {
    /// The bytes that come.
    Coming(Completion),
    /// The origin.
    Stated(u64),
}

/// A part of a body that goes to disk.
pub(crate) struct DiskPart {
    pub(crate) part: PartialContent,
    pub(crate) complete_length: u64,
    /// The stored response to which it is added.
    pub(crate) base: Option<DiskBase>,
    /// The response as it is stored.
    pub(crate) meta: Arc<Meta>,
    /// Whether readers get the whole: what is stored as well as the part.
    pub(crate) completes: bool,
}

/// A stored response whose body is on disk.
pub(crate) struct DiskBase {
    pub(crate) entry: Arc<Entry>,
    pub(crate) stored: StoredBody,
    pub(crate) open: OpenBody,
}

impl DiskBase {
    /// `None` where the body is not on disk, or was evicted.
    pub(crate) fn open(entry: &Arc<Entry>) -> Option<Self> {
        let stored = entry.body.stored_body()?.clone();
        let open = stored.open()?;
        Some(Self { entry: entry.clone(), stored, open })
    }
}

/// A response whose body, or a part of it, is on disk.
pub(crate) struct Spooled {
    pub(crate) entry: Arc<Entry>,
    /// Lets the disk tier find it.
    pub(crate) object: FinishedLarge,
}

impl Cache {
    /// Whether the disk tier takes bodies of this length, which memory does not.
    pub(crate) fn may_spool(&self, length: u64) -> bool {
        self.0.disk.as_ref().is_some_and(|tier| tier.disk.large_bytes_max() >= length)
    }

    /// Begins a body on disk.
    pub(crate) async fn spool(&self, key: &Key, meta: &Meta, length: Option<u64>) -> Result<Spool, LargeError> {
        let tier = self.0.disk.as_ref().ok_or(LargeError::Refused)?;
        let writer = tier.disk.begin(key.bytes(), 0, length).await?;
        let whole = Whole::Coming(Completion::new(meta, key));
        Ok(Spool { writer, chunk: BytesMut::new(), stored: Vec::new(), whole })
    }

    /// Begins a part of a body on disk.
    pub(crate) async fn spool_part(&self, key: &Key, part: &DiskPart) -> Result<Spool, LargeError> {
        let tier = self.0.disk.as_ref().ok_or(LargeError::Refused)?;
        let (first, length) = (part.part.range.first, part.part.range.length());
        let stored = part.base.as_ref().map_or_else(Vec::new, |base| base.entry.body.ranges());
        let writer = match &part.base {
            Some(base) => {
                let variant = description::variant_number(&part.meta);
                let known: u64 = stored.iter().map(|range| common_bytes(*range, part.part.range)).sum();
                let new = length.saturating_sub(known);
                tier.disk.extend(key.bytes(), variant, &base.stored, (first, new)).await?
            }
            None => tier.disk.begin(key.bytes(), first, Some(length)).await?,
        };
        Ok(Spool { writer, chunk: BytesMut::new(), stored, whole: Whole::Stated(part.complete_length) })
    }
}

/// How many bytes both ranges have.
fn common_bytes(one: ByteRange, other: ByteRange) -> u64 {
    let (first, last) = (one.first.max(other.first), one.last.min(other.last));
    last.saturating_add(1).saturating_sub(first)
}

impl Spool {
    /// Where the next byte belongs in the body.
    pub(crate) fn position(&self) -> u64 {
        self.writer.position() + self.chunk.len() as u64
    }

    /// The offset in the body before which everything is on disk.
    pub(crate) fn written_to(&self) -> u64 {
        self.writer.position()
    }

    /// Appends some of these bytes; returns how many, and the chunk that is complete with them.
    pub(crate) async fn append(&mut self, bytes: &[u8]) -> Result<(usize, Option<StoredChunk>), LargeError> {
        let position = self.position();
        if let Some(stored) = self.stored.iter().find(|range| range.first <= position && position <= range.last) {
            if !self.chunk.is_empty() {
                return Ok((0, Some(self.write_chunk().await?)));
            }
            let known = usize::try_from(stored.last - position + 1).unwrap_or(usize::MAX).min(bytes.len());
            self.writer.skip(known as u64);
            return Ok((known, None));
        }
        let next_stored = self.stored.iter().find(|range| range.first > position).map(|range| range.first - position);
        let wanted = CHUNK_BYTES - self.chunk.len();
        let wanted = next_stored.and_then(|next| usize::try_from(next).ok()).map_or(wanted, |next| wanted.min(next));
        let now = bytes.get(..wanted).unwrap_or(bytes);
        self.chunk.reserve(CHUNK_BYTES - self.chunk.len());
        self.chunk.extend_from_slice(now);
        if let Whole::Coming(completion) = &mut self.whole {
            completion.update(now);
        }
        let chunk = if self.chunk.len() == CHUNK_BYTES { Some(self.write_chunk().await?) } else { None };
        Ok((now.len(), chunk))
    }

    async fn write_chunk(&mut self) -> Result<StoredChunk, LargeError> {
        let chunk = std::mem::take(&mut self.chunk).freeze();
        self.writer.append(chunk).await
    }

    /// Completes the body or the part, and makes the response that can be stored.
    pub(crate) async fn finish(mut self, cache: &Cache, key: &Key, meta: &Arc<Meta>) -> Result<Spooled, LargeError> {
        let tier = cache.0.disk.as_ref().ok_or(LargeError::Refused)?;
        if !self.chunk.is_empty() {
            self.write_chunk().await?;
        }
        let (length, meta) = match self.whole {
            Whole::Coming(completion) => (self.writer.position(), completion.of(meta)),
            Whole::Stated(length) => (length, meta.clone()),
        };
        let described = description::write(&meta, Some(length), None).ok_or(LargeError::Refused)?;
        let (variant, stored_ms) = (description::variant_number(&meta), tier.now_ms());
        let object = self.writer.finish(key.bytes().into(), variant, described, stored_ms).await?;
        let body = Body::on_disk(object.stored_body(), length).charged(&cache.0.budget);
        let entry = Arc::new(Entry::new(meta, body, key, &cache.0.budget));
        Ok(Spooled { entry, object })
    }
}

/// The rest of a chunk on disk, which a reader of a fill gets.
#[derive(Clone, Debug)]
pub struct SpooledPiece {
    chunk: StoredChunk,
    /// Where in the chunk it begins.
    from: u64,
}

impl SpooledPiece {
    /// The bytes from this offset of the body to the end of the chunk.
    pub(crate) fn new(chunk: &StoredChunk, offset: u64) -> Self {
        Self { chunk: chunk.clone(), from: offset.saturating_sub(chunk.first()) }
    }

    /// The length, in bytes.
    pub(crate) fn length(&self) -> u64 {
        self.chunk.length().saturating_sub(self.from)
    }

    /// The bytes, from disk; `None` where the disk does not give them.
    pub async fn bytes(self) -> Option<Bytes> {
        let bytes = self.chunk.bytes().await.ok()?;
        // Within a chunk, so it fits.
        (self.from as usize <= bytes.len()).then(|| bytes.slice(self.from as usize..))
    }
}
