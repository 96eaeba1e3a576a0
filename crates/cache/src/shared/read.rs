//! Looks for the response of a fill in the shared tier.

use super::Items;
use super::content::{self, Read, ReadResponse};
use super::usable::may_be_used;
use crate::generations::Validity;
use crate::verdict::{FetchPurpose, FillWriter};
use crate::{Body, Cache, Entry, Meta};
use bytes::Bytes;
use http::Method;
use kasoku_semantics::credentials::has_unkeyed_credentials;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::request::request_directives;
use kasoku_semantics::reuse::{Reuse, reuse};
use kasoku_semantics::time::Now;
use kasoku_semantics::vary::variant_key;
use kasoku_shared::Item;
use kasoku_shared::names::Name;
use std::sync::Arc;

/// What the shared tier has for a fill, before it is judged.
pub struct SharedResponse {
    server: usize,
    response: Box<ReadResponse>,
    body: Vec<Bytes>,
}

impl FillWriter {
    /// Whether the shared tier may have the response: the fill is for the whole of a response that all clients may get.
    pub fn may_be_in_the_shared_tier(&self) -> bool {
        let request = self.request().head();
        self.purpose() == FetchPurpose::Miss
            && self.fill().is_some_and(|fill| fill.is_for_everybody())
            && request.method == Method::GET
            && !request.fields.contains("range")
            && !has_unkeyed_credentials(&request.fields, self.policy())
    }

    /// Asks the shared tier. Nothing bounds the wait but the timeouts of its servers. Returns what it has, and the name of the item that would have
    /// the response.
    pub async fn find_shared(&self, items: &Items, now: Now) -> (Option<SharedResponse>, Name) {
        let (uri, namespace) = (self.key().uri(), items.tier().namespace());
        let mut name = namespace.response(uri);
        let Some(mut item) = items.get(&name).await else { return (None, name) };
        if let Ok(Read::Nominated(varies)) = content::read(item.content(), now) {
            if varies.key != uri || varies.rules != self.policy().rules {
                return (None, name);
            }
            let mut variant = Vec::new();
            variant_key(&varies.nominated, &self.request().head().fields, self.policy(), &mut variant);
            name = namespace.variant(uri, &variant);
            item = match items.get(&name).await {
                Some(item) => item,
                None => return (None, name),
            };
        }
        (self.response_in(items, &item, now).await, name)
    }

    async fn response_in(&self, items: &Items, item: &Item, now: Now) -> Option<SharedResponse> {
        let Read::Response(response) = content::read(item.content(), now).ok()? else { return None };
        let length = item.length().checked_sub(response.body_begins as u64)?;
        if length != response.body_length || !self.cache().has_memory_for(&response.meta, length) {
            return None;
        }
        let mut body = vec![item.content().slice(response.body_begins..)];
        for number in 1..=item.chunks_left() {
            body.push(items.chunk(item, number).await?);
        }
        let is_whole = body.iter().map(|piece| piece.len() as u64).sum::<u64>() == length;
        is_whole.then_some(SharedResponse { server: item.server, response, body })
    }

    /// The response answers all that wait for the fill, if it may: `Err` returns the writer, and the origin has to be asked.
    pub fn on_shared(self, found: SharedResponse, items: &Items, now: Now) -> Result<(Arc<Entry>, Reason), Self> {
        let Some(entry) = self.judged(found, items, now).map(Arc::new) else { return Err(self) };
        let (cache, key, fill) = (self.cache().clone(), self.key().clone(), self.fill().cloned());
        let is_poisoned = || fill.as_ref().is_none_or(|fill| fill.is_poisoned());
        if is_poisoned() {
            return Err(self);
        }
        cache.save_elsewhere(&key, &entry, is_poisoned, |_| {
            cache.put_on_disk(key.bytes(), &entry);
            true
        });
        self.settle(entry.clone(), Reason::HitMemcached);
        Ok((entry, Reason::HitMemcached))
    }

    /// The response, if this front end would have stored it as well, no purge covers it, and it may answer this request.
    fn judged(&self, found: SharedResponse, items: &Items, now: Now) -> Option<Entry> {
        let SharedResponse { server, response, body } = found;
        let (request, policy, key) = (self.request().head(), self.policy(), self.key());
        let ReadResponse { meta, key: of, generation, .. } = &*response;
        if of != key.uri() {
            return None;
        }
        may_be_used(&response, request, policy).ok()?;
        // Of the tags that this page may have, all count: what the writer has said of them is not to be trusted.
        let (tags, cache) = (self.tags(), self.cache());
        let born = items.born(server, *generation, cache)?;
        if cache.0.generations.shared_validity(key, tags.as_deref(), born) != Validity::Valid {
            return None;
        }
        if reuse(&meta.freshness, &request_directives(&request.fields), policy, now) != Reuse::Fresh {
            return None;
        }
        let meta = Meta { tags, epoch: born, ..response.meta };
        let body = Body::whole(&body).charged(&cache.0.budget);
        Some(Entry::new(Arc::new(meta), body, key, &cache.0.budget))
    }
}

impl Cache {
    fn has_memory_for(&self, meta: &Meta, length: u64) -> bool {
        let bytes = length.saturating_add(meta.memory_bytes());
        bytes <= self.0.limits.object_bytes_max && self.0.budget.has_room_for(bytes)
    }
}
