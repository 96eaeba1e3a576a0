//! Writes what a fill has brought to the shared tier.

use super::Items;
use super::content;
use super::usable::has_no_foreign_fields;
use crate::{Cache, Entry, SharedRequest};
use bytes::Bytes;
use kasoku_semantics::time::Now;
use kasoku_shared::Expiry;

impl Cache {
    /// Writes a stored response to the shared tier, if that takes it. Nothing bounds the wait but the timeouts of its servers.
    pub async fn share(&self, items: &Items, request: &SharedRequest, entry: &Entry, now: Now) -> bool {
        let (key, namespace, meta) = (request.key(), items.tier().namespace(), &entry.meta);
        // No front end would use such a response (`usable`), and a visitor's cookie has no place in a server.
        if !entry.body.is_in_memory() || !entry.body.is_complete() || has_no_foreign_fields(&meta.head.fields).is_err()
        {
            return false;
        }
        let Some(fresh) = u64::try_from(meta.freshness.remaining(now)).ok().filter(|seconds| *seconds > 0) else {
            return false;
        };
        // A stale response is not taken from there.
        let expiry = Expiry::After(fresh);
        let name = if meta.nominated.is_empty() {
            namespace.response(key.uri())
        } else {
            namespace.variant(key.uri(), &meta.variant)
        };
        let body = || entry.body.placed_chunks().map(|(_, chunk)| chunk.clone());
        let length = body().map(|chunk| chunk.len() as u64).sum();
        let content = |server| {
            let generation = items.generation(server, meta.epoch)?;
            let head = content::write(meta, generation, key, length)?;
            Some(std::iter::once(Bytes::from(head)).chain(body()).collect())
        };
        let is_written = items.put(&name, expiry, content).await;
        if meta.nominated.is_empty() || !is_written {
            return is_written;
        }
        // Last: who finds the fields finds a variant.
        let fields = |server| {
            let generation = items.generation(server, meta.epoch)?;
            Some(vec![content::write_nominated(&meta.nominated, meta.rules, generation, key)?.into()])
        };
        items.put(&namespace.response(key.uri()), expiry, fields).await
    }
}
