//! The body of a fill on its way to the disk tier, because it is too large for memory.
//!
//! The bytes go to disk a chunk at a time. Readers of the fill get the latest bytes from memory, and earlier ones from disk.

use super::description;
use crate::body::CHUNK_BYTES;
use crate::completed::Completion;
use crate::{Body, Cache, Entry, Key, Meta};
use bytes::{Bytes, BytesMut};
use kasoku_store::disk::{FinishedLarge, LargeError, LargeWriter, StoredChunk};
use std::sync::Arc;

/// See the [module](self).
pub(crate) struct Spool {
    writer: LargeWriter,
    /// Bytes that do not fill a chunk yet.
    chunk: BytesMut,
    completion: Completion,
}

/// A response whose body is complete on disk.
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
        Ok(Spool { writer, chunk: BytesMut::new(), completion: Completion::new(meta, key) })
    }
}

impl Spool {
    /// How many bytes were appended.
    pub(crate) fn taken_bytes(&self) -> u64 {
        self.writer.position() + self.chunk.len() as u64
    }

    /// Appends some of these bytes; returns how many, and the chunk that is complete with them.
    pub(crate) async fn append(&mut self, bytes: &[u8]) -> Result<(usize, Option<StoredChunk>), LargeError> {
        let now = bytes.get(..CHUNK_BYTES - self.chunk.len()).unwrap_or(bytes);
        self.chunk.reserve(CHUNK_BYTES - self.chunk.len());
        self.chunk.extend_from_slice(now);
        self.completion.update(now);
        let chunk = if self.chunk.len() == CHUNK_BYTES { Some(self.write_chunk().await?) } else { None };
        Ok((now.len(), chunk))
    }

    async fn write_chunk(&mut self) -> Result<StoredChunk, LargeError> {
        let chunk = std::mem::take(&mut self.chunk).freeze();
        self.writer.append(chunk).await
    }

    /// Completes the body, and makes the response that can be stored.
    pub(crate) async fn finish(mut self, cache: &Cache, key: &Key, meta: &Arc<Meta>) -> Result<Spooled, LargeError> {
        let tier = cache.0.disk.as_ref().ok_or(LargeError::Refused)?;
        if !self.chunk.is_empty() {
            self.write_chunk().await?;
        }
        let length = self.writer.position();
        let meta = self.completion.of(meta);
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
