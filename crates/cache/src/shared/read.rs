//! Looks for the response of a fill in the shared tier.

use super::ask::Sought;
use super::content::{self, Read, ReadResponse};
use super::current::{Wanted, usable_now};
use super::judged::{NewlyJudged, Place};
use super::usable::may_be_used;
use super::{Items, Tier};
use crate::tags::Tags;
use crate::verdict::{FetchPurpose, FillWriter};
use crate::{Body, Cache, Entry, SharedRequest};
use bytes::Bytes;
use http::Method;
use kasoku_semantics::credentials::has_unkeyed_credentials;
use kasoku_semantics::ground::{Because, Ground};
use kasoku_semantics::policy::Policy;
use kasoku_semantics::reason::Reason;
use kasoku_semantics::request::is_plain_get;
use kasoku_semantics::time::Now;
use kasoku_semantics::vary::variant_key;
use kasoku_shared::names::Name;
use kasoku_shared::{Backend, Item, Missing};
use kasoku_wire::RequestHead;
use std::sync::Arc;
use std::time::Duration;

const UNREADABLE: Because = Because::Ground(Ground::SharedUnreadable);
const DAMAGED: Because = Because::Ground(Ground::SharedDamaged);

/// An item for a request, of which no more than the first chunk was read.
pub(crate) struct SharedItem {
    item: Item,
    response: Arc<ReadResponse>,
    judged: Judged,
}

/// What the shared tier has for a request, before it is judged.
pub(crate) struct SharedResponse {
    server: usize,
    response: Arc<ReadResponse>,
    body: Vec<Bytes>,
    judged: Judged,
}

/// Whether the rules allow an item, as far as it is known before they are asked.
enum Judged {
    /// It is remembered that they do.
    Before,
    /// It is not known. If they do, this is remembered.
    NotYet(Option<NewlyJudged>),
}

impl FillWriter {
    /// Whether the shared tier may have the response: the fill is for the whole of a response that all clients may get.
    pub(super) fn may_be_in_the_shared_tier(&self) -> bool {
        self.purpose() == FetchPurpose::Miss
            && self.fill().is_some_and(|fill| fill.is_for_everybody())
            && may_be_answered(self.request().head(), self.policy())
    }

    /// Asks the shared tier. Nothing bounds the wait but the timeouts of its servers. Returns the item that it has, up to the first chunk, or why
    /// it has none, and the name of the item that would have the response.
    async fn find_shared(&self, items: &Items, now: Now) -> (Result<SharedItem, Because>, Name) {
        find(self.cache(), self.request(), items, now).await
    }

    /// The response answers all that wait for the fill, if it may: `Err` returns the writer, and the origin has to be asked.
    fn on_shared(self, found: SharedResponse, items: &Items, now: Now) -> Result<(Arc<Entry>, Reason), Self> {
        // Of the tags that this page may have, all count: what the writer has said of them is not to be trusted.
        let judged = judge(self.cache(), Wanted::by(self.request()), self.tags(), found, items, now);
        let Ok(entry) = judged.map(Arc::new) else { return Err(self) };
        let (cache, key, fill) = (self.cache().clone(), self.key().clone(), self.fill().cloned());
        let is_poisoned = || fill.as_ref().is_none_or(|fill| fill.is_poisoned());
        if is_poisoned() {
            return Err(self);
        }
        cache.save_elsewhere(&key, &entry, is_poisoned, |_| {
            cache.put_on_disk(key.bytes(), &entry);
            true
        });
        let reason = hit_reason(items.tier());
        self.settle(entry.clone(), reason);
        Ok((entry, reason))
    }
}

impl Sought for FillWriter {
    type Found = SharedItem;
    type Whole = SharedResponse;
    type Answer = (Arc<Entry>, Reason);

    /// A fill ends by the timeouts of its origin.
    const RENEWED_FOR: Duration = Duration::MAX;

    async fn find(&mut self, items: &Items, now: Now) -> (Result<SharedItem, Because>, Name) {
        let (found, name) = self.find_shared(items, now).await;
        // While one front end fetches a page that was purged, the others find the old item again and again: they need not read its chunks.
        let is_usable = |item: &SharedItem| {
            let read = (item.response.clone(), self.tags(), item.item.server);
            usable_now(self.cache(), Wanted::by(self.request()), read, items, now).map(drop)
        };
        (found.and_then(|item| is_usable(&item).map(|()| item)), name)
    }

    async fn complete(found: SharedItem, items: &Items, name: &Name) -> Option<SharedResponse> {
        found.complete(items, name).await.ok()
    }

    fn settle(self, whole: SharedResponse, items: &Items, now: Now) -> Result<(Arc<Entry>, Reason), Self> {
        self.on_shared(whole, items, now)
    }

    fn is_outdated(&self) -> bool {
        self.is_poisoned()
    }
}

/// Why a response of this tier answers.
pub(crate) fn hit_reason(tier: &Tier) -> Reason {
    match tier.backend() {
        Backend::Memcached(_) => Reason::HitMemcached,
        Backend::Redis(_) | Backend::RedisCluster(_) => Reason::HitRedis,
    }
}

/// Whether a request that misses may be answered from the shared tier: it wants the whole of what all clients may get.
pub(crate) fn may_be_answered(request: &RequestHead, policy: &Policy) -> bool {
    request.method == Method::GET
        && !request.fields.contains("range")
        && !has_unkeyed_credentials(&request.fields, policy)
}

/// Asks the shared tier for the response to a request. Returns what it has, or why it has nothing that can be read, and the name of the item that
/// would have the response.
pub(super) async fn find(
    cache: &Cache,
    request: &SharedRequest,
    items: &Items,
    now: Now,
) -> (Result<SharedItem, Because>, Name) {
    let mut name = items.tier().namespace().response(request.key().uri());
    let found = find_from(&mut name, cache, request, items, now).await;
    (found, name)
}

/// The same, where `name` becomes that of the variant if the responses vary.
async fn find_from(
    name: &mut Name,
    cache: &Cache,
    request: &SharedRequest,
    items: &Items,
    now: Now,
) -> Result<SharedItem, Because> {
    let wanted = Wanted::by(request);
    let uri = wanted.key.uri();
    let mut item = items.get(name).await.map_err(missing)?;
    let (mut read, mut judged) = cache.read(wanted, items, (name, Vec::new()), &item, now)?;
    if let Read::Nominated(varies) = &read {
        if varies.key != uri {
            return Err(UNREADABLE);
        }
        if varies.rules != request.policy().rules {
            return Err(Because::Reason(Reason::RulesChanged));
        }
        let mut variant = Vec::new();
        variant_key(&varies.nominated, &request.head().fields, request.policy(), &mut variant);
        *name = items.tier().namespace().variant(uri, &variant);
        item = items.get(name).await.map_err(missing)?;
        (read, judged) = cache.read(wanted, items, (name, variant), &item, now)?;
    }
    let Read::Response(response) = read else { return Err(UNREADABLE) };
    cache.has_room_for(&response, &item)?;
    Ok(SharedItem { item, response, judged })
}

impl SharedItem {
    /// Reads the chunks that are left of the item of this name. Nothing bounds the wait but the timeouts of its server.
    ///
    /// # Errors
    /// A chunk is missing or damaged.
    pub(super) async fn complete(self, items: &Items, name: &Name) -> Result<SharedResponse, Because> {
        let Self { item, response, judged } = self;
        let body = items.whole(&item, name, response.body_begins).await.ok_or(DAMAGED)?;
        let is_whole = body.iter().map(|piece| piece.len() as u64).sum::<u64>() == response.body_length;
        is_whole.then_some(SharedResponse { server: item.server, response, body, judged }).ok_or(DAMAGED)
    }
}

/// Why there is no item.
pub(crate) fn missing(why: Missing) -> Because {
    Because::Ground(match why {
        Missing::Away => Ground::SharedAway,
        Missing::Failed => Ground::SharedFailed,
        Missing::Absent => Ground::SharedAbsent,
        Missing::Damaged => Ground::SharedDamaged,
    })
}

/// The response, if this front end would have stored it as well, no purge covers it, and it may answer this request. `tags` are those that
/// the page may have.
pub(super) fn judge(
    cache: &Cache,
    wanted: Wanted<'_>,
    tags: Option<Arc<Tags>>,
    found: SharedResponse,
    items: &Items,
    now: Now,
) -> Result<Entry, Because> {
    let SharedResponse { server, response, body, judged } = found;
    if response.key != wanted.key.uri() {
        return Err(UNREADABLE);
    }
    if let Judged::NotYet(newly) = judged {
        may_be_used(&response, wanted.request, wanted.policy).map_err(Because::Reason)?;
        if let (Some(judged), Some(newly)) = (&cache.0.judged, newly) {
            judged.remember(&newly, &response, wanted.policy);
        }
    }
    let usable = usable_now(cache, wanted, (response, tags, server), items, now)?;
    Ok(Entry::new(Arc::new(usable.meta()), charged_body(cache, &body), wanted.key, &cache.0.budget))
}

/// A body that was read.
pub(super) fn charged_body(cache: &Cache, pieces: &[Bytes]) -> Arc<Body> {
    Body::whole(pieces).charged(&cache.0.budget)
}

impl Cache {
    /// What an item says. It is not read anew if it is remembered that the rules allow it to answer the request.
    fn read(
        &self,
        wanted: Wanted<'_>,
        items: &Items,
        (name, variant): (&Name, Vec<u8>),
        item: &Item,
        now: Now,
    ) -> Result<(Read, Judged), Because> {
        let judged = self.0.judged.as_ref().filter(|_| is_plain_get(wanted.request));
        let known = judged.and_then(|judged| judged.get(Place { uri: wanted.key.uri(), variant: &variant }));
        if let Some(response) = known.as_ref().and_then(|known| known.says(item.content(), wanted.policy, now)) {
            return Ok((Read::Response(response.clone()), Judged::Before));
        }
        let read = content::read(item.content(), now).map_err(|_| UNREADABLE)?;
        let to_be_remembered = judged.map(|_| {
            let home = items.tier().home_of(name);
            let is_in_one_piece = item.chunks_left() == 0;
            NewlyJudged { name: name.clone(), home, variant, content: item.content().clone(), is_in_one_piece }
        });
        Ok((read, Judged::NotYet(to_be_remembered)))
    }

    /// Whether an item is as long as it says, and there is memory for it.
    fn has_room_for(&self, response: &ReadResponse, item: &Item) -> Result<(), Because> {
        if item.length().checked_sub(response.body_begins as u64) != Some(response.body_length) {
            return Err(UNREADABLE);
        }
        if self.has_memory_for(response) { Ok(()) } else { Err(Because::Reason(Reason::MemoryFull)) }
    }

    pub(super) fn has_memory_for(&self, response: &ReadResponse) -> bool {
        let bytes = response.body_length.saturating_add(response.meta.memory_bytes());
        bytes <= self.0.limits.object_bytes_max && self.0.budget.has_room_for(bytes)
    }
}
