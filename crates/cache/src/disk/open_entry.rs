//! Reads a stored response whose body stays on disk until it is sent: a chunk at a time, each compared with its checksum before any byte of it
//! leaves.
//!
//! The host reads the first chunk before the head of its answer goes out ([`OpenEntry::begin`]). So a body that is gone or damaged is a miss,
//! not an error: [`LostBodies`](crate::course::LostBodies) says what follows. A chunk that is found damaged later ends the answer early.
//!
//! This crate has no timer. The host bounds each read by [`DISK_TIMEOUT`], and calls [`Cache::disk_timed_out`] where one takes longer.

use crate::{Cache, Entry, Key};
use bytes::Bytes;
use kasoku_semantics::range::ByteRange;
use kasoku_store::disk::{OpenBody, ReadError};
use std::sync::Arc;
use std::time::Duration;

/// How long a host waits for the disk tier: for a stored response, for a chunk of one, or until a removal is written.
pub const DISK_TIMEOUT: Duration = Duration::from_secs(5);

/// A stored response whose body is read from disk while it is sent. The host bounds each read by [`DISK_TIMEOUT`].
pub struct OpenEntry {
    cache: Cache,
    key: Key,
    entry: Arc<Entry>,
    body: OpenBody,
    /// The bytes that go out first, from this offset to the end of their chunk.
    first: Option<(u64, Bytes)>,
}

/// Why a stored response can't be sent from disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// It was evicted or moved since it was looked up.
    Evicted,
    /// It is not as it was written.
    Damaged,
    /// The disk does not give it in time.
    Silent,
}

impl From<ReadError> for Unreadable {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Damaged => Self::Damaged,
            ReadError::Busy | ReadError::Silent => Self::Silent,
        }
    }
}

impl Cache {
    /// Opens the body of a stored response, and counts a hit.
    ///
    /// # Errors
    /// It is not on disk, or not any more.
    pub fn open_on_disk(&self, key: &Key, entry: &Arc<Entry>) -> Result<OpenEntry, Unreadable> {
        let stored = entry.body.stored_body().ok_or(Unreadable::Evicted)?;
        let body = stored.open().ok_or(Unreadable::Evicted)?;
        body.count_hit();
        Ok(OpenEntry { cache: self.clone(), key: key.clone(), entry: entry.clone(), body, first: None })
    }
}

impl OpenEntry {
    /// The response.
    pub fn entry(&self) -> &Arc<Entry> {
        &self.entry
    }

    /// Reads what goes out first: the bytes from this offset to the end of their chunk. [`OpenEntry::next`] returns them.
    ///
    /// # Errors
    /// The bytes can't be sent. A damaged response has been dropped.
    pub async fn begin(&mut self, offset: u64) -> Result<(), Unreadable> {
        self.first = Some((offset, self.read(offset).await?));
        Ok(())
    }

    /// The first bytes of this range, as many as one chunk has.
    ///
    /// # Errors
    /// As of [`OpenEntry::begin`].
    pub async fn next(&mut self, range: ByteRange) -> Result<Bytes, Unreadable> {
        let mut piece = match self.first.take() {
            Some((offset, first)) if offset == range.first => first,
            _ => self.read(range.first).await?,
        };
        piece.truncate(usize::try_from(range.length()).unwrap_or(usize::MAX));
        Ok(piece)
    }

    /// The places of the bytes, for hosts that send them without a comparison.
    pub fn body(&self) -> &OpenBody {
        &self.body
    }

    /// Drops the response: the host has found out that its bytes are damaged.
    pub fn drop_damaged(&self) {
        self.cache.drop_changed(&self.key, &self.entry);
    }

    async fn read(&self, offset: u64) -> Result<Bytes, Unreadable> {
        let read = self.read_chunk(offset).await;
        if let Err(Unreadable::Damaged) = read {
            self.drop_damaged();
        }
        read
    }

    async fn read_chunk(&self, offset: u64) -> Result<Bytes, Unreadable> {
        let chunk = self.body.chunk_at(offset).ok_or(Unreadable::Damaged)?;
        let bytes = chunk.bytes().await?;
        let from = usize::try_from(offset - chunk.first()).map_err(|_| Unreadable::Damaged)?;
        if from < bytes.len() { Ok(bytes.slice(from..)) } else { Err(Unreadable::Damaged) }
    }
}
