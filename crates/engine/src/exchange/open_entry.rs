//! A stored response whose body is on disk, and stays there until it is sent.

use crate::runtime::worker::Worker;
use bytes::Bytes;
use kasoku_cache::Entry;
use kasoku_cache::disk::{OpenBody, ReadError};
use std::sync::Arc;

/// See the [module](self).
pub(crate) struct OpenEntry {
    pub(crate) entry: Arc<Entry>,
    pub(crate) body: OpenBody,
    /// The first bytes that the client wants, where they are compared with their checksum.
    pub(crate) first: Option<Bytes>,
}

/// Why a stored response can't be sent from disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
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

impl OpenEntry {
    /// The bytes from this offset to the end of their chunk.
    pub(crate) async fn read(&self, worker: &Worker, offset: u64) -> Result<Bytes, Unreadable> {
        let chunk = self.body.chunk_at(offset).ok_or(Unreadable::Damaged)?;
        let bytes = match chunk.bytes_now()? {
            Some(bytes) => bytes,
            None => worker.within_disk_timeout(chunk.bytes()).await.ok_or(Unreadable::Silent)??,
        };
        let from = usize::try_from(offset - chunk.first()).map_err(|_| Unreadable::Damaged)?;
        if from < bytes.len() { Ok(bytes.slice(from..)) } else { Err(Unreadable::Damaged) }
    }
}
