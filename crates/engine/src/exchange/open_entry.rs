//! A stored response whose body is on disk, and stays there until it is sent.

use crate::runtime::worker::Worker;
use bytes::Bytes;
use kasoku_cache::Entry;
use kasoku_cache::disk::OpenBody;
use std::sync::Arc;

/// See the [module](self).
pub(crate) struct OpenEntry {
    pub(crate) entry: Arc<Entry>,
    pub(crate) body: OpenBody,
    /// The first bytes that the client wants, where they are compared with their checksum.
    pub(crate) first: Option<Bytes>,
}

impl OpenEntry {
    /// The bytes from this offset to the end of their chunk; `None` where they can't be had.
    pub(crate) async fn read(&self, worker: &Worker, offset: u64) -> Option<Bytes> {
        let chunk = self.body.chunk_at(offset)?;
        let bytes = match chunk.bytes_now().ok()? {
            Some(bytes) => bytes,
            None => worker.within_disk_timeout(chunk.bytes()).await?.ok()?,
        };
        let from = usize::try_from(offset - chunk.first()).ok()?;
        (from < bytes.len()).then(|| bytes.slice(from..))
    }
}
